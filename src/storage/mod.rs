//! What is durable and what is visible.
//!
//! A [`Store`] is one data folder. Its log holds edits of the [`Catalog`], which names every table's run files in its
//! [`Manifest`]; a [`Snapshot`] is the catalog after one record. Entities lie in run files ([`run`]); [`ingest`] merges sorted
//! streams of them into a table.

mod catalog;
mod check;
mod error;
pub mod ingest;
mod log;
mod manifest;
mod read;
pub mod run;
mod store;

pub use catalog::{Catalog, CommentObject, Edit, Table, View, ViewColumn};
pub use check::{CheckReport, Finding, check};
pub use error::Error;
pub use log::Error as LogError;
pub use manifest::{Manifest, RangePartition, RangeStart};
pub use read::{few_rows, get, range};
pub use store::{Snapshot, Store, StoreOptions};
