//! JSON. A `json` is the text that it was given, a `jsonb` the text that PostgreSQL prints of its
//! value: blanks, order of keys and digits of numbers are settled where it is made, so that equal
//! parts are equal texts, but for zeros at the end of a fraction.
//!
//! [`Json`] finds parts of a text without changing it, [`Tree`] is a `jsonb` taken apart.

mod change;
mod contains;
mod normalize;
mod number;
mod order;
mod scanner;
mod text;
mod tree;

pub use change::{Placement, concatenated, removed, removed_at, removed_path, set_path, without_nulls};
pub use contains::contains;
pub use normalize::normalized;
pub use order::sort_key;
pub use text::{Json, JsonKind};
pub use tree::{Tree, write_quoted};

use super::{Error, SqlState};

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 500;

type Result<T> = std::result::Result<T, Error>;

fn invalid() -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
}

fn too_deep() -> Error {
    Error::unsupported(format!("JSON that is nested more than {DEPTH_MAX} deep is not supported"))
}

fn too_large(what: &str) -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
}
