//! The one type that values of several types are brought to, in a column, a comparison or a call,
//! and the type that a literal has by itself.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::decimal::Decimal;
use super::error::{SqlState, fail};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of, unknown_text};
use super::scalar::{MAKE_ARRAY, NULLIF_OPERAND};
use crate::types::POSTGRES_TYPE;

/// Functions whose arguments all have one type, which is the result's.
pub(super) const ALIKE: [&str; 4] = ["coalesce", "nullif", "greatest", "least"];

/// The type of Arrow that values of all types are brought to: `Ok(None)` if they have one already,
/// or DataFusion's rules hold.
pub(super) fn common_type(types: &[DataType], unknown: &[bool]) -> Result<Option<DataType>, (Kind, Kind)> {
    let mut common = Kind::Null;
    for (data_type, unknown) in types.iter().zip(unknown) {
        let kind = Kind::of(data_type);
        if *unknown {
            continue;
        }
        common = match common.common(kind) {
            // An oid beside integers is one, unless the first of them is as wide as both.
            Some(Kind::Int8) if kind == Kind::Oid && common != Kind::Int8 => Kind::Oid,
            Some(Kind::Int8) if common == Kind::Oid => Kind::Oid,
            Some(kind) => kind,
            None if common == Kind::Other || kind == Kind::Other => return Ok(None),
            None => return Err((common, kind)),
        };
    }
    let all_same = types.windows(2).all(|pair| pair[0] == pair[1]);
    if common == Kind::Array && !all_same {
        return common_array(types, unknown);
    }
    if all_same || matches!(common, Kind::Null | Kind::Other | Kind::Array) {
        return Ok(None);
    }
    if common == Kind::Text && types.iter().all(|data_type| matches!(Kind::of(data_type), Kind::Text | Kind::Null)) {
        return Ok(None);
    }
    if common != Kind::Numeric {
        return Ok(common.arrow());
    }
    let (mut whole, mut scale) = (1_i16, 0_i8);
    for (precision, one) in types.iter().filter_map(decimal_of) {
        scale = scale.max(one);
        whole = whole.max(i16::from(precision) - i16::from(one));
    }
    let precision = (whole + i16::from(scale)).clamp(1, i16::from(NUMERIC_DIGITS_MAX)) as u8;
    Ok(Some(DataType::Decimal128(precision, scale)))
}

/// The array of the one type that the items of all arrays are brought to.
fn common_array(types: &[DataType], unknown: &[bool]) -> Result<Option<DataType>, (Kind, Kind)> {
    let mut items = Vec::new();
    for (data_type, unknown) in types.iter().zip(unknown) {
        match data_type {
            _ if *unknown => {}
            DataType::List(item) => items.push(item.data_type().clone()),
            DataType::Null => {}
            _ => return Ok(None),
        }
    }
    let Some(first) = items.first().cloned() else { return Ok(None) };
    let common = common_type(&items, &vec![false; items.len()])?;
    let are_alike = items.iter().all(|item| *item == first);
    Ok(common.or(are_alike.then_some(first)).map(|item| DataType::new_list(item, true)))
}

/// Whether there are literals in quotes and NULLs, and nothing else: together they are texts.
pub(super) fn are_untyped(types: &[DataType], unknown: &[bool]) -> bool {
    let has_type = |(data_type, unknown): (&DataType, &bool)| !unknown && !data_type.is_null();
    unknown.contains(&true) && !types.iter().zip(unknown).any(has_type)
}

/// The type of texts together, by its name in `pg_type`, where it is another than `text`: that of
/// the first that has a type, or `name` where this is `varchar` and one of the others is a name.
pub(super) fn text_type<'e>(exprs: impl IntoIterator<Item = &'e Expr>, schema: &DFSchema) -> Option<&'static str> {
    const VARCHAR: &str = "varchar";
    const NAME: &str = "name";
    let typed = exprs
        .into_iter()
        .filter(|expr| !matches!(expr, Expr::Literal(value, _) if value.is_null()) && unknown_text(expr).is_none());
    let mut common = None;
    for expr in typed {
        let (_, field) = expr.to_field(schema).ok()?;
        common = Some(match field.metadata().get(POSTGRES_TYPE).map(String::as_str) {
            Some(NAME) => NAME,
            Some(VARCHAR) => common.unwrap_or(VARCHAR),
            None => common?,
            Some(_) => return None,
        });
    }
    common
}

/// Whether all arguments of a function have one type.
pub(crate) fn is_of_one_type(function: &str) -> bool {
    ALIKE.contains(&function) || [NULLIF_OPERAND, MAKE_ARRAY].contains(&function)
}

/// The type that expressions of one type have, those apart that have none yet: parameters, NULL
/// and texts in quotes.
pub(crate) fn common_field(exprs: &[&Expr], schema: &DFSchema) -> Option<FieldRef> {
    let mut fields: Vec<FieldRef> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        match expr {
            Expr::Placeholder(_) => {}
            Expr::Literal(value, _) if value.is_null() => {}
            expr if unknown_text(expr).is_some() => {}
            Expr::Literal(value, _) => {
                let data_type = literal(value.clone()).data_type();
                fields.push(Arc::new(Field::new("", data_type, true)));
            }
            expr => fields.push(expr.to_field(schema).ok()?.1),
        }
    }
    let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
    match common_type(&types, &vec![false; types.len()]) {
        Ok(Some(common)) => Some(Arc::new(Field::new("", common, true))),
        Ok(None) => fields.into_iter().find(|field| !field.data_type().is_null()),
        Err(_) => None,
    }
}

/// Values of two types that no column can hold. Those of PostgreSQL's user-defined category go
/// together until one has to be converted.
pub(super) fn unmatched<T>(place: &str, left: Kind, right: Kind) -> Result<T> {
    let is_user_defined = |kind: Kind| matches!(kind, Kind::Json | Kind::Jsonb | Kind::Uuid | Kind::Bytea);
    if is_user_defined(left) && is_user_defined(right) {
        let message = format!("{place} could not convert type {} to {}", right.name(), left.name());
        return fail(SqlState::CANNOT_COERCE, message);
    }
    let message = format!("{place} types {} and {} cannot be matched", left.name(), right.name());
    fail(SqlState::DATATYPE_MISMATCH, message)
}

/// The literal as PostgreSQL types it: integers as narrow as they fit, other numbers as numeric.
pub(super) fn literal(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Int64(Some(number)) => match i32::try_from(number) {
            Ok(number) => ScalarValue::Int32(Some(number)),
            Err(_) => ScalarValue::Int64(Some(number)),
        },
        ScalarValue::UInt64(Some(number)) => ScalarValue::Decimal128(Some(i128::from(number)), 20, 0),
        ScalarValue::Decimal128(Some(number), _, scale) if scale < 0 => {
            let text = format!("{number}e{}", -i32::from(scale));
            match Decimal::parse(&text) {
                Some(decimal) => ScalarValue::Decimal128(Some(decimal.value()), decimal.precision(), decimal.scale()),
                None => ScalarValue::Float64(text.parse().ok()),
            }
        }
        ScalarValue::Decimal256(Some(number), _, scale) if scale < 0 => {
            ScalarValue::Float64(format!("{number}e{}", -i32::from(scale)).parse().ok())
        }
        other => other,
    }
}
