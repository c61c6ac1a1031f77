//! Type names of SQL as types of Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use arrow_schema::extension::Uuid;
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType as SqlType, ExactNumberInfo, TimezoneInfo,
};

use super::error::{SqlState, fail};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, interval};
use crate::types::POSTGRES_TYPE;
pub(crate) use crate::types::TYPE_LENGTH;

/// Key of the metadata of a cast's target: the fields of an interval.
pub(super) const INTERVAL_FIELDS: &str = "postgres_interval_fields";
/// Value of [`POSTGRES_TYPE`] in the target of a cast to `numeric` without a scale: the one of what
/// is cast.
pub(super) const ANY_NUMERIC: &str = "numeric";
/// The scale where neither type nor literal has one.
pub(super) const NUMERIC_SCALE_DEFAULT: i8 = 16;
/// The name of the target of a cast to a numeric whose digits a statement says; DataFusion's own
/// have none.
pub(super) const WRITTEN: &str = "numeric";

/// Types held as unsigned numbers.
const OID_TYPES: [&str; 10] =
    ["oid", "regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "xid", "cid", "regoper"];
pub(super) const TEXT: &str = "text";
/// Types held as texts.
const TEXT_TYPES: [&str; 6] = ["name", "varchar", "bpchar", "pg_node_tree", "unknown", "refcursor"];

/// Types as PostgreSQL names them: times in microseconds, `float` of 8 bytes, `uuid`, `oid`,
/// `name`, arrays.
#[derive(Debug)]
pub(super) struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        field_of(sql_type)
    }
}

fn field_of(sql_type: &SqlType) -> Result<Option<FieldRef>> {
    let plain = |kind: Kind| Ok(kind.arrow().map(|data_type| Arc::new(Field::new("", data_type, true))));
    match sql_type {
        SqlType::Bool | SqlType::Boolean => plain(Kind::Bool),
        SqlType::SmallInt(_) | SqlType::Int2(_) => plain(Kind::Int2),
        SqlType::Int(_) | SqlType::Integer(_) | SqlType::Int4(_) => plain(Kind::Int4),
        SqlType::BigInt(_) | SqlType::Int8(_) => plain(Kind::Int8),
        SqlType::Real | SqlType::Float4 => plain(Kind::Float4),
        SqlType::DoublePrecision | SqlType::Float8 => plain(Kind::Float8),
        SqlType::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => plain(Kind::Float4),
        SqlType::Float(_) => plain(Kind::Float8),
        SqlType::Text => plain(Kind::Text),
        SqlType::Bytea => plain(Kind::Bytea),
        SqlType::Uuid => {
            Ok(Some(Arc::new(Field::new("", DataType::FixedSizeBinary(16), true).with_extension_type(Uuid))))
        }
        SqlType::Date => plain(Kind::Date),
        SqlType::Timestamp(digits, zone) => {
            let zoned = matches!(zone, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone);
            with_length(if zoned { Kind::TimestampTz } else { Kind::Timestamp }, None, *digits)
        }
        SqlType::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            with_length(Kind::Time, None, *digits)
        }
        SqlType::Time(..) => fail(SqlState::FEATURE_NOT_SUPPORTED, "type \"time with time zone\" is not supported"),
        SqlType::Interval { fields: None, precision } => with_length(Kind::Interval, None, *precision),
        SqlType::Interval { fields: Some(fields), precision } => {
            // All digits of a second, unless it says how many.
            let length = precision.unwrap_or(6).to_string();
            let metadata = [(INTERVAL_FIELDS, fields.to_string()), (TYPE_LENGTH, length)];
            let metadata = metadata.map(|(key, value)| (key.to_owned(), value)).into();
            Ok(Some(Arc::new(Field::new("", interval(), true).with_metadata(metadata))))
        }
        SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info) => numeric(*info),
        SqlType::Varchar(length) | SqlType::CharacterVarying(length) | SqlType::CharVarying(length) => {
            with_length(Kind::Text, Some("varchar"), characters(*length))
        }
        SqlType::Char(length) | SqlType::Character(length) => {
            with_length(Kind::Text, Some("bpchar"), characters(*length).or(Some(1)))
        }
        SqlType::JSON => plain(Kind::Json),
        SqlType::JSONB => plain(Kind::Jsonb),
        SqlType::Regclass => with_length(Kind::Oid, Some("regclass"), None),
        SqlType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => match field_of(element)? {
            Some(element) => list_of(&element),
            None => Ok(None),
        },
        SqlType::Custom(name, modifiers) => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(|ident| {
                if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
            });
            match name {
                Some(name) => named(&name, modifiers),
                None => Ok(None),
            }
        }
        SqlType::Bit(_)
        | SqlType::BitVarying(_)
        | SqlType::VarBit(_)
        | SqlType::GeometricType(_)
        | SqlType::TsVector
        | SqlType::TsQuery
        | SqlType::Array(_) => Ok(None),
        // Of other systems; some are types to the planner.
        other => {
            let name = other.to_string().to_lowercase();
            fail(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
        }
    }
}

/// Whether a field is of the type `character`, of a length or without.
pub(super) fn is_character(field: &Field) -> bool {
    field.metadata().get(POSTGRES_TYPE).is_some_and(|name| name == "bpchar")
}

/// The type that is called as a function: `date(at)`.
pub(crate) fn type_called(name: &str) -> Option<SqlType> {
    Some(match name {
        "date" => SqlType::Date,
        "bool" => SqlType::Boolean,
        "text" => SqlType::Text,
        "int2" => SqlType::SmallInt(None),
        "int4" => SqlType::Integer(None),
        "int8" => SqlType::BigInt(None),
        "float4" => SqlType::Real,
        "float8" => SqlType::DoublePrecision,
        _ => return None,
    })
}

/// A type by its name in `pg_type`.
fn named(name: &str, modifiers: &[String]) -> Result<Option<FieldRef>> {
    if let Some(element) = name.strip_prefix('_') {
        return match named(element, &[])? {
            Some(element) => list_of(&element),
            None => Ok(None),
        };
    }
    let length = modifiers.first().and_then(|length| length.parse::<u64>().ok());
    let kind = match name {
        "bool" => Kind::Bool,
        "int2" => Kind::Int2,
        "int4" => Kind::Int4,
        "int8" => Kind::Int8,
        "float4" => Kind::Float4,
        "float8" => Kind::Float8,
        "text" => Kind::Text,
        "bytea" => Kind::Bytea,
        "uuid" => return field_of(&SqlType::Uuid),
        "date" => Kind::Date,
        "time" => Kind::Time,
        "timestamp" => Kind::Timestamp,
        "timestamptz" => Kind::TimestampTz,
        "interval" => Kind::Interval,
        "json" => Kind::Json,
        "jsonb" => Kind::Jsonb,
        "numeric" => return numeric(ExactNumberInfo::None),
        "char" => return with_length(Kind::Text, Some("char"), Some(1)),
        "int2vector" => return Ok(Some(Arc::new(list("int2vector", Field::new("item", DataType::Int16, true))))),
        "oidvector" => return Ok(Some(Arc::new(list("oidvector", Field::new("item", DataType::UInt32, true))))),
        name if OID_TYPES.contains(&name) => return with_length(Kind::Oid, Some(name), None),
        name if TEXT_TYPES.contains(&name) => return with_length(Kind::Text, Some(name), length),
        "timetz" | "money" | "xml" | "inet" | "cidr" | "point" | "bit" | "varbit" | "tsvector" | "tsquery" => {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("type \"{name}\" is not supported"));
        }
        _ => return fail(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")),
    };
    with_length(kind, None, length)
}

fn list(name: &str, element: Field) -> Field {
    Field::new("", DataType::List(Arc::new(element)), true)
        .with_metadata(HashMap::from([(POSTGRES_TYPE.to_owned(), name.to_owned())]))
}

fn list_of(element: &Field) -> Result<Option<FieldRef>> {
    let name = element.metadata().get(POSTGRES_TYPE).cloned();
    let item = element.clone().with_name("item");
    Ok(Some(Arc::new(match name {
        Some(name) => list(&format!("_{name}"), item),
        None => Field::new(element.name(), DataType::List(Arc::new(item)), true),
    })))
}

fn characters(length: Option<CharacterLength>) -> Option<u64> {
    match length {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(length),
        Some(CharacterLength::Max) | None => None,
    }
}

fn with_length(kind: Kind, name: Option<&str>, length: Option<u64>) -> Result<Option<FieldRef>> {
    let Some(data_type) = kind.arrow() else { return Ok(None) };
    let name = name.map(|name| (POSTGRES_TYPE.to_owned(), name.to_owned()));
    let length = length.map(|length| (TYPE_LENGTH.to_owned(), length.to_string()));
    let metadata = name.into_iter().chain(length).collect();
    Ok(Some(Arc::new(Field::new("", data_type, true).with_metadata(metadata))))
}

fn numeric(info: ExactNumberInfo) -> Result<Option<FieldRef>> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => {
            let any = HashMap::from([(POSTGRES_TYPE.to_owned(), ANY_NUMERIC.to_owned())]);
            let data_type = DataType::Decimal128(NUMERIC_DIGITS_MAX, NUMERIC_SCALE_DEFAULT);
            return Ok(Some(Arc::new(Field::new("", data_type, true).with_metadata(any))));
        }
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    if !(1..=1000).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and 1000");
        return fail(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    if scale < 0 || scale as u64 > precision {
        let message = format!("NUMERIC scale {scale} must be between 0 and precision {precision}");
        return fail(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    match u8::try_from(precision) {
        Ok(precision) if precision <= NUMERIC_DIGITS_MAX => {
            Ok(Some(Arc::new(Field::new(WRITTEN, DataType::Decimal128(precision, scale as i8), true))))
        }
        _ => fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("numeric({precision}, {scale}): at most {NUMERIC_DIGITS_MAX} digits are supported"),
        ),
    }
}
