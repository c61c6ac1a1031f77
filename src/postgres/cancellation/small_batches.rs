//! Fewer rows a batch for statements whose rows are wide.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};

use crate::functions::ValueBudget;

/// Runs a plan with another batch size: filters, joins, merges and repartitioning gather as many
/// rows as it says, however wide they are, before any pool knows of them.
#[derive(Debug)]
pub(super) struct SmallBatchesExec {
    input: Arc<dyn ExecutionPlan>,
    size: BatchSize,
}

/// A batch size, by that of the operator above.
#[derive(Debug, Clone, Copy)]
enum BatchSize {
    AtMost(usize),
    /// As many rows as the memory of queries allows where they may be wide, over this number.
    Gathered {
        divisor: usize,
    },
    /// As it was above the operators that have fewer rows.
    AsBefore,
}

/// The batch size above operators that have fewer rows.
struct SizeBefore(usize);

impl SmallBatchesExec {
    pub(super) fn wrap(input: Arc<dyn ExecutionPlan>, rows_max: usize) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, size: BatchSize::AtMost(rows_max) })
    }

    /// Only the operator itself gathers fewer rows, what is below it does not: as many as the
    /// memory of queries allows where rows may be wide, over `divisor`.
    pub(super) fn around(operator: Arc<dyn ExecutionPlan>, divisor: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let restored = operator.children().into_iter().map(|input| {
            let input = Arc::clone(input);
            Arc::new(Self { input, size: BatchSize::AsBefore }) as Arc<dyn ExecutionPlan>
        });
        let restored = restored.collect();
        let input = replace_children_if_necessary(operator, restored)?;
        Ok(Arc::new(Self { input, size: BatchSize::Gathered { divisor } }))
    }
}

impl DisplayAs for SmallBatchesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmallBatchesExec")
    }
}

impl ExecutionPlan for SmallBatchesExec {
    fn name(&self) -> &str {
        "SmallBatchesExec"
    }

    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
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
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input, size: self.size })),
            _ => internal_err!("an operator with small batches has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let config = context.session_config();
        let rows = match self.size {
            BatchSize::AtMost(rows) => rows.min(config.batch_size()),
            BatchSize::Gathered { divisor } => {
                let rows = ValueBudget::of(config.options()).gathered_rows() / divisor;
                rows.clamp(1, config.batch_size())
            }
            BatchSize::AsBefore => config.get_extension::<SizeBefore>().map_or(config.batch_size(), |before| before.0),
        };
        if config.batch_size() == rows {
            return self.input.execute(partition, context);
        }
        let before = Arc::new(SizeBefore(config.batch_size()));
        let changed = TaskContext::new(
            context.task_id(),
            context.session_id(),
            config.clone().with_batch_size(rows).with_extension(before),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        );
        self.input.execute(partition, Arc::new(changed))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("an operator with small batches has one input"),
        }
    }
}
