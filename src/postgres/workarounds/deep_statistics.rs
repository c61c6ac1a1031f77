//! Statistics of deep plans.
//!
//! Wherever a rule may distribute rows, DataFusion estimates how many there are, for which it goes
//! through the whole plan below and keeps nothing of it: a plan of a thousand operators, one over
//! the other, is gone through a thousand times. So nothing is known of the rows that come from so
//! deep.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion, TreeNodeRewriter};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// Operators, one over the other, below which nothing is known.
const KNOWN_HEIGHT_MAX: usize = 40;

/// Before any rule asks for statistics.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.first(Arc::new(DeepStatistics));
    Ok(())
}

#[derive(Debug)]
struct DeepStatistics;

impl PhysicalOptimizerRule for DeepStatistics {
    fn name(&self) -> &str {
        "deep_statistics"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut rewriter = Rewriter { heights: vec![0] };
        Ok(plan.rewrite(&mut rewriter)?.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The heights below the operators from the root to the one that is looked at.
struct Rewriter {
    heights: Vec<usize>,
}

impl TreeNodeRewriter for Rewriter {
    type Node = Arc<dyn ExecutionPlan>;

    fn f_down(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        self.heights.push(0);
        Ok(Transformed::new(plan, false, TreeNodeRecursion::Continue))
    }

    fn f_up(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        let height = self.heights.pop().unwrap_or_default() + 1;
        // The other half of an aggregate stands right above this one.
        let is_half =
            plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| *aggregate.mode() == AggregateMode::Partial);
        let is_deep = height >= KNOWN_HEIGHT_MAX && !is_half;
        if let Some(above) = self.heights.last_mut() {
            *above = (*above).max(if is_deep { 0 } else { height });
        }
        Ok(if is_deep { Transformed::yes(PassThroughExec::over(plan, Unestimated)) } else { Transformed::no(plan) })
    }
}

/// Rows of which there are no statistics.
#[derive(Debug, Clone, Copy)]
struct Unestimated;

impl PassThrough for Unestimated {
    const NAME: &'static str = "UnestimatedExec";

    fn passes_filters(&self) -> bool {
        true
    }

    fn has_statistics(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
    use datafusion::prelude::SessionContext;

    use super::*;

    /// So many sums, one over the other.
    fn sums(depth: usize) -> String {
        let query = |at: usize| {
            format!(", c{} as (select count(*) as n from c{at} group by n having count(*) < {})", at + 1, at + 2)
        };
        let queries: String = (0..depth).map(query).collect();
        format!("with c0 as (select 1 as n){queries} select * from c{depth}")
    }

    #[tokio::test]
    async fn nothing_is_known_of_rows_from_far_below() {
        let session = SessionContext::new();
        let mut rules = Rules::of(&session.state());
        install(&mut rules).expect("a rule");
        let session = SessionContext::new_with_state(rules.put_into(session.state()));
        let frame = session.sql(&sums(100)).await.expect("a plan");
        let plan = frame.clone().create_physical_plan().await.expect("a plan");
        let text = displayable(plan.as_ref()).indent(false).to_string();
        assert!(text.contains(Unestimated::NAME), "{text}");
        assert_eq!(frame.collect().await.expect("rows")[0].num_rows(), 1);
        let few = session.sql(&sums(5)).await.expect("a plan").create_physical_plan().await.expect("a plan");
        assert!(!displayable(few.as_ref()).indent(false).to_string().contains(Unestimated::NAME));
    }

    #[tokio::test]
    async fn statistics_are_those_of_the_operators_above() {
        let session = SessionContext::new();
        let leaf = session.sql("select 1 as n").await.expect("a plan").create_physical_plan().await.expect("a plan");
        let rows = |plan: &Arc<dyn ExecutionPlan>| {
            let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
            statistics.expect("statistics").num_rows
        };
        assert_eq!(rows(&leaf).get_value(), Some(&1));
        assert_eq!(rows(&PassThroughExec::over(leaf, Unestimated)).get_value(), None);
    }
}
