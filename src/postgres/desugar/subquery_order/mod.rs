//! The order that ORDER BY gives the rows of a derived table, WITH query or view.
//!
//! In SQL it ends with the subquery. In PostgreSQL the rows come out of it in that order, and
//! statements rely on it: the answer itself, LIMIT, `array_agg`, `row_number() OVER ()`. Here the
//! sort keys are propagated as columns to what is order-sensitive, which sorts by them. A sort
//! above which nothing is order-sensitive is left out.

mod consumers;
mod propagate;
mod rows;
mod sets;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Distinct, Expr, Limit, LogicalPlan, Projection, Sort, SubqueryAlias};
use datafusion::optimizer::AnalyzerRule;

use super::decorrelation::{has_subqueries, in_subquery, pushed_down};
use rows::{Term, project_to};

/// Runs after types are settled, and before subqueries become joins, which keep no order.
#[derive(Debug)]
pub(super) struct PropagateSubqueryOrder;

impl AnalyzerRule for PropagateSubqueryOrder {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        match sorts(&plan)? {
            true => Propagation::default().observed(plan),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &str {
        "subquery_order"
    }
}

/// Whether anything in a plan is sorted.
fn sorts(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= match node {
            LogicalPlan::Sort(_) => true,
            LogicalPlan::Distinct(Distinct::On(on)) => on.sort_expr.is_some(),
            _ => false,
        };
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[derive(Default)]
struct Propagation {
    /// Counts the names given out.
    names: usize,
}

impl Propagation {
    /// A plan whose rows are read in sequence, with the same columns.
    fn observed(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match self.with_subqueries(plan)? {
            // A sort stays where it is if nothing above it could disturb the order.
            LogicalPlan::Sort(Sort { mut expr, input, fetch }) => {
                let schema = Arc::clone(input.schema());
                let (input, ordinals) = self.with_ordinals(Arc::unwrap_or_clone(input))?;
                expr.extend(ordinals.iter().map(Term::sort));
                let input = Arc::new(self.rows(input, false)?.plan);
                project_to(LogicalPlan::Sort(Sort { expr, input, fetch }), &schema)
            }
            LogicalPlan::Projection(projection) if projection.expr.iter().all(is_column) => {
                let input = self.observed(Arc::unwrap_or_clone(projection.input))?;
                Ok(LogicalPlan::Projection(Projection::try_new(projection.expr, Arc::new(input))?))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.observed(Arc::unwrap_or_clone(alias.input))?;
                Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input), alias.alias)?))
            }
            // It sorts what it returns.
            LogicalPlan::Distinct(Distinct::On(on)) => Ok(self.distinct_on(on, false)?.plan),
            LogicalPlan::Limit(limit) => match on_sort(&limit)? {
                Some(plan) => self.observed(plan),
                None => {
                    let input = Arc::new(self.observed(Arc::unwrap_or_clone(limit.input))?);
                    Ok(LogicalPlan::Limit(Limit { input, ..limit }))
                }
            },
            plan => {
                let schema = Arc::clone(plan.schema());
                self.node(plan, true)?.in_order(&schema)
            }
        }
    }

    /// The subqueries in the expressions of a node: whether they have rows and which, not in what
    /// order.
    fn with_subqueries(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if !has_subqueries(&plan)? {
            return Ok(plan);
        }
        // What is sorted by has no name.
        let named = !matches!(plan, LogicalPlan::Sort(_));
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let within = expr.transform_up(|expr| in_subquery(expr, |subquery| self.within(subquery, false)))?;
            Ok(if named { within.update_data(|expr| name.restore(expr)) } else { within })
        })
        .data()
    }

    fn within(&mut self, subquery: Subquery, wanted: bool) -> Result<Subquery> {
        Ok(self.lateral(subquery, wanted)?.0)
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("__order_{}", self.names)
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_column(&alias.expr),
        _ => false,
    }
}

/// The limit pushed down onto its sort, where only projections lie between: they then compute what
/// is left. `None` for any other.
fn on_sort(limit: &Limit) -> Result<Option<LogicalPlan>> {
    fn is_sorted(plan: &LogicalPlan) -> bool {
        match plan {
            LogicalPlan::Projection(projection) => is_sorted(&projection.input),
            LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
            plan => matches!(plan, LogicalPlan::Sort(_)),
        }
    }
    if is_sorted(&limit.input) { pushed_down(limit, &limit.input) } else { Ok(None) }
}
