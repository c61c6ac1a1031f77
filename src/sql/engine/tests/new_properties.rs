//! INSERT of properties that have no columns, with `rowkey.new_properties` on.

use std::sync::Arc;

use futures::executor::block_on;

use super::{ask, fails, open, rows, rows_with, run, session};
use crate::engine::Engine;
use crate::session::{BoundKeyStatement, Session, SqlState, TransactionStatus};
use rowkey_model::Value;
use rowkey_model::files::MemoryStore;

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    run(&mut session(&engine), r#"CREATE TABLE Things ("Age" int)"#);
    engine
}

/// A session that adds columns.
fn adding(engine: &Engine) -> Session {
    let mut session = session(engine);
    run(&mut session, "SET rowkey.new_properties = on");
    session
}

const COLUMNS: &str = "SELECT column_name, data_type FROM information_schema.columns \
                       WHERE table_name = 'Things' AND ordinal_position > 3 ORDER BY ordinal_position";

fn columns(session: &mut Session) -> Vec<String> {
    ask(session, COLUMNS)
}

#[test]
fn the_setting_is_off_and_ends_like_any_other() {
    let engine = engine();
    let mut session = session(&engine);
    let insert = "INSERT INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'a', 1)";
    let shown = "SHOW rowkey.new_properties";
    assert_eq!(ask(&mut session, shown), ["off"]);
    assert_eq!(fails(&mut session, insert), SqlState::UNDEFINED_COLUMN);
    assert_eq!(fails(&mut session, "SET rowkey.new_properties = maybe"), SqlState::INVALID_PARAMETER_VALUE);
    run(&mut session, "BEGIN");
    run(&mut session, "SET LOCAL rowkey.new_properties = true");
    assert_eq!(ask(&mut session, shown), ["on"]);
    run(&mut session, "COMMIT");
    assert_eq!(ask(&mut session, shown), ["off"]);
    run(&mut session, "SET rowkey.new_properties TO 1");
    let listed = "SELECT setting, vartype, reset_val FROM pg_settings WHERE name = 'rowkey.new_properties'";
    assert_eq!(ask(&mut session, listed), ["on|bool|off"]);
    run(&mut session, "RESET rowkey.new_properties");
    assert_eq!(fails(&mut session, insert), SqlState::UNDEFINED_COLUMN);
    assert_eq!(columns(&mut session), ["Age|integer"]);
}

#[test]
fn columns_have_the_types_of_the_values() {
    let engine = engine();
    let mut session = adding(&engine);
    run(
        &mut session,
        "INSERT INTO things (partitionkey, rowkey, AGE, \"I\", \"L\", \"B\", \"T\", \"N\", \"F\", \"D\", \
         \"G\", \"X\", \"S\") \
         VALUES ('p', 'a', 7, -1, 2147483648, true, 'text', NULL, 1.5::float8, '2024-05-01 08:00:00Z'::timestamptz, \
         '0eaf8d37-0eaf-4a4b-8d37-0eaf8d370eaf'::uuid, '\\x01'::bytea, 'a' || 'b')",
    );
    let all = [
        "Age|integer",
        "I|integer",
        "L|bigint",
        "B|boolean",
        "T|text",
        "N|text",
        "F|double precision",
        "D|timestamp with time zone",
        "G|uuid",
        "X|bytea",
        "S|text",
    ];
    assert_eq!(columns(&mut session), all);
    assert_eq!(
        ask(&mut session, "SELECT age, i, l, b, t, n, f, s FROM things"),
        ["7|-1|2147483648|true|text|NULL|1.5|ab"]
    );
    // Rows have one type together, DEFAULT none, and a text in quotes takes it.
    run(
        &mut session,
        "INSERT INTO things (partitionkey, rowkey, m, o) VALUES ('p', 'b', 1, DEFAULT), ('p', 'c', '3000000000', 1), \
         ('p', 'd', 3000000000 + 1, (SELECT 2))",
    );
    assert_eq!(
        ask(&mut session, "SELECT m, o FROM things WHERE rowkey > 'a' ORDER BY rowkey"),
        ["1|NULL", "3000000000|1", "3000000001|2"]
    );
    // A query's columns, in the order of the list.
    run(
        &mut session,
        "WITH w AS (SELECT 'q' AS k, 5::bigint AS five) \
         INSERT INTO things (\"Q\", rowkey, partitionkey, \"R\") SELECT five, 'a', k, 'x' FROM w",
    );
    assert_eq!(ask(&mut session, "SELECT q, r FROM things WHERE partitionkey = 'q'"), ["5|x"]);
    let added = columns(&mut session).split_off(all.len());
    assert_eq!(added, ["m|bigint", "o|integer", "Q|bigint", "R|text"]);
}

#[test]
fn names_mean_what_they_mean_elsewhere() {
    let engine = engine();
    let mut session = adding(&engine);
    run(&mut session, "INSERT INTO things (partitionkey, rowkey, age) VALUES ('p', 'a', 1)");
    assert_eq!(columns(&mut session), ["Age|integer"]);
    run(&mut session, "INSERT INTO things (partitionkey, rowkey, \"age\", NewOne) VALUES ('p', 'b', 'x', 2)");
    run(&mut session, "INSERT INTO public.things AS t (partitionkey, rowkey, newone) VALUES ('p', 'c', 3)");
    assert_eq!(columns(&mut session), ["Age|integer", "age|text", "NewOne|integer"]);
    for (sql, state) in [
        ("INSERT INTO things (partitionkey, rowkey, aGE) VALUES ('p', 'd', 1)", SqlState::AMBIGUOUS_COLUMN),
        (
            "INSERT INTO things (partitionkey, rowkey, z, \"Z\", Z) VALUES ('p', 'd', 1, 2, 3)",
            SqlState::DUPLICATE_COLUMN,
        ),
        ("INSERT INTO things (partitionkey, rowkey, z, Z) VALUES ('p', 'd', 1, 2)", SqlState::DUPLICATE_COLUMN),
        ("INSERT INTO things (partitionkey, rowkey, etag) VALUES ('p', 'd', 'x')", SqlState::UNDEFINED_COLUMN),
        (
            "INSERT INTO things (partitionkey, rowkey, \"Timestamp:ticks\") VALUES ('p', 'd', 1)",
            SqlState::UNDEFINED_COLUMN,
        ),
        ("INSERT INTO things (partitionkey, rowkey, timestamp) VALUES ('p', 'd', now())", SqlState::GENERATED_ALWAYS),
        ("INSERT INTO things (partitionkey, rowkey, t.z) VALUES ('p', 'd', 1)", SqlState::UNDEFINED_COLUMN),
        ("INSERT INTO things (partitionkey, rowkey, \"a b\") VALUES ('p', 'd', 1)", SqlState::CHECK_VIOLATION),
        ("INSERT INTO nowhere (partitionkey, rowkey, z) VALUES ('p', 'd', 1)", SqlState::UNDEFINED_TABLE),
        ("UPDATE things SET z = 1", SqlState::UNDEFINED_COLUMN),
    ] {
        assert_eq!(fails(&mut session, sql), state, "{sql}");
    }
    assert_eq!(columns(&mut session).len(), 3);
    assert_eq!(ask(&mut session, "SELECT count(*) FROM things"), ["3"]);
}

#[test]
fn types_that_no_property_has_are_refused_as_by_alter_table() {
    let engine = engine();
    let mut session = adding(&engine);
    for (value, ty) in [
        ("1.5", "numeric"),
        ("now()::date", "date"),
        ("1::smallint", "smallint"),
        ("'{1}'::int[]", "integer[]"),
        ("'1'::jsonb", "jsonb"),
    ] {
        for source in [format!("VALUES ('p', 'a', {value})"), format!("SELECT 'p', 'a', {value}")] {
            let sql = format!("INSERT INTO things (partitionkey, rowkey, fresh) {source}");
            let error = rows(&mut session, &sql).expect_err(&sql);
            assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{sql}");
            let message = error.to_string().to_ascii_lowercase();
            assert!(message.starts_with("column \"fresh\" cannot be of type"), "{sql}: {message}, not {ty}");
            assert!(error.hint().is_some_and(|hint| hint.contains("double precision")), "{sql}");
        }
    }
    let few = "INSERT INTO things (partitionkey, rowkey, \"Age\", fresh) SELECT 'p', 'a', 1";
    assert_eq!(fails(&mut session, few), SqlState::SYNTAX_ERROR);
    let mixed = "INSERT INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'a', 1), ('p', 'b', true)";
    assert_eq!(fails(&mut session, mixed), SqlState::DATATYPE_MISMATCH);
    let unfit = "INSERT INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'a', 1), ('p', 'b', 'x')";
    assert_eq!(fails(&mut session, unfit), SqlState::INVALID_TEXT_REPRESENTATION);
    let many: Vec<String> = (0..500).map(|at| format!("c{at}")).collect();
    let many = format!(
        "INSERT INTO things (partitionkey, rowkey, {}) VALUES ('p', 'a'{})",
        many.join(", "),
        ", 1".repeat(many.len())
    );
    assert_eq!(fails(&mut session, &many), SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert_eq!(columns(&mut session), ["Age|integer"]);
    assert_eq!(session.status(), TransactionStatus::Idle);
}

#[test]
fn columns_and_rows_come_together_or_not_at_all() {
    let engine = engine();
    let (mut one, mut other) = (adding(&engine), session(&engine));
    run(&mut one, "INSERT INTO things (partitionkey, rowkey) VALUES ('p', 'a')");
    let twice = "INSERT INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'b', 1), ('p', 'a', 2)";
    assert_eq!(rows(&mut one, twice).expect_err("a key twice").sqlstate(), SqlState::UNIQUE_VIOLATION);
    // Without a word that it failed, the session is as it was.
    assert_eq!(one.status(), TransactionStatus::Idle);
    assert_eq!((columns(&mut one).len(), ask(&mut one, "SELECT count(*) FROM things")), (1, vec!["1".to_owned()]));
    run(&mut one, "BEGIN");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, alpha) VALUES ('p', 'b', 1)");
    run(&mut one, "SAVEPOINT s");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, beta) VALUES ('p', 'c', 'x')");
    assert_eq!(ask(&mut one, "SELECT alpha, beta FROM things ORDER BY rowkey"), ["NULL|NULL", "1|NULL", "NULL|x"]);
    assert_eq!(fails(&mut one, twice), SqlState::UNIQUE_VIOLATION);
    run(&mut one, "ROLLBACK TO s");
    assert_eq!(columns(&mut one), ["Age|integer", "alpha|integer"]);
    assert_eq!(columns(&mut other), ["Age|integer"]);
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, beta) VALUES ('p', 'c', 2)");
    run(&mut one, "COMMIT");
    assert_eq!(columns(&mut other), ["Age|integer", "alpha|integer", "beta|integer"]);
    assert_eq!(ask(&mut other, "SELECT alpha, beta FROM things ORDER BY rowkey"), ["NULL|NULL", "1|NULL", "NULL|2"]);
    run(&mut one, "BEGIN");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, gamma) VALUES ('p', 'd', 1)");
    run(&mut one, "ROLLBACK");
    assert_eq!(columns(&mut one).len(), 3);
    run(&mut one, "BEGIN READ ONLY");
    let sql = "INSERT INTO things (partitionkey, rowkey, gamma) VALUES ('p', 'd', 1)";
    assert_eq!(fails(&mut one, sql), SqlState::READ_ONLY_SQL_TRANSACTION);
    run(&mut one, "ROLLBACK");
    assert_eq!(columns(&mut one).len(), 3);
}

#[test]
fn transactions_that_add_the_same_column_agree_on_its_type() {
    let engine = engine();
    let (mut one, mut other) = (adding(&engine), adding(&engine));
    run(&mut one, "BEGIN");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, same, differs) VALUES ('p', 'a', 1, 1)");
    run(&mut other, "INSERT INTO things (partitionkey, rowkey, same) VALUES ('p', 'b', 2)");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut other, "SELECT same FROM things ORDER BY rowkey"), ["1", "2"]);
    run(&mut one, "BEGIN");
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'c', 1)");
    run(&mut other, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'd', 'x')");
    assert_eq!(fails(&mut one, "COMMIT"), SqlState::SERIALIZATION_FAILURE);
    run(&mut one, "INSERT INTO things (partitionkey, rowkey, n) VALUES ('p', 'c', '1')");
    assert_eq!(ask(&mut one, "SELECT n FROM things WHERE n IS NOT NULL ORDER BY rowkey"), ["1", "x"]);
}

#[test]
fn parameters_have_the_types_that_are_declared() {
    let engine = engine();
    let mut session = adding(&engine);
    let insert = "INSERT INTO things (partitionkey, rowkey, \"P\", \"Q\") VALUES ($1, $2, $3, $4)";
    let values = |row: &str| [Value::from("p"), Value::from(row), Value::Int64(5), Value::String("x".to_owned())];
    for row in ["a", "b"] {
        rows_with(&mut session, insert, &values(row)).expect(insert);
    }
    assert_eq!(columns(&mut session), ["Age|integer", "P|bigint", "Q|text"]);
    // Those that nobody declares are texts.
    run(
        &mut session,
        "PREPARE added AS INSERT INTO things (partitionkey, rowkey, \"U\", \"V\") SELECT $1, $2, $3, $4::int",
    );
    run(&mut session, "EXECUTE added ('p', 'c', '1', 2)");
    run(&mut session, "EXECUTE added ('p', 'd', 'x', 3)");
    assert_eq!(columns(&mut session).split_off(3), ["U|text", "V|integer"]);
    assert_eq!(ask(&mut session, "SELECT u, v FROM things WHERE u IS NOT NULL ORDER BY rowkey"), ["1|2", "x|3"]);
    run(&mut session, "PREPARE late AS INSERT INTO things (partitionkey, rowkey, late) VALUES ($1, $2, $3)");
    run(&mut session, "SET rowkey.new_properties = off");
    assert_eq!(fails(&mut session, "EXECUTE late ('p', 'e', 'x')"), SqlState::UNDEFINED_COLUMN);
    run(&mut session, "SET rowkey.new_properties = on");
    run(&mut session, "EXECUTE late ('p', 'e', 'x')");
    assert_eq!(ask(&mut session, "SELECT late FROM things WHERE rowkey = 'e'"), ["x"]);
}

#[test]
fn what_else_an_insert_says_knows_the_columns() {
    let engine = engine();
    let mut session = adding(&engine);
    let insert = "INSERT INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'a', 1)";
    let conflict = "ON CONFLICT (partitionkey, rowkey) DO UPDATE SET fresh = things.fresh + excluded.fresh";
    assert_eq!(ask(&mut session, &format!("EXPLAIN (COSTS off) {insert}")), ["Insert on Things", "  Rows Given: 1"]);
    assert_eq!(columns(&mut session).len(), 1);
    assert_eq!(ask(&mut session, &format!("{insert} {conflict} RETURNING fresh, fresh + 1 AS next")), ["1|2"]);
    assert_eq!(ask(&mut session, &format!("{insert} {conflict} RETURNING *")).len(), 1);
    assert_eq!(ask(&mut session, "SELECT fresh FROM things"), ["2"]);
    // The time of the commit, though it adds columns.
    let timed = "INSERT INTO things (partitionkey, rowkey, timed) VALUES ('p', 'b', 1) RETURNING \"Timestamp\"::text";
    let returned = ask(&mut session, timed);
    assert_eq!(ask(&mut session, "SELECT \"Timestamp\"::text FROM things WHERE rowkey = 'b'"), returned);
    let other = "INSERT INTO things (partitionkey, rowkey, more) VALUES ('p', 'a', 1) \
                 ON CONFLICT (partitionkey, rowkey) DO UPDATE SET other = 1";
    assert_eq!(fails(&mut session, other), SqlState::UNDEFINED_COLUMN);
    let nothing = "INSERT INTO things (partitionkey, rowkey, more) VALUES ('p', 'a', 1) ON CONFLICT DO NOTHING";
    run(&mut session, nothing);
    assert_eq!(columns(&mut session), ["Age|integer", "fresh|integer", "timed|integer", "more|integer"]);
    run(&mut session, "INSERT OR REPLACE INTO things (partitionkey, rowkey, again) VALUES ('p', 'a', 'x')");
    assert_eq!(ask(&mut session, "SELECT fresh, again FROM things WHERE rowkey = 'a'"), ["NULL|x"]);
}

#[test]
fn plans_that_were_kept_see_the_column() {
    let engine = engine();
    let (mut session, mut other) = (adding(&engine), session(&engine));
    let all = "SELECT * FROM things WHERE partitionkey = 'p' AND rowkey = 'a'";
    run(&mut session, "INSERT INTO things (partitionkey, rowkey) VALUES ('p', 'a')");
    let width = |rows: Vec<String>| rows.first().map_or(0, |row| row.split('|').count());
    for session in [&mut session, &mut other] {
        for _ in 0..2 {
            assert_eq!(width(ask(session, all)), 4);
        }
    }
    run(&mut session, "INSERT OR REPLACE INTO things (partitionkey, rowkey, fresh) VALUES ('p', 'a', 1)");
    for session in [&mut session, &mut other] {
        assert_eq!(width(ask(session, all)), 5);
    }
    // A statement by key that adds a column is run as any other; the next one is found by its key.
    for (row, column) in [("b", "literal"), ("c", "literal"), ("d", "another")] {
        let sql = format!("INSERT INTO things (partitionkey, rowkey, {column}) VALUES ('p', '{row}', 5)");
        let bound = block_on(session.bind_key_statement(&sql));
        let written = match bound {
            Some(BoundKeyStatement::Write(prepared, literals)) => {
                block_on(session.run_key_write(&prepared, &literals)).expect(&sql).is_some()
            }
            _ => false,
        };
        assert_eq!(written, row == "c", "{sql}");
        if !written {
            run(&mut session, &sql);
        }
    }
    assert_eq!(columns(&mut session), ["Age|integer", "fresh|integer", "literal|integer", "another|integer"]);
    assert_eq!(
        ask(&mut other, "SELECT literal, another FROM things WHERE rowkey > 'a' ORDER BY rowkey"),
        ["5|NULL", "5|NULL", "NULL|5"]
    );
}
