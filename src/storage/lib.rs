//! One data folder: what of it is durable, and which version of it a reader sees.
//!
//! A [`Store`] is the facade. Its log (`log`, `records`) holds edits of the [`Catalog`], which
//! names every table's run files in its [`Manifest`], and writes of entities; both are replayed
//! when it is opened (`recovery`). Recent entities lie in memory ([`delta`]), the others in run
//! files ([`run`]). A [`Snapshot`] is one catalog with the delta up to a sequence number. `write`
//! takes operations, [`ingest`] merges sorted streams of entities into a table, `maintenance` folds
//! and compacts in the background, [`check()`] verifies everything, and `repair` takes out what is
//! damaged.

mod catalog;
mod check;
pub mod delta;
mod entity_rows;
mod error;
pub mod ingest;
mod key_filter;
mod log;
mod maintenance;
mod manifest;
mod operation;
mod options;
mod outputs;
mod read;
mod read_rows;
mod records;
mod recovery;
mod repair;
pub mod run;
#[cfg(test)]
mod simulation;
mod snapshot;
mod sqlstate;
mod state;
mod store;
mod write;

pub use catalog::{
    COLUMNS_MAX, Catalog, CommentObject, Edit, LiteralSettings, PropertyColumn, Table, View, ViewColumn,
};
pub use check::{CheckReport, DamagedFile, Finding, check, is_data_folder};
pub use entity_rows::EntityRows;
pub use error::Error;
pub use key_filter::KeyHash;
pub use log::Error as LogError;
pub use log::{Durability, SegmentBytes};
pub use maintenance::{Maintainer, MaintenanceStatus, VacuumReport, Work};
pub use manifest::{Manifest, RangePartition, RangeStart};
pub use operation::{Change, Condition, Content, Operation, Properties, Refusal, Written};
pub use options::{FILE_BYTES, StoreOptions};
pub use outputs::expect_outside;
pub use read::{EntityFilter, FewRows};
pub use repair::{LogRepair, Quarantined, repair_log};
pub use snapshot::{OwnWrites, Snapshot, TableSnapshot};
pub use state::Unlinked;
pub use store::Store;
pub use write::{Attempts, Definitions, PreparedWrite, TableHold, Terms};
