//! `LATERAL`: the right side of a join refers to columns of the left one.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result, not_impl_err};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{EmptyRelation, Expr, Join, LogicalPlan, LogicalPlanBuilder};

use super::allow_list;
use super::decorrelator::Decorrelator;
use super::domain::on_values_of_domain;
use super::outer_references::{has_subqueries, outer_columns, refers_outside};

impl Decorrelator<'_> {
    pub(super) fn join(&mut self, join: Join) -> Result<Transformed<LogicalPlan>> {
        if let Some(lateral) = lateral_of(&join.right)
            && !refers_outside(&lateral.subquery)?
        {
            return self.hoist_from_join(without_lateral(join)?).map(|join| Transformed::yes(join.data));
        }
        let outer = outer_columns(&join.right, join.left.schema())?;
        // Columns of queries further out are columns of the left side by the time that those are
        // decorrelated.
        let stays = match lateral_of(&join.right) {
            Some(lateral) => is_bare(&join.right) && allow_list::lateral(&lateral.subquery)?,
            // Only subqueries within it are correlated.
            None => false,
        };
        if !outer.is_empty() && !stays {
            return self.lateral(join).map(Transformed::yes);
        }
        self.hoist_from_join(join)
    }

    fn lateral(&mut self, join: Join) -> Result<LogicalPlan> {
        let kind = join.join_type;
        let columns: Vec<_> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let filter = join.on.into_iter().map(|(left, right)| left.eq(right)).chain(join.filter).reduce(Expr::and);
        let rows = rows_of(&join.right)?;
        if (kind == JoinType::Inner && rows.is_some())
            || (kind == JoinType::Left && rows == Some(Rows::One) && filter.is_none())
        {
            // Each left row is answered by itself, so that the left side is read once.
            let domain = self.rows(join.left.schema().columns(), &join.left)?;
            let answered = self.push_domain(&join.right, &domain)?;
            let left = domain.columns.iter().map(|(column, renamed)| {
                Expr::Column(renamed.clone()).alias_qualified(column.relation.clone(), &column.name)
            });
            let right = join.right.schema().columns().into_iter().map(Expr::Column);
            let mut plan = LogicalPlanBuilder::from(answered).project(left.chain(right).collect::<Vec<_>>())?;
            if let Some(filter) = filter {
                plan = plan.filter(filter)?;
            }
            return plan.build();
        }
        if !matches!(kind, JoinType::Inner | JoinType::Left) {
            return not_impl_err!("LATERAL that refers to the other side of a {kind} JOIN is not supported");
        }
        let outer = outer_columns(&join.right, join.left.schema())?;
        let domain = self.domain(outer, &join.left)?;
        let answers = self.push_domain(&join.right, &domain)?;
        let joined = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left))
            .join_detailed(answers, kind, domain.keys(), filter, NullEquality::NullEqualsNull)?
            .build()?;
        LogicalPlanBuilder::from(on_values_of_domain(joined)).project(columns)?.build()
    }
}

/// The LATERAL subquery that a side of a join is.
pub(super) fn lateral_of(plan: &LogicalPlan) -> Option<&Subquery> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some(subquery),
        LogicalPlan::SubqueryAlias(alias) => lateral_of(&alias.input),
        LogicalPlan::Projection(projection) => lateral_of(&projection.input),
        _ => None,
    }
}

/// The join with a right side that refers to nothing outside, as one that is not LATERAL: the
/// planner takes what a LATERAL within it refers to for outer columns.
fn without_lateral(mut join: Join) -> Result<Join> {
    let right = Arc::unwrap_or_clone(join.right).transform_down(|plan| match plan {
        LogicalPlan::Subquery(lateral) => {
            Ok(Transformed::new(Arc::unwrap_or_clone(lateral.subquery), true, TreeNodeRecursion::Stop))
        }
        plan => Ok(Transformed::no(plan)),
    })?;
    join.right = Arc::new(right.data);
    Ok(join)
}

/// Whether DataFusion recognizes it as LATERAL.
fn is_bare(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(alias) => matches!(alias.input.as_ref(), LogicalPlan::Subquery(_)),
        _ => false,
    }
}

/// How many rows a plan has for an outer row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rows {
    One,
    Any,
}

/// For plans that answer each outer row on its own, duplicates as well: no aggregates, no order, no
/// join with both sides correlated. `None` for any other.
fn rows_of(plan: &LogicalPlan) -> Result<Option<Rows>> {
    if !refers_outside(plan)? {
        let one = matches!(plan, LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, .. }));
        return Ok(Some(if one { Rows::One } else { Rows::Any }));
    }
    if has_subqueries(plan)? {
        return Ok(None);
    }
    Ok(match plan {
        LogicalPlan::Projection(projection) => rows_of(&projection.input)?,
        LogicalPlan::SubqueryAlias(alias) => rows_of(&alias.input)?,
        LogicalPlan::Subquery(lateral) => rows_of(&lateral.subquery)?,
        LogicalPlan::Filter(filter) => rows_of(&filter.input)?.map(|_| Rows::Any),
        LogicalPlan::Unnest(unnest) => rows_of(&unnest.input)?.map(|_| Rows::Any),
        LogicalPlan::Values(_) => Some(Rows::Any),
        LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner && !(refers_outside(&join.left)? && refers_outside(&join.right)?) =>
        {
            rows_of(&join.left)?.and(rows_of(&join.right)?).map(|_| Rows::Any)
        }
        _ => None,
    })
}
