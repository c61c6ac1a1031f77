//! Entities of a snapshot by key, without a query.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use futures::stream::{BoxStream, Stream, try_unfold};

use super::catalog::Table;
use super::error::{Error, Result};
use super::run::{Columns, EntityColumns, OpenRun, RunFile, RunFiles};
use crate::model::{Entity, KeyRange, KeyRef};

/// Entities decoded at a time.
const BATCH_ROWS: usize = 1024;

/// The entity of a key.
pub async fn get(files: &RunFiles, table: &Table, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
    for run in table.manifest.files_of(key) {
        if let Some(entity) = files.get(run, key).await? {
            return Ok(Some(entity));
        }
    }
    Ok(None)
}

/// The rows of a range of keys, in key order, where that is a matter of `pages_max` pages at most: batches with all columns of a run
/// file each, whose schemas differ from file to file. `None` where there is more to read, or to merge.
pub async fn few_rows(
    files: &RunFiles,
    table: &Table,
    range: &KeyRange,
    mut pages_max: usize,
) -> Result<Option<Vec<RecordBatch>>> {
    let mut found = Vec::new();
    for partition in table.manifest.ranges_in(range) {
        match partition.files.as_slice() {
            [] => {}
            [run] if !meets(run, range) => {}
            [run] => match files.rows_in(run, range, &mut pages_max).await? {
                Some(rows) => found.extend(rows),
                None => return Ok(None),
            },
            // They may overlap.
            _ => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Whether a file may hold keys of a range, by its bounds.
fn meets(run: &RunFile, range: &KeyRange) -> bool {
    range.lower().is_below(run.last.as_ref()) && !range.upper().is_below(run.first.as_ref())
}

/// Batches of entities in key order.
pub type EntityBatches = BoxStream<'static, Result<Vec<Entity>>>;

/// The entities of a range of keys, in key order; a batch at a time is in memory.
pub fn range(files: Arc<RunFiles>, table: &Table, range: KeyRange) -> Result<EntityBatches> {
    let overlapping = table.manifest.ranges().iter().find(|partition| partition.files.len() > 1);
    if let Some(file) = overlapping.and_then(|partition| partition.files.first()) {
        return Err(Error::corrupt(&file.path, "its range partition has several files"));
    }
    let runs: VecDeque<Arc<RunFile>> = table.manifest.files().filter(|run| meets(run, &range)).cloned().collect();
    let state = Reading { files, range, runs, open: None };
    Ok(Box::pin(batches(state)))
}

struct Reading {
    files: Arc<RunFiles>,
    range: KeyRange,
    runs: VecDeque<Arc<RunFile>>,
    open: Option<(Arc<OpenRun>, BoxStream<'static, Result<RecordBatch>>)>,
}

fn batches(state: Reading) -> impl Stream<Item = Result<Vec<Entity>>> + Send {
    try_unfold(state, |mut state| async move {
        loop {
            let Some((open, stream)) = &mut state.open else {
                let Some(run) = state.runs.pop_front() else { return Ok(None) };
                let open = state.files.open(&run).await?;
                let rows = open.rows_in(&state.range);
                let stream = open.read(rows, Columns::All, BATCH_ROWS)?;
                state.open = Some((open, stream));
                continue;
            };
            let Some(batch) = stream.next().await.transpose()? else {
                state.open = None;
                continue;
            };
            // The first and the last page hold keys outside the range.
            let columns = EntityColumns::of(open, &batch)?;
            let wanted = (0..columns.len()).filter(|&i| state.range.contains(columns.key(i)));
            let entities = wanted.map(|i| columns.entity(i)).collect::<Result<Vec<Entity>>>()?;
            if !entities.is_empty() {
                return Ok(Some((entities, state)));
            }
        }
    })
}
