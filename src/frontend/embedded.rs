//! The in-process API; everything else is built on it.

use std::ops::{Bound, RangeBounds};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{BoxStream, Stream};
use futures::{StreamExt, TryStreamExt, stream};

use crate::formats::{Destination, Source};
use crate::model::{Cut, Entity, Interval, KeyRange, KeyRef, TableName, Value};
use crate::storage::{self, TableSnapshot};

use crate::engine::Engine;
pub use crate::engine::{ImportOptions, ImportReport, OnReject, Options, PropertyReport, SkippedAccount};
use crate::session::{Answer, Error, Registry, Result, Session, Settings, split_statements};
pub use crate::session::{ExportOptions, ExportReport, Selection};
pub use crate::storage::{CheckReport, DamagedFile, LogRepair, Quarantined};

/// A database: one account of one data folder. Clones share it; the folder is released when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Database {
    engine: Arc<Engine>,
}

impl Database {
    /// Opens a folder (made if need be), `:memory:`, or the URL of a data folder on an object store, which can only be read.
    ///
    /// One process owns a data folder at a time; another one is told so.
    pub async fn open(location: &str) -> Result<Self> {
        Self::open_with(location, Options::new()?).await
    }

    /// The same with other options than the default ones.
    pub async fn open_with(location: &str, options: Options) -> Result<Self> {
        Ok(Self { engine: Arc::new(Engine::open(location, options).await?) })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Runs one statement.
    pub async fn sql(&self, statement: &str) -> Result<Answer> {
        self.sql_with(statement, Vec::new()).await
    }

    /// Runs one statement with values for `$1`, `$2` and so on.
    pub async fn sql_with(&self, statement: &str, parameters: Vec<Value>) -> Result<Answer> {
        let mut session = self.engine.own_session()?;
        let answer = session.sql(statement, &parameters).await?;
        Ok(answer.keeping(session))
    }

    /// A session, whose settings, transaction and prepared statements last from one statement to the next.
    pub(crate) fn session(&self, user: &str, client: &str, settings: Settings) -> Result<Session> {
        self.engine.session(user, client, settings)
    }

    pub(crate) fn own_session(&self) -> Result<Session> {
        self.engine.own_session()
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        self.engine.registry()
    }

    /// The account, which is the name of the database.
    pub fn account(&self) -> &str {
        self.engine.account().as_str()
    }

    /// Cuts a text into its statements, at semicolons outside quotes and comments.
    pub fn split_statements(text: &str) -> Result<Vec<String>> {
        split_statements(text)
    }

    /// A table by its name, whatever the case.
    pub fn table(&self, name: &str) -> Result<Table> {
        let snapshot = self.engine.store().snapshot();
        let found =
            TableName::parse(name).ok().and_then(|name| snapshot.catalog.table(self.engine.account(), &name).cloned());
        match found {
            Some(table) => Ok(Table { engine: Arc::clone(&self.engine), id: table.id }),
            None => {
                let names = self.tables();
                let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(Error::no_such_table(name, &candidates))
            }
        }
    }

    /// Names of all tables, as they were created, in the order of their creation.
    pub fn tables(&self) -> Vec<String> {
        let account = self.engine.account().as_str();
        let snapshot = self.engine.store().snapshot();
        snapshot.catalog.tables().filter(|table| table.account == account).map(|table| table.name.clone()).collect()
    }

    /// Imports exports into a table, which is made if there is none; see [`ImportReport`]. Entities are upserted by key. All of it
    /// becomes visible at once at the end, or nothing. Blocks: call it on a thread that may.
    pub fn import(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        self.engine.import(table, sources, options)
    }

    /// Imports every table of databases of Azurite (`__azurite_db_table__.json`) under its own name, each all at once or not at
    /// all; `done` gets the report of each. Tables of other accounts than this one, or the one in the options, are left out
    /// and returned. Blocks: call it on a thread that may.
    pub fn import_tables(
        &self,
        sources: Vec<Source>,
        options: &ImportOptions,
        done: &mut dyn FnMut(&str, ImportReport),
    ) -> Result<Vec<SkippedAccount>> {
        self.engine.import_tables(sources, options, done)
    }

    /// Exports entities of a table, all as of one moment, with every property, type and 100 ns digit that the format keeps. What was
    /// written appears under its name when all of it is there; if the future is dropped before, nothing does.
    ///
    /// ```
    /// use rowkey::formats::{Destination, ExportFormat};
    /// use rowkey::{Database, ExportOptions, Selection};
    ///
    /// # async fn export(db: Database) -> rowkey::Result<()> {
    /// let options = ExportOptions::new(ExportFormat::Parquet);
    /// let sales = Selection::Where("PartitionKey = 'Sales'".to_owned());
    /// let report = db.export("Employees", &sales, &options, Destination::Path("sales.parquet".into())).await?;
    /// println!("{} entities, {} bytes", report.entities, report.bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn export(
        &self,
        table: &str,
        selection: &Selection,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session()?.export(table, selection, options, destination).await
    }

    /// Exports the rows of a query, with the columns that it has: what SQL shows, so times are whole microseconds. Formats of entities
    /// (typed CSV and service JSON) want the keys among them.
    pub async fn export_query(
        &self,
        query: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.own_session()?.export_query(query, options, destination).await
    }

    /// What opening had to mend: the log ended in a record that a crash had left half written, so it was never
    /// acknowledged. It was cut, and a copy kept.
    pub fn mended(&self) -> Option<String> {
        let torn = self.engine.store().torn_tail()?;
        let copy = torn.copy.as_deref().map_or(String::new(), |copy| format!("; a copy is in {copy}"));
        Some(format!(
            "{} ended in an unfinished record at byte {} ({}), which was cut{copy}",
            torn.path, torn.offset, torn.reason
        ))
    }

    /// Files below `tables/` that no table names, of a database opened to keep them: a crash may leave some, and so does a log of which
    /// a part is gone. Otherwise opening has removed them.
    pub fn unnamed_files(&self) -> &[String] {
        self.engine.store().unnamed_files()
    }

    /// Verifies every file of every table against the manifest. A file that cannot be read now, for
    /// want of permission, descriptors or memory or because the disk fails, is no finding: it ends
    /// the check with that error.
    pub async fn check(&self) -> Result<CheckReport> {
        let snapshot = self.engine.store().snapshot();
        Ok(storage::check(self.engine.store().files(), &snapshot).await?)
    }

    /// Takes damaged files out of use, those of [`CheckReport::damaged`]: they are moved to the folder `quarantine`, and their entities are
    /// gone from their tables. Everything else works again.
    pub async fn quarantine(&self, damaged: &[DamagedFile]) -> Result<Vec<Quarantined>> {
        Ok(self.engine.store().quarantine(damaged).await?)
    }

    /// Makes a folder open again whose log or checkpoint is damaged, as far as it can be read: the log is cut before the damage, and what
    /// is cut is moved to the folder `quarantine`. `None` if nothing is wrong with them.
    pub async fn repair_log(location: &str) -> Result<Option<LogRepair>> {
        Engine::repair_log(location).await
    }
}

/// A table of a [`Database`]. Every call looks at the newest snapshot.
#[derive(Debug, Clone)]
pub struct Table {
    engine: Arc<Engine>,
    id: u64,
}

impl Table {
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The entity with this key: a point query that never goes through the planner.
    pub async fn get(&self, partition: &str, row: &str) -> Result<Option<Entity>> {
        Ok(self.get_shared(partition, row).await?.map(|entity| Entity::clone(&entity)))
    }

    /// The same without a copy of the cached entity.
    pub async fn get_shared(&self, partition: &str, row: &str) -> Result<Option<Arc<Entity>>> {
        Ok(self.stored()?.get(self.engine.store().files(), KeyRef { partition, row }).await?)
    }

    /// All entities of a partition, by RowKey.
    pub fn partition(&self, partition: &str) -> EntityStream {
        self.range(KeyRange::partition(partition))
    }

    /// Entities of a partition whose RowKey lies in a range, by RowKey: `table.rows("Sales", "000100".."000200")`.
    pub fn rows<'a>(&self, partition: &str, rows: impl RangeBounds<&'a str>) -> EntityStream {
        let lower = match rows.start_bound() {
            Bound::Included(row) => Cut::Before((*row).to_owned()),
            Bound::Excluded(row) => Cut::After((*row).to_owned()),
            Bound::Unbounded => Cut::Start,
        };
        let upper = match rows.end_bound() {
            Bound::Included(row) => Cut::After((*row).to_owned()),
            Bound::Excluded(row) => Cut::Before((*row).to_owned()),
            Bound::Unbounded => Cut::End,
        };
        match Interval::new(lower, upper) {
            Some(rows) => self.range(KeyRange::rows(partition, &rows)),
            None => EntityStream { entities: stream::empty().boxed() },
        }
    }

    /// Entities of a range of keys, in key order, as they were when the stream was made.
    pub fn range(&self, range: KeyRange) -> EntityStream {
        let entities = match self.stored().map(|table| table.range(Arc::clone(self.engine.store().files()), range)) {
            Ok(batches) => batches
                .map_ok(|batch| stream::iter(batch.into_iter().map(Ok)))
                .try_flatten()
                .map_err(|error: storage::Error| Error::from(error))
                .boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        };
        EntityStream { entities }
    }

    /// Folds recent writes into files and compacts the files where that is due; with `full` the table is written anew, one file a
    /// range partition. The background does the same, except the latter, sooner or later. Blocks: call it on a thread that may.
    pub fn vacuum(&self, full: bool) -> Result<()> {
        self.engine.vacuum(self.id, full).map(|_| ())
    }

    fn stored(&self) -> Result<TableSnapshot> {
        let snapshot = self.engine.store().snapshot();
        let table = snapshot.table(self.id).map(|table| snapshot.table_snapshot(table));
        table.ok_or_else(|| Error::new(crate::session::ErrorKind::UnknownTable, "the table was dropped meanwhile"))
    }
}

/// Entities in key order; a batch at a time is in memory.
pub struct EntityStream {
    entities: BoxStream<'static, Result<Entity>>,
}

impl Stream for EntityStream {
    type Item = Result<Entity>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.entities.poll_next_unpin(context)
    }
}

impl std::fmt::Debug for EntityStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntityStream")
    }
}
