//! Runs `sql/**/*.slt`: statements and what they answer, in the format of sqllogictest, by the
//! crate of that name.
//!
//! Every file is asked in three ways, each with a database of its own, into which every
//! `data/<Table>.ndjson` beside the file comes as a table of that name:
//!
//! - `memory`: imported into memory, asked in process;
//! - `wire`: a data folder where a third of the entities is in the delta, asked by a client of the
//!   wire protocol;
//! - `compacted`: the same folder after a compaction, opened again and asked in process.
//!
//! The statements of a file have to leave the same columns and rows in all ways.
//!
//! ```text
//! cargo test --test slt                              all files
//! cargo test --test slt access_paths/point           one file
//! UPDATE=1 cargo test --test slt [NAME]              writes the answers into the files: read the diff!
//! ```
//!
//! Letters behind `query` are the types of the columns: T text, I integer, R float and numeric,
//! B boolean, D timestamp and timestamptz, G uuid, X bytea, J json, ? any other. Values are as
//! PostgreSQL writes them, NULL as `NULL`, the empty text as `(empty)`; a backslash, line end or
//! tab is escaped (not the backslash that a bytea begins with), so that a row is a line. Columns
//! are separated by ` | `. In plans (one column, `QUERY PLAN`) sizes in bytes and times are shown
//! as `#`. `<slt:ignore>` in an expected line stands for any text in it. What is behind `error` is
//! a regular expression that part of the message matches, or a SQLSTATE in parentheses.
//!
//! Over the wire, how much a plan reads (its line `range partitions ...`) is not compared: files
//! and delta are others. What else is another answer there stands twice, under `skipif wire` and
//! under `onlyif wire`, with the reason above it.
//!
//! A new answer is written with nothing behind `----`, and filled in by UPDATE=1, from the first
//! way that asks the statement; an answer that becomes an error is not filled in, the run fails
//! and says so.

#[path = "../server_process.rs"]
mod server_process;

mod answer;
mod embedded;
mod expected;
mod folders;
mod script;
mod script_tests;
mod state;
mod tables;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use rowkey::Database;

use answer::Refused;
use folders::{DataFolder, Folders};
use script::{Ask, Script, Way};
use state::States;

/// The files there have to be at least; fewer, and they were not found.
const FILES_MIN: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Memory,
    Wire,
    Compacted,
}

impl Place {
    const ALL: [Self; 3] = [Self::Memory, Self::Wire, Self::Compacted];

    fn way(self) -> Way {
        match self {
            Self::Memory => Way { name: "memory", compared: expected::exact },
            Self::Wire => Way { name: "wire", compared: expected::without_volume },
            Self::Compacted => Way { name: "compacted", compared: expected::exact },
        }
    }
}

/// What trials have in common.
#[derive(Default)]
struct Shared {
    folders: Folders,
    states: States,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let update = std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0");
    let sql = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let files = match slt_files(&sql) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{}: {error}", sql.display());
            return ExitCode::FAILURE;
        }
    };
    let found = files.len();
    let mut trials = vec![
        Trial::test("runner/answer", || passed(answer::check)),
        Trial::test("runner/expected", || passed(expected::check)),
        Trial::test("runner/state", || passed(state::check)),
        Trial::test("runner/files_are_found", move || {
            if found >= FILES_MIN { Ok(()) } else { Err(format!("only {found} .slt files below sql").into()) }
        }),
    ];
    for (name, test) in script_tests::TESTS {
        trials.push(Trial::test(format!("runner/script/{name}"), move || passed(test)));
    }
    let shared = Arc::new(Shared::default());
    for file in files {
        let name = file.strip_prefix(&sql).unwrap_or(&file).with_extension("").display().to_string();
        if update {
            let shared = Arc::clone(&shared);
            trials.push(Trial::test(name, move || rewrite(&file, &shared).map_err(Failed::from)));
            continue;
        }
        for place in Place::ALL {
            let (file, shared) = (file.clone(), Arc::clone(&shared));
            let name = format!("{name}/{}", place.way().name);
            trials.push(Trial::test(name, move || run(&file, place, &shared).map_err(Failed::from)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// All `.slt` files of a folder and those in it, by name.
fn slt_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "slt") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A test of the runner's own, which panics if it fails.
fn passed(test: fn()) -> Result<(), Failed> {
    test();
    Ok(())
}

fn labels() -> [&'static str; 3] {
    Place::ALL.map(|place| place.way().name)
}

fn run(file: &Path, place: Place, shared: &Shared) -> Result<(), String> {
    let script = Script::read(file, &labels())?;
    let way = place.way();
    runtime()?.block_on(with_database(file, place, &shared.folders, async |open, look| {
        script.run(&way, open).await?;
        shared.states.expect_same(file, way.name, state::state(look).await?)
    }))
}

/// Writes the answers into the file.
fn rewrite(file: &Path, shared: &Shared) -> Result<(), String> {
    let mut script = Script::read(file, &labels())?;
    let before = script.to_string();
    let mut faults = Vec::new();
    for place in Place::ALL {
        let updated =
            with_database(file, place, &shared.folders, async |open, _| script.update(&place.way(), open).await);
        faults.extend(runtime()?.block_on(updated).err());
    }
    let after = script.to_string();
    if after != before {
        fs::write(file, after).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| error.to_string())
}

/// Makes a database with the tables of the file's folder. `ask` gets what connects to it, and a
/// connection beside.
async fn with_database(
    file: &Path,
    place: Place,
    folders: &Folders,
    ask: impl AsyncFnOnce(&mut dyn FnMut() -> Result<Ask, Refused>, &mut Ask) -> Result<(), String>,
) -> Result<(), String> {
    let exports = file.parent().unwrap_or(file).join("data");
    if place == Place::Memory {
        let database = open(":memory:").await?;
        tables::import(&database, &tables::exports(&exports)?).await?;
        return ask(&mut || Ok(embedded::ask(&database)), &mut embedded::ask(&database)).await;
    }
    let DataFolder { folder, recent } = folders.copy(&exports, place == Place::Compacted).await?;
    if place == Place::Compacted {
        let database = open(&folder.path().display().to_string()).await?;
        let mut look = embedded::ask(&database);
        expect_recent(&mut look, recent).await?;
        return ask(&mut || Ok(embedded::ask(&database)), &mut look).await;
    }
    let server = wire::server(folder.path())?;
    let mut look = wire::ask(wire::connect(&server).await?);
    expect_recent(&mut look, recent).await?;
    let mut client = Some(wire::connect(&server).await?);
    let mut connect = || client.take().map(wire::ask).ok_or_else(|| Refused::fault("there is one connection"));
    ask(&mut connect, &mut look).await
}

async fn open(location: &str) -> Result<Database, String> {
    Database::open(location).await.map_err(|error| error.to_string())
}

/// Whether so many writes lie in the delta: otherwise a way is not what it says.
async fn expect_recent(ask: &mut Ask, written: usize) -> Result<(), String> {
    let asked = ask("SELECT coalesce(sum(delta_versions), 0) FROM rowkey.tables".to_owned()).await;
    let rows = asked.map_err(|refused| refused.to_string())?.rows;
    if rows == [[written.to_string()]] { Ok(()) } else { Err(format!("{rows:?} recent versions, {written} written")) }
}
