//! SQL over entity tables: statements, planning, access paths, the system catalog, and the entity
//! service.

mod access;
pub mod engine;
mod provider;
pub mod session;
mod system_catalog;

pub use access::plan_access;
pub use provider::ScanOptions;
