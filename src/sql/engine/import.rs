//! Bringing exports into a table: decode, sort, merge, commit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::executor::block_on;

use super::beyond_columns::PropertiesMet;
use super::key_conflicts::KeyConflicts;
use super::named_types::NamedTypes;
use super::open::Engine;
use super::progress::ImportProgress;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{
    self, AssumedType, DecodeOptions, Format, KeyColumns, PropertyTypes, REJECTS_LISTED_MAX, Reject, RejectsFile,
    Source, TypeSamples, Warning, WarningKind,
};
use rowkey_model::files::FileStore;
use rowkey_model::rows::{Conflict, Deduplicator, PropertyNames, Rows, Sorted, Sorter, SorterOptions};
use rowkey_model::{DateTime, EdmType, TableName};
use rowkey_storage::ingest::{Ingest, IngestOptions, IngestReport};
use rowkey_storage::{Edit, FILE_BYTES, Manifest, PropertyColumn, Snapshot, Table, Work};

/// Rows held for sorting.
const SORT_BYTES: usize = 256 << 20;
/// Input in key order is written at once when this much of it was seen.
const STREAM_AFTER_BYTES: usize = 16 << 20;

/// What to do about entities that break a rule of the data model, or that are lost to different
/// ones of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnReject {
    /// Give up; the table stays as it was.
    Stop,
    /// Leave them out and list them.
    #[default]
    Skip,
}

/// How an import works.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// By default it is told from the first bytes of each input.
    pub format: Option<Format>,
    /// Of a database of Azurite, the account whose tables are taken; by default the one imported
    /// into.
    pub from_account: Option<String>,
    pub on_reject: OnReject,
    /// Types of properties, which overrule what an input says.
    pub types: PropertyTypes,
    /// Makes the keys of other columns.
    pub keys: KeyColumns,
    /// Leaves out entities with an earlier Timestamp. Those without one are taken.
    pub since: Option<DateTime>,
    /// Takes what is rejected, as lines that can be corrected and imported again.
    pub rejects: Option<Arc<RejectsFile>>,
    /// Reads, sorts and compares everything, reports, and leaves the table as it is.
    pub dry_run: bool,
    /// Refuses an input that looks incomplete ([`WarningKind::Truncated`]), types of properties
    /// that no input has ([`WarningKind::Unused`]), and any reject.
    pub strict: bool,
    pub progress: Arc<ImportProgress>,
    /// Encoded bytes of the entities of one run file.
    pub file_bytes: usize,
    /// Bytes of entities held for sorting input that is not in key order; more is spilled to disk.
    pub memory_bytes: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            from_account: None,
            on_reject: OnReject::default(),
            types: PropertyTypes::default(),
            keys: KeyColumns::default(),
            since: None,
            rejects: None,
            dry_run: false,
            strict: false,
            progress: Arc::default(),
            file_bytes: FILE_BYTES,
            memory_bytes: SORT_BYTES,
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Entities read, rejected ones left out.
    pub entities: u64,
    pub inserted: u64,
    pub replaced: u64,
    /// Equal to the stored entity; nothing was written for them.
    pub unchanged: u64,
    /// The stored entity has a later Timestamp and stays.
    pub older: u64,
    /// Entities that were in the input another time, equal in all.
    pub duplicates: u64,
    /// Entities of which the input has a version with a later Timestamp.
    pub superseded: u64,
    /// Entities of which the input has a different version, without Timestamps that say which is
    /// newer. One of each key was taken (the newest Timestamp before none, then the last), the
    /// others are among the rejected ones.
    pub conflicting: u64,
    /// Entities that break a rule of the data model, and the conflicting ones.
    pub rejected: u64,
    /// Left out as older than [`ImportOptions::since`]; not among the entities read.
    pub before_since: u64,
    /// What else there is to know of the inputs, the first few of each.
    pub warnings: Vec<Warning>,
    /// Properties whose types the inputs do not name.
    pub assumed: Vec<AssumedType>,
    /// The first rejects, with their places.
    pub rejects: Vec<Reject>,
    /// In the table afterwards: partitions (none where replaced rows or overlapping files leave
    /// that open), entities, files.
    pub partitions: Option<u64>,
    pub stored: u64,
    pub files: u64,
    /// Of the table afterwards, as its files have them; rows that were replaced since they were
    /// written count. Of a dry run: of the entities read, duplicates left out.
    pub properties: Vec<PropertyReport>,
    /// Properties of the inputs for which the table has no column left. Their values are all there,
    /// in the column `(other)`; of a dry run they are among the properties.
    pub beyond_columns: u64,
}

/// A property and how many entities have it, by type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyReport {
    pub name: String,
    pub types: Vec<(EdmType, u64)>,
}

impl Engine {
    /// Imports `sources` into a table, which is made if there is none. Upserts by key. All of it is
    /// visible at once at the end, or nothing. Of a database of Azurite the table of the same name
    /// is taken. Blocks, and uses threads of its own.
    pub fn import(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        self.import_as_one_of(table, sources, options, &mut NamedTypes::of(&options.types), true)
    }

    /// The same for one of several tables; the types that none of them needs are told with the
    /// last.
    pub(super) fn import_as_one_of(
        &self,
        table: &str,
        sources: Vec<Source>,
        options: &ImportOptions,
        types: &mut NamedTypes,
        is_last: bool,
    ) -> Result<ImportReport> {
        let name = TableName::parse(table)?;
        if let Some(rejects) = &options.rejects {
            self.store.expect_outside(rejects.path())?;
        }
        let _job = self.store.wait_for_job(self.account.as_str(), name.as_str(), Work::Import)?;
        // What is imported is merged with what was written before; what is written from now on
        // stays on top.
        if let Some(table) = self.store.snapshot().catalog.table(&self.account, &name) {
            self.store.fold(table.id)?;
        }
        let snapshot = self.store.snapshot();
        let (target, mut edits) = match snapshot.catalog.table(&self.account, &name) {
            Some(table) => (Arc::clone(table), Vec::new()),
            None if snapshot.catalog.view(&self.account, name.as_str()).is_some() => {
                let message = format!("\"{name}\" is not a table: entities cannot be imported into a view");
                return Err(Error::new(SqlState::INVALID_STATEMENT, message));
            }
            None => self.new_table(&name, snapshot.catalog.next_table_id()),
        };
        let names = Arc::new(PropertyNames::new());
        let run = Import {
            engine: self,
            table: &name,
            options,
            counts: options.dry_run.then(RefCell::default),
            met: RefCell::new(PropertiesMet::beside(target.columns.len())),
            samples: RefCell::default(),
            conflicts: RefCell::new(KeyConflicts::new(options, &names)),
            names,
            spill: self.import_spill(target.id)?,
        };
        let mut report = ImportReport::default();
        let merged = run.merge(sources, &target, &mut report, types, is_last)?;
        let IngestReport { inserted, replaced, unchanged, older, duplicates } = merged.report;
        (report.inserted, report.replaced, report.unchanged, report.older) = (inserted, replaced, unchanged, older);
        (report.duplicates, report.superseded) = (duplicates.equal, duplicates.superseded);
        report.assumed = run.samples.borrow().assumed(&run.names);
        run.finish_rejects()?;
        if options.dry_run {
            run.describe_dry(&snapshot, &target, &mut report)?;
            return Ok(report);
        }
        edits.extend(merged.edits);
        options.progress.enter("writing");
        let committed = if edits.is_empty() { self.store.snapshot() } else { self.store.commit_job(&target, edits)? };
        // Unless it has been dropped since.
        if let Some(table) = committed.catalog.table(&self.account, &name) {
            self.describe(&committed, table, &mut report)?;
            report.beyond_columns = run.met.borrow().beyond(&table.columns, &run.names);
        }
        Ok(report)
    }

    fn describe(&self, snapshot: &Snapshot, table: &Arc<Table>, report: &mut ImportReport) -> Result<()> {
        report.partitions = table.manifest.partitions();
        report.stored = block_on(snapshot.table_snapshot(table).live_entities(self.store.files()))?;
        report.files = table.manifest.files().count() as u64;
        let mut counts: BTreeMap<(&str, EdmType), u64> = BTreeMap::new();
        for summary in table.manifest.files().flat_map(|file| &file.columns) {
            *counts.entry((&summary.column.property, summary.column.edm)).or_default() += summary.entities;
        }
        let property = |column: &PropertyColumn| PropertyReport {
            name: column.name.to_string(),
            types: EdmType::ALL
                .into_iter()
                .filter_map(|edm| counts.get(&(&*column.name, edm)).map(|&count| (edm, count)))
                .collect(),
        };
        report.properties = table.columns.iter().map(property).filter(|property| !property.types.is_empty()).collect();
        Ok(())
    }

    /// A table that does not exist yet, and the edit that makes it.
    fn new_table(&self, name: &TableName, id: u64) -> (Arc<Table>, Vec<Edit>) {
        let created_ticks = self.store.clock().now().ticks();
        let (account, name) = (self.account.as_str().to_owned(), name.as_str().to_owned());
        let table = Table {
            id,
            account: account.clone(),
            name: name.clone(),
            created_ticks,
            columns: Vec::new(),
            schema_version: 0,
            manifest: Manifest::default(),
            folded_sequence: 0,
        };
        (Arc::new(table), vec![Edit::CreateTable { id, account, name, created_ticks }])
    }
}

struct Import<'a> {
    engine: &'a Engine,
    table: &'a TableName,
    names: Arc<PropertyNames>,
    options: &'a ImportOptions,
    /// Of a dry run: how many entities have each property, by number and type.
    counts: Option<RefCell<Vec<[u64; EdmType::ALL.len()]>>>,
    met: RefCell<PropertiesMet>,
    /// What values of properties without a named type look like.
    samples: RefCell<TypeSamples>,
    conflicts: RefCell<KeyConflicts<'a>>,
    spill: (Arc<dyn FileStore>, String),
}

struct Merged {
    edits: Vec<Edit>,
    report: IngestReport,
}

impl Import<'_> {
    /// Everything up to the commit: run files are written and durable, and nothing names them.
    fn merge(
        &self,
        sources: Vec<Source>,
        table: &Arc<Table>,
        report: &mut ImportReport,
        types: &mut NamedTypes,
        is_last: bool,
    ) -> Result<Merged> {
        let progress = &self.options.progress;
        progress.enter("reading");
        let store = &self.engine.store;
        let options = IngestOptions {
            file_bytes: self.options.file_bytes,
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

    fn finish_rejects(&self) -> Result<bool> {
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
            source = self.engine.stored_table(source, self.table, self.options)?;
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
        let counts = rowkey_formats::decode(
            source,
            format,
            &self.names,
            &options,
            self.options.progress.decoding(),
            &mut |chunk| {
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
    fn describe_dry(&self, snapshot: &Snapshot, table: &Arc<Table>, report: &mut ImportReport) -> Result<()> {
        let is_stored = snapshot.catalog.tables().any(|stored| stored.id == table.id);
        let stored = match is_stored {
            true => block_on(snapshot.table_snapshot(table).live_entities(self.engine.store.files()))?,
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
            | Edit::SetComment { .. } => {}
        }
    }
    Ok(table)
}
