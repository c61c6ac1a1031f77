//! Statements that read all of a table and write it, beside others who write to it all the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{fails, open, rows, run};
use crate::engine::Engine;
use crate::session::SqlState;
use rowkey_model::files::MemoryStore;

const ROWS: usize = 3000;

/// Runs statements while a thread adds 1 to `n` of some of the entities; afterwards, how often it
/// did by entity.
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

#[test]
fn what_was_written_for_columns_that_are_gone_is_refused() {
    for (definition, writes) in [
        ("ALTER TABLE Busy RENAME COLUMN n TO m", "INSERT INTO Busy (partitionkey, rowkey, n) VALUES ('q', 'q', 1)"),
        ("ALTER TABLE Busy DROP COLUMN n", "INSERT INTO Busy (partitionkey, rowkey, n) VALUES ('q', 'q', 1)"),
        ("ALTER TABLE Busy DROP COLUMN n, ADD COLUMN n text", "UPDATE Busy SET n = 5 WHERE rowkey = 'b'"),
        (
            "ALTER TABLE Busy RENAME COLUMN n TO m",
            "INSERT INTO Busy (partitionkey, rowkey, n) SELECT 'z', rowkey, n FROM Busy \
             ON CONFLICT (partitionkey, rowkey) DO UPDATE SET n = excluded.n",
        ),
    ] {
        let engine = open(Arc::new(MemoryStore::new())).expect("opens");
        let (mut one, mut other) = (engine.own_session().expect("a session"), engine.own_session().expect("a session"));
        run(&mut one, "CREATE TABLE Busy (n bigint, c text)");
        run(&mut one, "INSERT INTO Busy (partitionkey, rowkey, n, c) VALUES ('p', 'a', 1, 'x'), ('p', 'b', 2, 'y')");
        run(&mut one, "BEGIN");
        run(&mut one, writes);
        run(&mut other, definition);
        assert_eq!(fails(&mut one, "COMMIT"), SqlState::SERIALIZATION_FAILURE, "{writes} beside {definition}");
        let columns =
            "SELECT count(*) FROM information_schema.columns WHERE table_name ILIKE 'busy' AND column_name ~ 'n:|^n$'";
        let of_that_name = if definition.contains("ADD") { "1" } else { "0" };
        assert_eq!(rows(&mut other, columns).expect("columns"), [of_that_name], "{definition}");
        // Columns that come are no hindrance, nor is another one that goes after the write was
        // planned anew.
        run(&mut one, "BEGIN");
        run(&mut one, "INSERT INTO Busy (partitionkey, rowkey, c) VALUES ('q', 'q', 'z')");
        run(&mut other, "ALTER TABLE Busy ADD COLUMN more int");
        run(&mut one, "COMMIT");
    }
}

#[test]
fn a_view_and_what_it_reads_do_not_change_at_the_same_time() {
    for definition in [
        "ALTER TABLE Busy RENAME COLUMN c TO cc",
        "ALTER TABLE Busy DROP COLUMN c",
        "ALTER TABLE Busy RENAME TO Idle",
        "DROP TABLE Busy",
    ] {
        for view_first in [true, false] {
            let engine = open(Arc::new(MemoryStore::new())).expect("opens");
            let (mut one, mut other) =
                (engine.own_session().expect("a session"), engine.own_session().expect("a session"));
            run(&mut one, "CREATE TABLE Busy (n bigint, c text)");
            run(&mut one, "INSERT INTO Busy (partitionkey, rowkey, n, c) VALUES ('p', 'a', 1, 'x')");
            let view = "CREATE VIEW seen AS SELECT c FROM Busy";
            let (first, second) = if view_first { (view, definition) } else { (definition, view) };
            run(&mut one, "BEGIN");
            run(&mut one, second);
            run(&mut other, first);
            assert_eq!(fails(&mut one, "COMMIT"), SqlState::SERIALIZATION_FAILURE, "{second} beside {first}");
            if view_first {
                assert_eq!(rows(&mut other, "SELECT * FROM seen").expect("rows"), ["x"], "{second}");
            }
        }
    }
}
