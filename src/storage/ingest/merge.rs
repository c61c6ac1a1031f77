//! The merge of incoming rows with stored ones.

use std::cmp::Ordering;
use std::sync::Arc;

use super::cutter::Cutter;
use super::earlier::Earlier;
use super::existing::Existing;
use super::writer::{RunWriterThread, WriterOptions, Written};
use crate::catalog::{Edit, Table};
use crate::error::Result;
use crate::manifest::{Manifest, RangePartition};
use crate::run::{FileIds, RunFiles};
use rowkey_model::DateTime;
use rowkey_model::rows::{Conflict, Duplicates, EncodedRow, PropertyNames, RowRef, Rows};

/// How an ingest works.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// Encoded bytes of the entities of one file.
    pub file_bytes: usize,
    /// Given to entities that bring no Timestamp.
    pub timestamp: DateTime,
    /// Compares and counts only.
    pub dry_run: bool,
}

/// What became of the incoming entities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IngestReport {
    pub inserted: u64,
    pub replaced: u64,
    /// Equal to the stored entity: nothing was written for them.
    pub unchanged: u64,
    /// The stored entity has a later Timestamp and stays.
    pub older: u64,
    /// Among the incoming ones themselves, where a part of them was merged before.
    pub duplicates: Duplicates,
}

impl std::ops::AddAssign for IngestReport {
    fn add_assign(&mut self, more: Self) {
        self.inserted += more.inserted;
        self.replaced += more.replaced;
        self.unchanged += more.unchanged;
        self.older += more.older;
        self.duplicates += more.duplicates;
    }
}

/// Merges one ascending stream of entities into a table.
pub struct Ingest {
    files: Arc<RunFiles>,
    names: Arc<PropertyNames>,
    /// The table being merged into, as it would be without this ingest.
    manifest: Manifest,
    /// None where nothing is written.
    writer: Option<RunWriterThread>,
    cutter: Cutter,
    timestamp: DateTime,
    existing: Existing,
    /// The range partition being merged.
    current: Option<usize>,
    changed: bool,
    /// Range partitions that are rewritten, ascending.
    rewritten: Vec<usize>,
    report: IngestReport,
    pending: IngestReport,
    /// Recognises what a first part of the incoming entities brought, if there was one.
    earlier: Option<Earlier>,
    conflicts: Vec<Conflict>,
}

impl Ingest {
    /// Begins merging into `table`; `ids` numbers the files written.
    pub fn begin(
        files: &Arc<RunFiles>,
        names: &Arc<PropertyNames>,
        table: &Arc<Table>,
        ids: &FileIds,
        options: &IngestOptions,
    ) -> Self {
        let writer = (!options.dry_run).then(|| {
            RunWriterThread::start(WriterOptions {
                store: Arc::clone(files.store()),
                names: Arc::clone(names),
                table: Arc::clone(table),
                ids: ids.clone(),
                timestamp: options.timestamp,
            })
        });
        Self {
            files: Arc::clone(files),
            names: Arc::clone(names),
            manifest: table.manifest.clone(),
            writer,
            cutter: Cutter::new(options.file_bytes),
            timestamp: options.timestamp,
            existing: Existing::none(),
            current: None,
            changed: false,
            rewritten: Vec::new(),
            report: IngestReport::default(),
            pending: IngestReport::default(),
            earlier: None,
            conflicts: Vec::new(),
        }
    }

    /// A first part of the incoming entities is in the table already, which was like `before`
    /// without them.
    pub fn after_first_part(mut self, before: &Table) -> Self {
        self.earlier = Some(Earlier::new(&self.files, &self.names, before));
        self
    }

    /// Entities since the last call that were dropped for different ones of their keys among the
    /// incoming ones; fewer than were pushed since.
    pub fn take_conflicts(&mut self) -> Vec<Conflict> {
        std::mem::take(&mut self.conflicts)
    }

    /// Takes the next rows, whose keys are greater than all before.
    pub fn push(&mut self, rows: &Rows) -> Result<()> {
        rows.iter().try_for_each(|row| self.push_row(row))
    }

    fn push_row(&mut self, row: RowRef<'_>) -> Result<()> {
        let range = match self.current {
            // Rows mostly stay in the range partition of the one before.
            Some(current)
                if self.manifest.ranges().get(current + 1).is_none_or(|next| !next.start.admits(row.key())) =>
            {
                current
            }
            _ => self.manifest.range_of(row.key()),
        };
        if self.current != Some(range) {
            self.leave_range()?;
            self.enter_range(range)?;
        }
        loop {
            let order = match self.existing.peek() {
                Some(stored) => stored.key_bytes().cmp(row.key_bytes()),
                None => Ordering::Greater,
            };
            match order {
                Ordering::Less => self.keep_stored()?,
                Ordering::Greater => {
                    self.pending.inserted += 1;
                    self.changed = true;
                    return emit(&mut self.cutter, &mut self.writer, self.current, row);
                }
                Ordering::Equal => return self.meet(row),
            }
        }
    }

    /// An incoming row and the stored one of the same key.
    fn meet(&mut self, row: RowRef<'_>) -> Result<()> {
        let Some(stored) = self.existing.peek() else { return Ok(()) };
        if let Some(earlier) = &mut self.earlier
            && !earlier.had(stored)?
        {
            return self.meet_incoming(row);
        }
        let stored_at = stored.timestamp().unwrap_or(DateTime::MIN);
        let at = row.timestamp();
        if row.same_properties(stored) && at.is_none_or(|at| at == stored_at) {
            self.pending.unchanged += 1;
            return self.keep_stored();
        }
        if at.is_some_and(|at| at < stored_at) {
            self.pending.older += 1;
            return self.keep_stored();
        }
        self.pending.replaced += 1;
        self.changed = true;
        if at.is_none() && self.timestamp <= stored_at {
            // A version is always later than the one it replaces, whatever the clock says.
            let mut later = Rows::new();
            let at = DateTime::from_micros(stored_at.micros() + 1, 0);
            later.push(&self.names, row.key(), Some(at), row.properties())?;
            later.iter().try_for_each(|row| emit(&mut self.cutter, &mut self.writer, self.current, row))?;
        } else {
            emit(&mut self.cutter, &mut self.writer, self.current, row)?;
        }
        self.existing.advance()
    }

    /// An incoming row and one of the same key that came before it, which is stored already.
    fn meet_incoming(&mut self, row: RowRef<'_>) -> Result<()> {
        let Some(stored) = self.existing.peek() else { return Ok(()) };
        // It was given this one if it brought none.
        let stored_at = stored.timestamp().filter(|at| *at != self.timestamp);
        let at = row.timestamp();
        let stays = match (at, stored_at) {
            _ if at == stored_at && row.same_properties(stored) => {
                self.pending.duplicates.equal += 1;
                return self.keep_stored();
            }
            (Some(at), Some(stored_at)) if at != stored_at => {
                self.pending.duplicates.superseded += 1;
                at < stored_at
            }
            _ if at < stored_at => {
                self.conflicts.push(Conflict { lost: EncodedRow::from(row), kept_origin: None });
                true
            }
            _ => {
                let mut lost = Rows::new();
                lost.push(&self.names, stored.key(), stored_at, stored.properties())?;
                let lost = lost.first().map(EncodedRow::from);
                self.conflicts.extend(lost.map(|lost| Conflict { lost, kept_origin: row.origin() }));
                false
            }
        };
        if stays {
            return self.keep_stored();
        }
        self.changed = true;
        emit(&mut self.cutter, &mut self.writer, self.current, row)?;
        self.existing.advance()
    }

    fn keep_stored(&mut self) -> Result<()> {
        if let Some(stored) = self.existing.peek() {
            emit(&mut self.cutter, &mut self.writer, self.current, stored)?;
        }
        self.existing.advance()
    }

    fn enter_range(&mut self, range: usize) -> Result<()> {
        self.current = Some(range);
        self.changed = false;
        self.existing = Existing::open(&self.files, &self.manifest.ranges()[range].files, &self.names)?;
        Ok(())
    }

    /// Writes the rest of the current range partition, or forgets it if nothing in it changed.
    fn leave_range(&mut self) -> Result<()> {
        let Some(range) = self.current.take() else { return Ok(()) };
        self.report += std::mem::take(&mut self.pending);
        if self.changed && self.writer.is_some() {
            self.current = Some(range);
            while self.existing.peek().is_some() {
                self.keep_stored()?;
            }
            self.current = None;
            if let Some(writer) = &mut self.writer {
                for cut in self.cutter.finish() {
                    writer.write(range, cut)?;
                }
            }
            self.rewritten.push(range);
        } else {
            self.cutter.clear();
        }
        self.existing = Existing::none();
        Ok(())
    }

    /// Ends the stream; when this returns all files are durable, and nothing names them. The edits,
    /// applied together to the table as it was at the beginning, make them its own.
    pub fn finish(mut self, table: &Table) -> Result<(Vec<Edit>, IngestReport)> {
        self.leave_range()?;
        let Self { writer, rewritten, report, files, .. } = self;
        let Some(writer) = writer else { return Ok((Vec::new(), report)) };
        let Written { mut ranges, columns } = writer.finish()?;
        let mut edits = Vec::new();
        if columns != table.columns {
            edits.push(Edit::SetColumns { table: table.id, columns });
        }
        // From the last to the first, so that places stay what they were.
        for &place in rewritten.iter().rev() {
            let start = table.manifest.ranges()[place].start.clone();
            let mut written = ranges.remove(&place).unwrap_or_default();
            if written.is_empty() {
                written.push(RangePartition { start, files: Vec::new() });
            } else {
                let first = written.remove(0).starting_at(start);
                written.insert(0, first);
            }
            edits.push(Edit::ReplaceRanges { table: table.id, from: place, to: place + 1, ranges: written });
        }
        // A range partition in which nothing changed may have filled a file before that was clear.
        super::writer::remove_files(files.store(), ranges.into_values().flatten());
        Ok((edits, report))
    }
}

fn emit(
    cutter: &mut Cutter,
    writer: &mut Option<RunWriterThread>,
    range: Option<usize>,
    row: RowRef<'_>,
) -> Result<()> {
    let Some(writer) = writer else { return Ok(()) };
    let Some(range) = range else { return Ok(()) };
    for cut in cutter.push(row) {
        writer.write(range, cut)?;
    }
    Ok(())
}
