//! Rows grouped by values that are equal and not alike: by their keys, and the first value met is
//! shown. So are `1` and `1.0` in `jsonb`, a day and 24 hours.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan};

use super::error::{SqlState, fail};
use super::json;
use super::keys::{is_shown_apart, key};
use super::kind::Kind;
use super::scalar::type_of;

/// A node that groups by such values as one that groups by their keys, with the columns to make of
/// its own.
pub(super) fn by_keys(plan: LogicalPlan) -> Result<(LogicalPlan, Option<Vec<Expr>>)> {
    let aggregate = match plan {
        LogicalPlan::Distinct(Distinct::All(input)) if has_values_by_key(input.schema()) => {
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            columns.iter().try_for_each(|column| json::comparable(column, input.schema(), "equality"))?;
            Aggregate::try_new(input, columns, Vec::new())?
        }
        LogicalPlan::Aggregate(aggregate) => aggregate,
        plan => return Ok((plan, None)),
    };
    let input = Arc::clone(aggregate.input.schema());
    let is_by_key = |expr: &Expr| type_of(expr, &input).is_ok_and(|data_type| is_shown_apart(&data_type));
    for expr in &aggregate.group_expr {
        in_grouping_sets(expr, &is_by_key)?;
        json::comparable(expr, &input, "equality")?;
    }
    if !aggregate.group_expr.iter().any(is_by_key) {
        return Ok((LogicalPlan::Aggregate(aggregate), None));
    }
    let (mut group, mut values) = (Vec::new(), Vec::new());
    let mut columns = Vec::new();
    for (at, (qualifier, field)) in aggregate.schema.iter().enumerate() {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match aggregate.group_expr.get(at) {
            Some(expr) if is_by_key(expr) => {
                let value = format!("shown_value_{at}");
                group.push(key(expr.clone(), &input).alias(format!("group_key_{at}")));
                let first =
                    AggregateFunction::new_udf(first_value_udaf(), vec![expr.clone()], false, None, Vec::new(), None);
                values.push(Expr::AggregateFunction(first).alias(value.clone()));
                let shown = Expr::Column(Column::new_unqualified(value));
                columns.push(shown.alias_qualified(qualifier.cloned(), field.name()));
            }
            Some(expr) => {
                group.push(expr.clone());
                columns.push(column);
            }
            None => columns.push(column),
        }
    }
    let aggregates = aggregate.aggr_expr.iter().cloned().chain(values).collect();
    let grouped = Aggregate::try_new(Arc::clone(&aggregate.input), group, aggregates)?;
    Ok((LogicalPlan::Aggregate(grouped), Some(columns)))
}

fn has_values_by_key(schema: &DFSchema) -> bool {
    // `json` is not compared at all, which is said where the columns are.
    let is_by_key = |data_type: &DataType| is_shown_apart(data_type) || Kind::of(data_type) == Kind::Json;
    schema.fields().iter().any(|field| is_by_key(field.data_type()))
}

fn in_grouping_sets(expr: &Expr, is_by_key: &dyn Fn(&Expr) -> bool) -> Result<()> {
    let Expr::GroupingSet(_) = expr else { return Ok(()) };
    let mut found = false;
    expr.apply(|inner| {
        found |= !matches!(inner, Expr::GroupingSet(_)) && is_by_key(inner);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match found {
        true => fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            "GROUPING SETS, ROLLUP and CUBE over jsonb and intervals are not supported",
        ),
        false => Ok(()),
    }
}
