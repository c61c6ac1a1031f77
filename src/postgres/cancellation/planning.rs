//! Cancellation while a statement is planned: between the rules of DataFusion's analyzer, optimizer
//! and physical optimizer.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use super::signals::Signals;
use crate::carried::carried_in_options;
use crate::error::external;
use crate::rules::Rules;

/// The signals of the statement that is planned, as they travel with it: in the extensions of its
/// `ConfigOptions`.
#[derive(Debug, Clone)]
pub struct PlanningSignals(pub Arc<Signals>);

carried_in_options!(PlanningSignals, "rowkey_signals");

/// Checks before each rule whether the statement that is planned is to stop.
pub fn check_between(rules: &mut Rules) {
    let check = Arc::new(CheckSignals);
    rules.analyzer.before_each(|| Arc::clone(&check) as _);
    rules.optimizer.before_each(|| Arc::clone(&check) as _);
    rules.physical.before_each(|| Arc::clone(&check) as _);
}

/// A rule of all three kinds that changes nothing: an error once the statement is to stop.
#[derive(Debug)]
struct CheckSignals;

const NAME: &str = "check_signals";

fn check(options: &ConfigOptions) -> Result<()> {
    match options.extensions.get::<PlanningSignals>() {
        Some(signals) => signals.0.check().map_err(external),
        None => Ok(()),
    }
}

impl AnalyzerRule for CheckSignals {
    fn name(&self) -> &str {
        NAME
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        check(options).map(|()| plan)
    }
}

impl OptimizerRule for CheckSignals {
    fn name(&self) -> &str {
        NAME
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check(&config.options()).map(|()| Transformed::no(plan))
    }
}

impl PhysicalOptimizerRule for CheckSignals {
    fn name(&self) -> &str {
        NAME
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        check(options).map(|()| plan)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;
    use crate::cancellation::Interrupt;

    #[tokio::test]
    async fn planning_ends_between_rules() {
        let signals = Arc::new(Signals::new());
        let mut state = SessionContext::new().state();
        state.config_mut().options_mut().extensions.insert(PlanningSignals(Arc::clone(&signals)));
        let mut rules = Rules::of(&state);
        check_between(&mut rules);
        let state = rules.put_into(state);
        let plan = state.create_logical_plan("select 1 + 1").await.expect("a plan");
        assert!(state.optimize(&plan).is_ok());
        let physical = state.create_physical_plan(&plan).await;
        assert!(physical.is_ok());
        signals.interrupt(Interrupt::Cancel);
        for error in [
            state.analyzer().execute_and_check(plan.clone(), state.config_options(), |_, _| {}).err(),
            state.optimizer().optimize(plan.clone(), &state, |_, _| {}).err(),
            state.query_planner().create_physical_plan(&plan, &state).await.err(),
        ] {
            let error = crate::error::from_datafusion(error.expect("stopped"));
            assert_eq!(error.sqlstate(), rowkey_base::SqlState::QUERY_CANCELED);
        }
    }
}
