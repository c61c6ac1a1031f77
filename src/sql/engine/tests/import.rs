//! What imports do to tables.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::sync::Arc;

use super::{Dice, entities, import, open, rows};
use crate::engine::{Engine, ImportOptions, ImportReport, OnReject};
use crate::session::{Result, SqlState};
use rowkey_formats::{KeyColumns, KeyTemplate, PropertyTypes, RejectsFile, Source, WarningKind};
use rowkey_model::files::MemoryStore;
use rowkey_model::{EdmType, Value};

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
                file_bytes: Some(300 + dice.below(5000)),
                memory_bytes: 1 + dice.below(20_000),
                ..ImportOptions::default()
            };
            // Of each key as many are lost as there are values beside the one that stays. A dry run
            // sees all of a key at once.
            let lines: BTreeSet<&str> = text.lines().collect();
            let keys: BTreeSet<&str> = lines.iter().filter_map(|line| line.split(",\"Value\"").next()).collect();
            let lost = (lines.len() - keys.len()) as u64;
            for dry_run in [true, false] {
                let source = Source::stream("test", Box::new(Cursor::new(text.clone())));
                let options = ImportOptions { dry_run, ..options.clone() };
                let report = engine.entities().import_blocking("Things", vec![source], &options);
                let report = report.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert_eq!((report.rejected, report.rejects.len() as u64), (report.conflicting, report.conflicting));
                assert_eq!(report.entities + report.rejected, text.lines().count() as u64, "seed {seed}");
                let taken = report.inserted + report.replaced + report.unchanged + report.older;
                assert_eq!(taken, keys.len() as u64, "seed {seed}: {report:?}");
                assert_eq!(taken + report.duplicates + report.superseded, report.entities, "seed {seed}: {report:?}");
                assert!(!dry_run || report.conflicting == lost, "seed {seed}: {lost} were lost, {report:?}");
            }
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
            futures::executor::block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot()))
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
    let error = engine.entities().import_blocking("People", source(), &stop).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION);
    assert!(error.to_string().contains("people.ndjson:2"), "{error}");
    assert_eq!(entities(&engine, "People"), None);
    let report = engine.entities().import_blocking("People", source(), &ImportOptions::default()).expect("imports");
    assert_eq!((report.entities, report.inserted, report.rejected, report.rejects.len()), (2, 2, 1, 1));
}

#[test]
fn a_type_of_a_property_that_no_input_has_is_told() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let imported = |types: &str, text: &str, strict: bool| {
        let types = PropertyTypes::parse(types).expect("types");
        let options = ImportOptions { types, strict, ..ImportOptions::default() };
        engine.entities().import_blocking(
            "People",
            vec![Source::stream("people", Box::new(Cursor::new(text.to_owned())))],
            &options,
        )
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

/// Imports CSV by the columns Country and City.
fn import_cities(engine: &Engine, csv: &str, options: ImportOptions) -> Result<ImportReport> {
    let column = |name: &str| Some(KeyTemplate::parse(name).expect("a column"));
    let keys = KeyColumns { partition: column("Country"), row: column("City") };
    let source = Source::stream("cities.csv", Box::new(Cursor::new(csv.to_owned())));
    engine.entities().import_blocking("Cities", vec![source], &ImportOptions { keys, ..options })
}

#[test]
fn different_entities_of_one_key_are_told_and_rejected() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let csv = "Country,City,N\nNL,A,1\nNL,A,2\nNL,B,1\nNL,B,1\nNL,A,3\n";
    let folder = std::env::temp_dir().join(format!("rowkey-conflicts-{}", std::process::id()));
    let rejects = |name: &str| {
        let _ = std::fs::remove_file(folder.join(name));
        std::fs::create_dir_all(&folder).expect("a folder");
        Arc::new(RejectsFile::new(folder.join(name)).expect("no file"))
    };

    // Nothing is imported where rejects are refused, and what they are is all told.
    let strict = ImportOptions { strict: true, rejects: Some(rejects("strict")), ..ImportOptions::default() };
    let error = import_cities(&engine, csv, strict).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION);
    assert_eq!(
        error.to_string(),
        "keys: 2 entities share their keys with others that differ, and no Timestamp says which is newer: (\"NL\", \"A\")"
    );
    assert!(
        error.hint().is_some_and(|hint| hint.contains("nothing was imported into Cities; the rejects are in")),
        "{error:?}"
    );
    assert_eq!(std::fs::read_to_string(folder.join("strict")).expect("rejects").lines().count(), 2);
    let stop = ImportOptions { on_reject: OnReject::Stop, ..ImportOptions::default() };
    let error = import_cities(&engine, csv, stop).expect_err("refused");
    assert!(error.to_string().starts_with("cities.csv:2: the entity at cities.csv:6 has the same key"), "{error}");
    assert_eq!(entities(&engine, "Cities"), None);

    for dry_run in [true, false] {
        let name = if dry_run { "dry" } else { "wet" };
        let options = ImportOptions { dry_run, rejects: Some(rejects(name)), ..ImportOptions::default() };
        let report = import_cities(&engine, csv, options).expect("imports");
        assert_eq!((report.entities, report.inserted, report.duplicates, report.superseded), (3, 2, 1, 0));
        assert_eq!((report.rejected, report.conflicting), (2, 2));
        assert_eq!(
            report.rejects[0].to_string(),
            "cities.csv:2: the entity at cities.csv:6 has the same key (\"NL\", \"A\") and differs, and no Timestamp says which is \
             newer; that one was taken"
        );
        assert!(report.rejects[1].to_string().starts_with("cities.csv:3: the entity at cities.csv:6 "));
        let kinds: Vec<_> = report.warnings.iter().map(|warning| warning.kind).collect();
        assert_eq!(kinds, [WarningKind::Conflicting]);
        // With the same options they are read again, and now replace what was taken.
        let lines = std::fs::read_to_string(folder.join(name)).expect("rejects");
        assert!(
            lines
                .lines()
                .all(|line| line.ends_with(r#","Country":"NL","City":"A","N":"1"}"#) || line.ends_with(r#""N":"2"}"#))
        );
    }
    let values: Vec<_> =
        entities(&engine, "Cities").expect("a table").iter().map(|city| city.get("N").cloned()).collect();
    assert_eq!(values, [Some("3".into()), Some("1".into())]);
    let mended = std::fs::read_to_string(folder.join("wet")).expect("rejects").replacen("\"A\"", "\"C\"", 1);
    let report = import_cities(&engine, &mended, ImportOptions::default()).expect("imports");
    assert_eq!((report.inserted, report.replaced, report.rejected), (1, 1, 0));
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn timestamps_that_decide_leave_nothing_to_reject() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let line = |at: &str, n: i32| {
        let at = if at.is_empty() { String::new() } else { format!(",\"Timestamp\":\"2024-05-01T08:00:0{at}Z\"") };
        format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\"{at},\"N\":{n}}}\n")
    };
    let cases = [
        // Given; then taken, and how many were equal, superseded, lost.
        (vec![("1", 1), ("2", 2), ("1", 1)], 2, (0, 2, 0)),
        (vec![("2", 2), ("2", 2), ("1", 1)], 2, (1, 1, 0)),
        (vec![("1", 1), ("1", 2)], 2, (0, 0, 1)),
        (vec![("1", 1), ("", 2)], 1, (0, 0, 1)),
        (vec![("1", 1), ("1", 2), ("3", 3)], 3, (0, 2, 0)),
    ];
    for (at, (given, taken, expected)) in cases.into_iter().enumerate() {
        let table = format!("Table{at}");
        let text: String = given.iter().map(|(at, n)| line(at, *n)).collect();
        let report = import(&engine, &table, &text, 4000).expect("imports");
        assert_eq!((report.duplicates, report.superseded, report.conflicting), expected, "{given:?}");
        let found = entities(&engine, &table).expect("a table");
        assert_eq!(found[0].get("N"), Some(&Value::Int32(taken)), "{given:?}");
    }
}

/// Input in order is written while it is read. What comes behind and belongs before is compared
/// with what was written.
#[test]
fn what_was_written_while_reading_is_compared_as_well() {
    // Several chunks of the input, of which the first ones are written before the last is read.
    const ROWS: i32 = 60_000;
    for stored in [false, true] {
        let files = MemoryStore::new();
        let run_files =
            || -> BTreeSet<String> { files.files().into_keys().filter(|path| path.starts_with("tables/")).collect() };
        let engine = open(Arc::new(files.clone())).expect("opens");
        let line = |row: &str, at: &str, n: i32| {
            let at = if at.is_empty() { String::new() } else { format!(",\"Timestamp\":\"2024-05-01T07:00:0{at}Z\"") };
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\"{at},\"N\":{n}}}\n")
        };
        if stored {
            // Replaced by the input's only version of it, and one that the input does not have.
            import(&engine, "Tab", &(line("00001b", "1", 0) + &line("00002b", "1", 0)), 4000).expect("imports");
        }
        let mut text: String = (0..ROWS).map(|row| line(&format!("{row:05}"), "", row)).collect();
        text += &line("00000x", "5", 1);
        text = text.replacen(&line("00002", "", 2), &line("00002", "5", 2), 1);
        text = text.replacen(&line("00003", "", 3), &line("00003", "5", 3), 1);
        text = text.replacen(&line("00004", "", 4), &line("00004", "5", 4), 1);
        // Different, equal, newer, older, undecided, and new ones.
        text += &line("00000", "", 7);
        text += &line("00001", "", 1);
        text += &line("00002", "6", 7);
        text += &line("00003", "4", 7);
        text += &line("00004", "", 7);
        text += &line("00001b", "5", 7);
        let source = Source::stream("in", Box::new(Cursor::new(text)));
        let options = ImportOptions { memory_bytes: 100_000, file_bytes: Some(50_000), ..ImportOptions::default() };
        let report = engine.entities().import_blocking("Tab", vec![source], &options).expect("imports");
        let counts = (report.duplicates, report.superseded, report.conflicting, report.rejected);
        assert_eq!(counts, (1, 2, 2, 2), "{:?}", report.rejects);
        let replaced = u64::from(stored);
        assert_eq!((report.inserted, report.replaced, report.unchanged), (ROWS as u64 + 2 - replaced, replaced, 0));
        let reasons: Vec<String> = report.rejects.iter().map(ToString::to_string).collect();
        assert!(
            reasons[0].starts_with("in:60002: an entity before has the same key (\"p\", \"00000\")"),
            "{reasons:?}"
        );
        assert!(reasons[1].starts_with("in:60006: another entity has the same key (\"p\", \"00004\")"), "{reasons:?}");
        let found = entities(&engine, "Tab").expect("a table");
        let value = |row: &str| found.iter().find(|entity| entity.key.row == row).and_then(|entity| entity.get("N"));
        for (row, n) in
            [("00000", 7), ("00001", 1), ("00002", 7), ("00003", 3), ("00004", 4), ("00001b", 7), ("00000x", 1)]
        {
            assert_eq!(value(row), Some(&Value::Int32(n)), "{row}");
        }
        assert_eq!(found.len() as u64, ROWS as u64 + 2 + u64::from(stored));
        assert_eq!(report.stored, found.len() as u64);

        // A strict one leaves nothing behind.
        let before = run_files();
        let again: String = (0..ROWS).map(|row| line(&format!("{row:05}"), "", row + 1)).collect();
        let source = Source::stream("in", Box::new(Cursor::new(again + &line("00000", "", 7))));
        let error = engine
            .entities()
            .import_blocking("Tab", vec![source], &ImportOptions { strict: true, ..options })
            .expect_err("refused");
        assert!(error.to_string().contains("1 entity shares its key"), "{error}");
        assert!(run_files().is_subset(&before));
        assert_eq!(entities(&engine, "Tab").as_ref(), Some(&found));
    }
}

#[test]
fn places_of_what_is_lost_are_those_of_the_format() {
    for (text, place) in [
        (
            "[{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"N\":1},\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"N\":2}]",
            "in:1: the entity at in:2",
        ),
        (
            "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"N\":2}",
            "in:1: the entity at in:3",
        ),
        ("PartitionKey,RowKey,N\np,r,\"a\nb\"\np,r,x\n", "in:2: the entity at in:4"),
    ] {
        let engine = open(Arc::new(MemoryStore::new())).expect("opens");
        let source = Source::stream("in", Box::new(Cursor::new(text)));
        let report =
            engine.entities().import_blocking("Tab", vec![source], &ImportOptions::default()).expect("imports");
        assert!(report.rejects.iter().any(|reject| reject.to_string().starts_with(place)), "{:?}", report.rejects);
    }
    // Each of several inputs by its name.
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let sources = ["a", "b"]
        .map(|name| Source::stream(name, Box::new(Cursor::new(format!("PartitionKey,RowKey,N\np,q,\np,r,{name}\n")))));
    let report = engine.entities().import_blocking("Tab", sources.into(), &ImportOptions::default()).expect("imports");
    assert!(report.rejects[0].to_string().starts_with("a:3: the entity at b:3 has"), "{:?}", report.rejects);
    assert_eq!((report.duplicates, report.conflicting), (1, 1));
}

#[test]
fn advice_comes_from_all_values_of_all_inputs() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let advice = |texts: &[String], types: &str| {
        let sources = texts
            .iter()
            .enumerate()
            .map(|(at, text)| Source::stream(format!("in{at}"), Box::new(Cursor::new(text.clone()))));
        let types = PropertyTypes::parse(types).expect("types");
        let options = ImportOptions { types, ..ImportOptions::default() };
        let report = engine.entities().import_blocking("Advised", sources.collect(), &options).expect("imports");
        let looks =
            report.assumed.iter().filter_map(|assumed| Some((assumed.property.to_string(), assumed.looks_like?)));
        (looks.collect::<Vec<_>>(), report.rejected)
    };
    let named = |looks: &[(&str, EdmType)]| {
        looks.iter().map(|(name, edm_type)| ((*name).to_owned(), *edm_type)).collect::<Vec<_>>()
    };
    // A value that contradicts, a wider one, and a property, all of them late.
    let csv = |from: usize, rows: usize, late: &str| {
        let rows: String = (from..from + rows).map(|row| format!("p,{row:06},{row},{row},{row},\n")).collect();
        format!("PartitionKey,RowKey,A,B,C,D\n{rows}{late}")
    };
    let late = csv(0, 500, "p,900000,n/a,5000000000,0.5,true\n");
    let expected = named(&[("B", EdmType::Int64), ("C", EdmType::Double), ("D", EdmType::Boolean)]);
    assert_eq!(advice(std::slice::from_ref(&late), ""), (expected.clone(), 0));
    // Taking the advice rejects nothing.
    assert_eq!(advice(&[late], "B=Int64,C=Double,D=Boolean").1, 0);
    // The same in another input.
    assert_eq!(advice(&[csv(0, 10, ""), csv(10, 10, "p,900000,n/a,5000000000,0.5,true\n")], "").0, expected);
    // Numbers of JSON in two pages.
    let page = |row: u32, n: &str| format!("[{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",\"D\":{n}}}]");
    assert_eq!(advice(&[page(1, "1"), page(2, "1.5")], "").0, named(&[("D", EdmType::Double)]));
    assert_eq!(advice(&[page(1, "9007199254740993"), page(2, "1.5")], "").0, []);
}

#[test]
fn a_double_is_made_of_the_integers_that_it_holds() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let types = || PropertyTypes::parse("D=Edm.Double").expect("types");
    let numbers = ["9007199254740994", "1e22", "18014398509481984", "9007199254740993"];
    let objects = |keys: [&str; 2]| {
        let object = |(row, number): (usize, &&str)| {
            format!("{{\"{}\":\"p\",\"{}\":\"{row}\",\"D\":{number}}}", keys[0], keys[1])
        };
        format!("[{}]", numbers.iter().enumerate().map(object).collect::<Vec<_>>().join(","))
    };
    let csv = |keys: &str| {
        let line = |(row, number): (usize, &&str)| format!("p,{row},{number}\n");
        format!("{keys},D\n{}", numbers.iter().enumerate().map(line).collect::<String>())
    };
    let text = objects(["PartitionKey", "RowKey"]).replace("\"D\":", "\"D\":\"").replace('}', "\"}");
    for (at, text) in [
        objects(["PartitionKey", "RowKey"]),
        // What the Python SDK writes, and what the JavaScript SDK does.
        objects(["PartitionKey", "RowKey"]).replace("\"D\":", "\"E\":\"b'x'\",\"D\":"),
        objects(["partitionKey", "rowKey"]).replace("\"D\":", "\"etag\":\"x\",\"D\":"),
        text,
        csv("PartitionKey,RowKey"),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("Table{at}");
        let options = ImportOptions { types: types(), ..ImportOptions::default() };
        let source = Source::stream("in", Box::new(Cursor::new(text.clone())));
        let report = engine.entities().import_blocking(&table, vec![source], &options).expect("imports");
        let found = entities(&engine, &table).expect("a table");
        let doubles: Vec<_> = found.iter().map(|entity| entity.get("D").cloned()).collect();
        let expected =
            [9_007_199_254_740_994.0, 1e22, 18_014_398_509_481_984.0].map(|double| Some(Value::Double(double)));
        assert_eq!(doubles, expected, "{text}");
        assert!(report.rejects[0].reason.contains("no Double without loss"), "{:?}", report.rejects);
    }
}

#[test]
fn a_binary_too_long_for_a_text_is_told() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let base64 = Value::Binary(vec![7; 60_000]).to_string();
    for text in [
        format!("PartitionKey,RowKey,B\np,r,{base64}\n"),
        format!("[{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"B\":\"{base64}\"}}]"),
    ] {
        let report = import(&engine, "Binaries", &text, 4000).expect("imports");
        assert!(report.rejects[0].reason.contains("--types B=Edm.Binary"), "{}", report.rejects[0]);
        let source = Source::stream("in", Box::new(Cursor::new(text)));
        let types = PropertyTypes::parse("B=Edm.Binary").expect("types");
        let report = engine.entities().import_blocking(
            "Typed",
            vec![source],
            &ImportOptions { types, ..ImportOptions::default() },
        );
        assert_eq!(report.expect("imports").rejected, 0);
    }
    assert_eq!(entities(&engine, "Typed").expect("a table")[0].get("B"), Some(&Value::Binary(vec![7; 60_000])));
}
