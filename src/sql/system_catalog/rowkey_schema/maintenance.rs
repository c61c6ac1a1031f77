//! `rowkey.maintenance`: one row a table, what is done to its files in the background.

use super::Source;
use super::cells::{Cell, Column, Kind, Row};
use super::scan::TABLE_NAME;
use rowkey_model::DateTime;
use rowkey_storage::Table;

pub(super) static COLUMNS: [Column; 9] = [
    Column::new(TABLE_NAME, Kind::Text),
    // Under way: fold, compaction, vacuum or import; NULL if nothing is.
    Column::nullable("work", Kind::Text),
    Column::nullable("work_began", Kind::Time),
    // Of the background, since the data folder was opened.
    Column::new("folds", Kind::Int8),
    Column::nullable("last_fold", Kind::Time),
    // Steps of compactions; each is a commit of its own.
    Column::new("compactions", Kind::Int8),
    Column::nullable("last_compaction", Kind::Time),
    // Why the last attempt failed; NULL once one went well.
    Column::nullable("last_failure", Kind::Text),
    Column::nullable("last_failure_at", Kind::Time),
];

pub(super) fn row(table: &Table, source: &Source) -> Row {
    let status = source.maintenance.tables.get(&table.id).cloned().unwrap_or_default();
    let time = |at: Option<DateTime>| at.map_or(Cell::Null, |at| Cell::Time(at.micros()));
    vec![
        table.name.as_str().into(),
        status.work.map(|(work, _)| work.name()).into(),
        time(status.work.map(|(_, began)| began)),
        status.folds.into(),
        time(status.last_fold),
        status.compactions.into(),
        time(status.last_compaction),
        status.failure.as_ref().map(|(cause, _)| &**cause).into(),
        time(status.failure.as_ref().map(|(_, at)| *at)),
    ]
}
