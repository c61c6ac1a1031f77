//! WITH queries where the planner meets their names.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Distinct, LogicalPlan, SubqueryAlias};
use datafusion::sql::sqlparser::ast::{Ident, TableFactor};

use super::node::With;
use super::table::{Computed, CteTable, Definition, Source};
use crate::desugar::refers_outside;

/// What WITH says of a query, written behind its name: no dialect of ours reads such a word there.
pub(crate) const MATERIALIZED: &str = "materialized";
pub(crate) const NOT_MATERIALIZED: &str = "not materialized";
/// So that DataFusion plans the name, and not this planner again.
const PLAIN: &str = "plain";

/// Puts a leaf where a WITH query is named.
#[derive(Debug)]
pub(super) struct CtePlanner;

impl RelationPlanner for CtePlanner {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        // Names of other relations have their schema.
        let TableFactor::Table { name, args: None, alias, partitions, .. } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let said = partitions.first().map(|word| word.value.clone());
        if name.0.len() != 1 || said.as_deref() == Some(PLAIN) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        let alias = alias.take();
        *partitions = vec![Ident::new(PLAIN)];
        let plan = context.plan(relation)?;
        let plan = match &plan {
            LogicalPlan::SubqueryAlias(SubqueryAlias { alias: name, .. }) => match computed(&plan, said.as_deref())? {
                None if Seen::of(&plan)?.volatile => With::dependent(plan),
                None => plan,
                Some(computed) => {
                    let (name, schema) = (name.clone(), Arc::clone(plan.schema().inner()));
                    let source = Source::Defined(Arc::new(Definition { key: name.to_string(), plan, computed }));
                    CteTable { name, schema, source }.scan()?
                }
            },
            _ => plan,
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// When the rows of a WITH query are computed once; None if it depends on the rows of a query
/// around it.
fn computed(plan: &LogicalPlan, said: Option<&str>) -> Result<Option<Computed>> {
    let seen = Seen::of(plan)?;
    Ok(match said {
        _ if seen.depends => None,
        _ if seen.volatile => Some(Computed::Once),
        Some(MATERIALIZED) => Some(Computed::Once),
        Some(NOT_MATERIALIZED) => Some(Computed::EachTime),
        _ if seen.repeatable => Some(Computed::OnceIfLarge),
        _ => Some(Computed::OnceIfRepeated),
    })
}

/// What a plan has in it, other WITH queries left out.
#[derive(Debug)]
struct Seen {
    volatile: bool,
    /// Refers to a row of a query around it, or to the rows of a recursion that it is part of.
    depends: bool,
    /// Has the same rows each time, and bounds of keys may reach what it reads.
    repeatable: bool,
}

impl Seen {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut seen = Self { volatile: false, depends: refers_outside(plan)?, repeatable: true };
        let (mut recursions, mut work_tables): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::RecursiveQuery(recursion) => recursions.push(recursion.name.clone()),
                LogicalPlan::TableScan(scan) => {
                    let provider = source_as_provider(&scan.source);
                    let table = provider.as_ref().ok().and_then(|provider| provider.downcast_ref::<CteWorkTable>());
                    work_tables.extend(table.map(|table| table.name().to_owned()));
                }
                _ => {}
            }
            seen.repeatable &= !matches!(
                node,
                LogicalPlan::Limit(_) | LogicalPlan::RecursiveQuery(_) | LogicalPlan::Distinct(Distinct::On(_))
            );
            node.apply_expressions(|expr| {
                seen.volatile |= expr.is_volatile();
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        seen.depends |= work_tables.iter().any(|table| !recursions.contains(table));
        Ok(seen)
    }
}
