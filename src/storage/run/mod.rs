//! Run files: sorted, immutable Parquet files of entities.
//!
//! A run file is plain Parquet that any tool reads as it is. Its columns are `PartitionKey`,
//! `RowKey`, `Timestamp` (microseconds, floored) with `Timestamp:tick` (the 100 ns digit), then one
//! column per property and type; `:` cannot occur in a property's name, so `Age:Int64` is never
//! another property.

mod binary_names;
mod checksums;
mod file_ids;
mod known_keys;
mod layout;
mod live_rows;
mod open;
mod other;
mod page_bytes;
mod pages;
mod reader;
mod recount;
mod row_groups;
mod run_file;
mod statistics;
mod to_rows;
mod writer;

pub use file_ids::FileIds;
pub use known_keys::KnownKeys;
pub use layout::{OTHER_COLUMN, PAGE_ROWS};
pub use live_rows::LiveRows;
pub use open::{Gap, OpenRun, RunFileReader, RunFiles};
pub use other::decode as decode_other;
pub use pages::PageBudget;
pub use reader::Columns;
pub use recount::Recount;
pub use rowkey_model::columns::{PARTITION_KEY, ROW_KEY, TIMESTAMP, utc_micros};
pub use run_file::{ColumnSummary, RunFile};
pub(crate) use to_rows::EntityColumns;
pub use writer::{WriteOptions, batch_of, write_run};
