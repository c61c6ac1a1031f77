//! GROUPING SETS, ROLLUP and CUBE of expressions. Those of a set have no place for the name that an
//! expression had when it was planned, by which the nodes above find it: before a rule makes
//! another expression of them, they become columns of a projection below.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

const GROUPING: &str = "grouping";

/// Puts projections with the terms of grouping sets below aggregates.
#[derive(Debug)]
pub(super) struct GroupingTerms;

impl AnalyzerRule for GroupingTerms {
    fn name(&self) -> &str {
        "grouping_terms"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Aggregate(aggregate) => as_columns(aggregate),
            node => Ok(Transformed::no(node)),
        })
        .data()
    }
}

fn as_columns(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut terms: Vec<Expr> = Vec::new();
    for expr in &aggregate.group_expr {
        if let Expr::GroupingSet(sets) = expr {
            for term in sets.distinct_expr() {
                if !matches!(term, Expr::Column(_)) && !terms.contains(term) {
                    terms.push(term.clone());
                }
            }
        }
    }
    if terms.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let named = terms.iter().map(|term| {
        let name = term.schema_name().to_string();
        term.clone().unalias().alias(name)
    });
    let projection = LogicalPlan::Projection(Projection::try_new(columns.chain(named).collect(), input)?);
    let as_column = |expr: Expr| {
        if !terms.contains(&expr) {
            return Ok(Transformed::no(expr));
        }
        let column = Column::new_unqualified(expr.schema_name().to_string());
        Ok(Transformed::yes(Expr::Column(column)))
    };
    let groups = group_expr.into_iter().map(|expr| expr.transform_down(as_column).data());
    // What `grouping` asks for is one of the terms.
    let calls = aggr_expr.into_iter().map(|expr| match &expr {
        Expr::AggregateFunction(call) if call.func.name() == GROUPING => expr.transform_down(as_column).data(),
        _ => Ok(expr),
    });
    let (groups, calls) = (groups.collect::<Result<_>>()?, calls.collect::<Result<_>>()?);
    Aggregate::try_new(Arc::new(projection), groups, calls).map(LogicalPlan::Aggregate).map(Transformed::yes)
}
