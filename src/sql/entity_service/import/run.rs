//! One import, up to the edits that are to be committed.

use std::cell::RefCell;
use std::sync::Arc;

use futures::executor::block_on;

use super::beyond_columns::PropertiesMet;
use super::key_conflicts::KeyConflicts;
use super::named_types::NamedTypes;
use super::options::{ImportOptions, OnReject};
use super::report::{ImportReport, PropertyReport};
use crate::entity_service::EntityService;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{self, DecodeOptions, Format, REJECTS_LISTED_MAX, RejectsFile, Source, TypeSamples, WarningKind};
use rowkey_model::files::FileStore;
use rowkey_model::rows::{Conflict, Deduplicator, PropertyNames, Rows, Sorted, Sorter, SorterOptions};
use rowkey_model::{DateTime, EdmType, TableName};
use rowkey_storage::ingest::{Ingest, IngestOptions, IngestReport};
use rowkey_storage::{Edit, Snapshot, Table};

/// Input in key order is written at once when this much of it was seen.
const STREAM_AFTER_BYTES: usize = 16 << 20;

/// One import under way.
pub(super) struct Import<'a> {
    pub(super) service: &'a EntityService,
    pub(super) table: &'a TableName,
    pub(super) names: Arc<PropertyNames>,
    pub(super) options: &'a ImportOptions,
    /// Of a dry run: how many entities have each property, by number and type.
    pub(super) counts: Option<RefCell<Vec<[u64; EdmType::ALL.len()]>>>,
    pub(super) met: RefCell<PropertiesMet>,
    /// What values of properties without a named type look like.
    pub(super) samples: RefCell<TypeSamples>,
    pub(super) conflicts: RefCell<KeyConflicts<'a>>,
    pub(super) spill: (Arc<dyn FileStore>, String),
}

/// What is to be committed.
pub(super) struct Merged {
    pub(super) edits: Vec<Edit>,
    pub(super) report: IngestReport,
}

impl Import<'_> {
    /// Everything up to the commit: run files are written and durable, and nothing names them.
    pub(super) fn merge(
        &self,
        sources: Vec<Source>,
        table: &Arc<Table>,
        report: &mut ImportReport,
        types: &mut NamedTypes,
        is_last: bool,
    ) -> Result<Merged> {
        let progress = &self.options.progress;
        progress.enter("reading");
        let store = &self.service.store;
        let options = IngestOptions {
            file_bytes: self.options.file_bytes.unwrap_or_else(|| store.file_bytes()),
            // Whole microseconds, as the service's own timestamps are.
            timestamp: whole_micros(store.clock().now()),
            dry_run: self.options.dry_run,
        };
        // The files of this job, and no others of the table, have numbers from here on.
        let first_id = store.file_ids().lower_bound();
        let mut ingest = Ingest::begin(store.files(), &self.names, table, store.file_ids(), &options);
        let sorting = SorterOptions {
            memory_bytes_max: self.options.memory_bytes,
            // Handing on early may merge in two steps, the second into what the first wrote; a dry
            // run writes nothing.
            stream_after_bytes: (!self.options.dry_run).then_some(STREAM_AFTER_BYTES.min(self.options.memory_bytes)),
        };
        let (spill_store, spill_folder) = &self.spill;
        let mut sorter = Sorter::new(Arc::clone(spill_store), &**spill_folder, sorting);
        let mut distinct = Deduplicator::new();
        for source in sources {
            self.decode(source, report, types, &mut |rows, report| {
                for batch in sorter.push(rows).map_err(rowkey_storage::Error::from)? {
                    self.ingest(distinct.push(batch), &mut ingest, report)?;
                }
                self.note_conflicts(distinct.take_conflicts(), report)
            })?;
        }
        types.look_for_likes(&self.names);
        if is_last {
            // First, as the most likely mistake of whoever imports.
            report.warnings.splice(0..0, types.warnings());
        }
        if self.options.strict {
            self.expect_no_rejects(report)?;
        }
        if self.options.strict
            && let Some(warning) = report.warnings.iter().find(|warning| warning.kind != WarningKind::Lenient)
        {
            let error = Error::new(SqlState::INVALID_STATEMENT, warning.to_string());
            return Err(error.with_hint("this is only a warning unless the import is strict"));
        }
        progress.enter("merging");
        let mut sorted = sorter.finish().map_err(rowkey_storage::Error::from)?;
        let (mut edits, mut merged) = (Vec::new(), IngestReport::default());
        let mut target = Arc::clone(table);
        let mut superseded = Vec::new();
        if sorted.head_interrupted() {
            // The input is several sorted sequences. The first is merged already; the rest is
            // merged into what that gave.
            self.ingest(distinct.finish(), &mut ingest, report)?;
            let (head_edits, head) = ingest.finish(table)?;
            merged = head;
            target = Arc::new(applied(table, &head_edits)?);
            superseded.extend(target.manifest.files().filter(|file| file.id >= first_id).cloned());
            ingest =
                Ingest::begin(store.files(), &self.names, &target, store.file_ids(), &options).after_first_part(table);
            edits = head_edits;
        }
        let merging = self.merge_rest(&mut sorted, distinct, ingest, &target, report);
        if merging.is_err() {
            for file in &superseded {
                store.files().forget(file.id);
                // What cannot be removed now is swept when the folder is opened.
                let _ = store.files().store().remove(&file.path);
            }
        }
        let (last_edits, last) = merging?;
        merged += last;
        if !superseded.is_empty() {
            // Files of the head that the second merge wrote anew are never named.
            let finished = applied(&target, &last_edits)?;
            let kept: std::collections::HashSet<u64> = finished.manifest.files().map(|file| file.id).collect();
            for file in superseded.iter().filter(|file| !kept.contains(&file.id)) {
                store.files().forget(file.id);
                store.files().store().remove(&file.path)?;
            }
        }
        edits.extend(last_edits);
        Ok(Merged { edits, report: merged })
    }

    /// Merges what was not handed on while the input was read; `table` is as the ingest found it.
    fn merge_rest(
        &self,
        sorted: &mut Sorted,
        mut distinct: Deduplicator,
        mut ingest: Ingest,
        table: &Table,
        report: &mut ImportReport,
    ) -> Result<(Vec<Edit>, IngestReport)> {
        while let Some(batch) = sorted.next_batch().map_err(rowkey_storage::Error::from)? {
            self.ingest(distinct.push(batch), &mut ingest, report)?;
            self.note_conflicts(distinct.take_conflicts(), report)?;
        }
        self.ingest(distinct.finish(), &mut ingest, report)?;
        self.note_conflicts(distinct.take_conflicts(), report)?;
        let conflicts = self.conflicts.borrow();
        report.conflicting = conflicts.entities();
        if let Some(warning) = conflicts.warning() {
            if self.options.strict {
                return Err(self.refused_by_strict(warning.to_string()));
            }
            report.warnings.insert(0, warning);
        }
        let (edits, mut merged) = ingest.finish(table)?;
        merged.duplicates += distinct.duplicates();
        Ok((edits, merged))
    }

    /// Gives rows to the merge, each key once.
    fn ingest(
        &self,
        batches: impl IntoIterator<Item = Rows>,
        ingest: &mut Ingest,
        report: &mut ImportReport,
    ) -> Result<()> {
        for batch in batches {
            self.options.progress.refuse_if_cancelled()?;
            self.count(&batch);
            ingest.push(&batch)?;
            self.note_conflicts(ingest.take_conflicts(), report)?;
        }
        Ok(())
    }

    /// Rejects entities that were read, and are lost to others.
    fn note_conflicts(&self, conflicts: Vec<Conflict>, report: &mut ImportReport) -> Result<()> {
        let mut lines = Vec::new();
        for conflict in &conflicts {
            let reject = self.conflicts.borrow_mut().reject(conflict, &mut lines);
            if self.options.on_reject == OnReject::Stop {
                return Err(Error::new(SqlState::CHECK_VIOLATION, reject.to_string()));
            }
            report.entities -= 1;
            report.rejected += 1;
            if report.rejects.len() < REJECTS_LISTED_MAX {
                report.rejects.push(reject);
            }
        }
        match &self.options.rejects {
            Some(rejects) => rejects.write(&lines).map_err(|error| unwritable(rejects, &error)),
            None => Ok(()),
        }
    }

    pub(super) fn finish_rejects(&self) -> Result<bool> {
        let Some(rejects) = &self.options.rejects else { return Ok(false) };
        rejects.finish().map_err(|error| unwritable(rejects, &error))
    }

    fn expect_no_rejects(&self, report: &ImportReport) -> Result<()> {
        // Conflicts have a message of their own once all of them are known.
        let Some(first) = report.rejects.first().filter(|_| report.rejected > self.conflicts.borrow().entities())
        else {
            return Ok(());
        };
        let message = match report.rejected {
            1 => format!("1 entity was rejected: {first}"),
            rejected => format!("{rejected} entities were rejected, the first one: {first}"),
        };
        Err(self.refused_by_strict(message))
    }

    /// The error of a strict import that has rejects, which are all in their file.
    fn refused_by_strict(&self, message: String) -> Error {
        let mut hint = format!("the import is strict, nothing was imported into {}", self.table);
        match (self.finish_rejects(), &self.options.rejects) {
            (Err(error), _) => return error,
            (Ok(true), Some(rejects)) => hint.push_str(&format!("; the rejects are in {}", rejects.path().display())),
            _ => {}
        }
        Error::new(SqlState::CHECK_VIOLATION, message).with_hint(hint)
    }

    fn decode(
        &self,
        mut source: Source,
        report: &mut ImportReport,
        types: &mut NamedTypes,
        sink: &mut dyn FnMut(Rows, &mut ImportReport) -> Result<()>,
    ) -> Result<()> {
        let format = match self.options.format {
            Some(format) => format,
            None => source.detect_with(&self.options.keys)?,
        };
        if format == Format::AzuriteDatabase && !source.is_one_table() {
            source = self.service.stored_table(source, self.table, self.options)?;
        }
        let on_reject = self.options.on_reject;
        let rejects = self.options.rejects.as_ref();
        let options = DecodeOptions {
            types: Arc::new(self.options.types.clone()),
            keys: (!self.options.keys.is_empty()).then(|| Arc::new(self.options.keys.clone())),
            since: self.options.since,
            keep_rejects: rejects.is_some(),
            source: self.conflicts.borrow_mut().add_input(source.name()),
            ..DecodeOptions::default()
        };
        let options = DecodeOptions { threads: self.options.threads.unwrap_or(options.threads), ..options };
        let counts = rowkey_formats::decode(
            source,
            format,
            &self.names,
            &options,
            self.options.progress.decoding(),
            &mut |chunk| {
                self.options.progress.refuse_if_cancelled()?;
                if on_reject == OnReject::Stop
                    && let Some(reject) = chunk.rejects.first()
                {
                    return Err(Error::new(SqlState::CHECK_VIOLATION, reject.to_string()));
                }
                if let Some(rejects) = rejects {
                    rejects.write(&chunk.reject_lines).map_err(|error| unwritable(rejects, &error))?;
                }
                let room = REJECTS_LISTED_MAX.saturating_sub(report.rejects.len());
                report.rejects.extend(chunk.rejects.into_iter().take(room));
                self.met.borrow_mut().note(&chunk.rows, &self.names);
                report.entities += chunk.rows.len() as u64;
                report.rejected += chunk.rejected;
                sink(chunk.rows, report)
            },
        )?;
        types.meet(&counts.types_met, counts.entities + counts.rejected + counts.before_since > 0);
        report.before_since += counts.before_since;
        let room = WARNINGS_MAX.saturating_sub(report.warnings.len());
        report.warnings.extend(counts.warnings.into_iter().take(room));
        self.samples.borrow_mut().add(&counts.samples);
        Ok(())
    }

    /// Counts the properties of entities of a dry run.
    fn count(&self, rows: &Rows) {
        let Some(counts) = &self.counts else { return };
        let mut counts = counts.borrow_mut();
        for (id, value) in rows.iter().flat_map(|row| row.properties()) {
            if counts.len() <= id.index() {
                counts.resize(id.index() + 1, Default::default());
            }
            counts[id.index()][value.edm_type() as usize] += 1;
        }
    }

    /// What the table would be like.
    pub(super) fn describe_dry(
        &self,
        snapshot: &Snapshot,
        table: &Arc<Table>,
        report: &mut ImportReport,
    ) -> Result<()> {
        let is_stored = snapshot.catalog.tables().any(|stored| stored.id == table.id);
        let stored = match is_stored {
            true => block_on(snapshot.table_snapshot(table).live_rows(self.service.store.files()))?,
            false => 0,
        };
        report.stored = stored + report.inserted;
        report.files = table.manifest.files().count() as u64;
        let Some(counts) = &self.counts else { return Ok(()) };
        let names = self.names.all();
        let property = |(name, counts): (&Arc<str>, &[u64; EdmType::ALL.len()])| PropertyReport {
            name: name.to_string(),
            types: EdmType::ALL.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect(),
        };
        let properties = names.iter().zip(counts.borrow().iter()).map(property).collect::<Vec<_>>();
        report.properties = properties.into_iter().filter(|property| !property.types.is_empty()).collect();
        Ok(())
    }
}

/// Most warnings of an import that are kept.
const WARNINGS_MAX: usize = 1000;

fn unwritable(rejects: &RejectsFile, error: &std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("{}: cannot write rejects: {error}", rejects.path().display()))
}

fn whole_micros(at: DateTime) -> DateTime {
    DateTime::from_micros(at.micros(), 0)
}

/// The table as these edits leave it.
fn applied(table: &Arc<Table>, edits: &[Edit]) -> Result<Table> {
    let mut table = Table::clone(table);
    for edit in edits {
        match edit {
            Edit::SetColumns { columns, .. } => table.columns.clone_from(columns),
            Edit::ReplaceRanges { from, to, ranges, .. } => {
                let replaced = table.manifest.with_ranges_replaced(*from, *to, ranges);
                table.manifest = replaced.ok_or_else(|| {
                    Error::new(SqlState::INTERNAL_ERROR, "range partitions of an import do not fit its table")
                })?;
            }
            Edit::CreateTable { .. }
            | Edit::DropTable { .. }
            | Edit::DropColumn { .. }
            | Edit::RenameColumn { .. }
            | Edit::RenameTable { .. }
            | Edit::MaskRows { .. }
            | Edit::SetFolded { .. }
            | Edit::TruncateTable { .. }
            | Edit::CreateView { .. }
            | Edit::DropView { .. }
            | Edit::SetComment { .. }
            | Edit::SetAccessPolicies { .. }
            | Edit::SetServiceProperties { .. }
            | Edit::SetAccountKeys { .. } => {}
        }
    }
    Ok(table)
}
