//! Verifying a data folder: what the manifest says against what the files hold.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;

use super::catalog::Table;
use super::error::{Error, Result};
use super::manifest::RangePartition;
use super::run::{Columns, EntityColumns, Recount, RunFile, RunFiles};
use super::snapshot::Snapshot;
use rowkey_model::columns::KeyReader;
use rowkey_model::files::{self, paths};
use rowkey_model::{Key, KeyRef};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, or the table.
    pub path: String,
    pub problem: String,
}

/// A file that cannot be used as it is, and what is lost with it.
#[derive(Debug, Clone, PartialEq)]
pub struct DamagedFile {
    /// The account and the name of the table.
    pub account: String,
    pub table: String,
    /// In the data folder.
    pub path: String,
    pub file_id: u64,
    /// The place of its range partition in the table, from 0.
    pub range_partition: usize,
    /// Its keys lie between these.
    pub first: Key,
    pub last: Key,
    /// Live rows, as the manifest says.
    pub rows: u64,
    /// How the manifest should describe it, if the file itself is whole.
    pub(super) corrected: Option<Arc<RunFile>>,
}

/// Why a file cannot be used as it is.
enum Fault {
    Damaged {
        problem: String,
        corrected: Option<Arc<RunFile>>,
    },
    /// It could not be read now, and may be whole.
    Unreadable(Error),
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Fault::Damaged { problem, corrected: None }
    }
}

impl From<&str> for Fault {
    fn from(problem: &str) -> Self {
        problem.to_owned().into()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        if error.is_unreadable() { Fault::Unreadable(error) } else { error.to_string().into() }
    }
}

impl From<files::Error> for Fault {
    fn from(error: files::Error) -> Self {
        Error::from(error).into()
    }
}

/// What was verified and what was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckReport {
    pub tables: u64,
    pub files: u64,
    /// Live ones, those of recent writes among them.
    pub entities: u64,
    /// Recent writes that are in the log and not in files yet; they were verified when the log was
    /// read.
    pub unfolded: u64,
    pub findings: Vec<Finding>,
    /// The files among the findings that a repair takes out of use.
    pub damaged: Vec<DamagedFile>,
}

/// Bytes read at a time to compute a checksum.
const READ_BYTES: u64 = 4 << 20;
/// Rows decoded at a time.
const BATCH_ROWS: usize = 4096;

/// Reads everything: checksums, bounds, order, uniqueness, counts and statistics of every file,
/// that files lie within their range partitions, that masks name rows that there are, and that no
/// key is live in two files. One damaged file does not keep the others from being checked; one that
/// cannot be read now ends the check with that error, since it may be whole.
pub async fn check(files: &RunFiles, snapshot: &Snapshot) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    for table in snapshot.catalog.tables() {
        report.tables += 1;
        check_table(files, table, snapshot, &mut report).await?;
    }
    Ok(report)
}

async fn check_table(
    files: &RunFiles,
    table: &Arc<Table>,
    snapshot: &Snapshot,
    report: &mut CheckReport,
) -> Result<()> {
    let path = || format!("table {}", table.name);
    if !table.manifest.starts_ascend() {
        let problem = "its range partitions do not ascend".to_owned();
        report.findings.push(Finding { path: path(), problem });
    }
    let mut all_whole = true;
    for (place, range) in table.manifest.ranges().iter().enumerate() {
        let mut whole = true;
        for file in &range.files {
            report.files += 1;
            let checked = match table.manifest.holds(place, file) {
                true => check_file(files, file).await,
                false => Err(Fault::from("its keys lie outside its range partition")),
            };
            match checked {
                Ok(()) => {}
                Err(Fault::Damaged { problem, corrected }) => {
                    report.findings.push(Finding { path: file.path.clone(), problem });
                    report.damaged.push(damaged(table, place, file, corrected));
                    whole = false;
                }
                Err(Fault::Unreadable(error)) => return Err(error),
            }
        }
        // What cannot be read has been found already.
        if whole && range.files.len() > 1 {
            report.findings.extend(live_twice(files, range).await?);
        }
        all_whole &= whole;
    }
    let recent = snapshot.table_snapshot(table);
    report.unfolded += recent.delta().map_or(0, |delta| delta.len() as u64);
    match recent.live_rows(files).await {
        Ok(entities) => report.entities += entities,
        Err(error) if error.is_unreadable() => return Err(error),
        Err(error) if all_whole => report.findings.push(Finding { path: path(), problem: error.to_string() }),
        Err(_) => {}
    }
    Ok(())
}

/// Whether a folder looks like one that data was stored in, whole or damaged; an error where it
/// cannot be read.
pub fn is_data_folder(folder: &Path) -> io::Result<bool> {
    for part in [paths::LOG, paths::CHECKPOINT, paths::TABLES] {
        if folder.join(part).try_exists()? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn damaged(table: &Table, place: usize, file: &RunFile, corrected: Option<Arc<RunFile>>) -> DamagedFile {
    DamagedFile {
        account: table.account.clone(),
        table: table.name.clone(),
        path: file.path.clone(),
        file_id: file.id,
        range_partition: place,
        first: file.first.clone(),
        last: file.last.clone(),
        // A mask may name rows that there are not.
        rows: file.rows.saturating_sub(file.masked_rows()),
        corrected,
    }
}

async fn check_file(files: &RunFiles, file: &Arc<RunFile>) -> Result<(), Fault> {
    let crc32c = checksum(files, file).await?;
    if crc32c != file.crc32c {
        return Err(format!("its checksum is {crc32c:08x}, the manifest says {:08x}", file.crc32c).into());
    }
    check_rows(files, file).await
}

async fn checksum(files: &RunFiles, run: &RunFile) -> Result<u32, Fault> {
    let file = files.store().open(&run.path).await?;
    if file.bytes() != run.bytes {
        return Err(format!("it has {} bytes, the manifest says {}", file.bytes(), run.bytes).into());
    }
    let (mut at, mut crc32c) = (0, 0);
    while at < run.bytes {
        let to = run.bytes.min(at + READ_BYTES);
        let content = file.read(at..to).await?;
        crc32c = crc32c::crc32c_append(crc32c, &content);
        at = to;
    }
    Ok(crc32c)
}

/// Reads the keys of all rows, and every row. If they are sound and the manifest says something
/// else, it is the manifest that is wrong.
async fn check_rows(files: &RunFiles, run: &Arc<RunFile>) -> Result<(), Fault> {
    let open = files.open(run).await?;
    let mut keys = open.read(0..run.rows, Columns::Keys, BATCH_ROWS)?;
    let (mut rows, mut last): (u64, Option<Key>) = (0, None);
    let mut problem = None;
    while let Some(batch) = keys.next().await {
        let batch = batch?;
        let keys = KeyReader::new(batch.columns()).ok_or("its keys are not texts")?;
        for i in 0..keys.len() {
            let key = keys.get(i);
            if problem.is_none() && (key < run.first.as_ref() || run.last.as_ref() < key) {
                problem = Some(format!("key {} lies outside the bounds in the manifest", shown(key)));
            }
            if let Some(last) = &last
                && key <= last.as_ref()
            {
                let fault = if key == last.as_ref() { "occurs twice" } else { "is out of order" };
                return Err(format!("key {} {fault}", shown(key)).into());
            }
            keep(&mut last, key);
            rows += 1;
        }
    }
    if rows != run.rows {
        return Err(format!("it has {rows} rows, the manifest says {}", run.rows).into());
    }
    if let Some(row) = run.mask.as_ref().and_then(|mask| mask.max()).filter(|row| u64::from(*row) >= run.rows) {
        problem = Some(format!("its mask names row {row}, and it has {}", run.rows));
    }
    let mut batches = open.read_masked_too(BATCH_ROWS)?;
    let mut recount = Recount::of(run);
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let columns = EntityColumns::of(&open, &batch)?;
        for i in 0..columns.len() {
            columns.entity(i)?;
        }
        recount.add(&columns);
    }
    match problem.or_else(|| recount.difference(run)) {
        Some(problem) => Err(Fault::Damaged { problem, corrected: recount.corrected(run).map(Arc::new) }),
        None => Ok(()),
    }
}

/// Goes through the live keys of the files of a range partition together; the first that two files
/// have.
async fn live_twice(files: &RunFiles, range: &RangePartition) -> Result<Option<Finding>> {
    let found = |path: &str, error: Error| match error.is_unreadable() {
        true => Err(error),
        false => Ok(Some(Finding { path: path.to_owned(), problem: error.to_string() })),
    };
    let mut lanes = Vec::with_capacity(range.files.len());
    for file in &range.files {
        match Lane::open(files, file).await {
            Ok(lane) => lanes.push(lane),
            Err(error) => return found(&file.path, error),
        }
    }
    loop {
        for lane in &mut lanes {
            if let Err(error) = lane.fill().await {
                return found(&lane.run.path, error);
            }
        }
        lanes.retain(|lane| !lane.keys.is_empty());
        let least = (0..lanes.len()).min_by(|a, b| lanes[*a].keys.front().cmp(&lanes[*b].keys.front()));
        let Some((least, key)) = least.and_then(|least| Some((least, lanes[least].keys.pop_front()?))) else {
            return Ok(None);
        };
        let path = lanes[least].run.path.clone();
        if let Some(other) = lanes.iter().enumerate().find(|(at, lane)| *at != least && lane.keys.front() == Some(&key))
        {
            let problem = format!("key {} is live here and in {}", shown(key.as_ref()), other.1.run.path);
            return Ok(Some(Finding { path, problem }));
        }
    }
}

/// The live keys of one file.
struct Lane {
    run: Arc<RunFile>,
    batches: BoxStream<'static, Result<RecordBatch>>,
    /// Of the next batch.
    row: u64,
    keys: VecDeque<Key>,
}

impl Lane {
    async fn open(files: &RunFiles, run: &Arc<RunFile>) -> Result<Self> {
        let batches = files.open(run).await?.read(0..run.rows, Columns::Keys, BATCH_ROWS)?;
        Ok(Self { run: Arc::clone(run), batches, row: 0, keys: VecDeque::new() })
    }

    async fn fill(&mut self) -> Result<()> {
        while self.keys.is_empty() {
            let Some(batch) = self.batches.next().await.transpose()? else { return Ok(()) };
            if let Some(keys) = KeyReader::new(batch.columns()) {
                let mask = self.run.mask.as_ref();
                let is_live = |i: &usize| !mask.is_some_and(|mask| mask.contains((self.row + *i as u64) as u32));
                self.keys.extend((0..keys.len()).filter(is_live).map(|i| keys.get(i).to_key()));
            }
            self.row += batch.num_rows() as u64;
        }
        Ok(())
    }
}

fn keep(last: &mut Option<Key>, key: KeyRef<'_>) {
    match last {
        Some(last) => {
            key.partition.clone_into(&mut last.partition);
            key.row.clone_into(&mut last.row);
        }
        None => *last = Some(key.to_key()),
    }
}

fn shown(key: KeyRef<'_>) -> String {
    format!("({:?}, {:?})", key.partition, key.row)
}
