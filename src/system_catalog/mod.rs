//! What can be looked up in SQL about the database itself: `pg_catalog`, `information_schema` and schema `rowkey`.

/// Oid of a table: stable, since the table's number is.
pub fn table_oid(table: u64) -> u32 {
    16_384 + (table as u32) * 8
}
