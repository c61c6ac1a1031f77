//! The tables that the statements of a folder are about: `data/<Table>.ndjson`.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use rowkey::formats::Source;
use rowkey::model::KeyRange;
use rowkey::{Database, ImportOptions, OnReject};
use rowkey_base::clock::SystemClock;
use rowkey_model::files::LocalStore;
use rowkey_storage::{Store, StoreOptions};

/// Encoded bytes of a file; a partition of a quarter of it has files of its own. Plans of small
/// tables have something to leave out then.
const FILE_BYTES: usize = 2_000;

/// One entity in so many is written after the import.
const WRITTEN_EVERY: usize = 3;

/// An entity a line, service JSON.
pub(crate) struct Export {
    table: String,
    lines: Vec<String>,
}

/// The exports of a folder, if there is one.
pub(crate) fn exports(folder: &Path) -> Result<Vec<Export>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let named = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut exports = Vec::new();
    for entry in fs::read_dir(folder).map_err(named)? {
        let file = entry.map_err(named)?.path();
        let table = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let lines = fs::read_to_string(&file).map_err(named)?.lines().map(str::to_owned).collect();
        exports.push(Export { table, lines });
    }
    exports.sort_by(|one, other| one.table.cmp(&other.table));
    Ok(exports)
}

/// Imports all of it.
pub(crate) async fn import(database: &Database, exports: &[Export]) -> Result<(), String> {
    for export in exports {
        import_lines(database, &export.table, export.lines.clone()).await?;
    }
    Ok(())
}

/// Imports two thirds of the entities and writes the last one. Half of those written replace an
/// entity of the same key in the files, which has no properties, so that one who sees it is told.
/// The answer is how many were written.
pub(crate) async fn import_and_write(database: &Database, exports: &[Export]) -> Result<usize, String> {
    // Where the entities are as an import reads them.
    let read = Database::open(":memory:").await.map_err(described)?;
    let mut written = 0;
    for Export { table, lines } in exports {
        let (mut imported, mut recent) = (Vec::new(), Vec::new());
        for (place, line) in lines.iter().enumerate() {
            if place % WRITTEN_EVERY != WRITTEN_EVERY - 1 {
                imported.push(line.clone());
                continue;
            }
            recent.push(line.clone());
            if recent.len() % 2 == 1 {
                imported.push(keys_alone(line)?);
            }
        }
        import_lines(database, table, imported).await?;
        if recent.is_empty() {
            continue;
        }
        import_lines(&read, table, recent).await?;
        let entities: Vec<_> =
            read.table(table).map_err(described)?.range(KeyRange::all()).try_collect().await.map_err(described)?;
        let table = database.table(table).map_err(described)?;
        for entity in &entities {
            table.insert_or_replace(entity).await.map_err(described)?;
        }
        written += entities.len();
    }
    Ok(written)
}

/// Folds what was written and writes all tables anew, in files of the size that imports make here.
pub(crate) async fn compact(location: &Path) -> Result<(), String> {
    let files = LocalStore::open(location).map_err(described)?;
    let store = Store::open(Arc::new(files), Arc::new(SystemClock::new()), StoreOptions::default());
    let store = store.await.map_err(described)?;
    let compact = move || {
        let tables: Vec<u64> = store.snapshot().catalog.tables().map(|table| table.id).collect();
        tables.into_iter().try_for_each(|table| store.vacuum(table, true, FILE_BYTES).map(drop).map_err(described))
    };
    tokio::task::spawn_blocking(compact).await.map_err(described)?
}

/// The entity of a line without its properties.
fn keys_alone(line: &str) -> Result<String, String> {
    let entity: serde_json::Value = serde_json::from_str(line).map_err(described)?;
    let keys = ["PartitionKey", "RowKey"].map(|name| (name.to_owned(), entity[name].clone()));
    Ok(serde_json::Value::Object(keys.into_iter().collect()).to_string())
}

async fn import_lines(database: &Database, table: &str, lines: Vec<String>) -> Result<(), String> {
    let expected = lines.len() as u64;
    let source = Source::stream(table, Box::new(Cursor::new(lines.join("\n"))));
    let options = ImportOptions { on_reject: OnReject::Stop, file_bytes: Some(FILE_BYTES), ..ImportOptions::default() };
    let report = database.import(table, vec![source], &options).await.map_err(described)?;
    if expected == 0 || report.entities != expected || report.stored != expected {
        return Err(format!("{table}: {expected} lines, {} read, {} stored", report.entities, report.stored));
    }
    Ok(())
}

fn described(error: impl std::fmt::Display) -> String {
    error.to_string()
}
