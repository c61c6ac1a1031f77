//! Functional dependencies that do not hold after a join or an UNNEST.
//!
//! DataFusion records that the grouping columns of an aggregate are a key. A join may repeat them;
//! an aggregate above the join that groups by those columns and others counts as having the key
//! again, and a DISTINCT or GROUP BY above is dropped. So functional dependencies from below a join
//! are hidden from the aggregates above it. UNNEST repeats the rows of its input, and has its
//! dependencies nevertheless: they are hidden from it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Dependency, Result, plan_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::recomputed;
use crate::rules::Rules;

/// Adds the rule, and the physical planner that drops its node.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.analyzer.last(Arc::new(HideFunctionalDependencies));
    rules.extension_planners.push(Arc::new(LeaveOut));
    Ok(())
}

#[derive(Debug)]
struct HideFunctionalDependencies;

impl AnalyzerRule for HideFunctionalDependencies {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let hidden = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(mut aggregate) if has_repeated_key(&aggregate.input)? => {
                aggregate.input = hidden(aggregate.input)?;
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            // It repeats all keys of its input, and says that they are keys still.
            LogicalPlan::Unnest(mut unnest) if has_key(&unnest.input)? => {
                unnest.input = hidden(unnest.input)?;
                Ok(Transformed::yes(LogicalPlan::Unnest(unnest)))
            }
            LogicalPlan::Distinct(Distinct::All(input)) if has_repeated_key(&input)? => {
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::All(hidden(input)?))))
            }
            LogicalPlan::Distinct(Distinct::On(mut on)) if has_repeated_key(&on.input)? => {
                on.input = hidden(on.input)?;
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
            }
            plan => Ok(Transformed::no(plan)),
        })?;
        if !hidden.transformed {
            return Ok(hidden.data);
        }
        // Schemas hold the dependencies; those above still have the hidden ones.
        recomputed(hidden.data)
    }

    fn name(&self) -> &str {
        "hide_functional_dependencies"
    }
}

/// Whether a plan has a functional dependency, or will when its DISTINCTs have become aggregates.
fn has_key(plan: &LogicalPlan) -> Result<bool> {
    Ok(plan.schema().functional_dependencies().iter().next().is_some() || plan.exists(is_grouping)?)
}

/// The same of functional dependencies from below a join. An aggregate over such a plan is hidden
/// from what looks through it.
pub(crate) fn has_repeated_key(plan: &LogicalPlan) -> Result<bool> {
    Ok(plan.schema().functional_dependencies().iter().any(|known| known.mode == Dependency::Multi)
        || plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_)) && node.exists(is_grouping)?))?)
}

fn is_grouping(node: &LogicalPlan) -> Result<bool> {
    Ok(matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_)))
}

fn hidden(input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let node = WithoutFunctionalDependencies::of(Arc::unwrap_or_clone(input))?;
    Ok(Arc::new(LogicalPlan::Extension(Extension { node: Arc::new(node) })))
}

/// The rows of its input, without functional dependencies. It has no physical operator.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WithoutFunctionalDependencies {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl WithoutFunctionalDependencies {
    fn of(input: LogicalPlan) -> Result<Self> {
        let known = input.schema();
        let fields = known.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, known.metadata().clone())?);
        Ok(Self { input, schema })
    }
}

impl PartialOrd for WithoutFunctionalDependencies {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for WithoutFunctionalDependencies {
    fn name(&self) -> &str {
        "WithoutFunctionalDependencies"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// Filters are pushed through.
    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        Default::default()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("WithoutFunctionalDependencies")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[LogicalPlan; 1]>::try_from(inputs) {
            Ok([input]) => Self::of(input),
            Err(_) => plan_err!("it has one input"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}

struct LeaveOut;

#[async_trait]
impl ExtensionPlanner for LeaveOut {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical: &[&LogicalPlan],
        physical: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        Ok(match physical {
            [input] if node.name() == "WithoutFunctionalDependencies" => Some(Arc::clone(input)),
            _ => None,
        })
    }
}
