//! `rowkey.tables`: one row a table.

use super::Source;
use super::cells::{Cell, Column, Kind, Row};
use super::scan::TABLE_NAME;
use crate::storage::{CommentObject, Table};

const TICKS_PER_MICRO: i64 = 10;

pub(super) static COLUMNS: [Column; 13] = [
    Column::new(TABLE_NAME, Kind::Text),
    // Live ones, exactly.
    Column::new("entities", Kind::Int8),
    // Different PartitionKeys; NULL where masked rows or overlapping files leave that open.
    Column::nullable("partitions", Kind::Int8),
    Column::new("range_partitions", Kind::Int8),
    Column::new("files", Kind::Int8),
    Column::new("bytes", Kind::Int8),
    // Rows in files that are no longer live.
    Column::new("masked_rows", Kind::Int8),
    // Properties with a column of their own.
    Column::new("columns", Kind::Int8),
    // Whether some entity has properties without.
    Column::new("has_other", Kind::Boolean),
    Column::new("schema_version", Kind::Int8),
    Column::new("created", Kind::Time),
    // The number that the table's oid is made of.
    Column::new("id", Kind::Int8),
    Column::nullable("comment", Kind::Text),
];

pub(super) fn row(table: &Table, source: &Source) -> Row {
    let manifest = &table.manifest;
    let masked: u64 = manifest.files().map(|file| file.masked_rows()).sum();
    let overlap = manifest.ranges().iter().any(|range| range.files.len() > 1);
    let comment = source.snapshot.catalog.comment(&source.account, &CommentObject::Table(table.id));
    vec![
        table.name.as_str().into(),
        manifest.live_rows().into(),
        (masked == 0 && !overlap).then(|| manifest.partitions()).into(),
        manifest.ranges().len().into(),
        manifest.files().count().into(),
        manifest.files().map(|file| file.bytes).sum::<u64>().into(),
        masked.into(),
        table.columns.len().into(),
        table.has_other().into(),
        table.schema_version.into(),
        Cell::Time(table.created_ticks.div_euclid(TICKS_PER_MICRO)),
        table.id.into(),
        comment.into(),
    ]
}
