//! Two processes never write to one folder, whatever becomes of its lock file and its name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rowkey::model::{Entity, EntityBuilder, Key};
use rowkey::{Database, SqlState, Table};

use rowkey_base::testing::Scratch;

/// How another process ends that is to write a row, and what it says.
fn write_elsewhere(folder: &Path, row: &str) -> (Option<i32>, String) {
    let insert =
        format!("create table Other (n int); insert into Other (partitionkey, rowkey, n) values ('p', '{row}', 1)");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
    let output = command.args(["sql", "--data"]).arg(folder).arg(insert).stdin(Stdio::null()).output().expect("runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn entity(row: &str) -> Entity {
    EntityBuilder::new(Key::new("p", row)).property("N", 1).build().expect("an entity")
}

async fn opened(folder: &Path) -> (Database, Table) {
    let db = Database::open(folder.to_str().expect("a path")).await.expect("opens");
    let table = match db.table("Kept") {
        Ok(table) => table,
        Err(_) => db.create_table("Kept").await.expect("a table"),
    };
    (db, table)
}

async fn is_there(table: &Table, row: &str) -> bool {
    table.get("p", row).await.expect("a read").is_some()
}

/// What becomes of the lock file: it is gone, a copy of it, or of another program's.
fn replacements() -> [Option<&'static str>; 3] {
    [None, Some("copy"), Some("4294967295")]
}

#[tokio::test]
async fn without_its_lock_file_a_folder_is_neither_opened_nor_written() {
    for replacement in replacements() {
        let scratch = Scratch::new("lock-gone").expect("a folder");
        let folder = scratch.path().join("data");
        let (db, table) = opened(&folder).await;
        table.insert(&entity("before")).await.expect("an insert");
        let (lock, aside) = (folder.join("rowkey.lock"), scratch.path().join("aside"));
        fs::rename(&lock, &aside).expect("a rename");
        match replacement {
            None => {}
            Some("copy") => drop(fs::copy(&aside, &lock).expect("a copy")),
            Some(content) => fs::write(&lock, content).expect("a write"),
        }
        let (code, said) = write_elsewhere(&folder, "1");
        assert!(code == Some(1) && said.contains("is in use by"), "{replacement:?}: {code:?} {said}");

        // An older program takes the file alone for the lock: this one writes no more.
        let error = table.insert(&entity("refused")).await.expect_err("refused");
        assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
        assert!(error.to_string().contains("rowkey.lock was removed or replaced"), "{error}");
        assert!(is_there(&table, "before").await && !is_there(&table, "refused").await, "reads go on");
        fs::rename(&aside, &lock).expect("a rename");
        table.insert(&entity("refused")).await.expect_err("an older program may have written");
        drop((db, table));
        let (_db, table) = opened(&folder).await;
        table.insert(&entity("after")).await.expect("an insert");
        for (row, wanted) in [("before", true), ("refused", false), ("after", true)] {
            assert_eq!(is_there(&table, row).await, wanted, "{replacement:?}: {row}");
        }
    }
}

#[tokio::test]
async fn a_folder_that_was_moved_away_is_owned_where_it_is_and_its_successor_is_not_written() {
    let scratch = Scratch::new("moved").expect("a folder");
    let (folder, moved) = (scratch.path().join("data"), scratch.path().join("moved"));
    let (db, table) = opened(&folder).await;
    table.insert(&entity("before")).await.expect("an insert");
    fs::rename(&folder, &moved).expect("a rename");
    let (code, said) = write_elsewhere(&moved, "1");
    assert!(code == Some(1) && said.contains("is in use by"), "{code:?} {said}");
    assert!(said.contains("psql -h 127.0.0.1 -p 5433"), "{said}");
    let error = table.insert(&entity("refused")).await.expect_err("refused");
    assert!(error.to_string().contains("the data folder was moved"), "{error}");

    // Another database has the name now.
    fs::create_dir(&folder).expect("a folder");
    let (code, said) = write_elsewhere(&folder, "1");
    assert_eq!(code, Some(0), "{said}");
    table.insert(&entity("refused")).await.expect_err("refused");
    let error = db.sql("create table Refused (n int)").await.expect_err("refused");
    assert!(error.to_string().contains("was moved, removed or replaced"), "{error}");
    assert!(is_there(&table, "before").await, "reads go on");
    drop((db, table));
    let (successor, _) = opened(&folder).await;
    assert_eq!(successor.tables(), ["Other", "Kept"]);
    assert!(successor.check().await.expect("a check").findings.is_empty());
    let (_db, table) = opened(&moved).await;
    assert!(is_there(&table, "before").await && !is_there(&table, "refused").await);
}

#[test]
fn a_lock_file_that_leads_elsewhere_is_refused_by_every_command_and_nothing_is_written_over() {
    let scratch = Scratch::new("lock-link").expect("a folder");
    let (folder, precious) = (scratch.path().join("data"), scratch.path().join("precious"));
    fs::create_dir(&folder).expect("a folder");
    assert_eq!(write_elsewhere(&folder, "1").0, Some(0));
    fs::write(&precious, "precious").expect("a write");
    let lock = folder.join("rowkey.lock");
    fs::remove_file(&lock).expect("a removal");
    symlink("../precious", &lock).expect("a link");
    let text = |path: &PathBuf| path.to_str().expect("a path").to_owned();
    let (data, out) = (text(&folder), text(&scratch.path().join("out.csv")));
    for arguments in [
        &["sql", "--data", &data, "select * from Other"][..],
        &["sql", "--data", &data, "delete from Other"],
        &["check", "--data", &data],
        &["check", "--repair", "--data", &data],
        &["export", "--data", &data, "--table", "Other", "-o", &out],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
        let output = command.args(arguments).stdin(Stdio::null()).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("rowkey.lock: it is a link, and a lock is a plain file"), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(&precious).expect("a file"), "precious");
    assert_eq!(fs::read_link(&lock).expect("a link"), Path::new("../precious"));
}
