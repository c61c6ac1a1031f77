//! Transaction blocks that write: what they see, what stays, who wins.

use std::sync::Arc;

use super::{Dice, ask, fails, open, rows, run, session};
use crate::engine::Engine;
use crate::session::SqlState;
use rowkey_model::files::MemoryStore;

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = session(&engine);
    run(&mut session, "CREATE TABLE Things (n int, t text)");
    engine
}

fn insert(key: &str, n: i32) -> String {
    format!("INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', '{key}', {n})")
}

const ALL: &str = "SELECT rowkey, n FROM things ORDER BY partitionkey, rowkey";

#[test]
fn a_block_sees_its_own_writes_and_others_do_not() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, &insert("a", 1));
    run(&mut one, "BEGIN");
    run(&mut one, &insert("b", 2));
    run(&mut one, "UPDATE things SET n = n + 10");
    run(&mut one, "DELETE FROM things WHERE rowkey = 'a'");
    run(&mut one, &insert("a", 5));
    assert_eq!(ask(&mut one, ALL), ["a|5", "b|12"]);
    assert_eq!(ask(&mut one, "SELECT count(*) FROM things"), ["2"]);
    assert_eq!(ask(&mut one, "SELECT n FROM things WHERE partitionkey = 'p' AND rowkey = 'b'"), ["12"]);
    assert_eq!(ask(&mut other, ALL), ["a|1"]);
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, ALL), ["a|5", "b|12"]);
    assert_eq!(ask(&mut other, ALL), ["a|5", "b|12"]);
}

#[test]
fn what_is_rolled_back_was_never_there() {
    let engine = engine();
    let mut one = session(&engine);
    run(&mut one, "BEGIN");
    run(&mut one, &insert("a", 1));
    run(&mut one, "SAVEPOINT s");
    run(&mut one, &insert("b", 2));
    run(&mut one, "UPDATE things SET n = 100");
    assert_eq!(fails(&mut one, &insert("a", 3)), SqlState::UNIQUE_VIOLATION);
    assert_eq!(fails(&mut one, ALL), SqlState::IN_FAILED_SQL_TRANSACTION);
    run(&mut one, "ROLLBACK TO s");
    assert_eq!(ask(&mut one, ALL), ["a|1"]);
    run(&mut one, &insert("c", 3));
    run(&mut one, "RELEASE s");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, ALL), ["a|1", "c|3"]);
    run(&mut one, "BEGIN");
    run(&mut one, "DELETE FROM things");
    run(&mut one, "ROLLBACK");
    assert_eq!(ask(&mut one, ALL), ["a|1", "c|3"]);
    // A block that failed is rolled back by COMMIT.
    run(&mut one, "BEGIN");
    run(&mut one, "DELETE FROM things");
    fails(&mut one, "SELECT nosuch FROM things");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, ALL), ["a|1", "c|3"]);
}

#[test]
fn the_first_to_commit_wins() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, &insert("a", 1));
    for (mine, theirs) in [
        ("UPDATE things SET n = 2 WHERE rowkey = 'a'", "UPDATE things SET n = 3 WHERE rowkey = 'a'"),
        ("DELETE FROM things WHERE rowkey = 'a'", "UPDATE things SET n = 4 WHERE rowkey = 'a'"),
        ("UPDATE things SET n = 5 WHERE rowkey = 'a'", "DELETE FROM things WHERE rowkey = 'a'"),
        (
            "INSERT INTO things (partitionkey, rowkey) VALUES ('p', 'a')",
            "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 7)",
        ),
        (
            "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 8) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET n = 8",
            "DELETE FROM things",
        ),
    ] {
        run(&mut one, "BEGIN");
        ask(&mut one, ALL);
        run(&mut one, mine);
        run(&mut one, &format!("INSERT INTO things (partitionkey, rowkey) VALUES ('mine', '{}')", theirs.len()));
        run(&mut other, theirs);
        let before = ask(&mut other, ALL);
        assert_eq!(fails(&mut one, "COMMIT"), SqlState::SERIALIZATION_FAILURE, "{mine} beside {theirs}");
        assert_eq!(ask(&mut one, ALL), before, "nothing of the loser is there");
    }
    // Who writes other entities is in nobody's way.
    run(&mut one, "BEGIN");
    run(&mut one, &insert("x", 1));
    run(&mut other, &insert("y", 1));
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, ALL), ["x|1", "y|1"]);
}

#[test]
fn no_row_is_left_out_for_an_entity_that_is_gone() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    let insert = "INSERT INTO things (partitionkey, rowkey, n) VALUES";
    for statement in [
        format!("{insert} ('p', 'a', 8) ON CONFLICT DO NOTHING"),
        format!("{insert} ('p', 'b', 8), ('p', 'a', 8) ON CONFLICT DO NOTHING"),
        format!("{insert} ('p', 'a', 8) ON CONFLICT DO NOTHING RETURNING n"),
        format!("{insert} ('p', 'a', 8) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET n = 9 WHERE things.n > 100"),
    ] {
        for gone in ["DELETE FROM things", "TRUNCATE things", "DROP TABLE things"] {
            run(&mut one, "DROP TABLE IF EXISTS things");
            run(&mut one, "CREATE TABLE things (n int, t text)");
            run(&mut one, &format!("{insert} ('p', 'a', 1)"));
            run(&mut one, "BEGIN");
            assert_eq!(ask(&mut one, ALL), ["a|1"]);
            run(&mut other, gone);
            assert_eq!(fails(&mut one, &statement), SqlState::SERIALIZATION_FAILURE, "{statement} after {gone}");
            run(&mut one, "ROLLBACK");
        }
        // What is there stays, and so does what the transaction itself has written.
        run(&mut one, "CREATE TABLE things (n int, t text)");
        run(&mut one, &format!("{insert} ('p', 'a', 1)"));
        run(&mut one, "BEGIN");
        assert_eq!(ask(&mut one, ALL), ["a|1"]);
        run(&mut other, "UPDATE things SET n = 2");
        run(&mut one, &statement);
        run(&mut one, "ROLLBACK");
        run(&mut one, "BEGIN");
        run(&mut one, "DELETE FROM things");
        run(&mut one, &format!("{insert} ('p', 'a', 3)"));
        run(&mut one, &statement);
        run(&mut one, "COMMIT");
        assert_eq!(ask(&mut one, "SELECT n FROM things WHERE rowkey = 'a'"), ["3"], "{statement}");
    }
}

#[test]
fn a_read_only_transaction_writes_nothing() {
    let engine = engine();
    let mut one = session(&engine);
    run(&mut one, "BEGIN READ ONLY");
    assert_eq!(fails(&mut one, &insert("a", 1)), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "ROLLBACK");
    run(&mut one, "SET default_transaction_read_only = on");
    assert_eq!(fails(&mut one, "DELETE FROM things"), SqlState::READ_ONLY_SQL_TRANSACTION);
    assert_eq!(fails(&mut one, "TRUNCATE things"), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "SET default_transaction_read_only = off");
    run(&mut one, "BEGIN READ ONLY");
    assert_eq!(fails(&mut one, "CREATE TABLE Other ()"), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "ROLLBACK");
}

#[test]
fn a_prepared_query_sees_what_was_written_since() {
    let engine = engine();
    let mut one = session(&engine);
    run(&mut one, "PREPARE q AS SELECT n FROM things WHERE partitionkey = 'p' AND rowkey = 'a'");
    run(&mut one, "PREPARE c AS SELECT count(*), sum(n) FROM things");
    run(&mut one, "PREPARE i AS INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', $1, $2)");
    assert!(ask(&mut one, "EXECUTE q").is_empty());
    run(&mut one, "EXECUTE i('a', 1)");
    assert_eq!(ask(&mut one, "EXECUTE q"), ["1"]);
    assert_eq!(ask(&mut one, "EXECUTE c"), ["1|1"]);
    run(&mut one, "BEGIN");
    run(&mut one, "EXECUTE i('b', 2)");
    run(&mut one, "UPDATE things SET n = n * 10");
    assert_eq!(ask(&mut one, "EXECUTE q"), ["10"]);
    assert_eq!(ask(&mut one, "EXECUTE c"), ["2|30"]);
    run(&mut one, "ROLLBACK");
    assert_eq!(ask(&mut one, "EXECUTE q"), ["1"]);
    assert_eq!(ask(&mut one, "EXECUTE c"), ["1|1"]);
}

#[test]
fn literals_in_quotes_are_read_as_the_types_of_parameters() {
    let engine = engine();
    let mut one = session(&engine);
    run(&mut one, "PREPARE q(text[], int, date) AS SELECT cardinality($1), $2 + 1, $3 + 1");
    for arguments in
        ["'{a,b}', '41', '2024-02-28'", "ARRAY['a', 'b'], 41, date '2024-02-28'", "$${a,b}$$, e'41', '2024-02-28'"]
    {
        assert_eq!(ask(&mut one, &format!("EXECUTE q({arguments})")), ["2|42|2024-02-29"], "{arguments}");
    }
    assert_eq!(fails(&mut one, "EXECUTE q('{a', 1, NULL)"), SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(fails(&mut one, "EXECUTE q(NULL, 'x', NULL)"), SqlState::INVALID_TEXT_REPRESENTATION);
}

/// Blocks of random statements with savepoints against the same without a block, one statement at a
/// time.
#[test]
fn a_block_does_what_its_statements_do_alone() {
    for seed in 0..12 {
        let mut dice = Dice(seed);
        let (blocks, alone) = (engine(), engine());
        let (mut block, mut plain) = (session(&blocks), session(&alone));
        for _ in 0..6 {
            run(&mut block, "BEGIN");
            for _ in 0..dice.below(8) {
                let (key, n) = (["a", "b", "c", "d"][dice.below(4)], dice.below(50));
                let sql = match dice.below(5) {
                    0 => format!(
                        "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', '{key}', {n}) ON CONFLICT DO NOTHING"
                    ),
                    1 => {
                        format!("INSERT OR REPLACE INTO things (partitionkey, rowkey, t) VALUES ('p', '{key}', 't{n}')")
                    }
                    2 => format!("UPDATE things SET n = coalesce(n, 0) + {n} WHERE rowkey >= '{key}'"),
                    3 => format!("DELETE FROM things WHERE rowkey = '{key}'"),
                    _ => format!(
                        "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', '{key}', {n}) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET n = excluded.n, t = things.t || '!'"
                    ),
                };
                if dice.below(4) == 0 {
                    run(&mut block, "SAVEPOINT s");
                    run(&mut block, "DELETE FROM things WHERE rowkey < 'c'");
                    run(
                        &mut block,
                        "INSERT OR REPLACE INTO things (partitionkey, rowkey, n) VALUES ('p', 'b', 0), ('p', 'z', 0)",
                    );
                    run(&mut block, "ROLLBACK TO s");
                }
                run(&mut block, &sql);
                run(&mut plain, &sql);
                let all = "SELECT rowkey, n, t FROM things ORDER BY partitionkey, rowkey";
                assert_eq!(ask(&mut block, all), ask(&mut plain, all), "seed {seed}, after {sql}");
            }
            run(&mut block, "COMMIT");
            assert_eq!(ask(&mut block, ALL), ask(&mut plain, ALL), "seed {seed}, after COMMIT");
        }
    }
}

#[test]
fn tables_of_one_transaction_number_their_properties_each_for_itself() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = engine.own_session().expect("a session");
    let mut ask = |sql: &str| rows(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask(r#"CREATE TABLE One ("A" int, "B" bigint, "C" float8)"#);
    ask(r#"CREATE TABLE Two ("A" int, "B" bigint, "C" float8)"#);
    // Their numbers are those of the order in which they first came.
    ask(r#"INSERT INTO One ("PartitionKey", "RowKey", "A", "B", "C") VALUES ('p', '0', 0, 0, 0)"#);
    ask(r#"INSERT INTO Two ("PartitionKey", "RowKey", "C", "B", "A") VALUES ('p', '0', 0, 0, 0)"#);
    ask("BEGIN");
    for table in ["One", "Two"] {
        ask(&format!(r#"INSERT INTO {table} ("PartitionKey", "RowKey", "A", "B", "C") VALUES ('p', '1', 1, 2, 3.5)"#));
    }
    ask("COMMIT");
    for table in ["One", "Two"] {
        let found = ask(&format!(r#"SELECT "A", "B", "C" FROM {table} WHERE "RowKey" = '1'"#));
        assert_eq!(found, ["1|2|3.5"], "{table}");
    }
}
