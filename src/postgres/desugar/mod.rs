//! PostgreSQL's constructs that DataFusion does not take, as ones that it does: casts to the types
//! of the catalog, `ARRAY(SELECT ...)`, set-returning functions, correlated subqueries.
//!
//! [`rewrite_syntax`] runs on the parsed statement, after its names are resolved; the rest are
//! hooks of the planner and rules of the analyzer, which `install` adds to a session's state.

mod array_subquery;
mod ast;
mod cast_arguments;
mod casts;
mod conjuncts;
mod constant_rows;
mod decorrelation;
mod group_casts;
mod grouping_terms;
mod range_frames;
mod row_lists;
mod row_membership;
mod set_returning;
mod shifts;
mod subquery_order;
mod syntax;
mod ties;
mod truth_literals;
mod types;
mod unnested;
mod window_keys;
mod windows;

use casts::CatalogCasts;
use constant_rows::ConstantRows;
pub use decorrelation::holds_subquery;
pub(crate) use decorrelation::refers_outside;
pub use set_returning::{function_columns, returns_rows};
pub use syntax::rewrite_syntax;
use types::CatalogTypes;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::AggregateUDF;

use crate::functions::{POSTGRES_TYPES, of_all_types};
use crate::rules::Rules;
use decorrelation::{DecorrelateSubqueries, NormalizeSubqueries, SettleOuterTypes};
use grouping_terms::GroupingTerms;
use range_frames::WideRangeFrames;
use row_lists::RowLists;
use subquery_order::PropagateSubqueryOrder;
use window_keys::WindowKeysAboveJoins;

/// Adds the planner's hooks and the analyzer's rules to a state that has those of
/// [`crate::functions`]; the type planner that it has takes what is none of these types.
pub(crate) fn install(state: SessionState) -> Result<SessionState> {
    let casts = Arc::new(CatalogCasts::new());
    let aggregate = |name: &str, otherwise: fn() -> Arc<AggregateUDF>| {
        state.aggregate_functions().get(name).and_then(|aggregate| of_all_types(aggregate)).unwrap_or_else(otherwise)
    };
    let (min, max) = (aggregate("min", min_udaf), aggregate("max", max_udaf));
    let mut rules = Rules::of(&state);
    rules.analyzer.wrap(POSTGRES_TYPES, |types| Arc::new(SettleOuterTypes { types }))?;
    rules.analyzer.before("type_coercion", Arc::new(WideRangeFrames))?;
    rules.analyzer.after("type_coercion", Arc::new(DecorrelateSubqueries::new(min, max)))?;
    rules.analyzer.after("type_coercion", Arc::new(PropagateSubqueryOrder))?;
    rules.optimizer.before("decorrelate_predicate_subquery", Arc::new(ConstantRows))?;
    rules.optimizer.last(Arc::new(WindowKeysAboveJoins));
    rules.analyzer.first(Arc::clone(&casts) as _);
    rules.analyzer.first(Arc::new(NormalizeSubqueries));
    rules.analyzer.first(Arc::new(RowLists));
    rules.analyzer.first(Arc::new(GroupingTerms));
    let mut planners = state.expr_planners().to_vec();
    planners.insert(0, casts);
    let mut builder = SessionStateBuilder::new_from_existing(rules.put_into(state));
    let others = builder.type_planner().take();
    Ok(builder.with_expr_planners(planners).with_type_planner(Arc::new(CatalogTypes { others })).build())
}
