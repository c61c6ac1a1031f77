//! GROUPING SETS, ROLLUP and CUBE of expressions. Those of a set have no place for the name that an
//! expression had before its types were settled, by which the nodes above find it: they become
//! columns of a projection below.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};

/// The aggregate over a projection with the terms of its grouping sets, which `resolve` gives its
/// types.
pub(super) fn as_columns(
    aggregate: Aggregate,
    resolve: impl FnOnce(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<Aggregate> {
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
        return Ok(aggregate);
    }
    let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let named = terms.iter().map(|term| {
        let name = term.schema_name().to_string();
        term.clone().unalias().alias(name)
    });
    let projection = Projection::try_new(columns.chain(named).collect(), input)?;
    let input = resolve(LogicalPlan::Projection(projection))?;
    let group_expr = group_expr.into_iter().map(|expr| {
        let replaced = expr.transform_down(|expr| {
            if !terms.contains(&expr) {
                return Ok(Transformed::no(expr));
            }
            let column = Column::new_unqualified(expr.schema_name().to_string());
            Ok(Transformed::yes(Expr::Column(column)))
        });
        replaced.data()
    });
    Aggregate::try_new(Arc::new(input), group_expr.collect::<Result<_>>()?, aggr_expr)
}
