//! Where a database on disk puts what does not fit into memory, and for whom its files are.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::executor::block_on;

use super::{import, rows};
use crate::engine::{Engine, ImportOptions, Options};
use rowkey_base::testing::Scratch;
use rowkey_formats::Source;
use rowkey_model::files::SpillFolder;

fn open(data: &Path, spill_folder: Option<PathBuf>, memory_bytes: Option<u64>) -> Engine {
    let options = Options { spill_folder, memory_bytes, target_partitions: Some(1), ..Options::default() };
    block_on(Engine::open(data.to_str().expect("a path"), options)).expect("opens")
}

/// Everything below a folder, itself included.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.map(|entry| entry.expect("an entry")) {
        match entry.file_type().expect("a type").is_dir() {
            true => found.extend(below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Files below a folder that have something in them.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let is_filled = |path: &PathBuf| path.is_file() && fs::metadata(path).is_ok_and(|file| file.len() > 0);
    below(folder).into_iter().filter(is_filled).collect()
}

fn assert_private(folder: &Path) {
    for path in below(folder) {
        let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}: {mode:o}", path.display());
    }
}

/// Lines that are not in the order of their keys; they end when what was read of them is spilled to
/// a folder.
struct Watching {
    lines: io::Cursor<Vec<u8>>,
    folder: PathBuf,
    files_before: usize,
    seen: Arc<Mutex<Vec<PathBuf>>>,
}

impl Read for Watching {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.lines.read(buffer)?;
        if bytes == 0 {
            // Others sort what was read.
            let deadline = Instant::now() + Duration::from_secs(60);
            while files_below(&self.folder).len() <= self.files_before && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.seen.lock().expect("a lock").extend(files_below(&self.folder));
            assert_private(&self.folder);
        }
        Ok(bytes)
    }
}

/// The files that an import has spilled to below a folder.
fn spilled_by_import(engine: &Engine, folder: &Path) -> Vec<PathBuf> {
    let line =
        |i: u32| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{:08}\",\"V\":{i}}}\n", i.wrapping_mul(2_654_435_761));
    let lines = io::Cursor::new((0..60_000).map(line).collect::<String>().into_bytes());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let files_before = files_below(folder).len();
    let input = Watching { lines, folder: folder.to_owned(), files_before, seen: Arc::clone(&seen) };
    let options = ImportOptions { memory_bytes: 64 << 10, ..ImportOptions::default() };
    let report = engine
        .entities()
        .import_blocking("Spilled", vec![Source::stream("test", Box::new(input))], &options)
        .expect("imports");
    assert_eq!(report.stored, 60_000);
    seen.lock().expect("a lock").clone()
}

/// The files that a query has spilled to below a folder, looked at when it begins to answer.
fn spilled_by_query(engine: &Engine, folder: &Path) -> Vec<PathBuf> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut session = engine.own_session().expect("a session");
        let query = "select n, md5(n::text) as hash from generate_series(1, 400000) as g(n) order by hash";
        let mut answer = session.sql(query, &[]).await.expect("a query");
        let first = answer.next().await.expect("a batch").expect("rows");
        assert!(first.num_rows() > 0);
        files_below(folder)
    })
}

/// Little enough for the query to spill.
const MEMORY_BYTES: u64 = 24 << 20;

#[test]
fn spilled_data_lies_in_the_data_folder_and_goes_with_the_process() {
    let folder = Scratch::new("spilling-inside").expect("a folder");
    let (data, spill) = (folder.path().join("data"), folder.path().join("data/tmp"));
    let engine = open(&data, None, Some(MEMORY_BYTES));
    assert!(!spilled_by_import(&engine, &spill).is_empty());
    assert!(!spilled_by_query(&engine, &spill).is_empty());
    // Dropped rows are cancelled asynchronously.
    let waits_until = Instant::now() + Duration::from_secs(20);
    while !files_below(&spill).is_empty() && Instant::now() < waits_until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(files_below(&spill), Vec::<PathBuf>::new());
    assert_private(&data);
    drop(engine);
    assert_eq!(below(&spill), [spill]);
}

#[test]
fn another_folder_can_be_named_and_shared() {
    let folder = Scratch::new("spilling-outside").expect("a folder");
    let shared = folder.path().join("shared");
    let other = SpillFolder::create(&shared).expect("a folder");
    let run = other.path().join("run");
    fs::write(&run, "of a living process").expect("a file");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o600)).expect("permissions");
    for data in ["data", "more"].map(|name| folder.path().join(name)) {
        let engine = open(&data, Some(shared.clone()), Some(MEMORY_BYTES));
        for seen in [spilled_by_query(&engine, &shared), spilled_by_import(&engine, &shared)] {
            assert!(seen.contains(&run) && seen.len() > 1, "{seen:?}");
        }
        assert!(!data.join("tmp").exists());
    }
    assert_eq!(files_below(&shared), [run]);
}

#[test]
fn what_a_killed_process_has_spilled_is_removed_at_the_start_and_nothing_else() {
    let folder = Scratch::new("spilling-leftovers").expect("a folder");
    let data = folder.path().join("data");
    drop(open(&data, None, None));
    let left = ["tmp/rowkey-spill-4000000000-0/datafusion-x/.tmpA", "tmp/import-3/run-000001", "log/next.tmp"];
    let foreign = ["tmp/notes", "notes.tmp", "log/notes.tmp"];
    for path in left.iter().chain(&foreign).map(|path| data.join(path)) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "content").expect("a file");
    }
    let engine = open(&data, None, None);
    for path in left {
        assert!(!data.join(path).exists(), "{path}");
    }
    assert!(!data.join("tmp/rowkey-spill-4000000000-0").exists());
    for path in foreign {
        assert!(data.join(path).exists(), "{path}");
    }
    drop(engine);
}

#[test]
fn everything_in_a_data_folder_is_for_its_owner_alone() {
    let folder = Scratch::new("spilling-modes").expect("a folder");
    let data = folder.path().join("data");
    let engine = open(&data, None, None);
    import(&engine, "People", "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"V\":1}\n", 4000).expect("imports");
    let mut session = engine.own_session().expect("a session");
    rows(&mut session, "insert into People (partitionkey, rowkey, v) values ('p', 's', 2)").expect("an insert");
    rows(&mut session, "vacuum People").expect("a fold");
    let report = block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot())).expect("a check");
    assert!(report.findings.is_empty() && report.files > 0);
    let run = below(&data.join("tables")).into_iter().find(|path| path.is_file()).expect("a run file");
    fs::write(&run, "damaged").expect("a file");
    let report = block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot())).expect("a check");
    block_on(engine.store().quarantine(&report.damaged)).expect("a repair");
    assert!(data.join("quarantine").exists());
    assert_private(&data);
    drop((session, engine));
    assert_private(&data);
}
