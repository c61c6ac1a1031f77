//! Where in a plan it is asked.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use super::expression::WatchedExpr;
use super::operator::WatchedExec;
use super::projection::LargeProjectionExec;
use super::statement::StatementWatch;

/// The same plan, watched: to be run, not to be shown.
pub fn watched(plan: Arc<dyn ExecutionPlan>, watch: &Arc<StatementWatch>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let plan = match with_watched_expressions(&plan, watch)? {
            Some(join) => join,
            None => LargeProjectionExec::of(&plan, watch)?.unwrap_or(plan),
        };
        Ok(match is_watched(&plan) {
            true => Transformed::yes(WatchedExec::wrap(plan, watch)),
            false => Transformed::no(plan),
        })
    })
    .data()
}

/// What reads, and what makes many rows of few, or gathers many.
fn is_watched(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.children().is_empty()
        || plan.is::<CrossJoinExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<RecursiveQueryExec>()
        || plan.is::<SortExec>()
        || plan.is::<AggregateExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
}

/// A join whose expressions ask as well: pairs that its filter refuses never leave it, and it
/// builds for long.
fn with_watched_expressions(
    plan: &Arc<dyn ExecutionPlan>,
    watch: &Arc<StatementWatch>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let watch_filter = |filter: &JoinFilter| {
        let expression = WatchedExpr::wrap(filter.expression(), watch);
        JoinFilter::new(expression, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
    };
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let builder = NestedLoopJoinExecBuilder::from(join).with_filter(Some(watch_filter(filter)));
        return Ok(Some(Arc::new(builder.build()?)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        // The other side's keys are left as they are: scans prune by them.
        let on = join.on().iter().map(|(build, probe)| (WatchedExpr::wrap(build, watch), Arc::clone(probe))).collect();
        let builder = join.builder().with_on(on).with_filter(join.filter().map(watch_filter));
        return Ok(Some(builder.build_exec()?));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let watched = SortMergeJoinExec::try_new(
            Arc::clone(join.left()),
            Arc::clone(join.right()),
            join.on().to_vec(),
            Some(watch_filter(filter)),
            join.join_type(),
            join.sort_options().to_vec(),
            join.null_equality(),
        )?;
        return Ok(Some(Arc::new(watched)));
    }
    Ok(None)
}
