//! Hash joins whose partitions wait for one another.
//!
//! A join that filters the scan of its probe side by the keys of its build side reads no row of
//! that scan before all of its partitions have reported. A partitioned join above may be done with
//! one of its partitions without having read it, as a left join that has no rows there on its left:
//! the others then wait for ever. So joins on the probe side of a partitioned one, in partitions
//! that are read as they are, filter no scans.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode, SortMergeJoinExec};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};

use crate::rules::Rules;

/// Once filters are pushed down: what a join does not fill in later holds for all rows.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.after("FilterPushdown(Post)", Arc::new(PartitionedJoinFilters))
}

#[derive(Debug)]
struct PartitionedJoinFilters;

impl PhysicalOptimizerRule for PartitionedJoinFilters {
    fn name(&self) -> &str {
        "partitioned_join_filters"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        without_filters(plan, false)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan, in which joins filter no scans where some of their partitions may stay unread while
/// others are read.
fn without_filters(plan: Arc<dyn ExecutionPlan>, may_stay_unread: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let mut is_changed = false;
    let mut children = Vec::new();
    for (place, child) in plan.children().into_iter().enumerate() {
        let of_child = child_may_stay_unread(plan.as_ref(), place, may_stay_unread);
        let changed = without_filters(Arc::clone(child), of_child)?;
        is_changed |= !Arc::ptr_eq(&changed, child);
        children.push(changed);
    }
    let plan = if is_changed {
        plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))?
    } else {
        plan
    };
    let is_waiting_join = || plan.is::<HashJoinExec>() && plan.output_partitioning().partition_count() > 1;
    // A join that has not begun has no other state than its filter.
    if may_stay_unread && is_waiting_join() { plan.reset_state() } else { Ok(plan) }
}

fn child_may_stay_unread(plan: &dyn ExecutionPlan, place: usize, may_stay_unread: bool) -> bool {
    if plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>() {
        // They read all partitions of their input.
        return false;
    }
    if plan.is::<SortMergeJoinExec>() {
        return true;
    }
    let is_partitioned = |join: &HashJoinExec| *join.partition_mode() == PartitionMode::Partitioned && place == 1;
    may_stay_unread || plan.downcast_ref::<HashJoinExec>().is_some_and(is_partitioned)
}
