//! Subqueries among VALUES.
//!
//! DataFusion computes VALUES while it plans, when no subquery has been run: `VALUES ((SELECT 1))`
//! ends in an internal error. Rows with a subquery become projections of one row without columns,
//! which take subqueries, and VALUES a UNION ALL of its rows.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Values};
use datafusion::optimizer::AnalyzerRule;

use crate::rules::Rules;

/// Rewrites VALUES before other rules look for subqueries.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.analyzer.first(Arc::new(ProjectValues));
    Ok(())
}

#[derive(Debug)]
struct ProjectValues;

impl AnalyzerRule for ProjectValues {
    fn name(&self) -> &str {
        "project_values_of_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let project = |plan: LogicalPlan| match plan {
            LogicalPlan::Values(values) if has_subquery(&values)? => Ok(Transformed::yes(projected(values)?)),
            plan => Ok(Transformed::no(plan)),
        };
        plan.transform_up_with_subqueries(project).data()
    }
}

fn has_subquery(values: &Values) -> Result<bool> {
    for expr in values.values.iter().flatten() {
        if expr.exists(|expr| Ok(is_subquery(expr)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_))
}

fn projected(values: Values) -> Result<LogicalPlan> {
    let names: Vec<&String> = values.schema.fields().iter().map(|field| field.name()).collect();
    let row = |row: Vec<Expr>| {
        let columns = row.into_iter().zip(&names).map(|(value, name)| value.alias(name.as_str()));
        LogicalPlanBuilder::empty(true).project(columns)
    };
    let mut rows = values.values.into_iter();
    let Some(first) = rows.next() else { return plan_err!("VALUES without rows") };
    rows.try_fold(row(first)?, |above, values| above.union(row(values)?.build()?))?.build()
}
