//! SQL over entity tables: statements, planning, access paths, the system catalog, and the entity
//! service.
//!
//! From the ground up: `access` turns predicates into key sets; [`odata`] reads the Table service's
//! filters, which are turned into key sets as well; `provider` scans what they leave;
//! `system_catalog` answers what is asked about the database; `planner` plans one statement over
//! one snapshot; `writes` and `definitions` say what a statement changes; `by_key` recognises and
//! runs statements by key; `explain` tells what a plan reads; `compiler` prepares statements,
//! `executor` runs them, and a [`session`] keeps what lasts between them (`registry` knows all
//! sessions). Both work on the threads of `compute`, all but statements by key. `entity_service`,
//! right above storage, reads and writes entities by key without SQL, and imports exports. The
//! [`engine`] owns a data folder and gives both to every door.

mod access;
mod answer;
mod by_key;
mod compiler;
mod compute;
mod definitions;
pub mod engine;
mod entity_service;
mod executor;
mod explain;
mod export_files;
pub mod odata;
mod planner;
mod provider;
mod registry;
mod row_budget;
mod scan_queue;
pub mod session;
mod statement_statistics;
mod system_catalog;
mod writes;

pub use access::plan_access;
pub use compute::panicked;
pub use provider::ScanOptions;
