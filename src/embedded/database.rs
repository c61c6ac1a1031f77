//! The in-process API; everything else is built on it.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use rowkey_formats::{Destination, Source};
use rowkey_model::{Cut, Entity, Interval, KeyRange, KeyRef, Value};
use rowkey_sql::engine::{Engine, EntityStream, ImportOptions, ImportReport, Options, SkippedAccount};
use rowkey_sql::session::{Answer, ExportOptions, ExportReport, Result, Selection, split_statements};
use rowkey_storage::{CheckReport, DamagedFile, LogRepair, Quarantined};

/// A database: one account of one data folder. Clones share it; the folder is released when the
/// last one is dropped.
#[derive(Debug, Clone)]
pub struct Database {
    engine: Arc<Engine>,
}

impl Database {
    /// Opens a folder (made if need be), `:memory:`, or the URL of a data folder on an object
    /// store, which can only be read.
    ///
    /// # Errors
    /// The folder is owned by another process, damaged, or cannot be read or written.
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
        self.engine.sql(statement, &parameters).await
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
        let id = self.engine.table_id(name)?;
        Ok(Table { engine: Arc::clone(&self.engine), id })
    }

    /// Names of all tables, as they were created, in the order of their creation.
    pub fn tables(&self) -> Vec<String> {
        self.engine.table_names()
    }

    /// Imports exports into a table, which is made if there is none; see [`ImportReport`]. Entities
    /// are upserted by key. All of it becomes visible at once at the end, or nothing. Blocks: call
    /// it on a thread that may.
    pub fn import(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        self.engine.import(table, sources, options)
    }

    /// Imports every table of databases of Azurite (`__azurite_db_table__.json`) under its own
    /// name, each all at once or not at all; `done` gets the report of each. Tables of other
    /// accounts than this one, or the one in the options, are left out and returned. Blocks: call
    /// it on a thread that may.
    pub fn import_tables(
        &self,
        sources: Vec<Source>,
        options: &ImportOptions,
        done: &mut dyn FnMut(&str, ImportReport),
    ) -> Result<Vec<SkippedAccount>> {
        self.engine.import_tables(sources, options, done)
    }

    /// Exports entities of a table, all as of one moment, with every property, type and 100 ns
    /// digit that the format keeps. What was written appears under its name when all of it is
    /// there; if the future is dropped before, nothing does.
    ///
    /// ```
    /// # use rowkey_embedded as rowkey;
    /// use rowkey::formats::{Destination, ExportFormat};
    /// use rowkey::{Database, ExportOptions, Selection};
    ///
    /// # async fn export(db: Database) -> rowkey::Result<()> {
    /// let options = ExportOptions::new(ExportFormat::Parquet);
    /// let sales = Selection::Where("PartitionKey = 'Sales'".to_owned());
    /// let file = Destination::Path("sales.parquet".into());
    /// let report = db.export("Employees", &sales, &options, file).await?;
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
        self.engine.export(table, selection, options, destination).await
    }

    /// Exports the rows of a query, with the columns that it has: what SQL shows, so times are
    /// whole microseconds. Formats of entities (typed CSV and service JSON) want the keys among
    /// them.
    pub async fn export_query(
        &self,
        query: &str,
        options: &ExportOptions,
        destination: Destination,
    ) -> Result<ExportReport> {
        self.engine.export_query(query, options, destination).await
    }

    /// What opening had to mend: the log ended in a record that a crash had left half written, so
    /// it was never acknowledged. It was cut, and a copy kept.
    pub fn mended(&self) -> Option<String> {
        self.engine.mended()
    }

    /// Files below `tables/` that no table names, of a database opened to keep them: a crash may
    /// leave some, and so does a log of which a part is gone. Otherwise opening has removed them.
    pub fn unnamed_files(&self) -> &[String] {
        self.engine.unnamed_files()
    }

    /// Verifies every file of every table against the manifest. A file that cannot be read now, for
    /// want of permission, descriptors or memory or because the disk fails, is no finding: it ends
    /// the check with that error.
    pub async fn check(&self) -> Result<CheckReport> {
        self.engine.check().await
    }

    /// Takes damaged files out of use, those of [`CheckReport::damaged`]: they are moved to the
    /// folder `quarantine`, and their entities are gone from their tables. Everything else works
    /// again.
    pub async fn quarantine(&self, damaged: &[DamagedFile]) -> Result<Vec<Quarantined>> {
        self.engine.quarantine(damaged).await
    }

    /// Makes a folder open again whose log or checkpoint is damaged, as far as it can be read: the
    /// log is cut before the damage, and what is cut is moved to the folder `quarantine`. `None` if
    /// nothing is wrong with them.
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
        self.engine.entity(self.id, KeyRef { partition, row }).await
    }

    /// All entities of a partition, by RowKey.
    pub fn partition(&self, partition: &str) -> EntityStream {
        self.range(KeyRange::partition(partition))
    }

    /// Entities of a partition whose RowKey lies in a range, by RowKey: `table.rows("Sales",
    /// "000100".."000200")`.
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
            None => EntityStream::empty(),
        }
    }

    /// Entities of a range of keys, in key order, as they were when the stream was made.
    pub fn range(&self, range: KeyRange) -> EntityStream {
        self.engine.entities(self.id, range)
    }

    /// Folds recent writes into files and compacts the files where that is due; with `full` the
    /// table is written anew, one file a range partition. The background does the same, except the
    /// latter, sooner or later. Blocks: call it on a thread that may.
    pub fn vacuum(&self, full: bool) -> Result<()> {
        self.engine.vacuum(self.id, full).map(|_| ())
    }
}
