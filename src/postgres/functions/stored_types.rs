//! Comparisons that a double would not decide: integers from 2^53 on, and numbers with a point
//! beside integers.

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Case, Cast, Expr, ExprSchemable, Operator};

use super::decimal::Decimal;
use super::kind::Kind;

/// Integers of up to this magnitude are doubles, too.
const DOUBLE_INTEGERS_MAX: i128 = 1 << 53;

/// `left op right` of a column and a constant, rewritten so that it is exact. `None`: it is as it
/// stands.
pub(super) fn exact(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    if let Some(number) = number(right) {
        return column_and_number(left, op, number, schema);
    }
    if let (Some(number), Some(op)) = (number(left), op.swap()) {
        return column_and_number(right, op, number, schema);
    }
    Ok(None)
}

/// A constant that is an exact number.
fn number(expr: &Expr) -> Option<Decimal> {
    match expr {
        Expr::Literal(value, _) => Decimal::of_scalar(value),
        _ => None,
    }
}

fn column_and_number(expr: &Expr, op: Operator, number: Decimal, schema: &DFSchema) -> Result<Option<Expr>> {
    if !ordered(op) {
        return Ok(None);
    }
    let Ok(data_type) = expr.get_type(schema) else { return Ok(None) };
    match Kind::of(&data_type) {
        kind if kind.is_integer() && number.scale() > 0 => Ok(Some(integer_and_number(expr, op, number))),
        Kind::Float8 => Ok(mixed_column(expr, op, number, schema)),
        _ => Ok(None),
    }
}

fn ordered(op: Operator) -> bool {
    matches!(op, Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// An integer beside a number with a point: beside the next integer below it.
fn integer_and_number(expr: &Expr, op: Operator, number: Decimal) -> Expr {
    let unit = 10_i128.pow(u32::from(number.scale().unsigned_abs()).min(38));
    let below = number.value().div_euclid(unit);
    let whole = number.value().rem_euclid(unit) == 0;
    let op = match op {
        _ if whole => op,
        Operator::Lt | Operator::LtEq => Operator::LtEq,
        Operator::Gt | Operator::GtEq => Operator::Gt,
        // No integer is equal to it.
        other => return never(expr, other == Operator::NotEq),
    };
    match i64::try_from(below) {
        Ok(below) => {
            let bound = match i32::try_from(below) {
                Ok(below) => ScalarValue::Int32(Some(below)),
                Err(_) => ScalarValue::Int64(Some(below)),
            };
            binary(expr.clone(), op, Expr::Literal(bound, None))
        }
        // Beyond all of them.
        Err(_) => {
            let above_all = below > 0;
            let holds = match op {
                Operator::Lt | Operator::LtEq => above_all,
                Operator::Gt | Operator::GtEq => !above_all,
                other => other == Operator::NotEq,
            };
            never(expr, holds)
        }
    }
}

/// `holds` for every value, and null for null.
fn never(expr: &Expr, holds: bool) -> Expr {
    let null = Expr::Literal(ScalarValue::Boolean(None), None);
    if holds {
        Expr::IsNotNull(Box::new(expr.clone())).or(null)
    } else {
        Expr::IsNull(Box::new(expr.clone())).and(null)
    }
}

/// A property of several numeric types is shown as double; its integers lie in columns of their own
/// beside it.
fn mixed_column(expr: &Expr, op: Operator, number: Decimal, schema: &DFSchema) -> Option<Expr> {
    let unit = 10_i128.pow(u32::from(number.scale().unsigned_abs()).min(38));
    if (number.value() / unit).abs() < DOUBLE_INTEGERS_MAX {
        return None;
    }
    let Expr::Column(column) = expr else { return None };
    let sibling = |edm: &str| {
        let sibling = Column::new(column.relation.clone(), format!("{}:{edm}", column.name));
        schema.has_column(&sibling).then_some(Expr::Column(sibling))
    };
    let (int32, int64, double) = (sibling("Int32"), sibling("Int64"), sibling("Double")?);
    let integers: Vec<Expr> = [int64, int32].into_iter().flatten().collect();
    if integers.is_empty() {
        return None;
    }
    let branches = integers.into_iter().map(|integer| {
        let present = Expr::IsNotNull(Box::new(integer.clone()));
        let wide = Expr::Cast(Cast::new(Box::new(integer), arrow::datatypes::DataType::Int64));
        let compared = if number.scale() > 0 {
            integer_and_number(&wide, op, number)
        } else {
            match i64::try_from(number.value()) {
                Ok(value) => binary(wide, op, Expr::Literal(ScalarValue::Int64(Some(value)), None)),
                Err(_) => integer_and_number(&wide, op, number),
            }
        };
        (Box::new(present), Box::new(compared))
    });
    Some(Expr::Case(Case {
        expr: None,
        when_then_expr: branches.collect(),
        else_expr: Some(Box::new(double_and_number(double, op, number))),
    }))
}

/// A double beside a number that may lie between two doubles.
fn double_and_number(double: Expr, op: Operator, number: Decimal) -> Expr {
    let nearest = number.to_f64();
    let unit = 10_i128.pow(u32::from(number.scale().unsigned_abs()).min(38));
    // From 2^53 on doubles are whole.
    let below = (nearest as i128).saturating_mul(unit);
    let op = match op {
        _ if below == number.value() => op,
        Operator::Lt | Operator::LtEq if below < number.value() => Operator::LtEq,
        Operator::Lt | Operator::LtEq => Operator::Lt,
        Operator::Gt | Operator::GtEq if below < number.value() => Operator::Gt,
        Operator::Gt | Operator::GtEq => Operator::GtEq,
        other => return never(&double, other == Operator::NotEq),
    };
    binary(double, op, Expr::Literal(ScalarValue::Float64(Some(nearest)), None))
}
