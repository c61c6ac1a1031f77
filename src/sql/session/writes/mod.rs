//! Statements that write entities: INSERT, UPDATE, DELETE, MERGE and COPY.
//!
//! A statement is taken apart ([`Write`]); what it has to read is planned as a SELECT over the
//! snapshot of its transaction, with the transaction's own writes. From the rows come [`Change`]s,
//! each with the version that was read. A statement by itself commits them at once; a transaction
//! block keeps them ([`OwnChanges`]) and commits all of them together.
//!
//! Values are assigned as PostgreSQL assigns them. A property set to NULL is removed. A column
//! beside a property for one of its types, `"Age:Int64"`, stores that type; the column of a
//! property shown in several types stores the type of the value.

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
pub(super) mod syntax;
mod target;
mod values;
mod write;

pub(super) use by_key::KeyWrite;
pub(super) use changes::Before;
pub(super) use changes::Budget;
pub(super) use changes::Change;
pub(super) use changes::entities;
pub(super) use draft::Draft;
pub(super) use draft::properties_bytes;
pub(super) use execute::Explained;
pub(super) use found::returns_timestamp;
pub(super) use given::Values;
pub(super) use own::Mark;
pub(super) use own::OwnChanges;
pub(super) use run::duplicate_key;
pub(super) use syntax::relation_of;
pub(super) use target::Takes;
pub(super) use target::Target;
pub(super) use values::text_value;
