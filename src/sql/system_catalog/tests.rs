//! The catalog of a few tables, read with plain SQL.

use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::prelude::{SessionConfig, SessionContext};

use super::column_types::{ColumnType, domain};
use super::contents::definitions;
use super::recorded::RELATIONS;
use super::*;
use rowkey_model::AccountName;
use rowkey_postgres::types::type_of;
use rowkey_storage::{Edit, Snapshot};

mod clients;
mod lookups;

/// A session with some of everything, and these settings.
#[derive(Debug)]
pub(super) struct TestSession(pub(super) Vec<SettingRow>);

impl SessionInfo for TestSession {
    fn database(&self) -> &str {
        "devstoreaccount1"
    }

    fn databases(&self) -> Vec<String> {
        vec!["devstoreaccount1".to_owned(), "other".to_owned()]
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
        self.0.clone()
    }

    fn prepared_statements(&self) -> Vec<PreparedRow> {
        let parameter_type_oids = vec![23, 25];
        let (name, statement) = ("s1".to_owned(), "select $1".to_owned());
        vec![PreparedRow { name, statement, prepared_micros: 1, parameter_type_oids, from_sql: false }]
    }

    fn cursors(&self) -> Vec<CursorRow> {
        let (name, statement) = ("c1".to_owned(), "select 1".to_owned());
        vec![CursorRow { name, statement, holdable: true, binary: false, scrollable: true, created_micros: 1 }]
    }

    fn activity(&self) -> Vec<ActivityRow> {
        let (database, user) = ("devstoreaccount1".to_owned(), "alice".to_owned());
        let client_addr = Some("127.0.0.1".to_owned());
        let (state, query) = ("active".to_owned(), "select 1".to_owned());
        vec![ActivityRow { pid: 42, database, user, client_addr, state, query, ..ActivityRow::default() }]
    }

    fn statements(&self) -> Vec<StatementRow> {
        vec![StatementRow { id: 1, text: "SELECT $1".to_owned(), calls: 2, total_ms: 0.5, ..StatementRow::default() }]
    }

    fn function_names(&self) -> &[(String, FunctionKind)] {
        static NAMES: LazyLock<[(String, FunctionKind); 1]> =
            LazyLock::new(|| [("upper".to_owned(), FunctionKind::Scalar)]);
        &*NAMES
    }

    fn functions(&self) -> Vec<FunctionRow> {
        let row = |name: &str, types: &[&str], result: &str, kind| FunctionRow {
            name: name.to_owned(),
            argument_types: types.iter().map(|ty| (*ty).to_owned()).collect(),
            result_type: result.to_owned(),
            kind,
        };
        vec![
            row("lower", &["text"], "text", FunctionKind::Scalar),
            row("arrow_typeof", &["anyelement"], "text", FunctionKind::Scalar),
            row("count", &[], "int8", FunctionKind::Aggregate),
            row("nonsense", &["no such type"], "text", FunctionKind::Scalar),
        ]
    }
}

/// Two tables of the account, one of 1,200 rows and 20,000 bytes, a view with comments here and
/// there, and a table of another account.
const EDITS: &str = r#"[
    {"create_table": {"id": 1, "account": "devstoreaccount1", "name": "Employees", "created_ticks": 0}},
    {"create_table": {"id": 2, "account": "devstoreaccount1", "name": "events", "created_ticks": 0}},
    {"create_table": {"id": 3, "account": "other", "name": "Hidden", "created_ticks": 0}},
    {"create_view": {"id": 4, "account": "devstoreaccount1", "name": "Grown", "sql": "SELECT \"Age\" FROM \"Employees\"",
        "columns": [{"name": "Age", "postgres_type": "int8"}, {"name": "at", "postgres_type": "timestamptz"}], "reads": [1]}},
    {"set_comment": {"account": "devstoreaccount1", "object": {"table": 1}, "text": "who works here"}},
    {"set_comment": {"account": "devstoreaccount1", "object": {"column": [1, "Age"]}, "text": "in years"}},
    {"set_comment": {"account": "devstoreaccount1", "object": {"column": [1, "Gone"]}, "text": "no longer"}},
    {"set_comment": {"account": "devstoreaccount1", "object": {"schema": "public"}, "text": "everything"}},
    {"set_comment": {"account": "devstoreaccount1", "object": "database", "text": "the account"}},
    {"set_columns": {"table": 1, "columns": [
        {"name": "LastName", "types": ["String"]}, {"name": "Age", "types": ["Int32", "Int64"]},
        {"name": "HiredAt", "types": ["DateTime"]}, {"name": "Score", "types": ["Double"]},
        {"name": "Badge", "types": ["Guid"]}, {"name": "Photo", "types": ["Binary"]},
        {"name": "Active", "types": ["Boolean"]}, {"name": "Salary", "types": ["Int64"]}]}},
    {"replace_ranges": {"table": 1, "from": 0, "to": 1, "ranges": [{"start": "unbounded", "files": [
        {"id": 1, "path": "tables/1.parquet", "bytes": 20000, "crc32c": 0, "checksums": "", "tail_bytes": 10, "rows": 1200,
         "first": ["a", "b"], "last": ["c", "d"], "partitions": 2, "row_groups": 1, "key_pages": 1, "column_bytes": [],
         "columns": []}]}]}}
]"#;

fn catalog() -> SystemCatalog {
    let enumvals = Some(vec!["on".to_owned(), "off".to_owned()]);
    let setting = SettingRow { name: "jit".into(), setting: "off".into(), enumvals, ..SettingRow::default() };
    catalog_of(EDITS, TestSession(vec![setting]))
}

/// What an account has after these edits.
pub(super) fn catalog_of(edits: &str, session: TestSession) -> SystemCatalog {
    let edits: Vec<Edit> = serde_json::from_str(edits).expect("edits");
    let snapshot = Snapshot::default();
    let catalog = Arc::new(snapshot.catalog.apply(&edits).expect("a catalog"));
    let account = AccountName::parse("devstoreaccount1").expect("an account");
    let mut snapshot = snapshot.with_catalog(catalog);
    snapshot.sequence = 9;
    SystemCatalog::new(snapshot, account, Arc::new(session))
}

/// All schemas of a catalog.
pub(super) fn database_of(catalog: &SystemCatalog) -> Arc<MemoryCatalogProvider> {
    let database = MemoryCatalogProvider::new();
    for schema in catalog.schema_names() {
        database.register_schema(&schema, catalog.schema(&schema).expect("a schema")).expect("registered");
    }
    Arc::new(database)
}

fn context() -> SessionContext {
    let config = SessionConfig::new()
        .with_default_catalog_and_schema("devstoreaccount1", "pg_catalog")
        .with_create_default_catalog_and_schema(false)
        .with_target_partitions(2);
    let context = SessionContext::new_with_config(config);
    context.register_catalog("devstoreaccount1", database_of(&catalog()));
    context
}

fn batches(sql: &str) -> Vec<RecordBatch> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer = runtime.block_on(async { context().sql(sql).await?.collect().await });
    answer.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn rows(sql: &str) -> Vec<String> {
    texts_of(&batches(sql))
}

/// Rows as text, values separated by `|`.
pub(super) fn texts_of(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("a column")).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    rows
}

/// Every column of every relation has the Arrow form of its type, and back from that the same type
/// is told.
#[test]
fn columns_are_held_as_their_types() {
    let held_as_text = ["anyarray", "inet", "pg_lsn", "pg_ndistinct", "pg_dependencies", "pg_mcv_list"];
    for definition in definitions() {
        for (column, field) in definition.columns.iter().zip(definition.arrow.fields()) {
            let place = format!("{}.{}.{}", definition.schema, definition.name, column.name);
            assert_eq!(column.name, field.name(), "{place}");
            assert_eq!(column.not_null, !field.is_nullable(), "{place}");
            let base = domain(column.type_name).map_or(column.type_name, |domain| domain.base);
            let told = type_of(field).map(|ty| ty.name);
            match base {
                "_pg_statistic" => assert_eq!(told, Some("text"), "{place}"),
                base if held_as_text.contains(&base) => assert_eq!(told, Some("text"), "{place}"),
                base => assert_eq!(told, Some(base), "{place}"),
            }
            assert!(ColumnType::named(column.type_name).is_some(), "{place}");
        }
    }
}

/// Rows fit the columns of their relation, NOT NULL ones too, and columns that rows have exist.
#[test]
fn every_relation_can_be_read() {
    for definition in RELATIONS.iter() {
        let sql = format!("SELECT * FROM {}.{}", definition.schema, definition.name);
        let batches = batches(&sql);
        let fields = batches.first().map_or(definition.arrow.fields().len(), |batch| batch.num_columns());
        assert_eq!(fields, definition.arrow.fields().len(), "{sql}");
    }
    let catalog = catalog();
    let contents = catalog.contents();
    for definition in RELATIONS.iter() {
        let made = super::rows::rows(contents, definition, &super::wanted::Wanted::default());
        for column in made.columns {
            assert!(definition.arrow.field_with_name(column).is_ok(), "{}.{column}", definition.name);
        }
    }
}

#[test]
fn columns_are_counted_without_making_them() {
    let catalog = catalog();
    let relations: Vec<_> = catalog.contents().relations(&super::wanted::Wanted::default()).collect();
    assert!(relations.len() > RELATIONS.len() + 4);
    for relation in relations {
        assert_eq!(relation.column_count(), relation.columns().len(), "{}", relation.name);
    }
}

#[test]
fn oids_do_not_meet() {
    let sql = "SELECT count(*), count(DISTINCT oid) FROM pg_class";
    let counts = rows(sql);
    let (all, distinct) = counts[0].split_once('|').expect("two counts");
    assert_eq!(all, distinct);
    for relation in ["pg_type", "pg_proc", "pg_operator", "pg_cast"] {
        let counts = rows(&format!("SELECT count(*) - count(DISTINCT oid), count(*) > 20 FROM {relation}"));
        assert_eq!(counts, ["0|true"], "{relation}");
    }
}

/// What names another row of the catalog by its oid finds one.
#[test]
fn references_have_targets() {
    let references = [
        ("pg_class", "relnamespace", "pg_namespace"),
        ("pg_class", "reltype", "pg_type"),
        ("pg_class", "relam", "pg_am"),
        ("pg_class", "relowner", "pg_authid"),
        ("pg_attribute", "attrelid", "pg_class"),
        ("pg_attribute", "atttypid", "pg_type"),
        ("pg_attribute", "attcollation", "pg_collation"),
        ("pg_attrdef", "adrelid", "pg_class"),
        ("pg_index", "indrelid", "pg_class"),
        ("pg_index", "indexrelid", "pg_class"),
        ("pg_constraint", "conrelid", "pg_class"),
        ("pg_constraint", "conindid", "pg_class"),
        ("pg_type", "typnamespace", "pg_namespace"),
        ("pg_type", "typrelid", "pg_class"),
        ("pg_type", "typelem", "pg_type"),
        ("pg_type", "typarray", "pg_type"),
        ("pg_type", "typbasetype", "pg_type"),
        ("pg_type", "typinput", "pg_proc"),
        ("pg_type", "typoutput", "pg_proc"),
        ("pg_type", "typreceive", "pg_proc"),
        ("pg_type", "typsend", "pg_proc"),
        ("pg_type", "typmodin", "pg_proc"),
        ("pg_type", "typmodout", "pg_proc"),
        ("pg_type", "typsubscript", "pg_proc"),
        ("pg_type", "typanalyze", "pg_proc"),
        ("pg_proc", "prorettype", "pg_type"),
        ("pg_proc", "prolang", "pg_language"),
        ("pg_operator", "oprcode", "pg_proc"),
        ("pg_operator", "oprleft", "pg_type"),
        ("pg_operator", "oprright", "pg_type"),
        ("pg_operator", "oprresult", "pg_type"),
        ("pg_cast", "castfunc", "pg_proc"),
        ("pg_cast", "castsource", "pg_type"),
        ("pg_cast", "casttarget", "pg_type"),
        ("pg_opclass", "opcfamily", "pg_opfamily"),
        ("pg_opclass", "opcmethod", "pg_am"),
        ("pg_opclass", "opcintype", "pg_type"),
        ("pg_am", "amhandler", "pg_proc"),
        ("pg_range", "rngsubopc", "pg_opclass"),
        ("pg_range", "rngsubdiff", "pg_proc"),
        ("pg_database", "dattablespace", "pg_tablespace"),
    ];
    for (relation, column, target) in references {
        let lost = rows(&format!(
            "SELECT DISTINCT {column} FROM {relation} WHERE {column} <> 0 AND {column} NOT IN (SELECT oid FROM {target})"
        ));
        assert_eq!(lost, [""; 0], "{relation}.{column}");
        let found = rows(&format!("SELECT count(*) > 0 FROM {relation} WHERE {column} <> 0"));
        assert_eq!(found, ["true"], "{relation}.{column}");
    }
}

#[test]
fn hidden_columns_stand_behind_the_others() {
    let catalog = catalog();
    let shown = catalog.relation_columns("pg_catalog", "PG_NAMESPACE").expect("a relation");
    assert_eq!(shown, ["oid", "nspname", "nspowner", "nspacl"]);
    assert_eq!(catalog.hidden_columns("pg_catalog", "pg_namespace"), ["xmin", "tableoid"]);
    assert_eq!(catalog.hidden_columns("pg_catalog", "pg_tables"), [""; 0]);
    assert_eq!(catalog.relation_columns("public", "Employees"), None);
    assert_eq!(rows("SELECT DISTINCT xmin, tableoid FROM pg_namespace"), ["1|2615"]);
    assert_eq!(rows("SELECT xmin FROM pg_class WHERE relname = 'Employees'"), ["12"]);
}

#[test]
fn what_the_session_tells_is_shown() {
    assert_eq!(rows("SELECT name, setting, enumvals FROM pg_settings"), ["jit|off|[on, off]"]);
    assert_eq!(rows("SELECT pid, usename, state, client_addr FROM pg_stat_activity"), ["42|alice|active|127.0.0.1"]);
    assert_eq!(rows("SELECT name, parameter_types FROM pg_prepared_statements"), ["s1|[23, 25]"]);
    assert_eq!(
        rows("SELECT name, is_holdable, creation_time FROM pg_cursors"),
        ["c1|true|1970-01-01T00:00:00.000001Z"]
    );
    assert_eq!(rows("SELECT datname FROM pg_database ORDER BY 1"), ["devstoreaccount1", "other"]);
    assert_eq!(rows("SELECT rolname, oid, rolsuper FROM pg_roles"), ["alice|10|true"]);
    assert_eq!(rows("SELECT count(*) FROM pg_locks"), ["0"]);
}

#[test]
fn functions_keep_postgresqls_oids_where_it_has_them() {
    assert_eq!(
        rows("SELECT oid, prokind FROM pg_proc WHERE proname IN ('lower', 'count') ORDER BY 1"),
        ["870|f", "2803|a"]
    );
    // By its name alone, with the types that there are here: no ranges.
    assert_eq!(rows("SELECT oid, proargtypes FROM pg_proc WHERE proname = 'upper'"), ["871|[25]"]);
    let own = rows("SELECT oid, proargtypes FROM pg_proc WHERE proname = 'arrow_typeof'");
    assert_eq!(own.len(), 1);
    let oid: u32 = own[0].split('|').next().and_then(|oid| oid.parse().ok()).expect("an oid");
    assert!(super::oid::FUNCTIONS.contains(&oid));
    assert_eq!(catalog().oids().function_name(oid).as_deref(), Some("arrow_typeof"));
    assert_eq!(rows("SELECT count(*) FROM pg_proc WHERE proname = 'nonsense'"), ["0"]);
}

#[test]
fn time_zones_are_known() {
    let zones = "SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names WHERE name IN ('UTC', 'Europe/Paris')";
    let known = ["Europe/Paris|CEST|2 hours|true", "UTC|UTC|0 secs|false"];
    assert_eq!(rows(&format!("{zones} ORDER BY 1")), known);
    assert!(rows("SELECT name FROM pg_timezone_names").len() > 500);
}
