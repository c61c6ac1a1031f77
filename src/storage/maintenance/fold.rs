//! The fold: what was written recently goes into run files.
//!
//! The active generation is sealed, then all sealed ones are written as one run per range
//! partition, rows of older files that they take the place of are masked, and one record of the log
//! names the new files, the masks and the sequence number up to which writes need not be replayed
//! any more. Writers go on in the next generation all the while; readers see the entities in the
//! delta, or in the run files, never in both.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, available_parallelism};

use futures::executor::block_on;

use super::Maintenance;
use super::commit::remove_unnamed;
use crate::catalog::{Edit, Table};
use crate::delta::{Generation, Layer, Version, visible_of};
use crate::error::{Error, Result};
use crate::manifest::RangePartition;
use crate::run::{KnownKeys, RunFile, WriteOptions, write_run};
use crate::snapshot::Snapshot;
use crate::state::State;
use rowkey_model::DateTime;
use rowkey_model::files::paths;
use rowkey_model::rows::PropertyNames;

/// What a fold has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoldReport {
    /// Entities written to run files.
    pub written: u64,
    /// Rows of older run files that are masked now.
    pub masked: u64,
    pub files: u64,
}

impl FoldReport {
    fn add(&mut self, more: Self) {
        self.written += more.written;
        self.masked += more.masked;
        self.files += more.files;
    }
}

impl Maintenance {
    /// Folds the whole delta of a table. Blocks for its reads, writes and syncs; the caller holds
    /// the table's job.
    pub(crate) fn fold(&self, table: u64) -> Result<FoldReport> {
        let gone = || Error::NoSuchTable(table.to_string());
        if self.state.snapshot().deltas.get(&table).ok_or_else(gone)?.is_empty() {
            return Ok(FoldReport::default());
        }
        // A record of its own: when it is durable, so is everything in the sealed generations.
        let snapshot = self.state.commit_with(|head| {
            let delta = head.deltas.get(&table).ok_or_else(gone)?;
            let sealed = (!delta.active().is_empty()).then(|| (table, Arc::new(delta.sealed())));
            Ok((Vec::new(), sealed))
        })?;
        let count = snapshot.deltas.get(&table).map_or(0, |delta| delta.sealed_generations().len());
        match self.fold_oldest(table, &snapshot, count) {
            // One generation needs less room than all, and gives that of its log back.
            Err(error) if error.is_no_space() && count > 1 => {
                let mut report = FoldReport::default();
                for _ in 0..count {
                    report.add(self.fold_oldest(table, &self.state.snapshot(), 1)?);
                }
                Ok(report)
            }
            folded => folded,
        }
    }

    /// Folds so many of the sealed generations of a table.
    fn fold_oldest(&self, table: u64, snapshot: &Snapshot, count: usize) -> Result<FoldReport> {
        let gone = || Error::NoSuchTable(table.to_string());
        let base = Arc::clone(snapshot.table(table).ok_or_else(gone)?);
        let delta = Arc::clone(snapshot.deltas.get(&table).ok_or_else(gone)?);
        let sealed = delta.sealed_generations();
        let generations = &sealed[..count.min(sealed.len())];
        let fold = Fold { maintenance: self, table: base, written: Mutex::default() };
        let run = fold.run(generations, delta.names());
        let committed = run.and_then(|(edits, report)| fold.commit(generations.len(), edits).map(|()| report));
        if let Err(error) = &committed {
            remove_unnamed(self.state.files(), error, fold.written().iter());
        }
        committed
    }
}

struct Fold<'a> {
    maintenance: &'a Maintenance,
    table: Arc<Table>,
    written: Mutex<Vec<Arc<RunFile>>>,
}

/// The versions of a fold, and what is needed to write them.
struct Content<'a> {
    layer: &'a Layer,
    names: &'a PropertyNames,
    column_ranks: &'a [Option<u32>],
    /// By range partition: the places of its versions.
    places: Vec<Range<usize>>,
}

/// What a fold makes of a range partition.
struct Folded {
    place: usize,
    /// None if it stays as it is.
    range: Option<RangePartition>,
    masked: u64,
}

/// A fold of fewer versions is done before another thread has begun.
const PARALLEL_VERSIONS_MIN: usize = 16 * 1024;
/// Range partitions folded at a time, at most: each has a row group in memory. Half of the
/// processors are left to writers.
const THREADS_MAX: usize = 4;

impl Fold<'_> {
    /// Writes the files; gives the edits that name them.
    fn run(&self, generations: &[Arc<Generation>], names: &PropertyNames) -> Result<(Vec<Edit>, FoldReport)> {
        let layer = Layer::new(visible_of(generations, u64::MAX));
        let column_ranks = self.table.column_ranks(names);
        let places = self.places(layer.versions());
        let content = Content { layer: &layer, names, column_ranks: &column_ranks, places };
        let mut folded = self.fold_ranges(&content)?;
        folded.sort_by_key(|folded| folded.place);
        let mut report = FoldReport::default();
        let mut edits = Vec::new();
        for Folded { place, range, masked } in folded {
            report.masked += masked;
            edits.extend(range.map(|range| Edit::ReplaceRanges {
                table: self.table.id,
                from: place,
                to: place + 1,
                ranges: vec![range],
            }));
        }
        for file in self.written().iter() {
            report.written += file.rows;
            report.files += 1;
        }
        let sequence = generations.iter().map(|generation| generation.last_sequence()).max();
        edits.push(Edit::SetFolded { table: self.table.id, sequence: sequence.unwrap_or(0) });
        Ok((edits, report))
    }

    /// By range partition, the places of its versions. Keys ascend, and so do the range partitions.
    fn places(&self, versions: &[Arc<Version>]) -> Vec<Range<usize>> {
        let ranges = self.table.manifest.ranges();
        let mut begin = 0;
        let of_range = |place: usize| {
            let rest = &versions[begin..];
            let count = ranges
                .get(place + 1)
                .map_or(rest.len(), |next| rest.partition_point(|version| !next.start.admits(version.key())));
            begin += count;
            begin - count..begin
        };
        (0..ranges.len()).map(of_range).collect()
    }

    /// Folds the range partitions, several at a time if there is much to write.
    fn fold_ranges(&self, content: &Content<'_>) -> Result<Vec<Folded>> {
        let busy = content.places.iter().filter(|places| !places.is_empty()).count();
        let threads = match content.layer.versions().len() < PARALLEL_VERSIONS_MIN {
            true => 1,
            false => (available_parallelism().map_or(1, NonZero::get) / 2).min(busy).clamp(1, THREADS_MAX),
        };
        let next = AtomicUsize::new(0);
        let work = || {
            let mut folded = Vec::new();
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                if place >= content.places.len() {
                    return Ok(folded);
                }
                match self.fold_range(content, place) {
                    Ok(range) => folded.push(range),
                    Err(error) => {
                        // The other threads stop.
                        next.store(content.places.len(), Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
        };
        thread::scope(|scope| {
            // Where the system gives no more threads, those there are do it.
            let spawn = |_| thread::Builder::new().name("rowkey-fold".to_owned()).spawn_scoped(scope, work).ok();
            let others: Vec<_> = (1..threads).filter_map(spawn).collect();
            let mut outcomes = vec![work()];
            outcomes.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(panicked()))));
            let mut folded = Vec::with_capacity(content.places.len());
            for outcome in outcomes {
                folded.append(&mut outcome?);
            }
            Ok(folded)
        })
    }

    fn fold_range(&self, content: &Content<'_>, place: usize) -> Result<Folded> {
        if self.maintenance.stalls.is_stopped() {
            return Err(Error::Closing);
        }
        let range = &self.table.manifest.ranges()[place];
        let mut masked = 0;
        let mut files = Vec::with_capacity(range.files.len() + 1);
        for file in &range.files {
            files.extend(self.masked(content.layer, file, &mut masked)?);
        }
        let places = content.places[place].clone();
        if content.layer.versions()[places.clone()].iter().any(|version| !version.is_deleted()) {
            files.push(self.write(content, places)?);
        }
        let same = |(a, b): (&Arc<RunFile>, &Arc<RunFile>)| Arc::ptr_eq(a, b);
        let changed = files.len() != range.files.len() || !files.iter().zip(&range.files).all(same);
        let range = changed.then(|| RangePartition { start: range.start.clone(), files });
        Ok(Folded { place, range, masked })
    }

    /// A file with the rows masked that the layer takes the place of; none if no row is left.
    fn masked(&self, layer: &Layer, file: &Arc<RunFile>, masked: &mut u64) -> Result<Option<Arc<RunFile>>> {
        // Local files answer at once.
        let replaced = block_on(layer.replaced(self.state().files(), file))?;
        let mask = match &file.mask {
            _ if replaced.is_empty() => return Ok(Some(Arc::clone(file))),
            Some(mask) => Arc::new(mask.as_ref() | replaced.as_ref()),
            None => replaced,
        };
        let newly_masked = mask.len() - file.masked_rows();
        if newly_masked == 0 {
            return Ok(Some(Arc::clone(file)));
        }
        *masked += newly_masked;
        if mask.len() == file.rows {
            return Ok(None);
        }
        Ok(Some(Arc::new(RunFile { mask: Some(mask), ..RunFile::clone(file) })))
    }

    fn write(&self, content: &Content<'_>, places: Range<usize>) -> Result<Arc<RunFile>> {
        let id = self.state().file_ids().next();
        let path = paths::run(&self.table.account, &self.table.name, self.table.id, id);
        let options =
            WriteOptions { names: content.names, column_ranks: content.column_ranks, timestamp: DateTime::MIN };
        let versions = &content.layer.versions()[places.clone()];
        let rows = versions.iter().filter_map(|version| version.row());
        let file = write_run(self.state().files().store(), &path, id, rows, options)?;
        let hashes = content.layer.hashes()[places].iter().copied();
        let live = versions.iter().filter(|version| !version.is_deleted());
        let keys = KnownKeys::of(hashes, live.map(|version| version.key()));
        let file = Arc::new(RunFile { keys, ..file });
        self.written().push(Arc::clone(&file));
        Ok(file)
    }

    fn state(&self) -> &State {
        &self.maintenance.state
    }

    fn written(&self) -> MutexGuard<'_, Vec<Arc<RunFile>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `count` generations are in files now.
    fn commit(&self, count: usize, edits: Vec<Edit>) -> Result<()> {
        let id = self.table.id;
        self.state().manifest_holds().wait(id);
        self.state().commit_with(|head| {
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

fn panicked() -> Error {
    Error::corrupt("run files", "a thread that writes them stopped")
}
