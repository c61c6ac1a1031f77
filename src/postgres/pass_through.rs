//! Operators that hand on the rows of their one input.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};

/// What an operator does with the rows that it hands on.
pub(crate) trait PassThrough: Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;

    /// What is known of the rows.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn benefits_from_partitions(&self) -> bool {
        true
    }

    /// Whether filters may be pushed below.
    fn passes_filters(&self) -> bool {
        false
    }

    /// Whether anything is known of how many rows there are.
    fn has_statistics(&self) -> bool {
        true
    }

    /// The partition of the input that is read as one of its own.
    fn input_partition(&self, partition: Option<usize>) -> Option<usize> {
        partition
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        input.execute(partition, context)
    }
}

#[derive(Debug)]
pub(crate) struct PassThroughExec<T> {
    input: Arc<dyn ExecutionPlan>,
    what: T,
    properties: Arc<PlanProperties>,
}

impl<T: PassThrough> PassThroughExec<T> {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, what: T) -> Arc<dyn ExecutionPlan> {
        let properties = what.properties(&input);
        Arc::new(Self { input, what, properties })
    }
}

impl<T: PassThrough> DisplayAs for PassThroughExec<T> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }
}

impl<T: PassThrough> ExecutionPlan for PassThroughExec<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.what.keeps_order()]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![self.what.benefits_from_partitions()]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        match <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) {
            Ok([input]) => Ok(Self::over(input, self.what.clone())),
            Err(_) => internal_err!("{} has one input", T::NAME),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.what.execute(&self.input, partition, context)
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        match self.what.passes_filters() {
            true => FilterDescription::from_children(filters, &self.children()),
            false => Ok(FilterDescription::all_unsupported(&filters, &self.children())),
        }
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        match self.what.has_statistics() {
            true => vec![ChildStats::At(self.what.input_partition(partition))],
            // Those of the input are then given as unknown.
            false => vec![ChildStats::Skip],
        }
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("{} has one input", T::NAME),
        }
    }
}
