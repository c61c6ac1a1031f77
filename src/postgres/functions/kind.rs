//! What PostgreSQL calls the types of Arrow.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::logical_expr::Expr;

/// A type as PostgreSQL's rules of resolution see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Null,
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float4,
    Float8,
    Text,
    Bytea,
    Uuid,
    Oid,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Array,
    /// The text as it was given, in bytes.
    Json,
    /// The text that PostgreSQL prints.
    Jsonb,
    /// What PostgreSQL does not have; DataFusion's own rules hold.
    Other,
}

/// Digits of a decimal of 128 bits.
pub(super) const NUMERIC_DIGITS_MAX: u8 = 38;

impl Kind {
    pub(super) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Kind::Null,
            DataType::Boolean => Kind::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => Kind::Int2,
            DataType::UInt16 | DataType::Int32 => Kind::Int4,
            DataType::Int64 | DataType::UInt64 => Kind::Int8,
            DataType::UInt32 => Kind::Oid,
            DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
                Kind::Numeric
            }
            DataType::Float16 | DataType::Float32 => Kind::Float4,
            DataType::Float64 => Kind::Float8,
            DataType::Utf8 | DataType::Utf8View => Kind::Text,
            DataType::LargeUtf8 => Kind::Jsonb,
            DataType::LargeBinary => Kind::Json,
            DataType::Binary | DataType::BinaryView => Kind::Bytea,
            DataType::FixedSizeBinary(16) => Kind::Uuid,
            DataType::Date32 | DataType::Date64 => Kind::Date,
            DataType::Time32(_) | DataType::Time64(_) => Kind::Time,
            DataType::Timestamp(_, None) => Kind::Timestamp,
            DataType::Timestamp(_, Some(_)) => Kind::TimestampTz,
            DataType::Interval(_) | DataType::Duration(_) => Kind::Interval,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Kind::Array,
            DataType::Dictionary(_, values) => Kind::of(values),
            _ => Kind::Other,
        }
    }

    /// How Arrow holds values of the type; a numeric has its own precision and scale.
    pub(super) fn arrow(self) -> Option<DataType> {
        Some(match self {
            Kind::Bool => DataType::Boolean,
            Kind::Int2 => DataType::Int16,
            Kind::Int4 => DataType::Int32,
            Kind::Int8 => DataType::Int64,
            Kind::Float4 => DataType::Float32,
            Kind::Float8 => DataType::Float64,
            Kind::Text => DataType::Utf8View,
            Kind::Bytea => DataType::BinaryView,
            Kind::Uuid => DataType::FixedSizeBinary(16),
            Kind::Oid => DataType::UInt32,
            Kind::Date => DataType::Date32,
            Kind::Time => DataType::Time64(TimeUnit::Microsecond),
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::TimestampTz => timestamptz(),
            Kind::Interval => DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano),
            Kind::Json => DataType::LargeBinary,
            Kind::Jsonb => DataType::LargeUtf8,
            Kind::Null | Kind::Numeric | Kind::Array | Kind::Other => return None,
        })
    }

    /// The name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Null => "unknown",
            Kind::Bool => "boolean",
            Kind::Int2 => "smallint",
            Kind::Int4 => "integer",
            Kind::Int8 => "bigint",
            Kind::Numeric => "numeric",
            Kind::Float4 => "real",
            Kind::Float8 => "double precision",
            Kind::Text => "text",
            Kind::Bytea => "bytea",
            Kind::Uuid => "uuid",
            Kind::Oid => "oid",
            Kind::Date => "date",
            Kind::Time => "time without time zone",
            Kind::Timestamp => "timestamp without time zone",
            Kind::TimestampTz => "timestamp with time zone",
            Kind::Interval => "interval",
            Kind::Array => "anyarray",
            Kind::Json => "json",
            Kind::Jsonb => "jsonb",
            Kind::Other => "record",
        }
    }

    pub(super) fn is_integer(self) -> bool {
        matches!(self, Kind::Int2 | Kind::Int4 | Kind::Int8)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Kind::Float4 | Kind::Float8)
    }

    pub(super) fn is_number(self) -> bool {
        self.is_integer() || self.is_float() || self == Kind::Numeric
    }

    pub(super) fn is_temporal(self) -> bool {
        matches!(self, Kind::Date | Kind::Time | Kind::Timestamp | Kind::TimestampTz | Kind::Interval)
    }

    /// Days on a calendar: what one of them is compared with is brought to the wider.
    pub(super) fn is_day(self) -> bool {
        matches!(self, Kind::Date | Kind::Timestamp | Kind::TimestampTz)
    }

    /// Whether values may be equal that are not alike, and are compared by their keys: a day and 24
    /// hours.
    pub(super) fn is_compared_by_key(self) -> bool {
        matches!(self, Kind::Interval | Kind::Jsonb)
    }

    /// The type in which values of both are compared, or brought together in one column. `None`:
    /// PostgreSQL knows none.
    pub(super) fn common(self, other: Kind) -> Option<Kind> {
        let rank = |kind: Kind| match kind {
            Kind::Int2 => Some(0),
            Kind::Int4 => Some(1),
            Kind::Int8 => Some(2),
            Kind::Numeric => Some(3),
            Kind::Float4 => Some(4),
            Kind::Float8 => Some(5),
            _ => None,
        };
        let day = |kind: Kind| match kind {
            Kind::Date => Some(0),
            Kind::Timestamp => Some(1),
            Kind::TimestampTz => Some(2),
            _ => None,
        };
        if self == other || other == Kind::Null {
            return Some(self);
        }
        if self == Kind::Null {
            return Some(other);
        }
        if let (Some(left), Some(right)) = (rank(self), rank(other)) {
            return Some(if left >= right { self } else { other });
        }
        if let (Some(left), Some(right)) = (day(self), day(other)) {
            return Some(if left >= right { self } else { other });
        }
        match (self, other) {
            (Kind::Oid, other) | (other, Kind::Oid) if other.is_integer() => Some(Kind::Int8),
            _ => None,
        }
    }
}

/// `timestamptz` in Arrow.
pub(super) fn timestamptz() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// `timestamp` in Arrow.
pub(super) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// `interval` in Arrow.
pub(super) fn interval() -> DataType {
    DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano)
}

/// The numeric with the digits and scale of a type, if it is exact.
pub(super) fn decimal_of(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => Some(((*precision).min(NUMERIC_DIGITS_MAX), *scale)),
        other => match Kind::of(other) {
            Kind::Int2 => Some((5, 0)),
            Kind::Int4 => Some((10, 0)),
            Kind::Int8 => Some((20, 0)),
            Kind::Oid => Some((10, 0)),
            _ => None,
        },
    }
}

/// A text literal: PostgreSQL calls it unknown and reads it as whatever type is wanted.
pub(super) fn unknown_text(expr: &Expr) -> Option<&str> {
    match expr {
        // Texts with a type are in another form.
        Expr::Literal(datafusion::scalar::ScalarValue::Utf8(text), _) => text.as_deref(),
        Expr::Alias(alias) => unknown_text(&alias.expr),
        _ => None,
    }
}
