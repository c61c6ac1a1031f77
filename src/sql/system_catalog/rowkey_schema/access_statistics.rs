//! `rowkey.access_statistics`: one row a normalized statement, what its runs have cost and read.

use super::super::session_info::StatementRow;
use super::cells::{Column, Kind, Row};

pub(super) static COLUMNS: [Column; 14] = [
    // With `$1`, `$2`, ... in place of its constants.
    Column::new("query", Kind::Text),
    Column::new("calls", Kind::Int8),
    Column::new("total_ms", Kind::Float8),
    Column::new("mean_ms", Kind::Float8),
    Column::new("min_ms", Kind::Float8),
    Column::new("max_ms", Kind::Float8),
    // Returned, or written.
    Column::new("rows", Kind::Int8),
    // How often tables were read so.
    Column::new("point_queries", Kind::Int8),
    Column::new("range_queries", Kind::Int8),
    Column::new("partition_scans", Kind::Int8),
    Column::new("table_scans", Kind::Int8),
    Column::new("entities_read", Kind::Int8),
    // Of files, by scans; what reads by key take from the page cache does not count.
    Column::new("bytes_read", Kind::Int8),
    // As in pg_stat_statements.
    Column::new("queryid", Kind::Int8),
];

pub(super) fn rows(statements: Vec<StatementRow>) -> Vec<Row> {
    let row = |statement: StatementRow| {
        vec![
            statement.text.into(),
            statement.calls.into(),
            statement.total_ms.into(),
            statement.mean_ms.into(),
            statement.least_ms.into(),
            statement.most_ms.into(),
            statement.rows.into(),
            statement.point_queries.into(),
            statement.range_queries.into(),
            statement.partition_scans.into(),
            statement.table_scans.into(),
            statement.entities_read.into(),
            statement.bytes_read.into(),
            statement.id.into(),
        ]
    };
    statements.into_iter().map(row).collect()
}
