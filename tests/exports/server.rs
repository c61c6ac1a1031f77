//! `rowkey import|export|sql --server` as they are typed.

use std::fs;

use crate::exports::command::{rowkey, well};
use crate::server_process::{ServerProcess, serve};
use rowkey_base::testing::Scratch;

const ENTITIES: &str = concat!(
    r#"{"PartitionKey":"a","RowKey":"1","Age":5}"#,
    "\n",
    r#"{"PartitionKey":"a","RowKey":"2","Age@odata.type":"Edm.Int64","Age":"7"}"#,
    "\n",
    r#"{"PartitionKey":"b","RowKey":"","Id@odata.type":"Edm.Guid","Id":"c2a5fb80-8ac4-4a5c-9f01-3b4d6a2f7e11"}"#,
    "\n",
);
/// The second one has a key that no table takes.
const BROKEN: &str =
    concat!(r#"{"PartitionKey":"a","RowKey":"3"}"#, "\n", r#"{"PartitionKey":"a","RowKey":"4/5"}"#, "\n",);

#[test]
fn a_server_that_runs_is_imported_into_and_exported_from() {
    let scratch = Scratch::new("server").expect("a folder");
    let path = |name: &str| scratch.path().join(name).to_str().expect("text").to_owned();
    fs::write(path("people.ndjson"), ENTITIES).expect("writes");
    fs::write(path("broken.ndjson"), BROKEN).expect("writes");
    let server = ServerProcess::start(serve().args(["--data", ":memory:"])).expect("a server");
    let url = format!("postgresql://rowkey@{}", server.address());
    let import = |more: &[&str]| rowkey(&[&["import", "--server", &url, "--table"], more].concat());
    let export = |more: &[&str]| rowkey(&[&["export", "--server", &url], more].concat());

    let first = import(&["People", &path("people.ndjson")]);
    assert!(first.code == 0 && first.out.starts_with("People: 3 entities of "), "{}{}", first.out, first.err);
    let again = import(&["People", &path("people.ndjson")]);
    assert!(again.err.contains("3 unchanged") && !again.err.contains("already exists"), "{}", again.err);

    // What comes back is what went in, in every format that keeps types.
    for format in ["ndjson", "json", "csv", "parquet"] {
        let file = path(&format!("out.{format}"));
        let run = export(&["--table", "People", "--output", &file]);
        assert_eq!(run.code, 0, "{}", run.err);
        let copy = format!("From{format}");
        assert_eq!(import(&[&copy, &file]).code, 0, "{format}");
        let query = format!(
            "SELECT (SELECT count(*) FROM \"{copy}\") AS n, (SELECT count(*) FROM \"People\" p JOIN \"{copy}\" c \
             USING (\"PartitionKey\", \"RowKey\") WHERE rowkey.entity_json(p) = rowkey.entity_json(c)) AS same"
        );
        assert_eq!(
            export(&["--query", &query, "--format", "plain-csv", "--output", "-"]).out,
            "n,same\n3,3\n",
            "{format}"
        );
    }

    // All of a file or nothing, and what is there is not replaced.
    let refused = import(&["People", &path("broken.ndjson")]);
    assert!(
        refused.code == 1 && refused.err.contains("4/5") && refused.err.contains("broken.ndjson:2: "),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("--on-error skip"), "{}", refused.err);
    let count = ["--query", "SELECT count(*) FROM \"People\"", "--format", "plain-csv", "--output", "-"];
    assert_eq!(export(&count).out, "count\n3\n");
    let skipping = import(&["People", "--on-error", "skip", &path("broken.ndjson")]);
    assert!(skipping.code == 0 && skipping.err.contains("1 rejected"), "{}", skipping.err);
    assert_eq!(export(&count).out, "count\n4\n");
    let there = export(&["--table", "People", "--output", &path("out.json")]);
    assert!(there.code == 1 && there.err.contains("is there already"), "{}", there.err);
    assert_eq!(export(&["--table", "People", "--overwrite", "--output", &path("out.json")]).code, 0);

    // Nothing is left of an export that fails.
    let failed = export(&["--query", "SELECT 1 / 0", "--format", "plain-csv", "--output", &path("failed.csv")]);
    assert!(failed.code == 1 && failed.err.contains("division by zero"), "{}", failed.err);
    let left = fs::read_dir(scratch.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("failed")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Values of every type, more rows than are printed at a time, and NULLs.
const VALUES: &str = "SELECT n, n * 1.50 AS amount, n % 2 = 0 AS even, '{\"a\": 1}'::jsonb AS document, \
    json '[1, 2]' AS items, array[n, NULL] AS list, timestamptz '2020-01-01 10:00:00.5+00' AS at, '\\x00ff'::bytea \
    AS data, 'NaN'::float8 AS ratio, interval '1 day 2 hours' AS span, date '2020-01-01' AS day, time '10:00' AS hour, \
    'it''s, \"quoted\"' AS text, nullif(n, 3) AS gap, uuid 'c2a5fb80-8ac4-4a5c-9f01-3b4d6a2f7e11' AS id \
    FROM generate_series(1, 10000) AS g(n)";

#[test]
fn statements_run_by_a_server_print_as_in_a_folder() {
    let server = ServerProcess::start(serve().args(["--data", ":memory:"])).expect("a server");
    let url = format!("postgresql://rowkey@{}", server.address());
    let served = |more: &[&str]| rowkey(&[&["sql", "--server", &url], more].concat());
    let of_folder = |more: &[&str]| rowkey(&[&["sql", "--data", ":memory:"], more].concat());
    for form in ["table", "csv", "json", "ndjson", "tsv", "markdown", "lines"] {
        for query in [VALUES, "SELECT 1 AS a WHERE false", "VALUES (1.5), (NULL)"] {
            let arguments = ["--output", form, query];
            let (served, of_folder) = (served(&arguments), of_folder(&arguments));
            assert_eq!((served.code, &served.out), (0, &of_folder.out), "{form}: {}", served.err);
        }
    }
    let style =
        "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = German; SELECT timestamptz '2020-01-01 10:00:00+00' AS at";
    assert_eq!(served(&["--output", "csv", style]).out, "at\n01.01.2020 19:00:00 JST\n");

    // One session runs them all, and what is committed stays.
    let made = served(&[
        "CREATE TABLE Pets (); BEGIN; INSERT INTO Pets VALUES ('a', '1'); COMMIT; BEGIN; DELETE FROM Pets; ROLLBACK; \
         INSERT INTO Pets VALUES ('a', '2'), ('a', '3') RETURNING rowkey",
    ]);
    let printed = "INSERT 0 1\nDELETE 1\n RowKey\n--------\n 2\n 3\n(2 rows)\nINSERT 0 2\n\n";
    assert_eq!((made.code, made.out.trim_end()), (0, printed.trim_end()), "{}", made.err);
    assert_eq!(served(&["--output", "csv", "SELECT count(*) FROM Pets"]).out, "count\n3\n");

    let wrong = served(&["SELECT 1 AS kept; SELECT nothing FROM Pets"]);
    assert!(wrong.code == 1 && wrong.out.contains("kept") && wrong.err.contains("\n               ^"), "{}", wrong.err);
    let half = served(&["--output", "json", "SELECT 10 / (5 - n) AS x FROM generate_series(1, 9) AS g(n)"]);
    assert!(half.code == 1 && half.err.contains("division by zero") && !half.out.ends_with("]\n"), "{}", half.out);
    let record = served(&["--output", "json", "SELECT row(1, 2) AS r"]);
    assert!(record.code == 1 && record.err.contains("record"), "{}", record.err);
    for (arguments, wanted) in [
        (&["\\d"][..], "psql"),
        (&["COPY Pets TO STDOUT"], "--server"),
        (&["--sample", "SELECT 1"], "--sample"),
        (&["--durability", "sync", "SELECT 1"], "--durability"),
    ] {
        let run = served(arguments);
        assert!(run.code == 2 && run.err.contains(wanted), "{arguments:?}: {} {}", run.code, run.err);
    }
}

#[test]
fn what_does_not_go_through_a_server_is_told() {
    let scratch = Scratch::new("server-usage").expect("a folder");
    let file = scratch.path().join("people.ndjson").to_str().expect("text").to_owned();
    fs::write(&file, ENTITIES).expect("writes");
    let nowhere = "postgresql://rowkey@127.0.0.1:1/devstoreaccount1";
    for (arguments, code, wanted) in [
        (&["import", "--server", nowhere, "--table", "People", &file][..], 2, "Connection refused"),
        (&["import", "--server", "nowhere", "--table", "People", &file], 2, "nowhere"),
        (&["import", "--server", nowhere, &file], 2, "--table NAME"),
        (&["import", "--server", nowhere, "--table", "People", "-"], 2, "--format"),
        (&["import", "--server", nowhere, "--dry-run", "--table", "People", &file], 2, "--dry-run"),
        (&["import", "--server", nowhere, "--data", "x", "--table", "People", &file], 2, "--data"),
        (&["export", "--server", nowhere, "--table", "People", "--pages", "--output", "x"], 2, "--pages"),
        (&["export", "--server", nowhere, "--table", "People", "--output", "x.ndjson.gz"], 2, "not compressed"),
    ] {
        let run = rowkey(arguments);
        assert!(run.code == code && run.err.contains(wanted), "{arguments:?}: {} {}", run.code, run.err);
    }
    // The folder of a server names the way.
    let data = scratch.path().join("data").to_str().expect("text").to_owned();
    well(&["import", "--data", &data, "--table", "People", &file]);
    let server = ServerProcess::start(serve().args(["--data", &data])).expect("a server");
    let locked = rowkey(&["import", "--data", &data, "--table", "People", &file]);
    let way = format!("--server postgresql://rowkey@{}/devstoreaccount1", server.address());
    assert!(locked.code == 1 && locked.err.contains(&way), "{way}: {}", locked.err);
}
