//! Runs `sql/**/*.slt`: statements and what they answer, in the format of sqllogictest.
//!
//! Before a file, every `data/<Table>.ndjson` beside it is imported as a table of that name, into a
//! database of its own: once in memory, and once in a folder that is closed and opened again before
//! the questions. Tables are cut into small files, so that plans of small tables have something to
//! leave out.
//!
//! ```text
//! cargo test --test slt                              all files
//! cargo test --test slt access_paths/point           one file
//! UPDATE=1 cargo test --test slt [NAME]              writes what the statements answer into the files: read the difference!
//! ```
//!
//! Letters behind `query` are the types of the columns: T text, I integer, R float8, B boolean, D
//! timestamptz, G uuid, X bytea, ? any other. Values are written as `rowkey sql --output csv`
//! writes them, NULL as `NULL`, the empty text as `(empty)`; a backslash, line end or tab in a text
//! is escaped, so that a row is a line. Columns are separated by ` | `. In plans (one column,
//! `QUERY PLAN`) sizes in bytes and times are shown as `#`. `<slt:ignore>` in an expected line
//! stands for any text.
//!
//! A new answer is written with nothing behind `----`, and filled in by UPDATE=1; an answer that
//! becomes an error is not filled in, the run fails and says so. Which directives there are:
//! `script.rs`.

#[path = "../scratch/mod.rs"]
mod scratch;

mod comparison;
mod script;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use rowkey::formats::Source;
use rowkey::{Database, ImportOptions, OnReject};

use scratch::Scratch;
use script::{Answer, Script};

/// Encoded bytes of a file; a partition of a quarter of it has files of its own.
const FILE_BYTES: usize = 2_000;

/// The files there have to be at least; fewer, and they were not found.
const FILES_MIN: usize = 18;

#[derive(Debug, Clone, Copy)]
enum Place {
    Memory,
    Folder,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Memory => "memory",
            Place::Folder => "folder",
        }
    }
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
        Trial::test("runner/comparison", || passed(comparison::check)),
        Trial::test("runner/text", || passed(text::check)),
        Trial::test("runner/files_are_found", move || {
            if found >= FILES_MIN { Ok(()) } else { Err(format!("only {found} .slt files below sql").into()) }
        }),
    ];
    for (name, test) in script::TESTS {
        trials.push(Trial::test(format!("runner/script/{name}"), move || passed(test)));
    }
    for file in files {
        let name = file.strip_prefix(&sql).unwrap_or(&file).with_extension("").display().to_string();
        if update {
            trials.push(Trial::test(name, move || rewrite(&file).map_err(Failed::from)));
            continue;
        }
        for place in [Place::Memory, Place::Folder] {
            let file = file.clone();
            trials
                .push(Trial::test(format!("{name}/{}", place.name()), move || run(&file, place).map_err(Failed::from)));
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

fn run(file: &Path, place: Place) -> Result<(), String> {
    let (_, script) = read(file)?;
    with_database(file, place, async |database| script.run(async |sql| answer(&database, sql).await).await)
}

/// Writes the answers into the file.
fn rewrite(file: &Path) -> Result<(), String> {
    let (before, mut script) = read(file)?;
    let mut updated = Ok(());
    with_database(file, Place::Memory, async |database| {
        updated = script.update(async |sql| answer(&database, sql).await).await;
        Ok(())
    })?;
    let after = script.to_string();
    if after != before {
        fs::write(file, after).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    updated
}

fn read(file: &Path) -> Result<(String, Script), String> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let script = Script::parse(&name, &text)?;
    Ok((text, script))
}

/// Gives `ask` a database with the tables of the file's folder.
fn with_database(
    file: &Path,
    place: Place,
    ask: impl AsyncFnOnce(Database) -> Result<(), String>,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let folder = file.parent().unwrap_or(file).join("data");
    runtime.block_on(async {
        match place {
            Place::Memory => {
                let database = Database::open(":memory:").await.map_err(described)?;
                ask(fill(database, &folder).await?).await
            }
            Place::Folder => {
                let scratch = Scratch::new("slt").map_err(|error| error.to_string())?;
                let location = scratch.path().display().to_string();
                let database = Database::open(&location).await.map_err(described)?;
                drop(fill(database, &folder).await?);
                ask(Database::open(&location).await.map_err(described)?).await
            }
        }
    })
}

/// Imports the tables of a folder, if there is one.
async fn fill(database: Database, folder: &Path) -> Result<Database, String> {
    if !folder.is_dir() {
        return Ok(database);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        files.push(entry.map_err(|error| error.to_string())?.path());
    }
    files.sort();
    let import = move || {
        for file in files {
            let table = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let source = Source::file(&file).map_err(|error| error.to_string())?;
            let options =
                ImportOptions { on_reject: OnReject::Stop, file_bytes: FILE_BYTES, ..ImportOptions::default() };
            let report = database.import(&table, vec![source], &options).map_err(described)?;
            if report.entities == 0 || report.stored != report.entities {
                return Err(format!("{}: {} read, {} stored", file.display(), report.entities, report.stored));
            }
        }
        Ok(database)
    };
    tokio::task::spawn_blocking(import).await.map_err(|error| error.to_string())?
}

fn described(error: impl std::error::Error) -> String {
    error.to_string()
}

async fn answer(database: &Database, sql: &str) -> Result<Answer, String> {
    let answer = database.sql(sql).await.map_err(described)?;
    let types = text::column_types(&answer.schema());
    let mut rows = Vec::new();
    for batch in answer.collect().await.map_err(described)? {
        rows.extend(text::rows(&batch).map_err(described)?);
    }
    // Without columns there are no rows either, but a count of none.
    if types.is_empty() {
        rows.clear();
    }
    Ok(Answer { types, rows })
}
