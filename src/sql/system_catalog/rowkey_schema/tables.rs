//! `rowkey.tables`: one row a table.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};

use super::Source;
use super::cells::{Cell, Column, Kind, Row};
use super::scan::TABLE_NAME;
use rowkey_storage::{CommentObject, Table};

const TICKS_PER_MICRO: i64 = 10;

pub(super) static COLUMNS: [Column; 17] = [
    Column::new(TABLE_NAME, Kind::Text),
    // Live ones, exactly.
    Column::new("entities", Kind::Int8),
    // Different PartitionKeys; NULL where masked rows, overlapping files or recent writes leave
    // that open.
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
    // Recent writes that are not in files yet, older ones of the same key included, and their
    // memory.
    Column::new("delta_versions", Kind::Int8),
    Column::new("delta_bytes", Kind::Int8),
    // Stretches that they lie in; the last of them takes writes.
    Column::new("generations", Kind::Int8),
    // Files of the range partition that has most.
    Column::new("files_max", Kind::Int8),
];

pub(super) async fn row(table: &Arc<Table>, source: &Source) -> Result<Row> {
    let manifest = &table.manifest;
    let masked: u64 = manifest.files().map(|file| file.masked_rows()).sum();
    let files_max = manifest.ranges().iter().map(|range| range.files.len()).max().unwrap_or(0);
    let delta = source.delta(table);
    let entities = source.snapshot.table_snapshot(table).live_rows(&source.files).await;
    let entities = entities.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let comment = source.snapshot.catalog.comment(&source.account, &CommentObject::Table(table.id));
    Ok(vec![
        table.name.as_str().into(),
        entities.into(),
        manifest.partitions().filter(|_| delta.versions == 0).into(),
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
        delta.versions.into(),
        delta.bytes.into(),
        delta.generations.into(),
        files_max.into(),
    ])
}
