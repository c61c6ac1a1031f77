//! Exports that `rowkey sql` reads as tables, without an import.

use std::fs;

use crate::exports::command::{Run, rowkey, well};
use crate::server_process::{ServerProcess, serve};
use rowkey_base::testing::Scratch;

/// A property in two numeric types, one in types that do not mix, and every type there is.
const ENTITIES: &str = concat!(
    r#"{"PartitionKey":"a","RowKey":"1","Timestamp":"2024-05-01T08:00:00.1234567Z","Age":5,"Note":"x","On":true}"#,
    "\n",
    r#"{"PartitionKey":"a","RowKey":"2","Age@odata.type":"Edm.Int64","Age":"7000000000","Note":2,"Ratio":0.5}"#,
    "\n",
    r#"{"PartitionKey":"b","RowKey":"","Id@odata.type":"Edm.Guid","Id":"c2a5fb80-8ac4-4a5c-9f01-3b4d6a2f7e11","#,
    r#""Data@odata.type":"Edm.Binary","Data":"AQI=","At@odata.type":"Edm.DateTime","At":"2024-05-01T08:00:00.5Z"}"#,
    "\n",
);

fn path(scratch: &Scratch, name: &str) -> String {
    scratch.path().join(name).to_str().expect("text").to_owned()
}

fn asked(query: &str) -> Run {
    rowkey(&["sql", "--data", ":memory:", "--output", "csv", query])
}

#[test]
fn a_file_has_the_rows_of_the_table_that_an_import_makes() {
    let scratch = Scratch::new("files").expect("a folder");
    let (data, first) = (path(&scratch, "data"), path(&scratch, "first.ndjson"));
    fs::write(&first, ENTITIES).expect("writes");
    well(&["import", "--data", &data, "--table", "People", &first]);
    let columns =
        "\"PartitionKey\", \"RowKey\", \"Timestamp\", \"Age\", \"At\", \"Data\", \"Id\", \"Note\", \"On\", \"Ratio\"";
    let of_table =
        well(&["sql", "--data", &data, "--output", "csv", &format!("SELECT {columns} FROM People ORDER BY 1, 2")]);
    for name in ["all.ndjson", "all.json", "all.csv", "all.parquet", "all.ndjson.gz"] {
        let file = path(&scratch, name);
        well(&["export", "--data", &data, "--table", "People", "--output", &file]);
        let query = format!("SELECT * FROM '{file}' ORDER BY 1, 2");
        assert_eq!(asked(&query).out, of_table.out, "{name}");
        // Beside a table, and into one.
        let joined = format!(
            "SELECT count(*), sum(f.\"Age\") FROM '{file}' AS f JOIN People p USING (\"PartitionKey\", \"RowKey\")"
        );
        assert_eq!(well(&["sql", "--data", &data, "--output", "csv", &joined]).out, "count,sum\n3,7000000005\n");
    }
    let into = format!(
        "CREATE TABLE Copies (\"Age\" bigint); \
         INSERT INTO Copies (\"PartitionKey\", \"RowKey\", \"Age\") SELECT \"PartitionKey\", \"RowKey\", \"Age\" FROM '{first}'; \
         SELECT count(*), sum(\"Age\") FROM Copies"
    );
    assert_eq!(asked(&into).out, "count,sum\n3,7000000005\n");

    let explained =
        rowkey(&["sql", &format!("EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM '{first}' WHERE \"Age\" > 5")]);
    let scan = explained.out.lines().find(|line| line.contains("File Scan on")).unwrap_or_default();
    assert!(
        scan.contains("first.ndjson") && scan.contains("rows=1") && explained.out.contains("Rows Removed by Filter: 2"),
        "{}{}",
        explained.out,
        explained.err
    );
}

#[test]
fn many_entities_are_read_to_the_end_or_as_far_as_needed() {
    let scratch = Scratch::new("files-many").expect("a folder");
    let file = path(&scratch, "many.ndjson");
    let lines: Vec<String> = (0..100_000)
        .map(|n| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{n:06}\",\"N\":{n}}}\n", n % 7))
        .collect();
    fs::write(&file, lines.concat()).expect("writes");
    let sums = asked(&format!("SELECT count(*), sum(\"N\"), count(DISTINCT \"PartitionKey\") FROM '{file}'"));
    assert_eq!(sums.out, "count,sum,count\n100000,4999950000,7\n", "{}", sums.err);
    let first = asked(&format!("SELECT count(*) FROM (SELECT 1 FROM '{file}' LIMIT 5000) AS f"));
    assert_eq!(first.out, "count\n5000\n", "{}", first.err);
    let twice = asked(&format!("SELECT count(*) FROM '{file}' a JOIN '{file}' b ON a.\"N\" = b.\"N\" + 1"));
    assert_eq!(twice.out, "count\n99999\n", "{}", twice.err);
}

#[test]
fn what_cannot_be_read_is_told() {
    let scratch = Scratch::new("files-told").expect("a folder");
    let (file, broken) = (path(&scratch, "file.ndjson"), path(&scratch, "broken.ndjson"));
    fs::write(&file, ENTITIES).expect("writes");
    fs::write(&broken, concat!(r#"{"PartitionKey":"a","RowKey":"3"}"#, "\n", r#"{"PartitionKey":"a"}"#, "\n"))
        .expect("writes");
    for (query, wanted) in [
        (format!("SELECT * FROM '{}'", path(&scratch, "none.ndjson")), "does not exist"),
        (format!("SELECT * FROM '{broken}'"), "broken.ndjson:2: "),
        (format!("SELECT * FROM '{}'", scratch.path().display()), "is no file"),
        (format!("CREATE VIEW v AS SELECT * FROM '{file}'"), "syntax error"),
        (format!("DELETE FROM '{file}'"), "only read"),
        (format!("INSERT INTO '{file}' VALUES ('a', 'b')"), "does not exist"),
        (format!("SELECT nothing FROM '{file}'"), "nothing"),
    ] {
        let run = asked(&query);
        assert!(run.code == 1 && run.err.contains(wanted), "{query}: {} {}", run.code, run.err);
    }
    // Clients of a server cannot read its files.
    let server = ServerProcess::start(serve().args(["--data", ":memory:"])).expect("a server");
    let url = format!("postgresql://rowkey@{}", server.address());
    let served = rowkey(&["sql", "--server", &url, &format!("SELECT * FROM '{file}'")]);
    assert!(served.code == 1 && served.err.contains("syntax error"), "{}", served.err);
}
