//! Pruned scans against plain ones, over generated tables and predicates.

use std::sync::Arc;

use roaring::RoaringBitmap;

use super::{Dice, import, open, rows};
use crate::engine::Engine;
use crate::provider::ScanOptions;
use crate::session::{Activity, Compiler, Session, SessionOptions, Settings, SqlState};
use rowkey_model::files::MemoryStore;
use rowkey_storage::Edit;
use rowkey_storage::run::RunFile;

const PARTITIONS: &[&str] = &["", "a", "ab", "abc", "abcd", "b", "ba", "Z", "é", "\u{e000}", "\u{10000}"];
const ROWS: &[&str] = &["", "0", "00", "000", "0001", "001", "01", "1", "10", "2", "x", "xé"];

/// Entities of every kind of partition, in random order.
fn export(dice: &mut Dice, entities: usize) -> String {
    let mut text = String::new();
    for i in 0..entities {
        let partition = dice.pick(PARTITIONS);
        let row = if dice.below(2) == 0 {
            dice.pick(ROWS).to_owned()
        } else {
            format!("{}{:04}", dice.pick(ROWS), dice.below(5000))
        };
        let mut properties = vec![format!("\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"")];
        if dice.below(3) > 0 {
            properties.push(format!("\"A\":{}", dice.below(20)));
        }
        match dice.below(4) {
            0 => properties.push(format!("\"B\":{}", dice.below(20))),
            1 => properties.push(format!("\"B\":\"{}\"", dice.below(20))),
            2 => properties.push(format!("\"B\":{}.5", dice.below(20))),
            _ => {}
        }
        if dice.below(3) > 0 {
            properties.push(format!("\"S\":\"{}\"", dice.pick(ROWS)));
        }
        match dice.below(8) {
            0 => properties.push("\"D@odata.type\":\"Edm.Double\",\"D\":\"NaN\"".to_owned()),
            1 => properties.push("\"D@odata.type\":\"Edm.Double\",\"D\":\"Infinity\"".to_owned()),
            2 | 3 => properties.push(format!("\"D\":{}.25", dice.below(20))),
            _ => {}
        }
        if dice.below(5) == 0 {
            properties
                .push(format!("\"G@odata.type\":\"Edm.Guid\",\"G\":\"00000000-0000-0000-0000-00000000000{}\"", i % 10));
        }
        text.push_str(&format!("{{{}}}\n", properties.join(",")));
    }
    text
}

fn literal(text: &str) -> String {
    format!("'{text}'")
}

/// A random predicate over keys and properties.
fn predicate(dice: &mut Dice, depth: usize) -> String {
    if depth > 0 && dice.below(3) > 0 {
        let (left, right) = (predicate(dice, depth - 1), predicate(dice, depth - 1));
        return match dice.below(5) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("({left} AND {right})"),
            _ => format!("({left} OR {right})"),
        };
    }
    let (column, values) = match dice.below(5) {
        0 | 1 => ("\"PartitionKey\"", PARTITIONS),
        2 | 3 => ("\"RowKey\"", ROWS),
        _ => ("\"S\"", ROWS),
    };
    let (one, other) = (literal(dice.pick(values)), literal(dice.pick(values)));
    let operator = dice.pick(&["=", "=", "<>", "<", "<=", ">", ">="]);
    match dice.below(17) {
        0..=4 => format!("{column} {operator} {one}"),
        5 => format!("{one} {operator} {column}"),
        6 => format!("{column} BETWEEN {one} AND {other}"),
        7 => format!("{column} NOT IN ({one}, {other})"),
        8 => format!("{column} IN ({one}, {other}, NULL)"),
        9 => format!("{column} LIKE '{}%'", dice.pick(values)),
        10 => format!("starts_with({column}, {one})"),
        11 => format!("{column} IS {}NULL", dice.pick(&["", "NOT "])),
        12 => format!(
            "(\"PartitionKey\", \"RowKey\") {operator} ({}, {})",
            literal(dice.pick(PARTITIONS)),
            literal(dice.pick(ROWS))
        ),
        13 => format!("\"D\" {operator} {}", dice.pick(&["7.25", "'NaN'::float8", "'Infinity'::float8", "-1"])),
        14 => format!("\"G\" {operator} '00000000-0000-0000-0000-00000000000{}'", dice.below(10)),
        _ => format!("\"A\" {operator} {}", dice.below(20)),
    }
}

fn session(engine: &Engine, filter_pushdown: bool, pruning: bool, parallel_rows_min: u64) -> Session {
    let scan = ScanOptions { filter_pushdown, pruning, parallel_rows_min };
    let options = SessionOptions { scan, target_partitions: Some(2), ..SessionOptions::default() };
    let planner = Compiler::new(Arc::clone(engine.store()), engine.account().clone(), options).expect("a planner");
    let activity = Activity::new("test", "test", "", engine.store().clock().now());
    let registration = engine.registry().register(activity).expect("a place");
    Session::new(Arc::new(planner), registration, "test", Settings::new([]).expect("settings"))
}

/// Masks some rows of some files.
fn mask(engine: &Engine, dice: &mut Dice) {
    let snapshot = engine.store().snapshot();
    let mut edits = Vec::new();
    for table in snapshot.catalog.tables() {
        for file in table.manifest.files() {
            if dice.below(3) == 0 {
                continue;
            }
            let masked: RoaringBitmap = (0..file.rows as u32).filter(|_| dice.below(4) == 0).collect();
            let file = RunFile { mask: Some(Arc::new(masked)), ..RunFile::clone(file) };
            edits.push(Edit::MaskRows { table: table.id, file: Box::new(file) });
        }
    }
    engine.store().commit(&edits).expect("commits");
}

/// What happens to a table before it is scanned.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    /// Rows of some files are masked.
    Masks,
    /// The same by recent writes, and there are new entities among them.
    Writes,
}

/// Changes, deletes and adds entities; those of some partitions stay as they are, and so do some
/// files.
fn write(engine: &Engine, dice: &mut Dice) {
    let mut session = session(engine, true, true, 1);
    for _ in 0..2 + dice.below(4) {
        let (partition, row) = (dice.pick(PARTITIONS), dice.pick(ROWS));
        let statement = match dice.below(3) {
            0 => format!(r#"UPDATE Tab SET "A" = {} WHERE "PartitionKey" = '{partition}'"#, dice.below(20)),
            1 => format!(r#"DELETE FROM Tab WHERE "PartitionKey" = '{partition}' AND "RowKey" > '{row}'"#),
            _ => format!(
                "INSERT INTO Tab (partitionkey, rowkey, \"A\") SELECT '{partition}', '{row}new' || g, g \
                 FROM generate_series(1, 9) g ON CONFLICT (partitionkey, rowkey) DO NOTHING"
            ),
        };
        rows(&mut session, &statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

fn compare(seed: u64, entities: usize, file_bytes: usize, predicates: usize, then: Then) {
    let mut dice = Dice(seed);
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    import(&engine, "Tab", &export(&mut dice, entities), file_bytes).expect("imports");
    match then {
        Then::Nothing => {}
        Then::Masks => mask(&engine, &mut dice),
        Then::Writes => write(&engine, &mut dice),
    }
    // On one thread; the others on two, whatever the size of the table.
    let mut plain = session(&engine, false, false, u64::MAX);
    let mut clever = [(true, true), (false, true), (true, false)]
        .map(|(filter_pushdown, pruning)| session(&engine, filter_pushdown, pruning, 1));
    let live = super::entities(&engine, "Tab").expect("the table").len();
    assert_eq!(
        rows(&mut plain, "SELECT count(\"S\") + count(*) - count(\"S\") FROM Tab").expect("counts"),
        [live.to_string()],
        "seed {seed}"
    );
    for _ in 0..predicates {
        let filter = predicate(&mut dice, 3);
        let select = format!(
            "SELECT \"PartitionKey\", \"RowKey\", \"A\", \"B\", \"B:Int32\", \"S\", \"Timestamp\" FROM Tab WHERE {filter}"
        );
        let mut expected = rows(&mut plain, &select).unwrap_or_else(|error| panic!("seed {seed}: {filter}: {error}"));
        let ordered = format!(
            "SELECT \"PartitionKey\", \"RowKey\" FROM Tab WHERE {filter} ORDER BY \"PartitionKey\" COLLATE_, \"RowKey\" COLLATE_"
        );
        let direction = dice.pick(&["", "DESC"]);
        let limit = [
            String::new(),
            format!(" LIMIT {}", dice.below(30)),
            format!(" LIMIT {} OFFSET {}", dice.below(30), dice.below(9)),
        ];
        let ordered = ordered.replace("COLLATE_", direction) + &limit[dice.below(3)];
        let expected_order =
            rows(&mut plain, &ordered).unwrap_or_else(|error| panic!("seed {seed}: {ordered}: {error}"));
        let count = format!("SELECT count(*), min(\"PartitionKey\"), max(\"RowKey\") FROM Tab WHERE {filter}");
        let expected_count = rows(&mut plain, &count).unwrap_or_else(|error| panic!("seed {seed}: {count}: {error}"));
        expected.sort();
        for (which, session) in clever.iter_mut().enumerate() {
            let mut found =
                rows(session, &select).unwrap_or_else(|error| panic!("seed {seed}, {which}: {filter}: {error}"));
            found.sort();
            assert_eq!(found, expected, "seed {seed}, {which}: {filter}");
            let found =
                rows(session, &ordered).unwrap_or_else(|error| panic!("seed {seed}, {which}: {ordered}: {error}"));
            assert_eq!(found, expected_order, "seed {seed}, {which}: {ordered}");
            let found = rows(session, &count).unwrap_or_else(|error| panic!("seed {seed}, {which}: {count}: {error}"));
            assert_eq!(found, expected_count, "seed {seed}, {which}: {count}");
        }
    }
}

#[test]
fn pruned_scans_return_what_plain_ones_do() {
    for seed in 1..=6 {
        compare(seed, 600, 3_000, 25, Then::Nothing);
    }
}

#[test]
fn pruned_scans_return_what_plain_ones_do_with_masks() {
    for seed in 101..=106 {
        compare(seed, 600, 3_000, 25, Then::Masks);
    }
}

#[test]
fn pruned_scans_return_what_plain_ones_do_beside_recent_writes() {
    for seed in 201..=206 {
        compare(seed, 600, 3_000, 25, Then::Writes);
    }
}

#[test]
fn pruned_scans_return_what_plain_ones_do_over_many_pages() {
    compare(1001, 20_000, 1 << 20, 25, Then::Nothing);
    compare(1002, 20_000, 1 << 20, 25, Then::Masks);
    compare(1003, 20_000, 1 << 19, 25, Then::Writes);
}

#[test]
fn a_scan_on_two_threads_reads_files_with_and_without_masks_once() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = session(&engine, true, true, 1);
    let mut ask = |sql: &str| rows(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask("CREATE TABLE Tab (n int)");
    for partition in ["a", "b", "c"] {
        ask(&format!(
            "INSERT INTO Tab (partitionkey, rowkey, n) SELECT '{partition}', 'r' || g, g FROM generate_series(1, 900) g"
        ));
        ask("VACUUM Tab");
    }
    for (statement, wanted) in [
        ("DELETE FROM Tab WHERE partitionkey = 'a' AND rowkey = 'r5'", "2699|2699|1216345"),
        ("UPDATE Tab SET n = 0 WHERE partitionkey = 'c' AND rowkey = 'r5'", "2699|2699|1216340"),
        ("VACUUM Tab", "2699|2699|1216340"),
    ] {
        ask(statement);
        let found = ask("SELECT count(*), count(DISTINCT (partitionkey || rowkey)), sum(n) FROM Tab");
        assert_eq!(found, [wanted], "{statement}");
        assert_eq!(ask("SELECT count(*) FROM Tab WHERE rowkey = 'r5'"), ["2"], "{statement}");
        assert_eq!(ask("SELECT count(*) FROM (SELECT n FROM Tab LIMIT 2000) z"), ["2000"], "{statement}");
    }
}

#[test]
fn limits_and_guards_hold_for_recent_rows_too() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = engine.own_session().expect("a session");
    let mut ask = |sql: &str| rows(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    ask(r#"CREATE TABLE Tab (n int, s text)"#);
    for round in 0..3 {
        ask(&format!(
            "INSERT INTO Tab (partitionkey, rowkey, n, s) SELECT 'p', '{round}-' || g, g, 'x' || g FROM generate_series(0, 19) g"
        ));
        // The first time nothing is in files, then some is.
        let rows = 20 * (round + 1);
        assert_eq!(ask("SELECT count(*) FROM (SELECT n FROM Tab LIMIT 3) z"), ["3"], "round {round}");
        assert_eq!(ask("SELECT count(*) FROM (SELECT n FROM Tab WHERE n > 5 LIMIT 1) z"), ["1"], "round {round}");
        assert_eq!(ask("SELECT count(*) FROM (SELECT n FROM Tab LIMIT 1000) z"), [rows.to_string()], "round {round}");
        assert_eq!(ask("SELECT count(*) FROM Tab WHERE n <> 0 AND 19/n = 1"), [(10 * (round + 1)).to_string()]);
        assert_eq!(
            ask(
                "SELECT count(*) FROM Tab WHERE s <> 'x1' AND s <> 'x2' AND CASE WHEN n <> 0 THEN 19/n > 18 ELSE false END"
            ),
            ["0"]
        );
        let table = engine.store().snapshot().catalog.tables().next().expect("a table").id;
        engine.store().fold(table).expect("folds");
    }
}

#[test]
fn what_fails_inside_a_scan_keeps_its_kind() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = engine.own_session().expect("a session");
    for statement in [
        "CREATE TABLE Tab (n int, s text)",
        "INSERT INTO Tab (partitionkey, rowkey, n, s) SELECT 'p', g::text, g, 'x' || g FROM generate_series(0, 19) g",
    ] {
        rows(&mut session, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    for folded in [false, true] {
        for (condition, kind) in [
            ("1/n > 0", SqlState::DIVISION_BY_ZERO),
            ("ln(n) > 0", SqlState::INVALID_ARGUMENT_FOR_LOGARITHM),
            ("sqrt(n - 1) > 0", SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION),
            ("substring(s, 1, n - 1) = 'x'", SqlState::SUBSTRING_ERROR),
            ("n + 2147483647 > 0", SqlState::NUMERIC_VALUE_OUT_OF_RANGE),
            ("lpad(s, 1073741824 + n) = 'x'", SqlState::PROGRAM_LIMIT_EXCEEDED),
            ("overlay(s placing 'x' from -n) = 'x'", SqlState::SUBSTRING_ERROR),
        ] {
            let failed = rows(&mut session, &format!("SELECT s FROM Tab WHERE {condition}")).expect_err(condition);
            assert_eq!(failed.sqlstate(), kind, "{condition}, folded: {folded}");
        }
        let table = engine.store().snapshot().catalog.tables().next().expect("a table").id;
        engine.store().fold(table).expect("folds");
    }
}
