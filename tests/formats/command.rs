//! `rowkey import` as it is typed: exit statuses, and what it says of entities that it leaves out.

use std::fs;
use std::process::{Command, Output, Stdio};

use rowkey_base::testing::Scratch;

struct Run {
    code: i32,
    out: String,
    err: String,
}

/// A folder with a data folder in it.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        Self(Scratch::new(name).expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).expect("writes");
        self.path(name)
    }

    fn run(&self, command: &str, more: &[&str]) -> Run {
        let data = self.path("data");
        let mut arguments = vec![command, "--data", &data];
        arguments.extend(more);
        let run = Command::new(env!("CARGO_BIN_EXE_rowkey")).args(&arguments).stdin(Stdio::null()).output();
        let Output { status, stdout, stderr } = run.expect("runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Run { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }

    fn import(&self, input: &str, more: &[&str]) -> Run {
        let mut arguments = vec!["--table", "Tab"];
        arguments.extend(more);
        arguments.push(input);
        self.run("import", &arguments)
    }
}

#[test]
fn entities_that_share_a_key_and_differ() {
    let folder = Folder::new("conflicts");
    let keys = ["--pk-column", "Country", "--rk-column", "City"];
    let cities = folder.write("cities.csv", "Country,City,N\nNL,A,1\nNL,A,2\nNL,A,3\nBE,A,3\nBE,A,3\n");
    let with = |more: &[&str]| folder.import(&cities, &[&keys, more].concat());

    let strict = with(&["--strict"]);
    assert_eq!((strict.code, strict.out.as_str()), (1, ""), "{}", strict.err);
    assert!(strict.err.contains("error: keys: 2 entities share their keys with others that differ"), "{}", strict.err);
    let stop = with(&["--on-error", "stop"]);
    assert_eq!((stop.code, stop.out.as_str()), (1, ""), "{}", stop.err);
    assert!(stop.err.contains("cities.csv:2: the entity at "), "{}", stop.err);
    assert!(folder.run("sql", &["select * from Tab"]).err.contains("does not exist"), "nothing was imported");

    let rejects = folder.path("rejects.ndjson");
    let dry = with(&["--dry-run"]);
    let run = with(&["--rejects", &rejects]);
    for run in [&dry, &run] {
        assert_eq!(run.code, 3, "{}", run.err);
        for line in ["entities read  3", "inserted       2", "duplicates     1", "rejected       2", "  conflicting  2"]
        {
            assert!(run.out.contains(&format!("  {line}\n")), "{line}: {}", run.out);
        }
        assert!(run.err.contains("says which is newer: (\"NL\", \"A\")\n"), "{}", run.err);
        assert!(run.err.contains("cities.csv:3: the entity at "), "{}", run.err);
        assert!(run.err.contains("warning: 2 entities were rejected and left out"), "{}", run.err);
    }
    assert_eq!(fs::read_to_string(&rejects).expect("rejects").lines().count(), 2);
    let values = folder.run("sql", &["--output", "csv", "select n from Tab order by partitionkey"]);
    assert_eq!(values.out, "N\n3\n3\n", "{}", values.err);
    assert_eq!(with(&["--on-error", "skip"]).code, 0);
}

#[test]
fn rejects_of_the_data_model() {
    let folder = Folder::new("statuses");
    let mixed = folder.write("mixed.csv", "PartitionKey,RowKey\na,1\na/b,1\n");
    let none = folder.write("none.csv", "PartitionKey,RowKey\na/b,1\n");
    let well = folder.write("well.csv", "PartitionKey,RowKey\na,2\n");
    let code = |input: &str, more: &[&str]| folder.import(input, more).code;
    assert_eq!((code(&well, &[]), code(&mixed, &[]), code(&none, &[])), (0, 3, 3));
    let skip = ["--on-error", "skip"];
    assert_eq!((code(&mixed, &skip), code(&none, &skip)), (0, 1));
    assert_eq!(code(&mixed, &["--on-error", "stop"]), 1);
    let strict = folder.import(&mixed, &["--strict", "--on-error", "skip"]);
    assert_eq!(strict.code, 1);
    assert!(strict.err.contains("1 entity was rejected: "), "{}", strict.err);
    assert!(strict.err.contains("nothing was imported"), "{}", strict.err);
    assert_eq!((code(&well, &["--strict"]), code(&well, &["--on-error", "never"])), (0, 2));
    assert!(folder.run("import", &["--help"]).out.contains("3 when entities were rejected"));
}

/// A table with a Binary that is too long for a text, through a format without types.
#[test]
fn a_long_binary_through_plain_csv() {
    let folder = Folder::new("plain");
    let base64 = "QUJD".repeat(20_000);
    let input = folder.write(
        "in.ndjson",
        &format!(r#"{{"PartitionKey":"p","RowKey":"r","B@odata.type":"Edm.Binary","B":"{base64}"}}"#),
    );
    assert_eq!(folder.import(&input, &[]).code, 0);
    let csv = folder.path("out.csv");
    let exported = folder.run("export", &["--table", "Tab", "--format", "plain-csv", "-o", &csv]);
    assert_eq!(exported.code, 0, "{}", exported.err);
    let run = folder.import(&csv, &["--dry-run"]);
    assert_eq!(run.code, 3, "{}", run.out);
    assert!(run.err.contains("a Binary of 60000 bytes, which --types B=Edm.Binary makes of it"), "{}", run.err);
    let run = folder.import(&csv, &["--types", "B=Edm.Binary"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("unchanged      1\n"), "{}", run.out);
}
