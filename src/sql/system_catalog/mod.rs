//! What can be looked up in SQL about the database itself: `pg_catalog`, `information_schema` and
//! schema `rowkey`.
//!
//! [`SystemCatalog`] gives the two standard schemas as DataFusion tables over one snapshot, in the
//! shape of PostgreSQL 15: every relation with every column. Rows are made while they are read; the
//! oids in them ([`oid`]) hold across connections and restarts. What the session knows comes
//! through [`SessionInfo`]; [`CatalogContext`] answers functions that turn oids into names and
//! back.

mod catalog;
mod cell;
mod column_types;
mod contents;
mod function_context;
mod lookup;
mod oid;
mod provider;
mod recorded;
mod rowkey_schema;
mod rows;
mod session_info;
mod wanted;

#[cfg(test)]
mod tests;

pub(crate) use catalog::SystemCatalog;
pub(crate) use function_context::{CatalogContext, SessionControl};
pub(crate) use rowkey_schema::{ROWKEY_SCHEMA, RowkeySchema, Setting};
pub(crate) use session_info::{
    ActivityRow, CopyRow, CursorRow, FunctionKind, FunctionRow, PreparedRow, SessionInfo, SettingRow, StatementRow,
};
