//! A data folder that is open for reading only: several processes read it at a time, and none
//! changes anything in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::robustness::server::{Ended, Server};
use rowkey_base::testing::Scratch;

const PATIENCE: Duration = Duration::from_secs(60);

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Path and content of everything in a folder.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_folder = path.is_dir();
            found.push((path.clone(), if is_folder { Vec::new() } else { fs::read(&path).expect("a file") }));
            if is_folder {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The log ends in a record that a crash has left half written: what is behind the last record is
/// no longer zero.
fn tear(data: &Path) {
    let segments = fs::read_dir(data.join("log")).expect("a log").map(|entry| entry.expect("a file").path());
    let last = segments.max().expect("a segment");
    let mut bytes = fs::read(&last).expect("a segment");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("records") + 1;
    let end = end.next_multiple_of(8) + 8;
    bytes[end..end + 20].fill(0x5a);
    fs::write(last, bytes).expect("written");
}

fn sql(data: &Path, arguments: &[&str]) -> Ended {
    Server::run(&[&["sql", "--data", text(data)], arguments].concat(), PATIENCE)
}

#[test]
fn readers_read_side_by_side_and_change_nothing() {
    let scratch = Scratch::new("read-only").expect("a folder");
    let data = scratch.path().join("data");
    assert!(sql(&data, &["--sample", "select 1"]).status.success());
    tear(&data);
    // What a crash has left: a temporary file, and a run file that nothing names.
    fs::create_dir_all(data.join("tmp/rowkey-spill-4000000000-0")).expect("a folder");
    fs::write(data.join("log/next.tmp"), "left").expect("written");
    let before = content(&data);

    let arguments = ["--data", text(&data), "--read-only", "--memory-mib", "64"];
    let (one, other) = (Server::start(&arguments), Server::start(&arguments));
    let (mut client, mut beside) = (one.connect(), other.connect());
    for client in [&mut client, &mut beside] {
        assert_eq!(client.value("select count(*) from employees"), "48000");
        assert_eq!(client.value("select max(age) is null from employees where partitionkey = 'x'"), "t");
    }
    // A large sort writes nothing there either.
    let spilling = client.ask("select n, md5(n::text) as h from generate_series(1, 400000) as g(n) order by h");
    assert_eq!((spilling.code(), spilling.row_count), ("", 400_000));
    for (sql, code) in [
        ("insert into departments (partitionkey, rowkey) values ('x', 'y')", "25006"),
        ("update employees set age = 1 where partitionkey = 'Sales' and rowkey = '000123'", "25006"),
        ("delete from employees", "25006"),
        (
            "merge into departments d using (select 'a' as p) s on d.partitionkey = s.p when matched then delete",
            "25006",
        ),
        ("truncate departments", "25006"),
        ("create table t (n int)", "25006"),
        ("create view v as select 1 as x", "25006"),
        ("drop table departments", "25006"),
        ("alter table departments add column x int", "25006"),
        ("comment on table departments is 'x'", "25006"),
        ("copy departments from stdin", "25006"),
        ("vacuum departments", "25006"),
        ("set transaction_read_only = off", "0A000"),
        ("set default_transaction_read_only to off", "0A000"),
    ] {
        assert_eq!(client.ask(sql).code(), code, "{sql}");
        assert_eq!(client.ask_extended(sql, &[]).code(), code, "{sql}");
    }
    assert_eq!(client.ask("begin read write").code(), "0A000");
    assert_eq!(client.ask("rollback").code(), "");
    for sql in ["reset all", "reset default_transaction_read_only", "begin", "set transaction_read_only to default"] {
        assert_eq!(client.ask(sql).code(), "", "{sql}");
        assert_eq!(client.value("show transaction_read_only"), "on", "after {sql}");
        assert_eq!(client.value("show default_transaction_read_only"), "on", "after {sql}");
    }
    assert_eq!(client.ask("delete from employees").code(), "25006");
    assert_eq!(client.ask("rollback").code(), "");

    // From the command line as well; beside readers nobody writes.
    for arguments in [
        &["check", "--read-only"][..],
        &["export", "--read-only", "--table", "Departments", "--format", "csv", "-o", "-"],
    ] {
        let run = Server::run(&[arguments, &["--data", text(&data)]].concat(), PATIENCE);
        assert!(run.status.success(), "{arguments:?}: {}", run.said);
    }
    let torn = sql(&data, &["--read-only", "select 1"]);
    assert!(torn.status.success() && torn.said.contains("which is passed over"), "{}", torn.said);
    let refused = sql(&data, &["select 1"]);
    assert!(refused.said.contains("in use by processes that have it open for reading only"), "{}", refused.said);
    one.assert_well();
    other.assert_well();
    drop((client, beside, one, other));
    assert_eq!(content(&data), before);

    // And beside a writer nobody reads; it cuts and removes what was left.
    let writer = Server::start(&["--data", text(&data)]);
    assert_ne!(content(&data), before);
    let refused = sql(&data, &["--read-only", "select 1"]);
    assert!(!refused.status.success());
    assert!(refused.said.contains(&format!("another process (process id {})", writer.id())), "{}", refused.said);
    assert_eq!(writer.connect().value("show transaction_read_only"), "off");
}

#[test]
fn what_is_no_data_folder_is_not_made_one() {
    let scratch = Scratch::new("read-only-none").expect("a folder");
    let (missing, empty) = (scratch.path().join("missing"), scratch.path().join("empty"));
    fs::create_dir(&empty).expect("a folder");
    for (folder, words) in [(&missing, "missing"), (&empty, "no data folder")] {
        for command in
            [&["serve", "--rest", "off", "--pg", "127.0.0.1:0"][..], &["sql", "create table t (n int)"], &["check"]]
        {
            let run = Server::run(&[command, &["--read-only", "--data", text(folder)]].concat(), PATIENCE);
            assert!(!run.status.success() && run.said.contains(words), "{command:?}: {}", run.said);
        }
    }
    assert!(!missing.exists());
    assert_eq!(content(&empty), []);
    let both = Server::run(&["serve", "--sample", "--read-only"], PATIENCE);
    assert_eq!(both.status.code(), Some(2), "{}", both.said);
}
