//! Where a plan checks for cancellation.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use super::expression::CancellableExpr;
use super::growth::Growth;
use super::large_operands::over_columns;
use super::large_value_threads::on_large_value_threads;
use super::operator::{Cut, checked};
use super::projection::LargeProjectionExec;
use super::repartition::{LISTS_DIVISOR, repartitioned};
use super::row_bytes::is_copied;
use super::small_batches::{Gathered, gathering, with_small_batches};
use super::sorts::sort_by_width;
use super::token::CancellationToken;
use super::unions::in_turn;
use crate::workarounds::{with_replayed_input, without_needless_sort};

/// Rows that an aggregate makes of a batch by its grouping sets, about.
const SET_ROWS_MAX: usize = 65_536;
/// Most keys of a sort that keeps the first rows only.
const TOP_KEYS_MAX: usize = 16;

/// The same plan with checks for cancellation: to be executed, not to be displayed. `rows_max`:
/// how many rows its scans make a batch at most, if fewer than the session has.
pub fn cancellable(
    plan: Arc<dyn ExecutionPlan>,
    rows_max: Option<usize>,
    token: &Arc<CancellationToken>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut gathered_max = rows_max.unwrap_or(usize::MAX);
    let mut makes_large_values = false;
    let plan = in_turn(plan)?;
    let is_recursive = plan.exists(|plan| Ok(plan.is::<RecursiveQueryExec>()))?;
    let plan = plan.transform_up(|plan| {
        let plan = without_needless_sort(plan)?;
        let growth = match plan.is::<FilterExec>() {
            // Of a condition nothing stays.
            true => Growth::of(plan.as_ref())?.without_copies(),
            false => Growth::of(plan.as_ref())?,
        };
        gathered_max = gathered_max.min(growth.rows_gathered());
        makes_large_values |= growth.is_large();
        let plan = match with_cancellable_expressions(&plan, token)? {
            Some(join) => join,
            None if growth.is_large() => in_few_rows(plan, &growth, token)?,
            None => plan,
        };
        let plan = match plan.downcast_ref::<FilterExec>() {
            // It gathers by its own number of rows, not the context's; of 1 it gathers none.
            Some(filter) if gathered_max < filter.batch_size() => Arc::new(filter.with_batch_size(1)?),
            _ => plan,
        };
        if let Some(repartition) = plan.downcast_ref::<RepartitionExec>() {
            return repartitioned(repartition, gathered_max < usize::MAX, is_recursive).map(Transformed::yes);
        }
        let is_wide_sort = sorts(&plan) && gathered_max < usize::MAX;
        let (repeats, needs) = (repeats_values(&plan) || is_wide_sort, needs_checks(&plan));
        let plan = bounded(with_replayed_input(plan)?, token)?;
        Ok(match (repeats, needs) {
            (true, _) => Transformed::yes(checked(plan, Cut::Bytes, token)),
            (false, true) => Transformed::yes(checked(plan, Cut::Rows(usize::MAX), token)),
            (false, false) => Transformed::no(plan),
        })
    });
    let mut plan = plan.data()?;
    if gathered_max < usize::MAX {
        plan = with_small_batches(plan, gathered_max);
    }
    Ok(if makes_large_values { on_large_value_threads(plan) } else { plan })
}

/// An operator that makes large values of its rows: as many rows at a time as memory allows, or
/// slices of its inputs' batches where it cannot try fewer.
fn in_few_rows(
    plan: Arc<dyn ExecutionPlan>,
    growth: &Growth,
    token: &Arc<CancellationToken>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let projection = plan.downcast_ref::<ProjectionExec>();
    if let Some(projection) = projection.and_then(|projection| LargeProjectionExec::of(projection, growth, token)) {
        return Ok(projection);
    }
    if let Some(plan) = over_columns(&plan, growth, token)? {
        return Ok(plan);
    }
    let inputs = plan.children().into_iter();
    let cut = match growth.copies_rows() {
        true => Cut::Repeated { rows_max: growth.rows_gathered(), times: growth.times(), constants_bytes: 0 },
        false => Cut::Rows(growth.rows_gathered()),
    };
    let slices = inputs.map(|input| checked(Arc::clone(input), cut.clone(), token)).collect();
    replace_children_if_necessary(plan, slices)
}

/// An operator whose work for one batch, or for one row, would be far more than the batch.
fn bounded(plan: Arc<dyn ExecutionPlan>, token: &Arc<CancellationToken>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        if aggregate.mode().input_mode() == AggregateInputMode::Partial {
            // States that were spilled are merged row by row: those of texts and lists may be long.
            return match aggregate.aggr_expr().iter().any(collects) {
                true => gathering(plan, Gathered::WideRows { divisor: LISTS_DIVISOR }),
                false => Ok(plan),
            };
        }
        // Each row is in as many groups as there are grouping sets, and in the lists of as many
        // aggregates, which ask for memory when they have it.
        let sets = aggregate.group_expr().groups().len().max(1);
        let lists = aggregate.aggr_expr().iter().filter(|function| collects(function)).count().max(1);
        if sets == 1 && lists == 1 {
            return Ok(plan);
        }
        let growth = Growth::of(aggregate)?;
        let rows_max = (SET_ROWS_MAX.min(growth.rows_gathered()) / sets).max(1);
        let cut = Cut::Repeated { rows_max, times: sets * lists, constants_bytes: growth.constants_bytes() };
        let input = checked(Arc::clone(aggregate.input()), cut, token);
        return replace_children_if_necessary(plan, vec![input]);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>()
        && let Some(fetch) = sort.fetch()
        && sort.expr().len() > TOP_KEYS_MAX
    {
        // The condition that the first rows so far make of each key and all before it would be
        // evaluated again and again.
        let sort = Arc::new(sort.with_fetch(None));
        return Ok(Arc::new(LocalLimitExec::new(sort, fetch)));
    }
    if sorts(&plan) {
        return Ok(sort_by_width(plan, token));
    }
    let repeats_rows = plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>();
    let is_join = repeats_rows || plan.is::<HashJoinExec>() || plan.is::<SortMergeJoinExec>();
    // Those of its condition as well, which may not be among its columns.
    if is_join && plan.children().iter().any(|input| copies_values(&input.schema())) {
        let plan = match plan.children().as_slice() {
            // All pairs of one row and a batch are made at once.
            [one, others] if repeats_rows => {
                let (one, others) = (Arc::clone(one), checked(Arc::clone(others), Cut::Gathered, token));
                replace_children_if_necessary(plan, vec![one, others])?
            }
            _ => plan,
        };
        return gathering(plan, Gathered::WideRows { divisor: LISTS_DIVISOR });
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let lists = unnest.list_column_indices().iter().map(|list| list.index_in_input_schema).collect();
        let input = checked(Arc::clone(unnest.input()), Cut::Unnested(lists), token);
        return replace_children_if_necessary(plan, vec![input]);
    }
    Ok(plan)
}

/// Whether an aggregate's state is a text or a list that grows with its rows.
fn collects(function: &Arc<AggregateFunctionExpr>) -> bool {
    function.state_fields().is_ok_and(|fields| fields.iter().any(|field| is_copied(field.data_type())))
}

fn copies_values(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| is_copied(field.data_type()))
}

/// Operators that show a value of their input, or a constant, in many rows, or gather many in one.
fn repeats_values(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<CrossJoinExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<RecursiveQueryExec>()
        || plan.is::<AggregateExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.is::<LargeProjectionExec>()
}

fn sorts(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<SortExec>() || plan.is::<SortPreservingMergeExec>()
}

/// Leaves, and operators that gather rows.
fn needs_checks(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.children().is_empty() || plan.is::<SortExec>()
}

/// A join whose expressions check as well: pairs that its filter rejects never reach its output,
/// and its build side may be large.
fn with_cancellable_expressions(
    plan: &Arc<dyn ExecutionPlan>,
    token: &Arc<CancellationToken>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let cancellable_filter = |filter: &JoinFilter| {
        let expression = CancellableExpr::condition(filter.expression(), token);
        JoinFilter::new(expression, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
    };
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let builder = NestedLoopJoinExecBuilder::from(join).with_filter(Some(cancellable_filter(filter)));
        return Ok(Some(Arc::new(builder.build()?)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        // The probe side's keys stay as they are: dynamic filters of scans are made of them.
        let on =
            join.on().iter().map(|(build, probe)| (CancellableExpr::wrap(build, token), Arc::clone(probe))).collect();
        let builder = join.builder().with_on(on).with_filter(join.filter().map(cancellable_filter));
        return Ok(Some(builder.build_exec()?));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = SortMergeJoinExec::try_new(
            Arc::clone(join.left()),
            Arc::clone(join.right()),
            join.on().to_vec(),
            Some(cancellable_filter(filter)),
            join.join_type(),
            join.sort_options().to_vec(),
            join.null_equality(),
        )?;
        return Ok(Some(Arc::new(join)));
    }
    Ok(None)
}
