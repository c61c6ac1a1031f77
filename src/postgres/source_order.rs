//! Rows of functions and VALUES come in the order of their source where it can be seen, and those
//! of UNION ALL one input after another.
//!
//! SQL promises no order without ORDER BY, but in PostgreSQL these have one, and people rely on it:
//! `SELECT array_agg(x * 2) FROM unnest($1) x`, `SELECT 'name' UNION ALL SELECT name FROM t`.
//! DataFusion spreads rows of a single partition over threads wherever something is computed from
//! them, and reads the inputs of a union beside each other. Here it does not, unless what is above
//! has the same result in any order.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRewriter};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::context::SessionState;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};

use crate::cancellation::appended;
use crate::ctes::CteScanExec;
use crate::deferred_values::DeferredValuesExec;
use crate::rules::Rules;

/// Aggregates with one result for all orders, if they are not of floating-point numbers.
const COMMUTATIVE: [&str; 9] = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or"];

/// Behind all that moves operators.
pub(crate) fn install(state: SessionState) -> Result<SessionState> {
    let mut rules = Rules::of(&state);
    rules.physical.before("SanityCheckPlan", Arc::new(KeepSourceOrder))?;
    Ok(rules.put_into(state))
}

#[derive(Debug)]
struct KeepSourceOrder;

impl PhysicalOptimizerRule for KeepSourceOrder {
    fn name(&self) -> &str {
        "keep_source_order"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.rewrite(&mut KeepOrder { of_inputs: Vec::new() }).data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

struct KeepOrder {
    /// Of the operators on the way down: whether the order of their inputs can be seen.
    of_inputs: Vec<bool>,
}

impl KeepOrder {
    /// Whether the order of the rows of the operator below those can be seen.
    fn is_visible(&self) -> bool {
        self.of_inputs.last().copied().unwrap_or(true)
    }
}

impl TreeNodeRewriter for KeepOrder {
    type Node = Arc<dyn ExecutionPlan>;

    fn f_down(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        let is_visible = self.is_visible();
        self.of_inputs.push(shows_order(&plan, is_visible));
        match spread_source(&plan) {
            Some(source) if is_visible => Ok(Transformed::yes(Arc::clone(source))),
            _ => Ok(Transformed::no(plan)),
        }
    }

    fn f_up(&mut self, plan: Self::Node) -> Result<Transformed<Self::Node>> {
        self.of_inputs.pop();
        match self.is_visible() && is_unordered_union(&plan) {
            true => appended(&plan).map(Transformed::yes),
            false => Ok(Transformed::no(plan)),
        }
    }
}

/// The rows of a source that are dealt out to partitions in turn.
fn spread_source(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let spread = plan.downcast_ref::<RepartitionExec>()?;
    let is_dealt_out = matches!(spread.partitioning(), Partitioning::RoundRobinBatch(_));
    (is_dealt_out && has_source_order(spread.input())).then(|| spread.input())
}

/// Whether rows come in an order of their own: as a function, VALUES or a union gives them.
fn has_source_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut plan = plan;
    loop {
        if is_unordered_union(plan) {
            return true;
        }
        if is_source(plan) {
            return plan.output_partitioning().partition_count() == 1;
        }
        match plan.children().as_slice() {
            [input] if keeps_order(plan) => plan = input,
            _ => return false,
        }
    }
}

/// Whether the rows of a union are in no order that is relied on.
fn is_unordered_union(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<UnionExec>() && plan.properties().output_ordering().is_none()
}

fn is_source(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let in_memory = |source: &DataSourceExec| source.data_source().is::<MemorySourceConfig>();
    let is_one_row = |aggregate: &AggregateExec| aggregate.group_expr().is_empty();
    plan.is::<StreamingTableExec>()
        || plan.is::<PlaceholderRowExec>()
        || plan.is::<DeferredValuesExec>()
        || plan.is::<CteScanExec>()
        || plan.downcast_ref::<DataSourceExec>().is_some_and(in_memory)
        || plan.downcast_ref::<AggregateExec>().is_some_and(is_one_row)
}

/// Whether an operator of one input gives rows in its order.
fn keeps_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<UnnestExec>() || plan.maintains_input_order().first() == Some(&true)
}

/// Whether the order of an operator's inputs can be seen, if that of its own rows can or not.
fn shows_order(plan: &Arc<dyn ExecutionPlan>, is_visible: bool) -> bool {
    if plan.is::<SortExec>() || plan.is::<SortPreservingMergeExec>() {
        return false;
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return !aggregate.aggr_expr().iter().all(|function| is_commutative(function));
    }
    // They number rows, or take the first ones.
    if plan.is::<BoundedWindowAggExec>() || plan.is::<WindowAggExec>() || plan.fetch().is_some() {
        return true;
    }
    // Rows of one partition keep their order where they are dealt out by a hash, and where all
    // partitions come together again.
    let passes = plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>() || plan.is::<UnionExec>();
    is_visible && (passes || plan.is::<UnnestExec>() || plan.maintains_input_order().contains(&true))
}

fn is_commutative(function: &AggregateFunctionExpr) -> bool {
    COMMUTATIVE.contains(&function.fun().name()) && !function.field().data_type().is_floating()
}
