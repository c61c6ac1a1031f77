//! JSON text: its tokens, the end of an object, strings to be written.
//!
//! Knows nothing of entities. Text of one object is read by a [`Parser`]; [`ObjectScan`] finds
//! where an object ends in a stream, without a look at what is in it.

mod error;
mod object_scan;
mod parser;
mod string;

pub(super) use self::error::JsonError;
pub(super) use self::object_scan::ObjectScan;
pub(super) use self::parser::{Number, Parser};
pub(super) use self::string::push_string;
