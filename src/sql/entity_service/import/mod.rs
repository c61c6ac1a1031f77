//! Bringing exports into a table: decode, sort, merge, commit.

mod beyond_columns;
mod key_conflicts;
mod named_types;
mod options;
mod progress;
mod report;
mod run;
mod tables;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::executor::block_on;

use self::beyond_columns::PropertiesMet;
use self::key_conflicts::KeyConflicts;
use self::named_types::NamedTypes;
use self::run::Import;
use super::service::{EntityService, blocking};
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::Source;
use rowkey_model::rows::PropertyNames;
use rowkey_model::{EdmType, TableName};
use rowkey_storage::ingest::IngestReport;
use rowkey_storage::{Edit, Manifest, PropertyColumn, Snapshot, Table, Work};

pub use options::{ImportOptions, OnReject};
pub use progress::ImportProgress;
pub use report::{ImportReport, PropertyReport};
pub use tables::SkippedAccount;

impl EntityService {
    /// Imports `sources` into a table, which is made if there is none. Upserts by key. All of it is
    /// visible at once at the end, or nothing. Of a database of Azurite the table of the same name
    /// is taken. Runs on threads of its own; dropping the future cancels it
    /// ([`ImportProgress::cancel`]).
    ///
    /// # Errors
    /// `CHECK_VIOLATION` for a rejected entity where [`OnReject::Stop`] or `strict` was asked for,
    /// `QUERY_CANCELED`, and those of reading the sources and of the disk.
    pub async fn import(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        let (service, table, run) = (self.clone(), table.to_owned(), options.clone());
        let cancelled = CancelOnDrop::of(options);
        let report = blocking(move || service.import_blocking(&table, sources, &run)).await;
        cancelled.disarm();
        report
    }

    /// The same on the caller's thread, which may block.
    pub fn import_blocking(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        self.principal().expect_owner()?;
        self.import_as_one_of(table, sources, options, &mut NamedTypes::of(&options.types), true)
    }

    /// The same for one of several tables; the types that none of them needs are told with the
    /// last.
    fn import_as_one_of(
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
            service: self,
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
        options.progress.refuse_if_cancelled()?;
        if options.is_whole.as_ref().is_some_and(|is_whole| !is_whole.load(Ordering::Acquire)) {
            let message = "the input has more behind its last entity, the table is as it was";
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        }
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
        report.stored = block_on(snapshot.table_snapshot(table).live_rows(self.store.files()))?;
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

/// Cancels an import whose future is dropped before it is done.
struct CancelOnDrop {
    progress: Option<Arc<ImportProgress>>,
}

impl CancelOnDrop {
    fn of(options: &ImportOptions) -> Self {
        Self { progress: Some(Arc::clone(&options.progress)) }
    }

    fn disarm(mut self) {
        self.progress = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            progress.cancel();
        }
    }
}
