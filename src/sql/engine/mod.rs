//! The lifetime of a data folder in a process: opening it, importing into it, keeping it in shape.

mod beyond_columns;
mod check;
mod entities;
mod entity_group;
mod import;
mod import_tables;
mod key_conflicts;
mod maintenance;
mod named_types;
mod open;
mod progress;
mod statements;
mod tables;
mod vacuum;

pub use entities::EntityStream;
pub use entity_group::{EntityOperation, IfMatch};
pub use import::{ImportOptions, ImportReport, OnReject, PropertyReport};
pub use import_tables::SkippedAccount;
pub use open::{Engine, Options};
pub use progress::ImportProgress;

#[cfg(test)]
mod tests;
