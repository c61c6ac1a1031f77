//! Settings that change what texts mean. Answers are those of PostgreSQL 15.

use std::sync::Arc;

use super::{ask, open, rows, rows_with, run};
use crate::session::{Session, parse_all};
use rowkey_model::Value;
use rowkey_model::files::MemoryStore;

fn session() -> Session {
    open(Arc::new(MemoryStore::new())).expect("opens").own_session().expect("a session")
}

#[test]
fn dates_are_read_and_cast_to_text_in_the_style_of_the_session() {
    let mut session = session();
    let read = "SELECT extract(month FROM '01/02/2020'::date), extract(month FROM (x || '/2020')::date) FROM (VALUES ('01/02')) v(x)";
    let written = "SELECT date '2020-01-31'::text, timestamp '2020-01-31 04:05:06'::text";
    for (style, month, date, moment) in [
        ("ISO, MDY", "1|1", "2020-01-31", "2020-01-31 04:05:06"),
        ("ISO, DMY", "2|2", "2020-01-31", "2020-01-31 04:05:06"),
        ("SQL, DMY", "2|2", "31/01/2020", "31/01/2020 04:05:06"),
        ("German", "2|2", "31.01.2020", "31.01.2020 04:05:06"),
        ("Postgres, MDY", "1|1", "01-31-2020", "Fri Jan 31 04:05:06 2020"),
    ] {
        ask(&mut session, &format!("SET DateStyle = '{style}'"));
        assert_eq!(ask(&mut session, read), [month], "{style}");
        assert_eq!(ask(&mut session, written), [format!("{date}|{moment}")], "{style}");
    }
    ask(&mut session, "SET DateStyle = 'ISO, YMD'");
    assert_eq!(ask(&mut session, "SELECT extract(day FROM '99-02-03'::date)"), ["3"]);
    assert!(rows(&mut session, "SELECT '01/02/2020'::date").is_err());
    ask(&mut session, "SET IntervalStyle = 'iso_8601'");
    assert_eq!(ask(&mut session, "SELECT interval '1 day 2 hours'::text"), ["P1DT2H"]);
    ask(&mut session, "SET bytea_output = 'escape'");
    assert_eq!(ask(&mut session, "SELECT '\\x61ff'::bytea::text"), ["a\\377"]);
}

#[test]
fn a_zone_by_an_interval_lies_in_the_east() {
    let mut session = session();
    for (zone, shown, clock) in [
        ("INTERVAL '-03:00' HOUR TO MINUTE", "<-03>+03", "2019-12-31 21:00:00"),
        ("INTERVAL '5' HOUR", "<+05>-05", "2020-01-01 05:00:00"),
        ("INTERVAL '5:30'", "<+05:30>-05:30", "2020-01-01 05:30:00"),
        ("-3", "<-03>+03", "2019-12-31 21:00:00"),
        ("'-03:00'", "-03:00", "2020-01-01 03:00:00"),
    ] {
        ask(&mut session, &format!("SET TIME ZONE {zone}"));
        assert_eq!(ask(&mut session, "SHOW TimeZone"), [shown], "{zone}");
        let local = ask(&mut session, "SELECT (timestamptz '2020-01-01 00:00:00+00')::timestamp::text");
        assert_eq!(local, [clock], "{zone}");
    }
    for zone in ["INTERVAL '1 day'", "INTERVAL '1 month'", "INTERVAL '5' DAY", "INTERVAL '200' HOUR"] {
        assert!(parse_all(&format!("SET TIME ZONE {zone}")).is_err(), "{zone}");
    }
}

#[test]
fn parameters_keep_their_types_in_arrays() {
    let mut session = session();
    for (one, other, array) in [
        (Value::Int32(1), Value::Int32(2), "integer[]"),
        (Value::Int64(1), Value::Int64(2), "bigint[]"),
        (Value::Double(1.5), Value::Double(2.5), "double precision[]"),
        (Value::Boolean(true), Value::Boolean(false), "boolean[]"),
    ] {
        for sql in [
            "SELECT pg_typeof(ARRAY[$1, $2])",
            "SELECT pg_typeof(ARRAY[coalesce($1, $2)])",
            "SELECT pg_typeof(ARRAY[$2]) WHERE $1 IS NOT NULL",
        ] {
            let found = rows_with(&mut session, sql, &[one.clone(), other.clone()]).expect(sql);
            assert_eq!(found, [array], "{sql}");
        }
    }
}

#[test]
fn cursors_are_listed_while_they_are_open() {
    let mut session = session();
    ask(&mut session, "BEGIN");
    ask(&mut session, "DECLARE c CURSOR FOR SELECT 1");
    ask(&mut session, "DECLARE d CURSOR WITH HOLD FOR TABLE pg_type");
    let listed = "SELECT name, statement, is_holdable, is_binary, is_scrollable FROM pg_cursors ORDER BY name";
    let held = "d|DECLARE d CURSOR WITH HOLD FOR TABLE pg_type|true|false|false";
    assert_eq!(ask(&mut session, listed), ["c|DECLARE c CURSOR FOR SELECT 1|false|false|false", held]);
    ask(&mut session, "COMMIT");
    assert_eq!(ask(&mut session, listed), [held]);
    ask(&mut session, "CLOSE d");
    assert_eq!(ask(&mut session, listed), [""; 0]);
}

#[test]
fn cursors_go_with_the_savepoint_that_they_came_after() {
    let mut session = session();
    let open = "SELECT name FROM pg_cursors ORDER BY name";
    ask(&mut session, "BEGIN");
    ask(&mut session, "DECLARE a CURSOR FOR SELECT 1");
    ask(&mut session, "SAVEPOINT s");
    ask(&mut session, "DECLARE b CURSOR FOR SELECT 2");
    ask(&mut session, "SAVEPOINT t");
    ask(&mut session, "DECLARE c CURSOR WITH HOLD FOR SELECT 3");
    ask(&mut session, "RELEASE t");
    assert_eq!(ask(&mut session, open), ["a", "b", "c"]);
    for _ in 0..2 {
        ask(&mut session, "ROLLBACK TO s");
        assert_eq!(ask(&mut session, open), ["a"]);
        ask(&mut session, "DECLARE b CURSOR FOR SELECT 4");
    }
    assert_eq!(ask(&mut session, open), ["a", "b"]);
    ask(&mut session, "COMMIT");
    assert_eq!(ask(&mut session, open), [""; 0]);
}

#[test]
fn errors_have_their_places() {
    let mut session = session();
    for (sql, place) in [
        ("SELECT 1, 'abc'::int", Some(11)),
        ("SELECT date '2020-02-31'", Some(13)),
        ("SELECT true + 'a'::text", Some(13)),
        ("SELECT max(x), x FROM (VALUES (1)) v(x)", Some(16)),
        ("CREATE VIEW seen AS SELECT nope FROM pg_type", Some(28)),
        ("CREATE VIEW seen AS SELECT é.oid, nope FROM pg_type é", Some(35)),
    ] {
        let error = rows(&mut session, sql).expect_err(sql);
        assert_eq!(error.position(), place, "{sql}: {error}");
    }
}

/// A literal is read where its statement is prepared, and not anew by the settings of each run.
#[test]
fn literals_of_prepared_statements_keep_the_settings_they_were_read_with() {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = super::session(&engine);
    run(&mut session, "SET TimeZone = 'UTC'");
    run(&mut session, "CREATE TABLE Moments (at timestamptz)");
    run(
        &mut session,
        "INSERT INTO Moments VALUES ('a', '1', '2020-01-15 12:00+00'), ('a', '2', '2020-01-15 08:00+00')",
    );
    run(&mut session, "PREPARE late AS SELECT count(*) FROM Moments WHERE at >= '2020-01-15 10:00'");
    run(
        &mut session,
        "PREPARE shown AS SELECT (date '01/02/2024')::text, to_char(at, 'HH24') FROM Moments WHERE rowkey = '1'",
    );
    run(
        &mut session,
        "PREPARE moved AS UPDATE Moments SET at = '01/02/2024' WHERE at >= '2020-01-15 10:00' RETURNING rowkey",
    );
    assert_eq!(ask(&mut session, "EXECUTE late"), ["1"]);
    assert_eq!(ask(&mut session, "EXECUTE shown"), ["2024-01-02|12"]);
    run(&mut session, "SET TimeZone = 'America/New_York'");
    run(&mut session, "SET DateStyle = 'ISO, DMY'");
    assert_eq!(ask(&mut session, "EXECUTE late"), ["1"]);
    assert_eq!(ask(&mut session, "EXECUTE shown"), ["2024-01-02|07"]);
    assert_eq!(ask(&mut session, "EXECUTE moved"), ["1"]);
    run(&mut session, "SET TimeZone = 'UTC'");
    assert_eq!(ask(&mut session, "SELECT at::text FROM Moments WHERE rowkey = '1'"), ["2024-01-02 00:00:00+00"]);
}
