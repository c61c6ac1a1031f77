//! Rowkey is a SQL engine for key-partitioned entity tables: the Azure Table Storage data model
//! (entities addressed by PartitionKey and RowKey, with typed, schemaless properties), kept as
//! Parquet and planned by Apache DataFusion.
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
//! let report = db.import("Employees", vec![source], &ImportOptions::default()).await?;
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
//! What comes in over the wire, from the command line or through [`Database::sql`] takes the same
//! way, but for one short cut of the wire's simple protocol. A session runs where its caller polls
//! it; what it plans and computes runs on the engine's `ComputeRuntime`, all but statements by key,
//! and is cancelled by its `Signals` when its future is dropped.
//!
//! 1. `Session::sql`, or `Session::prepare` and `Session::run` (`rowkey_sql::session`), gets the
//!    text. In the simple protocol, where clients write values into the text, a statement by key
//!    that was seen before, but for its literals, is found by its tokens
//!    (`Session::bind_key_statement`) and run by `KeyRead` or `KeyWrite` without a parse or a plan.
//! 2. `rowkey_postgres::syntax::parse` makes one statement of it. `Session::context` gives it a
//!    `StatementContext`: the snapshot of the transaction or the newest one, the session, the time,
//!    and what stops it.
//! 3. `Compiler::plan` prepares it. `Compiler::planner` shows the tables of the snapshot to
//!    DataFusion as `EntityTable`s and views as the queries they are (`SnapshotCatalog`);
//!    `StatementPlanner::query` finds what its names mean as PostgreSQL does (`names::resolve`),
//!    rewrites what DataFusion has no plan for (`desugar::rewrite_syntax`) and types its parameters
//!    (`parameters::plan`). What was planned before on the same catalog comes from the `PlanCache`.
//!    `by_key::recognize` decides whether it is a statement by key, which needs no physical plan:
//!    a read (`KeyRead`), a write (`KeyWrite`), or a query of few rows of one partition, whose
//!    filter, outputs and aggregates are computed from what is read (`KeyQuery`).
//! 4. `Executor::physical` puts values in the place of parameters, and DataFusion plans with the
//!    rules that `rowkey_postgres::install` gave it: literals, operators and casts have
//!    PostgreSQL's types. `AggregateFromSnapshot` answers counts and key bounds of whole tables
//!    from the manifest.
//! 5. `EntityTable::scan` asks `access::plan_access` for the key set of the filters: which are
//!    decided by keys, which are the residual, and whether it is a point, range, partition or table
//!    scan. `Manifest::files_in` gives the run files that hold such keys.
//! 6. `EntityScanExec` merges the delta's versions with DataFusion's Parquet scan of the run files,
//!    the key predicate inside it, since pages are coarser than keys. `ScanInKeyOrder` drops sorts
//!    by key.
//! 7. Files are opened through `RunFiles`, which caches their metadata and page indexes. Batches
//!    flow up to the [`Answer`]; a wire connection and the command line write them by the same
//!    `ColumnEncoder`, as the session's settings say.
//!
//! A point read ([`Table::get`]) skips all that: `EntityService::get`, as a statement by key does,
//! asks `TableSnapshot::get`, which looks at the delta, finds the file in the manifest, the page of
//! keys by the page index and the row by binary search, and decodes one row.
//!
//! # Life of a write
//!
//! A write is one or more operations on entities, committed together. [`Table::insert`] hands its
//! own to `EntityService::operate`. An SQL statement builds rows (`TargetRowBuilder`) and comes to
//! operations, each for the version of the entity that it has read (`Executor::run_write`); a
//! transaction block keeps them in its `WriteSet`, and only the session's transaction commits them
//! (`session::commit`). Columns that an INSERT adds where the session has set so
//! (`definitions::new_properties`) are in the same record. Either way:
//!
//! 1. `Store::write` looks for the entities in run files, takes the commit lock, and checks the
//!    operations against their newest versions, durable or in flight.
//! 2. The new versions go into the table's delta under the sequence number of the record to come;
//!    the record is handed to the log, which writes and syncs what has gathered (group commit).
//!    When it is durable the snapshot of that number is published, and the write is answered.
//! 3. Scans bring the delta's versions into layers, mask the rows of run files that they take the
//!    place of, and read both as one.
//! 4. A fold writes what has gathered into run files of their own; one record names them, the masks
//!    and the sequence number up to which writes need not be replayed. Compactions merge run files.
//!
//! # Life of an import
//!
//! 1. `EntityService::import` claims the table, and lets `rowkey_formats::decode` turn each input
//!    into `Rows`, on several threads and in the order of the input.
//! 2. `Sorter` passes ordered input on and sorts the rest, spilling what exceeds its memory;
//!    `Deduplicator` leaves one row of each key, and tells what became of the others.
//! 3. `Ingest` walks the sorted rows and the table's range partitions side by side. What is equal
//!    stays; a range partition that changes is cut into new run files, each written under a
//!    temporary name, synced, renamed, and its folder synced.
//! 4. `Store::commit_job` appends one record to the log that names all of them. When it is durable,
//!    the new catalog is published: readers see all of the import or nothing. Files that no
//!    snapshot reaches any more are removed.
//!
//! # Members of the workspace
//!
//! Calls go down, rows and errors come up; the compiler keeps the walls, and `tests/layers` what it
//! cannot keep.
//!
//! | folder below `src` | what it owns | DataFusion |
//! |---|---|---|
//! | `embedded`, `wire`, `rest`, `command` | Rust API, Postgres and REST protocols, command line | no |
//! | `authorization` | keys of accounts, shared access signatures, what they permit | no |
//! | `sql` | access paths, provider, system catalog, planner, writes, definitions, compiler, executor, session; beside them the entity service; `engine`, which owns a data folder | yes |
//! | `postgres` | PostgreSQL's syntax, names, types, functions, settings, cancellation; knows nothing of entities | yes |
//! | `formats` | reading and writing exports; the JSON of one entity | no |
//! | `storage` | log, catalog, manifest, run files, delta, folds, merge | no |
//! | `model` | entities, keys, types, limits; `files` on disk; `rows` to be stored | no |
//! | `base` | errors, time, escapes of URLs, what a rule rejects | no |
//! | `features` | no code: the features with which tests take dependencies | no |
//!
//! # Where new things go
//!
//! - **an access path**: a shape of keys: `AccessPath` and `AccessPath::of` in
//!   `sql/access/path.rs`. One that has to read before it knows its keys, as an index would:
//!   `EntityTable::scan` (`sql/provider/table.rs`), since `access` does no I/O; another table's
//!   snapshot comes from `sql/planner/snapshot_catalog.rs`, and an `AccessPlan` is made in
//!   `sql/access/plan.rs`. *Mind:* `supports_filters_pushdown` comes first: what is not known there
//!   stays a residual filter. `by_key`, `EntityService::page` and exports by key do not ask
//!   `plan_access`. Words of EXPLAIN: `sql/explain/{read,text}.rs`, hints: `sql/access/explain.rs`,
//!   answers: `sql/access_paths/*.slt`, README (`tests/readme/access_paths.rs`). Kept plans change
//!   their snapshots in `seen_in` and `without_content`. Keys that no filter says must become one:
//!   pages and newer rows are chosen by the claimed filters.
//! - **a property type**: `EdmType`, `Value` (`model/value.rs`), its size (`model/entity.rs`),
//!   serde (`model/typed`), Arrow (`model/columns`), memory and spilling (`model/rows`); disk:
//!   `storage/records/writes.rs`, `storage/run`; `formats`; SQL: `sql/definitions/tables.rs`,
//!   `sql/writes/{target,values,constants}.rs`, `sql/provider/{columns,widening}.rs`,
//!   `sql/planner/entities_relation.rs`, `sql/session/export`, `rowkey_schema`. *Mind:* tags on
//!   disk are for good (`EdmType::tag`);
//!   names are in order; look for `EdmType::ALL` and for `_ =>` over types and values;
//!   `tests/durability/versions.rs` opens old folders.
//! - **a wire message**: from clients: `KINDS` and `Body::message` (`wire/message.rs`), then
//!   `Connection::handle`; before a session: `message::first`, then `wire/startup.rs`; a session
//!   that runs a statement reads none; while COPY comes in: `wire/copy.rs`. To clients:
//!   `Wire::push` with pgwire's type, where it arises (`simple`, `extended`, `describe`, `copy`,
//!   `startup`); rows are framed by hand (`wire/rows.rs`); to a client that sent nothing:
//!   `Connection::receive`. *Mind:* whether an error skips to Sync is decided in
//!   `Connection::handle` and `message::malformed`; notices come from `Session::take_notices`;
//!   `tests/robustness` sends malformed ones.
//! - **an operation of the Table service**: its place in `rest/dispatch.rs`, what it needs of a
//!   signature (`authorization/authority.rs`), the operation in `rest/operations`, its errors in
//!   `rest/errors/mapping.rs`. What is no part of the service lies below `/_rowkey/`
//!   (`rest/server/handler.rs`). Filters are `rowkey_sql::odata`'s, bodies
//!   `rowkey_formats::entity_json`'s. What SQL has for it: `sql/planner/odata_relation.rs`, hidden
//!   columns in `sql/provider/columns.rs`, `sql/compiler/{entity_json,ticks_functions}.rs`. *Mind:*
//!   a batch's operations take the same way (`rest/operations/writes.rs`); what a signature permits
//!   the entity service checks (`sql/entity_service/principal.rs`); tests with real SDKs are in
//!   `tests/clients`.
//! - **another door**: a member beside `rest`, started by `command/serve.rs`, on
//!   `Engine::entities_of` (account, principal). Whose keys count, `rowkey_authorization::Accounts`
//!   says; a session of the holder of a shared access signature has a `SharedAccess`. *Mind:* doors
//!   have no DataFusion and no storage; `tests/layers/members.rs` names members, doors and who
//!   starts them, so do `Cargo.toml` (three times), `features/Cargo.toml` and `.ci/run`; the time
//!   comes from `rowkey_base::clock`.
//! - **a maintenance job**: `storage/maintenance`: a kind of `Work` (`jobs.rs`), found due in
//!   `Maintainer::round` (`worker.rs`); counted in `stalls.rs`, told in `status.rs` and by
//!   `sql/system_catalog/rowkey_schema/maintenance.rs`. *Mind:* one thread does all: work is cut
//!   into steps that ask whether to stop, and before each whether a table stalls its writers; what
//!   it learns is lost at the end unless an `Edit` holds it; `RunFiles` verifies a block once, so a
//!   check reads the file itself (`storage/check.rs`).
//! - **a function or rewrite of PostgreSQL's**: `postgres/functions`, `postgres/desugar`; what
//!   works around DataFusion in `postgres/workarounds`, with a canary test. *Mind:*
//!   `rowkey_postgres::install` lists the rules in order.
//!
//! Rules that a test keeps, in `tests/layers`: what members depend on (`members.rs`), no import
//! cycles between modules (`cycles.rs`), who touches the disk, the clock and the terminal, files of
//! 700 lines and comments of 100 columns at most (`rules.rs`).
//!
//! # Glossary
//!
//! | term | what it is here |
//! |---|---|
//! | entity | properties under a PartitionKey and a RowKey, as in the Table service |
//! | account | a namespace of tables; SQL's database |
//! | door | a member through which callers come in: `embedded`, `wire`, `rest`, `command` |
//! | principal | who asks at a door; may do everything, or what a shared access signature grants |
//! | partition | all entities with one PartitionKey |
//! | range partition | an interval of keys of a table with the run files that hold it |
//! | run file | an immutable Parquet file of entities in key order |
//! | delta | versions of entities in memory that no run file holds yet; the log holds them too |
//! | mask | rows of a run file that a newer version has taken the place of |
//! | fold | writing the delta into run files |
//! | compaction | merging run files of a range partition |
//! | manifest | which run files, with which masks, make up a table |
//! | catalog | tables, views, comments and manifests; one version of it follows every record |
//! | snapshot | one catalog with the versions of the delta up to a sequence number |
//! | sequence number | the position of a record in the log; orders all writes |
//! | write set | what a transaction has written and not yet committed |
//! | statement by key | reads or writes entities by keys that it gives; runs without DataFusion |
//! | access path | point, range, partition or table scan: which keys a query can touch |
//! | key set | a set of intervals of keys |
//! | residual filter | what of a filter keys do not decide |
//! | ETag | the version of an entity, derived from its Timestamp |
//! | entity group transaction | operations on one partition, all or none |
pub use rowkey_embedded::*;
