//! Which columns of the outer query a subquery refers to, and what to put in their place.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The plan of the subquery in an expression.
pub(super) fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Whether an expression of a node holds a subquery.
pub(crate) fn has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= holds_subquery(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether there is a subquery anywhere in a plan.
pub(super) fn has_subqueries_anywhere(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Subquery(_)) || has_subqueries(node)?))
}

/// Columns of `outer` that a plan refers to, however deep; each once.
///
/// A subquery inside the plan may have a column of the same name nearer to it, as the right side
/// of a join has on the left one: that one is meant then.
pub(super) fn outer_columns(plan: &LogicalPlan, outer: &DFSchema) -> Result<Vec<Column>> {
    let mut found = Vec::new();
    collect(plan, &|column| outer.has_column(column), &mut found)?;
    Ok(found)
}

fn collect(plan: &LogicalPlan, wanted: &dyn Fn(&Column) -> bool, found: &mut Vec<Column>) -> Result<()> {
    plan.apply(|node| {
        let inputs = merge_schema(&node.inputs());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr
                    && wanted(column)
                    && !found.contains(column)
                {
                    found.push(column.clone());
                }
                if let Some(subquery) = subquery_of(expr) {
                    collect(&subquery.subquery, &|column| wanted(column) && !inputs.has_column(column), found)?;
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        match node {
            LogicalPlan::Subquery(lateral) => collect(&lateral.subquery, wanted, found)?,
            LogicalPlan::Join(join) => {
                let left = join.left.schema();
                collect(&join.left, wanted, found)?;
                collect(&join.right, &|column| wanted(column) && !left.has_column(column), found)?;
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(())
}

/// An outer column and the one that takes its place.
pub(super) type Substitution = (Column, Column);

/// Puts columns in the place of references to outer ones. In subqueries of the expression they are
/// outer references still, to the new columns.
pub(super) fn substitute(expr: Expr, substitutions: &[Substitution], inputs: &DFSchema) -> Result<Expr> {
    let new = |column: &Column| substitutions.iter().find(|(old, _)| old == column).map(|(_, new)| new.clone());
    expr.transform_up(|expr| match expr {
        Expr::OuterReferenceColumn(field, column) => Ok(match new(&column) {
            Some(new) => Transformed::yes(Expr::Column(new)),
            None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        }),
        expr => in_subquery(expr, |subquery| substitute_in(subquery, substitutions, inputs)),
    })
    .data()
}

/// The expression with its subquery, if it is one, changed.
pub(crate) fn in_subquery(expr: Expr, change: impl FnOnce(Subquery) -> Result<Subquery>) -> Result<Transformed<Expr>> {
    Ok(Transformed::yes(match expr {
        Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(change(subquery)?),
        Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists { subquery: change(subquery)?, negated }),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            Expr::InSubquery(InSubquery { expr, subquery: change(subquery)?, negated })
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            Expr::SetComparison(SetComparison { expr, subquery: change(subquery)?, op, quantifier })
        }
        expr => return Ok(Transformed::no(expr)),
    }))
}

/// Renames outer references of a subquery, however deep.
pub(super) fn substitute_in(subquery: Subquery, substitutions: &[Substitution], inputs: &DFSchema) -> Result<Subquery> {
    // A column of the same name in the inputs is nearer, and is what it means.
    let hidden = |column: &Column| inputs.has_column(column);
    map_outer_in(subquery, &hidden, &|field, column| {
        let new = substitutions.iter().find(|(old, _)| *old == column).map(|(_, new)| new.clone());
        Expr::OuterReferenceColumn(field, new.unwrap_or(column))
    })
}

/// Changes the outer references of a subquery, however deep, but for those to `hidden` columns,
/// which something nearer has.
pub(super) fn map_outer_in(
    subquery: Subquery,
    hidden: &dyn Fn(&Column) -> bool,
    change: &dyn Fn(FieldRef, Column) -> Expr,
) -> Result<Subquery> {
    let plan = map_outer(Arc::unwrap_or_clone(subquery.subquery), hidden, change)?;
    let outer_ref_columns = subquery.outer_ref_columns.into_iter();
    let outer_ref_columns = outer_ref_columns.map(|expr| changed(expr, hidden, change)).collect();
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans })
}

fn changed(expr: Expr, hidden: &dyn Fn(&Column) -> bool, change: &dyn Fn(FieldRef, Column) -> Expr) -> Expr {
    match expr {
        Expr::OuterReferenceColumn(field, column) if !hidden(&column) => change(field, column),
        other => other,
    }
}

/// [`map_outer_in`] for a plan.
pub(super) fn map_outer(
    plan: LogicalPlan,
    hidden: &dyn Fn(&Column) -> bool,
    change: &dyn Fn(FieldRef, Column) -> Expr,
) -> Result<LogicalPlan> {
    plan.transform_down(|node| match node {
        LogicalPlan::Subquery(lateral) => {
            let lateral = map_outer_in(lateral, hidden, change)?;
            Ok(Transformed::new(LogicalPlan::Subquery(lateral), true, TreeNodeRecursion::Jump))
        }
        LogicalPlan::Join(mut join) => {
            let left = Arc::clone(join.left.schema());
            let nearer = |column: &Column| hidden(column) || left.has_column(column);
            join.right = Arc::new(map_outer(Arc::unwrap_or_clone(join.right), &nearer, change)?);
            join.left = Arc::new(map_outer(Arc::unwrap_or_clone(join.left), hidden, change)?);
            let join = map_expressions(LogicalPlan::Join(join), hidden, change)?.data;
            Ok(Transformed::new(join, true, TreeNodeRecursion::Jump))
        }
        node => map_expressions(node, hidden, change),
    })
    .data()
}

fn map_expressions(
    node: LogicalPlan,
    hidden: &dyn Fn(&Column) -> bool,
    change: &dyn Fn(FieldRef, Column) -> Expr,
) -> Result<Transformed<LogicalPlan>> {
    let inputs = merge_schema(&node.inputs());
    let sorts = matches!(node, LogicalPlan::Sort(_));
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        let mapped = expr.transform_up(|expr| match expr {
            Expr::OuterReferenceColumn(..) => Ok(Transformed::yes(changed(expr, hidden, change))),
            expr => {
                let nearer = |column: &Column| hidden(column) || inputs.has_column(column);
                in_subquery(expr, |subquery| map_outer_in(subquery, &nearer, change))
            }
        })?;
        // What is sorted by has no name.
        Ok(if sorts { mapped } else { mapped.update_data(|expr| name.restore(expr)) })
    })
}

/// Whether a plan is correlated: refers to outer columns, however deep.
pub(crate) fn refers_outside(plan: &LogicalPlan) -> Result<bool> {
    let mut found = Vec::new();
    collect(plan, &|_| true, &mut found)?;
    Ok(!found.is_empty())
}

/// Whether a plan refers to outer columns that `outer` does not have.
pub(super) fn refers_outside_of(plan: &LogicalPlan, outer: &DFSchema) -> Result<bool> {
    let mut found = Vec::new();
    collect(plan, &|column| !outer.has_column(column), &mut found)?;
    Ok(!found.is_empty())
}

/// Whether there is a subquery in an expression.
pub fn holds_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(subquery_of(expr).is_some())).unwrap_or(true)
}
