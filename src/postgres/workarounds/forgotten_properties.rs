//! What holds of the rows below an operator, and not of those above.
//!
//! - A column that a filter holds constant, or equal to another, counts as such above an aggregate
//!   with grouping sets and above an outer join, where it is NULL in some rows: ORDER BY such a
//!   column is dropped. So the input of such an operator is said to have neither.
//! - A column that each input of a union holds constant, each another value, counts as sorted at
//!   one place and not at the next: plans are refused. So the union is said to have no constants.
//! - A filter over a projection is pushed below it with the projection's expressions in the place
//!   of its columns: those that are volatile have other values there. So nothing is pushed below.
//!   Nor is it where the columns would become too large: see [`super::inlined_columns`].

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::{AcrossPartitions, EquivalenceProperties};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties};

use super::inlined_columns::ColumnSizes;
use crate::pass_through::{PassThrough, PassThroughExec};
use crate::rules::Rules;

/// Before all other rules: they drop what is known to hold.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.physical.first(Arc::new(ForgetProperties));
    Ok(())
}

#[derive(Debug)]
struct ForgetProperties;

impl PhysicalOptimizerRule for ForgetProperties {
    fn name(&self) -> &str {
        "forget_properties"
    }

    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut sizes = ColumnSizes::default();
        plan.transform_up(|plan| {
            sizes.enter(&plan)?;
            forgetting(plan, &mut sizes)
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn forgetting(plan: Arc<dyn ExecutionPlan>, sizes: &mut ColumnSizes) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let volatile = projection.expr().iter().any(|projected| is_volatile(&projected.expr));
        if !volatile && !sizes.are_too_large() {
            return Ok(Transformed::no(plan));
        }
        sizes.end();
        return Ok(Transformed::yes(PassThroughExec::over(plan, Keeps::Order)));
    }
    if plan.downcast_ref::<FilterExec>().is_some() && sizes.are_too_large() {
        sizes.end();
        let inputs = plan.children().into_iter().map(|input| PassThroughExec::over(Arc::clone(input), Keeps::Order));
        let inputs = inputs.collect();
        return Ok(Transformed::yes(replace_children_if_necessary(plan, inputs)?));
    }
    if plan.is::<UnionExec>() {
        let constants = plan.equivalence_properties().constants();
        let differ = constants.iter().any(|constant| constant.across_partitions == AcrossPartitions::Heterogeneous);
        return Ok(match differ {
            true => Transformed::yes(PassThroughExec::over(plan, Keeps::Filters)),
            false => Transformed::no(plan),
        });
    }
    let (forgets, keeps) = match plan.downcast_ref::<AggregateExec>() {
        Some(aggregate) if aggregate.group_expr().has_grouping_set() => ([true, true], Keeps::Nothing),
        Some(_) => return Ok(Transformed::no(plan)),
        None => (null_supplying(plan.as_ref()), Keeps::OrderAndFilters),
    };
    let inputs = plan.children().into_iter().zip(forgets);
    let inputs: Vec<_> = inputs.map(|(input, forgets)| (forgets && knows(input), Arc::clone(input))).collect();
    if !inputs.iter().any(|(forgets, _)| *forgets) {
        return Ok(Transformed::no(plan));
    }
    let inputs = inputs.into_iter().map(|(forgets, input)| match forgets {
        true => PassThroughExec::over(input, keeps),
        false => input,
    });
    Ok(Transformed::yes(replace_children_if_necessary(plan, inputs.collect())?))
}

/// Which inputs of a join have rows of NULLs above it.
fn null_supplying(plan: &dyn ExecutionPlan) -> [bool; 2] {
    let join_type = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        join.join_type()
    } else {
        return [false, false];
    };
    match join_type {
        JoinType::Left => [false, true],
        JoinType::Right => [true, false],
        JoinType::Full => [true, true],
        _ => [false, false],
    }
}

/// Whether there is something to forget.
fn knows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    !plan.equivalence_properties().eq_group().is_empty()
}

/// What still holds above.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keeps {
    Nothing,
    Order,
    /// Filters may be pushed below, and no sort.
    Filters,
    /// Filters may be pushed below as well.
    OrderAndFilters,
}

impl PassThrough for Keeps {
    const NAME: &'static str = "ForgettingExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        if *self == Self::Order {
            // Without the rows' constants, an order by one of them would not hold above.
            return Arc::clone(input.properties());
        }
        let mut known = EquivalenceProperties::new(input.schema());
        if self.keeps_order() {
            known.add_orderings(input.equivalence_properties().oeq_class().clone());
        }
        Arc::new(PlanProperties::new(
            known,
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        ))
    }

    fn keeps_order(&self) -> bool {
        matches!(self, Self::Order | Self::OrderAndFilters)
    }

    fn benefits_from_partitions(&self) -> bool {
        false
    }

    fn passes_filters(&self) -> bool {
        matches!(self, Self::Filters | Self::OrderAndFilters)
    }
}
