//! UNION ALL of many inputs. DataFusion reads all of them at once: each has a reader and its pages
//! in memory, and a batch or more that waits to be taken.

use std::ops::Range;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::partial_sort::PartialSortExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode, Partitioning, PlanProperties};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::workarounds::HEAP_ROWS_MAX;

/// Most inputs that are read at once.
const INPUTS_AT_ONCE: usize = 4;
/// Most inputs in an order that are merged, for which the first rows of all have to be there; those
/// of more are sorted together.
const MERGED_MAX: usize = 16;

/// The plan with unions of more inputs that read these in turn, where no order of theirs is needed.
pub(super) fn in_turn(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    match widest(&plan)? > INPUTS_AT_ONCE {
        // Rows of several partitions come in no order.
        true => {
            let is_ordered = plan.output_partitioning().partition_count() == 1;
            unordered(plan, is_ordered)
        }
        false => Ok(plan),
    }
}

/// The inputs of the union that has most.
fn widest(plan: &Arc<dyn ExecutionPlan>) -> Result<usize> {
    let mut widest = 0;
    plan.apply(|plan| {
        if plan.is::<UnionExec>() {
            widest = widest.max(plan.children().len());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(widest)
}

/// Whether the rows to be merged come from more inputs than can be merged, or than can be sorted
/// beside each other.
fn sorts_apart(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut apart = false;
    plan.apply(|plan| {
        let inputs = plan.children();
        if plan.is::<UnionExec>() {
            let most = if inputs.iter().any(|input| input.is::<SortExec>()) { INPUTS_AT_ONCE } else { MERGED_MAX };
            apart |= inputs.len() > most;
        }
        let keeps_order = plan.maintains_input_order().contains(&true);
        Ok(if keeps_order { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Jump })
    })?;
    Ok(apart)
}

/// `is_ordered`: the order of the plan's rows is needed above.
fn unordered(plan: Arc<dyn ExecutionPlan>, is_ordered: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>()
        && sorts_apart(merge.input())?
    {
        let rows = Arc::new(CoalescePartitionsExec::new(unordered(Arc::clone(merge.input()), false)?));
        let sorted = Arc::new(SortExec::new(merge.expr().clone(), rows));
        return Ok(match merge.fetch() {
            Some(fetch) if fetch <= HEAP_ROWS_MAX => Arc::new(sorted.with_fetch(Some(fetch))),
            Some(fetch) => Arc::new(LocalLimitExec::new(sorted, fetch)),
            None => sorted,
        });
    }
    let sorted_groups =
        plan.downcast_ref::<AggregateExec>().filter(|groups| *groups.input_order_mode() != InputOrderMode::Linear);
    // Groups are found without an order as well.
    let gives_up_order = match sorted_groups.filter(|_| !is_ordered) {
        Some(groups) => {
            groups.aggr_expr().iter().all(|function| function.order_bys().is_empty()) && sorts_apart(groups.input())?
        }
        None => false,
    };
    let relies_on_order = !gives_up_order && (plan.is::<PartialSortExec>() || sorted_groups.is_some());
    let (required, kept) = (plan.required_input_ordering(), plan.maintains_input_order());
    let inputs = plan.children().into_iter().cloned().enumerate();
    let inputs = inputs.map(|(at, input)| {
        let is_required = !gives_up_order && required.get(at).is_some_and(Option::is_some);
        let is_kept = is_ordered && kept.get(at).copied().unwrap_or(true);
        unordered(input, is_required || is_kept || relies_on_order)
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, inputs)?;
    if !plan.is::<UnionExec>() || plan.children().len() <= INPUTS_AT_ONCE || is_ordered {
        return Ok(plan);
    }
    let inputs = plan.children().into_iter().map(|input| match input.downcast_ref::<SortExec>() {
        Some(sort) if sort.fetch().is_none() => Arc::clone(sort.input()),
        _ => Arc::clone(input),
    });
    let inputs = inputs.collect();
    Ok(PassThroughExec::over(replace_children_if_necessary(plan, inputs)?, InTurn { at_once: INPUTS_AT_ONCE }))
}

/// The rows of a union one input after another, each from one partition.
pub(crate) fn appended(union: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs = union.children().into_iter().map(|input| match input.output_partitioning().partition_count() {
        0 | 1 => Arc::clone(input),
        _ => Arc::new(CoalescePartitionsExec::new(Arc::clone(input))) as _,
    });
    let inputs = inputs.collect();
    Ok(PassThroughExec::over(replace_children_if_necessary(Arc::clone(union), inputs)?, InTurn { at_once: 1 }))
}

/// Some inputs of a union are read beside each other, the others after them.
#[derive(Debug, Clone, Copy)]
struct InTurn {
    at_once: usize,
}

impl PassThrough for InTurn {
    const NAME: &'static str = "InTurnExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let properties = input.properties().as_ref().clone();
        let properties = properties.with_eq_properties(EquivalenceProperties::new(input.schema()));
        Arc::new(properties.with_partitioning(Partitioning::UnknownPartitioning(self.at_once)))
    }

    fn keeps_order(&self) -> bool {
        self.at_once == 1
    }

    fn input_partition(&self, _: Option<usize>) -> Option<usize> {
        None
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let union = Arc::clone(input);
        let inputs: Vec<_> = partitions_of_inputs(input).skip(partition).step_by(self.at_once).collect();
        let rows = stream::iter(inputs).map(move |partitions| {
            // Those of one input may depend on each other.
            let each = partitions.map(|partition| union.execute(partition, Arc::clone(&context)));
            Ok::<_, DataFusionError>(stream::select_all(each.collect::<Result<Vec<_>>>()?))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows.try_flatten())))
    }
}

/// The partitions of the union that each input has.
fn partitions_of_inputs(union: &Arc<dyn ExecutionPlan>) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    union.children().into_iter().map(move |input| {
        let start = end;
        end += input.output_partitioning().partition_count();
        start..end
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;
    use datafusion::physical_plan::{collect, displayable};
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    /// The plan of a query over a union of so many series, read in turn, and the numbers it gives.
    async fn read(inputs: usize, query: &str) -> (String, Vec<i64>) {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3));
        let series: Vec<_> =
            (0..inputs).map(|at| format!("select value + {at} as n from generate_series(1, 1000)")).collect();
        let query = query.replace("{}", &format!("({})", series.join(" union all ")));
        let plan = context.sql(&query).await.expect("planned").create_physical_plan().await.expect("a plan");
        let plan = in_turn(plan).expect("the plan in turn");
        let batches = collect(Arc::clone(&plan), context.task_ctx()).await.expect("rows");
        let numbers = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
        (displayable(plan.as_ref()).indent(true).to_string(), numbers.collect())
    }

    fn numbers(inputs: i64) -> Vec<i64> {
        let mut all: Vec<_> = (0..inputs).flat_map(|at| (1..=1000).map(move |value| value + at)).collect();
        all.sort();
        all
    }

    #[tokio::test]
    async fn many_inputs_are_read_in_turn() {
        for (inputs, is_in_turn) in [(4, false), (5, true), (23, true)] {
            let (plan, mut found) = read(inputs, "select n from {}").await;
            found.sort();
            assert_eq!(found, numbers(inputs as i64));
            assert_eq!(plan.contains(InTurn::NAME), is_in_turn, "{plan}");
        }
        let (plan, found) = read(9, "select sum(n) from {}").await;
        assert_eq!(found, [numbers(9).iter().sum::<i64>()]);
        assert!(plan.contains(InTurn::NAME), "{plan}");
    }

    /// A column that is constant in each input is in order in each.
    #[tokio::test]
    async fn groups_of_many_inputs_need_no_order() {
        for (inputs, is_in_turn) in [(9, false), (23, true)] {
            let wide = "(select n, 'x' as v from {}) t";
            let (plan, found) =
                read(inputs, &format!("select count(*) from (select n, v from {wide} group by n, v) t")).await;
            assert_eq!(found, [999 + inputs as i64], "{plan}");
            assert_eq!(plan.contains(InTurn::NAME), is_in_turn, "{plan}");
            let (plan, mut found) =
                read(inputs, &format!("select n from {wide} group by n, v order by v, n limit 2")).await;
            found.sort();
            assert_eq!(found, [1, 2], "{plan}");
            let lists =
                format!("select max(a[1]) from (select array_agg(n order by n desc) a from {wide} group by v) t");
            assert_eq!(read(inputs, &lists).await.1, [999 + inputs as i64]);
        }
    }

    #[tokio::test]
    async fn rows_in_an_order_stay_in_it() {
        for inputs in [4, 9, 23] {
            let (plan, found) = read(inputs, "select n from {} order by n").await;
            assert_eq!(found, numbers(inputs as i64), "{plan}");
            assert_eq!(plan.contains(InTurn::NAME), inputs > 4, "{plan}");
            let (plan, found) = read(inputs, "select n from {} order by n desc limit 7").await;
            let largest: Vec<_> = numbers(inputs as i64).into_iter().rev().take(7).collect();
            assert_eq!(found, largest, "{plan}");
            let (plan, found) = read(inputs, "select sum(n) over (order by n rows 1 preceding) from {}").await;
            let all = numbers(inputs as i64);
            let pairs = all.iter().enumerate().map(|(at, n)| n + at.checked_sub(1).map_or(0, |before| all[before]));
            assert_eq!(found, pairs.collect::<Vec<_>>(), "{plan}");
            let (plan, found) = read(inputs, "select sum(n) from (select n from {} order by n limit 25000) t").await;
            assert_eq!(found, [all.iter().take(25_000).sum::<i64>()], "{plan}");
        }
    }
}
