//! `rowkey.partitions`: one row a range partition, in key order.

use std::sync::Arc;

use super::Source;
use super::cells::{Cell, Column, Kind, Row};
use super::scan::TABLE_NAME;
use rowkey_model::Key;
use rowkey_storage::{RangeStart, Table};

pub(super) static COLUMNS: [Column; 16] = [
    Column::new(TABLE_NAME, Kind::Text),
    // Counts from 1.
    Column::new("ordinal", Kind::Int8),
    // The first key it may hold. Without a PartitionKey it is unbounded; without a RowKey it begins
    // with the partition.
    Column::nullable("lower_partition_key", Kind::Text),
    Column::nullable("lower_row_key", Kind::Text),
    // The first key behind it, in the same way.
    Column::nullable("upper_partition_key", Kind::Text),
    Column::nullable("upper_row_key", Kind::Text),
    // Rows in its files, and those of them that are live; recent writes are not looked at.
    Column::new("rows", Kind::Int8),
    Column::new("live_rows", Kind::Int8),
    // Different PartitionKeys; NULL where masked rows or overlapping files leave that open.
    Column::nullable("partitions", Kind::Int8),
    Column::new("bytes", Kind::Int8),
    Column::new("files", Kind::Int8),
    // The first and the last key in its files, masked ones included; NULL where it is empty.
    Column::nullable("first_partition_key", Kind::Text),
    Column::nullable("first_row_key", Kind::Text),
    Column::nullable("last_partition_key", Kind::Text),
    Column::nullable("last_row_key", Kind::Text),
    // Whether the first and the last key are of live rows, and there are no recent writes.
    Column::new("exact", Kind::Boolean),
];

pub(super) fn rows(table: &Arc<Table>, source: &Source) -> Vec<Row> {
    let settled = source.delta(table).versions == 0;
    let ranges = table.manifest.ranges();
    let row = |(place, range): (usize, &rowkey_storage::RangePartition)| {
        let files = &range.files;
        let [lower_partition, lower_row] = bound(Some(&range.start));
        let [upper_partition, upper_row] = bound(ranges.get(place + 1).map(|next| &next.start));
        let [first_partition, first_row] = key(files.iter().map(|file| &file.first).min());
        let [last_partition, last_row] = key(files.iter().map(|file| &file.last).max());
        let masked = files.iter().any(|file| file.mask.is_some());
        let partitions = (!masked && files.len() <= 1).then(|| files.iter().map(|file| file.partitions).sum::<u64>());
        vec![
            table.name.as_str().into(),
            (place + 1).into(),
            lower_partition,
            lower_row,
            upper_partition,
            upper_row,
            files.iter().map(|file| file.rows).sum::<u64>().into(),
            range.live_rows().into(),
            partitions.into(),
            files.iter().map(|file| file.bytes).sum::<u64>().into(),
            files.len().into(),
            first_partition,
            first_row,
            last_partition,
            last_row,
            (!masked && settled).into(),
        ]
    };
    ranges.iter().enumerate().map(row).collect()
}

fn bound(start: Option<&RangeStart>) -> [Cell; 2] {
    match start {
        None | Some(RangeStart::Unbounded) => [Cell::Null, Cell::Null],
        Some(RangeStart::Partition(partition)) => [partition.as_str().into(), Cell::Null],
        Some(RangeStart::Key(partition, row)) => [partition.as_str().into(), row.as_str().into()],
    }
}

pub(super) fn key(key: Option<&Key>) -> [Cell; 2] {
    match key {
        Some(key) => [key.partition.as_str().into(), key.row.as_str().into()],
        None => [Cell::Null, Cell::Null],
    }
}
