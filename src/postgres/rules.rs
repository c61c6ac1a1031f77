//! DataFusion's ordered lists of rules, changed by the names of rules.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::context::{QueryPlanner, SessionState};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

/// A rule of one of the three kinds, by its name.
pub trait Named {
    /// As DataFusion calls it.
    fn rule_name(&self) -> &str;
}

impl Named for dyn AnalyzerRule + Send + Sync {
    fn rule_name(&self) -> &str {
        self.name()
    }
}

impl Named for dyn OptimizerRule + Send + Sync {
    fn rule_name(&self) -> &str {
        self.name()
    }
}

impl Named for dyn PhysicalOptimizerRule + Send + Sync {
    fn rule_name(&self) -> &str {
        self.name()
    }
}

/// Rules in the order in which they run.
#[derive(Debug)]
pub struct Ordered<R: ?Sized>(Vec<Arc<R>>);

impl<R: Named + ?Sized> Ordered<R> {
    /// Puts a rule before the one of a name.
    ///
    /// # Errors
    /// There is no rule of that name: what DataFusion renamed would otherwise be answered wrongly.
    /// So too for [`Self::after`] and [`Self::wrap`].
    pub fn before(&mut self, name: &str, rule: Arc<R>) -> Result<()> {
        let place = self.place(name)?;
        self.0.insert(place, rule);
        Ok(())
    }

    /// Puts a rule right behind the one of a name.
    pub fn after(&mut self, name: &str, rule: Arc<R>) -> Result<()> {
        let place = self.place(name)? + 1;
        self.0.insert(place, rule);
        Ok(())
    }

    /// Puts a rule in the place of the one of a name, which it is made of.
    pub fn wrap(&mut self, name: &str, wrap: impl FnOnce(Arc<R>) -> Arc<R>) -> Result<()> {
        let place = self.place(name)?;
        let rule = Arc::clone(&self.0[place]);
        self.0[place] = wrap(rule);
        Ok(())
    }

    /// Puts a rule before all others.
    pub fn first(&mut self, rule: Arc<R>) {
        self.0.insert(0, rule);
    }

    /// Puts a rule behind all others.
    pub fn last(&mut self, rule: Arc<R>) {
        self.0.push(rule);
    }

    /// Puts a rule before each of those that there are.
    pub fn before_each(&mut self, rule: impl Fn() -> Arc<R>) {
        self.0 = std::mem::take(&mut self.0).into_iter().flat_map(|each| [rule(), each]).collect();
    }

    fn place(&self, name: &str) -> Result<usize> {
        self.0.iter().position(|rule| rule.rule_name() == name).ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|rule| rule.rule_name()).collect();
            internal_datafusion_err!("DataFusion has no rule \"{name}\" to build on, but {}", names.join(", "))
        })
    }
}

/// All rules of a session's state.
pub struct Rules {
    pub analyzer: Ordered<dyn AnalyzerRule + Send + Sync>,
    pub optimizer: Ordered<dyn OptimizerRule + Send + Sync>,
    pub physical: Ordered<dyn PhysicalOptimizerRule + Send + Sync>,
    /// Those of nodes of ours, beside DataFusion's planner.
    pub extension_planners: Vec<Arc<dyn ExtensionPlanner + Send + Sync>>,
}

/// DataFusion's planner, and planners of nodes that it does not know.
struct WithExtensions(Vec<Arc<dyn ExtensionPlanner + Send + Sync>>);

impl fmt::Debug for WithExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithExtensions({})", self.0.len())
    }
}

#[async_trait]
impl QueryPlanner for WithExtensions {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(self.0.clone());
        planner.create_physical_plan(plan, session).await
    }
}

impl Rules {
    /// Those that a state has.
    pub fn of(state: &SessionState) -> Self {
        Self {
            analyzer: Ordered(state.analyzer().rules.clone()),
            optimizer: Ordered(state.optimizers().to_vec()),
            physical: Ordered(state.physical_optimizers().to_vec()),
            extension_planners: (state.query_planner().as_ref() as &dyn Any)
                .downcast_ref::<WithExtensions>()
                .map_or_else(Vec::new, |planner| planner.0.clone()),
        }
    }

    /// The state with these in place of its own.
    pub fn put_into(self, state: SessionState) -> SessionState {
        SessionStateBuilder::new_from_existing(state)
            .with_analyzer_rules(self.analyzer.0)
            .with_optimizer_rules(self.optimizer.0)
            .with_physical_optimizer_rules(self.physical.0)
            .with_query_planner(Arc::new(WithExtensions(self.extension_planners)))
            .build()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    fn names<R: Named + ?Sized>(rules: &Ordered<R>) -> Vec<String> {
        rules.0.iter().map(|rule| rule.rule_name().to_owned()).collect()
    }

    #[test]
    fn a_rule_that_there_is_not_is_an_error() {
        let mut rules = Rules::of(&SessionContext::new().state());
        let rule = Arc::clone(&rules.analyzer.0[0]);
        for error in [
            rules.analyzer.before("no_such_rule", Arc::clone(&rule)),
            rules.analyzer.after("no_such_rule", rule),
            rules.optimizer.wrap("no_such_rule", |rule| rule),
            rules.physical.wrap("no_such_rule", |rule| rule),
        ] {
            let message = error.expect_err("there is no such rule").to_string();
            assert!(message.contains("no rule \"no_such_rule\""), "{message}");
        }
    }

    #[test]
    fn rules_go_where_they_are_put() {
        let state = SessionContext::new().state();
        let mut rules = Rules::of(&state);
        let before = names(&rules.analyzer);
        let rule = Arc::clone(&rules.analyzer.0[0]);
        let last = before.last().expect("rules").clone();
        rules.analyzer.before(&last, Arc::clone(&rule)).expect("a rule");
        rules.analyzer.after(&last, Arc::clone(&rule)).expect("a rule");
        rules.analyzer.first(Arc::clone(&rule));
        rules.analyzer.last(rule);
        let first = &before[0];
        let mut expected = before.clone();
        expected.insert(before.len() - 1, first.clone());
        expected.push(first.clone());
        expected.insert(0, first.clone());
        expected.push(first.clone());
        assert_eq!(names(&rules.analyzer), expected);
        let state = rules.put_into(state);
        assert_eq!(names(&Rules::of(&state).analyzer), expected);
    }
}
