//! A thread that writes run files while the merge goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::cutter::Cut;
use crate::catalog::{COLUMNS_MAX, PropertyColumn, Table};
use crate::error::{Error, Result};
use crate::manifest::{RangePartition, RangeStart};
use crate::run::{FileIds, RunFile, WriteOptions, write_run};
use rowkey_model::DateTime;
use rowkey_model::files::{FileStore, paths};
use rowkey_model::rows::{PropertyNames, Rows};

/// What the writer thread needs to know.
#[derive(Debug)]
pub(crate) struct WriterOptions {
    pub store: Arc<dyn FileStore>,
    pub names: Arc<PropertyNames>,
    pub table: Arc<Table>,
    pub ids: FileIds,
    pub timestamp: DateTime,
}

/// Writes cuts in the order in which they come, one at a time; the next one may wait, further ones
/// block the sender, so that no more than two files' rows are held besides those being cut.
#[derive(Debug)]
pub(crate) struct RunWriterThread {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<Result<Written>>>,
    store: Arc<dyn FileStore>,
}

#[derive(Debug)]
struct Job {
    slot: usize,
    cut: Cut,
}

/// What was written: per slot its range partitions, and the table's columns.
#[derive(Debug)]
pub(crate) struct Written {
    pub ranges: HashMap<usize, Vec<RangePartition>>,
    pub columns: Vec<PropertyColumn>,
}

impl RunWriterThread {
    pub(crate) fn start(options: WriterOptions) -> Self {
        let (jobs, queue) = sync_channel(0);
        let store = Arc::clone(&options.store);
        let thread = std::thread::spawn(move || write_all(options, queue));
        Self { jobs: Some(jobs), thread: Some(thread), store }
    }

    /// Hands over rows for `slot`; an error of the writer comes up here or in
    /// [`RunWriterThread::finish`].
    pub(crate) fn write(&mut self, slot: usize, cut: Cut) -> Result<()> {
        let accepted = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job { slot, cut }).is_ok());
        if accepted {
            return Ok(());
        }
        // The writer only hangs up when it failed.
        self.join().and_then(|_| Err(stopped()))
    }

    /// Waits until everything is written and durable.
    pub(crate) fn finish(mut self) -> Result<Written> {
        self.join()
    }

    fn join(&mut self) -> Result<Written> {
        self.jobs = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) | None => Err(stopped()),
        }
    }
}

impl Drop for RunWriterThread {
    fn drop(&mut self) {
        // No manifest names the files of an ingest that is given up.
        if self.thread.is_some()
            && let Ok(written) = self.join()
        {
            remove_files(&self.store, written.ranges.into_values().flatten());
        }
    }
}

/// Removes files that no manifest names. What cannot be removed now is swept when the data folder
/// is opened.
pub(super) fn remove_files(store: &Arc<dyn FileStore>, ranges: impl IntoIterator<Item = RangePartition>) {
    for file in ranges.into_iter().flat_map(|range| range.files) {
        let _ = store.remove(&file.path);
    }
}

fn stopped() -> Error {
    Error::corrupt("run files", "the thread that writes them stopped")
}

fn write_all(options: WriterOptions, queue: Receiver<Job>) -> Result<Written> {
    let mut columns = ColumnBook::of(&options.table, &options.names);
    let mut ranges: HashMap<usize, Vec<RangePartition>> = HashMap::new();
    let mut failed = None;
    while let Ok(Job { slot, cut }) = queue.recv() {
        columns.admit(&cut.rows);
        let (table, id) = (&options.table, options.ids.next());
        let path = paths::run(&table.account, &table.name, table.id, id);
        let write = WriteOptions { names: &options.names, column_ranks: &columns.ranks, timestamp: options.timestamp };
        match write_run(&options.store, &path, id, cut.rows.iter().flat_map(Rows::iter), write) {
            Ok(run) => {
                columns.note_types(&run);
                ranges.entry(slot).or_default().push(RangePartition { start: cut.start, files: vec![Arc::new(run)] });
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    match failed {
        None => Ok(Written { ranges, columns: columns.columns }),
        Some(error) => {
            drop(queue);
            remove_files(&options.store, ranges.into_values().flatten());
            Err(error)
        }
    }
}

/// Which properties have columns, growing as files are written.
struct ColumnBook {
    columns: Vec<PropertyColumn>,
    /// By property number: place in `columns`.
    ranks: Vec<Option<u32>>,
    names: Arc<PropertyNames>,
}

impl ColumnBook {
    fn of(table: &Table, names: &Arc<PropertyNames>) -> Self {
        let mut book = Self { columns: table.columns.clone(), ranks: Vec::new(), names: Arc::clone(names) };
        for (rank, column) in table.columns.iter().enumerate() {
            let id = names.intern(&column.name);
            book.slot(id.index()).replace(rank as u32);
        }
        book
    }

    /// Gives columns to properties of these rows that have none yet, the most frequent first, while
    /// there is room.
    fn admit(&mut self, rows: &[Rows]) {
        let all_known = self.names.len() <= self.ranks.len() && self.ranks.iter().all(Option::is_some);
        if all_known || self.columns.len() >= COLUMNS_MAX {
            return;
        }
        let mut counts: Vec<u64> = Vec::new();
        for row in rows.iter().flat_map(Rows::iter) {
            for (id, _) in row.properties() {
                if self.ranks.get(id.index()).copied().flatten().is_none() {
                    if counts.len() <= id.index() {
                        counts.resize(id.index() + 1, 0);
                    }
                    counts[id.index()] += 1;
                }
            }
        }
        let mut new: Vec<(usize, u64)> = counts.into_iter().enumerate().filter(|&(_, count)| count > 0).collect();
        let room = COLUMNS_MAX - self.columns.len();
        if new.len() > room {
            new.sort_by_key(|&(id, count)| (std::cmp::Reverse(count), id));
            new.truncate(room);
            new.sort_by_key(|&(id, _)| id);
        }
        let names = self.names.all();
        for (id, _) in new {
            let rank = self.columns.len() as u32;
            self.slot(id).replace(rank);
            self.columns.push(PropertyColumn { name: Arc::clone(&names[id]), types: Vec::new(), declared: None });
        }
    }

    fn note_types(&mut self, run: &RunFile) {
        for summary in &run.columns {
            let rank =
                self.names.find(&summary.column.property).and_then(|id| self.ranks.get(id.index()).copied().flatten());
            if let Some(column) = rank.and_then(|rank| self.columns.get_mut(rank as usize))
                && let Err(at) = column.types.binary_search(&summary.column.edm)
            {
                column.types.insert(at, summary.column.edm);
            }
        }
    }

    fn slot(&mut self, id: usize) -> &mut Option<u32> {
        if self.ranks.len() <= id {
            self.ranks.resize(id + 1, None);
        }
        &mut self.ranks[id]
    }
}

impl RangePartition {
    /// The same files under another start.
    pub(super) fn starting_at(self, start: RangeStart) -> Self {
        Self { start, ..self }
    }
}
