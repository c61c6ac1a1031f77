//! Fewer rows a batch for statements whose rows are wide.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::prelude::SessionConfig;

use crate::functions::ValueBudget;
use crate::pass_through::{PassThrough, PassThroughExec};

/// A batch size, by that of the operator above. Filters, joins, merges and repartitioning gather as
/// many rows as it says, however wide they are, before any pool knows of them.
#[derive(Debug, Clone, Copy)]
enum BatchSize {
    AtMost(usize),
    Gathered(Gathered),
    /// As it was above the operators that have fewer rows.
    AsBefore,
}

/// How many rows an operator gathers from several batches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gathered {
    /// None: batches go on as they come.
    Nothing,
    /// As many as the memory of queries allows where rows may be wide, over this number.
    WideRows { divisor: usize },
}

/// The batch sizes of operators above.
#[derive(Clone, Copy)]
struct SizesAbove {
    /// That of the whole plan, before any operator had fewer rows.
    whole: usize,
    /// That of the operator next above which has its own.
    before: usize,
}

/// Runs a plan with another batch size.
pub fn with_small_batches(input: Arc<dyn ExecutionPlan>, rows_max: usize) -> Arc<dyn ExecutionPlan> {
    PassThroughExec::over(input, BatchSize::AtMost(rows_max))
}

/// Only the operator itself gathers fewer rows, what is below it does not.
pub(super) fn gathering(operator: Arc<dyn ExecutionPlan>, gathered: Gathered) -> Result<Arc<dyn ExecutionPlan>> {
    let restored = operator.children().into_iter();
    let restored = restored.map(|input| PassThroughExec::over(Arc::clone(input), BatchSize::AsBefore)).collect();
    let operator = replace_children_if_necessary(operator, restored)?;
    Ok(PassThroughExec::over(operator, BatchSize::Gathered(gathered)))
}

impl PassThrough for BatchSize {
    const NAME: &'static str = "SmallBatchesExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let config = context.session_config();
        let size = config.batch_size();
        let above =
            config.get_extension::<SizesAbove>().map_or(SizesAbove { whole: size, before: size }, |above| *above);
        let rows = match self {
            Self::AtMost(rows) => size.min(*rows),
            // A batch of more than half as many rows is not gathered.
            Self::Gathered(Gathered::Nothing) => 1,
            Self::Gathered(Gathered::WideRows { divisor }) => {
                let rows = ValueBudget::of(config.options()).gathered_rows() / divisor;
                rows.clamp(1, size)
            }
            Self::AsBefore => above.before,
        };
        // Below an operator that gathers, the size is restored, if its own was another or not.
        if size == rows && !matches!(self, Self::Gathered(_)) {
            return input.execute(partition, context);
        }
        let above = Arc::new(SizesAbove { before: size, ..above });
        let config = config.clone().with_batch_size(rows).with_extension(above);
        input.execute(partition, with_config(&context, config))
    }
}

/// The same context with batches of so many rows, for an operator whose inputs do not ask.
pub(super) fn with_batch_size(context: &TaskContext, rows: usize) -> Arc<TaskContext> {
    with_config(context, context.session_config().clone().with_batch_size(rows))
}

/// The size of batches before any operator had fewer rows.
pub(super) fn whole_batch_size(context: &TaskContext) -> usize {
    let config = context.session_config();
    config.get_extension::<SizesAbove>().map_or(config.batch_size(), |above| above.whole)
}

fn with_config(context: &TaskContext, config: SessionConfig) -> Arc<TaskContext> {
    Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    ))
}
