//! Statements that write entities: INSERT, UPDATE, DELETE, MERGE and COPY.
//!
//! A statement is taken apart ([`Write`]); what it has to read is planned as a SELECT over the
//! snapshot of its transaction, the transaction's own writes included. From the rows come
//! operations ([`WriteResult`]), each for the version of the entity that was read. A statement by
//! itself commits them at once; a transaction block keeps them in its [`WriteSet`] and commits all
//! of them together.
//!
//! Values are assigned as PostgreSQL assigns them. A property set to NULL is removed. A column
//! beside a property for one of its types, `"Age:Int64"`, stores that type; the column of a
//! property shown in several types stores the type of the value.

mod assigned_values;
mod constants;
mod current_versions;
mod exact_copies;
mod exact_values;
mod memory_budget;
mod on_conflict;
mod operations;
mod prepare;
mod ran_queries;
mod returning;
mod row_builder;
mod row_locks;
mod rows;
mod run;
pub(crate) mod syntax;
mod target;
mod values;
mod write;
mod write_set;

pub(crate) use constants::{ConstantExpr, ParameterValues, constant_assignments, increment};
pub(crate) use current_versions::{changed_meanwhile, current_versions, key_of, refuse_if_deleted};
pub(crate) use memory_budget::{MemoryBudget, WriteMemory};
pub(crate) use operations::{WriteResult, delete, insert, put};
pub(crate) use ran_queries::RanQueries;
pub(crate) use returning::{Returned, refuse_etag_in_block, returning_query, returns_timestamp};
pub(crate) use row_builder::{TargetRowBuilder, properties_bytes};
pub(crate) use run::{WriteRunner, duplicate_key};
pub(crate) use syntax::relation_of;
pub(crate) use target::{Takes, Target, TargetColumn};
pub(crate) use values::{binary_value, cast_parameter, is_default, is_untyped, text_value};
pub(crate) use write::{Action, Conflict, Source, Write, too_few};
pub(crate) use write_set::{SharedWriteSet, UndoneWrites, WriteSetMark};
