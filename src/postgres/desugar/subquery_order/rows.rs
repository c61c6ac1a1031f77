//! A plan with the columns that its rows are ordered by.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort, SortExpr};

/// One of the columns that rows are sorted by.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub column: Column,
    pub asc: bool,
    pub nulls_first: bool,
}

impl Term {
    pub(super) fn sort(&self) -> SortExpr {
        Expr::Column(self.column.clone()).sort(self.asc, self.nulls_first)
    }
}

/// A plan, and the order that its rows come in, as far as an ORDER BY in it says; the columns for
/// it may stand behind the plan's own.
pub(super) struct Rows {
    pub plan: LogicalPlan,
    pub order: Vec<Term>,
}

impl Rows {
    pub(super) fn unordered(plan: LogicalPlan) -> Self {
        Self { plan, order: Vec::new() }
    }

    pub(super) fn order(&self) -> Vec<SortExpr> {
        self.order.iter().map(Term::sort).collect()
    }

    /// The rows sorted, with all columns.
    pub(super) fn sorted(self) -> LogicalPlan {
        if self.order.is_empty() {
            return self.plan;
        }
        let expr = self.order();
        LogicalPlan::Sort(Sort { expr, input: Arc::new(self.plan), fetch: None })
    }

    /// The rows sorted, with the columns of a schema alone.
    pub(super) fn in_order(self, schema: &DFSchema) -> Result<LogicalPlan> {
        project_to(self.sorted(), schema)
    }
}

/// A plan with the columns of a schema, and no others.
pub(super) fn project_to(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let columns = schema.columns();
    if plan.schema().columns() == columns {
        return Ok(plan);
    }
    LogicalPlanBuilder::from(plan).project(columns.into_iter().map(Expr::Column))?.build()
}

/// A plan with more columns behind its own.
pub(super) fn with_columns(plan: LogicalPlan, added: Vec<Expr>) -> Result<LogicalPlan> {
    if added.is_empty() {
        return Ok(plan);
    }
    let exprs = plan.schema().columns().into_iter().map(Expr::Column).chain(added).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
