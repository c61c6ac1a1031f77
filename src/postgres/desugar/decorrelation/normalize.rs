//! Subqueries in the few normal forms that the rules after it know; runs before all of them.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, not_impl_err};
use datafusion::logical_expr::expr::{AggregateFunction, Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Sort, SubqueryAlias};
use datafusion::optimizer::AnalyzerRule;

use super::outer_references::{has_subqueries, outer_columns, refers_outside_of, subquery_of};

/// Begins the names of volatile subqueries.
const VOLATILE: &str = "__volatile_";

/// `= ANY` is IN, `<> ALL` and NOT IN are one, NOT EXISTS as well; aggregates of the outer query's
/// columns are refused.
#[derive(Debug)]
pub(crate) struct NormalizeSubqueries;

impl AnalyzerRule for NormalizeSubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let volatile = Cell::new(0);
        plan.transform_down_with_subqueries(|plan| {
            if let LogicalPlan::Aggregate(aggregate) = &plan {
                let input = aggregate.input.schema();
                aggregate.aggr_expr.iter().try_for_each(|expr| refuse_outer_aggregates(expr, input))?;
            }
            if !has_subqueries(&plan)? {
                return Ok(Transformed::no(plan));
            }
            let plan = match plan {
                LogicalPlan::Sort(sort) => match with_outer_columns(&sort)? {
                    Some(plan) => return Ok(Transformed::yes(plan)),
                    None => LogicalPlan::Sort(sort),
                },
                plan => plan,
            };
            let sorts = matches!(plan, LogicalPlan::Sort(_));
            let normalized = |expr| normalized(expr, &volatile);
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let normalized = expr.transform_up(normalized)?;
                Ok(if sorts { normalized } else { normalized.update_data(|expr| name.restore(expr)) })
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "normalize_subqueries"
    }
}

fn normalized(expr: Expr, volatile: &Cell<usize>) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::ScalarSubquery(subquery) if is_volatile(&subquery)? => {
            // Equal subqueries are one to DataFusion.
            volatile.set(volatile.get() + 1);
            let plan = Arc::clone(&subquery.subquery);
            let alias = SubqueryAlias::try_new(plan, format!("{VOLATILE}{}", volatile.get()))?;
            let plan = Arc::new(LogicalPlan::SubqueryAlias(alias));
            Transformed::yes(Expr::ScalarSubquery(Subquery { subquery: plan, ..subquery }))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op: Operator::Eq, quantifier: SetQuantifier::Any }) => {
            Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery: projected(subquery)?, negated: false }))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op: Operator::NotEq, quantifier: SetQuantifier::All }) => {
            Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery: projected(subquery)?, negated: true }))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery: projected(subquery)?, negated }))
        }
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated: !negated }))
            }
            Expr::Exists(Exists { subquery, negated }) => {
                Transformed::yes(Expr::Exists(Exists { subquery, negated: !negated }))
            }
            inner => Transformed::no(Expr::Not(Box::new(inner))),
        },
        expr => Transformed::no(expr),
    })
}

/// Whether each occurrence of a subquery is to be computed for itself, and is not apart yet.
fn is_volatile(subquery: &Subquery) -> Result<bool> {
    if matches!(subquery.subquery.as_ref(), LogicalPlan::SubqueryAlias(alias) if alias.alias.table().starts_with(VOLATILE))
    {
        return Ok(false);
    }
    let mut found = false;
    subquery.subquery.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.is_volatile();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// ORDER BY is planned above the select list: outer columns of its subqueries that the list does
/// not have are added to it, and projected away above.
fn with_outer_columns(sort: &Sort) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = sort.input.as_ref() else { return Ok(None) };
    let mut missing: Vec<Column> = Vec::new();
    for by in &sort.expr {
        by.expr.apply(|expr| {
            if let Some(subquery) = subquery_of(expr) {
                for column in outer_columns(&subquery.subquery, projection.input.schema())? {
                    if !projection.schema.has_column(&column) && !missing.contains(&column) {
                        missing.push(column);
                    }
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let exprs = projection.expr.iter().cloned().chain(missing.into_iter().map(Expr::Column)).collect();
    let input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&projection.input))?);
    let columns: Vec<_> = projection.schema.columns().into_iter().map(Expr::Column).collect();
    let sorted = LogicalPlan::Sort(Sort { input: Arc::new(input), ..sort.clone() });
    Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(sorted))?)))
}

/// DataFusion looks for the column of IN in a projection.
fn projected(subquery: Subquery) -> Result<Subquery> {
    if matches!(subquery.subquery.as_ref(), LogicalPlan::Projection(_)) {
        return Ok(subquery);
    }
    let columns: Vec<_> = subquery.subquery.schema().columns().into_iter().map(Expr::Column).collect();
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone()).project(columns)?.build()?;
    Ok(Subquery { subquery: Arc::new(plan), ..subquery })
}

/// `(SELECT sum(outer.x) FROM t)` is a sum over the rows of the outer query: an aggregate belongs
/// to the nearest query of which its arguments or its FILTER have a column, however deep.
fn refuse_outer_aggregates(expr: &Expr, input: &DFSchema) -> Result<()> {
    expr.apply(|expr| {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = expr else {
            return Ok(TreeNodeRecursion::Continue);
        };
        let sorted_by = params.order_by.iter().map(|by| &by.expr);
        let (mut of_input, mut of_outer) = (false, false);
        for argument in params.args.iter().chain(params.filter.as_deref()).chain(sorted_by) {
            of_input |= argument.any_column_refs();
            of_outer |= argument.contains_outer();
            argument.apply(|expr| {
                if let Some(subquery) = subquery_of(expr) {
                    of_input |= !outer_columns(&subquery.subquery, input)?.is_empty();
                    of_outer |= refers_outside_of(&subquery.subquery, input)?;
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        if of_outer && !of_input {
            return not_impl_err!(
                "{} of columns of an outer query only, which aggregates the outer query's rows, is not supported",
                func.name()
            );
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}
