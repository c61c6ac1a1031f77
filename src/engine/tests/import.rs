//! What imports do to tables.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use super::{Dice, entities, import, open, rows};
use crate::engine::{ImportOptions, OnReject};
use crate::files::MemoryStore;
use crate::formats::{PropertyTypes, Source, WarningKind};
use crate::model::Value;
use crate::session::ErrorKind;

#[test]
fn importing_the_same_again_changes_nothing() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let text = (0..500)
        .map(|i| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:04}\",\"V\":{i}}}\n", i / 50))
        .collect::<String>();
    let first = import(&engine, "Tab", &text, 4000).expect("imports");
    assert_eq!((first.inserted, first.stored, first.partitions), (500, 500, Some(10)));
    let before = engine.store().snapshot();
    let again = import(&engine, "Tab", &text, 4000).expect("imports");
    assert_eq!((again.inserted, again.replaced, again.unchanged), (0, 0, 500));
    let after = engine.store().snapshot();
    assert_eq!((before.sequence, before.catalog), (after.sequence, after.catalog));
}

#[test]
fn random_imports_agree_with_a_map() {
    for seed in 0..30_u64 {
        let mut dice = Dice(seed * 7919 + 1);
        let engine = open(Arc::new(MemoryStore::new())).expect("opens");
        let mut model: BTreeMap<(String, String), String> = BTreeMap::new();
        for _ in 0..4 {
            let mut text = String::new();
            for _ in 0..dice.below(300) {
                let partition = dice.pick(&["", "a", "ab", "abc", "b", "\u{e000}", "\u{10000}"]).to_owned();
                let row = format!("{:02}", dice.below(60));
                let value = format!("v{}", dice.below(5));
                text.push_str(&format!(
                    "{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"Value\":\"{value}\"}}\n"
                ));
                model.insert((partition, row), value);
            }
            let options = ImportOptions {
                file_bytes: 300 + dice.below(5000),
                memory_bytes: 1 + dice.below(20_000),
                ..ImportOptions::default()
            };
            let source = Source::stream("test", Box::new(std::io::Cursor::new(text.into_bytes())));
            engine.import("Things", vec![source], &options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        let found: Vec<((String, String), String)> = entities(&engine, "Things")
            .unwrap_or_default()
            .into_iter()
            .map(|entity| {
                let Some(Value::String(value)) = entity.get("Value") else { panic!("seed {seed}: {entity:?}") };
                ((entity.key.partition.clone(), entity.key.row.clone()), value.clone())
            })
            .collect();
        let expected: Vec<_> = model.into_iter().collect();
        assert_eq!(found, expected, "seed {seed}");
        let report =
            futures::executor::block_on(crate::storage::check(engine.store().files(), &engine.store().snapshot()))
                .expect("reads");
        assert_eq!(report.findings, [], "seed {seed}");
    }
}

#[test]
fn partitions_of_all_sizes_become_a_sensible_number_of_files() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let tiny = (0..20_000)
        .map(|i| format!("{{\"PartitionKey\":\"{i:06}\",\"RowKey\":\"r\",\"V\":{i}}}\n"))
        .collect::<String>();
    let report = import(&engine, "Tiny", &tiny, 100_000).expect("imports");
    assert_eq!(report.partitions, Some(20_000));
    assert!((5..20).contains(&report.files), "{} files", report.files);

    let huge = (0..20_000)
        .map(|i| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:06}\",\"V\":{i}}}\n", i / 10_000))
        .collect::<String>();
    let report = import(&engine, "Huge", &huge, 100_000).expect("imports");
    assert_eq!(report.partitions, Some(2));
    assert!((6..20).contains(&report.files), "{} files", report.files);
    let snapshot = engine.store().snapshot();
    let table = snapshot.catalog.tables().find(|table| table.name == "Huge").expect("a table");
    assert!(table.manifest.files().all(|file| file.partitions == 1), "no file holds two large partitions");
}

#[test]
fn a_table_with_thousands_of_properties_keeps_them_all() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut text = String::new();
    for i in 0..50 {
        let properties: Vec<String> = (0..40).map(|p| format!("\"P{}\":{}", i * 40 + p, p)).collect();
        text.push_str(&format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{i:03}\",{}}}\n", properties.join(",")));
    }
    let report = import(&engine, "Wide", &text, 1 << 20).expect("imports");
    assert_eq!((report.properties.len(), report.beyond_columns), (500, 1_500));
    let found = entities(&engine, "Wide").expect("a table");
    for (i, entity) in found.iter().enumerate() {
        assert_eq!(entity.properties().len(), 40);
        for p in 0..40 {
            assert_eq!(entity.get(&format!("P{}", i * 40 + p)), Some(&Value::Int32(p as i32)));
        }
    }
    let last = rows(
        &mut engine.own_session().expect("a session"),
        r#"SELECT other_property("(other)", 'P1999') FROM Wide WHERE "RowKey" = '049'"#,
    );
    assert_eq!(last.expect("answers"), ["39"]);
    // Those that have columns already are not among them, nor are those without values.
    let line = r#"{"PartitionKey":"p","RowKey":"000","P0":0,"P1999":1,"New":2,"Null":null}"#;
    assert_eq!(import(&engine, "Wide", line, 1 << 20).expect("imports").beyond_columns, 2);
}

#[test]
fn rejects_are_skipped_and_named_or_stop_the_import() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let text = "{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"a/b\",\"RowKey\":\"2\"}\n{\"PartitionKey\":\"a\",\"RowKey\":\"3\"}\n";
    let source = || vec![Source::stream("people.ndjson", Box::new(text.as_bytes()))];
    let stop = ImportOptions { on_reject: OnReject::Stop, ..ImportOptions::default() };
    let error = engine.import("People", source(), &stop).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.to_string().contains("people.ndjson:2"), "{error}");
    assert_eq!(entities(&engine, "People"), None);
    let report = engine.import("People", source(), &ImportOptions::default()).expect("imports");
    assert_eq!((report.entities, report.inserted, report.rejected, report.rejects.len()), (2, 2, 1, 1));
}

#[test]
fn a_type_of_a_property_that_no_input_has_is_told() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let imported = |types: &str, text: &str, strict: bool| {
        let types = PropertyTypes::parse(types).expect("types");
        let options = ImportOptions { types, strict, ..ImportOptions::default() };
        engine.import("People", vec![Source::stream("people", Box::new(Cursor::new(text.to_owned())))], &options)
    };
    let told = |types: &str, text: &str| {
        let warnings = imported(types, text, false).expect("imports").warnings;
        warnings.into_iter().map(|warning| (warning.kind, warning.to_string())).collect::<Vec<_>>()
    };
    let text =
        r#"[{"PartitionKey":"a","RowKey":"1","Count":"1"},{"PartitionKey":"a","RowKey":"2","Count":"2","Note":null}]"#;
    let expected = |text: &str| (WarningKind::Unused, format!("types: no input has a property {text}"));
    let named = ", whose type is named";
    assert_eq!(told("Count=Int64,Note=Int32", text), []);
    assert_eq!(told("count=Int64", text), [expected(&format!("\"count\"{named}; there is \"Count\""))]);
    assert_eq!(
        told("Count=Int64,Other=Guid,Cuont=Int32", text),
        [expected(&format!("\"Cuont\"{named}; there is \"Count\"")), expected(&format!("\"Other\"{named}"))]
    );
    // The same of other formats.
    let csv = "PartitionKey,RowKey,Count\na,1,\n";
    assert_eq!(told("Count=Int64", csv), [], "it is there, if empty");
    assert_eq!(told("COUNT=Int64", csv).len(), 1);
    let python = r#"[{"PartitionKey": "a", "RowKey": "1", "Big": [1, "Edm.Int64"], "None": null}]"#;
    assert_eq!(told("Big=Int64,None=Int32", python), [], "it is there, if as null");
    // A table without entities says nothing of names.
    assert_eq!(told("Other=Guid", "[]"), []);
    let error = imported("count=Int64", text, true).expect_err("refused");
    assert!(error.to_string().contains("no input has a property \"count\""), "{error}");
    assert!(imported("Count=Int64", text, true).is_ok());
}
