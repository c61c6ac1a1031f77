//! Verifying a data folder: what the manifest says against what the files hold.

use std::sync::Arc;

use futures::StreamExt;

use super::catalog::{Catalog, Table};
use super::run::{Columns, EntityColumns, RunFile, RunFiles};
use crate::model::Key;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, or the table.
    pub path: String,
    pub problem: String,
}

/// What was verified and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub tables: u64,
    pub files: u64,
    pub entities: u64,
    pub findings: Vec<Finding>,
}

/// Bytes read at a time to compute a checksum.
const READ_BYTES: u64 = 4 << 20;
/// Rows decoded at a time.
const BATCH_ROWS: usize = 4096;

/// Reads everything: checksums, bounds, order, uniqueness and counts of every file, and that files lie within their range
/// partitions. One damaged file does not keep the others from being checked.
pub async fn check(files: &RunFiles, catalog: &Catalog) -> CheckReport {
    let mut report = CheckReport::default();
    for table in catalog.tables() {
        report.tables += 1;
        check_table(files, table, &mut report).await;
    }
    report
}

async fn check_table(files: &RunFiles, table: &Table, report: &mut CheckReport) {
    if !table.manifest.is_sound() {
        let problem = "its range partitions do not ascend, or a file lies outside its range partition".to_owned();
        report.findings.push(Finding { path: format!("table {}", table.name), problem });
    }
    let mut last: Option<Key> = None;
    for file in table.manifest.files() {
        report.files += 1;
        let found = |problem: String| Finding { path: file.path.clone(), problem };
        if last.as_ref().is_some_and(|last| *last >= file.first) {
            report
                .findings
                .push(found(format!("its first key {} is not behind the file before it", shown(&file.first))));
        }
        last = Some(file.last.clone());
        match checksum(files, file).await {
            Ok(crc32c) if crc32c == file.crc32c => {}
            Ok(crc32c) => {
                let problem = format!("its checksum is {crc32c:08x}, the manifest says {:08x}", file.crc32c);
                report.findings.push(found(problem));
                continue;
            }
            Err(error) => {
                report.findings.push(found(error));
                continue;
            }
        }
        match check_rows(files, file).await {
            Ok(live) => report.entities += live,
            Err(problem) => report.findings.push(found(problem)),
        }
    }
}

async fn checksum(files: &RunFiles, run: &RunFile) -> Result<u32, String> {
    let file = files.store().open(&run.path).await.map_err(|error| error.to_string())?;
    if file.bytes() != run.bytes {
        return Err(format!("it has {} bytes, the manifest says {}", file.bytes(), run.bytes));
    }
    let (mut at, mut crc32c) = (0, 0);
    while at < run.bytes {
        let to = run.bytes.min(at + READ_BYTES);
        let content = file.read(at..to).await.map_err(|error| error.to_string())?;
        crc32c = crc32c::crc32c_append(crc32c, &content);
        at = to;
    }
    Ok(crc32c)
}

/// Reads every live row; gives their number.
async fn check_rows(files: &RunFiles, run: &Arc<RunFile>) -> Result<u64, String> {
    let open = files.open(run).await.map_err(|error| error.to_string())?;
    let mut batches = open.read(0..run.rows, Columns::All, BATCH_ROWS).map_err(|error| error.to_string())?;
    let (mut live, mut last): (u64, Option<Key>) = (0, None);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| error.to_string())?;
        let columns = EntityColumns::of(&open, &batch).map_err(|error| error.to_string())?;
        for i in 0..columns.len() {
            let key = columns.key(i);
            if key < run.first.as_ref() || run.last.as_ref() < key {
                return Err(format!("key {} lies outside the bounds in the manifest", shown(&key.to_key())));
            }
            if let Some(last) = &last
                && key <= last.as_ref()
            {
                let fault = if key == last.as_ref() { "occurs twice" } else { "is out of order" };
                return Err(format!("key {} {fault}", shown(&key.to_key())));
            }
            columns.entity(i).map_err(|error| error.to_string())?;
            match &mut last {
                Some(last) => {
                    key.partition.clone_into(&mut last.partition);
                    key.row.clone_into(&mut last.row);
                }
                None => last = Some(key.to_key()),
            }
            live += 1;
        }
    }
    if live != run.live_rows() {
        return Err(format!("it has {live} live rows, the manifest says {}", run.live_rows()));
    }
    Ok(live)
}

fn shown(key: &Key) -> String {
    format!("({:?}, {:?})", key.partition, key.row)
}
