//! Writes by key beside the same statements as queries.

use std::sync::Arc;

use futures::executor::block_on;

use super::{Dice, entities, open, rows_with};
use crate::engine::Engine;
use crate::session::{BoundKeyStatement, Result, Session, SqlState, TransactionStatus, parse_all};
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Value};

const KEYS: [&str; 5] = ["a", "b", "", "ü", "bad/key"];
const COLUMNS: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "M"];
/// What can stand for a value, whatever its column takes.
const LITERALS: [&str; 25] = [
    "1",
    "-7",
    "-0",
    "-0.0",
    "2147483648",
    "2.5",
    "'text'",
    "'12'",
    "NULL",
    "DEFAULT",
    "true",
    "'2024-02-29 12:00:00+02'",
    "'00000000-0000-0000-0000-0000000000ff'",
    "'\\x00ff'",
    "1 + 1",
    "'x' || 'y'",
    "9223372036854775808",
    "''",
    "'5'::bigint",
    "7::int8",
    "'x'::text",
    "1.50::text",
    "'2.5'::float8",
    "'12'::varchar",
    "2.5::int",
];
/// Casts of parameters, each in a tenth of the cases.
const CASTS: [&str; 9] =
    ["::text", "::varchar", "::int2", "::int", "::bigint", "::float8", "::boolean", "::timestamptz", "::uuid"];

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut session = engine.own_session().expect("a session");
    let columns = r#""A" int, "B" bigint, "C" text, "D" float8, "E" boolean, "F" timestamptz, "G" uuid"#;
    ask(&mut session, &format!("CREATE TABLE Tab ({columns})"), &[]).expect("creates");
    // One of several types, the widest of them shown.
    for value in ["1", "9223372036854775807", "2.5"] {
        let insert = format!(r#"INSERT INTO Tab ("PartitionKey", "RowKey", "M") VALUES ('mixed', '{value}', {value})"#);
        let made = ask(&mut session, &insert, &[]);
        if made.is_err() {
            ask(&mut session, r#"ALTER TABLE Tab ADD COLUMN "M" float8"#, &[]).expect("adds");
            ask(&mut session, &insert, &[]).expect("inserts");
        }
    }
    engine
}

fn ask(session: &mut Session, sql: &str, values: &[Value]) -> Result<Vec<String>> {
    rows_with(session, sql, values)
}

fn is_by_key(session: &mut Session, sql: &str) -> bool {
    let statement = parse_all(sql).expect("parses").pop().expect("a statement");
    block_on(session.prepare(Arc::new(statement), &[])).is_ok_and(|prepared| prepared.is_by_key())
}

fn value(dice: &mut Dice) -> Value {
    match dice.below(8) {
        0 => Value::Int32(dice.below(100) as i32 - 50),
        1 => Value::Int64(dice.below(1 << 40) as i64),
        2 => Value::Double(dice.below(1000) as f64 / 8.0),
        3 => Value::String(dice.pick(&["text", "12", "", "true"]).to_owned()),
        4 => Value::Boolean(dice.below(2) == 0),
        5 => Value::DateTime(DateTime::from_micros(dice.below(1 << 50) as i64, 0)),
        6 => Value::Guid(uuid::Uuid::from_u128(dice.below(100) as u128)),
        _ => Value::Int32(i32::MAX),
    }
}

/// An operand: a literal, or a parameter, where there are any.
fn operand(dice: &mut Dice, values: &mut Option<Vec<Value>>) -> String {
    let Some(values) = values else { return dice.pick(&LITERALS).to_owned() };
    if dice.below(2) == 0 {
        return dice.pick(&LITERALS).to_owned();
    }
    values.push(value(dice));
    let cast = if dice.chance(10) { dice.pick(&CASTS) } else { "" };
    format!("${}{cast}", values.len())
}

fn key(dice: &mut Dice, values: &mut Option<Vec<Value>>) -> String {
    let key = dice.pick(&KEYS).to_owned();
    let Some(values) = values.as_mut().filter(|_| dice.below(2) == 0) else { return format!("'{key}'") };
    values.push(Value::String(key));
    format!("${}{}", values.len(), ["", "", "::text", "::varchar"][dice.below(4)])
}

fn columns(dice: &mut Dice) -> Vec<&'static str> {
    let mut columns: Vec<&str> = COLUMNS.to_vec();
    columns.retain(|_| dice.below(3) == 0);
    columns
}

/// A statement of given keys, and one that says the same and is none. Some of its values are
/// parameters, if it may have any.
fn statement(dice: &mut Dice, with_parameters: bool) -> (String, String, Vec<Value>) {
    let mut values = with_parameters.then(Vec::new);
    let (partition, row) = (key(dice, &mut values), key(dice, &mut values));
    // In DO UPDATE a column by itself is one of two.
    let set = |dice: &mut Dice, values: &mut Option<Vec<Value>>, of: &[&str], own: &str| {
        let mut items = Vec::new();
        for column in of {
            let operand = operand(dice, values);
            items.push(match dice.below(4) {
                0 => format!(r#""{column}" = {own}"{column}" + {operand}"#),
                1 => format!(r#""{column}" = {own}"{column}" - {operand}"#),
                2 => format!(r#""{column}" = {operand} + {own}"{column}""#),
                _ => format!(r#""{column}" = {operand}"#),
            });
        }
        items.join(", ")
    };
    match dice.below(5) {
        0..=2 => {
            let names = columns(dice);
            let mut listed = vec![partition, row];
            for _ in &names {
                listed.push(operand(dice, &mut values));
            }
            let names_listed: String = names.iter().map(|name| format!(r#", "{name}""#)).collect();
            let conflict = match dice.below(5) {
                0 => "ON CONFLICT DO NOTHING".to_owned(),
                1 => "replace".to_owned(),
                2 if !names.is_empty() => {
                    let set: Vec<String> = names
                        .iter()
                        .map(|name| {
                            format!(
                                r#""{name}" = {}excluded."{name}""#,
                                dice.pick(&["", &format!("Tab.\"{name}\" + ")])
                            )
                        })
                        .collect();
                    format!(r#"ON CONFLICT ("PartitionKey", "RowKey") DO UPDATE SET {}"#, set.join(", "))
                }
                3 if !names.is_empty() => {
                    let set = set(dice, &mut values, &names[..1], "Tab.");
                    format!(r#"ON CONFLICT ("PartitionKey", "RowKey") DO UPDATE SET {set}"#)
                }
                _ => String::new(),
            };
            let (verb, conflict) = match conflict.as_str() {
                "replace" => ("INSERT OR REPLACE", ""),
                other => ("INSERT", other),
            };
            let mut rows = format!("({})", listed.join(", "));
            if verb == "INSERT" && conflict.is_empty() {
                for _ in 0..dice.below(3) {
                    let mut listed = vec![key(dice, &mut values), key(dice, &mut values)];
                    listed.extend(names.iter().map(|_| operand(dice, &mut values)));
                    rows = format!("{rows}, ({})", listed.join(", "));
                }
            }
            let sql = format!(r#"{verb} INTO Tab ("PartitionKey", "RowKey"{names_listed}) VALUES {rows} {conflict}"#);
            let plain = format!(r#"{sql} RETURNING "RowKey""#);
            (sql, plain, values.unwrap_or_default())
        }
        3 => {
            let mut names = columns(dice);
            if names.is_empty() {
                names.push("A");
            }
            let set = set(dice, &mut values, &names, "");
            let sql = format!(r#"UPDATE Tab SET {set} WHERE "PartitionKey" = {partition} AND "RowKey" = {row}"#);
            let plain = format!("{sql} AND 1 = 1");
            (sql, plain, values.unwrap_or_default())
        }
        _ => {
            let sql = format!(r#"DELETE FROM Tab t WHERE {row} = t."RowKey" AND (t."PartitionKey" = {partition})"#);
            let plain = format!("{sql} AND 1 = 1");
            (sql, plain, values.unwrap_or_default())
        }
    }
}

/// Steps of two sessions on databases of their own, which are to do the same to them and be told
/// the same.
fn beside(
    seeds: std::ops::Range<u64>,
    mut step: impl FnMut(&mut Dice, &mut [Session; 2]) -> (String, [Result<()>; 2]),
) {
    for seed in seeds {
        let dice = &mut Dice(seed);
        let engines = [engine(), engine()];
        let mut sessions = engines.each_ref().map(|engine| engine.own_session().expect("a session"));
        for number in 0..150 {
            let mut at = format!("seed {seed:#x} step {number}");
            match dice.below(12) {
                0 => {
                    let failed = sessions[0].status() == TransactionStatus::Failed;
                    let word = if failed { "ROLLBACK" } else { dice.pick(&["BEGIN", "COMMIT", "ROLLBACK"]) };
                    for session in &mut sessions {
                        ask(session, word, &[]).unwrap_or_else(|error| panic!("{at}: {word}: {error}"));
                    }
                }
                1 => {
                    for engine in &engines {
                        let snapshot = engine.store().snapshot();
                        let table = snapshot.catalog.tables().next().expect("a table").id;
                        engine.store().fold(table).expect("folds");
                    }
                }
                _ => {
                    let (what, done) = step(dice, &mut sessions);
                    at = format!("{at}: {what}");
                    let failed = done[0].is_err();
                    let [clever, long] = done.map(|done| done.err().map(|error| (error.sqlstate(), error.to_string())));
                    assert_eq!(clever, long, "{at}");
                    if failed {
                        sessions.iter_mut().for_each(Session::failed);
                    }
                }
            }
            let [clever, long] = engines.each_ref().map(|engine| entities(engine, "Tab").expect("a table"));
            let known = |entities: Vec<rowkey_model::Entity>| {
                let known = |entity: rowkey_model::Entity| {
                    (entity.key.clone(), format!("{:?}", entity.properties().collect::<Vec<_>>()))
                };
                entities.into_iter().map(known).collect::<Vec<_>>()
            };
            assert_eq!(known(clever), known(long), "{at}");
        }
    }
}

#[test]
fn what_is_written_by_key_is_what_a_query_would_have_written() {
    let (mut by_key, mut written) = (0, 0);
    beside(0x5eed_1000..0x5eed_1009, |dice, [clever, long]| {
        let (sql, plain, values) = statement(dice, true);
        by_key += usize::from(is_by_key(clever, &sql));
        assert!(!is_by_key(long, &plain), "{plain}");
        let done = [(clever, &sql), (long, &plain)].map(|(session, sql)| ask(session, sql, &values).map(drop));
        written += usize::from(done[0].is_ok());
        (format!("{sql} {values:?}"), done)
    });
    assert!(by_key > 200, "only {by_key} statements were run by key");
    assert!(written > 150, "only {written} statements wrote");
}

#[test]
fn what_is_written_with_literals_in_place_of_parameters_is_what_the_statement_says() {
    let (mut by_key, mut written) = (0, 0);
    beside(0x5eed_2000..0x5eed_2018, |dice, [clever, long]| {
        let (sql, plain, _) = statement(dice, false);
        let done = block_on(async {
            match clever.bind_key_statement(&sql).await {
                Some(BoundKeyStatement::Write(prepared, literals)) => clever.run_key_write(&prepared, &literals).await,
                other => other.map_or(Ok(None), |other| panic!("{sql} writes: {other:?}")),
            }
        });
        let done = match done {
            Ok(None) => ask(clever, &sql, &[]).map(drop),
            done => {
                by_key += 1;
                done.map(drop)
            }
        };
        written += usize::from(done.is_ok());
        (sql, [done, ask(long, &plain, &[]).map(drop)])
    });
    assert!(by_key > 150, "only {by_key} statements were run so");
    assert!(written > 200, "only {written} statements wrote");
}

#[test]
fn the_future_of_a_statement_is_small() {
    // It is moved several times before it runs, also where only one entity is read or written.
    let engine = engine();
    let mut session = engine.own_session().expect("a session");
    let statement = parse_all("SELECT 1").expect("parses").pop().expect("a statement");
    let prepared = Arc::new(block_on(session.prepare(Arc::new(statement), &[])).expect("prepares"));
    assert!(std::mem::size_of_val(&session.run(&prepared, &Arc::default())) < 4096);
}

#[test]
fn a_constant_that_does_not_fit_is_refused_whether_there_is_a_row_for_it_or_not() {
    let engine = engine();
    let mut session = engine.own_session().expect("a session");
    for (set, told) in [
        (r#""G" = 'zzz'"#, "invalid input syntax for type uuid: \"zzz\""),
        (r#""A" = 'x'"#, "invalid input syntax for type integer: \"x\""),
        (r#""A" = 2147483648"#, "integer out of range"),
        (r#""A" = -(2147483649)"#, "integer out of range"),
        (r#""B" = 9223372036854775808"#, "bigint out of range"),
    ] {
        let value = set.split(" = ").nth(1).expect("a value");
        let column = &set[..3];
        for sql in [
            format!(r#"UPDATE Tab SET {set} WHERE "PartitionKey" = 'none' AND "RowKey" = 'none'"#),
            format!("UPDATE Tab SET {set} WHERE false"),
            format!(
                r#"INSERT INTO Tab ("PartitionKey", "RowKey") VALUES ('none', 'none') ON CONFLICT ("PartitionKey", "RowKey") DO UPDATE SET {set}"#
            ),
            format!(
                r#"MERGE INTO Tab t USING (SELECT 'none' AS k) s ON t."PartitionKey" = s.k WHEN MATCHED THEN UPDATE SET {set} WHEN NOT MATCHED THEN DO NOTHING"#
            ),
            format!(
                r#"MERGE INTO Tab t USING (SELECT 'none' AS k WHERE false) s ON t."PartitionKey" = s.k WHEN NOT MATCHED THEN INSERT ("PartitionKey", "RowKey", {column}) VALUES (k, k, {value})"#
            ),
        ] {
            let error = ask(&mut session, &sql, &[]).expect_err(&sql);
            assert_eq!(error.to_string(), told, "{sql}");
        }
    }
    for sql in [
        r#"UPDATE Tab SET "A" = -2147483648, "B" = -9223372036854775808 WHERE false"#,
        r#"UPDATE Tab SET "A" = -(-2147483648 + 1), "D" = 9223372036854775808 WHERE false"#,
    ] {
        ask(&mut session, sql, &[]).expect(sql);
    }
}

#[test]
fn what_is_wrong_with_an_update_instead_is_told_before_there_is_a_conflict() {
    let engine = engine();
    let mut session = engine.own_session().expect("a session");
    let insert = |row: &str, rest: &str| {
        format!(
            r#"INSERT INTO Tab ("PartitionKey", "RowKey", "A") VALUES ('up', '{row}', 1) ON CONFLICT ("PartitionKey", "RowKey") DO UPDATE SET {rest}"#
        )
    };
    for (rest, kind) in [
        (r#""A" = Tab."C""#, SqlState::DATATYPE_MISMATCH),
        (r#""A" = excluded."C""#, SqlState::DATATYPE_MISMATCH),
        (r#""E" = 1"#, SqlState::DATATYPE_MISMATCH),
        (r#""G" = 5"#, SqlState::DATATYPE_MISMATCH),
        (r#""A" = true"#, SqlState::DATATYPE_MISMATCH),
        (r#""A" = '5'::text"#, SqlState::DATATYPE_MISMATCH),
        (r#""A" = nofunc(3)"#, SqlState::UNDEFINED_FUNCTION),
        (r#""A" = 1 WHERE Tab."C""#, SqlState::DATATYPE_MISMATCH),
    ] {
        let sql = insert("wrong", rest);
        assert_eq!(ask(&mut session, &sql, &[]).expect_err(&sql).sqlstate(), kind, "{sql}");
    }
    for rest in
        [r#""C" = Tab."A" + 1"#, r#""A" = 2.5"#, r#""D" = excluded."A" * 2 WHERE Tab."A" > 3"#, r#""F" = now()"#]
    {
        for _ in 0..2 {
            let sql = insert("right", rest);
            ask(&mut session, &sql, &[]).expect(&sql);
        }
    }
    let rows = ask(&mut session, r#"SELECT "RowKey" FROM Tab WHERE "PartitionKey" = 'up'"#, &[]).expect("rows");
    assert_eq!(rows, ["right"]);
}
