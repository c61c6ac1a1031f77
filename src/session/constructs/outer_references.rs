//! Which columns of the outer query a sub-query refers to, and what to put in their place.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use std::sync::Arc;

/// The plan of the sub-query in an expression.
pub fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}

/// Columns of `outer` that a plan refers to, however deep; each once.
///
/// A sub-query inside the plan may have a column of the same name nearer to it: that one is meant then.
pub fn outer_columns(plan: &LogicalPlan, outer: &DFSchema) -> Result<Vec<Column>> {
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
        if let LogicalPlan::Subquery(lateral) = node {
            collect(&lateral.subquery, wanted, found)?;
            return Ok(TreeNodeRecursion::Jump);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// An outer column and the one that takes its place.
pub type Substitution = (Column, Column);

/// Puts columns in the place of references to outer ones. In sub-queries of the expression they are outer references still, to
/// the new columns.
pub fn substitute(expr: Expr, substitutions: &[Substitution], inputs: &DFSchema) -> Result<Expr> {
    let new = |column: &Column| substitutions.iter().find(|(old, _)| old == column).map(|(_, new)| new.clone());
    expr.transform_up(|expr| match expr {
        Expr::OuterReferenceColumn(field, column) => Ok(match new(&column) {
            Some(new) => Transformed::yes(Expr::Column(new)),
            None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        }),
        Expr::ScalarSubquery(subquery) => {
            Ok(Transformed::yes(Expr::ScalarSubquery(substitute_in(subquery, substitutions, inputs)?)))
        }
        Expr::Exists(exists) => {
            let subquery = substitute_in(exists.subquery, substitutions, inputs)?;
            Ok(Transformed::yes(Expr::Exists(Exists { subquery, ..exists })))
        }
        Expr::InSubquery(within) => {
            let subquery = substitute_in(within.subquery, substitutions, inputs)?;
            Ok(Transformed::yes(Expr::InSubquery(InSubquery { subquery, ..within })))
        }
        Expr::SetComparison(comparison) => {
            let subquery = substitute_in(comparison.subquery, substitutions, inputs)?;
            Ok(Transformed::yes(Expr::SetComparison(SetComparison { subquery, ..comparison })))
        }
        expr => Ok(Transformed::no(expr)),
    })
    .data()
}

/// Renames outer references of a sub-query, however deep.
pub fn substitute_in(subquery: Subquery, substitutions: &[Substitution], inputs: &DFSchema) -> Result<Subquery> {
    // What its own surroundings have under that name is meant by it.
    let substitutions: Vec<Substitution> =
        substitutions.iter().filter(|(old, _)| !inputs.has_column(old)).cloned().collect();
    let plan = rename_outer(Arc::unwrap_or_clone(subquery.subquery), &substitutions)?;
    let outer_ref_columns = subquery.outer_ref_columns.into_iter();
    let outer_ref_columns = outer_ref_columns.map(|expr| renamed(expr, &substitutions)).collect();
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: subquery.spans })
}

fn renamed(expr: Expr, substitutions: &[Substitution]) -> Expr {
    match expr {
        Expr::OuterReferenceColumn(field, column) => {
            let new = substitutions.iter().find(|(old, _)| *old == column).map(|(_, new)| new.clone());
            Expr::OuterReferenceColumn(field, new.unwrap_or(column))
        }
        other => other,
    }
}

fn rename_outer(plan: LogicalPlan, substitutions: &[Substitution]) -> Result<LogicalPlan> {
    plan.transform_down(|node| {
        let inputs = merge_schema(&node.inputs());
        if let LogicalPlan::Subquery(lateral) = node {
            let plan = rename_outer(Arc::unwrap_or_clone(lateral.subquery), substitutions)?;
            let outer_ref_columns = lateral.outer_ref_columns.into_iter();
            let outer_ref_columns = outer_ref_columns.map(|expr| renamed(expr, substitutions)).collect();
            let lateral = Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: lateral.spans };
            return Ok(Transformed::new(LogicalPlan::Subquery(lateral), true, TreeNodeRecursion::Jump));
        }
        node.map_expressions(|expr| {
            expr.transform_up(|expr| {
                let nested = |subquery| substitute_in(subquery, substitutions, &inputs);
                Ok(Transformed::yes(match expr {
                    Expr::OuterReferenceColumn(..) => renamed(expr, substitutions),
                    Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(nested(subquery)?),
                    Expr::Exists(exists) => {
                        Expr::Exists(Exists { subquery: nested(exists.subquery)?, negated: exists.negated })
                    }
                    Expr::InSubquery(within) => {
                        Expr::InSubquery(InSubquery { subquery: nested(within.subquery.clone())?, ..within })
                    }
                    Expr::SetComparison(set) => {
                        Expr::SetComparison(SetComparison { subquery: nested(set.subquery.clone())?, ..set })
                    }
                    expr => return Ok(Transformed::no(expr)),
                }))
            })
        })
    })
    .data()
}

/// Whether a plan refers to anything outside, however deep.
pub fn refers_outside(plan: &LogicalPlan) -> Result<bool> {
    let mut found = Vec::new();
    collect(plan, &|_| true, &mut found)?;
    Ok(!found.is_empty())
}

/// Whether the optimizer can make a join of this sub-query: it moves conditions of filters into the join, and over an aggregate only
/// those that equate a column with something outside.
pub fn optimizer_decorrelates(plan: &LogicalPlan, aggregated: bool) -> Result<bool> {
    if !refers_outside(plan)? {
        return Ok(true);
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let fits =
                datafusion::logical_expr::utils::split_conjunction(&filter.predicate).into_iter().all(|conjunct| {
                    !holds_subquery(conjunct) && (!conjunct.contains_outer() || !aggregated || equates(conjunct))
                });
            Ok(fits && optimizer_decorrelates(&filter.input, aggregated)?)
        }
        node if node.contains_outer_reference() => Ok(false),
        LogicalPlan::Projection(projection) => {
            Ok(!projection.expr.iter().any(holds_subquery) && optimizer_decorrelates(&projection.input, aggregated)?)
        }
        LogicalPlan::SubqueryAlias(alias) => optimizer_decorrelates(&alias.input, aggregated),
        LogicalPlan::Aggregate(aggregate) => optimizer_decorrelates(&aggregate.input, true),
        LogicalPlan::Join(join) if join.join_type == datafusion::common::JoinType::Inner => {
            Ok(optimizer_decorrelates(&join.left, aggregated)? && optimizer_decorrelates(&join.right, aggregated)?)
        }
        _ => Ok(false),
    }
}

fn holds_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(subquery_of(expr).is_some())).unwrap_or(true)
}

fn equates(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return false };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(_), other) | (other, Expr::Column(_)) => !other.any_column_refs(),
        _ => false,
    }
}
