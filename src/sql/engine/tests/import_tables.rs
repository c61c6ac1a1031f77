//! Imports of files that hold several tables, and of CSV.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{entities, open, rows};
use crate::engine::{Engine, ImportOptions, OnReject, SkippedAccount};
use rowkey_base::SqlState;
use rowkey_formats::{Format, PropertyTypes, Source};
use rowkey_model::Value;
use rowkey_model::files::MemoryStore;

fn database() -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/azurite/__azurite_db_table__.json");
    Source::file(&path).expect("the database of the tests")
}

fn empty() -> Engine {
    open(Arc::new(MemoryStore::new())).expect("opens")
}

fn tables(engine: &Engine) -> Vec<String> {
    engine.store().snapshot().catalog.tables().map(|table| table.name.clone()).collect()
}

type Done = Vec<(String, u64, u64)>;

fn expected(tables: &[(&str, u64, u64)]) -> Done {
    tables.iter().map(|(table, inserted, rejected)| ((*table).to_owned(), *inserted, *rejected)).collect()
}

/// Imports everything; of each table its name, what was inserted, and what was rejected.
fn import_all(
    engine: &Engine,
    source: Source,
    options: &ImportOptions,
) -> (Done, rowkey_base::Result<Vec<SkippedAccount>>) {
    let mut done = Vec::new();
    let result = engine.entities().import_tables_blocking(vec![source], options, &mut |table, report| {
        done.push((table.to_owned(), report.inserted, report.rejected));
    });
    (done, result)
}

/// A file that is removed again.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rowkey-tables-{}-{name}", std::process::id()));
        fs::write(&path, text).expect("writes");
        Self(path)
    }

    fn source(&self) -> Source {
        Source::file(&self.0).expect("opens")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_database_of_azurite_becomes_a_table_for_each_of_its_tables() {
    let engine = empty();
    let (done, skipped) = import_all(&engine, database(), &ImportOptions::default());
    assert_eq!(done, expected(&[("EightTypes", 4, 0), ("Empty", 0, 0), ("MixedCase", 1, 0)]));
    let skipped = skipped.expect("imports");
    assert_eq!(skipped.len(), 1);
    assert_eq!((skipped[0].account.as_str(), &skipped[0].tables[..]), ("second", &["EightTypes".to_owned()][..]));
    assert_eq!(tables(&engine), ["EightTypes", "Empty", "MixedCase"]);
    let all = rows(
        &mut engine.own_session().expect("a session"),
        r#"SELECT "Big", "Whole", "Ref", "Last" FROM EightTypes WHERE "RowKey" = 'all'"#,
    );
    assert_eq!(all.expect("answers").len(), 1);
    let found = entities(&engine, "EightTypes").expect("a table");
    assert_eq!(found[1].get("Whole"), Some(&Value::Double(1.0)));
    assert_eq!(found[1].timestamp.to_string(), "2026-11-20T13:55:39.8187745Z");

    // Once more: nothing changes.
    let before = engine.store().snapshot();
    let (done, _) = import_all(&engine, database(), &ImportOptions::default());
    assert!(done.iter().all(|(_, inserted, _)| *inserted == 0), "{done:?}");
    assert_eq!(before.sequence, engine.store().snapshot().sequence);
}

#[test]
fn one_table_of_a_database_is_taken_by_its_name_and_account() {
    let engine = empty();
    let report =
        engine.entities().import_blocking("mixedcase", vec![database()], &ImportOptions::default()).expect("imports");
    assert_eq!((report.inserted, tables(&engine)), (1, vec!["mixedcase".to_owned()]));

    let second = ImportOptions { from_account: Some("second".to_owned()), ..ImportOptions::default() };
    let report = engine.entities().import_blocking("EightTypes", vec![database()], &second).expect("imports");
    assert_eq!(report.inserted, 1);
    assert_eq!(entities(&engine, "EightTypes").expect("a table")[0].key.partition, "other");

    let error =
        engine.entities().import_blocking("Nothing", vec![database()], &ImportOptions::default()).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::INVALID_STATEMENT);
    let message = error.to_string();
    let expected = "there is no table Nothing of account devstoreaccount1; \
                    there are: EightTypes, Empty, MixedCase, EightTypes (of account second)";
    assert!(message.ends_with(expected), "{message}");
    let third = ImportOptions { from_account: Some("third".to_owned()), ..ImportOptions::default() };
    let message = import_all(&engine, database(), &third).1.expect_err("refused").to_string();
    assert!(message.contains("there is no table of account third; there are: EightTypes (of"), "{message}");
    assert_eq!(tables(&engine), ["mixedcase", "EightTypes"]);
}

#[test]
fn what_names_no_tables_is_refused_before_anything_is_imported() {
    let engine = empty();
    let lines = Source::stream("a.ndjson", Box::new(&b"{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n"[..]));
    let error = engine
        .entities()
        .import_tables_blocking(vec![database(), lines], &ImportOptions::default(), &mut |_, _| panic!("imported"))
        .expect_err("refused");
    assert!(error.to_string().starts_with("a.ndjson: only a database of Azurite names its tables"), "{error}");

    let stream = Source::stream("-", Box::new(&b"{}"[..]));
    let azurite = ImportOptions { format: Some(Format::AzuriteDatabase), ..ImportOptions::default() };
    let error = import_all(&engine, stream, &azurite).1.expect_err("refused");
    assert!(error.to_string().ends_with("it is no database of Azurite"), "{error}");

    let cut = Temporary::new(
        "cut.json",
        r#"{"filename":"x","collections":[{"name":"devstoreaccount1$One","data":[]},{"name":"devstoreaccount1$Two","data":["#,
    );
    let error = import_all(&engine, cut.source(), &ImportOptions::default()).1.expect_err("refused");
    assert!(error.to_string().contains("incomplete"), "{error}");

    let named = Temporary::new(
        "named.json",
        r#"{"filename":"x","collections":[{"name":"devstoreaccount1$One","data":[]},{"name":"devstoreaccount1$no","data":[]}]}"#,
    );
    let error = import_all(&engine, named.source(), &ImportOptions::default()).1.expect_err("refused");
    assert!(error.to_string().contains("table name \"no\""), "{error}");
    assert_eq!(tables(&engine), Vec::<String>::new());
}

#[test]
fn types_that_no_table_needs_are_told_with_the_last() {
    let told = |types: &str| {
        let options = ImportOptions { types: PropertyTypes::parse(types).expect("types"), ..ImportOptions::default() };
        let mut told = Vec::new();
        let result = empty().entities().import_tables_blocking(vec![database()], &options, &mut |table, report| {
            told.extend(report.warnings.iter().map(|warning| format!("{table}: {warning}")));
        });
        result.map(|_| told).expect("imports")
    };
    assert_eq!(told("Big=Int64"), Vec::<String>::new(), "one of the tables has it");
    let expected = "MixedCase: types: no input has a property \"big\", whose type is named; there is \"Big\"";
    assert_eq!(told("big=Int64"), [expected]);
}

#[test]
fn tables_before_the_one_that_fails_stay() {
    let document = |row: &str| format!(r#"{{"PartitionKey":"p","RowKey":"{row}","properties":{{}}}}"#);
    let text = format!(
        r#"{{"filename":"x","collections":[{{"name":"devstoreaccount1$One","data":[{}]}},{{"name":"devstoreaccount1$Two","data":[{},{}]}},{{"name":"devstoreaccount1$Three","data":[{}]}}]}}"#,
        document("1"),
        document("2"),
        document("a/b"),
        document("3")
    );
    let file = Temporary::new("failing.json", &text);
    let engine = empty();
    let stop = ImportOptions { on_reject: OnReject::Stop, ..ImportOptions::default() };
    let (done, result) = import_all(&engine, file.source(), &stop);
    let error = result.expect_err("stops");
    assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION);
    let byte = text.find(&document("a/b")).expect("it is there") + 1;
    assert!(error.to_string().contains(&format!("table Two of account devstoreaccount1: byte {byte}: ")), "{error}");
    assert_eq!((done, tables(&engine)), (expected(&[("One", 1, 0)]), vec!["One".to_owned()]));

    let (done, result) = import_all(&engine, file.source(), &ImportOptions::default());
    assert_eq!(result.expect("imports"), []);
    assert_eq!(done, expected(&[("One", 0, 0), ("Two", 1, 1), ("Three", 1, 0)]));
}

#[test]
fn csv_is_imported_like_any_other_format() {
    let engine = empty();
    let text = "PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type\r\n\
                p,1,2024-05-01T07:00:00.1234567Z,41,Edm.Int32,\"Jones, \"\"J\"\"\",Edm.String\r\n\
                p,2,2024-05-01T07:00:00Z,x,Edm.Int32,,\r\n\
                p,3,2024-05-01T07:00:00Z,,,,Edm.String\r\n";
    let source = || vec![Source::stream("people.csv", Box::new(text.as_bytes()))];
    let report = engine.entities().import_blocking("People", source(), &ImportOptions::default()).expect("imports");
    assert_eq!((report.inserted, report.rejected), (2, 1));
    assert!(report.rejects[0].to_string().starts_with("people.csv:3: property Age \"x\""), "{}", report.rejects[0]);
    let found = rows(
        &mut engine.own_session().expect("a session"),
        r#"SELECT "RowKey", "Age", "Name" FROM People ORDER BY "RowKey""#,
    );
    assert_eq!(found.expect("answers"), ["1|41|Jones, \"J\"", "3|NULL|"]);
    let again = engine.entities().import_blocking("People", source(), &ImportOptions::default()).expect("imports");
    assert_eq!((again.inserted, again.unchanged), (0, 2));
}
