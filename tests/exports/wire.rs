//! COPY TO files of the server: refused, unless the server was started with a folder for them.

use std::fs;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::server_process::{ServerProcess, serve};
use rowkey_base::testing::Scratch;

async fn connected(server: &ServerProcess) -> Client {
    let url = format!("postgresql://rowkey@{}/devstoreaccount1", server.address());
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("connects");
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn files_of_the_server() {
    let scratch = Scratch::new("wire").expect("a folder");
    let folder = scratch.path().join("copies");
    fs::create_dir_all(folder.join("deeper")).expect("a folder");
    std::os::unix::fs::symlink(scratch.path(), folder.join("out")).expect("a link");
    std::os::unix::fs::symlink(scratch.path().join("target"), folder.join("link.csv")).expect("a link");
    let text = |path: &std::path::Path| path.to_str().expect("text").to_owned();

    let server = ServerProcess::start(serve().arg("--sample")).expect("a server");
    let client = connected(&server).await;
    let copy = format!("COPY employees TO '{}'", text(&folder.join("a")));
    let refused = client.batch_execute(&copy).await.expect_err("no folder for copies");
    assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{refused:?}");
    assert!(!folder.join("a").exists());
    client.batch_execute("SELECT 1").await.expect("that goes on");

    let server = ServerProcess::start(serve().args(["--sample", "--copy-dir", &text(&folder)])).expect("a server");
    let client = connected(&server).await;
    for (file, wanted) in [
        ("a.csv".to_owned(), "a.csv"),
        ("deeper/b.csv".to_owned(), "deeper/b.csv"),
        (text(&folder.join("c.csv")), "c.csv"),
    ] {
        let copied = client.execute(&format!("COPY (SELECT 1 AS n) TO '{file}' (FORMAT csv, HEADER)"), &[]).await;
        assert_eq!(copied.expect("copies"), 1, "{file}");
        assert_eq!(fs::read_to_string(folder.join(wanted)).expect("a file"), "n\n1\n");
    }
    client.batch_execute("COPY (SELECT 1 AS n) TO 'f.bin' (FORMAT binary)").await.expect("copies");
    let tuple = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x01\xff\xff";
    assert_eq!(fs::read(folder.join("f.bin")).expect("a file"), tuple);
    client.batch_execute("COPY (SELECT 'x' AS t) TO 'g.csv' (FORCE_QUOTE *)").await.expect("copies");
    assert_eq!(fs::read_to_string(folder.join("g.csv")).expect("a file"), "t\n\"x\"\n");
    client.batch_execute("COPY employees TO 'e.parquet'").await.expect("copies");
    assert!(fs::read(folder.join("e.parquet")).expect("a file").starts_with(b"PAR1"));
    let outside = text(&scratch.path().join("outside"));
    for file in ["../outside", "deeper/../../outside", "out/outside", "link.csv", "/etc/outside", &outside, "..", "."] {
        let refused = client.batch_execute(&format!("COPY (SELECT 1) TO '{file}'")).await.expect_err(file);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{file}: {refused:?}");
    }
    assert!(!scratch.path().join("outside").exists() && !scratch.path().join("target").exists());
    // In a transaction, its own writes are among the rows.
    client
        .batch_execute("BEGIN; INSERT INTO departments (partitionkey, rowkey) VALUES ('x', 'mine')")
        .await
        .expect("writes");
    client.batch_execute("COPY departments TO 'd.ndjson'").await.expect("copies");
    client.batch_execute("ROLLBACK").await.expect("ends");
    let lines = fs::read_to_string(folder.join("d.ndjson")).expect("a file");
    assert!(lines.lines().any(|line| line.contains(r#""RowKey":"mine""#)), "{lines}");
    let left: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn the_data_folder_is_out_of_reach() {
    let scratch = Scratch::new("wire-data").expect("a folder");
    let (data, copies) = (scratch.path().join("data"), scratch.path().join("copies"));
    fs::create_dir(&copies).expect("a folder");
    let text = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let arguments = ["--sample", "--data", &text(&data), "--copy-dir", &text(&copies)];
    let server = ServerProcess::start(serve().args(arguments)).expect("a server");
    let client = connected(&server).await;
    client.batch_execute("COPY (SELECT 1) TO 'beside.csv'").await.expect("copies");
    // What comes after the start is looked at as well.
    let mut log = fs::read_dir(data.join("log")).expect("a log").map(|entry| entry.expect("an entry").path());
    let segment = log.find(|file| file.extension().is_some_and(|extension| extension == "log")).expect("a segment");
    std::os::unix::fs::symlink(&data, copies.join("link")).expect("a link");
    fs::hard_link(&segment, copies.join("second-name.csv")).expect("a second name");
    for file in ["link/log/new.csv", "link/new.csv", "second-name.csv", "../data/new.csv", &text(&segment)] {
        let refused = client.batch_execute(&format!("COPY (SELECT 1) TO '{file}'")).await.expect_err(file);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{file}: {refused:?}");
    }
    assert_eq!(std::os::unix::fs::MetadataExt::nlink(&fs::metadata(&segment).expect("a segment")), 2);
    assert!(!data.join("new.csv").exists() && !data.join("log/new.csv").exists());
    client.batch_execute("INSERT INTO departments (partitionkey, rowkey) VALUES ('x', 'mine')").await.expect("writes");
}
