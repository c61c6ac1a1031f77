//! DataFusion's view of the tables: what a scan claims, what it reads, in which order.
//!
//! [`EntityTable`] turns filters into an access plan and gives a plan node, [`EntityScanExec`],
//! around the stock Parquet scan. [`ScanInKeyOrder`] lets it read in key order where a query wants
//! that; [`AggregateFromSnapshot`] answers counts and key bounds without reading.

mod adapter;
mod columns;
mod entity_rows;
mod exact_time;
mod filter;
mod key_order;
mod masked;
mod optional_filter;
mod pages_read;
mod read_totals;
mod reader;
mod recent;

mod scan_counts;
mod scan_exec;
mod snapshot_aggregate;
mod snapshot_count;
mod table;
mod wanted_pages;
mod widening;

pub(crate) use columns::{ColumnSource, ColumnsCache, TableColumns, WidenedType, ticks_name};
pub(crate) use entity_rows::EntityRows;
pub(crate) use key_order::{Direction, ScanInKeyOrder};
pub(crate) use read_totals::{ReadTotals, scans_of};
pub(crate) use reader::file_of;
pub(crate) use scan_counts::ScanCounts;
pub(crate) use scan_exec::{EntityScanExec, Scan, batch_rows_min, open_bytes};
pub(crate) use snapshot_aggregate::AggregateFromSnapshot;
pub use table::ScanOptions;
pub(crate) use table::{EntityTable, with_tables};
