//! Names of the types of a view's columns.

use arrow::datatypes::{DataType, Field};

use rowkey_postgres::types::POSTGRES_TYPE;

/// The type of a column by its name in `pg_type`.
pub(super) fn postgres_type(field: &Field) -> String {
    match field.metadata().get(POSTGRES_TYPE) {
        Some(name) => name.clone(),
        None => of_data_type(field.data_type()),
    }
}

fn of_data_type(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean => "bool",
        DataType::Binary | DataType::BinaryView => "bytea",
        DataType::LargeBinary => "json",
        DataType::LargeUtf8 => "jsonb",
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => "int2",
        DataType::Int32 | DataType::UInt16 => "int4",
        DataType::Int64 => "int8",
        DataType::UInt32 => "oid",
        DataType::Float16 | DataType::Float32 => "float4",
        DataType::Float64 => "float8",
        DataType::FixedSizeBinary(16) => "uuid",
        DataType::FixedSizeBinary(_) => "bytea",
        DataType::Timestamp(_, Some(_)) => "timestamptz",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Interval(_) | DataType::Duration(_) => "interval",
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "numeric",
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => return format!("_{}", postgres_type(item)),
        DataType::Dictionary(_, values) => return of_data_type(values),
        DataType::RunEndEncoded(_, values) => return postgres_type(values),
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => "record",
        DataType::Utf8 | DataType::Utf8View | DataType::Null => "text",
    };
    name.to_owned()
}

/// A type as PostgreSQL's messages name it.
pub(super) fn spoken(postgres_type: &str) -> String {
    let name = match postgres_type {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "time" => "time without time zone",
        "varchar" => "character varying",
        "bpchar" => "character",
        other => match other.strip_prefix('_') {
            Some(item) => return format!("{}[]", spoken(item)),
            None => other,
        },
    };
    name.to_owned()
}
