//! PostgreSQL's types: their oids, how Arrow holds them, and their text and binary forms. The
//! reference is PostgreSQL 15.
//!
//! Out: [`ColumnEncoder`] writes a column of a batch value by value, [`JsonWriter`] as JSON,
//! [`text_value`] one value. In:
//! [`parse_text`] and [`parse_binary`] make a [`SqlValue`] of a literal or a parameter,
//! [`SqlValue::to_array`] makes Arrow of that. Names of objects (`regclass`) are numbers here,
//! since they need a catalog.

mod arrow;
mod binary;
mod calendar;
mod encoder;
mod error;
pub mod json;
mod json_writer;
mod parse;
mod postgres_type;
mod record;
mod style;
mod text;
mod value;
mod zone;

pub use arrow::{arrow_type, field, type_of, typed_field};
pub(crate) use calendar::{MONTHS, POSTGRES_EPOCH_MICROS};
pub use encoder::{ColumnEncoder, Format, text_value};
pub use error::{Error, SqlState};
pub use json_writer::JsonWriter;
pub use parse::{IntervalFields, parse_binary, parse_interval_of, parse_text};
pub(crate) use parse::{NAME_BYTES_MAX, zone_of_abbreviation};
pub use postgres_type::{PostgresType, TYPES, oid, type_by_name, type_by_oid, type_by_sql_name};
pub(crate) use record::unnamed_field;
pub use style::{ByteaOutput, DateFormat, DateOrder, DateStyle, IntervalStyle, TextStyle};
pub(crate) use text::quoted_element;
pub use value::{Interval, SqlValue, array_of};
pub use zone::Zone;

/// Key of a field's metadata that names its PostgreSQL type (as in `pg_type.typname`) where Arrow
/// cannot tell: `oid`, `name`, ...
pub const POSTGRES_TYPE: &str = "postgres_type";
/// Key of the metadata of a column of type `char(n)`, and of the target of a cast: characters of
/// `varchar(n)` and `char(n)`, digits of a second of `timestamp(n)`.
pub const TYPE_LENGTH: &str = "postgres_length";
