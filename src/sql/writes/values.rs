//! Values that are assigned: from literals, parameters and columns of a query.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use datafusion::sql::sqlparser::ast::{self, CastKind, Expr, UnaryOperator};

use super::exact_values::ExactValues;
use super::target::{Takes, TargetColumn, mismatch};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, EdmType, Value};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::functions::{Zone, cast_array};
use rowkey_postgres::parameters::type_of_cast;
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::types::{
    PostgresType, SqlValue, TextStyle, oid, parse_binary, parse_text, type_by_oid, type_of, typed_field,
};

/// What stands for one column in a list of VALUES.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    /// A constant, of the type that the column takes. None is NULL, which is absence.
    Constant(Option<Value>),
    /// By its number, from 1.
    Parameter(usize),
    /// The same, cast to a type.
    CastParameter(usize, &'static PostgresType),
    /// Anything that has to be computed.
    Expression(Box<Expr>),
}

impl Cell {
    /// Reads an expression that is to be assigned to a column. A literal whose type is not known
    /// takes the column's.
    pub(super) fn read(expr: &Expr, column: &TargetColumn, style: &TextStyle) -> Result<Self> {
        let computed = || Ok(Cell::Expression(Box::new(expr.clone())));
        match expr {
            Expr::Nested(inner) => Self::read(inner, column, style),
            expr if is_default(expr) => Ok(Cell::Constant(None)),
            Expr::Value(value) => match &value.value {
                ast::Value::Null => Ok(Cell::Constant(None)),
                ast::Value::Placeholder(name) => match name.strip_prefix('$').and_then(|number| number.parse().ok()) {
                    Some(number) => Ok(Cell::Parameter(number)),
                    None => computed(),
                },
                ast::Value::SingleQuotedString(text) | ast::Value::EscapedStringLiteral(text) => {
                    Ok(Cell::Constant(Some(text_value(text, column, style)?)))
                }
                ast::Value::DollarQuotedString(text) => {
                    Ok(Cell::Constant(Some(text_value(&text.value, column, style)?)))
                }
                ast::Value::Boolean(truth) => match column.taken(known(oid::BOOL)?) {
                    Some((EdmType::Boolean, _)) => Ok(Cell::Constant(Some(Value::Boolean(*truth)))),
                    _ => computed(),
                },
                ast::Value::Number(digits, _) => match number_value(digits, false, column)? {
                    Some(value) => Ok(Cell::Constant(Some(value))),
                    None => computed(),
                },
                _ => computed(),
            },
            Expr::Cast { .. } => Ok(match cast_parameter(expr) {
                Some((number, ty)) => Cell::CastParameter(number, ty),
                None => Cell::Expression(Box::new(expr.clone())),
            }),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: negated } => match negated.as_ref() {
                Expr::Value(value) => match &value.value {
                    ast::Value::Number(digits, _) => match number_value(digits, true, column)? {
                        Some(value) => Ok(Cell::Constant(Some(value))),
                        None => computed(),
                    },
                    _ => computed(),
                },
                _ => computed(),
            },
            _ => computed(),
        }
    }
}

/// `$1::type`: the number of the parameter, and the type.
pub(crate) fn cast_parameter(expr: &Expr) -> Option<(usize, &'static PostgresType)> {
    let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, array: false, format: None } = expr
    else {
        return None;
    };
    let Expr::Value(value) = expr.as_ref() else { return None };
    let ast::Value::Placeholder(name) = &value.value else { return None };
    Some((name.strip_prefix('$')?.parse().ok()?, type_of_cast(data_type)?))
}

/// Whether a cast of a parameter changes nothing that a column takes of its values: it is of that
/// type already, or a smaller integer where the column is of the type of the cast.
pub(super) fn keeps_values(from: &PostgresType, to: &PostgresType, column: &TargetColumn) -> bool {
    let width = |ty: &PostgresType| [oid::INT2, oid::INT4, oid::INT8].iter().position(|oid| *oid == ty.oid);
    let is_wider = || width(from).zip(width(to)).is_some_and(|(from, to)| from <= to);
    is_one_type(from, to) || is_wider() && is_read_as(to, column)
}

/// Whether a column reads a literal as a type does.
pub(super) fn is_read_as(ty: &PostgresType, column: &TargetColumn) -> bool {
    let has_one_type = matches!(column.takes, Takes::PartitionKey | Takes::RowKey | Takes::Typed { .. });
    has_one_type && is_one_type(ty, column.ty)
}

fn is_one_type(a: &PostgresType, b: &PostgresType) -> bool {
    let is_text = |ty: &PostgresType| [oid::TEXT, oid::VARCHAR].contains(&ty.oid);
    a.oid == b.oid || is_text(a) && is_text(b)
}

/// Refuses a constant that a column does not take, before anything is read: whether there are rows
/// for it or not.
pub(super) fn refuse_misfit(expr: &Expr, column: &TargetColumn, style: &TextStyle) -> Result<()> {
    let Cell::Expression(expr) = Cell::read(expr, column, style)? else { return Ok(()) };
    let (digits, negative) = match expr.as_ref() {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (number(expr), true),
        expr => (number(expr), false),
    };
    let (Some(digits), Takes::Typed { edm, .. }) = (digits, &column.takes) else { return Ok(()) };
    let (min, max, name): (i64, i64, _) = match edm {
        EdmType::Int32 => (i32::MIN.into(), i32::MAX.into(), "integer"),
        EdmType::Int64 => (i64::MIN, i64::MAX, "bigint"),
        _ => return Ok(()),
    };
    let signed = |magnitude: i128| if negative { -magnitude } else { magnitude };
    let fits = match (digits.parse(), digits.parse::<f64>()) {
        (Ok(magnitude), _) => (min.into()..=max.into()).contains(&signed(magnitude)),
        // Close to the limit, rounding decides: it is computed.
        (_, Ok(magnitude)) => magnitude < max as f64 + 4096.0,
        _ => return Ok(()),
    };
    if fits { Ok(()) } else { Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))) }
}

fn number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, false) => Some(digits),
            _ => None,
        },
        _ => None,
    }
}

/// Largest exponent of numbers that are written out.
const EXPONENT_MAX: u32 = 1000;

/// A number as a numeric is shown: all of its digits, without an exponent. `None` where it is left
/// to be computed.
fn written_out(digits: &str, negative: bool) -> Option<String> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let magnitude = exponent.unsigned_abs();
    if all.is_empty() || magnitude > EXPONENT_MAX || !all.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Digits ahead of the point, which may be before the first or behind the last.
    let point = whole.len() as i32 + exponent;
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    let all = format!("{}{all}{}", zeros(-point), zeros(point - all.len() as i32));
    let (whole, fraction) = all.split_at(point.max(0) as usize);
    let whole = whole.trim_start_matches('0');
    let sign = if negative && all.bytes().any(|digit| digit != b'0') { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{}{point}{fraction}", if whole.is_empty() { "0" } else { whole }))
}

/// The word DEFAULT, which stands for absence.
pub(crate) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Whether an expression is a text or a parameter of no type yet, which takes the type of what it
/// is assigned to.
pub(crate) fn is_untyped(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_untyped(inner),
        Expr::Value(value) => matches!(
            value.value,
            ast::Value::Null
                | ast::Value::Placeholder(_)
                | ast::Value::SingleQuotedString(_)
                | ast::Value::EscapedStringLiteral(_)
                | ast::Value::DollarQuotedString(_)
        ),
        _ => false,
    }
}

fn known(oid: u32) -> Result<&'static PostgresType> {
    type_by_oid(oid).ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, format!("there is no type {oid}")))
}

/// A text as the column's type reads it. Where the type of the value decides, it is a text.
pub(crate) fn text_value(text: &str, column: &TargetColumn, style: &TextStyle) -> Result<Value> {
    match &column.takes {
        Takes::Typed { edm, .. } if *edm != EdmType::String => {
            let read = parse_text(column.ty, text, style)?;
            sql_value(read, *edm).ok_or_else(|| mismatch(column, column.ty))
        }
        _ if text.contains('\0') => {
            Err(Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00"))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// The binary form of a value of the column's type, as of a parameter.
pub(crate) fn binary_value(bytes: &[u8], column: &TargetColumn, zone: &Zone) -> Result<Option<Value>> {
    parameter_value(&parse_binary(column.ty, bytes)?, column.ty, column, zone)
}

/// A literal as it would be read in its place. `None` if it does not fit, or has to be computed.
pub(super) fn literal_value(literal: &Literal, column: &TargetColumn, style: &TextStyle) -> Option<Value> {
    match literal {
        Literal::Text(text) => text_value(text, column, style).ok(),
        Literal::Number { digits, negative } => number_value(digits, *negative, column).ok().flatten(),
    }
}

/// The value of a number that needs no rounding and no other cast. `None` if it has to be computed.
fn number_value(digits: &str, negative: bool, column: &TargetColumn) -> Result<Option<Value>> {
    let edm = match &column.takes {
        Takes::Typed { edm, .. } => *edm,
        Takes::Widened { .. } => EdmType::Int64,
        Takes::PartitionKey | Takes::RowKey => EdmType::String,
        Takes::Timestamp | Takes::Etag | Takes::Ticks { .. } | Takes::Other => return Ok(None),
    };
    let whole = !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let integer = || {
        let magnitude: i64 = if whole { digits.parse().ok()? } else { return None };
        Some(if negative { -magnitude } else { magnitude })
    };
    Ok(match (edm, &column.takes) {
        (EdmType::Int64, Takes::Widened { .. }) => integer().map(|value| match i32::try_from(value) {
            Ok(narrow) => Value::Int32(narrow),
            Err(_) => Value::Int64(value),
        }),
        (EdmType::Int32, _) => integer().and_then(|value| i32::try_from(value).ok()).map(Value::Int32),
        (EdmType::Int64, _) => integer().map(Value::Int64),
        (EdmType::String, _) => written_out(digits, negative).map(Value::String),
        (EdmType::Double, _) => match parse_text(known(oid::FLOAT8)?, digits, &TextStyle::default()) {
            // A numeric has no negative zero.
            Ok(SqlValue::Float8(value)) => Some(Value::Double(if negative && value != 0.0 { -value } else { value })),
            _ => None,
        },
        _ => None,
    })
}

/// There is one NaN: arithmetic makes some of either sign, which are above and below all numbers by
/// their bits.
fn double(value: f64) -> Value {
    Value::Double(if value.is_nan() { f64::NAN } else { value })
}

/// A value of exactly the type that holds a property's.
fn sql_value(value: SqlValue, edm: EdmType) -> Option<Value> {
    Some(match (edm, value) {
        (EdmType::Binary, SqlValue::Bytes(bytes)) => Value::Binary(bytes),
        (EdmType::Boolean, SqlValue::Bool(value)) => Value::Boolean(value),
        (EdmType::DateTime, SqlValue::TimestampTz(micros)) => Value::DateTime(DateTime::from_micros(micros, 0)),
        (EdmType::Double, SqlValue::Float8(value)) => double(value),
        (EdmType::Guid, SqlValue::Uuid(bytes)) => Value::Guid(uuid::Uuid::from_bytes(bytes)),
        (EdmType::Int32, SqlValue::Int4(value)) => Value::Int32(value),
        (EdmType::Int64, SqlValue::Int8(value)) => Value::Int64(value),
        (EdmType::String, SqlValue::Text(text)) => Value::String(text),
        _ => return None,
    })
}

/// The value of a parameter for a column.
pub(super) fn parameter_value(
    value: &SqlValue,
    ty: &'static PostgresType,
    column: &TargetColumn,
    zone: &Zone,
) -> Result<Option<Value>> {
    if *value == SqlValue::Null {
        return Ok(None);
    }
    let Some((edm, _)) = column.taken(ty) else { return Err(mismatch(column, ty)) };
    if let Some(value) = sql_value(value.clone(), edm) {
        return Ok(Some(value));
    }
    let field = typed_field("", ty, true).ok_or_else(|| mismatch(column, ty))?;
    let array = value.to_array(ty)?;
    let field = field.with_data_type(array.data_type().clone());
    AssignedColumn::of(column, &field, &array, zone)?.value(0)
}

/// The value of a parameter for a column, where it takes no more than a number's being widened;
/// `Some(None)` is NULL.
pub(super) fn same_value(value: &SqlValue, ty: &'static PostgresType, column: &TargetColumn) -> Option<Option<Value>> {
    if *value == SqlValue::Null {
        return Some(None);
    }
    let (edm, _) = column.taken(ty)?;
    let value = match (edm, value) {
        (EdmType::Int32, SqlValue::Int2(value)) => Value::Int32((*value).into()),
        (EdmType::Int32, SqlValue::Int8(value)) => Value::Int32(i32::try_from(*value).ok()?),
        (EdmType::Int64, SqlValue::Int2(value)) => Value::Int64((*value).into()),
        (EdmType::Int64, SqlValue::Int4(value)) => Value::Int64((*value).into()),
        (EdmType::Double, SqlValue::Int2(value)) => Value::Double((*value).into()),
        (EdmType::Double, SqlValue::Int4(value)) => Value::Double((*value).into()),
        (EdmType::Double, SqlValue::Int8(value)) => Value::Double(*value as f64),
        (EdmType::Double, SqlValue::Float4(value)) => double((*value).into()),
        (edm, value) => sql_value(value.clone(), edm)?,
    };
    Some(Some(value))
}

/// A column of a query, cast to what a column of the table takes.
#[derive(Debug)]
pub(super) struct AssignedColumn {
    edm: EdmType,
    array: ArrayRef,
    /// Of values that are copied.
    exact: Option<ExactValues>,
}

impl AssignedColumn {
    pub(super) fn of(column: &TargetColumn, field: &Field, array: &ArrayRef, zone: &Zone) -> Result<Self> {
        let (edm, wanted) = Self::taken(column, field)?;
        Ok(Self { edm, array: cast_array(array, &wanted, zone).map_err(from_datafusion)?, exact: None })
    }

    /// The same column, whose values stand exactly in others if it is copied.
    pub(super) fn copied(self, exact: Option<ExactValues>) -> Self {
        Self { exact, ..self }
    }

    /// What a column makes of values of a type. Refuses types that PostgreSQL does not cast in an
    /// assignment.
    pub(super) fn taken(column: &TargetColumn, field: &Field) -> Result<(EdmType, DataType)> {
        let from = type_of(field).ok_or_else(|| {
            let message =
                format!("a value of type {} cannot be stored in column \"{}\"", field.data_type(), column.name);
            Error::new(SqlState::DATATYPE_MISMATCH, message)
        })?;
        let taken = if field.data_type().is_null() { column.taken(column.ty) } else { column.taken(from) };
        taken.ok_or_else(|| mismatch(column, from))
    }

    pub(super) fn value(&self, row: usize) -> Result<Option<Value>> {
        let array = &self.array;
        if array.is_null(row) {
            return Ok(None);
        }
        if let Some(exact) = self.exact.as_ref().and_then(|exact| exact.value(row)) {
            return Ok(Some(exact));
        }
        Ok(Some(match self.edm {
            EdmType::Binary => Value::Binary(array.as_binary_view().value(row).to_vec()),
            EdmType::Boolean => Value::Boolean(array.as_boolean().value(row)),
            EdmType::DateTime => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                Value::DateTime(DateTime::from_micros(micros, 0))
            }
            EdmType::Double => double(array.as_primitive::<Float64Type>().value(row)),
            EdmType::Guid => {
                let bytes = array.as_fixed_size_binary().value(row);
                let guid = uuid::Uuid::from_slice(bytes);
                Value::Guid(guid.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?)
            }
            EdmType::Int32 => Value::Int32(array.as_primitive::<Int32Type>().value(row)),
            EdmType::Int64 => Value::Int64(array.as_primitive::<Int64Type>().value(row)),
            EdmType::String => Value::String(array.as_string_view().value(row).to_owned()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::written_out;

    #[test]
    fn numbers_are_written_out_as_numerics_are() {
        for (digits, shown) in [
            ("0", "0"),
            ("007", "7"),
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("1.5e3", "1500"),
            ("1.50e1", "15.0"),
            ("1e-3", "0.001"),
            ("12.5E-1", "1.25"),
            ("12.5e-4", "0.00125"),
            ("0e400", "0"),
            ("0.00", "0.00"),
            ("0.0e3", "0"),
            ("99999999999999999999999999999999999999999999.9", "99999999999999999999999999999999999999999999.9"),
        ] {
            assert_eq!(written_out(digits, false).as_deref(), Some(shown), "{digits}");
        }
        assert_eq!(written_out("0.0", true).as_deref(), Some("0.0"));
        assert_eq!(written_out("1e2", true).as_deref(), Some("-100"));
        assert_eq!(written_out("1e300", false), Some(format!("1{}", "0".repeat(300))));
        assert_eq!(written_out("1e100000", false), None);
    }
}
