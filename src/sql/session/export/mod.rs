//! Exports: entities of a table as they are, and rows of queries.
//!
//! Entities are read below SQL, where their types, their ticks and all their properties are exact;
//! a condition in SQL gives the keys of those that are wanted. Rows of a query are what SQL shows.

mod entities;
mod from_rows;
mod json_lines;
mod options;
mod results;

pub(crate) use results::{write_lines, write_rows};

pub use options::{ExportOptions, ExportProgress, ExportReport, Selection};
