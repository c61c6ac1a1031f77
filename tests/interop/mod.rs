//! The run files are plain Parquet: DuckDB and pandas read the same entities in them that Rowkey
//! gives.
//!
//! `ROWKEY_TEST_PYTHON` names a Python with duckdb, pandas and pyarrow, as `.ci/run` makes one;
//! without it the test says that it is skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures::TryStreamExt;
use rowkey::formats::Source;
use rowkey::model::{EdmType, Entity, KeyRange, Value};
use rowkey::{Database, ImportOptions, OnReject};
use serde_json::{Map, json};

use rowkey_base::testing::Scratch;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const PYTHON: &str = "ROWKEY_TEST_PYTHON";

#[test]
fn other_readers_find_the_same_entities() -> Outcome<()> {
    let Some(python) = std::env::var_os(PYTHON) else {
        return crate::peers::skipped("interop", &format!("{PYTHON} names no Python with duckdb, pandas and pyarrow"));
    };
    let scratch = Scratch::new("interop")?;
    let data = scratch.path().join("data");
    let tables = tokio::runtime::Runtime::new()?.block_on(stored(&data))?;

    let entities: usize = tables.values().map(Vec::len).sum();
    let properties: usize = tables.values().flatten().map(|entity| entity.properties().len() + 1).sum();
    assert!(entities > 100 && properties > 400, "too little to compare: {entities} entities, {properties} properties");
    all_types_occur(&tables["EightTypes"]);

    let expected: Map<String, serde_json::Value> =
        tables.iter().map(|(table, entities)| (table.clone(), entities.iter().map(described).collect())).collect();
    let expected_file = scratch.path().join("expected.json");
    fs::write(&expected_file, serde_json::to_vec(&expected)?)?;

    let script = repository().join("tests/interop/read.py");
    let output = Command::new(&python).arg(script).arg(&data).arg(&expected_file).output();
    let output = output.map_err(|error| format!("{PYTHON}={}: {error}", python.display()))?;
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}{complained}", output.status);
    let compared = format!("entities={entities} DuckDB={properties} pandas={properties}");
    assert_eq!(said.trim(), compared, "{complained}");
    Ok(())
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Imports the small tables into a folder, opens it again and reads all entities, and closes it.
async fn stored(data: &Path) -> Outcome<BTreeMap<String, Vec<Entity>>> {
    let location = data.display().to_string();
    let mut files = vec![repository().join("tests/interop/EightTypes.ndjson")];
    for entry in fs::read_dir(repository().join("sql/access_paths/data"))? {
        files.push(entry?.path());
    }
    let database = Database::open(&location).await?;
    import(&database, files).await?;
    drop(database);
    let database = Database::open(&location).await?;
    let mut tables = BTreeMap::new();
    for table in database.tables() {
        let entities = database.table(&table)?.range(KeyRange::all()).try_collect().await?;
        tables.insert(table, entities);
    }
    Ok(tables)
}

async fn import(database: &Database, files: Vec<PathBuf>) -> Outcome<()> {
    for file in files {
        let table = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        // Small files, so that tables have several.
        let options = ImportOptions { on_reject: OnReject::Stop, file_bytes: Some(1_500), ..ImportOptions::default() };
        let report = database.import(&table, vec![Source::file(&file)?], &options).await?;
        let lines = fs::read_to_string(&file)?.lines().count() as u64;
        assert_eq!((report.stored, report.rejected), (lines, 0), "{}", file.display());
    }
    Ok(())
}

/// The entity as `read.py` expects it; Timestamp is compared like a property.
fn described(entity: &Entity) -> serde_json::Value {
    let timestamp = ("Timestamp".to_owned(), value(&Value::DateTime(entity.timestamp)));
    let properties = entity.properties().map(|(name, of)| (name.to_owned(), value(of)));
    let properties: Map<String, serde_json::Value> = properties.chain([timestamp]).collect();
    json!({ "PartitionKey": entity.key.partition, "RowKey": entity.key.row, "properties": properties })
}

fn value(value: &Value) -> serde_json::Value {
    let canonical = match value {
        Value::Binary(bytes) => json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Value::Boolean(boolean) => json!(boolean),
        Value::DateTime(at) => json!([at.micros(), at.tick()]),
        Value::Double(double) if double.is_nan() => json!("NaN"),
        Value::Double(double) => json!(format!("{:016x}", double.to_bits())),
        Value::Guid(guid) => json!(guid.to_string()),
        Value::Int32(integer) => json!(integer),
        Value::Int64(integer) => json!(integer.to_string()),
        Value::String(text) => json!(text),
    };
    json!([value.edm_type().name(), canonical])
}

/// What the comparison is about has to be there.
fn all_types_occur(entities: &[Entity]) {
    let mixed: Vec<EdmType> = entities.iter().filter_map(|entity| entity.get("Mixed")).map(Value::edm_type).collect();
    assert!(EdmType::ALL.iter().all(|edm_type| mixed.contains(edm_type)), "{mixed:?}");
    let times: Vec<String> = entities
        .iter()
        .filter_map(|entity| match entity.get("At") {
            Some(Value::DateTime(at)) => Some(at.to_string()),
            _ => None,
        })
        .collect();
    for time in ["1601-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "2024-05-01T08:00:00.1234567Z"] {
        assert!(times.iter().any(|at| at == time), "{time} is not among {times:?}");
    }
}
