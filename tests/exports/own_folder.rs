//! No output goes into the data folder, whichever door it takes and whichever way leads there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rowkey::formats::{Destination, ExportFormat};
use rowkey::{Database, ExportOptions, Selection};

use crate::exports::command::{rowkey, well};
use crate::exports::lossless::files_below;
use rowkey_base::testing::Scratch;

const ROWS: &str =
    "{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"N\":1}\n{\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"N\":2}\n";
/// The second has no RowKey.
const REJECTED: &str = "{\"PartitionKey\":\"b\",\"RowKey\":\"1\",\"N\":1}\n{\"PartitionKey\":\"b\",\"N\":2}\n";

/// A data folder `data`, and ways that lead into it.
struct Ways {
    scratch: Scratch,
    data: String,
    paths: Vec<PathBuf>,
}

impl Ways {
    fn new() -> Self {
        let scratch = Scratch::new("own-folder").expect("a folder");
        let at = |path: &str| scratch.path().join(path);
        fs::write(at("rows.ndjson"), ROWS).expect("writes");
        fs::write(at("rejected.ndjson"), REJECTED).expect("writes");
        let data = at("data").to_str().expect("text").to_owned();
        well(&["import", "--data", &data, "--table", "Hav", at("rows.ndjson").to_str().expect("text")]);
        fs::create_dir(at("beside")).expect("a folder");
        symlink(at("data"), at("beside/link")).expect("a link");
        symlink(at("data/log/new.csv"), at("beside/dangling.csv")).expect("a link");
        let segment = files_below(&at("data/log")).pop().expect("a segment");
        fs::hard_link(&segment, at("beside/second-name.csv")).expect("a second name");
        let paths = vec![
            segment,
            at("data/new.csv"),
            at("data/tables/new.csv"),
            at("beside/../data/log/new.csv"),
            at("beside/link/log/new.csv"),
            at("beside/dangling.csv"),
            at("beside/second-name.csv"),
        ];
        Self { scratch, data, paths }
    }

    fn path(&self, path: &str) -> String {
        self.scratch.path().join(path).to_str().expect("text").to_owned()
    }

    /// What is stored, and what lies beside it.
    fn stored(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = files_below(self.scratch.path()).into_iter().filter(|file| !file.ends_with("rowkey.lock"));
        files.map(|file| (file.clone(), fs::read(&file).unwrap_or_default())).collect()
    }
}

#[test]
fn every_command_refuses_it() {
    let ways = Ways::new();
    let rejected = ways.path("rejected.ndjson");
    let before = ways.stored();
    for path in &ways.paths {
        let path = path.to_str().expect("text");
        let copy = format!("copy (select 1 as n) to '{path}' (format csv)");
        let table = format!("copy Hav to '{path}' (format parquet)");
        for arguments in [
            &["sql", &copy][..],
            &["sql", &table],
            &["export", "--table", "Hav", "--format", "csv", "-o", path, "--overwrite"],
            &["export", "--table", "Hav", "--format", "json", "--pages", "-o", path, "--overwrite"],
            &["export", "--query", "select 1 as n", "--format", "plain-csv", "-o", path, "--overwrite"],
            &["import", "--table", "Hav", "--rejects", path, &rejected],
        ] {
            let mut arguments = arguments.to_vec();
            drop(arguments.splice(1..1, ["--data", ways.data.as_str()]));
            let run = rowkey(&arguments);
            assert_ne!(run.code, 0, "{arguments:?}: {}", run.out);
            // A rejects file writes over nothing at all.
            let exists = arguments[0] == "import" && Path::new(path).symlink_metadata().is_ok();
            let wanted = if exists { "there is such a file already" } else { "lies in the data folder" };
            assert!(run.err.contains(path) && run.err.contains(wanted), "{arguments:?}: {}", run.err);
            assert_eq!(ways.stored(), before, "{arguments:?}");
        }
    }
    let run = rowkey(&[
        "export",
        "--data",
        &ways.data,
        "--table",
        "Hav",
        "--format",
        "json",
        "--pages",
        "-o",
        &ways.path("."),
    ]);
    assert!(run.code != 0 && run.err.contains("contains the data folder"), "{}", run.err);
    // Beside it there is room for everything.
    for path in ["beside/new.csv", "data-of-another", "beside/../new.csv"] {
        well(&["export", "--data", &ways.data, "--table", "Hav", "--format", "csv", "-o", &ways.path(path)]);
    }
}

#[tokio::test]
async fn the_embedded_database_refuses_it() {
    let ways = Ways::new();
    let database = Database::open(&ways.data).await.expect("opens");
    let before = ways.stored();
    for path in &ways.paths {
        let copied = database.sql(&format!("copy Hav to '{}'", path.display())).await.map(drop);
        let options = ExportOptions { overwrite: true, ..ExportOptions::new(ExportFormat::TypedCsv) };
        let exported =
            database.export("Hav", &Selection::All, &options, Destination::Path(path.clone())).await.map(drop);
        for refused in [copied, exported] {
            let error = refused.expect_err("it lies in the data folder");
            assert!(error.to_string().contains("lies in the data folder"), "{error}");
        }
        assert_eq!(ways.stored(), before, "{}", path.display());
    }
}

#[test]
fn a_folder_for_copies_lies_beside_it() {
    let ways = Ways::new();
    let new = ways.path("not/there/yet");
    fs::create_dir_all(ways.path("not/copies")).expect("folders");
    for (data, copies, wanted) in [
        (&ways.data, ways.path("."), "contains the data folder"),
        (&ways.data, ways.path("beside/.."), "contains the data folder"),
        (&ways.data, ways.data.clone(), "lies in the data folder"),
        (&ways.data, ways.path("data/tables"), "lies in the data folder"),
        (&ways.data, ways.path("beside/link/log"), "lies in the data folder"),
        (&new, ways.path("not"), "contains the data folder"),
    ] {
        let before = ways.stored();
        let run = rowkey(&["serve", "--rest", "off", "--pg", "127.0.0.1:0", "--data", data, "--copy-dir", &copies]);
        assert_eq!(run.code, 2, "{copies}: {}{}", run.out, run.err);
        assert!(run.err.contains("--copy-dir") && run.err.contains(&copies) && run.err.contains(wanted), "{}", run.err);
        assert_eq!(ways.stored(), before, "{copies}");
    }
    assert!(!Path::new(&new).exists(), "it was refused before the data folder was made");
}
