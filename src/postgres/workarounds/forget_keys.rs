//! Columns that are taken for a key and are none.
//!
//! The optimizer knows that the rows of an aggregate differ in the columns that it groups by. A
//! join may repeat them; an aggregate over the join that groups by those columns and others makes
//! it believe that they differ again, and a DISTINCT or GROUP BY above is dropped. So an aggregate
//! does not see what its input knows once a join has been there.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Dependency, Result, plan_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use super::recomputed;
use crate::rules::Rules;

/// Adds the rule, and the planner that leaves its node out.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.analyzer.last(Arc::new(ForgetKeys));
    rules.query_planner = Some(Arc::new(Planner));
    Ok(())
}

#[derive(Debug)]
struct ForgetKeys;

impl AnalyzerRule for ForgetKeys {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let forgot = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(mut aggregate) if repeats(&aggregate.input)? => {
                aggregate.input = forgetting(aggregate.input)?;
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            LogicalPlan::Distinct(Distinct::All(input)) if repeats(&input)? => {
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::All(forgetting(input)?))))
            }
            LogicalPlan::Distinct(Distinct::On(mut on)) if repeats(&on.input)? => {
                on.input = forgetting(on.input)?;
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
            }
            plan => Ok(Transformed::no(plan)),
        })?;
        if !forgot.transformed {
            return Ok(forgot.data);
        }
        // Schemas hold what is known: those above still what is forgotten.
        recomputed(forgot.data)
    }

    fn name(&self) -> &str {
        "forget_keys"
    }
}

/// Whether a plan knows columns that were a key before a join, or will when its DISTINCTs have
/// become aggregates.
fn repeats(plan: &LogicalPlan) -> Result<bool> {
    let groups = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_)));
    Ok(plan.schema().functional_dependencies().iter().any(|known| known.mode == Dependency::Multi)
        || plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_)) && node.exists(groups)?))?)
}

fn forgetting(input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let forgotten = Forgotten::of(Arc::unwrap_or_clone(input))?;
    Ok(Arc::new(LogicalPlan::Extension(Extension { node: Arc::new(forgotten) })))
}

/// The rows of its input, of which nothing is known. There is none in the physical plan.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Forgotten {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl Forgotten {
    fn of(input: LogicalPlan) -> Result<Self> {
        let known = input.schema();
        let fields = known.iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, known.metadata().clone())?);
        Ok(Self { input, schema })
    }
}

impl PartialOrd for Forgotten {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for Forgotten {
    fn name(&self) -> &str {
        "Forgotten"
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

    /// Conditions go through.
    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        Default::default()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Forgotten")
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

/// DataFusion's own planner, which leaves the node out.
#[derive(Debug)]
struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(LeaveOut)]);
        planner.create_physical_plan(plan, session).await
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
            [input] if node.name() == "Forgotten" => Some(Arc::clone(input)),
            _ => None,
        })
    }
}
