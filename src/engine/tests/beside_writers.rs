//! Statements that read all of a table and write it, beside others who write to it all the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{open, rows};
use crate::engine::Engine;
use crate::files::MemoryStore;

const ROWS: usize = 3000;

/// Runs statements while a thread adds 1 to `n` of some of the entities; afterwards, how often it did by entity.
fn beside_a_writer(engine: &Engine, statements: &[&str]) -> BTreeMap<usize, i64> {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut session = engine.own_session().expect("a session");
            let mut written = BTreeMap::new();
            for row in (0..ROWS).step_by(7).cycle() {
                if is_done.load(Ordering::Acquire) {
                    break;
                }
                let sql = format!("UPDATE Busy SET n = n + 1 WHERE partitionkey = 'p' AND rowkey = '{row:05}'");
                rows(&mut session, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                *written.entry(row).or_default() += 1;
            }
            written
        });
        let mut session = engine.own_session().expect("a session");
        let failed = statements.iter().find_map(|sql| rows(&mut session, sql).err());
        is_done.store(true, Ordering::Release);
        let written = writer.join().expect("a writer");
        assert!(failed.is_none(), "{failed:?}");
        written
    })
}

#[test]
fn columns_are_renamed_and_dropped_and_all_rows_updated_beside_a_steady_writer() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = engine.own_session().expect("a session");
    let fill = format!(
        "INSERT INTO Busy (partitionkey, rowkey, n, m, gone) \
         SELECT 'p', lpad(i::text, 5, '0'), 0, i, 'x' FROM generate_series(0, {}) AS s(i)",
        ROWS - 1
    );
    for sql in ["CREATE TABLE Busy (n bigint, m bigint, gone text)", &fill] {
        rows(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let written = beside_a_writer(
        &engine,
        &[
            "ALTER TABLE Busy RENAME COLUMN m TO renamed",
            "ALTER TABLE Busy DROP COLUMN gone",
            "UPDATE Busy SET n = n + 1000000",
        ],
    );
    let found = rows(&mut session, "SELECT rowkey, n, renamed FROM Busy ORDER BY rowkey").expect("rows");
    for (row, found) in found.iter().enumerate() {
        let n = 1_000_000 + written.get(&row).copied().unwrap_or_default();
        assert_eq!(*found, format!("{row:05}|{n}|{row}"));
    }
    assert_eq!(found.len(), ROWS);
}
