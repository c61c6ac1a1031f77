//! Writing entities in the formats that people read.
//!
//! [`open`] gives an [`EntityWriter`], which takes entities in key order, a batch at a time; what
//! was written appears under its name when [`EntityWriter::finish`] has returned, and not at all if
//! it is dropped before. Formats whose columns come first need a [`Survey`](crate::Survey) of the
//! properties.
//!
//! Rows of queries, which need not be entities, go through [`LineOutput`] and [`TableWriter`].

mod format;
mod plain_csv;
mod results;
mod writer;

pub use format::{ExportFormat, Layout};
pub use results::{LineOutput, TableWriter};
pub use writer::{EntityWriter, ExportTarget, open};
