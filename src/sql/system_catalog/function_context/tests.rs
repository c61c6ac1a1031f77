//! The constructs over the catalog of a small account, through all stages of a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;

use super::*;
use crate::system_catalog::{ActivityRow, CursorRow, FunctionRow, PreparedRow, SessionInfo, SettingRow, SystemCatalog};
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_model::AccountName;
use rowkey_postgres::desugar;
use rowkey_postgres::functions;
use rowkey_postgres::functions::system::FunctionContextExtension;
use rowkey_postgres::names::{self, Lookup, Name, Relation, Relations};
use rowkey_postgres::types::SqlState;
use rowkey_storage::{Edit, Snapshot};

mod catalog_queries;
mod shapes;

const DATABASE: &str = "devstoreaccount1";

#[derive(Debug)]
struct TestSession;

impl SessionInfo for TestSession {
    fn database(&self) -> &str {
        DATABASE
    }

    fn databases(&self) -> Vec<String> {
        vec![DATABASE.to_owned()]
    }

    fn user(&self) -> &str {
        "alice"
    }

    fn backend_pid(&self) -> i32 {
        42
    }

    fn started_micros(&self) -> i64 {
        1_700_000_000_000_000
    }

    fn now_micros(&self) -> i64 {
        1_784_073_600_000_000
    }

    fn settings(&self) -> Vec<SettingRow> {
        let setting = |name: &str, setting: &str, source: &str| SettingRow {
            name: name.to_owned(),
            setting: setting.to_owned(),
            source: source.to_owned(),
            boot_val: Some("?".to_owned()),
            ..SettingRow::default()
        };
        vec![setting("max_index_keys", "32", "default"), setting("search_path", "public", "session")]
    }

    fn prepared_statements(&self) -> Vec<PreparedRow> {
        Vec::new()
    }

    fn cursors(&self) -> Vec<CursorRow> {
        Vec::new()
    }

    fn activity(&self) -> Vec<ActivityRow> {
        Vec::new()
    }

    fn function_names(&self) -> &[(String, crate::system_catalog::FunctionKind)] {
        static NAMES: std::sync::LazyLock<[(String, crate::system_catalog::FunctionKind); 1]> =
            std::sync::LazyLock::new(|| [("upper".to_owned(), crate::system_catalog::FunctionKind::Scalar)]);
        &*NAMES
    }

    fn functions(&self) -> Vec<FunctionRow> {
        Vec::new()
    }
}

#[derive(Debug)]
struct Control;

impl SessionControl for Control {
    fn version_text(&self) -> String {
        "PostgreSQL 15.8 (Rowkey)".to_owned()
    }

    fn setting(&self, name: &str) -> Option<String> {
        match name {
            "search_path" => Some("\"$user\", public".to_owned()),
            "default_table_access_method" => Some("heap".to_owned()),
            "max_index_keys" => Some("32".to_owned()),
            _ => None,
        }
    }

    fn set_setting(&self, name: &str, value: &str, _local: bool) -> std::result::Result<String, Error> {
        match name {
            "search_path" => Ok(value.to_owned()),
            _ => Err(Error::new(SqlState::UNDEFINED_OBJECT, name)),
        }
    }

    fn cancel_backend(&self, pid: i32) -> bool {
        pid == 42
    }

    fn terminate_backend(&self, _pid: i32) -> bool {
        false
    }

    fn transaction_id(&self) -> u64 {
        777
    }

    fn search_path(&self) -> Vec<String> {
        vec!["public".to_owned()]
    }
}

const EDITS: &str = r#"[
    {"create_table": {"id": 1, "account": "devstoreaccount1", "name": "Employees", "created_ticks": 0}},
    {"create_table": {"id": 2, "account": "devstoreaccount1", "name": "events", "created_ticks": 0}},
    {"set_columns": {"table": 1, "columns": [
        {"name": "LastName", "types": ["String"]}, {"name": "Age", "types": ["Int32"]},
        {"name": "HiredAt", "types": ["DateTime"]}, {"name": "Score", "types": ["Double"]},
        {"name": "Badge", "types": ["Guid"]}, {"name": "Photo", "types": ["Binary"]}]}}
]"#;

fn catalog() -> SystemCatalog {
    let edits: Vec<Edit> = serde_json::from_str(EDITS).expect("edits");
    let snapshot = Snapshot::default();
    let catalog = Arc::new(snapshot.catalog.apply(&edits).expect("a catalog"));
    let account = AccountName::parse(DATABASE).expect("an account");
    SystemCatalog::new(snapshot.with_catalog(catalog), account, Arc::new(TestSession))
}

struct Names(SystemCatalog);

impl Relations for Names {
    fn returns_rows(&self, function: &str) -> bool {
        self.function_columns(function).is_some() || rowkey_postgres::desugar::returns_rows(function)
    }

    fn is_aggregate(&self, function: &str) -> bool {
        rowkey_postgres::functions::is_aggregate(function)
    }

    fn relation(&self, schema: Option<Name<'_>>, name: Name<'_>) -> Lookup {
        let fold = |(text, quoted): Name<'_>| if quoted { text.to_owned() } else { text.to_lowercase() };
        let schemas = schema.map_or_else(|| vec!["pg_catalog".to_owned()], |schema| vec![fold(schema)]);
        let name = fold(name);
        for schema in schemas {
            if let Some(columns) = self.0.relation_columns(&schema, &name) {
                let hidden = self.0.hidden_columns(&schema, &name).len();
                return Lookup::Found(Relation {
                    schema,
                    name,
                    columns: columns.into(),
                    system_columns: hidden,
                    key: Vec::new(),
                });
            }
        }
        Lookup::NoSuchRelation { suggestion: None }
    }

    fn function_columns(&self, name: &str) -> Option<Vec<String>> {
        rowkey_postgres::desugar::function_columns(name)
    }

    fn database(&self) -> &str {
        DATABASE
    }
}

fn session() -> SessionContext {
    let catalog = catalog();
    let database = MemoryCatalogProvider::new();
    for schema in catalog.schema_names() {
        database.register_schema(&schema, catalog.schema(&schema).expect("a schema")).expect("registered");
    }
    let context = CatalogContext { oids: catalog.oids(), session: Arc::new(TestSession), control: Arc::new(Control) };
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(DATABASE, "pg_catalog")
        .with_create_default_catalog_and_schema(false)
        .set_str("datafusion.sql_parser.dialect", "postgres")
        .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false)
        .with_target_partitions(2);
    config.options_mut().extensions.insert(FunctionContextExtension(Arc::new(context)));
    let state = SessionContext::new_with_config(functions::configure(config)).state();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let state = rowkey_postgres::install(state, &clock).expect("installed");
    let context = SessionContext::new_with_state(state);
    context.register_catalog(DATABASE, Arc::new(database));
    context
}

async fn answer(sql: &str) -> Result<Vec<RecordBatch>> {
    let mut parsed = DFParserBuilder::new(sql).with_dialect(&PostgreSqlDialect {}).build()?.parse_statements()?;
    let Some(Parsed::Statement(mut statement)) = parsed.pop_front() else { panic!("no statement: {sql}") };
    names::resolve(&mut statement, &Names(catalog())).map_err(|error| DataFusionError::External(Box::new(error)))?;
    desugar::rewrite_syntax(&mut statement)?;
    let session = session();
    let plan = session.state().statement_to_plan(Parsed::Statement(statement)).await?;
    session.execute_logical_plan(plan).await?.collect().await
}

/// The rows of a query as text, values separated by `|`.
fn try_rows(sql: &str) -> Result<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in runtime.block_on(answer(sql))? {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("a column")).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    Ok(rows)
}

fn rows(sql: &str) -> Vec<String> {
    try_rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The refusal that an error carries, through all that is wrapped around it.
fn refusal(error: &DataFusionError) -> Option<&Error> {
    match error.find_root() {
        DataFusionError::External(error) => error.downcast_ref(),
        _ => None,
    }
}
