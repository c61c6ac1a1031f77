//! Every export in `data/` gives the entities of the table that it was made of (`make.sh` says
//! how), value for value and type for type; what a format loses is said beside it. Then each of
//! them is damaged at random, which never makes a reader panic.

mod command;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use rowkey::formats::{Manifest, PropertyTypes, Source, WarningKind};
use rowkey::model::{Entity, KeyRange};
use rowkey::{Database, ImportOptions, ImportReport};
use rowkey_base::testing::Dice;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/data")
}

/// What a format keeps.
struct Case {
    path: &'static str,
    /// Types that it does not name.
    types: &'static str,
    /// Digits of the second that its Timestamp has; 0 where there is none.
    timestamp_digits: usize,
    /// Entities of the table that it cannot hold.
    without: &'static [(&'static str, &'static str)],
}

const UNTYPED_TEXTS: &str = "At=DateTime,Big=Int64,Raw=Binary,Ref=Guid";
const ALL_UNTYPED: &str = "At=DateTime,Big=Int64,Count=Int32,Paid=Boolean,Price=Double,Raw=Binary,Ref=Guid";

const fn case(path: &'static str, types: &'static str, timestamp_digits: usize) -> Case {
    Case { path, types, timestamp_digits, without: &[] }
}

const CASES: [Case; 25] = [
    case("rest-minimalmetadata.json", "", 7),
    case("rest-fullmetadata.json", "", 7),
    case("rest-nometadata.json", UNTYPED_TEXTS, 7),
    case("az.json", UNTYPED_TEXTS, 7),
    case("python.json", "Ref=Guid", 0),
    case("pandas.csv", ALL_UNTYPED, 0),
    case("pandas.parquet", "Count=Int32,Ref=Guid", 0),
    case("pandas-int96.parquet", "Count=Int32,Ref=Guid", 0),
    case("pandas-crc.parquet", "Count=Int32,Ref=Guid", 0),
    case("js.json", "At=DateTime,Big=Int64,Price=Double", 7),
    case("js-no-conversion.json", "Price=Double", 7),
    case("azure-storage.json", "Price=Double", 7),
    case("explorer-1.9.csv", "", 3),
    case("explorer-1.12.csv", "", 3),
    case("explorer-1.30.csv", "", 7),
    case("explorer-1.40.csv", "", 7),
    case("untyped-utf16.csv", ALL_UNTYPED, 7),
    case("untyped-cr.csv", ALL_UNTYPED, 7),
    case("azcopy/devstoreaccount1_Canon_20190304T050607.1234567Z.manifest", "", 7),
    case("azcopy-csv/devstoreaccount1_Canon_20190304T050607.1234567Z.manifest", "", 7),
    case("corehelpers.json.gz", "", 0),
    case("Canon_Backup_20240501080000.txt.7z", "Raw=Binary", 7),
    Case { path: "archiver/Canon", types: "", timestamp_digits: 0, without: &[("", "")] },
    case("dmt.json", "At=DateTime,Big=Int64,Price=Double,Ref=Guid", 7),
    case("az-truncated.json", UNTYPED_TEXTS, 7),
];

fn sources(path: &Path) -> Outcome<Vec<Source>> {
    if path.is_dir() {
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(path)? {
            paths.push(entry?.path());
        }
        paths.sort();
        let nested = paths.iter().map(|path| sources(path)).collect::<Outcome<Vec<_>>>()?;
        return Ok(nested.into_iter().flatten().collect());
    }
    if Manifest::is_named(path) {
        return Ok(Manifest::read(path)?.sources);
    }
    Ok(vec![Source::file(path)?])
}

/// Entities by PartitionKey and RowKey.
type Entities = BTreeMap<(String, String), Entity>;

fn import(sources: Vec<Source>, options: ImportOptions) -> Outcome<(ImportReport, Entities)> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let database = runtime.block_on(Database::open(":memory:"))?;
    let report = runtime.block_on(database.import("Canon", sources, &options))?;
    let table = database.table("Canon")?;
    let entities: Vec<Entity> = runtime.block_on(table.range(KeyRange::all()).try_collect())?;
    let keyed = entities.into_iter().map(|entity| ((entity.key.partition.clone(), entity.key.row.clone()), entity));
    Ok((report, keyed.collect()))
}

fn described(entity: &Entity) -> Vec<String> {
    entity.properties().map(|(name, value)| format!("{name}: {} {value}", value.edm_type())).collect()
}

#[test]
fn every_export_gives_the_same_entities() -> Outcome<()> {
    let (_, canon) = import(sources(&data().join("rest-minimalmetadata.json"))?, ImportOptions::default())?;
    assert_eq!(canon.len(), 5);
    let types: std::collections::BTreeSet<String> =
        canon.values().flat_map(|entity| entity.properties().map(|(_, value)| value.edm_type().to_string())).collect();
    assert_eq!(types.len(), 8, "{types:?}");
    for case in &CASES {
        let options = ImportOptions { types: PropertyTypes::parse(case.types)?, ..ImportOptions::default() };
        let (report, entities) =
            import(sources(&data().join(case.path))?, options).map_err(|error| format!("{}: {error}", case.path))?;
        assert_eq!(report.rejected, 0, "{}: {:?}", case.path, report.rejects);
        let truncated = report.warnings.iter().any(|warning| warning.kind == WarningKind::Truncated);
        if case.path == "az-truncated.json" {
            assert!(truncated && entities.len() == 2, "{:?}", report.warnings);
        } else {
            assert_eq!(truncated, case.path.starts_with("azcopy-csv"), "{}: {:?}", case.path, report.warnings);
            assert_eq!(entities.len() + case.without.len(), canon.len(), "{}", case.path);
        }
        for (key, entity) in &entities {
            let expected = canon.get(key).ok_or_else(|| format!("{}: {key:?} is no key of the table", case.path))?;
            assert_eq!(described(entity), described(expected), "{}: {key:?}", case.path);
            let unit = 10_i64.pow(7 - case.timestamp_digits as u32);
            if case.timestamp_digits > 0 {
                let (at, expected) = (entity.timestamp.ticks() / unit, expected.timestamp.ticks() / unit);
                assert_eq!(at, expected, "{}: the Timestamp of {key:?}", case.path);
            }
        }
    }
    Ok(())
}

#[test]
fn types_that_are_not_named_are_offered() -> Outcome<()> {
    for (path, offered) in [
        ("rest-nometadata.json", "At=DateTime,Big=Int64,Raw=Binary,Ref=Guid"),
        ("az.json", "At=DateTime,Raw=Binary,Ref=Guid"),
        ("untyped-cr.csv", "At=DateTime,Big=Int64,Count=Int32,Paid=Boolean,Price=Double,Raw=Binary,Ref=Guid"),
        ("rest-minimalmetadata.json", ""),
        ("explorer-1.9.csv", ""),
    ] {
        let (report, _) = import(sources(&data().join(path))?, ImportOptions::default())?;
        let looks: Vec<String> = report
            .assumed
            .iter()
            .filter_map(|assumed| Some(format!("{}={}", assumed.property, assumed.looks_like?)))
            .collect();
        assert_eq!(looks.join(","), offered, "{path}");
    }
    Ok(())
}

#[test]
fn strict_since_and_dry_runs() -> Outcome<()> {
    let strict = ImportOptions { strict: true, ..ImportOptions::default() };
    for path in ["az-truncated.json", "azcopy-csv/devstoreaccount1_Canon_20190304T050607.1234567Z.manifest"] {
        assert!(import(sources(&data().join(path))?, strict.clone()).is_err(), "{path}");
    }
    let (_, canon) = import(sources(&data().join("rest-minimalmetadata.json"))?, strict)?;
    let mut times: Vec<_> = canon.values().map(|entity| entity.timestamp).collect();
    times.sort();
    let since = ImportOptions { since: Some(times[2]), ..ImportOptions::default() };
    let (report, entities) = import(sources(&data().join("rest-minimalmetadata.json"))?, since)?;
    assert_eq!((report.before_since, report.inserted, entities.len()), (2, 3, 3));

    let runtime = tokio::runtime::Runtime::new()?;
    let database = runtime.block_on(Database::open(":memory:"))?;
    let dry = ImportOptions { dry_run: true, ..ImportOptions::default() };
    let path = data().join("rest-minimalmetadata.json");
    let report = runtime.block_on(database.import("Canon", sources(&path)?, &dry))?;
    assert_eq!((report.inserted, report.stored, database.tables().len()), (5, 5, 0));
    let written = runtime.block_on(database.import("Canon", sources(&path)?, &ImportOptions::default()))?;
    let named = |report: &ImportReport| {
        let mut properties = report.properties.clone();
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        properties
    };
    assert_eq!(named(&report), named(&written));
    let again = runtime.block_on(database.import("Canon", sources(&path)?, &dry))?;
    assert_eq!((again.inserted, again.unchanged, again.stored), (0, 5, 5));
    Ok(())
}

#[test]
fn cut_dumps_and_answers_that_are_errors_are_told() -> Outcome<()> {
    let read = |text: &'static str| {
        import(vec![Source::stream("in", Box::new(std::io::Cursor::new(text)))], ImportOptions::default())
    };
    let lines = "{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"x\":1}\n{\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"x";
    let csv = "PartitionKey,RowKey,Timestamp,A,A@type\na,1,,5,Edm.Int32\na,2,,";
    for text in [lines, csv] {
        let (report, found) = read(text)?;
        assert_eq!((found.len(), report.rejected), (1, 1), "{text}");
        assert!(report.warnings.iter().any(|warning| warning.kind == WarningKind::Truncated), "{text}: {report:?}");
    }
    let error = r#"{"odata.error":{"code":"AuthenticationFailed","message":{"lang":"en","value":"no"}}}"#;
    assert_eq!(read(error)?.0.rejected, 1);
    Ok(())
}

#[test]
fn keys_are_made_of_columns_and_rejects_are_imported_again() -> Outcome<()> {
    use rowkey::formats::{KeyColumns, KeyTemplate, RejectsFile};
    let keys =
        KeyColumns { partition: Some(KeyTemplate::parse("{Country}-{City}")?), row: Some(KeyTemplate::parse("Id")?) };
    let csv = "Country;City;Id;N\nde;K\u{f6}ln;1;5\nde;Bonn;2;x\nfr;a/b;3;7\n";
    let ndjson = "{\"Country\":\"de\",\"City\":\"K\u{f6}ln\",\"Id\":1,\"N\":\"5\"}\n";
    for (text, expected) in [(csv, 1), (ndjson, 1)] {
        let path = std::env::temp_dir().join(format!("rowkey-rejects-{}.ndjson", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let options = ImportOptions {
            keys: keys.clone(),
            types: PropertyTypes::parse("N=Int64")?,
            rejects: Some(std::sync::Arc::new(RejectsFile::new(&path)?)),
            ..ImportOptions::default()
        };
        let source = Source::stream("in", Box::new(std::io::Cursor::new(text.to_owned())));
        let (report, entities) = import(vec![source], options.clone())?;
        assert_eq!(entities.len(), expected);
        let entity = &entities[&("de-K\u{f6}ln".to_owned(), "1".to_owned())];
        assert_eq!(described(entity), ["City: String K\u{f6}ln", "Country: String de", "N: Int64 5"]);
        if report.rejected == 0 {
            continue;
        }
        assert_eq!(report.rejected, 2);
        let written = std::fs::read_to_string(&path)?;
        let mended = written.replace("\"N\":\"x\"", "\"N\":\"6\"").replace("a/b", "ab");
        let source = Source::stream("mended", Box::new(std::io::Cursor::new(mended)));
        let (report, entities) = import(vec![source], ImportOptions { rejects: None, ..options })?;
        assert_eq!((report.rejected, entities.len()), (0, 2), "{:?}\n{written}", report.rejects);
        assert!(entities.contains_key(&("fr-ab".to_owned(), "3".to_owned())));
        std::fs::remove_file(&path)?;
    }
    Ok(())
}

#[test]
fn checksums_of_parquet_pages_are_verified() -> Outcome<()> {
    let mut bytes = std::fs::read(data().join("pandas-crc.parquet"))?;
    let read = |bytes: &[u8]| {
        let source = Source::stream("crc.parquet", Box::new(std::io::Cursor::new(bytes.to_vec())));
        import(vec![source], ImportOptions::default())
            .map(|(report, _)| report.entities)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&bytes), Ok(5));
    // In the page of texts; later on the text is in statistics, which are not read.
    let at = bytes.windows(9).position(|text| text == b"only here").ok_or("the text is gone")?;
    bytes[at] ^= 1;
    let error = read(&bytes).expect_err("a page is damaged");
    assert!(error.contains("crc.parquet") && error.contains("checksum mismatch"), "{error}");
    Ok(())
}

/// What could not be taken apart is in the file of rejects as it was, and stays a reject until it
/// is mended.
#[test]
fn rejected_lines_are_rejected_again() -> Outcome<()> {
    use rowkey::formats::{KeyColumns, KeyTemplate, RejectsFile};
    let own = KeyColumns { partition: Some(KeyTemplate::parse("PartitionKey")?), row: None };
    for keys in [KeyColumns::default(), own] {
        let path = std::env::temp_dir().join(format!("rowkey-lines-{}.ndjson", std::process::id()));
        let again = path.with_extension("again.ndjson");
        drop((std::fs::remove_file(&path), std::fs::remove_file(&again)));
        let options = |path: &Path| -> Outcome<ImportOptions> {
            let rejects = Some(std::sync::Arc::new(RejectsFile::new(path)?));
            Ok(ImportOptions { keys: keys.clone(), rejects, ..ImportOptions::default() })
        };
        let csv = "PartitionKey,RowKey,N\na,1,5\na,2,5,6\na,\"3\"x,7\n";
        let source = |text: String| vec![Source::stream("in", Box::new(std::io::Cursor::new(text)))];
        let (report, entities) = import(source(csv.to_owned()), options(&path)?)?;
        assert_eq!((report.rejected, entities.len()), (2, 1));
        let written = std::fs::read_to_string(&path)?;
        let (report, entities) = import(source(written.clone()), options(&again)?)?;
        assert_eq!((report.rejected, entities.len()), (2, 0), "{written}");
        assert!(report.rejects[0].reason.contains("\"a,2,5,6\"; write it as members"), "{}", report.rejects[0]);
        // And from there once more; what is mended is taken.
        let once_more = std::fs::read_to_string(&again)?;
        assert_eq!(once_more.lines().count(), 2, "{once_more}");
        let mended = once_more.replace(r#""odata.record":"a,2,5,6""#, r#""PartitionKey":"a","RowKey":"2""#);
        let without = ImportOptions { keys: keys.clone(), ..ImportOptions::default() };
        let (report, entities) = import(source(mended), without)?;
        assert_eq!((report.rejected, entities.len()), (1, 1), "{:?}", report.rejects);
        drop((std::fs::remove_file(&path), std::fs::remove_file(&again)));
    }
    Ok(())
}

/// Flips, cuts, inserts and repeats.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len().max(1));
        let end = (at + dice.below(200)).min(bytes.len());
        match dice.below(5) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let token =
                    [&b"\""[..], b"{", b"[", b"]}", b",", b"\r", b"\0", b"NaN", b"\\u", b"b'\\x"][dice.below(10)];
                drop(bytes.splice(at..at, token.iter().copied()));
            }
            3 => {
                let piece = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
}

#[test]
fn damaged_exports_never_panic() -> Outcome<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    for case in CASES.iter().filter(|case| !data().join(case.path).is_dir() && !case.path.ends_with(".manifest")) {
        let whole = std::fs::read(data().join(case.path))?;
        let format = Source::file(&data().join(case.path))?.detect()?;
        for seed in 0..SEEDS {
            let mut bytes = whole.clone();
            damage(&mut bytes, &mut Dice(seed));
            let database = runtime.block_on(Database::open(":memory:"))?;
            let forced = (seed % 2 == 0).then_some(format);
            let options = ImportOptions { format: forced, dry_run: true, ..ImportOptions::default() };
            let run = std::panic::AssertUnwindSafe(|| {
                let source = Source::stream(case.path, Box::new(std::io::Cursor::new(bytes)));
                // Errors are what is hoped for.
                runtime.block_on(database.import("Canon", vec![source], &options)).is_ok()
            });
            assert!(std::panic::catch_unwind(run).is_ok(), "{}: seed {seed} panics", case.path);
        }
    }
    Ok(())
}

const SEEDS: u64 = 40;
