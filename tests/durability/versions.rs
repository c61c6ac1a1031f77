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
            let value = |column| arrow::util::display::array_value_to_string(column, row).expect("a value");
            rows.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("\t"));
        }
    }
    rows
}

/// Every folder below `folders/` opens and answers `queries.txt`, which holds a query a line, each followed by its rows.
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
