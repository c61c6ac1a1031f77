//! What the query engine's optimizer gets wrong, kept from it.

mod filter_pushdown;
mod forget_keys;
mod null_equal_joins;
mod schemas_above_joins;

pub(crate) use schemas_above_joins::recomputed;

use std::sync::Arc;

use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;

/// Adds the rules that go round the faults to those of a state.
pub fn avoid(state: SessionState) -> SessionState {
    let rules = state.optimizers().iter().cloned();
    let rules = rules.map(null_equal_joins::guarded).map(filter_pushdown::guarded);
    let optimizers = rules.map(schemas_above_joins::guarded).collect();
    let mut rules = state.analyzer().rules.clone();
    rules.push(Arc::new(forget_keys::ForgetKeys));
    SessionStateBuilder::new_from_existing(state)
        .with_optimizer_rules(optimizers)
        .with_analyzer_rules(rules)
        .with_query_planner(Arc::new(forget_keys::Planner))
        .build()
}
