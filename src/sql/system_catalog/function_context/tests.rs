//! The constructs over the catalog of a small account, through all stages of a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement as Parsed};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;

use super::*;
use crate::system_catalog::tests::{TestSession, catalog_of, database_of, texts_of};
use crate::system_catalog::{SettingRow, SystemCatalog};
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_postgres::desugar;
use rowkey_postgres::functions;
use rowkey_postgres::functions::system::FunctionContextExtension;
use rowkey_postgres::names::{self, Lookup, Name, Relation, Relations};
use rowkey_postgres::types::SqlState;

mod catalog_queries;
mod shapes;

const DATABASE: &str = "devstoreaccount1";

fn test_session() -> TestSession {
    let setting = |name: &str, setting: &str, source: &str| SettingRow {
        name: name.to_owned(),
        setting: setting.to_owned(),
        source: source.to_owned(),
        boot_val: Some("?".to_owned()),
        ..SettingRow::default()
    };
    TestSession(vec![setting("max_index_keys", "32", "default"), setting("search_path", "public", "session")])
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

    fn reset_statements(&self) {}

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
    catalog_of(EDITS, test_session())
}

struct Names(SystemCatalog);

impl Relations for Names {
    fn returns_rows(&self, function: &str) -> bool {
        self.function_columns(function).is_some() || rowkey_postgres::desugar::returns_rows(function)
    }

    fn is_aggregate(&self, function: &str) -> bool {
        rowkey_postgres::syntax::is_aggregate(function)
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
    let session = Arc::new(test_session());
    let context = CatalogContext { oids: catalog.oids(), session, control: Arc::new(Control) };
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
    context.register_catalog(DATABASE, database_of(&catalog));
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
    Ok(texts_of(&runtime.block_on(answer(sql))?))
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
