//! A database of this process: a thin face of the entity service and of sessions.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use rowkey_formats::{Destination, Source};
use rowkey_model::{AccountName, Cut, Entity, Interval, KeyRange, KeyRef, Value};
use rowkey_sql::engine::{
    CheckReport, DamagedFile, Engine, EntityPage, EntityQuery, EntityService, EntityStream, ImportOptions,
    ImportReport, LogRepair, Options, Quarantined, SkippedAccount,
};
use rowkey_sql::session::{Answer, ExportOptions, ExportReport, Result, Selection, split_statements};

/// A database: one account of one data folder. Clones share the folder; it is released when the
/// last one is dropped.
#[derive(Debug, Clone)]
pub struct Database {
    engine: Arc<Engine>,
    entities: EntityService,
}

impl Database {
    /// Opens a folder (made if need be), `:memory:`, or the URL of a data folder on an object
    /// store, which can only be read, as a folder in which this process may not write;
    /// [`Options::read_only`] asks for that.
    ///
    /// # Errors
    /// The folder is owned by another process, damaged, or cannot be read or written.
    pub async fn open(location: &str) -> Result<Self> {
        Self::open_with(location, Options::default()).await
    }

    /// The same with other options than the default ones.
    pub async fn open_with(location: &str, options: Options) -> Result<Self> {
        let engine = Engine::open(location, options).await?;
        Ok(Self { entities: engine.entities().clone(), engine: Arc::new(engine) })
    }

    /// Another account of the same data folder. It begins with its first table, and until then
    /// [`accounts`](Self::accounts) leaves it out.
    ///
    /// # Errors
    /// `CHECK_VIOLATION` if the name breaks the service's rule for account names.
    pub fn in_account(&self, name: &str) -> Result<Self> {
        let entities = self.entities.in_account(AccountName::parse(name)?);
        Ok(Self { engine: Arc::clone(&self.engine), entities })
    }

    /// The names of all accounts of the data folder, in their order.
    pub fn accounts(&self) -> Vec<String> {
        self.engine.account_names()
    }

    pub(super) fn entities(&self) -> &EntityService {
        &self.entities
    }

    /// Runs one statement.
    pub async fn sql(&self, statement: &str) -> Result<Answer> {
        self.sql_with(statement, Vec::new()).await
    }

    /// Runs one statement with values for `$1`, `$2` and so on.
    pub async fn sql_with(&self, statement: &str, parameters: Vec<Value>) -> Result<Answer> {
        self.engine.sql_in(self.entities.account(), statement, &parameters).await
    }

    /// The account, which is the name of the database.
    pub fn account(&self) -> &str {
        self.entities.account().as_str()
    }

    /// Cuts a text into its statements, at semicolons outside quotes and comments.
    pub fn split_statements(text: &str) -> Result<Vec<String>> {
        split_statements(text)
    }

    /// A table by its name, whatever the case.
    pub fn table(&self, name: &str) -> Result<Table> {
        let id = self.entities.table_id(name)?;
        Ok(Table { database: self.clone(), id })
    }

    /// Names of all tables, as they were created, in the order of their creation.
    pub fn tables(&self) -> Vec<String> {
        self.entities.table_names()
    }

    /// Imports exports into a table, which is made if there is none; see [`ImportReport`]. Entities
    /// are upserted by key. All of it becomes visible at once at the end, or nothing. It runs on
    /// threads of its own; dropping the future, or [`ImportProgress::cancel`], ends it with the
    /// table as it was.
    ///
    /// [`ImportProgress::cancel`]: crate::ImportProgress::cancel
    pub async fn import(&self, table: &str, sources: Vec<Source>, options: &ImportOptions) -> Result<ImportReport> {
        self.entities.import(table, sources, options).await
    }

    /// Imports every table of databases of Azurite (`__azurite_db_table__.json`) under its own
    /// name, each all at once or not at all; `done` gets the report of each. Tables of other
    /// accounts than this one, or the one in the options, are left out and returned. Runs and is
    /// cancelled as [`import`](Self::import) is.
    pub async fn import_tables(
        &self,
        sources: Vec<Source>,
        options: &ImportOptions,
        done: impl FnMut(&str, ImportReport) + Send + 'static,
    ) -> Result<Vec<SkippedAccount>> {
        self.entities.import_tables(sources, options, done).await
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
        self.engine.export(self.entities.account(), table, selection, options, destination).await
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
        self.engine.export_query(self.entities.account(), query, options, destination).await
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
    database: Database,
    id: u64,
}

impl Table {
    pub(super) fn entities(&self) -> &EntityService {
        &self.database.entities
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
        self.entities().get(self.id, KeyRef { partition, row }).await
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
        self.entities().range(self.id, range)
    }

    /// A page of the entities that a query asks for, as the Table service answers it.
    ///
    /// ```
    /// # use rowkey_embedded as rowkey;
    /// use rowkey::{EntityQuery, Table};
    /// use rowkey::model::{KeyRange, KeySet};
    ///
    /// # async fn all(table: Table) -> rowkey::Result<()> {
    /// let mut query = EntityQuery::new(KeySet::from_ranges([KeyRange::partition("Sales")]));
    /// loop {
    ///     let page = table.page(&query).await?;
    ///     println!("{} entities", page.entities.len());
    ///     query.continuation = page.continuation;
    ///     if query.continuation.is_none() {
    ///         break Ok(());
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for a page of more than
    /// [`PAGE_ENTITIES_MAX`](crate::PAGE_ENTITIES_MAX) entities, `UNDEFINED_TABLE` if the table was
    /// dropped.
    pub async fn page(&self, query: &EntityQuery) -> Result<EntityPage> {
        self.entities().page(self.id, query).await
    }

    /// Folds recent writes into files and compacts the files where that is due; with `full` the
    /// table is written anew, one file a range partition. The background does the same, except the
    /// latter, sooner or later.
    pub async fn vacuum(&self, full: bool) -> Result<()> {
        self.entities().vacuum(self.id, full).await.map(|_| ())
    }
}
