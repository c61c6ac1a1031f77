//! LIMIT and OFFSET of a subquery: by row number within each value of the domain.

use std::sync::Arc;

use datafusion::common::{Result, not_impl_err};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::{FetchType, SkipType};
use datafusion::logical_expr::{
    Distinct, DistinctOn, Expr, ExprFunctionExt, Limit, LogicalPlan, LogicalPlanBuilder, Projection, SortExpr,
    SubqueryAlias, WindowFunctionDefinition, lit,
};

use super::decorrelator::Decorrelator;
use super::domain::Domain;
use super::push_domain::{order, whole};
use crate::functions::behind_barriers;

impl Decorrelator<'_> {
    pub(super) fn limit(&mut self, limit: &Limit, domain: &Domain) -> Result<LogicalPlan> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) = (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return not_impl_err!(
                "LIMIT of an expression in a subquery that refers to a query around it is not supported"
            );
        };
        // The sort may be by columns that a projection above it leaves out: rows are numbered below
        // that.
        if let Some(pushed_down) = pushed_down(limit, &limit.input)? {
            return self.push_domain(&pushed_down, domain);
        }
        let (order, input) = match limit.input.as_ref() {
            LogicalPlan::Sort(sort) => (order(&sort.expr, domain, sort.input.schema())?, &sort.input),
            LogicalPlan::Distinct(Distinct::On(distinct)) => (order_of_distinct(distinct)?, &limit.input),
            _ => (Vec::new(), &limit.input),
        };
        let attached = self.push_domain(input, domain)?;
        let number = self.name("row");
        let row_number = WindowFunctionDefinition::WindowUDF(row_number_udwf());
        let row_number = Expr::from(WindowFunction::new(row_number, Vec::new()))
            .partition_by(behind_barriers(domain.exprs()).collect())
            .order_by(order)
            .build()?
            .alias(&number.name);
        let number = Expr::Column(number);
        let mut kept = number.clone().gt(lit(skip as u64));
        if let Some(fetch) = fetch {
            kept = kept.and(number.lt_eq(lit(skip.saturating_add(fetch) as u64)));
        }
        let columns = whole(domain, limit.input.schema());
        LogicalPlanBuilder::from(attached).window([row_number])?.filter(kept)?.project(columns)?.build()
    }
}

/// The order of the rows of DISTINCT ON, by the columns that it selects. Its rows differ in what it
/// is distinct on, so that what it sorts by behind that is nothing to them.
fn order_of_distinct(distinct: &DistinctOn) -> Result<Vec<SortExpr>> {
    let order = distinct.sort_expr.iter().flatten().take(distinct.on_expr.len());
    order
        .map(|by| {
            let place = distinct.select_expr.iter().position(|expr| expr.clone().unalias() == by.expr);
            let Some(column) = place.and_then(|place| distinct.schema.columns().into_iter().nth(place)) else {
                return not_impl_err!(
                    "LIMIT of DISTINCT ON in a subquery that refers to a query around it is not supported unless \
                     what it is distinct on is selected"
                );
            };
            Ok(SortExpr::new(Expr::Column(column), by.asc, by.nulls_first))
        })
        .collect()
}

/// The input with the limit pushed down below its projections and aliases, which keep rows and
/// their order. `None` if there are none.
pub(crate) fn pushed_down(limit: &Limit, input: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let below = |input: &Arc<LogicalPlan>| -> Result<Arc<LogicalPlan>> {
        let limited = || LogicalPlan::Limit(Limit { input: Arc::clone(input), ..limit.clone() });
        Ok(Arc::new(pushed_down(limit, input)?.unwrap_or_else(limited)))
    };
    Ok(match input {
        LogicalPlan::Projection(projection) => Some(LogicalPlan::Projection(Projection::try_new_with_schema(
            projection.expr.clone(),
            below(&projection.input)?,
            Arc::clone(&projection.schema),
        )?)),
        LogicalPlan::SubqueryAlias(alias) => {
            Some(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(below(&alias.input)?, alias.alias.clone())?))
        }
        _ => None,
    })
}
