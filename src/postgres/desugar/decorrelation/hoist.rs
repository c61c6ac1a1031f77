//! Hoisting: subqueries in the expressions of nodes that take no join become columns of a
//! projection below them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result, not_impl_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Distinct, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Projection};

use super::decorrelator::Decorrelator;
use super::outer_references::{holds_subquery, outer_columns, refers_outside, subquery_of};

impl Decorrelator<'_> {
    /// Aggregates, sorts, windows and DISTINCT ON.
    pub(super) fn hoist(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)) && holds_subquery(expr))
        {
            return not_impl_err!("a subquery in GROUPING SETS is not supported");
        }
        let mut hoisted = Vec::new();
        // What is sorted by has no name.
        let sorts = matches!(plan, LogicalPlan::Sort(_));
        let names = NamePreserver::new(&plan);
        let schema = Arc::clone(plan.schema());
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let replaced = self.hoisted(expr, &mut hoisted)?;
            Ok(if sorts { replaced } else { replaced.update_data(|expr| name.restore(expr)) })
        })?;
        if hoisted.is_empty() {
            return Ok(plan);
        }
        let plan = plan.data;
        let Some(input) = plan.inputs().into_iter().next().cloned() else { return Ok(Transformed::no(plan)) };
        let input = with_columns(input, hoisted)?;
        let plan = match plan {
            LogicalPlan::Distinct(Distinct::On(mut on)) => {
                on.input = Arc::new(input);
                return Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))));
            }
            plan => plan.with_new_exprs(plan.expressions(), vec![input])?,
        };
        if matches!(plan, LogicalPlan::Aggregate(_)) {
            return Ok(Transformed::yes(plan));
        }
        let columns: Vec<_> = schema.columns().into_iter().map(Expr::Column).collect();
        Ok(Transformed::yes(LogicalPlanBuilder::from(plan).project(columns)?.build()?))
    }

    /// The expression with a column in place of each subquery that has to be hoisted, which
    /// `hoisted` gets.
    fn hoisted(&mut self, expr: Expr, hoisted: &mut Vec<Expr>) -> Result<Transformed<Expr>> {
        if !holds_subquery(&expr) {
            return Ok(Transformed::no(expr));
        }
        expr.transform_down(|expr| {
            if !must_hoist(&expr)? {
                return Ok(Transformed::no(expr));
            }
            let same = |known: &Expr| matches!(known, Expr::Alias(alias) if *alias.expr == expr);
            if let Some(Expr::Alias(known)) = hoisted.iter().find(|known| same(known)) {
                let column = Expr::Column(Column::new_unqualified(&known.name));
                return Ok(Transformed::new(column, true, TreeNodeRecursion::Jump));
            }
            let name = self.name("value");
            hoisted.push(expr.alias(&name.name));
            Ok(Transformed::new(Expr::Column(name), true, TreeNodeRecursion::Jump))
        })
    }

    /// Subqueries in the conditions of a join: of an inner join the conjunct goes into a filter
    /// above it, of an outer join the subquery into a projection on the side that it refers to.
    pub(super) fn hoist_from_join(&mut self, join: Join) -> Result<Transformed<LogicalPlan>> {
        let mut any = false;
        for (left, right) in &join.on {
            any |= any_must_hoist(left)? || any_must_hoist(right)?;
        }
        if let Some(filter) = &join.filter {
            any |= any_must_hoist(filter)?;
        }
        if !any {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let (mut on, mut above, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (left, right) in join.on {
            match any_must_hoist(&left)? || any_must_hoist(&right)? {
                true => above.push(left.eq(right)),
                false => on.push((left, right)),
            }
        }
        for conjunct in join.filter.into_iter().flat_map(split_conjunction_owned) {
            match any_must_hoist(&conjunct)? {
                true => above.push(conjunct),
                false => kept.push(conjunct),
            }
        }
        let columns: Vec<_> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let (mut left, mut right) = (join.left, join.right);
        if join.join_type != JoinType::Inner {
            let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
            for conjunct in std::mem::take(&mut above) {
                let mut hoisted = Vec::new();
                kept.push(self.hoisted(conjunct, &mut hoisted)?.data);
                for expr in hoisted {
                    match (refers_to(&expr, &left)?, refers_to(&expr, &right)?) {
                        (true, true) => {
                            return not_impl_err!(
                                "a subquery in the ON of an outer join that refers to both sides is not supported"
                            );
                        }
                        (true, false) => of_left.push(expr),
                        (false, _) => of_right.push(expr),
                    }
                }
            }
            left = Arc::new(with_columns(Arc::unwrap_or_clone(left), of_left)?);
            right = Arc::new(with_columns(Arc::unwrap_or_clone(right), of_right)?);
        }
        let filter = kept.into_iter().reduce(Expr::and);
        let (constraint, nulls) = (join.join_constraint, join.null_equality);
        let plan = Join::try_new(left, right, on, filter, join.join_type, constraint, nulls, join.null_aware)?;
        let plan = LogicalPlan::Join(plan);
        if let Some(predicate) = above.into_iter().reduce(Expr::and) {
            let filter = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?);
            return Ok(Transformed::yes(self.expressions(filter)?.data));
        }
        Ok(Transformed::yes(LogicalPlanBuilder::from(plan).project(columns)?.build()?))
    }
}

/// Refuses subqueries in the expressions of nodes of any other kind.
pub(super) fn refuse_subqueries(plan: &LogicalPlan) -> Result<()> {
    plan.apply_expressions(|expr| {
        if any_must_hoist(expr)? {
            return not_impl_err!("a subquery in this place is not supported");
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Whether an expression is a subquery that DataFusion takes in a projection or filter alone.
fn must_hoist(expr: &Expr) -> Result<bool> {
    match (expr, subquery_of(expr)) {
        (Expr::ScalarSubquery(subquery), _) => refers_outside(&subquery.subquery),
        (_, found) => Ok(found.is_some()),
    }
}

fn any_must_hoist(expr: &Expr) -> Result<bool> {
    let mut found = false;
    expr.apply(|expr| {
        found |= must_hoist(expr)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether an expression or the subqueries in it name columns of a plan.
fn refers_to(expr: &Expr, plan: &LogicalPlan) -> Result<bool> {
    let schema = plan.schema();
    let mut found = false;
    expr.apply(|expr| {
        if let Expr::Column(column) = expr {
            found |= schema.has_column(column);
        }
        if let Some(subquery) = subquery_of(expr) {
            found |= !outer_columns(&subquery.subquery, schema)?.is_empty();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn with_columns(plan: LogicalPlan, added: Vec<Expr>) -> Result<LogicalPlan> {
    if added.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns().into_iter().map(Expr::Column);
    let exprs: Vec<_> = columns.chain(added).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}
