//! Windows of which few rows are wanted: `row_number() OVER (PARTITION BY .. ORDER BY ..) <= k`.
//!
//! All rows are sorted for such a window. Here those are left out before that which k rows of their
//! partition come before, by the k first that were seen so far. The window and its filter stand as
//! they were, so that it may stop at any time: where partitions are too many, memory is short, or
//! nearly all rows come first when they come.

mod ranked_rows;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, WindowExpr, replace_children_if_necessary};

use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// More rows of a partition than these are not looked for.
const ROWS_MAX: usize = 100;

/// Once rows are sorted as operators require.
pub(crate) fn install(state: SessionState) -> Result<SessionState> {
    let mut rules = Rules::of(&state);
    rules.physical.after("EnsureRequirements", Arc::new(WindowTopK))?;
    Ok(rules.put_into(state))
}

#[derive(Debug)]
struct WindowTopK;

impl PhysicalOptimizerRule for WindowTopK {
    fn name(&self) -> &str {
        "window_top_k"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some((filter, wanted)) = plan.downcast_ref::<FilterExec>().and_then(|f| Some((f, Wanted::of(f)?)))
            else {
                return Ok(Transformed::no(plan));
            };
            match wanted.put_below(filter.input())? {
                Some(input) => replace_children_if_necessary(plan, vec![input]).map(Transformed::yes),
                None => Ok(Transformed::no(plan)),
            }
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The first rows of each partition.
#[derive(Debug, Clone)]
struct FirstRows {
    partition_by: Vec<Arc<dyn PhysicalExpr>>,
    order_by: Vec<PhysicalSortExpr>,
    rows: usize,
    /// Whether rows equal to the last of these are as much among the first.
    has_ties: bool,
}

impl PassThrough for FirstRows {
    const NAME: &'static str = "FirstRowsOfPartitions";

    fn has_statistics(&self) -> bool {
        false
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        ranked_rows::first_rows(self.clone(), input.execute(partition, Arc::clone(&context))?, &context)
    }
}

/// What a filter says of the ranks that it keeps.
struct Wanted {
    /// Places of columns, and the largest value kept.
    at_most: Vec<(usize, usize)>,
}

impl Wanted {
    fn of(filter: &FilterExec) -> Option<Self> {
        let at_most: Vec<_> = split_conjunction(filter.predicate()).into_iter().filter_map(at_most).collect();
        (!at_most.is_empty()).then_some(Self { at_most })
    }

    /// The input of the filter with the first rows of partitions alone; `None` if it has no ranks.
    fn put_below(mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let below = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let column = |(at, rows): &(usize, usize)| {
                let column = projection.expr().get(*at)?.expr.downcast_ref::<Column>()?;
                Some((column.index(), *rows))
            };
            self.at_most = self.at_most.iter().filter_map(column).collect();
            self.put_below(projection.input())?
        } else if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
            match self.first_rows(window) {
                Some(first) => below_sort(window.input(), &first)?,
                None => None,
            }
        } else {
            None
        };
        below.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input])).transpose()
    }

    fn first_rows(&self, window: &BoundedWindowAggExec) -> Option<FirstRows> {
        let columns = window.input().schema().fields().len();
        let exprs = window.window_expr();
        // What other functions tell of the first rows depends on those behind them, and in other
        // windows on those of other partitions.
        exprs.iter().all(|expr| rank_of(expr).is_some()).then_some(())?;
        let bounded = |(at, rows): &(usize, usize)| {
            let expr = exprs.get(at.checked_sub(columns)?)?;
            // Of `dense_rank` any number of rows may be before.
            (rank_of(expr) != Some("dense_rank")).then_some((expr, *rows))
        };
        let (expr, rows) = self.at_most.iter().filter_map(bounded).min_by_key(|(_, rows)| *rows)?;
        let is_alike = |other: &Arc<dyn WindowExpr>| {
            other.partition_by() == expr.partition_by() && other.order_by() == expr.order_by()
        };
        exprs.iter().all(is_alike).then_some(())?;
        let schema = window.input().schema();
        let are_comparable =
            expr.order_by().iter().all(|by| by.expr.data_type(&schema).is_ok_and(|data_type| !data_type.is_nested()));
        let are_hashable = expr
            .partition_by()
            .iter()
            .all(|by| by.data_type(&schema).is_ok_and(|data_type| !data_type.is_nested() && !data_type.is_floating()));
        (rows <= ROWS_MAX && are_comparable && are_hashable && !expr.order_by().is_empty()).then(|| FirstRows {
            partition_by: expr.partition_by().to_vec(),
            order_by: expr.order_by().to_vec(),
            rows,
            has_ties: rank_of(expr) == Some("rank"),
        })
    }
}

/// Puts the first rows below sorts, and below what brings rows of one partition together; `None` if
/// there is no sort.
fn below_sort(plan: &Arc<dyn ExecutionPlan>, first: &FirstRows) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (mut node, mut above) = (plan, Vec::new());
    let mut is_sorted_here = false;
    loop {
        let sort = node.downcast_ref::<SortExec>();
        let moves_rows = node.downcast_ref::<SortPreservingMergeExec>().is_some_and(|merge| merge.fetch().is_none())
            || node.is::<RepartitionExec>()
            || node.downcast_ref::<CoalescePartitionsExec>().is_some_and(|merge| merge.fetch().is_none());
        match sort {
            Some(sort) if sort.fetch().is_none() => is_sorted_here = true,
            None if moves_rows => {}
            _ => break,
        }
        let [input] = node.children()[..] else { break };
        above.push(node);
        node = input;
    }
    if !is_sorted_here {
        return Ok(None);
    }
    let first = PassThroughExec::over(Arc::clone(node), first.clone());
    let put_above = |input, node: &Arc<dyn ExecutionPlan>| replace_children_if_necessary(Arc::clone(node), vec![input]);
    above.into_iter().rev().try_fold(first, put_above).map(Some)
}

/// The name of a window function that tells how many rows, or keys, are before a row.
fn rank_of(expr: &Arc<dyn WindowExpr>) -> Option<&'static str> {
    let function = expr.as_any().downcast_ref::<StandardWindowExpr>()?.get_standard_func_expr();
    let name = function.as_any().downcast_ref::<WindowUDFExpr>()?.fun().name();
    ["row_number", "rank", "dense_rank"].into_iter().find(|rank| *rank == name)
}

/// The column of a condition that keeps whole numbers up to a positive one, and that.
fn at_most(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let condition = condition.downcast_ref::<BinaryExpr>()?;
    let (column, op, bound) = match condition.right().downcast_ref::<Literal>() {
        Some(bound) => (condition.left(), *condition.op(), bound),
        None => (condition.right(), condition.op().swap()?, condition.left().downcast_ref::<Literal>()?),
    };
    let column = match column.downcast_ref::<CastExpr>() {
        Some(cast) if cast.cast_type().is_integer() => cast.expr(),
        Some(_) => return None,
        None => column,
    };
    let bound = Some(bound.value()).filter(|bound| bound.data_type().is_integer())?;
    let ScalarValue::Int64(Some(number)) = bound.cast_to(&DataType::Int64).ok()? else { return None };
    let most = match op {
        Operator::Eq | Operator::LtEq => number,
        Operator::Lt => number.checked_sub(1)?,
        _ => return None,
    };
    let most = usize::try_from(most).ok().filter(|most| *most > 0)?;
    Some((column.downcast_ref::<Column>()?.index(), most))
}
