//! Doubles as keys. To PostgreSQL the two zeros are equal and so are all NaNs; the query engine groups, joins and sorts by their
//! bits. Expressions that it does so with are brought to one zero and one NaN.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, LogicalPlan, Projection, Sort, SortExpr, Volatility,
};

use super::resolution::call;
use super::scalar::{Call, Function};

static KEY: Function = Function {
    name: "float_key",
    arity: 1..=1,
    volatility: Volatility::Immutable,
    returns: |arguments| match arguments.types.first() {
        Some(data_type) if data_type.is_floating() => Ok((*data_type).clone()),
        _ => arguments.undefined(),
    },
    run,
};

fn run(call: &Call) -> Result<ArrayRef> {
    let values = call.arg(0)?;
    Ok(match values.data_type() {
        DataType::Float32 => Arc::new(
            values
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value + 0.0 }),
        ),
        _ => Arc::new(
            values
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value + 0.0 }),
        ),
    })
}

/// The expression as a key, if it is one of doubles.
pub fn key(expr: Expr, schema: &DFSchema) -> Expr {
    let plain = matches!(&expr, Expr::Literal(..)) || is_key(&expr);
    match expr.get_type(schema) {
        Ok(data_type) if data_type.is_floating() && !plain => call(&KEY, vec![expr]),
        _ => expr,
    }
}

fn is_key(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_key(&alias.expr),
        Expr::ScalarFunction(function) => function.func.name() == KEY.name,
        _ => false,
    }
}

fn named(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let keyed = key(expr.clone(), schema);
    if keyed == expr {
        return Ok(expr);
    }
    let (relation, field) = expr.to_field(schema)?;
    Ok(keyed.alias_qualified(relation, field.name()))
}

pub fn sorted(order: Vec<SortExpr>, schema: &DFSchema) -> Vec<SortExpr> {
    order.into_iter().map(|by| SortExpr { expr: key(by.expr, schema), ..by }).collect()
}

/// What the node groups, sorts or tells apart by.
pub fn of_node(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(Sort { expr, input, fetch }) => {
            let expr = sorted(expr, input.schema());
            Ok(LogicalPlan::Sort(Sort { expr, input, fetch }))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let schema = Arc::clone(aggregate.input.schema());
            let group = aggregate.group_expr.clone().into_iter().map(|expr| named(expr, &schema));
            let group = group.collect::<Result<Vec<_>>>()?;
            let distinct = aggregate.aggr_expr.clone().into_iter().map(|expr| counted(expr, &schema));
            let distinct = distinct.collect::<Result<Vec<_>>>()?;
            if group == aggregate.group_expr && distinct == aggregate.aggr_expr {
                return Ok(LogicalPlan::Aggregate(aggregate));
            }
            Ok(LogicalPlan::Aggregate(Aggregate::try_new(aggregate.input, group, distinct)?))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => Ok(LogicalPlan::Distinct(Distinct::All(of_columns(input)?))),
        plan => Ok(plan),
    }
}

/// The plan with its columns of doubles as keys.
pub fn of_columns(plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let schema = Arc::clone(plan.schema());
    if !schema.fields().iter().any(|field| field.data_type().is_floating()) {
        return Ok(plan);
    }
    let columns = schema.columns().into_iter().map(|column| named(Expr::Column(column), &schema));
    let keys = Projection::try_new(columns.collect::<Result<_>>()?, plan)?;
    Ok(Arc::new(LogicalPlan::Projection(keys)))
}

/// `count(DISTINCT x)` and its like.
fn counted(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::Alias(mut alias) => {
            *alias.expr = counted(*alias.expr, schema)?;
            Ok(Expr::Alias(alias))
        }
        Expr::AggregateFunction(AggregateFunction { func, mut params }) if params.distinct => {
            let before = Expr::AggregateFunction(AggregateFunction { func: Arc::clone(&func), params: params.clone() });
            params.args = params.args.into_iter().map(|arg| key(arg, schema)).collect();
            let after = Expr::AggregateFunction(AggregateFunction { func, params });
            if after == before {
                return Ok(before);
            }
            let name = before.schema_name().to_string();
            Ok(after.alias(name))
        }
        expr => Ok(expr),
    }
}
