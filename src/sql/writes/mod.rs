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
mod found;
mod given;
mod own;
mod prepare;
mod rows;
mod run;
pub(crate) mod syntax;
mod target;
mod values;
mod write;

pub(crate) use by_key::{KeyChanges, KeyWrite};
pub(crate) use changes::Before;
pub(crate) use changes::Budget;
pub(crate) use changes::Change;
pub(crate) use changes::{changed_meanwhile, entities, refuse_if_deleted};
pub(crate) use draft::Draft;
pub(crate) use draft::properties_bytes;
pub(crate) use found::{Returned, returning_query, returns_timestamp};
pub(crate) use given::Values;
pub(crate) use own::Mark;
pub(crate) use own::OwnChanges;
pub(crate) use run::{Done, Running, duplicate_key};
pub(crate) use syntax::relation_of;
pub(crate) use target::Takes;
pub(crate) use target::Target;
pub(crate) use values::text_value;
pub(crate) use write::{Action, Source, Write};
