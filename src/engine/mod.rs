//! The lifetime of a data folder in a process: opening it, importing into it, checking it.

mod entity_group;
mod import;
mod import_tables;
mod open;
mod progress;
mod tables;

pub use entity_group::{EntityOperation, IfMatch};
pub use import::{ImportOptions, ImportReport, OnReject, PropertyReport};
pub use import_tables::SkippedAccount;
pub use open::{Engine, Options};
pub use progress::ImportProgress;

#[cfg(test)]
mod tests;
