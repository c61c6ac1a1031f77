//! Transaction blocks that define tables and views: who sees them, what stays, what a crash leaves.

use std::sync::Arc;

use futures::executor::block_on;

use super::crash::each_crash;
use super::{Dice, ask, fails, open, rows, run, session};
use crate::engine::Engine;
use crate::session::{Result, SqlState};
use rowkey_model::files::fault::{AfterCrash, FaultPlan, FaultStore};
use rowkey_model::files::{FileStore, MemoryStore};

fn engine() -> Engine {
    open(Arc::new(MemoryStore::new())).expect("an engine")
}

const RELATIONS: &str =
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') ORDER BY 1";

#[test]
fn what_a_block_defines_is_its_own_until_it_commits() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, "CREATE TABLE Old (n int)");
    run(&mut one, "INSERT INTO Old (partitionkey, rowkey, n) VALUES ('p', 'a', 1)");
    for end in ["ROLLBACK", "COMMIT"] {
        run(&mut one, "BEGIN");
        run(&mut one, "CREATE TABLE Things (n int, t text)");
        run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2)");
        run(&mut one, "ALTER TABLE things ADD COLUMN more float8");
        run(&mut one, "UPDATE things SET more = n * 1.5");
        run(&mut one, "CREATE VIEW big AS SELECT rowkey, more FROM things WHERE n > 1");
        run(&mut one, "COMMENT ON VIEW big IS 'large'");
        assert_eq!(ask(&mut one, "SELECT * FROM big"), ["b|3.0"]);
        run(&mut one, "DROP TABLE old");
        assert_eq!(ask(&mut one, RELATIONS), ["Things", "big"]);
        assert_eq!(fails(&mut other, "SELECT * FROM things"), SqlState::UNDEFINED_TABLE);
        assert_eq!(ask(&mut other, "SELECT n FROM old"), ["1"]);
        assert_eq!(ask(&mut other, RELATIONS), ["Old"]);
        run(&mut one, end);
        let wanted: &[&str] = if end == "COMMIT" { &["Things", "big"] } else { &["Old"] };
        assert_eq!(ask(&mut one, RELATIONS), wanted);
        assert_eq!(ask(&mut other, RELATIONS), wanted);
    }
    assert_eq!(ask(&mut other, "SELECT rowkey, n, more FROM things ORDER BY 1"), ["a|1|1.5", "b|2|3.0"]);
    assert_eq!(ask(&mut other, "SELECT * FROM big"), ["b|3.0"]);
    assert_eq!(ask(&mut other, "SELECT obj_description('big'::regclass)"), ["large"]);
}

#[test]
fn savepoints_take_definitions_back() {
    let engine = engine();
    let mut one = session(&engine);
    run(&mut one, "CREATE TABLE Kept (n int)");
    run(&mut one, "INSERT INTO kept (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2)");
    run(&mut one, "BEGIN");
    run(&mut one, "UPDATE kept SET n = n + 10");
    run(&mut one, "SAVEPOINT s");
    run(&mut one, "TRUNCATE kept");
    assert_eq!(ask(&mut one, "SELECT count(*) FROM kept"), ["0"]);
    run(&mut one, "INSERT INTO kept (partitionkey, rowkey, n) VALUES ('p', 'b', 5), ('p', 'c', 6)");
    assert_eq!(ask(&mut one, "SELECT rowkey, n FROM kept ORDER BY 1"), ["b|5", "c|6"]);
    run(&mut one, "CREATE TABLE Gone (n int)");
    run(&mut one, "ROLLBACK TO s");
    assert_eq!(fails(&mut one, "SELECT * FROM gone"), SqlState::UNDEFINED_TABLE);
    run(&mut one, "ROLLBACK TO s");
    assert_eq!(ask(&mut one, "SELECT rowkey, n FROM kept ORDER BY 1"), ["a|11", "b|12"]);
    run(&mut one, "DROP TABLE kept");
    run(&mut one, "CREATE TABLE Kept (t text)");
    run(&mut one, "INSERT INTO kept (partitionkey, rowkey, t) VALUES ('p', 'a', 'new')");
    assert_eq!(ask(&mut one, "SELECT rowkey, t FROM kept"), ["a|new"]);
    run(&mut one, "ROLLBACK TO s");
    run(&mut one, "DELETE FROM kept WHERE rowkey = 'a'");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, "SELECT rowkey, n FROM kept"), ["b|12"]);
    run(&mut one, "BEGIN");
    run(&mut one, "DELETE FROM kept");
    run(&mut one, "TRUNCATE kept");
    run(&mut one, "INSERT INTO kept (partitionkey, rowkey, n) VALUES ('p', 'b', 7), ('p', 'd', 8)");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, "SELECT rowkey, n FROM kept ORDER BY 1"), ["b|7", "d|8"]);
}

#[test]
fn what_others_have_made_meanwhile_is_no_hindrance_unless_it_is_the_same() {
    let engine = engine();
    let (mut one, mut other) = (session(&engine), session(&engine));
    run(&mut one, "CREATE TABLE Shared (n int)");
    run(&mut one, "BEGIN");
    run(&mut one, "CREATE TABLE Mine (n int)");
    run(&mut one, "INSERT INTO mine (partitionkey, rowkey, n) VALUES ('p', 'mine', 1)");
    run(&mut one, "CREATE VIEW minev AS SELECT rowkey FROM mine");
    run(&mut one, "COMMENT ON COLUMN mine.n IS 'of mine'");
    run(&mut one, "ALTER TABLE shared ADD COLUMN own text");
    run(&mut one, "INSERT INTO shared (partitionkey, rowkey, own) VALUES ('p', 'mine', 'x')");
    run(&mut other, "CREATE TABLE Theirs (t text)");
    run(&mut other, "INSERT INTO theirs (partitionkey, rowkey, t) VALUES ('p', 'theirs', 'y')");
    run(&mut other, "CREATE VIEW theirv AS SELECT rowkey FROM theirs");
    run(&mut other, "ALTER TABLE shared ADD COLUMN other int");
    run(&mut other, "INSERT INTO shared (partitionkey, rowkey, other) VALUES ('p', 'theirs', 5)");
    run(&mut one, "COMMIT");
    for session in [&mut one, &mut other] {
        assert_eq!(ask(session, "SELECT * FROM minev UNION ALL SELECT * FROM theirv ORDER BY 1"), ["mine", "theirs"]);
        assert_eq!(ask(session, "SELECT n FROM mine"), ["1"]);
        assert_eq!(ask(session, "SELECT t FROM theirs"), ["y"]);
        assert_eq!(ask(session, "SELECT rowkey, own, other FROM shared ORDER BY 1"), ["mine|x|NULL", "theirs|NULL|5"]);
        assert_eq!(ask(session, "SELECT col_description('mine'::regclass, 4)"), ["of mine"]);
    }
    for (mine, theirs) in [
        ("CREATE TABLE Both (n int)", "CREATE TABLE Both (t text)"),
        ("DROP TABLE mine CASCADE", "DROP TABLE mine CASCADE"),
        ("CREATE VIEW overs AS SELECT * FROM shared", "DROP TABLE shared"),
        ("DROP TABLE theirs CASCADE", "CREATE VIEW late AS SELECT t FROM theirs"),
    ] {
        run(&mut one, "BEGIN");
        ask(&mut one, RELATIONS);
        run(&mut one, mine);
        run(&mut one, "CREATE TABLE Never (n int)");
        run(&mut other, theirs);
        let before = ask(&mut other, RELATIONS);
        assert_eq!(fails(&mut one, "COMMIT"), SqlState::SERIALIZATION_FAILURE, "{mine} beside {theirs}");
        assert_eq!(ask(&mut one, RELATIONS), before, "nothing of the loser is there");
    }
}

#[test]
fn statements_sent_together_are_one_transaction() {
    let engine = engine();
    let mut one = session(&engine);
    one.begin_implicit().expect("begins");
    run(&mut one, "CREATE TABLE Things (n int)");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 1)");
    assert_eq!(fails(&mut one, "SAVEPOINT s"), SqlState::NO_ACTIVE_SQL_TRANSACTION);
    assert!(!one.is_implicit(), "it ends with the first error");
    assert_eq!(fails(&mut one, "SELECT * FROM things"), SqlState::UNDEFINED_TABLE);
    one.begin_implicit().expect("begins");
    run(&mut one, "CREATE TABLE Things (n int)");
    run(&mut one, "BEGIN");
    assert!(!one.is_implicit());
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'a', 1)");
    run(&mut one, "ROLLBACK");
    assert_eq!(fails(&mut one, "SELECT * FROM things"), SqlState::UNDEFINED_TABLE);
    one.begin_implicit().expect("begins");
    run(&mut one, "CREATE TABLE Things (n int)");
    run(&mut one, "COMMIT");
    assert_eq!(one.take_notices().len(), 1, "there is no transaction in progress");
    assert_eq!(ask(&mut one, "SELECT count(*) FROM things"), ["0"]);
}

/// The tables and what is in them, as text.
fn contents(engine: &Engine) -> Vec<String> {
    let mut one = session(engine);
    let mut found = ask(&mut one, RELATIONS);
    for relation in found.clone() {
        let all = ask(&mut one, &format!("SELECT * FROM \"{relation}\" ORDER BY 1, 2"));
        found.extend(without_times(all));
    }
    found
}

fn transact(engine: &Engine) -> Result<()> {
    let mut one = session(engine);
    for sql in [
        "BEGIN",
        "CREATE TABLE Fresh (n int)",
        "INSERT INTO fresh (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2)",
        "DROP TABLE doomed",
        "INSERT INTO kept (partitionkey, rowkey, n) VALUES ('p', 'z', 26)",
        "TRUNCATE emptied",
        "INSERT INTO emptied (partitionkey, rowkey, n) VALUES ('p', 'b', 100)",
        "ALTER TABLE altered DROP COLUMN n",
        "CREATE VIEW seen AS SELECT partitionkey, rowkey, timestamp, n FROM fresh",
        "COMMIT",
    ] {
        rows(&mut one, sql)?;
    }
    Ok(())
}

#[test]
fn a_stop_at_any_step_of_a_transaction_leaves_all_of_it_or_nothing() {
    let base = MemoryStore::new();
    let engine = open(Arc::new(base.clone())).expect("opens");
    let mut one = session(&engine);
    for table in ["Kept", "Emptied", "Doomed", "Altered"] {
        run(&mut one, &format!("CREATE TABLE {table} (n int, t text)"));
        run(&mut one, &format!("INSERT INTO {table} (partitionkey, rowkey, n) VALUES ('p', 'a', 1), ('p', 'b', 2)"));
        run(&mut one, &format!("VACUUM {table}"));
        run(&mut one, &format!("INSERT INTO {table} (partitionkey, rowkey, n) VALUES ('p', 'c', 3)"));
    }
    let old = contents(&engine);
    drop((one, engine));
    let base = MemoryStore::with_files(base.files());

    let whole = Arc::new(FaultStore::over(&base, FaultPlan::none()));
    let engine = open(Arc::clone(&whole) as Arc<dyn FileStore>).expect("opens");
    let before = whole.operations();
    transact(&engine).expect("commits");
    let new = contents(&engine);
    drop(engine);
    let steps = whole.operations();
    assert!(steps > before && old != new, "{old:?}");
    let reopened = open(Arc::new(whole.after_crash(AfterCrash::LoseUnsynced))).expect("opens");
    assert_eq!(contents(&reopened), new);
    drop(reopened);

    each_crash(&base, steps, transact, |engine, done, crash| {
        let found = contents(engine);
        if done {
            assert_eq!(found, new, "{crash}: acknowledged");
        } else {
            assert!(found == old || found == new, "{crash}: {found:?}");
        }
        let report =
            block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot())).expect("reads");
        assert_eq!(report.findings, [], "{crash}");
    });
}

/// Blocks of random definitions and writes, against the same statements alone; and what is read
/// after opening again.
#[test]
fn a_block_of_definitions_does_what_its_statements_do_alone() {
    for seed in 0..10 {
        let mut dice = Dice(seed);
        let files = MemoryStore::new();
        let (blocks, alone) = (open(Arc::new(files.clone())).expect("opens"), engine());
        let (mut block, mut plain) = (session(&blocks), session(&alone));
        for _ in 0..5 {
            run(&mut block, "BEGIN");
            for _ in 0..dice.below(9) {
                let table = dice.pick(&["Aaa", "Bbb"]);
                let (key, n) = (dice.pick(&["a", "b", "c"]), dice.below(50));
                let sql = match dice.below(9) {
                    0 => format!("CREATE TABLE IF NOT EXISTS {table} (n int)"),
                    1 => format!("DROP TABLE IF EXISTS {table}"),
                    2 => format!("TRUNCATE {table}"),
                    3 => format!("ALTER TABLE {table} ADD COLUMN c{} int", dice.below(3)),
                    4 => format!("ALTER TABLE {table} DROP COLUMN n"),
                    5 => format!("ALTER TABLE {table} RENAME COLUMN n TO m"),
                    6 => format!("ALTER TABLE {table} RENAME COLUMN m TO n"),
                    7 => format!("DELETE FROM {table} WHERE rowkey = '{key}'"),
                    _ => format!("INSERT OR REPLACE INTO {table} (partitionkey, rowkey, n) VALUES ('p', '{key}', {n})"),
                };
                run(&mut block, "SAVEPOINT s");
                if dice.below(3) == 0 {
                    run(&mut block, "CREATE TABLE IF NOT EXISTS aaa (n int)");
                    run(&mut block, "TRUNCATE aaa");
                    run(&mut block, "INSERT INTO aaa (partitionkey, rowkey) VALUES ('p', 'b'), ('p', 'y')");
                    run(&mut block, "DROP TABLE IF EXISTS bbb");
                    run(&mut block, "ROLLBACK TO s");
                }
                let expected = rows(&mut plain, &sql).map_err(|error| error.sqlstate());
                let found = rows(&mut block, &sql).map_err(|error| error.sqlstate());
                assert_eq!(found, expected, "seed {seed}: {sql}");
                if found.is_err() {
                    block.failed();
                    run(&mut block, "ROLLBACK TO s");
                }
                for relation in ask(&mut plain, RELATIONS) {
                    let all = format!("SELECT * FROM {relation} ORDER BY 1, 2");
                    assert_eq!(
                        without_times(ask(&mut block, &all)),
                        without_times(ask(&mut plain, &all)),
                        "seed {seed}, after {sql}"
                    );
                }
            }
            run(&mut block, "COMMIT");
            assert_eq!(contents(&blocks), contents(&alone), "seed {seed}, after COMMIT");
            let reopened = open(Arc::new(MemoryStore::with_files(files.files()))).expect("opens");
            assert_eq!(contents(&reopened), contents(&alone), "seed {seed}, opened again");
        }
    }
}

/// Without Timestamp, the third column, which is another one each time.
fn without_times(rows: Vec<String>) -> Vec<String> {
    let strip = |row: String| {
        let fields: Vec<&str> = row.split('|').collect();
        fields.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, field)| *field).collect::<Vec<_>>().join("|")
    };
    rows.into_iter().map(strip).collect()
}
