//! What can be looked up in SQL about the database itself: `pg_catalog`, `information_schema` and schema `rowkey`.

mod rowkey_schema;

pub use rowkey_schema::{ROWKEY_SCHEMA, RowkeySchema, Setting};
