//! A database of this process: a thin face of the entity service and of sessions.

use std::sync::Arc;

use rowkey_formats::{Destination, Source};
use rowkey_model::{AccountName, Value};
use rowkey_sql::engine::{
    CheckReport, DamagedFile, Engine, EntityService, ImportOptions, ImportReport, LogRepair, Options, Quarantined,
    SkippedAccount,
};
use rowkey_sql::session::{Answer, ExportOptions, ExportReport, Result, Selection, split_statements};

use super::shared::SharedDatabase;
use super::table::{Entities, Table};

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
        Ok(Table::new(Arc::clone(&self.engine), Entities::All(self.entities.clone()), id))
    }

    /// The same account as the holder of a shared access signature may use it: a query string such
    /// as `sv=2019-02-02&tn=Employees&sp=r&se=2030-01-01&sig=...`, perhaps with a `?` before it or
    /// as part of an `http` or `https` URL. It is a service SAS, for one table and perhaps a range
    /// of its keys, or an account SAS.
    ///
    /// As over REST, it has to be made with a key of the account in the data folder (`rowkey
    /// account add` gives it two); where no account there has keys, with that of the emulators,
    /// which everybody knows, for the default account. It is checked here and at every call again:
    /// whether its time has come or is over, and the stored access policy that it names as this is
    /// then; a key that was exchanged counts no more. A stream that was begun goes on.
    ///
    /// There is no network here. So a signature for HTTPS alone (`spr=https`) is taken: nothing is
    /// sent that could be overheard. One for some addresses (`sip`) is refused: it would be good
    /// for everybody. A program that passes on what others send looks at how that came.
    ///
    /// ```
    /// # use rowkey_embedded as rowkey;
    /// # async fn sales(db: rowkey::Database, token: &str) -> rowkey::Result<()> {
    /// let shared = db.with_sas(token)?;
    /// let employees = shared.table("Employees")?;
    /// if let Some(entity) = employees.get("Sales", "000123").await? {
    ///     println!("{entity:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `INVALID_AUTHORIZATION_SPECIFICATION` for a signature that is wrong, not valid yet or
    /// expired, or without its stored access policy; `INSUFFICIENT_PRIVILEGE` for one that is not
    /// for tables, or for some addresses.
    pub fn with_sas(&self, token: &str) -> Result<SharedDatabase> {
        SharedDatabase::open(Arc::clone(&self.engine), self.entities.clone(), token)
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
