//! Rows grouped by `jsonb`: by the keys of its values, of which the first met is shown. `1` and
//! `1.0` are equal, and are not the same text.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan};

use super::super::error::{SqlState, fail};
use super::super::kind::Kind;
use super::super::scalar::{Scalar, type_of};
use super::KEY;

/// An error for `json`, whose values are neither equal nor in order.
pub(in super::super) fn comparable(expr: &Expr, schema: &DFSchema, operator: &str) -> Result<()> {
    match type_of(expr, schema) {
        Ok(data_type) if Kind::of(&data_type) == Kind::Json => {
            let message = format!("could not identify an {operator} operator for type json");
            fail(SqlState::UNDEFINED_FUNCTION, message)
        }
        _ => Ok(()),
    }
}

/// A node that groups by `jsonb` as one that groups by keys, with the columns to make of its own.
pub(in super::super) fn by_keys(plan: LogicalPlan) -> Result<(LogicalPlan, Option<Vec<Expr>>)> {
    let aggregate = match plan {
        LogicalPlan::Distinct(Distinct::All(input)) if has_json(input.schema()) => {
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            columns.iter().try_for_each(|column| comparable(column, input.schema(), "equality"))?;
            Aggregate::try_new(input, columns, Vec::new())?
        }
        LogicalPlan::Aggregate(aggregate) => aggregate,
        plan => return Ok((plan, None)),
    };
    let input = Arc::clone(aggregate.input.schema());
    let is_jsonb = |expr: &Expr| type_of(expr, &input).is_ok_and(|data_type| Kind::of(&data_type) == Kind::Jsonb);
    for expr in &aggregate.group_expr {
        in_grouping_sets(expr, &is_jsonb)?;
        comparable(expr, &input, "equality")?;
    }
    if !aggregate.group_expr.iter().any(is_jsonb) {
        return Ok((LogicalPlan::Aggregate(aggregate), None));
    }
    let (mut group, mut values) = (Vec::new(), Vec::new());
    let mut columns = Vec::new();
    for (at, (qualifier, field)) in aggregate.schema.iter().enumerate() {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match aggregate.group_expr.get(at) {
            Some(expr) if is_jsonb(expr) => {
                let value = format!("jsonb_value_{at}");
                let key = ScalarFunction::new_udf(Scalar::udf(&KEY), vec![expr.clone()]);
                group.push(Expr::ScalarFunction(key).alias(format!("jsonb_key_{at}")));
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

fn has_json(schema: &DFSchema) -> bool {
    schema.fields().iter().any(|field| matches!(field.data_type(), DataType::LargeUtf8 | DataType::LargeBinary))
}

fn in_grouping_sets(expr: &Expr, is_jsonb: &dyn Fn(&Expr) -> bool) -> Result<()> {
    let Expr::GroupingSet(_) = expr else { return Ok(()) };
    let mut found = false;
    expr.apply(|inner| {
        found |= !matches!(inner, Expr::GroupingSet(_)) && is_jsonb(inner);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match found {
        true => fail(SqlState::FEATURE_NOT_SUPPORTED, "GROUPING SETS, ROLLUP and CUBE over jsonb are not supported"),
        false => Ok(()),
    }
}
