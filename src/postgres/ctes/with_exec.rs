//! Starts the WITH queries of a statement.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};

use super::spool::CteSpool;

/// A WITH query to be computed once.
#[derive(Debug, Clone)]
pub(super) struct CtePlan {
    pub plan: Arc<dyn ExecutionPlan>,
    pub spool: Arc<CteSpool>,
}

/// The rows of its first input, which reads its others through their spools. It is the root of a
/// plan: above all that reads them.
#[derive(Debug)]
pub struct WithExec {
    main: Arc<dyn ExecutionPlan>,
    queries: Vec<CtePlan>,
}

impl WithExec {
    pub(super) fn new(main: Arc<dyn ExecutionPlan>, queries: Vec<CtePlan>) -> Self {
        Self { main, queries }
    }

    pub fn main(&self) -> &Arc<dyn ExecutionPlan> {
        &self.main
    }

    /// Names of the WITH queries, and how their rows are computed.
    pub fn queries(&self) -> impl Iterator<Item = (&str, &Arc<dyn ExecutionPlan>)> {
        self.queries.iter().map(|query| (query.spool.name(), &query.plan))
    }
}

impl DisplayAs for WithExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithExec:")?;
        self.queries().try_for_each(|(name, _)| write!(f, " {name}"))
    }
}

impl ExecutionPlan for WithExec {
    fn name(&self) -> &str {
        "WithExec"
    }

    fn schema(&self) -> SchemaRef {
        self.main.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.main.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        std::iter::once(true).chain(self.queries.iter().map(|_| false)).collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.queries.len() + 1]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        std::iter::once(&self.main).chain(self.queries.iter().map(|query| &query.plan)).collect()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut children = children.into_iter();
        match children.next() {
            Some(main) if children.len() == self.queries.len() => {
                let spools = self.queries.iter().map(|query| Arc::clone(&query.spool));
                let queries = spools.zip(children).map(|(spool, plan)| CtePlan { plan, spool });
                Ok(Arc::new(Self { main, queries: queries.collect() }))
            }
            _ => internal_err!("WITH has its queries and one more input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        for query in &self.queries {
            query.spool.fill_from(&query.plan, &context);
        }
        self.main.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        let others = self.queries.iter().map(|_| ChildStats::Skip);
        std::iter::once(ChildStats::At(partition)).chain(others).collect()
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs.first() {
            Some(main) => Ok(Arc::clone(main)),
            None => internal_err!("WITH has at least one input"),
        }
    }
}
