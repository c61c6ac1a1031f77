//! The digits of `::numeric`, which names none: those of the value that it is given.

use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

use super::cast;
use super::decimal::Decimal;
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of, unknown_text};
use super::type_names::{ANY_NUMERIC, NUMERIC_SCALE_DEFAULT};
use crate::types::{POSTGRES_TYPE, SqlValue, TextStyle, parse_text, type_by_name};

/// The numeric that `::numeric` makes of a value.
pub(super) fn numeric_like(expr: &Expr, from: &DataType) -> DataType {
    if let Some(digits) = decimal_of(from) {
        return of_digits(Some(digits));
    }
    // No digits at all: beside others theirs are those of all.
    if matches!(expr, Expr::Literal(value, _) if value.is_null()) {
        return DataType::Decimal128(NUMERIC_DIGITS_MAX, 0);
    }
    let text = match expr {
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => Some(cast::float8_digits(*value)),
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => Some(value.to_string()),
        other => unknown_text(other).map(str::to_owned),
    };
    let decimal = text.and_then(|text| Decimal::parse(&text));
    of_digits(decimal.map(|decimal| (decimal.precision(), decimal.scale())))
}

/// The array that `::numeric[]` makes of one, or of a literal in quotes; None if `field` is another
/// type.
pub(super) fn numerics_like(expr: &Expr, from: &DataType, field: &Field) -> Option<DataType> {
    let DataType::List(item) = field.data_type() else { return None };
    if item.metadata().get(POSTGRES_TYPE).is_none_or(|name| name != ANY_NUMERIC) {
        return None;
    }
    let digits = match (from, unknown_text(expr)) {
        (DataType::List(item), _) => decimal_of(item.data_type()),
        (_, Some(text)) => digits_of_items(text),
        _ => None,
    };
    Some(DataType::new_list(of_digits(digits), true))
}

/// The type that a literal in quotes has beside a value of another: a numeric has its own digits.
pub(super) fn type_beside(literal: &Expr, from: &DataType, other: &DataType) -> DataType {
    if Kind::of(other) == Kind::Numeric { numeric_like(literal, from) } else { other.clone() }
}

/// Types the literals in quotes among values that are to have one type, if that is numeric: with
/// their own digits.
pub(super) fn type_literals(literals: &[Option<&Expr>], types: &mut [DataType]) -> Vec<bool> {
    let unknown: Vec<bool> = literals.iter().map(Option::is_some).collect();
    let is_exact = |kind: Kind| matches!(kind, Kind::Numeric | Kind::Null) || kind.is_integer();
    let typed =
        || types.iter().zip(&unknown).filter(|(_, unknown)| !**unknown).map(|(data_type, _)| Kind::of(data_type));
    if !typed().all(is_exact) || !typed().any(|kind| kind == Kind::Numeric) {
        return unknown;
    }
    for (literal, data_type) in literals.iter().zip(types) {
        if let Some(literal) = literal {
            *data_type = numeric_like(literal, data_type);
        }
    }
    vec![false; unknown.len()]
}

fn of_digits(digits: Option<(u8, i8)>) -> DataType {
    let (precision, scale) = digits.unwrap_or((NUMERIC_DIGITS_MAX, NUMERIC_SCALE_DEFAULT));
    DataType::Decimal128(precision, scale)
}

/// As many as the longest of the items has before its point, and behind it.
fn digits_of_items(text: &str) -> Option<(u8, i8)> {
    // What is no array, or none of numbers, is an error once it is cast.
    let SqlValue::Array(items) = parse_text(type_by_name("_text")?, text, &TextStyle::default()).ok()? else {
        return None;
    };
    let (mut whole, mut scale) = (1_u8, 0_i8);
    for item in items {
        let SqlValue::Text(item) = item else { continue };
        let decimal = Decimal::parse(&item)?;
        scale = scale.max(decimal.scale());
        whole = whole.max(decimal.precision().saturating_sub(decimal.scale().unsigned_abs()));
    }
    let precision = whole.checked_add(scale.unsigned_abs())?;
    (precision <= NUMERIC_DIGITS_MAX).then_some((precision, scale))
}
