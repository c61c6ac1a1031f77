//! What is exported is imported again as it was: value for value, type for type, tick for tick.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::TryStreamExt;
use rowkey::formats::{Compression, Destination, ExportFormat, Layout, Source};
use rowkey::model::{DateTime, EdmType, Entity, EntityBuilder, Key, KeyRange, Value};
use rowkey::{Database, ExportOptions, ExportReport, ImportOptions, ImportReport, Selection};
use rowkey_base::testing::{Dice, Scratch};

use crate::exports::entities::{Random, lines};

const TYPED: [ExportFormat; 4] =
    [ExportFormat::Parquet, ExportFormat::TypedCsv, ExportFormat::ServiceJson, ExportFormat::NdJson];

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(8 << 20)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(future)
}

async fn import(db: &Database, table: &str, source: Source, file_bytes: usize) -> ImportReport {
    let options = ImportOptions { file_bytes: Some(file_bytes), ..ImportOptions::default() };
    let report = db.import(table, vec![source], &options).await.expect("imports");
    assert_eq!(report.rejected, 0, "{:?}", report.rejects);
    report
}

async fn import_lines(db: &Database, table: &str, entities: &[Entity], file_bytes: usize) {
    let source = Source::stream("lines.ndjson", Box::new(Cursor::new(lines(entities).into_bytes())));
    import(db, table, source, file_bytes).await;
}

async fn all(db: &Database, table: &str) -> Vec<Entity> {
    db.table(table).expect("a table").range(KeyRange::all()).try_collect().await.expect("entities")
}

fn same(found: &[Entity], expected: &[Entity], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// Every file below a folder, in the order of their paths.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() { open.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    files
}

/// Exports in every typed format and layout, imports each, and compares.
async fn goes_round(db: &Database, table: &str, selection: &Selection, expected: &[Entity], what: &str) {
    let scratch = Scratch::new("exports").expect("a folder");
    for format in TYPED {
        let what = format!("{what}, {}", format.name());
        let path = scratch.path().join(format!("whole.{}", format.name()));
        let report = db.export(table, selection, &ExportOptions::new(format), Destination::Path(path.clone())).await;
        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((report.entities, report.files), (expected.len() as u64, 1), "{what}");
        assert_eq!(report.bytes, std::fs::metadata(&path).expect("a file").len(), "{what}");
        let into = Database::open(":memory:").await.expect("opens");
        let imported = import(&into, "Again", Source::file(&path).expect("opens"), 20_000).await;
        assert_eq!(imported.entities, expected.len() as u64, "{what}");
        same(&all(&into, "Again").await, expected, &what);
        // Again into the table that it came from: nothing differs.
        let again = import(db, table, Source::file(&path).expect("opens"), 20_000).await;
        assert_eq!((again.inserted, again.replaced, again.unchanged), (0, 0, expected.len() as u64), "{what}");
    }
    for (format, layout) in
        [(ExportFormat::ServiceJson, Layout::Pages), (ExportFormat::Parquet, Layout::ByPartitionKey)]
    {
        let what = format!("{what}, {layout:?}");
        let path = scratch.path().join(format!("{layout:?}"));
        let options = ExportOptions { layout, ..ExportOptions::new(format) };
        let report = db.export(table, selection, &options, Destination::Path(path.clone())).await;
        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
        let files = files_below(&path);
        assert_eq!((report.entities, report.files), (expected.len() as u64, files.len() as u64), "{what}");
        let into = Database::open(":memory:").await.expect("opens");
        let sources = files.iter().map(|file| Source::file(file).expect("opens")).collect();
        into.import("Again", sources, &ImportOptions::default())
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        same(&all(&into, "Again").await, expected, &what);
    }
    assert_eq!(std::fs::read_dir(scratch.path()).expect("a folder").count(), 6, "nothing is left beside the exports");
}

#[test]
fn every_typed_format_gives_back_what_it_got() {
    for seed in 0..6 {
        let mut random = Random(Dice(seed));
        let (count, properties) = [(0, 0), (1, 0), (60, 0), (300, 260), (1300, 0), (400, 700)][seed as usize % 6];
        let entities = random.entities(count, properties);
        run(async {
            let db = Database::open(":memory:").await.expect("opens");
            let file_bytes = if random.0.chance(2) { 1 << 20 } else { 4000 };
            import_lines(&db, "Things", &entities, file_bytes).await;
            same(&all(&db, "Things").await, &entities, &format!("seed {seed}: the import before"));
            goes_round(&db, "Things", &Selection::All, &entities, &format!("seed {seed}")).await;
        });
    }
}

#[test]
fn recent_writes_and_deletions_are_exported() {
    for seed in 100..106 {
        let mut random = Random(Dice(seed));
        let entities = random.entities(200, 0);
        run(async {
            let db = Database::open(":memory:").await.expect("opens");
            import_lines(&db, "Things", &entities, 4000).await;
            let table = db.table("Things").expect("a table");
            // What was written at the end of time cannot be written again.
            for entity in entities.iter().filter(|entity| entity.timestamp < DateTime::from_ticks(1 << 60)) {
                let edm = random.edm();
                let changed = EntityBuilder::new(entity.key.clone()).property("Changed", random.value(edm));
                match random.0.below(5) {
                    0 => {
                        let key = &entity.key;
                        table.delete(&key.partition, &key.row, rowkey::IfMatch::Any).await.expect("deletes");
                    }
                    1 => {
                        let changed = changed.build().expect("an entity");
                        table.replace(&changed, rowkey::IfMatch::Any).await.expect("replaces");
                    }
                    2 => {
                        let changed = changed.build().expect("an entity");
                        table.merge(&changed, rowkey::IfMatch::Any).await.expect("merges");
                    }
                    _ => {}
                }
            }
            let added = EntityBuilder::new(Key::new("new", "1")).property("OnlyHere", 1).build().expect("an entity");
            table.insert(&added).await.expect("inserts");
            if random.0.chance(2) {
                let folded = table.clone();
                folded.vacuum(false).await.expect("folds");
            }
            let expected = all(&db, "Things").await;
            assert!(expected.len() < entities.len() && expected.iter().any(|entity| entity.get("OnlyHere").is_some()));
            let scratch = Scratch::new("recent").expect("a folder");
            for format in TYPED {
                let path = scratch.path().join(format.name());
                let options = ExportOptions::new(format);
                db.export("Things", &Selection::All, &options, Destination::Path(path.clone())).await.expect("exports");
                let into = Database::open(":memory:").await.expect("opens");
                import(&into, "Again", Source::file(&path).expect("opens"), 20_000).await;
                same(&all(&into, "Again").await, &expected, &format!("seed {seed}, {}", format.name()));
            }
        });
    }
}

#[test]
fn ranges_and_conditions_are_exact_entities() {
    let mut random = Random(Dice(7));
    let entities = random.entities(900, 0);
    run(async {
        let db = Database::open(":memory:").await.expect("opens");
        import_lines(&db, "Order", &entities, 8000).await;
        let of = |wanted: &dyn Fn(&Entity) -> bool| {
            entities.iter().filter(|entity| wanted(entity)).cloned().collect::<Vec<_>>()
        };
        let partition = of(&|entity| entity.key.partition == "p3");
        assert!(partition.len() > 50);
        goes_round(&db, "Order", &Selection::Range(KeyRange::partition("p3")), &partition, "a partition").await;
        type Wanted<'a> = &'a dyn Fn(&Entity) -> bool;
        let in_p3: Wanted<'_> = &|entity| entity.key.partition == "p3";
        let least: Wanted<'_> = &|entity| entity.get("OfInt32") == Some(&Value::Int32(i32::MIN));
        let many: Wanted<'_> = &|entity| entity.get("OfString").is_none() || entity.key.row.as_str() >= "00500";
        for (condition, wanted) in [
            ("\"PartitionKey\" = 'p3' -- a comment", in_p3),
            ("ofint32 = -2147483648", least),
            ("ofstring IS NULL OR rowkey >= '00500'", many),
            ("false", &|_| false),
        ] {
            let expected = of(wanted);
            goes_round(&db, "order", &Selection::Where(condition.to_owned()), &expected, condition).await;
        }
        // The columns are those of what is exported alone.
        let late = Selection::Range(KeyRange::point(entities[0].key.clone()));
        let text = text_of(&db, "Order", &late, &ExportOptions::new(ExportFormat::TypedCsv)).await;
        let header = text.lines().next().expect("a header");
        assert_eq!(header.split(',').count(), 3 + 2 * entities[0].properties().count(), "{header}");
        let wrong = db
            .export(
                "Order",
                &Selection::Where("nosuch = 1".to_owned()),
                &ExportOptions::new(ExportFormat::NdJson),
                nowhere().1,
            )
            .await;
        assert!(wrong.expect_err("no such column").to_string().contains("nosuch"));
    });
}

/// A stream that can be looked at.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(content);
        Ok(content.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn nowhere() -> (Kept, Destination) {
    let kept = Kept::default();
    (kept.clone(), Destination::Stream("nowhere".into(), Box::new(kept)))
}

async fn bytes_of(
    db: &Database,
    table: &str,
    selection: &Selection,
    options: &ExportOptions,
) -> (Vec<u8>, ExportReport) {
    let (kept, destination) = nowhere();
    let report = db.export(table, selection, options, destination).await.expect("exports");
    let bytes = kept.0.lock().expect("no panic").clone();
    assert_eq!(report.bytes, bytes.len() as u64);
    (bytes, report)
}

async fn text_of(db: &Database, table: &str, selection: &Selection, options: &ExportOptions) -> String {
    String::from_utf8(bytes_of(db, table, selection, options).await.0).expect("text")
}

const TWO: &str = r#"{"PartitionKey":"eu","RowKey":"0'1","Timestamp":"2024-05-01T08:00:00.1234567Z","Qty":3,"Price":12.0,"Note":"a \"b\"","Big@odata.type":"Edm.Int64","Big":"9007199254740993","At@odata.type":"Edm.DateTime","At":"2024-04-30T23:59:59Z","Raw@odata.type":"Edm.Binary","Raw":"AAH+/w==","Bad@odata.type":"Edm.Double","Bad":"NaN"}
{"PartitionKey":"eu","RowKey":"2","Timestamp":"2024-05-01T08:00:01Z","Qty":"three","Note":"","Paid":true}
"#;

#[test]
fn the_text_of_each_format() {
    run(async {
        let db = Database::open(":memory:").await.expect("opens");
        import(&db, "Orders", Source::stream("two", Box::new(TWO.as_bytes())), 1 << 20).await;
        let text = async |format| text_of(&db, "Orders", &Selection::All, &ExportOptions::new(format)).await;
        assert_eq!(
            text(ExportFormat::TypedCsv).await,
            "PartitionKey,RowKey,Timestamp,At,At@type,Bad,Bad@type,Big,Big@type,Note,Note@type,Paid,Paid@type,Price,Price@type,\
             Qty,Qty@type,Raw,Raw@type\n\
             eu,0'1,2024-05-01T08:00:00.1234567Z,2024-04-30T23:59:59.0000000Z,DateTime,NaN,Double,9007199254740993,Int64,\
             \"a \"\"b\"\"\",String,,,12.0,Double,3,Int32,AAH+/w==,Binary\n\
             eu,2,2024-05-01T08:00:01.0000000Z,,,,,,,,String,true,Boolean,,,three,String,,\n"
        );
        assert_eq!(
            text(ExportFormat::NdJson).await,
            concat!(
                r#"{"PartitionKey":"eu","RowKey":"0'1","Timestamp":"2024-05-01T08:00:00.1234567Z","At@odata.type":"Edm.DateTime","#,
                r#""At":"2024-04-30T23:59:59Z","Bad@odata.type":"Edm.Double","Bad":"NaN","Big@odata.type":"Edm.Int64","#,
                r#""Big":"9007199254740993","Note":"a \"b\"","Price":12.0,"Qty":3,"Raw@odata.type":"Edm.Binary","Raw":"AAH+/w=="}"#,
                "\n",
                r#"{"PartitionKey":"eu","RowKey":"2","Timestamp":"2024-05-01T08:00:01Z","Note":"","Paid":true,"Qty":"three"}"#,
                "\n",
            )
        );
        let json = text(ExportFormat::ServiceJson).await;
        let page: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let account = "https://devstoreaccount1.table.core.windows.net/";
        assert_eq!(page["odata.metadata"], format!("{account}$metadata#Orders"));
        let first = &page["value"][0];
        assert_eq!(first["odata.type"], "devstoreaccount1.Orders");
        assert_eq!(first["odata.id"], format!("{account}Orders(PartitionKey='eu',RowKey='0''1')"));
        assert_eq!(first["odata.etag"], "W/\"datetime'2024-05-01T08%3A00%3A00.1234567Z'\"");
        assert_eq!(first["odata.editLink"], "Orders(PartitionKey='eu',RowKey='0''1')");
        assert_eq!(first["Timestamp@odata.type"], "Edm.DateTime");
        assert_eq!(page["value"].as_array().map(Vec::len), Some(2));
        let (plain, report) =
            bytes_of(&db, "Orders", &Selection::All, &ExportOptions::new(ExportFormat::PlainCsv)).await;
        assert_eq!(
            String::from_utf8(plain).expect("text"),
            "PartitionKey,RowKey,Timestamp,At,Bad,Big,Note,Paid,Price,Qty,Raw\n\
             eu,0'1,2024-05-01T08:00:00.1234567Z,2024-04-30T23:59:59Z,NaN,9007199254740993,\"a \"\"b\"\"\",,12.0,3,AAH+/w==\n\
             eu,2,2024-05-01T08:00:01Z,,,,\"\",true,,three,\n"
        );
        assert!(report.notes.iter().any(|note| note.contains("no types")), "{:?}", report.notes);
        assert!(report.notes.iter().any(|note| note.ends_with(": Qty")), "{:?}", report.notes);
    });
}

#[test]
fn compressed_text_is_the_same_text() {
    run(async {
        let db = Database::open(":memory:").await.expect("opens");
        import_lines(&db, "Things", &Random(Dice(3)).entities(500, 0), 1 << 20).await;
        for format in [ExportFormat::TypedCsv, ExportFormat::ServiceJson, ExportFormat::NdJson, ExportFormat::PlainCsv]
        {
            let plain = text_of(&db, "Things", &Selection::All, &ExportOptions::new(format)).await;
            for compression in Compression::ALL {
                let options = ExportOptions { compression: Some(compression), ..ExportOptions::new(format) };
                let (packed, _) = bytes_of(&db, "Things", &Selection::All, &options).await;
                let mut unpacked = String::new();
                match compression {
                    Compression::Gzip => {
                        flate2::read::GzDecoder::new(&*packed).read_to_string(&mut unpacked).expect("gzip")
                    }
                    Compression::Zstd => {
                        zstd::Decoder::new(&*packed).expect("zstd").read_to_string(&mut unpacked).expect("zstd")
                    }
                };
                assert!(packed.len() < plain.len());
                assert_eq!(unpacked, plain, "{format:?} {compression:?}");
            }
        }
    });
}

#[test]
fn rows_of_queries() {
    run(async {
        let db = Database::open(":memory:").await.expect("opens");
        import(&db, "Orders", Source::stream("two", Box::new(TWO.as_bytes())), 1 << 20).await;
        let query = async |query: &str, format| {
            let (kept, destination) = nowhere();
            let exported = db.export_query(query, &ExportOptions::new(format), destination).await;
            exported.map(|_| kept.0.lock().expect("no panic").clone())
        };
        let sums = "SELECT rowkey AS k, big + 0 AS b, at, 1.50::numeric AS n, bad, NULL::text AS nothing FROM orders ORDER BY 1";
        let lines = query(sums, ExportFormat::NdJson).await.expect("exports");
        assert_eq!(
            String::from_utf8(lines).expect("text"),
            concat!(
                r#"{"k":"0'1","b":9007199254740993,"At":"2024-04-30T23:59:59+00:00","n":1.50,"Bad":"NaN","nothing":null}"#,
                "\n",
                r#"{"k":"2","b":null,"At":null,"n":1.50,"Bad":null,"nothing":null}"#,
                "\n",
            )
        );
        let csv = query(sums, ExportFormat::PlainCsv).await.expect("exports");
        assert_eq!(
            String::from_utf8(csv).expect("text"),
            "k,b,At,n,Bad,nothing\n0'1,9007199254740993,2024-04-30 23:59:59+00,1.50,NaN,\n2,,,1.50,,\n"
        );
        let parquet = query(sums, ExportFormat::Parquet).await.expect("exports");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        let error = query(sums, ExportFormat::TypedCsv).await.expect_err("no keys").to_string();
        assert_eq!(error, "the query has no column \"PartitionKey\", and the format holds entities");
        let entities = r#"SELECT "PartitionKey", "RowKey", big AS "Big", at AS "At", raw AS "Raw" FROM orders"#;
        for format in TYPED.into_iter().filter(|format| *format != ExportFormat::NdJson) {
            let bytes = query(entities, format).await.expect("exports");
            let scratch = Scratch::new("query").expect("a folder");
            let path = scratch.path().join("query");
            std::fs::write(&path, bytes).expect("writes");
            let into = Database::open(":memory:").await.expect("opens");
            import(&into, "Again", Source::file(&path).expect("opens"), 1 << 20).await;
            let again = all(&into, "Again").await;
            assert_eq!(again[0].get("Big"), Some(&Value::Int64(9_007_199_254_740_993)), "{format:?}");
            assert_eq!(again[0].get("At").map(Value::edm_type), Some(EdmType::DateTime), "{format:?}");
            assert_eq!(again[0].get("Raw"), Some(&Value::Binary(vec![0, 1, 0xfe, 0xff])), "{format:?}");
            assert_eq!((again.len(), again[1].properties().count()), (2, 0), "{format:?}");
        }
    });
}
