//! Data folders that earlier versions wrote.

use std::path::Path;

use rowkey::Database;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// Rows of a query, tab between columns.
async fn rows(db: &Database, query: &str) -> Vec<String> {
    let batches = db.sql(query).await.expect("a query").collect().await.expect("rows");
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let value = |column: &std::sync::Arc<dyn arrow::array::Array>| {
                arrow::util::display::array_value_to_string(column, row).expect("a value")
            };
            rows.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("\t"));
        }
    }
    rows
}

/// Every folder below `folders/` opens and answers `queries.txt`, which holds a query a line, each
/// followed by its rows.
#[tokio::test]
async fn folders_of_earlier_versions_are_read_and_written() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durability/folders");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folders).expect("folders") {
        let folder = entry.expect("an entry").path();
        let work = std::env::temp_dir().join(format!("rowkey-version-{}-{seen}", std::process::id()));
        let _ = std::fs::remove_dir_all(&work);
        copy(&folder.join("data"), &work);
        let expected = std::fs::read_to_string(folder.join("answers.txt")).expect("answers");
        for round in 0..2 {
            // The second time it is a folder that this version has written to.
            let db = Database::open(work.to_str().expect("a path")).await.expect("opens");
            let mut found = String::new();
            for query in expected.lines().filter(|line| line.starts_with("SELECT")) {
                found.push_str(&format!("{query}\n"));
                for row in rows(&db, query).await {
                    found.push_str(&format!("  {row}\n"));
                }
            }
            assert_eq!(found, expected, "{}, round {round}", folder.display());
            let table = db.create_table(&format!("Added{round}")).await.expect("a table");
            let key = rowkey::model::Key::new("p", "r");
            let entity = rowkey::model::EntityBuilder::new(key).property("A", 1).build().expect("an entity");
            table.insert(&entity).await.expect("an insert");
        }
        std::fs::remove_dir_all(&work).expect("a folder");
        seen += 1;
    }
    assert!(seen > 0, "no folder of an earlier version is there");
}

const QUERIES: &[&str] = &[
    "SELECT \"PartitionKey\", \"RowKey\", \"Timestamp\", \"Age\", \"Age:Int32\", \"Age:Int64\", \"Name\" FROM People ORDER BY 1, 2",
    "SELECT \"RowKey\", \"Flag\", \"Raw\", \"At\", \"Id\", \"Score\" FROM People WHERE \"PartitionKey\" = 'types' ORDER BY 1",
    "SELECT count(*), sum(\"Age\") FROM People",
    "SELECT * FROM adults ORDER BY 1, 2",
];

/// Makes a folder as this version writes it, with entities in run files, masked ones, and some in
/// the log alone.
#[tokio::test]
#[ignore = "makes the folder of a version; its name is in ROWKEY_VERSION_FOLDER"]
async fn make_folder() {
    use rowkey::model::{DateTime, EntityBuilder, Key, Value};
    use rowkey::{EntityOperation, IfMatch};
    let Ok(name) = std::env::var("ROWKEY_VERSION_FOLDER") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durability/folders").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let data = folder.join("data");
    let db = Database::open(data.to_str().expect("a path")).await.expect("opens");
    let person = |partition: &str, row: &str| EntityBuilder::new(Key::new(partition, row));
    let export = "{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"Timestamp\":\"2024-05-01T08:00:00.1234567Z\",\"Age\":41,\"Name\":\"Ada\"}\n\
                  {\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"Timestamp\":\"2024-05-01T08:00:01Z\",\"Age\":17,\"Name\":\"Bo\"}\n\
                  {\"PartitionKey\":\"b\",\"RowKey\":\"1\",\"Timestamp\":\"2024-05-01T08:00:02Z\",\"Age\":5,\"Name\":\"Cy\"}\n";
    let source = rowkey::formats::Source::stream("export", Box::new(export.as_bytes()));
    db.import("People", vec![source], &rowkey::ImportOptions::default()).await.expect("an import");
    let table = db.table("People").expect("a table");
    let age = |entity: EntityBuilder, age: i64| entity.property("Age", age).build().expect("an entity");
    table.insert(&age(person("a", "3"), 1 << 54)).await.expect("an insert");
    table.delete("a", "2", IfMatch::Any).await.expect("a delete");
    let group =
        [EntityOperation::InsertOrMerge(age(person("b", "1"), 6)), EntityOperation::Insert(age(person("b", "2"), 7))];
    table.batch(&group).await.expect("a group");
    let all = person("types", "all")
        .property("Flag", true)
        .property("Raw", Value::Binary(vec![0, 255]))
        .property("At", Value::DateTime(DateTime::MIN))
        .property("Id", Value::Guid("00112233-4455-6677-8899-aabbccddeeff".parse().expect("a guid")))
        .property("Score", 0.1)
        .build();
    table.insert(&all.expect("an entity")).await.expect("an insert");
    let view = "CREATE VIEW adults AS SELECT \"PartitionKey\", \"RowKey\", \"Name\" FROM People WHERE \"Age\" >= 18";
    db.sql(view).await.expect("a view").collect().await.expect("its answer");
    let mut answers = String::new();
    for query in QUERIES {
        answers.push_str(&format!("{query}\n"));
        for row in rows(&db, query).await {
            answers.push_str(&format!("  {row}\n"));
        }
    }
    std::fs::write(folder.join("answers.txt"), answers).expect("answers");
    drop(db);
    std::fs::remove_file(data.join("rowkey.lock")).expect("the lock of the process");
}
