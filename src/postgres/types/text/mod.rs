//! Text forms, as PostgreSQL 15 prints them, written to the end of a buffer without a string for
//! each value.

mod bytes;
mod datetime;
mod interval;
mod nested;
mod numbers;

pub(super) use bytes::{write_bytea, write_uuid};
pub(super) use datetime::{write_date, write_time, write_timestamp, write_timestamptz};
pub(super) use interval::write_interval;
pub(crate) use nested::quoted_element;
pub(super) use nested::{quote_element, quote_member};
pub(super) use numbers::{write_digits, write_float4, write_float8, write_i128, write_i256, write_integer};
