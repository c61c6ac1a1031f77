//! The name of every file in a data folder.
//!
//! ```text
//! rowkey.lock                                              held by the process that owns the folder
//! log/<first sequence number, 20 digits>.log               a segment of the log
//! log/next.tmp                                             the next segment, before it has a name
//! log/<first sequence number, 20 digits>.<n>.torn          copy of a torn tail cut from that segment
//! checkpoint/<sequence number, 20 digits>.ckpt             everything up to that sequence number
//! tables/<account>/<TableName>.<table id>/<file id, 12 digits>.parquet
//! quarantine/<path>[.<n>]                                  damaged files that a repair took out of use, and copies of others
//! tmp/rowkey-spill-<process id>-<n>/...                     spilled by a process; removed after a restart
//! tmp/import-<table id>/...                                the same, of an import to a store that has no folders
//! <any of these>.tmp                                       being written; removed after a restart
//! ```

use super::error::{Error, Operation, Result};

/// Folder of the log's segments.
pub const LOG: &str = "log";
/// Folder of the checkpoints.
pub const CHECKPOINT: &str = "checkpoint";
/// Folder of the tables' run files.
pub const TABLES: &str = "tables";
/// Folder for what repairs take out of use.
pub const QUARANTINE: &str = "quarantine";
/// Folder for spilled data.
pub const SPILL: &str = "tmp";
/// A segment of the log that is made before its first record is known; there is only a temporary
/// file of this name.
pub const NEXT_LOG_SEGMENT: &str = "log/next";
/// The file whose lock marks the owner of a data folder.
pub const LOCK: &str = "rowkey.lock";

const TEMPORARY_SUFFIX: &str = ".tmp";
const SPILL_FOLDER_PREFIX: &str = "rowkey-spill-";
const IMPORT_PREFIX: &str = "import-";
const SEGMENT_SUFFIX: &str = ".log";
const TORN_SUFFIX: &str = ".torn";
const CHECKPOINT_SUFFIX: &str = ".ckpt";
const RUN_SUFFIX: &str = ".parquet";
const SEQUENCE_DIGITS: usize = 20;
const FILE_ID_DIGITS: usize = 12;

/// The log segment whose first record has this sequence number.
pub fn log_segment(first_sequence: u64) -> String {
    format!("{LOG}/{first_sequence:0SEQUENCE_DIGITS$}{SEGMENT_SUFFIX}")
}

/// The first sequence number of a log segment; none if the path is no segment's.
pub fn parse_log_segment(path: &str) -> Option<u64> {
    digits(path.strip_prefix(LOG)?.strip_prefix('/')?.strip_suffix(SEGMENT_SUFFIX)?, SEQUENCE_DIGITS)
}

/// The `copy`-th copy of a torn tail cut from that segment.
pub fn torn_tail(first_sequence: u64, copy: u64) -> String {
    format!("{LOG}/{first_sequence:0SEQUENCE_DIGITS$}.{copy}{TORN_SUFFIX}")
}

/// The segment and the number of a torn tail's copy; none if the path is no such copy's.
pub fn parse_torn_tail(path: &str) -> Option<(u64, u64)> {
    let name = path.strip_prefix(LOG)?.strip_prefix('/')?.strip_suffix(TORN_SUFFIX)?;
    let (segment, copy) = name.split_once('.')?;
    Some((digits(segment, SEQUENCE_DIGITS)?, plain_number(copy)?))
}

/// The checkpoint that covers everything up to this sequence number.
pub fn checkpoint(sequence: u64) -> String {
    format!("{CHECKPOINT}/{sequence:0SEQUENCE_DIGITS$}{CHECKPOINT_SUFFIX}")
}

/// The sequence number of a checkpoint; none if the path is no checkpoint's.
pub fn parse_checkpoint(path: &str) -> Option<u64> {
    digits(path.strip_prefix(CHECKPOINT)?.strip_prefix('/')?.strip_suffix(CHECKPOINT_SUFFIX)?, SEQUENCE_DIGITS)
}

/// The folder of one table's run files. A table that is dropped and created again has a new id.
pub fn table_folder(account: &str, table: &str, table_id: u64) -> String {
    format!("{TABLES}/{account}/{table}.{table_id}")
}

/// A run file of a table; `file_id` is below 10^12.
pub fn run(account: &str, table: &str, table_id: u64, file_id: u64) -> String {
    format!("{}/{file_id:0FILE_ID_DIGITS$}{RUN_SUFFIX}", table_folder(account, table, table_id))
}

/// What the path of a run file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPath<'a> {
    pub account: &'a str,
    pub table: &'a str,
    pub table_id: u64,
    pub file_id: u64,
}

/// Takes the path of a run file apart; none if the path is no run file's.
pub fn parse_run(path: &str) -> Option<RunPath<'_>> {
    let mut parts = path.strip_prefix(TABLES)?.strip_prefix('/')?.split('/');
    let (account, folder, name) = (parts.next()?, parts.next()?, parts.next()?);
    let (table, table_id) = folder.rsplit_once('.')?;
    if account.is_empty() || table.is_empty() || parts.next().is_some() {
        return None;
    }
    let file_id = digits(name.strip_suffix(RUN_SUFFIX)?, FILE_ID_DIGITS)?;
    Some(RunPath { account, table, table_id: plain_number(table_id)?, file_id })
}

/// Where a repair puts a file that it takes out of use; `copy` counts those of one path from 0.
pub fn quarantined(path: &str, copy: u64) -> String {
    if copy == 0 { format!("{QUARANTINE}/{path}") } else { format!("{QUARANTINE}/{path}.{copy}") }
}

/// The name of the folder that a process spills to, wherever that lies; `number` counts those of
/// one process.
pub fn spill_folder(process: u32, number: u32) -> String {
    format!("{SPILL_FOLDER_PREFIX}{process}-{number}")
}

/// Whether a name is that of a folder that a process spills to.
pub fn is_spill_folder(name: &str) -> bool {
    let numbers = name.strip_prefix(SPILL_FOLDER_PREFIX).and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, number)| plain_number(process).is_some() && plain_number(number).is_some())
}

/// Where an import into a table spills to, in the folder of its process.
pub fn import_spill(table_id: u64) -> String {
    format!("{IMPORT_PREFIX}{table_id}")
}

/// The same where there is no such folder.
pub fn import_spill_in_store(table_id: u64) -> String {
    format!("{SPILL}/{}", import_spill(table_id))
}

/// The name under which a file is written before it is published under its final one.
pub fn temporary(path: &str) -> String {
    format!("{path}{TEMPORARY_SUFFIX}")
}

/// Whether the path is one of ours that is temporary or spilled to: nothing that a restart needs.
/// What others keep in the folder may have such a name as well.
pub fn is_temporary(path: &str) -> bool {
    if let Some((SPILL, within)) = path.split_once('/') {
        let folder = within.split('/').next().unwrap_or_default();
        return is_spill_folder(folder)
            || folder.strip_prefix(IMPORT_PREFIX).is_some_and(|id| plain_number(id).is_some());
    }
    path.strip_suffix(TEMPORARY_SUFFIX).is_some_and(|path| {
        [LOCK, NEXT_LOG_SEGMENT].contains(&path)
            || parse_log_segment(path).is_some()
            || parse_torn_tail(path).is_some()
            || parse_checkpoint(path).is_some()
            || parse_run(path).is_some()
    })
}

/// Whether a name directly in a data folder is one of the database's own.
pub fn is_top_level(name: &str) -> bool {
    [LOCK, LOG, CHECKPOINT, TABLES, QUARANTINE, SPILL].contains(&name)
}

/// The folder that holds a file: `""` for the root.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Refuses a file's path that could lead outside the store or that some file system would read
/// differently.
pub(super) fn validate(path: &str, operation: Operation) -> Result<()> {
    let rule = if path.is_empty() {
        "a file's path is not empty"
    } else if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        "a path is relative and has no empty, '.' or '..' parts"
    } else if path.contains(['\\', '\0']) {
        "a path has neither backslash nor NUL"
    } else {
        return Ok(());
    };
    Err(Error::BadPath { path: path.to_owned(), operation, rule })
}

/// The same for a folder, where `""` is the root.
pub(super) fn validate_folder(folder: &str, operation: Operation) -> Result<()> {
    if folder.is_empty() { Ok(()) } else { validate(folder, operation) }
}

/// Exactly `count` decimal digits.
fn digits(text: &str, count: usize) -> Option<u64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Decimal digits without a leading zero.
fn plain_number(text: &str) -> Option<u64> {
    let plain = text == "0" || (text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for sequence in [0, 1, 42, u64::MAX] {
            assert_eq!(parse_log_segment(&log_segment(sequence)), Some(sequence));
            assert_eq!(parse_checkpoint(&checkpoint(sequence)), Some(sequence));
            assert_eq!(parse_torn_tail(&torn_tail(sequence, 3)), Some((sequence, 3)));
            assert_eq!(parse_log_segment(&torn_tail(sequence, 3)), None);
            assert_eq!(parse_log_segment(&temporary(&log_segment(sequence))), None);
        }
        assert_eq!(log_segment(7), "log/00000000000000000007.log");
        assert_eq!(checkpoint(7), "checkpoint/00000000000000000007.ckpt");
        let path = run("devstoreaccount1", "People", 3, 12);
        assert_eq!(path, "tables/devstoreaccount1/People.3/000000000012.parquet");
        let parsed = RunPath { account: "devstoreaccount1", table: "People", table_id: 3, file_id: 12 };
        assert_eq!(parse_run(&path), Some(parsed));
        let torn = torn_tail(7, 1);
        for ours in [&path, &log_segment(7), &torn, &checkpoint(7), NEXT_LOG_SEGMENT, LOCK] {
            assert!(is_temporary(&temporary(ours)) && !is_temporary(ours), "{ours}");
        }
        for spilled in [format!("{SPILL}/{}/run", spill_folder(12, 0)), format!("{}/run-1", import_spill_in_store(3))] {
            assert!(is_temporary(&spilled), "{spilled}");
        }
        assert_eq!((folder_of(&path), folder_of("rowkey.lock")), ("tables/devstoreaccount1/People.3", ""));
    }

    #[test]
    fn foreign_names_are_no_files_of_ours() {
        for path in [
            "log/7.log",
            "log/0000000000000000000x.log",
            "logs/00000000000000000007.log",
            "log/+0000000000000000007.log",
        ] {
            assert_eq!(parse_log_segment(path), None, "{path}");
        }
        assert_eq!(parse_log_segment("log/99999999999999999999.log"), None, "more than 64 bits");
        for path in ["tables/a/T.1/1.parquet", "tables/a/T/000000000001.parquet", "tables/a/b/T.1/000000000001.parquet"]
        {
            assert_eq!(parse_run(path), None, "{path}");
        }
    }

    #[test]
    fn what_others_keep_is_not_temporary() {
        for path in
            ["notes.tmp", "log/app.log.tmp", "tables/notes.tmp", "tmp/cache/x", "tmp/rowkey-spill-mine/x", "tmp"]
        {
            assert!(!is_temporary(path), "{path}");
        }
    }

    #[test]
    fn paths_that_lead_outside_are_refused() {
        for path in ["", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", "a\\b", "a\0b"] {
            let error = validate(path, Operation::Create).unwrap_err();
            assert!(matches!(error, Error::BadPath { .. }), "{path:?}: {error}");
        }
        validate("log/1.log", Operation::Create).unwrap();
        validate_folder("", Operation::List).unwrap();
    }
}
