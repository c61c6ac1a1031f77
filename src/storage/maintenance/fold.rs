//! The fold: what was written recently goes into run files.
//!
//! The active generation is sealed, then all sealed ones are written as one run per range partition, rows of older files that they take
//! the place of are masked, and one record of the log names the new files, the masks and the sequence number up to which writes
//! need not be replayed any more. Writers go on in the next generation all the while; readers see the entities in the delta, or in the
//! run files, never in both.

use std::ops::Range;
use std::sync::Arc;

use futures::executor::block_on;

use crate::files::paths;
use crate::model::DateTime;
use crate::rows::PropertyNames;
use crate::storage::catalog::{Edit, Table};
use crate::storage::delta::{Layer, TableDelta, Version, visible_of};
use crate::storage::error::{Error, Result};
use crate::storage::manifest::RangePartition;
use crate::storage::run::{KnownKeys, RunFile, WriteOptions, column_ranks, write_run};
use crate::storage::store::Store;

/// What a fold has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoldReport {
    /// Entities written to run files.
    pub written: u64,
    /// Rows of older run files that are masked now.
    pub masked: u64,
    pub files: u64,
}

impl Store {
    /// Folds the whole delta of a table. Blocks for its reads, writes and syncs; the caller holds the table's job.
    pub fn fold(&self, table: u64) -> Result<FoldReport> {
        let gone = || Error::NoSuchTable(table.to_string());
        if self.snapshot().deltas.get(&table).ok_or_else(gone)?.is_empty() {
            return Ok(FoldReport::default());
        }
        // A record of its own: when it is durable, so is everything in the sealed generations.
        let snapshot = self.commit_with(|head| {
            let delta = head.deltas.get(&table).ok_or_else(gone)?;
            let sealed = (!delta.active().is_empty()).then(|| (table, Arc::new(delta.sealed())));
            Ok((Vec::new(), sealed))
        })?;
        let base = Arc::clone(snapshot.table(table).ok_or_else(gone)?);
        let delta = Arc::clone(snapshot.deltas.get(&table).ok_or_else(gone)?);
        let mut fold = Fold { store: self, table: base, report: FoldReport::default(), written: Vec::new() };
        let committed = fold.run(&delta).and_then(|edits| fold.commit(&delta, edits));
        if let Err(error) = &committed {
            self.remove_unnamed(error, fold.written.iter());
        }
        committed.map(|()| fold.report)
    }
}

struct Fold<'a> {
    store: &'a Store,
    table: Arc<Table>,
    report: FoldReport,
    written: Vec<Arc<RunFile>>,
}

impl Fold<'_> {
    /// Writes the files; gives the edits that name them.
    fn run(&mut self, delta: &TableDelta) -> Result<Vec<Edit>> {
        let layer = Layer::new(visible_of(delta.sealed_generations(), u64::MAX));
        let table = Arc::clone(&self.table);
        let ranks = column_ranks(&table, delta.names());
        let mut rest = 0;
        let mut edits = Vec::new();
        let ranges = table.manifest.ranges();
        for (place, range) in ranges.iter().enumerate() {
            if self.store.maintenance.is_stopped() {
                return Err(Error::Closing);
            }
            let mut files = Vec::with_capacity(range.files.len() + 1);
            for file in &range.files {
                files.extend(self.masked(&layer, file)?);
            }
            // Keys ascend, and so do the range partitions.
            let next = ranges.get(place + 1);
            let is_before = |next: &RangePartition, version: &Version| !next.start.admits(version.key());
            let end = next.map_or(layer.versions().len(), |next| {
                rest + layer.versions()[rest..].partition_point(|version| is_before(next, version))
            });
            let places = rest..end;
            rest = end;
            if layer.versions()[places.clone()].iter().any(|version| !version.is_deleted()) {
                files.push(self.write(&layer, places, delta.names(), &ranks)?);
            }
            if files != range.files {
                let range = RangePartition { start: range.start.clone(), files };
                edits.push(Edit::ReplaceRanges { table: table.id, from: place, to: place + 1, ranges: vec![range] });
            }
        }
        let sequence = delta.sealed_generations().iter().map(|generation| generation.last_sequence()).max();
        edits.push(Edit::SetFolded { table: table.id, sequence: sequence.unwrap_or(0) });
        Ok(edits)
    }

    /// A file with the rows masked that the layer takes the place of; none if no row is left.
    fn masked(&mut self, layer: &Layer, file: &Arc<RunFile>) -> Result<Option<Arc<RunFile>>> {
        // Local files answer at once.
        let replaced = block_on(layer.replaced(self.store.files(), file))?;
        let mask = match &file.mask {
            _ if replaced.is_empty() => return Ok(Some(Arc::clone(file))),
            Some(mask) => Arc::new(mask.as_ref() | replaced.as_ref()),
            None => replaced,
        };
        self.report.masked += mask.len() - file.masked_rows();
        if mask.len() == file.rows {
            return Ok(None);
        }
        Ok(Some(Arc::new(RunFile { mask: Some(mask), ..RunFile::clone(file) })))
    }

    fn write(
        &mut self,
        layer: &Layer,
        places: Range<usize>,
        names: &PropertyNames,
        ranks: &[Option<u32>],
    ) -> Result<Arc<RunFile>> {
        let id = self.store.file_ids().next();
        let path = paths::run(&self.table.account, &self.table.name, self.table.id, id);
        let options = WriteOptions { names, column_ranks: ranks, timestamp: DateTime::MIN };
        let versions = &layer.versions()[places.clone()];
        let rows = versions.iter().filter_map(|version| version.row());
        let file = write_run(self.store.files().store(), &path, id, rows, options)?;
        let keys = KnownKeys::of(layer.hashes()[places].iter().copied());
        let file = Arc::new(RunFile { keys, ..file });
        self.report.written += file.rows;
        self.report.files += 1;
        self.written.push(Arc::clone(&file));
        Ok(file)
    }

    fn commit(&self, delta: &TableDelta, edits: Vec<Edit>) -> Result<()> {
        let (id, count) = (self.table.id, delta.sealed_generations().len());
        self.store.commit_with(|head| {
            let newest = head.catalog.table_by_id(id).ok_or_else(|| Error::NoSuchTable(self.table.name.clone()))?;
            let delta = head.deltas.get(&id).ok_or_else(|| Error::NoSuchTable(self.table.name.clone()))?;
            // Jobs on a table come one after another; a TRUNCATE needs none.
            if !newest.manifest.is_same(&self.table.manifest) {
                return Err(Error::Conflict(format!("table {} was emptied during a fold", self.table.name)));
            }
            Ok((edits, Some((id, Arc::new(delta.folded(count))))))
        })?;
        Ok(())
    }
}
