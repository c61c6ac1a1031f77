//! Entities on their way into a table: encoded one after another in an arena, sorted, spilled and
//! merged.
//!
//! Decoders of exports write [`Rows`], the [`Sorter`] brings them into key order in bounded memory,
//! the [`Deduplicator`] leaves one of each key, and storage writes them to files. A row is never
//! turned into a tree of values on the way: it is copied as bytes, compared by its key's bytes, and
//! two rows with equal properties have equal bytes.

mod arena;
mod builder;
mod cursor_heap;
mod deduplicator;
mod encoded_row;
mod error;
mod merge;
mod names;
mod row_ref;
mod sorter;
mod spill;
mod unfinished;
mod value_encoding;

pub use arena::{Rows, common_beginning, key_prefix};
pub use builder::RowBuilder;
pub use cursor_heap::CursorHeap;
pub use deduplicator::{Conflict, Deduplicator, Duplicates};
pub use encoded_row::EncodedRow;
pub use error::Error;
pub use names::{NameCache, PropertyId, PropertyNames};
pub use row_ref::{RowRef, key_bytes};
pub use sorter::{Sorted, Sorter, SorterOptions};

#[cfg(any(test, feature = "testing"))]
pub mod generated;
