//! What a client is told of files, whatever is wrong with them: never where the server keeps them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use rowkey_base::testing::Scratch;

/// A database with the sample in it, in a folder of a name that no message has by chance.
fn sample(scratch: &Scratch) -> PathBuf {
    let data = scratch.path().join("secret").join("data");
    let made = Server::run(&["sql", "--data", text(&data), "--sample", "select 1"], Duration::from_secs(60));
    assert!(made.status.success(), "{}", made.said);
    data
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// The files of a table.
pub(super) fn files_of(data: &Path, table: &str) -> Vec<PathBuf> {
    let account = data.join("tables").join(crate::robustness::wire::DATABASE);
    let mut folders = fs::read_dir(account).expect("tables").map(|entry| entry.expect("a folder").path());
    let named = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&format!("{table}.")))
    };
    let folder = folders.find(named).expect("the table's folder");
    fs::read_dir(folder).expect("files").map(|entry| entry.expect("a file").path()).collect()
}

/// The statement fails with this code, in words of its own, and no field tells a place.
#[track_caller]
fn assert_no_place(client: &mut Client, sql: &str, code: &str, words: &str) {
    client.send(&crate::protocol::query(sql)).expect("sent");
    let mut said = Vec::new();
    while let Some(message) = client.receive() {
        match message.kind {
            b'Z' => break,
            b'E' | b'N' => said.push(String::from_utf8_lossy(&message.body).replace('\0', " | ")),
            _ => {}
        }
    }
    let said = said.join("\n");
    assert!(said.contains(&format!("C{code}")) && said.contains(words), "{sql}: {said}");
    assert!(!said.contains("secret"), "{sql}: {said}");
}

#[test]
fn of_files_that_cannot_be_read() {
    let scratch = Scratch::new("places-read").expect("a folder");
    let data = sample(&scratch);
    for file in files_of(&data, "Employees") {
        fs::remove_file(file).expect("removed");
    }
    for file in files_of(&data, "Departments") {
        fs::remove_file(&file).expect("removed");
        // Not even root reads a link that leads to itself.
        symlink(&file, &file).expect("a link");
    }
    for file in files_of(&data, "Events") {
        fs::write(file, "no Parquet").expect("written");
    }
    let server = Server::start(&["--data", text(&data)]);
    let mut client = server.connect();
    assert_no_place(&mut client, "select max(salary) from employees", "58030", "cannot open tables/");
    assert_no_place(
        &mut client,
        "select * from employees where partitionkey = 'Sales'",
        "58030",
        "cannot open tables/",
    );
    assert_no_place(&mut client, "select * from departments", "58030", "cannot open tables/");
    assert_no_place(&mut client, "delete from departments", "58030", "cannot open tables/");
    assert_no_place(&mut client, "select * from events limit 3", "XX001", "tables/");
    server.assert_well();
}

#[test]
fn of_a_folder_that_is_taken_away() {
    let scratch = Scratch::new("places-folder").expect("a folder");
    let data = sample(&scratch);
    let server = Server::start(&["--data", text(&data)]);
    let mut client = server.connect();
    let insert = "insert into departments (partitionkey, rowkey) values ('x', 'y')";
    let lock = data.join("rowkey.lock");
    let aside = scratch.path().join("aside");
    fs::rename(&data, &aside).expect("renamed");
    assert_no_place(&mut client, insert, "58030", "the data folder was moved");
    assert_no_place(&mut client, "select max(salary) from employees", "58030", "the data folder was moved");
    fs::rename(&aside, &data).expect("renamed");
    fs::rename(&lock, &aside).expect("renamed");
    assert_no_place(&mut client, insert, "58030", "rowkey.lock was removed");
    assert_no_place(&mut client, insert, "58030", "rowkey.lock");
    server.assert_well();
}

#[test]
fn of_temporary_files() {
    let scratch = Scratch::new("places-spill").expect("a folder");
    let data = sample(&scratch);
    let server = Server::start(&["--data", text(&data), "--memory-mib", "32"]);
    let mut client = server.connect();
    fs::remove_dir_all(data.join("tmp")).expect("removed");
    let sql = "select n, md5(n::text) as hash from generate_series(1, 1000000) as g(n) order by hash";
    assert_no_place(&mut client, sql, "58030", "temporary files");
    server.assert_well();
}

#[test]
fn of_files_that_a_copy_writes() {
    let scratch = Scratch::new("places-copy").expect("a folder");
    let (data, copies) = (sample(&scratch), scratch.path().join("secret").join("copies"));
    fs::create_dir_all(copies.join("folder.csv")).expect("a folder");
    fs::hard_link(data.join("rowkey.lock"), copies.join("second-name.csv")).expect("a second name");
    let server = Server::start(&["--data", text(&data), "--copy-dir", text(&copies)]);
    let mut client = server.connect();
    for (file, code, words) in [
        ("missing/a.csv", "58030", "cannot look at missing: "),
        ("folder.csv", "42501", "\"folder.csv\""),
        ("../a.csv", "42501", "\"../a.csv\""),
        ("second-name.csv", "42501", "\"second-name.csv\""),
        (&"n".repeat(300), "58030", "COPY to file \"nnn"),
    ] {
        assert_no_place(&mut client, &format!("copy (select 1) to '{file}'"), code, words);
    }
    fs::rename(&copies, scratch.path().join("aside")).expect("renamed");
    assert_no_place(&mut client, "copy (select 1) to 'a.csv'", "58030", "the folder for files");
    server.assert_well();
}
