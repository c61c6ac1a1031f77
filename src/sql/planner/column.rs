//! Columns of answers.

use arrow::datatypes::FieldRef;

/// A column of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name is the label, which need not be unique.
    pub field: FieldRef,
    /// Oid of the table and number of the column, if it is one unchanged.
    pub origin: Option<(u32, i16)>,
    /// Length or precision of its type, as PostgreSQL encodes it; -1 for none.
    pub modifier: i32,
}
