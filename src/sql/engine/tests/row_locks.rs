//! Rows that are read FOR UPDATE and FOR SHARE: who of two transactions wins.

use std::sync::Arc;

use super::{ask, fails, open, rows, run, session};
use crate::engine::Engine;
use crate::session::SqlState;
use rowkey_model::files::MemoryStore;

const CONFLICT: SqlState = SqlState::SERIALIZATION_FAILURE;

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = session(&engine);
    run(&mut session, "CREATE TABLE Things (n int, t text)");
    run(&mut session, "CREATE TABLE Others (n int)");
    run(&mut session, "CREATE VIEW seen AS SELECT * FROM things");
    run(
        &mut session,
        "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2), ('q', 'c', 3)",
    );
    engine
}

/// Reads a row in a transaction, lets another one run `meanwhile`, and commits.
fn commit_after(engine: &Engine, read: &str, meanwhile: &[&str]) -> Result<(), SqlState> {
    let (mut one, mut other) = (session(engine), session(engine));
    run(&mut one, "BEGIN");
    run(&mut one, read);
    meanwhile.iter().for_each(|sql| run(&mut other, sql));
    rows(&mut one, "COMMIT").map(drop).map_err(|error| {
        one.failed();
        error.sqlstate()
    })
}

#[test]
fn what_was_read_so_must_not_have_changed() {
    for words in ["FOR UPDATE", "FOR NO KEY UPDATE OF things", "FOR SHARE", "FOR KEY SHARE"] {
        let engine = engine();
        let read = format!("SELECT n FROM things WHERE rowkey = 'a' {words}");
        for meanwhile in [
            "UPDATE things SET n = n + 1 WHERE rowkey = 'a'",
            "DELETE FROM things WHERE rowkey = 'a'",
            "INSERT OR REPLACE INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 1)",
        ] {
            let changed = commit_after(&engine, &read, &[meanwhile]);
            // Once it is deleted there is no row to be read.
            let expected = if meanwhile.starts_with("INSERT") { Ok(()) } else { Err(CONFLICT) };
            assert_eq!(changed, expected, "{words}: {meanwhile}");
        }
        assert_eq!(commit_after(&engine, &read, &["UPDATE things SET n = 0 WHERE rowkey = 'b'"]), Ok(()), "{words}");
        // Without the words it may change.
        let plain = "SELECT n FROM things WHERE rowkey = 'b'";
        assert_eq!(commit_after(&engine, plain, &["UPDATE things SET n = n + 1"]), Ok(()));
    }
}

#[test]
fn for_update_is_like_a_write_to_others_and_for_share_is_not() {
    let engine = engine();
    let block =
        |words: &str| ["BEGIN".to_owned(), format!("SELECT * FROM things WHERE n = 2 {words}"), "COMMIT".to_owned()];
    for (first, second, expected) in [
        ("FOR UPDATE", "FOR UPDATE", Err(CONFLICT)),
        ("FOR UPDATE", "FOR SHARE", Err(CONFLICT)),
        ("FOR SHARE", "FOR SHARE", Ok(())),
        ("FOR SHARE", "FOR UPDATE", Ok(())),
    ] {
        let meanwhile = block(first);
        let meanwhile: Vec<&str> = meanwhile.iter().map(String::as_str).collect();
        let read = format!("SELECT t FROM things WHERE n = 2 {second}");
        assert_eq!(commit_after(&engine, &read, &meanwhile), expected, "{first}, {second}");
    }
    // Writes of a row that another transaction has read FOR UPDATE.
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, "BEGIN");
    run(&mut one, "UPDATE things SET t = 'x' WHERE rowkey = 'b'");
    block("FOR UPDATE").iter().for_each(|sql| run(&mut other, sql));
    assert_eq!(fails(&mut one, "COMMIT"), CONFLICT);
    // The properties are as they were.
    assert_eq!(ask(&mut one, "SELECT n, t FROM things WHERE rowkey = 'b'"), ["2|NULL"]);
}

#[test]
fn a_child_is_not_added_twice_below_a_parent_that_both_have_locked() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    for session in [&mut one, &mut other] {
        run(session, "BEGIN");
        run(session, "SELECT 1 FROM things WHERE rowkey = 'a' FOR UPDATE");
        assert_eq!(ask(session, "SELECT count(*) FROM others"), ["0"]);
    }
    run(&mut one, "INSERT INTO others (partitionkey, rowkey) VALUES ('a', '1')");
    run(&mut other, "INSERT INTO others (partitionkey, rowkey) VALUES ('a', '2')");
    run(&mut one, "COMMIT");
    assert_eq!(fails(&mut other, "COMMIT"), CONFLICT);
    assert_eq!(ask(&mut other, "SELECT rowkey FROM others"), ["1"]);
}

#[test]
fn locks_go_with_their_savepoint_and_only_rows_that_are_read_are_locked() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, "BEGIN");
    run(&mut one, "SELECT n FROM things WHERE rowkey = 'c' FOR SHARE");
    run(&mut one, "SAVEPOINT s");
    run(&mut one, "SELECT n FROM things FOR UPDATE");
    run(&mut one, "ROLLBACK TO s");
    run(&mut other, "UPDATE things SET n = 10 WHERE rowkey = 'a'");
    run(&mut one, "COMMIT");
    let read = "SELECT n FROM things AS t WHERE partitionkey = 'p' ORDER BY n DESC LIMIT 1 FOR UPDATE OF t";
    assert_eq!(commit_after(&engine, read, &["UPDATE things SET n = 0 WHERE rowkey = 'b'"]), Ok(()));
    assert_eq!(commit_after(&engine, read, &["UPDATE things SET n = 0 WHERE rowkey = 'a'"]), Err(CONFLICT));
    // What the transaction writes itself, or has made, needs no more.
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, "BEGIN");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'new', 1)");
    assert_eq!(ask(&mut one, "SELECT n FROM things WHERE rowkey IN ('new', 'c') ORDER BY n FOR UPDATE"), ["1", "3"]);
    run(&mut one, "UPDATE things SET n = n + 1 WHERE rowkey IN ('new', 'c')");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut other, "SELECT n FROM things WHERE rowkey IN ('new', 'c') ORDER BY n"), ["2", "4"]);
}

#[test]
fn rows_that_are_not_those_of_one_table_are_not_locked() {
    let engine = engine();
    let mut session = session(&engine);
    for refused in [
        "SELECT DISTINCT n FROM things FOR UPDATE",
        "SELECT n FROM things GROUP BY n FOR UPDATE",
        "SELECT count(*) FROM things FOR UPDATE",
        "SELECT row_number() OVER () FROM things FOR UPDATE",
        "SELECT unnest(ARRAY[1, 2]) FROM things FOR UPDATE",
        "SELECT a.n FROM things a JOIN others b USING (rowkey) FOR UPDATE",
        "SELECT n FROM things UNION SELECT n FROM others FOR UPDATE",
        "SELECT * FROM (SELECT * FROM things) s FOR UPDATE",
        "SELECT * FROM (SELECT * FROM things FOR UPDATE) s",
        "UPDATE things SET n = 1 WHERE rowkey IN (SELECT rowkey FROM things FOR UPDATE)",
        "WITH w AS (SELECT * FROM things) SELECT * FROM w FOR UPDATE",
        "SELECT * FROM seen FOR UPDATE",
        "SELECT * FROM pg_class FOR SHARE",
        "SELECT * FROM things FOR UPDATE SKIP LOCKED",
        "SELECT * FROM things FOR UPDATE NOWAIT",
        "CREATE VIEW locked AS SELECT * FROM things FOR UPDATE",
        "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM things FOR UPDATE",
    ] {
        assert_eq!(fails(&mut session, refused), SqlState::FEATURE_NOT_SUPPORTED, "{refused}");
    }
    assert_eq!(fails(&mut session, "SELECT * FROM things t FOR UPDATE OF things"), SqlState::UNDEFINED_TABLE);
    run(&mut session, "SELECT n FROM things WHERE n IN (SELECT n FROM others) FOR UPDATE");
    run(&mut session, "BEGIN READ ONLY");
    assert_eq!(fails(&mut session, "SELECT * FROM things FOR SHARE"), SqlState::READ_ONLY_SQL_TRANSACTION);
}
