//! PostgreSQL's constructs that the query engine does not take: casts to the types of the catalog,
//! `ARRAY(SELECT ...)`, functions that return rows, sub-queries that refer to their surroundings.
//!
//! [`rewrite_syntax`] runs on the parsed statement, after its names are resolved; the rest are
//! hooks of the planner and rules of the analyzer, which [`install`] adds to a session's state.

mod cast_arguments;
mod casts;
mod collected;
mod frames;
mod row_membership;
mod set_functions;
mod subqueries;
mod subquery_order;
mod syntax;
mod ties;
mod types;
mod windows;

use casts::CatalogCasts;
pub use set_functions::function_columns;
pub use syntax::rewrite_syntax;
use types::CatalogTypes;

use std::sync::Arc;

use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::AggregateUDF;

use frames::WideRangeFrames;
use subqueries::{ApplySubqueries, PrepareSubqueries, SettleOuterTypes};
use subquery_order::SubqueryOrder;

/// Adds the planner's hooks and the analyzer's rules to a state, before those that it has; the type
/// planner that it has is asked for what these types are not.
pub fn install(state: SessionState) -> SessionState {
    let casts = Arc::new(CatalogCasts::new());
    let mut rules = state.analyzer().rules.clone();
    if let Some(types) = rules.iter_mut().find(|rule| rule.name() == "postgres_types") {
        *types = Arc::new(SettleOuterTypes { types: Arc::clone(types) });
    }
    rules.insert(0, Arc::clone(&casts) as _);
    rules.insert(0, Arc::new(PrepareSubqueries));
    let aggregate = |name: &str, otherwise: fn() -> Arc<AggregateUDF>| {
        state.aggregate_functions().get(name).map_or_else(otherwise, Arc::clone)
    };
    let (min, max) = (aggregate("min", min_udaf), aggregate("max", max_udaf));
    let place = rules.iter().position(|rule| rule.name() == "type_coercion").map_or(rules.len(), |place| place + 1);
    rules.insert(place, Arc::new(ApplySubqueries::new(min, max)));
    rules.insert(place, Arc::new(SubqueryOrder));
    rules.insert(place.saturating_sub(1), Arc::new(WideRangeFrames));
    let mut planners = state.expr_planners().to_vec();
    planners.insert(0, casts);
    let mut builder = SessionStateBuilder::new_from_existing(state);
    let others = builder.type_planner().take();
    builder
        .with_analyzer_rules(rules)
        .with_expr_planners(planners)
        .with_type_planner(Arc::new(CatalogTypes { others }))
        .build()
}
