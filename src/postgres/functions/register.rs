//! Everything here, put into a session.

use std::sync::Arc;

use datafusion::common::{Result, internal_err};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionConfig;

use super::analyzer::{ObjectNames, PostgresTypes};
use super::collecting::Collecting;
use super::groups::DistinctCount;
use super::in_place::register_in_place;
use super::interval_totals::Average;
use super::min_max::MinMax;
use super::optimization_barrier::barrier_udf;
use super::ordered_set::OrderedSet;
use super::percentile::PercentileCont;
use super::planner::PostgresOperators;
use super::scalar::Scalar;
use super::type_names::TypeNames;
use super::value_budget::ValueBudget;
use super::{
    angles, arithmetic, array_fill, array_items, array_literal, concatenation, datetime_fields, datetime_make,
    datetime_trunc, deferred, encodings, exponentials, fused, greatest_least, hashes, integers, item_comparisons, json,
    justify, letter_case, like_items, math, now, null_if, overlaid, overlaps, regular_expressions, series,
    series_array, statistics, strings, text, text_ends, trimmed,
};
use crate::rules::Rules;
use rowkey_base::clock::Clock;

/// DataFusion's functions that answer in nanoseconds, or that PostgreSQL does not have under
/// names that it has.
const REMOVED: [&str; 20] = [
    "to_timestamp_seconds",
    "to_timestamp_millis",
    "to_timestamp_micros",
    "to_timestamp_nanos",
    "from_unixtime",
    "to_local_time",
    "to_unixtime",
    "date_format",
    "datepart",
    "datetrunc",
    "to_time",
    "make_time",
    "today",
    "to_date",
    "to_timestamp",
    // There are no maps.
    "map",
    "map_entries",
    "map_extract",
    "map_keys",
    "map_values",
];

/// DataFusion's settings that PostgreSQL's types need.
pub fn configure(config: SessionConfig) -> SessionConfig {
    let mut config = config
        .set_bool("datafusion.sql_parser.parse_float_as_decimal", true)
        // It takes limits below windows that need all rows.
        .set_bool("datafusion.optimizer.enable_window_limits", false);
    config.options_mut().extensions.insert(regular_expressions::PatternCache::default());
    config
}

/// Adds functions, operators, type names and the rule that gives plans PostgreSQL's types to a
/// state that has DataFusion's defaults.
pub fn register(state: SessionState, clock: &Arc<dyn Clock>, names: ObjectNames) -> Result<SessionState> {
    register_fusing(state, clock, names, fused::DEPTH_MAX)
}

/// The same, with expressions fused from a depth on.
pub(super) fn register_fusing(
    state: SessionState,
    clock: &Arc<dyn Clock>,
    names: ObjectNames,
    depth_max: usize,
) -> Result<SessionState> {
    let mut rules = Rules::of(&state);
    rules.analyzer.before("type_coercion", Arc::new(PostgresTypes { names, depth_max }))?;
    let state = rules.put_into(state);
    let mut operators = state.expr_planners().to_vec();
    operators.insert(0, Arc::new(PostgresOperators));
    let mut state = SessionStateBuilder::new_from_existing(state)
        .with_expr_planners(operators)
        .with_type_planner(Arc::new(TypeNames))
        .build();
    for name in REMOVED {
        if state.deregister_udf(name)?.is_none() {
            return internal_err!("DataFusion has no function \"{name}\" to take away");
        }
    }
    for function in functions(clock) {
        register_in_place(&mut state, function)?;
    }
    for name in ["min", "max"] {
        let inner = FunctionRegistry::udaf(&state, name)?;
        state.register_udaf(Arc::new(MinMax::over(inner)))?;
    }
    let inner = FunctionRegistry::udaf(&state, "avg")?;
    state.register_udaf(Arc::new(Average::over(inner)))?;
    let inner = FunctionRegistry::udaf(&state, "count")?;
    state.register_udaf(Arc::new(DistinctCount::over(inner)))?;
    let inner = FunctionRegistry::udaf(&state, "array_agg")?;
    state.register_udaf(Arc::new(Collecting::list(inner)))?;
    let inner = FunctionRegistry::udaf(&state, "string_agg")?;
    let budget = ValueBudget::of(state.config().options());
    state.register_udaf(Arc::new(Collecting::text(inner, budget)))?;
    let replaced = FunctionRegistry::udaf(&state, "percentile_cont")?;
    state.register_udaf(Arc::new(PercentileCont::in_place_of(&replaced)))?;
    statistics::register(&mut state)?;
    for function in OrderedSet::all() {
        state.register_udaf(Arc::new(function))?;
    }
    state.register_udtf(series::NAME, Arc::new(series::GenerateSeries));
    Ok(state)
}

fn functions(clock: &Arc<dyn Clock>) -> Vec<Arc<ScalarUDF>> {
    let tables = [
        angles::FUNCTIONS.as_slice(),
        arithmetic::FUNCTIONS.as_slice(),
        array_fill::FUNCTIONS.as_slice(),
        array_items::FUNCTIONS.as_slice(),
        array_literal::FUNCTIONS.as_slice(),
        greatest_least::FUNCTIONS.as_slice(),
        concatenation::FUNCTIONS.as_slice(),
        deferred::FUNCTIONS.as_slice(),
        datetime_fields::FUNCTIONS.as_slice(),
        datetime_make::FUNCTIONS.as_slice(),
        datetime_trunc::FUNCTIONS.as_slice(),
        encodings::FUNCTIONS.as_slice(),
        hashes::FUNCTIONS.as_slice(),
        integers::FUNCTIONS.as_slice(),
        justify::FUNCTIONS.as_slice(),
        letter_case::FUNCTIONS.as_slice(),
        item_comparisons::FUNCTIONS.as_slice(),
        like_items::FUNCTIONS.as_slice(),
        exponentials::FUNCTIONS.as_slice(),
        math::FUNCTIONS.as_slice(),
        null_if::FUNCTIONS.as_slice(),
        overlaid::FUNCTIONS.as_slice(),
        overlaps::FUNCTIONS.as_slice(),
        regular_expressions::FUNCTIONS.as_slice(),
        regular_expressions::OPERATORS.as_slice(),
        regular_expressions::REPLACING.as_slice(),
        regular_expressions::SIMILAR_TO.as_slice(),
        series_array::FUNCTIONS.as_slice(),
        strings::FUNCTIONS.as_slice(),
        text::FUNCTIONS.as_slice(),
        trimmed::FUNCTIONS.as_slice(),
        text_ends::FUNCTIONS.as_slice(),
    ];
    let mut functions: Vec<_> = tables.into_iter().flatten().map(Scalar::udf).collect();
    functions.push(Scalar::udf(&item_comparisons::EQUALS_ANY_OF));
    functions.push(barrier_udf());
    functions.extend(json::functions().map(Scalar::udf));
    functions.extend(now::functions(clock));
    functions
}
