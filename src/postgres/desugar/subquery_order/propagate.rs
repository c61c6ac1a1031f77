//! The order of rows, propagated through each node of a plan.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    Distinct, Expr, Filter, Join, Limit, LogicalPlan, LogicalPlanBuilder, Projection, Sort, SubqueryAlias, Union,
    Unnest,
};

use super::rows::{Rows, Term, project_to, with_columns};
use super::{Propagation, on_sort, sorts};
use crate::desugar::decorrelation::holds_subquery;

impl Propagation {
    /// The rows of a plan. If their order is not `wanted` there is none, nor a column for it.
    pub(super) fn rows(&mut self, plan: LogicalPlan, wanted: bool) -> Result<Rows> {
        if !sorts(&plan)? {
            return Ok(Rows::unordered(plan));
        }
        let plan = self.with_subqueries(plan)?;
        self.node(plan, wanted)
    }

    /// [`Self::rows`] of a node whose expressions are done.
    pub(super) fn node(&mut self, plan: LogicalPlan, wanted: bool) -> Result<Rows> {
        match plan {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.sort(sort, wanted),
            LogicalPlan::Limit(limit) => self.limit(limit, wanted),
            LogicalPlan::Projection(projection) => self.projection(projection, wanted),
            LogicalPlan::SubqueryAlias(alias) => self.alias(alias, wanted),
            LogicalPlan::Filter(filter) => {
                let Rows { plan, order } = self.rows(Arc::unwrap_or_clone(filter.input), wanted)?;
                let plan = LogicalPlan::Filter(Filter::try_new(filter.predicate, Arc::new(plan))?);
                Ok(Rows { plan, order })
            }
            LogicalPlan::Join(join) => self.join(join, wanted),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest, wanted),
            LogicalPlan::Subquery(lateral) => {
                let (lateral, order) = self.lateral(lateral, wanted)?;
                Ok(Rows { plan: LogicalPlan::Subquery(lateral), order })
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.rows(Arc::unwrap_or_clone(input), false)?.plan;
                Ok(Rows::unordered(LogicalPlan::Distinct(Distinct::All(Arc::new(input)))))
            }
            LogicalPlan::Distinct(Distinct::On(on)) => self.distinct_on(on, wanted),
            // Its inputs are read side by side.
            LogicalPlan::Union(Union { inputs, schema }) => {
                let unordered = |input| Ok(Arc::new(self.rows(Arc::unwrap_or_clone(input), false)?.plan));
                let inputs = inputs.into_iter().map(unordered).collect::<Result<Vec<_>>>()?;
                Ok(Rows::unordered(LogicalPlan::Union(Union { inputs, schema })))
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate).map(Rows::unordered),
            LogicalPlan::Window(window) => self.window(window, wanted),
            plan => {
                let plan = plan.map_children(|input| self.observed(input).map(Transformed::yes)).data()?;
                Ok(Rows::unordered(plan))
            }
        }
    }

    fn sort(&mut self, sort: Sort, wanted: bool) -> Result<Rows> {
        if !wanted {
            return self.rows(Arc::unwrap_or_clone(sort.input), false);
        }
        let schema = Arc::clone(sort.input.schema());
        let (input, ordinals) = self.with_ordinals(Arc::unwrap_or_clone(sort.input))?;
        let input = self.rows(input, false)?.plan;
        if sort.expr.iter().any(|by| holds_subquery(&by.expr) || by.expr.contains_outer()) {
            let expr = sort.expr.into_iter().chain(ordinals.iter().map(Term::sort)).collect();
            let sorted = LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch: None });
            return Ok(Rows::unordered(project_to(sorted, &schema)?));
        }
        let mut added = Vec::new();
        let order = sort.expr.into_iter().map(|by| {
            let column = match by.expr {
                Expr::Column(column) => column,
                expr => {
                    let name = self.name();
                    added.push(expr.alias(&name));
                    Column::new_unqualified(name)
                }
            };
            Term { column, asc: by.asc, nulls_first: by.nulls_first }
        });
        let order = distinct(order.chain(ordinals));
        Ok(Rows { plan: with_columns(input, added)?, order })
    }

    /// Which rows it lets through depends on their order, also where nothing above is
    /// order-sensitive.
    fn limit(&mut self, limit: Limit, wanted: bool) -> Result<Rows> {
        if !wanted {
            return self.observed(LogicalPlan::Limit(limit)).map(Rows::unordered);
        }
        if let Some(plan) = on_sort(&limit)? {
            return self.rows(plan, wanted);
        }
        let rows = self.rows(Arc::unwrap_or_clone(limit.input), true)?;
        let order = rows.order.clone();
        let plan = LogicalPlan::Limit(Limit { input: Arc::new(rows.sorted()), ..limit });
        Ok(Rows { plan, order })
    }

    fn projection(&mut self, projection: Projection, wanted: bool) -> Result<Rows> {
        let Rows { plan, mut order } = self.rows(Arc::unwrap_or_clone(projection.input), wanted)?;
        let mut exprs = projection.expr;
        for term in &mut order {
            let is_term = |expr: &Expr| matches!(unaliased(expr), Expr::Column(column) if *column == term.column);
            term.column = match exprs.iter().position(is_term) {
                Some(place) => {
                    let (qualifier, name) = exprs[place].qualified_name();
                    Column::new(qualifier, name)
                }
                None => {
                    let name = self.name();
                    exprs.push(Expr::Column(term.column.clone()).alias(&name));
                    Column::new_unqualified(name)
                }
            };
        }
        let plan = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?);
        Ok(Rows { plan, order })
    }

    fn alias(&mut self, alias: SubqueryAlias, wanted: bool) -> Result<Rows> {
        let Rows { plan, mut order } = self.rows(Arc::unwrap_or_clone(alias.input), wanted)?;
        let places =
            order.iter().map(|term| plan.schema().index_of_column(&term.column)).collect::<Result<Vec<_>>>()?;
        let alias = SubqueryAlias::try_new(Arc::new(plan), alias.alias)?;
        for (term, place) in order.iter_mut().zip(places) {
            term.column = Column::from(alias.schema.qualified_field(place));
        }
        Ok(Rows { plan: LogicalPlan::SubqueryAlias(alias), order })
    }

    /// By the left side, then by the right one, as in nested loops.
    fn join(&mut self, join: Join, wanted: bool) -> Result<Rows> {
        let (left, right) = match join.join_type {
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => (true, true),
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, false),
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (false, true),
        };
        let left = self.rows(Arc::unwrap_or_clone(join.left), wanted && left)?;
        let right = self.rows(Arc::unwrap_or_clone(join.right), wanted && right)?;
        let order = left.order.into_iter().chain(right.order).collect();
        let plan = LogicalPlan::Join(Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            join.on,
            join.filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?);
        Ok(Rows { plan, order })
    }

    fn unnest(&mut self, unnest: Unnest, wanted: bool) -> Result<Rows> {
        let Rows { mut plan, mut order } = self.rows(unnest.input.as_ref().clone(), wanted)?;
        // A column that is taken apart does not come out of it.
        let mut added = Vec::new();
        for term in order.iter_mut().filter(|term| unnest.exec_columns.contains(&term.column)) {
            let name = self.name();
            added.push(Expr::Column(term.column.clone()).alias(&name));
            term.column = Column::new_unqualified(name);
        }
        plan = with_columns(plan, added)?;
        if order.is_empty() {
            let (columns, options) = (unnest.exec_columns, unnest.options);
            let plan = LogicalPlanBuilder::from(plan).unnest_columns_with_options(columns, options)?.build()?;
            return Ok(Rows::unordered(plan));
        }
        let (plan, ordinals) = self.unnested(plan, unnest, true)?;
        order.extend(ordinals);
        Ok(Rows { plan, order })
    }

    pub(super) fn lateral(&mut self, lateral: Subquery, wanted: bool) -> Result<(Subquery, Vec<Term>)> {
        let Rows { plan, order } = self.rows(Arc::unwrap_or_clone(lateral.subquery), wanted)?;
        // Outer columns that only a removed sort referred to are not referred to any more.
        let outer = plan.all_out_ref_exprs();
        let outer_ref_columns = match outer.is_empty() {
            true => outer,
            false => lateral.outer_ref_columns,
        };
        Ok((Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: lateral.spans }, order))
    }
}

/// The terms, each column once: a second time it orders nothing.
fn distinct(terms: impl Iterator<Item = Term>) -> Vec<Term> {
    let mut distinct: Vec<Term> = Vec::new();
    for term in terms {
        if distinct.iter().all(|known| known.column != term.column) {
            distinct.push(term);
        }
    }
    distinct
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        expr => expr,
    }
}
