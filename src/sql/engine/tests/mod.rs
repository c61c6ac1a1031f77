//! The engine as a whole, on memory and on failing files.

mod access_statistics;
mod accounts;
mod beside_writers;
mod check;
mod columns;
mod copy_memory;
mod copying;
mod crash;
mod defining_transactions;
mod definitions;
mod entities_from_json;
mod entity_copies;
mod exact_columns;
mod explained_reads;
mod import;
mod import_tables;
mod key_queries;
mod key_reads;
mod key_writes;
mod limits_by_key;
mod maintenance;
mod new_properties;
mod odata;
mod pages;
mod parameters;
mod plan_cache;
mod read_only;
mod row_locks;
mod scans;
mod settings;
mod spilling;
mod statement_text;
mod transactions;
mod writes;

use std::io::Cursor;
use std::sync::Arc;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use futures::executor::block_on;

use super::{Engine, ImportOptions, ImportReport, Options};
use crate::session::{Result, Session, SqlState};
use rowkey_base::clock::ManualClock;
use rowkey_base::testing::Dice;
use rowkey_formats::Source;
use rowkey_model::files::FileStore;
use rowkey_model::{DateTime, Entity, KeyRange, TableName, Value};

/// 2024-05-01T08:00:00Z.
const NOW_TICKS: i64 = 17_145_504_000_000_000;

fn open(files: Arc<dyn FileStore>) -> Result<Engine> {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    let options = Options { target_partitions: Some(2), ..Options::default() };
    block_on(Engine::open_files(files, clock, options, false))
}

fn import(engine: &Engine, table: &str, text: &str, file_bytes: usize) -> Result<ImportReport> {
    let source = Source::stream("test", Box::new(Cursor::new(text.to_owned().into_bytes())));
    engine.entities().import_blocking(
        table,
        vec![source],
        &ImportOptions { file_bytes: Some(file_bytes), ..ImportOptions::default() },
    )
}

/// All entities of a table, in key order; none if there is no such table.
fn entities(engine: &Engine, table: &str) -> Option<Vec<Entity>> {
    let snapshot = engine.store().snapshot();
    let table = snapshot.catalog.table(engine.account(), &TableName::parse(table).expect("a table name"))?;
    let batches = snapshot.table_snapshot(table).range(Arc::clone(engine.store().files()), KeyRange::all());
    let batches: Vec<Vec<Entity>> = block_on(batches.try_collect()).expect("entities");
    Some(batches.into_iter().flatten().collect())
}

/// What a future gives that needs the threads of a runtime.
fn within_runtime<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn session(engine: &Engine) -> Session {
    engine.own_session().expect("a session")
}

/// Runs a statement that has to succeed.
fn run(session: &mut Session, sql: &str) {
    if let Err(error) = rows(session, sql) {
        panic!("{sql}: {error} {:?}", error.detail());
    }
}

/// Its rows.
fn ask(session: &mut Session, sql: &str) -> Vec<String> {
    rows(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The kind of error that a statement gives, as a connection handles it.
fn fails(session: &mut Session, sql: &str) -> SqlState {
    let error = rows(session, sql).expect_err(sql);
    session.failed();
    error.sqlstate()
}

/// The rows of a query as text, one string a row.
fn rows(session: &mut Session, sql: &str) -> Result<Vec<String>> {
    rows_with(session, sql, &[])
}

/// The same with values for `$1`, `$2` and so on.
fn rows_with(session: &mut Session, sql: &str, parameters: &[Value]) -> Result<Vec<String>> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let batches = session.sql(sql, parameters).await?.collect().await?;
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            let columns: Vec<ArrayFormatter<'_>> = batch
                .columns()
                .iter()
                .map(|column| ArrayFormatter::try_new(column, &options).expect("a column"))
                .collect();
            for row in 0..batch.num_rows() {
                let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
                rows.push(values.join("|"));
            }
        }
        Ok(rows)
    })
}
