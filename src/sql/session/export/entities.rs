//! Entities of a table, as they are.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use futures::TryStreamExt;
use futures::future::BoxFuture;

use super::options::{ExportOptions, ExportProgress, ExportReport, Selection};
use crate::answer::Answer;
use crate::compiler::Compiler;
use crate::session::session::Session;
use crate::session::transaction::TransactionStatus;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::{Destination, ExportFormat, Layout, Survey, open_export};
use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_model::{Key, KeyCut, KeyRange, TableName, ValueRef};
use rowkey_storage::TableSnapshot;

/// Up to so many keys are looked up one by one; more are picked from the range that they span.
const KEYS_LOOKED_UP_MAX: usize = 64;

/// A consumer of entities, a batch at a time.
type Take<'a> = dyn FnMut(&Rows) -> Result<()> + Send + 'a;

impl Session {
    /// Exports entities of a table, all as of one moment. What was written appears under its name
    /// when all of it is there.
    pub async fn export(
        &mut self,
        table: &str,
        selection: &Selection,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        // Entities are read as the keys were: of one snapshot.
        let begins = matches!(selection, Selection::Where(_)) && self.status() == TransactionStatus::Idle;
        if begins {
            self.sql("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", &[]).await?;
        }
        let exported = self.export_in_block(table, selection, options, destination).await;
        if begins {
            let ended = self.sql("ROLLBACK", &[]).await;
            let report = exported?;
            return ended.map(|_| report);
        }
        exported
    }

    async fn export_in_block(
        &mut self,
        table: &str,
        selection: &Selection,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        let export = self.table_export(table)?;
        let mut wanted = match selection {
            Selection::All => Wanted::All,
            Selection::Range(range) => Wanted::Range(range),
            Selection::Where(condition) => Wanted::Where { session: self, condition },
        };
        export.write(&mut wanted, options, destination).await
    }

    /// Exports all entities of a table on a compute thread.
    pub(crate) async fn export_apart(
        &mut self,
        table: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        let (export, options) = (self.table_export(table)?, options.clone());
        let signals = self.registration().signals().of_statement();
        let exported = async move { export.write_all(&options, destination).await };
        self.compute().run(&signals, exported).await
    }

    pub(in crate::session) fn table_export(&mut self, table: &str) -> Result<TableExport> {
        let compiler = Arc::clone(self.compiler());
        let context = self.context();
        let found = TableName::parse(table)
            .ok()
            .and_then(|name| context.snapshot.catalog.table(compiler.account(), &name).cloned());
        let Some(found) = found else {
            let tables = context.snapshot.catalog.tables().filter(|other| other.account == compiler.account().as_str());
            let names: Vec<&str> = tables.map(|table| table.name.as_str()).collect();
            return Err(rowkey_postgres::error::no_such_table(table, &names));
        };
        let table = context.snapshot.table_snapshot(&found);
        Ok(TableExport { compiler, names: Arc::new(PropertyNames::new()), table })
    }
}

/// Which entities are exported, and what finds them.
enum Wanted<'a> {
    All,
    Range(&'a KeyRange),
    Where { session: &'a mut Session, condition: &'a str },
}

/// What the format loses of these entities.
fn notes(options: &ExportOptions, survey: &Survey) -> Vec<String> {
    let mut notes: Vec<String> = options.format.losses().iter().map(|loss| (*loss).to_owned()).collect();
    let mixed = survey.mixed();
    if options.format == ExportFormat::PlainCsv && !mixed.is_empty() {
        notes.push(format!("properties with values of several types: {}", listed(&mixed)));
    }
    if options.layout == Layout::ByPartitionKey {
        notes.push("the PartitionKey is in the names of the folders and in the files as well".to_owned());
    }
    notes
}

fn listed(names: &[Arc<str>]) -> String {
    const LISTED_MAX: usize = 10;
    let mut listed = names.iter().take(LISTED_MAX).map(|name| &**name).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED_MAX {
        listed.push_str(&format!(" and {} more", names.len() - LISTED_MAX));
    }
    listed
}

/// A table that is exported, as of one moment.
pub(in crate::session) struct TableExport {
    compiler: Arc<Compiler>,
    names: Arc<PropertyNames>,
    table: TableSnapshot,
}

impl TableExport {
    /// Exports all entities.
    pub(in crate::session) async fn write_all(
        &self,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.write(&mut Wanted::All, options, destination).await
    }

    async fn write(
        &self,
        wanted: &mut Wanted<'_>,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.number_by_name();
        let target = options.target(destination, &self.compiler, &self.table.table.name)?;
        let survey = self.survey(wanted, options).await?;
        let mut writer = open_export(target, &survey)?;
        let mut take = |rows: &Rows| {
            writer.write(rows)?;
            options.progress.add(rows.len() as u64);
            Ok(())
        };
        self.read(wanted, &mut take, &options.progress).await?;
        writer.finish()?;
        Ok(options.progress.report(notes(options, &survey)))
    }

    /// Gives properties their numbers in the order of their names, as far as they are known without
    /// reading: that is the order in which entities have them.
    fn number_by_name(&self) {
        let manifest = &self.table.table.manifest;
        let columns =
            manifest.files().flat_map(|file| &file.columns).map(|summary| Arc::clone(&summary.column.property));
        let mut known: Vec<Arc<str>> = columns.chain(self.table.names().all()).collect();
        known.sort();
        known.dedup();
        for name in known {
            self.names.intern(&name);
        }
    }

    /// Which properties there are: only the names for formats that need no more, otherwise at least
    /// those of the entities that will be written.
    async fn survey(&self, wanted: &mut Wanted<'_>, options: &ExportOptions) -> Result<Survey> {
        let mut survey = Survey::new(&self.names);
        if !options.format.has_columns() {
            return Ok(survey);
        }
        let known = match wanted {
            Wanted::All => self.table.properties_without_reading(),
            Wanted::Range(_) | Wanted::Where { .. } => None,
        };
        match known {
            Some(properties) => {
                for (name, edm, ticks) in properties {
                    survey.note(self.names.intern(&name), edm, ticks);
                }
            }
            None => {
                let mut take = |rows: &Rows| {
                    survey.observe(rows);
                    Ok(())
                };
                self.read(wanted, &mut take, &options.progress).await?;
            }
        }
        Ok(survey)
    }

    /// Reads the entities in key order.
    async fn read(&self, wanted: &mut Wanted<'_>, take: &mut Take<'_>, progress: &ExportProgress) -> Result<()> {
        match wanted {
            Wanted::All => self.read_range(&KeyRange::all(), take, progress).await,
            Wanted::Range(range) => self.read_range(range, take, progress).await,
            Wanted::Where { session, condition } => {
                // The line feed ends a comment.
                let query = format!(
                    "SELECT \"PartitionKey\", \"RowKey\" FROM public.\"{}\" WHERE ({condition}\n) ORDER BY \"PartitionKey\", \"RowKey\"",
                    self.table.table.name
                );
                let mut answer = keys_wanted(session, &query).await?;
                while let Some(batch) = answer.next().await {
                    self.read_keys(&keys_of(&batch?)?, take, progress).await?;
                }
                Ok(())
            }
        }
    }

    async fn read_range(&self, range: &KeyRange, take: &mut Take<'_>, progress: &ExportProgress) -> Result<()> {
        let mut batches = self.table.rows(self.compiler.store().files(), range, &self.names);
        while let Some(rows) = batches.try_next().await? {
            take(&rows)?;
            progress.turn().await;
        }
        Ok(())
    }

    /// Reads the entities of keys that ascend.
    async fn read_keys(&self, keys: &[Key], take: &mut Take<'_>, progress: &ExportProgress) -> Result<()> {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(()) };
        if keys.len() <= KEYS_LOOKED_UP_MAX {
            let mut rows = Rows::new();
            for key in keys {
                let entity = self.table.get(self.compiler.store().files(), key.as_ref()).await?;
                let entity =
                    entity.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "an entity that was found is gone"))?;
                let mut builder = rows.builder(&self.names);
                builder.begin();
                for (name, value) in entity.properties() {
                    builder.set(self.names.intern(name), ValueRef::from(value));
                }
                builder.finish(&key.partition, &key.row, Some(entity.timestamp))?;
            }
            return take(&rows);
        }
        let span = KeyRange::new(KeyCut::Before(first.clone()), KeyCut::After(last.clone()));
        let Some(span) = span else { return Err(Error::new(SqlState::INTERNAL_ERROR, "keys do not ascend")) };
        let mut wanted = keys.iter().peekable();
        let mut batches = self.table.rows(self.compiler.store().files(), &span, &self.names);
        while let Some(batch) = batches.try_next().await? {
            let mut rows = Rows::new();
            for row in batch.iter() {
                if wanted.next_if(|key| key.as_ref() == row.key()).is_some() {
                    rows.push_ref(row);
                }
            }
            if !rows.is_empty() {
                take(&rows)?;
            }
            progress.turn().await;
        }
        match wanted.next() {
            None => Ok(()),
            Some(_) => Err(Error::new(SqlState::INTERNAL_ERROR, "an entity that was found is gone")),
        }
    }
}

/// A statement of the session may be the export that asks: the future has to have a name.
fn keys_wanted<'a>(session: &'a mut Session, query: &'a str) -> BoxFuture<'a, Result<Answer>> {
    Box::pin(session.sql(query, &[]))
}

fn keys_of(batch: &RecordBatch) -> Result<Vec<Key>> {
    let text = |column: usize, row: usize| {
        let texts = batch.column(column).as_string_view_opt().filter(|texts| texts.is_valid(row));
        texts.map(|texts| texts.value(row)).ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "an entity has no key"))
    };
    (0..batch.num_rows()).map(|row| Ok(Key::new(text(0, row)?, text(1, row)?))).collect()
}
