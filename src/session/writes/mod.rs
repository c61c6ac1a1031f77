//! Statements that write entities: INSERT, UPDATE, DELETE, MERGE and COPY.
//!
//! A statement is taken apart ([`Write`]); what it has to read is planned as a SELECT over the snapshot of its transaction, with
//! the transaction's own writes. From the rows come [`Change`]s, each with the version that was read. A statement by itself
//! commits them at once; a transaction block keeps them ([`OwnChanges`]) and commits all of them together.
//!
//! Values are assigned as PostgreSQL assigns them. A property set to NULL is removed. A column beside a property for one of its
//! types, `"Age:Int64"`, stores that type; the column of a property shown in several types stores the type of the value.

mod by_key;
mod changes;
mod draft;
mod execute;
mod found;
mod given;
mod own;
mod prepare;
mod rows;
mod run;
pub mod syntax;
mod target;
mod values;
mod write;

pub use by_key::KeyWrite;
pub use changes::{Before, Budget, Change, entities};
pub use draft::{Draft, properties_bytes};
pub use execute::Explained;
pub use found::returns_timestamp;
pub use given::Values;
pub use own::{Mark, OwnChanges};
pub use run::duplicate_key;
pub use syntax::{MEMORY_ROWS, relation_of};
pub use target::{Takes, Target};
pub use values::text_value;
pub use write::verb;
