//! Nested loop joins that read their left input a second time.
//!
//! Where memory ends while a nested loop join gathers the rows of its left input, DataFusion
//! executes that input again, to read it in parts. A plan can be executed once: what distributes
//! rows panics the second time, and a scan may still have the filter of a heap of the first. With
//! several partitions on the right each then returns the left rows that have no match in it, though
//! another one has (the comment in `NestedLoopJoinExec::execute`).
//!
//! So the state of the input is reset, or the statement ends for want of memory where that is not
//! enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{JoinType, Result, resources_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{replace_children_if_necessary, reset_plan_states};
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::work_table::WorkTableExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::pass_through::{PassThrough, PassThroughExec};

/// A plan to be executed; its nested loop joins may read their left inputs again.
pub(crate) fn with_replayed_input(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() else { return Ok(plan) };
    let returns_left_rows_last = matches!(
        join.join_type(),
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark | JoinType::Full
    );
    let is_partitioned = join.right().output_partitioning().partition_count() > 1;
    let may_replay = !(returns_left_rows_last && is_partitioned) && can_be_reset(join.left())?;
    let left =
        PassThroughExec::over(Arc::clone(join.left()), Replayed { may_replay, executed: AtomicBool::new(false) });
    let right = Arc::clone(join.right());
    replace_children_if_necessary(plan, vec![left, right])
}

/// Whether a plan gives the same rows once its state is reset: filters of heaps stay in the scans
/// below, which then leave out the last row, and the rows of the step before of a recursion are
/// taken when they are read.
fn can_be_reset(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let has_lasting_state = plan.exists(|plan| {
        let is_heap = plan.downcast_ref::<SortExec>().is_some_and(|sort| sort.fetch().is_some());
        Ok(is_heap || plan.is::<RecursiveQueryExec>() || plan.is::<WorkTableExec>())
    })?;
    Ok(!has_lasting_state)
}

#[derive(Debug)]
struct Replayed {
    may_replay: bool,
    executed: AtomicBool,
}

/// With its state reset.
impl Clone for Replayed {
    fn clone(&self) -> Self {
        Self { may_replay: self.may_replay, executed: AtomicBool::new(false) }
    }
}

impl PassThrough for Replayed {
    const NAME: &'static str = "ReplayedExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if !self.executed.swap(true, Ordering::Relaxed) {
            return input.execute(partition, context);
        }
        if !self.may_replay {
            return resources_err!("the rows of a join that compares each with each do not fit");
        }
        reset_plan_states(Arc::clone(input))?.execute(partition, context)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use datafusion::common::{DataFusionError, JoinSide};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, Column};
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::physical_plan::{Partitioning, collect};
    use datafusion::prelude::{SessionConfig, SessionContext};
    use futures::FutureExt;

    use super::*;
    use crate::memory_pool::FairPool;

    const ROWS: i64 = 1_000;

    fn numbers(partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let batch = |from: i64| {
            let numbers: Int64Array = (from..from + 100).collect();
            RecordBatch::try_from_iter([("n", Arc::new(numbers) as ArrayRef)])
        };
        let batches = (0..ROWS / 100).map(|at| batch(at * 100)).collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = batches[0].schema();
        let parts: Vec<Vec<_>> =
            (0..partitions).map(|part| batches.iter().skip(part).step_by(partitions).cloned().collect()).collect();
        Ok(MemorySourceConfig::try_new_exec(&parts, schema, None)?)
    }

    /// `left.n = right.n` over inputs of the same numbers, of which the right has two partitions.
    fn join(kind: JoinType) -> Result<Arc<dyn ExecutionPlan>> {
        let distributed = RepartitionExec::try_new(numbers(1)?, Partitioning::RoundRobinBatch(2))?;
        join_of(Arc::new(CoalescePartitionsExec::new(Arc::new(distributed))), kind)
    }

    fn join_of(left: Arc<dyn ExecutionPlan>, kind: JoinType) -> Result<Arc<dyn ExecutionPlan>> {
        let right = numbers(2)?;
        let fields = [left.schema(), right.schema()].map(|schema| schema.field(0).clone());
        let sides = [JoinSide::Left, JoinSide::Right].map(|side| ColumnIndex { index: 0, side });
        let (one, other) = (Arc::new(Column::new("n", 0)), Arc::new(Column::new("n", 1)));
        let equal = Arc::new(BinaryExpr::new(one, Operator::Eq, other));
        let schema = Arc::new(arrow::datatypes::Schema::new(fields.to_vec()));
        let filter = JoinFilter::new(equal, sides.to_vec(), schema);
        Ok(Arc::new(NestedLoopJoinExec::try_new(left, right, Some(filter), &kind, None)?))
    }

    async fn rows(plan: Arc<dyn ExecutionPlan>, memory_bytes: usize) -> Result<usize> {
        let pool = Arc::new(FairPool::new(memory_bytes));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
        let session = SessionContext::new_with_config_rt(SessionConfig::new(), runtime);
        let batches = collect(plan, session.task_ctx()).await?;
        Ok(batches.iter().map(RecordBatch::num_rows).sum())
    }

    #[tokio::test]
    async fn an_input_that_does_not_fit_is_read_again() {
        for memory_bytes in [64 << 20, 4 << 10] {
            let plan = with_replayed_input(join(JoinType::Inner).expect("a join")).expect("a plan");
            assert_eq!(rows(plan, memory_bytes).await.expect("rows"), ROWS as usize, "{memory_bytes}");
        }
    }

    #[tokio::test]
    async fn where_each_partition_would_return_rows_memory_ends() {
        let plan = || with_replayed_input(join(JoinType::LeftAnti).expect("a join")).expect("a plan");
        assert_eq!(rows(plan(), 64 << 20).await.expect("rows"), 0);
        let error = rows(plan(), 4 << 10).await.expect_err("it does not fit");
        assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error}");
    }

    /// When these fail, DataFusion has mended it, and this file can go.
    #[tokio::test]
    async fn unguarded_what_distributes_rows_panics() {
        let unguarded = rows(join(JoinType::Inner).expect("a join"), 4 << 10);
        let ended = std::panic::AssertUnwindSafe(unguarded).catch_unwind().await;
        assert!(ended.is_err(), "{ended:?}");
    }

    #[tokio::test]
    async fn unguarded_each_partition_returns_what_matches_in_another() {
        let join = join_of(numbers(1).expect("numbers"), JoinType::LeftAnti).expect("a join");
        assert_eq!(rows(join, 4 << 10).await.expect("rows"), ROWS as usize);
    }
}
