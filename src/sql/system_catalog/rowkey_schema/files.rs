//! `rowkey.files`: one row a run file, in key order.

use super::cells::{Column, Kind, Row};
use super::partitions::key;
use super::scan::TABLE_NAME;
use rowkey_storage::Table;

pub(super) static COLUMNS: [Column; 13] = [
    // In the data folder.
    Column::new("path", Kind::Text),
    Column::new(TABLE_NAME, Kind::Text),
    // Of the range partition, as in rowkey.partitions.
    Column::new("ordinal", Kind::Int8),
    // Rows in the file, and those of them that are live; recent writes are not looked at.
    Column::new("rows", Kind::Int8),
    Column::new("live_rows", Kind::Int8),
    Column::new("bytes", Kind::Int8),
    Column::new("row_groups", Kind::Int8),
    // Property columns: a property of two types has two.
    Column::new("columns", Kind::Int8),
    Column::new("has_other", Kind::Boolean),
    Column::nullable("first_partition_key", Kind::Text),
    Column::nullable("first_row_key", Kind::Text),
    Column::nullable("last_partition_key", Kind::Text),
    Column::nullable("last_row_key", Kind::Text),
];

pub(super) fn rows(table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    for (place, range) in table.manifest.ranges().iter().enumerate() {
        for file in &range.files {
            let mut row: Row = vec![
                file.path.as_str().into(),
                table.name.as_str().into(),
                (place + 1).into(),
                file.rows.into(),
                file.live_rows().into(),
                file.bytes.into(),
                u64::from(file.row_groups).into(),
                file.columns.len().into(),
                file.other.into(),
            ];
            row.extend(key(Some(&file.first)));
            row.extend(key(Some(&file.last)));
            rows.push(row);
        }
    }
    rows
}
