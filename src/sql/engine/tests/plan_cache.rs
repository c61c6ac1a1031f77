//! Statements that are sent again: the answer is that of a statement never seen before.

use std::sync::Arc;

use futures::executor::block_on;

use super::{ask, import, open, rows, rows_with, session};
use crate::engine::Engine;
use crate::session::{BoundKeyStatement, Outcome, Prepared, Session, SqlState, parse_all};
use rowkey_model::Value;
use rowkey_model::files::MemoryStore;

const FIRST: &str = r#"{"PartitionKey":"p","RowKey":"1","A":1}"#;
const SECOND: &str = r#"{"PartitionKey":"p","RowKey":"2","A":2}"#;
const WIDER: &str = r#"{"PartitionKey":"p","RowKey":"3","A":2.5,"B":"text"}"#;
const POINT: &str = r#"SELECT * FROM tab WHERE "PartitionKey" = 'p' AND "RowKey" = '1'"#;
const RANGE: &str = r#"SELECT "RowKey", "A" FROM tab WHERE "PartitionKey" = 'p' AND "RowKey" >= '1'"#;
const COUNT: &str = "SELECT count(*), max(a) FROM tab";

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    import(&engine, "Tab", FIRST, 1 << 20).expect("imports");
    engine
}

fn prepare(session: &mut Session, sql: &str) -> Arc<Prepared> {
    let statement = parse_all(sql).expect("parses").pop().expect("a statement");
    Arc::new(block_on(session.prepare(Arc::new(statement), &[])).expect("prepares"))
}

#[test]
fn what_is_sent_again_is_not_planned_again() {
    let engine = engine();
    let (mut one, two) = (session(&engine), session(&engine));
    for sql in [POINT, RANGE, COUNT, "SELECT 1"] {
        assert!(one.prepared_before(sql, &[]).is_none(), "{sql}");
        let first = ask(&mut one, sql);
        assert!(two.prepared_before(sql, &[]).is_some(), "{sql}");
        assert_eq!(ask(&mut one, sql), first, "{sql}");
    }
}

/// A table that is written through the Table service has a new column with any entity.
#[test]
fn a_read_by_key_outlives_columns_that_it_does_not_name() {
    let engine = engine();
    let mut session = session(&engine);
    let narrow = r#"SELECT "A" FROM tab WHERE "PartitionKey" = 'p' AND "RowKey" = '1'"#;
    import(&engine, "Tab", r#"{"PartitionKey":"p","RowKey":"2","B":2}"#, 1 << 20).expect("imports");
    let (narrow, star) = (prepare(&mut session, narrow), prepare(&mut session, POINT));
    let runs = |prepared: &Prepared| {
        let read = prepared.plan.as_ref().and_then(|plan| plan.by_key.as_ref()).expect("a read by key");
        let (store, columns) = (engine.store(), prepared.columns.as_ref().expect("columns"));
        block_on(read.rows(store.files(), &store.snapshot(), &[], columns)).expect("reads").is_some()
    };
    assert!(runs(&narrow) && runs(&star));
    import(&engine, "Tab", r#"{"PartitionKey":"p","RowKey":"3","C":2}"#, 1 << 20).expect("imports");
    assert!(runs(&narrow) && !runs(&star));
    // In another case it is a name that SQL has to choose from.
    import(&engine, "Tab", r#"{"PartitionKey":"p","RowKey":"4","a":2}"#, 1 << 20).expect("imports");
    assert!(!runs(&narrow));
}

/// A kept plan gives the answers of one that is made anew.
#[test]
fn plans_outlive_columns_that_they_do_not_name() {
    let engine = engine();
    let (mut before, mut anew) = (session(&engine), session(&engine));
    let insert = |json: &str| drop(import(&engine, "Tab", json, 1 << 20).expect("imports"));
    insert(r#"{"PartitionKey":"p","RowKey":"2","A":2,"B":"b"}"#);
    let statements = [
        ("SELECT sum(a), count(*) FROM tab WHERE rowkey > '0'", true),
        ("SELECT upper(b) FROM tab ORDER BY a DESC", true),
        ("SELECT t.a, (SELECT max(u.a) FROM tab u WHERE u.a <= t.a) FROM tab t ORDER BY 1", true),
        // Its own name would be the column's.
        ("SELECT a + 1 AS c1 FROM tab GROUP BY a + 1 ORDER BY c1", false),
        ("SELECT * FROM tab ORDER BY rowkey", false),
        ("SELECT count(*) FROM tab NATURAL JOIN (SELECT 1 AS one) x", false),
        ("SELECT row_to_json(tab) FROM tab ORDER BY rowkey", false),
        ("SELECT a FROM tab, LATERAL (SELECT 1 AS c1) x ORDER BY c1, a", false),
    ];
    for (sql, _) in statements {
        ask(&mut before, sql);
    }
    insert(r#"{"PartitionKey":"p","RowKey":"3","A":7,"B":"x","C1":2}"#);
    for (sql, outlives) in statements {
        assert_eq!(before.prepared_before(sql, &[]).is_some(), outlives, "{sql}");
        let uncached = format!("{sql} -- again");
        assert_eq!(ask(&mut before, sql), ask(&mut anew, &uncached), "{sql}");
    }
    // A column of another type, of another case, or of a word of the statement.
    let sql = statements[0].0;
    for (json, outlives) in [
        (r#"{"PartitionKey":"p","RowKey":"4","A":8,"B":3}"#, true),
        (r#"{"PartitionKey":"p","RowKey":"5","sum":1}"#, false),
        (r#"{"PartitionKey":"p","RowKey":"6","A":8.5}"#, false),
        (r#"{"PartitionKey":"p","RowKey":"7","other":1}"#, true),
        (r#"{"PartitionKey":"p","RowKey":"8","a":1}"#, false),
    ] {
        let answer = rows(&mut before, sql).map_err(|error| error.sqlstate());
        drop(answer);
        insert(json);
        assert_eq!(before.prepared_before(sql, &[]).is_some(), outlives, "{json}");
        let uncached = format!("{sql} -- {json}");
        let (kept, anew) = (rows(&mut before, sql), rows(&mut anew, &uncached));
        assert_eq!(
            kept.map_err(|error| error.to_string()).ok(),
            anew.map_err(|error| error.to_string()).ok(),
            "{json}"
        );
    }
}

#[test]
fn an_import_is_seen_by_the_same_statement() {
    let engine = engine();
    let mut session = session(&engine);
    assert_eq!(ask(&mut session, RANGE), ["1|1"]);
    assert_eq!(ask(&mut session, COUNT), ["1|1"]);
    let kept = prepare(&mut session, RANGE);
    import(&engine, "Tab", SECOND, 1 << 20).expect("imports");
    for _ in 0..2 {
        assert_eq!(ask(&mut session, RANGE), ["1|1", "2|2"]);
        assert_eq!(ask(&mut session, COUNT), ["2|2"]);
    }
    let again = block_on(session.run(&kept, &Arc::default())).expect("runs");
    let Outcome::Rows(again) = again else { panic!("a query has rows") };
    let batches = block_on(again.into_answer().collect()).expect("rows");
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
}

#[test]
fn columns_that_change_are_told_to_a_prepared_statement() {
    let engine = engine();
    let mut session = session(&engine);
    for sql in [POINT, RANGE] {
        ask(&mut session, sql);
    }
    let (star, narrow) = (prepare(&mut session, POINT), prepare(&mut session, RANGE));
    import(&engine, "Tab", WIDER, 1 << 20).expect("imports");
    for prepared in [&star, &narrow] {
        let error = block_on(session.run(prepared, &Arc::default())).expect_err("its columns are others");
        assert_eq!(error.sqlstate(), SqlState::CACHED_PLAN_CHANGED);
        assert_eq!(error.to_string(), "cached plan must not change result type");
    }
    // The text itself is planned for what there is.
    assert_eq!(ask(&mut session, RANGE), ["1|1.0", "3|2.5"]);
    assert!(ask(&mut session, POINT)[0].starts_with("p|1|"));
    assert_eq!(prepare(&mut session, POINT).columns.as_ref().map(|columns| columns.len()), Some(7));
}

#[test]
fn a_prepared_star_keeps_its_columns_beside_new_ones() {
    let engine = engine();
    let mut session = session(&engine);
    let star = r#"SELECT * FROM tab WHERE "PartitionKey" = 'p' ORDER BY "RowKey""#;
    let others = ["SELECT DISTINCT * FROM tab", "SELECT * FROM tab FOR UPDATE"];
    let (star, others) = (prepare(&mut session, star), others.map(|sql| prepare(&mut session, sql)));
    let width = star.columns.as_ref().map(|columns| columns.len());
    import(&engine, "Tab", r#"{"PartitionKey":"p","RowKey":"9","AA":1,"Zoe":"new"}"#, 1 << 20).expect("imports");
    let Outcome::Rows(rows) = block_on(session.run(&star, &Arc::default())).expect("runs") else {
        panic!("a query has rows")
    };
    let batches = block_on(rows.into_answer().collect()).expect("rows");
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
    let names = |batch: &arrow::array::RecordBatch| {
        batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    assert!(
        batches.iter().all(|batch| Some(batch.num_columns()) == width && !names(batch).contains(&"Zoe".to_owned()))
    );
    // Which rows there are, and which are locked, depends on all columns.
    for prepared in &others {
        let error = block_on(session.run(prepared, &Arc::default())).expect_err("its rows are others");
        assert_eq!(error.sqlstate(), SqlState::CACHED_PLAN_CHANGED);
    }
}

#[test]
fn a_transaction_keeps_its_snapshot_and_the_next_one_has_another() {
    let engine = engine();
    let (mut inside, mut outside) = (session(&engine), session(&engine));
    ask(&mut inside, "BEGIN");
    // A statement that reads nothing takes no snapshot.
    ask(&mut inside, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(ask(&mut inside, RANGE), ["1|1"]);
    assert_eq!(ask(&mut inside, COUNT), ["1|1"]);
    import(&engine, "Tab", SECOND, 1 << 20).expect("imports");
    for _ in 0..2 {
        assert_eq!(ask(&mut outside, RANGE), ["1|1", "2|2"]);
        assert_eq!(ask(&mut inside, RANGE), ["1|1"]);
        assert_eq!(ask(&mut inside, COUNT), ["1|1"]);
        assert_eq!(ask(&mut outside, COUNT), ["2|2"]);
    }
    ask(&mut inside, "COMMIT");
    assert_eq!(ask(&mut inside, RANGE), ["1|1", "2|2"]);
    assert_eq!(ask(&mut inside, COUNT), ["2|2"]);
}

#[test]
fn a_failed_transaction_refuses_what_was_planned_before() {
    let engine = engine();
    let mut session = session(&engine);
    ask(&mut session, POINT);
    ask(&mut session, "BEGIN");
    session.failed();
    assert_eq!(
        rows(&mut session, POINT).expect_err("the transaction failed").sqlstate(),
        SqlState::IN_FAILED_SQL_TRANSACTION
    );
    ask(&mut session, "ROLLBACK");
    assert_eq!(ask(&mut session, POINT).len(), 1);
}

#[test]
fn views_are_seen_as_they_are_now() {
    let engine = engine();
    let (mut session, read) = (session(&engine), "SELECT * FROM v");
    let missing = |session: &mut Session| rows(session, read).expect_err("no view").sqlstate();
    assert_eq!(missing(&mut session), SqlState::UNDEFINED_TABLE);
    ask(&mut session, r#"CREATE VIEW v AS SELECT "RowKey" FROM tab"#);
    for _ in 0..2 {
        assert_eq!(ask(&mut session, read), ["1"]);
    }
    ask(&mut session, r#"CREATE OR REPLACE VIEW v AS SELECT "RowKey", "A" FROM tab"#);
    for _ in 0..2 {
        assert_eq!(ask(&mut session, read), ["1|1"]);
    }
    ask(&mut session, "DROP VIEW v");
    assert_eq!(missing(&mut session), SqlState::UNDEFINED_TABLE);
}

#[test]
fn settings_are_those_of_the_moment_and_the_session() {
    let engine = engine();
    let (mut one, mut two) = (session(&engine), session(&engine));
    let noon = "SELECT '2024-06-01 12:00'::timestamptz = '2024-06-01 12:00+00'::timestamptz";
    for session in [&mut one, &mut two] {
        for _ in 0..2 {
            assert_eq!(ask(session, noon), ["true"]);
        }
    }
    ask(&mut one, "SET TimeZone = 'Europe/Berlin'");
    for _ in 0..2 {
        assert_eq!(ask(&mut one, noon), ["false"]);
        assert_eq!(ask(&mut two, noon), ["true"]);
    }
    let path = "SELECT count(*) > 0 FROM tables";
    assert!(rows(&mut one, path).is_err());
    ask(&mut one, "SET search_path = rowkey, public");
    assert_eq!(ask(&mut one, path), ["true"]);
    assert!(rows(&mut two, path).is_err());
}

#[test]
fn what_the_catalog_tells_of_a_session_is_of_this_one_and_of_now() {
    let engine = engine();
    let (mut one, mut two) = (session(&engine), session(&engine));
    let setting = "SELECT setting FROM pg_settings WHERE name = 'application_name'";
    let (pid, current) = ("SELECT pg_backend_pid()", "SELECT current_setting('application_name')");
    ask(&mut one, &format!("PREPARE s AS {setting}"));
    for (session, name) in [(&mut one, "first"), (&mut two, "second")] {
        ask(session, &format!("SET application_name = '{name}'"));
        for _ in 0..2 {
            assert_eq!(ask(session, setting), [name]);
            assert_eq!(ask(session, current), [name]);
        }
    }
    assert_eq!(ask(&mut one, "EXECUTE s"), ["first"]);
    assert_ne!(ask(&mut one, pid), ask(&mut two, pid));
    assert_eq!(ask(&mut two, "SELECT name FROM pg_prepared_statements"), Vec::<String>::new());
    assert_eq!(ask(&mut one, "SELECT name FROM pg_prepared_statements"), ["s"]);
    assert_eq!(ask(&mut two, "SELECT name FROM pg_prepared_statements"), Vec::<String>::new());
}

#[test]
fn types_of_parameters_are_part_of_the_statement() {
    let engine = engine();
    let mut session = session(&engine);
    let sql = "SELECT pg_typeof($1)";
    for _ in 0..2 {
        assert_eq!(rows_with(&mut session, sql, &[Value::Int32(1)]).expect("rows"), ["integer"]);
        assert_eq!(rows_with(&mut session, sql, &[Value::Double(1.0)]).expect("rows"), ["double precision"]);
        assert_eq!(rows_with(&mut session, sql, &[]).expect_err("no value").sqlstate(), SqlState::UNDEFINED_PARAMETER);
    }
    let point = r#"SELECT "A" FROM tab WHERE "PartitionKey" = $1 AND "RowKey" = $2"#;
    let text = |text: &str| Value::String(text.to_owned());
    for _ in 0..2 {
        assert_eq!(rows_with(&mut session, point, &[text("p"), text("1")]).expect("rows"), ["1"]);
        assert_eq!(rows_with(&mut session, point, &[text("p"), text("2")]).expect("rows"), Vec::<String>::new());
    }
}

#[test]
fn reads_by_key_that_differ_in_their_texts_are_planned_once() {
    let engine = engine();
    import(&engine, "Tab", SECOND, 1 << 20).expect("imports");
    let mut session = session(&engine);
    let mut read = |sql: &str| match block_on(session.bind_key_statement(sql)) {
        Some(BoundKeyStatement::Read(prepared, values)) => (prepared, values),
        other => panic!("{sql} is no read of one key: {other:?}"),
    };
    let (first, values) = read(POINT);
    assert_eq!(format!("{values:?}"), r#"[Text("p"), Text("1")]"#);
    let (second, values) = read(&format!("{};", POINT.replace("'1'", "'2'")));
    assert!(Arc::ptr_eq(&first.statement, &second.statement), "planned once");
    let Outcome::Rows(found) = block_on(session.run(&second, &values.into())).expect("runs") else { panic!("no rows") };
    let found = block_on(found.into_answer().collect()).expect("rows");
    assert_eq!(found.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    for other in
        [COUNT, "SELECT * FROM tab WHERE \"A\" = '1'", "SELECT * FROM tab WHERE \"PartitionKey\" = 'a' AND \"A\" = '1'"]
    {
        for _ in 0..2 {
            assert!(block_on(session.bind_key_statement(other)).is_none(), "{other}");
        }
    }
}

#[test]
fn writes_by_key_that_differ_in_their_literals_are_prepared_once() {
    let engine = engine();
    import(&engine, "Tab", SECOND, 1 << 20).expect("imports");
    let mut session = session(&engine);
    let mut write = |sql: &str| match block_on(session.bind_key_statement(sql)) {
        Some(BoundKeyStatement::Write(prepared, literals)) => {
            (prepared.clone(), block_on(session.run_key_write(&prepared, &literals)))
        }
        other => panic!("{sql} is no write by key: {other:?}"),
    };
    let done = |tag: &str| format!("Ok(Some(Done({tag:?})))");
    let insert = |row: &str, value: &str| {
        format!("INSERT INTO tab (\"PartitionKey\", \"RowKey\", \"A\") VALUES ('n', '{row}', {value});")
    };
    let (first, wrote) = write(&insert("1", "1"));
    assert_eq!(format!("{wrote:?}"), done("INSERT 0 1"));
    let (second, wrote) = write(&insert("2", "-2"));
    assert_eq!(format!("{wrote:?}"), done("INSERT 0 1"));
    assert!(Arc::ptr_eq(&first, &second), "prepared once");
    let (_, again) = write(&insert("2", "3"));
    assert_eq!(again.map(drop).unwrap_err().sqlstate(), SqlState::UNIQUE_VIOLATION);
    // What does not fit is for the statement itself to tell.
    assert_eq!(format!("{:?}", write(&insert("3", "2.5")).1), "Ok(None)");
    assert_eq!(format!("{:?}", write(&insert("3", "'x'")).1), "Ok(None)");
    let (_, wrote) = write("UPDATE tab SET \"A\" = 7 WHERE \"PartitionKey\" = 'n' AND \"RowKey\" = '1'");
    assert_eq!(format!("{wrote:?}"), done("UPDATE 1"));
    let (_, wrote) = write("DELETE FROM tab WHERE \"PartitionKey\" = 'n' AND \"RowKey\" = '2'");
    assert_eq!(format!("{wrote:?}"), done("DELETE 1"));
    assert_eq!(ask(&mut session, "SELECT \"RowKey\", \"A\" FROM tab WHERE \"PartitionKey\" = 'n'"), ["1|7"]);

    // The table is another one: what was prepared is not used any more, and what is new is known.
    ask(&mut session, "ALTER TABLE tab ADD COLUMN \"New\" text");
    let Some(BoundKeyStatement::Write(third, _)) = block_on(session.bind_key_statement(&insert("4", "4"))) else {
        panic!("a write")
    };
    assert!(!Arc::ptr_eq(&first, &third), "prepared anew");
    let renamed = insert("4", "4").replace("\"A\"", "\"B2\"");
    assert!(block_on(session.bind_key_statement(&renamed)).is_none(), "there is no such column yet");
    ask(&mut session, "ALTER TABLE tab ADD COLUMN \"B2\" int");
    assert!(block_on(session.bind_key_statement(&renamed)).is_some(), "there is one now");
    ask(&mut session, "SET default_transaction_read_only = on");
    assert!(block_on(session.bind_key_statement(&renamed)).is_none(), "read-only");
}

#[test]
fn statements_that_lie_idle_keep_no_files() {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    import(&engine, "Tab", FIRST, 1 << 20).expect("imports");
    let mut session = session(&engine);
    let count = format!("PREPARE counted AS {COUNT}");
    let update = "PREPARE changed AS UPDATE tab SET a = $1 WHERE \"PartitionKey\" = 'p' AND \"RowKey\" = '1'";
    for sql in [&format!("PREPARE point AS {POINT}"), &format!("PREPARE span AS {RANGE}"), &count, update] {
        ask(&mut session, sql);
    }
    ask(&mut session, "EXECUTE counted");
    for round in 0..3 {
        ask(&mut session, &format!("EXECUTE changed({round})"));
        ask(&mut session, "VACUUM FULL tab");
    }
    // The next commit lets go of what was replaced by the last.
    ask(&mut session, "COMMENT ON TABLE tab IS 'x'");
    let named = engine.store().snapshot().catalog.tables().flat_map(|table| table.manifest.files()).count();
    let there = files.files().keys().filter(|path| rowkey_model::files::paths::parse_run(path).is_some()).count();
    assert_eq!((there, named), (1, 1));
    assert_eq!(ask(&mut session, "EXECUTE span"), ["1|2"]);
    assert_eq!(ask(&mut session, "EXECUTE counted"), ["1|2"]);
}
