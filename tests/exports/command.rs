//! `rowkey export` as it is typed, and COPY TO files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::exports::lossless::files_below;
use rowkey_base::testing::Scratch;

/// Entities of three partitions, one key of them with a slash's neighbours.
const EXPORT: &str = concat!(
    r#"{"PartitionKey":"Sales","RowKey":"0001","Timestamp":"2024-05-01T08:00:00.1234567Z","LastName":"Jones","Age":41}"#,
    "\n",
    r#"{"PartitionKey":"Sales","RowKey":"0002","Timestamp":"2024-05-01T08:00:00Z","LastName":"Ng","Age":38}"#,
    "\n",
    r#"{"PartitionKey":"Support & more","RowKey":"0003","Timestamp":"2024-05-01T08:00:00Z","LastName":"Rossi","HiredAt@odata.type":"Edm.DateTime","HiredAt":"2019-05-01T08:00:00Z"}"#,
    "\n",
    r#"{"PartitionKey":"","RowKey":"","Timestamp":"2024-05-01T08:00:00Z","Age@odata.type":"Edm.Int64","Age":"5"}"#,
    "\n",
);

pub(crate) struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub(crate) fn rowkey(arguments: &[&str]) -> Run {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_rowkey")).args(arguments).stdin(Stdio::null()).output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Run { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

pub(crate) fn well(arguments: &[&str]) -> Run {
    let run = rowkey(arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.out, run.err);
    run
}

fn filled(folder: &Path) -> String {
    let (data, export) = (folder.join("data"), folder.join("in.ndjson"));
    fs::write(&export, EXPORT).expect("writes");
    let data = data.to_str().expect("text").to_owned();
    well(&["import", "--data", &data, "--table", "People", export.to_str().expect("text")]);
    data
}

#[test]
fn a_statement_that_makes_a_table_makes_the_folder() {
    let scratch = Scratch::new("command").expect("a folder");
    let data = scratch.path().join("new").to_str().expect("text").to_owned();
    for sql in [
        "SELECT 1",
        "INSERT INTO t VALUES ('p', 'r')",
        "DROP TABLE t",
        "SELECT 1; CREATE TABLE notes (a int)",
        "CREATE",
    ] {
        let refused = rowkey(&["sql", "--data", &data, sql]);
        assert!(refused.code == 1 && !Path::new(&data).exists(), "{sql}: {}{}", refused.out, refused.err);
    }
    let missing = rowkey(&["sql", "--data", &data, "SELECT 1"]);
    assert!(missing.err.contains("there is no data folder"), "{}", missing.err);
    let make = "SET timezone = 'UTC'; CREATE TABLE notes (partitionkey text, rowkey text, a int, PRIMARY KEY (partitionkey, rowkey)); \
                INSERT INTO notes VALUES ('p', 'r', 7)";
    well(&["sql", "--data", &data, make]);
    assert_eq!(well(&["sql", "--data", &data, "--output", "csv", "SELECT a FROM notes"]).out, "a\n7\n");
}

#[test]
fn exports_of_every_kind() {
    let scratch = Scratch::new("command").expect("a folder");
    let data = filled(scratch.path());
    let path = |name: &str| scratch.path().join(name).to_str().expect("text").to_owned();
    let export = |more: &[&str]| {
        let mut arguments = vec!["export", "--data", &data, "--table", "people"];
        arguments.extend(more);
        rowkey(&arguments)
    };
    // The name tells the format and the compression.
    let run = export(&["-o", &path("a.parquet")]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    assert!(run.err.starts_with("exported 4 entities to ") && run.err.contains("a.parquet: "), "{}", run.err);
    for name in ["b.csv", "c.json", "d.ndjson", "e.csv.gz", "f.json.zst"] {
        let run = export(&["-o", &path(name)]);
        assert_eq!(run.code, 0, "{name}: {}", run.err);
    }
    assert!(fs::read(path("e.csv.gz")).expect("a file").starts_with(&[0x1f, 0x8b]));
    assert!(fs::read(path("f.json.zst")).expect("a file").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let run = export(&["--format", "ndjson", "--compress", "gzip", "-o", &path("plain-name")]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(fs::read(path("plain-name")).expect("a file").starts_with(&[0x1f, 0x8b]));
    // Standard output has nothing but the export.
    let run = export(&["--format", "csv", "--partition", "Sales", "--from-row", "0002", "-o", "-"]);
    assert_eq!(
        run.out,
        "PartitionKey,RowKey,Timestamp,Age,Age@type,LastName,LastName@type\n\
         Sales,0002,2024-05-01T08:00:00.0000000Z,38,Int32,Ng,String\n"
    );
    assert!(run.err.starts_with("exported 1 entity to standard output: "), "{}", run.err);
    let run = export(&["--format", "ndjson", "--where", "lastname like 'J%'", "-o", "-"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 1), "{}", run.err);
    let run = export(&["--format", "plain-csv", "-o", "-"]);
    assert!(run.err.starts_with("note: plain-csv has no types"), "{}", run.err);
    // Folders.
    let run = export(&["--pages", "-o", &path("pages")]);
    assert_eq!(run.code, 0, "{}", run.err);
    let run = export(&["--partition-by-key", "-o", &path("hive")]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains(" in 3 files: "), "{}", run.err);
    let relative = |folder: &str| {
        let below = files_below(Path::new(&path(folder)));
        below
            .iter()
            .map(|file| file.strip_prefix(path(folder)).expect("below").display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(relative("pages"), ["page-000001.json"]);
    assert_eq!(
        relative("hive"),
        [
            "PartitionKey=Sales/part-0.parquet",
            "PartitionKey=Support%20%26%20more/part-0.parquet",
            "PartitionKey=__HIVE_DEFAULT_PARTITION__/part-0.parquet"
        ]
    );
    // All of them are imported again as they were.
    // The order of columns is that of their coming.
    let columns = "partitionkey, rowkey, \"Timestamp\", lastname, age, \"Age:Int32\", \"Age:Int64\", hiredat";
    let query = format!("select {columns} from people order by 1, 2");
    let asked = |data: &str| well(&["sql", "--data", data, "--output", "csv", &query]).out;
    for name in ["a.parquet", "b.csv", "c.json", "d.ndjson", "pages", "hive"] {
        let again = path(&format!("data of {name}"));
        well(&["import", "--data", &again, "--table", "People", &path(name)]);
        assert_eq!(asked(&again), asked(&data), "{name}");
    }
    let run =
        rowkey(&["export", "--data", &data, "--query", "select count(*) as n from people", "-o", &path("n.ndjson")]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(fs::read_to_string(path("n.ndjson")).expect("a file"), "{\"n\":4}\n");
    assert!(run.err.contains("exported 1 row to "), "{}", run.err);
}

#[test]
fn nothing_is_replaced_or_left_half_written() {
    let scratch = Scratch::new("command").expect("a folder");
    let data = filled(scratch.path());
    let target = scratch.path().join("out");
    fs::create_dir(&target).expect("a folder");
    let path = |name: &str| target.join(name).to_str().expect("text").to_owned();
    let export = |more: &[&str]| {
        let mut arguments = vec!["export", "--data", &data, "--table", "People"];
        arguments.extend(more);
        rowkey(&arguments)
    };
    fs::write(path("mine.csv"), "precious").expect("writes");
    let run = export(&["-o", &path("mine.csv")]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("mine.csv exists already") && run.err.contains("--overwrite"), "{}", run.err);
    assert_eq!(fs::read_to_string(path("mine.csv")).expect("a file"), "precious");
    assert_eq!(export(&["--overwrite", "-o", &path("mine.csv")]).code, 0);
    assert!(fs::read_to_string(path("mine.csv")).expect("a file").starts_with("PartitionKey,"));
    // A failure half way leaves the file that was there.
    let failing = ["--overwrite", "--where", "1 / (CASE WHEN rowkey = '0003' THEN 0 ELSE 1 END) = 1", "-o"];
    let run = export(&[&failing[..], &[&path("mine.csv")]].concat());
    assert!(run.code == 1 && run.err.contains("division by zero"), "{}", run.err);
    assert!(fs::read_to_string(path("mine.csv")).expect("a file").starts_with("PartitionKey,"));
    // Folders: an earlier export is replaced, anything else is not.
    assert_eq!(export(&["--pages", "-o", &path("pages")]).code, 0);
    let run = export(&["--pages", "-o", &path("pages")]);
    assert!(run.code == 1 && run.err.contains("pages exists already"), "{}", run.err);
    assert_eq!(export(&["--pages", "--overwrite", "-o", &path("pages")]).code, 0);
    fs::write(target.join("pages/holiday.jpg"), "mine").expect("writes");
    let run = export(&["--pages", "--overwrite", "-o", &path("pages")]);
    assert!(run.code == 1 && run.err.contains("holiday.jpg"), "{}", run.err);
    assert!(target.join("pages/holiday.jpg").exists());
    for (arguments, wanted) in [
        (vec!["-o", "nosuch/folder/a.csv"], "there is no folder nosuch/folder"),
        (vec!["-o", &path("")], "does not say which format"),
        (vec!["--format", "csv", "-o", &path("pages")], "pages is a folder"),
        (vec!["--pages", "-o", &path("mine.csv")], "--pages is for json"),
        (vec!["--partition-by-key", "--format", "parquet", "-o", &path("mine.csv")], "is a file, and a folder"),
        (vec!["-o", &path("a.parquet.gz")], "compressed inside"),
        (vec!["--compress", "zstd", "-o", &path("a.csv.gz")], "is no name for"),
        (vec!["--partition", "a", "--from-row", "b", "--to-row", "a", "-o", &path("a.csv")], "no RowKey lies between"),
        (vec!["--where", "nosuch = 1", "-o", &path("a.csv")], "nosuch"),
    ] {
        let run = export(&arguments);
        assert!(run.code != 0 && run.err.contains(wanted), "{arguments:?}: {}", run.err);
    }
    let run = rowkey(&["export", "--data", &data, "--table", "Nobody", "-o", &path("a.csv")]);
    assert!(run.code == 1 && run.err.contains("Nobody"), "{}", run.err);
    let mut left: Vec<String> = fs::read_dir(&target)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["mine.csv", "pages"], "no temporary files are left");
}

#[test]
fn the_empty_key_and_what_hive_calls_it_are_two_folders() {
    let scratch = Scratch::new("hive").expect("a folder");
    let path = |name: &str| scratch.path().join(name).to_str().expect("text").to_owned();
    let lines = |keys: &[&str]| -> String {
        keys.iter().map(|key| format!("{{\"PartitionKey\":\"{key}\",\"RowKey\":\"1\"}}\n")).collect()
    };
    fs::write(path("in.ndjson"), lines(&["", "__HIVE_DEFAULT_PARTITION__", "%5F_HIVE_DEFAULT_PARTITION__"]))
        .expect("writes");
    let (data, again) = (path("data"), path("again"));
    let asked =
        |data: &str| well(&["sql", "--data", data, "--output", "csv", "select partitionkey from keys order by 1"]).out;
    well(&["import", "--data", &data, "--table", "Keys", &path("in.ndjson")]);
    well(&["export", "--data", &data, "--table", "Keys", "--partition-by-key", "-o", &path("hive")]);
    let mut folders: Vec<_> =
        fs::read_dir(path("hive")).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    folders.sort();
    assert_eq!(
        folders,
        [
            "PartitionKey=%255F_HIVE_DEFAULT_PARTITION__",
            "PartitionKey=%5F_HIVE_DEFAULT_PARTITION__",
            "PartitionKey=__HIVE_DEFAULT_PARTITION__"
        ]
    );
    well(&["import", "--data", &again, "--table", "Keys", &path("hive")]);
    assert_eq!(asked(&again), asked(&data));
    assert_eq!(asked(&again).lines().count(), 4);
}

#[test]
fn signals_leave_nothing_behind() {
    let scratch = Scratch::new("signals").expect("a folder");
    let data = filled(scratch.path());
    let out = scratch.path().join("out");
    fs::create_dir(&out).expect("a folder");
    let listed =
        || fs::read_dir(&out).expect("a folder").map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>();
    for (signal, name, code) in [("-INT", "a.ndjson", 130), ("-TERM", "b.csv.gz", 143), ("-TERM", "c.parquet", 143)] {
        let query = "select 'p' as \"PartitionKey\", n::text as \"RowKey\" from generate_series(1, 4000000000) as g(n)";
        let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
        command.args(["export", "--data", &data, "--query", query, "-o"]).arg(out.join(name));
        let mut export = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("runs");
        let deadline = Instant::now() + Duration::from_secs(60);
        while listed().is_empty() {
            assert!(
                Instant::now() < deadline && export.try_wait().expect("a state").is_none(),
                "{name} was never begun"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let sent = Command::new("kill").args([signal, &export.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let ended = export.wait_with_output().expect("ends");
        let err = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(code), "{name}: {err}");
        assert!(err.contains("the export was interrupted"), "{name}: {err}");
        assert_eq!(listed(), Vec::<std::path::PathBuf>::new(), "{name}");
    }
}

#[test]
fn what_killed_exports_have_left_is_removed_by_the_next_one_beside_it() {
    let scratch = Scratch::new("killed").expect("a folder");
    let out = scratch.path().join("out");
    fs::create_dir(&out).expect("a folder");
    let foreign = [".rowkey-notes.tmp", ".rowkey-1-2.old"];
    for name in foreign {
        fs::write(out.join(name), "foreign").expect("a file");
    }
    let listed = || {
        let names = fs::read_dir(&out).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let names =
            names.map(|name| name.into_string().expect("text")).filter(|name| !foreign.contains(&name.as_str()));
        names.collect::<Vec<_>>()
    };
    let query = |last: u64| {
        let number = format!("generate_series(1, {last}) as g(n)");
        format!("select 'p' as \"PartitionKey\", n::text as \"RowKey\" from {number}")
    };
    let endless = |name: &str, more: &[&str]| {
        let before = listed();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
        command.args(["export", "--data", ":memory:", "--query", &query(4_000_000_000), "-o"]).arg(out.join(name));
        let mut export = command.args(more).stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
        let deadline = Instant::now() + Duration::from_secs(60);
        while listed().iter().all(|name| before.contains(name)) {
            let is_running = Instant::now() < deadline && export.try_wait().expect("a state").is_none();
            assert!(is_running, "{name} was never begun");
            std::thread::sleep(Duration::from_millis(20));
        }
        export
    };
    for (name, more) in [("a.ndjson", &[][..]), ("b", &["--format", "json", "--pages"])] {
        let mut killed = endless(name, more);
        killed.kill().and_then(|()| killed.wait()).expect("a kill");
        let left = listed();
        assert!(left.len() == 1 && left[0].starts_with(".rowkey-") && left[0].ends_with(".tmp"), "{left:?}");
        let mut living = endless("living.ndjson", &[]);
        let living_has = listed();
        assert!(living_has.len() == 1 && living_has != left, "{living_has:?}, of which {left:?} was left");
        let path = out.join("whole.ndjson");
        let path = path.to_str().expect("text");
        well(&["export", "--data", ":memory:", "--overwrite", "--query", &query(2), "-o", path]);
        let mut beside = listed();
        beside.retain(|name| name != "whole.ndjson");
        assert_eq!(beside, living_has, "a living one loses nothing");
        living.kill().and_then(|()| living.wait()).expect("a kill");
        well(&["export", "--data", ":memory:", "--overwrite", "--query", &query(2), "-o", path]);
        assert_eq!(listed(), ["whole.ndjson"]);
        fs::remove_file(path).expect("a removal");
    }
    for name in foreign {
        assert_eq!(fs::read_to_string(out.join(name)).expect("a file"), "foreign");
    }
}

#[test]
fn exports_have_the_permissions_that_the_user_gives_to_files() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("umask").expect("a folder");
    let data = filled(scratch.path());
    for (mask, wanted) in [("022", 0o644), ("027", 0o640)] {
        let path = scratch.path().join(format!("{mask}.csv"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("umask {mask} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_rowkey")]);
        shell.args(["export", "--data", &data, "--table", "people", "-o"]).arg(&path);
        assert!(shell.stdin(Stdio::null()).status().expect("runs").success());
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, wanted, "umask {mask}");
        let mode = fs::metadata(&data).expect("a folder").permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "the data folder");
    }
}

#[test]
fn properties_without_columns_are_not_exported_as_bytes() {
    let scratch = Scratch::new("wide").expect("a folder");
    let path = |name: &str| scratch.path().join(name).to_str().expect("text").to_owned();
    let properties = |of: std::ops::Range<u32>| of.map(|p| format!("\"P{p:03}\":{p}")).collect::<Vec<_>>().join(",");
    let lines = (0..3).map(|row| {
        format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row}\",{}}}\n", properties(row * 200..row * 200 + 200))
    });
    fs::write(path("in.ndjson"), lines.collect::<String>()).expect("writes");
    let data = path("data");
    let run = well(&["import", "--data", &data, "--table", "Wide", &path("in.ndjson")]);
    assert!(run.out.contains("and 100 properties more, for which no column is left"), "{}", run.out);
    for name in ["a.parquet", "a.csv", "a.json", "a.ndjson"] {
        let run = rowkey(&["export", "--data", &data, "--query", "select * from wide", "-o", &path(name)]);
        assert!(run.code == 1 && run.err.contains("\"(other)\"") && run.err.contains("--table"), "{name}: {}", run.err);
        assert!(!Path::new(&path(name)).exists());
        // Whole entities have all of them.
        well(&["export", "--data", &data, "--table", "wide", "-o", &path(name)]);
        let again = path(&format!("data of {name}"));
        well(&["import", "--data", &again, "--table", "Wide", &path(name)]);
        let asked = well(&[
            "sql",
            "--data",
            &again,
            "--output",
            "csv",
            "select p000, other_property(\"(other)\", 'P599') from wide order by rowkey",
        ]);
        assert!(asked.out.ends_with("\n0,\n,\n,599\n"), "{name}: {}", asked.out);
    }
    let query = "select rowkey, p000, other_property(\"(other)\", 'P599') as last from wide where rowkey = '2'";
    well(&["export", "--data", &data, "--query", query, "-o", &path("some.ndjson")]);
    assert_eq!(
        fs::read_to_string(path("some.ndjson")).expect("a file"),
        "{\"RowKey\":\"2\",\"P000\":null,\"last\":\"599\"}\n"
    );
}

#[test]
fn copy_to_files() {
    let scratch = Scratch::new("copy").expect("a folder");
    let data = filled(scratch.path());
    let path = |name: &str| scratch.path().join(name).to_str().expect("text").to_owned();
    let copy = |sql: &str| rowkey(&["sql", "--data", &data, sql]);
    let written = |sql: &str, name: &str| {
        let run = copy(&sql.replace("FILE", &path(name)));
        assert_eq!(run.code, 0, "{sql}: {}", run.err);
        fs::read(path(name)).expect("a file")
    };
    let text = |sql: &str, name: &str| String::from_utf8(written(sql, name)).expect("text");
    assert_eq!(
        text("COPY (SELECT rowkey, lastname FROM people ORDER BY 1) TO 'FILE' (FORMAT csv, HEADER)", "a"),
        "RowKey,LastName\n\"\",\n0001,Jones\n0002,Ng\n0003,Rossi\n"
    );
    // Where no format is named, the name of the file says it.
    assert_eq!(text("COPY (SELECT 1, NULL) TO 'FILE'", "b"), "1\t\\N\n", "PostgreSQL's text unless something is said");
    assert_eq!(text("COPY (SELECT 1, NULL) TO 'FILE'", "b.txt"), "1\t\\N\n");
    assert_eq!(text("COPY (SELECT 1, NULL) TO 'FILE' (FORMAT text)", "b.csv"), "1\t\\N\n");
    assert_eq!(text("COPY (SELECT 1 AS n, NULL AS t) TO 'FILE'", "b.csv"), "n,t\n1,\n");
    assert_eq!(text("COPY (SELECT 1 AS n, 'a' AS t) TO 'FILE' (DELIMITER ';', HEADER false)", "b.csv"), "1;a\n");
    assert_eq!(text("COPY (SELECT 1 AS n, 'a' AS t) TO 'FILE' DELIMITER ';'", "b.csv"), "n;t\n1;a\n");
    let typed = text("COPY people TO 'FILE'", "b.csv");
    assert!(typed.starts_with("PartitionKey,RowKey,Timestamp,Age,Age@type,"), "as rowkey export writes it: {typed}");
    assert_eq!(text("COPY people (rowkey, age) TO 'FILE'", "b.csv").lines().next(), Some("RowKey,Age"));
    assert!(written("COPY people TO 'FILE'", "b.csv.gz").starts_with(&[0x1f, 0x8b]));
    assert!(written("COPY people TO 'FILE'", "b.jsonl.zst").starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    assert!(text("COPY people TO 'FILE'", "b.json").starts_with("{\"odata.metadata\":"));
    assert_eq!(text("COPY (SELECT 1 AS n) TO 'FILE' (FORMAT ndjson)", "c"), "{\"n\":1}\n");
    assert_eq!(text("COPY (SELECT ARRAY[2, NULL] AS n) TO 'FILE'", "c.ndjson"), "{\"n\":[2,null]}\n");
    assert_eq!(
        text("COPY (SELECT 3 AS n) TO 'FILE'", "c.ndjson"),
        "{\"n\":3}\n",
        "a file is replaced, as PostgreSQL does"
    );
    assert!(written("COPY people TO 'FILE'", "d.parquet").starts_with(b"PAR1"));
    assert!(written("COPY (SELECT 1) TO 'FILE' CSV", "e.csv.gz").starts_with(&[0x1f, 0x8b]));
    let typed = text("COPY people TO 'FILE' (FORMAT typed_csv)", "f.csv");
    assert!(typed.contains("2024-05-01T08:00:00.1234567Z"), "a table is copied as it is, ticks and all: {typed}");
    let again = path("again");
    well(&["import", "--data", &again, "--table", "People", &path("d.parquet")]);
    for (sql, wanted) in [
        ("COPY (SELECT 1) TO 'nosuch/a'", "there is no folder nosuch"),
        ("COPY (SELECT 1) TO PROGRAM 'sh'", "runs no programs"),
        ("COPY people FROM 'in.csv'", "COPY reads no files"),
        ("COPY people TO 'x' (FORMAT parquet, HEADER)", "not available with FORMAT parquet"),
        ("COPY people TO 'x.parquet' (HEADER)", "not available with FORMAT parquet"),
        ("COPY people TO 'x.ndjson' HEADER", "not available with FORMAT ndjson"),
        ("COPY people TO 'x.parquet.gz'", "compressed inside"),
        ("COPY people TO 'x' (FORMAT xml)", "COPY format \"xml\" not recognized"),
    ] {
        let run = copy(sql);
        assert!(run.code == 1 && run.err.contains(wanted), "{sql}: {}", run.err);
    }
}
