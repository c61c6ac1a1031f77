//! How Arrow holds PostgreSQL's types.

use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, IntervalUnit, TimeUnit};

use super::postgres_type::oid;
use super::{POSTGRES_TYPE, PostgresType, type_by_name, type_by_oid};

#[cfg(test)]
mod tests;

/// The scale of a numeric without a type modifier.
pub(super) const NUMERIC_SCALE: i8 = 10;

/// The PostgreSQL type of a field: the one that its metadata names, if its Arrow type can hold that
/// (casts carry metadata along that is no longer true), else the one of its Arrow type. None: such
/// a value cannot be shown.
pub fn type_of(field: &Field) -> Option<&'static PostgresType> {
    let data_type = field.data_type();
    if let Some(ty) = field.metadata().get(POSTGRES_TYPE).and_then(|name| type_by_name(name))
        && holds(data_type, ty)
    {
        return Some(ty);
    }
    let oid = match data_type {
        DataType::Null | DataType::Utf8 | DataType::Utf8View => oid::TEXT,
        DataType::LargeUtf8 => oid::JSONB,
        DataType::LargeBinary => oid::JSON,
        DataType::Boolean => oid::BOOL,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => oid::INT2,
        DataType::UInt16 | DataType::Int32 => oid::INT4,
        DataType::UInt32 => oid::OID,
        DataType::Int64 | DataType::UInt64 => oid::INT8,
        DataType::Float16 | DataType::Float32 => oid::FLOAT4,
        DataType::Float64 => oid::FLOAT8,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            oid::NUMERIC
        }
        DataType::FixedSizeBinary(16) => oid::UUID,
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => oid::BYTEA,
        DataType::Timestamp(_, Some(_)) => oid::TIMESTAMPTZ,
        DataType::Timestamp(_, None) | DataType::Date64 => oid::TIMESTAMP,
        DataType::Date32 => oid::DATE,
        DataType::Time32(_) | DataType::Time64(_) => oid::TIME,
        DataType::Interval(_) | DataType::Duration(_) => oid::INTERVAL,
        DataType::Struct(_) => oid::RECORD,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let element = type_of(item)?;
            // Lists of lists are arrays of several dimensions, which have the type of one.
            return if element.category == 'A' && !element.is_vector() { Some(element) } else { element.array() };
        }
        DataType::Dictionary(_, values) => return type_of(&Field::new("", (**values).clone(), true)),
        _ => return None,
    };
    type_by_oid(oid)
}

/// Whether values of an Arrow type can be those of a PostgreSQL type.
pub(super) fn holds(data_type: &DataType, ty: &PostgresType) -> bool {
    if let DataType::Dictionary(_, values) = data_type {
        return holds(values, ty);
    }
    if let Some(element) = ty.element() {
        return match data_type {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                holds(item.data_type(), element) || (!ty.is_vector() && holds(item.data_type(), ty))
            }
            _ => false,
        };
    }
    match (storage(ty), data_type) {
        (Some(DataType::Utf8View), DataType::Utf8 | DataType::Utf8View | DataType::Null) => true,
        (Some(DataType::BinaryView), DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_)) => true,
        (Some(DataType::Decimal128(..)), DataType::Decimal128(..) | DataType::Decimal256(..)) => true,
        (Some(DataType::Timestamp(_, zone)), DataType::Timestamp(_, other)) => zone.is_some() == other.is_some(),
        (Some(expected), actual) => expected == *actual,
        (None, DataType::Struct(_)) => ty.oid == oid::RECORD,
        (None, _) => false,
    }
}

/// The Arrow type that holds values of a type. An array's item carries the metadata of its element.
/// None: no values of this type occur here (geometric types, ranges, ...), or their shape is told
/// by nothing but the value (`record`).
///
/// `numeric` is `Decimal128(38, 10)`: Arrow's scale belongs to the type, PostgreSQL's to each
/// value. Results of known scale keep theirs, this one serves where only the type is known.
pub fn arrow_type(ty: &PostgresType) -> Option<DataType> {
    match ty.element() {
        Some(element) => Some(DataType::List(Arc::new(typed_field(Field::LIST_FIELD_DEFAULT_NAME, element, true)?))),
        None => storage(ty),
    }
}

fn storage(ty: &PostgresType) -> Option<DataType> {
    Some(match ty.oid {
        oid::BOOL => DataType::Boolean,
        oid::BYTEA => DataType::BinaryView,
        oid::INT2 => DataType::Int16,
        oid::INT4 => DataType::Int32,
        oid::INT8 | oid::XID8 => DataType::Int64,
        oid::FLOAT4 => DataType::Float32,
        oid::FLOAT8 => DataType::Float64,
        oid::TEXT
        | oid::CHAR
        | oid::NAME
        | oid::VARCHAR
        | oid::BPCHAR
        | oid::PG_NODE_TREE
        | oid::UNKNOWN
        | oid::ACLITEM
        | oid::REFCURSOR
        | oid::CSTRING
        | oid::VOID => DataType::Utf8View,
        // Texts of their own, which nothing takes for `text` or `bytea`.
        oid::JSON => DataType::LargeBinary,
        oid::JSONB => DataType::LargeUtf8,
        oid::OID
        | oid::XID
        | oid::CID
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGOPER
        | oid::REGOPERATOR
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGCONFIG
        | oid::REGDICTIONARY
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGCOLLATION => DataType::UInt32,
        oid::DATE => DataType::Date32,
        oid::TIME => DataType::Time64(TimeUnit::Microsecond),
        oid::TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, None),
        oid::TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        oid::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        oid::NUMERIC => DataType::Decimal128(DECIMAL128_MAX_PRECISION, NUMERIC_SCALE),
        oid::UUID => DataType::FixedSizeBinary(16),
        _ => return None,
    })
}

/// A field of a PostgreSQL type, with metadata where the Arrow type alone does not tell it.
///
/// # Panics
/// If there is no such type, or none that Arrow holds: the name comes from the program, not from
/// input (see [`typed_field`]).
pub fn field(name: &str, type_name: &str, nullable: bool) -> Field {
    type_by_name(type_name)
        .and_then(|ty| typed_field(name, ty, nullable))
        .unwrap_or_else(|| panic!("no Arrow field can be made for type \"{type_name}\" of \"{name}\""))
}

/// As [`field`], for a type found by input. None: Arrow holds no such values.
pub fn typed_field(name: &str, ty: &PostgresType, nullable: bool) -> Option<Field> {
    let plain = Field::new(name, arrow_type(ty)?, nullable);
    if type_of(&plain).is_some_and(|told| told.oid == ty.oid) {
        return Some(plain);
    }
    Some(plain.with_metadata([(POSTGRES_TYPE.to_owned(), ty.name.to_owned())].into()))
}
