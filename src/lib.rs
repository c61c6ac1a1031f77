//! Rowkey is a SQL engine for key-partitioned entity tables: the Azure Table Storage data model (entities addressed by
//! PartitionKey and RowKey, with typed, schemaless properties), kept as Parquet and planned by Apache DataFusion.
//!
//! ```
//! use futures::TryStreamExt;
//! use rowkey::formats::Source;
//! use rowkey::{Database, ImportOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let db = Database::open(":memory:").await?;
//!
//! // An export: service JSON, one entity a line, as a page or as an array. Files and streams alike.
//! let export = r#"{"PartitionKey":"Sales","RowKey":"0001","LastName":"Jones","Age":41}
//! {"PartitionKey":"Sales","RowKey":"0002","LastName":"Ng","Age":38}
//! {"PartitionKey":"Support","RowKey":"0003","LastName":"Rossi","HiredAt@odata.type":"Edm.DateTime","HiredAt":"2019-05-01T08:00:00Z"}"#;
//! let source = Source::stream("employees.ndjson", Box::new(export.as_bytes()));
//! let report = db.import("Employees", vec![source], &ImportOptions::default())?;
//! assert_eq!(report.inserted, 3);
//!
//! // By key, without SQL: one entity, or a stream of them.
//! let employees = db.table("Employees")?;
//! let jones = employees.get("Sales", "0001").await?.ok_or("no such entity")?;
//! assert_eq!(jones.get("Age"), Some(&41.into()));
//! let sales: Vec<_> = employees.rows("Sales", "0002"..).try_collect().await?;
//! assert_eq!(sales.len(), 1);
//!
//! // Into a type of one's own.
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "PascalCase")]
//! struct Employee {
//!     partition_key: String,
//!     last_name: String,
//!     age: Option<i32>,
//! }
//! let jones: Employee = jones.to()?;
//! assert_eq!((jones.partition_key.as_str(), jones.last_name.as_str(), jones.age), ("Sales", "Jones", Some(41)));
//!
//! // And in SQL. EXPLAIN tells which access path a query takes and what it reads.
//! let batches = db.sql(r#"SELECT "PartitionKey", count(*) FROM Employees GROUP BY 1 ORDER BY 1"#).await?.collect().await?;
//! assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```
//!
//! # Life of a query
//!
//! 1. `Database::sql` ([`frontend`]) hands the text to a `session::Session`.
//! 2. `session::statement::parse` makes one statement of it; EXPLAIN is recognised here.
//! 3. `Session::statement` takes a snapshot: `SnapshotCatalog` gives the planner the tables of that moment, as
//!    `provider::EntityTable`s.
//! 4. DataFusion plans. `functions` gives literals, operators and casts PostgreSQL's types; `provider::AggregateFromSnapshot` answers
//!    counts and key bounds of whole tables from the manifest.
//! 5. `EntityTable::scan` asks `access::plan_access` for the key set of the filters: which are decided by keys, which are left, and
//!    whether it is a point, range, partition or table scan. `Manifest::files_in` gives the files that hold such keys.
//! 6. The plan node is an `EntityScanExec` around DataFusion's Parquet scan, with the key predicate inside it, since pages are
//!    coarser than keys. `provider::ScanInKeyOrder` drops sorts by key. `provider::adapter` turns the table's columns into those of each
//!    file, where a property may lie in one type, in several, or not at all.
//! 7. Files are opened through `storage::run::RunFiles`, which caches their metadata and page indexes. Batches flow up to the
//!    [`Answer`].
//!
//! A point read (`Table::get`) skips all that: `TableSnapshot::get` looks at recent writes, finds the file in the manifest, the page of keys by the page index,
//! the row by binary search, and decodes one row.
//!
//! # Life of a write
//!
//! A single write (`Table::insert`, SQL, or a transaction of many):
//!
//! 1. `Store::write` looks for the entities in run files, takes the commit lock, and checks the operations against their newest
//!    versions, durable or in flight.
//! 2. The new versions go into the table's delta (`storage::delta`) under the sequence number of the record to come; the record is
//!    handed to the log, which writes and syncs what has gathered. When it is durable the snapshot of that number is published, and
//!    the write is answered.
//! 3. Scans bring the delta's versions into layers, mask the rows of run files that they take the place of, and read both as one.
//! 4. A fold writes what has gathered into run files of their own; one record names them, the masks and the sequence number up to which
//!    writes need not be replayed. Compactions merge run files.
//!
//! An import:
//!
//! 1. `engine::import` claims the table, and lets [`formats`] decode each input into `rows::Rows`, on several threads and in
//!    the order of the input.
//! 2. `rows::Sorter` passes ordered input on and sorts the rest, spilling what exceeds its memory;
//!    `rows::Deduplicator` leaves one row of each key, and tells what became of the others.
//! 3. `storage::ingest` walks the sorted rows and the table's range partitions side by side. What is equal stays; a range partition
//!    that changes is cut into new files, each written under a temporary name, synced, renamed, and its folder synced.
//! 4. `Store::commit` appends one record to the log that names all of them. When it is durable, the new catalog is published:
//!    readers see all of the import or nothing. Files that no snapshot reaches any more are removed.
//!
//! # Layers
//!
//! Calls go down, rows and errors come up; a test reads the imports and fails when one goes up.
//!
//! | module | what it owns |
//! |---|---|
//! | [`frontend`] | the doors: embedded API, command line, sample data |
//! | `engine` | lifetime of a data folder: open, import, entity operations |
//! | `session` | statements, planning, EXPLAIN, the public error |
//! | `system_catalog` | pg_catalog, information_schema and schema rowkey, as tables |
//! | `functions` | PostgreSQL's functions and type rules |
//! | `sql_types` | PostgreSQL's types, their text and binary forms |
//! | `provider` | DataFusion's view of a table: claims, scans, key order |
//! | `access` | filters to key set and access path; pure |
//! | `storage` | log, catalog, manifest, run files, recent writes, folds, merge |
//! | [`formats`] | decoding and writing exports |
//! | `rows` | entities in an arena: sorting, spilling, merging |
//! | [`files`] | the only place that touches disk or object store |
//! | [`model`], [`clock`] | the vocabulary; time |
#![forbid(unsafe_code)]

pub mod clock;
pub mod files;
pub mod formats;
pub mod frontend;
pub mod model;

mod access;
mod engine;
mod functions;
mod provider;
mod rows;
mod session;
mod sql_types;
mod storage;
mod system_catalog;

pub use engine::{
    EntityOperation, IfMatch, ImportOptions, ImportProgress, ImportReport, OnReject, Options, PropertyReport,
    SkippedAccount,
};
pub use frontend::{Database, EntityStream, Table};
pub use provider::ScanOptions;
pub use session::{Answer, Error, ErrorKind, ExportOptions, ExportProgress, ExportReport, Result, Selection};
pub use storage::{CheckReport, DamagedFile, Durability, Finding, LogRepair, Quarantined};

/// What `benches/parts.rs` measures by itself: no part of the API.
#[doc(hidden)]
pub mod parts {
    pub use crate::access::plan_access;
    pub use crate::rows::{PropertyNames, Rows};
    pub use crate::storage::run::{WriteOptions, write_run};
}
