//! COPY of entities: what a client sends is imported, all of it or nothing, and goes out as it
//! came.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Runtime;

use super::{ask, open, run, session};
use crate::session::{CopyIn, Copying, Outcome, Result, Session, SqlState};
use rowkey_model::files::MemoryStore;
use rowkey_postgres::syntax::parse;

fn people() -> Session {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = session(&engine);
    run(&mut session, "CREATE TABLE People ()");
    session
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn begin(session: &mut Session, sql: &str) -> Result<Box<CopyIn>> {
    let prepared = session.prepare(Arc::new(parse(sql)?), &[]).await?;
    match session.run(&Arc::new(prepared), &Arc::default()).await? {
        Outcome::Copy(Copying::In(copy)) => Ok(copy),
        other => panic!("{other:?}"),
    }
}

/// Sends bytes in pieces; gives the tag.
fn copy(session: &mut Session, sql: &str, bytes: &[u8]) -> Result<String> {
    runtime().block_on(async {
        let mut copy = begin(session, sql).await?;
        for piece in bytes.chunks(7) {
            copy = session.read_copied(copy, Bytes::copy_from_slice(piece)).await?;
        }
        session.finish_copy(*copy).await
    })
}

/// What a COPY TO STDOUT sends, and its tag.
fn copied_out(session: &mut Session, sql: &str) -> Result<(Vec<u8>, String)> {
    runtime().block_on(async {
        let prepared = session.prepare(Arc::new(parse(sql)?), &[]).await?;
        let Outcome::Copy(Copying::EntitiesOut(mut copy)) = session.run(&Arc::new(prepared), &Arc::default()).await?
        else {
            panic!("{sql}")
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = copy.next().await {
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, session.finish_copy_out(*copy).await?))
    })
}

fn notices(session: &mut Session) -> Vec<String> {
    session.take_notices().iter().map(ToString::to_string).collect()
}

const TYPED: &str = r#"
{"PartitionKey":"a","RowKey":"1","Big@odata.type":"Edm.Int64","Big":"9007199254740993","At@odata.type":"Edm.DateTime","At":"2024-02-29T12:00:00.1234567Z"}
{"PartitionKey":"a","RowKey":"2","Name":"Bob","Score":1.5}
"#;
const SHOWN: &str = "SELECT rowkey, \"Big\", \"At:ticks\", \"Name\" FROM People ORDER BY 1";

#[test]
fn entities_keep_their_types_and_are_upserted() {
    let mut session = people();
    assert_eq!(
        copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", TYPED.as_bytes()).expect("copied"),
        "COPY 2"
    );
    assert_eq!(notices(&mut session), ["entities: 2 inserted"]);
    let first = "1|9007199254740993|638448048001234567|NULL";
    assert_eq!(ask(&mut session, SHOWN), [first, "2|NULL|NULL|Bob"]);
    let changed =
        r#"{"value":[{"PartitionKey":"a","RowKey":"2","Name":"Rob","Score":1.5},{"PartitionKey":"b","RowKey":"3"}]}"#;
    assert_eq!(
        copy(&mut session, "COPY people FROM STDIN WITH (FORMAT 'json')", changed.as_bytes()).expect("copied"),
        "COPY 2"
    );
    assert_eq!(notices(&mut session), ["entities: 1 inserted, 1 replaced"]);
    assert_eq!(ask(&mut session, SHOWN), [first, "2|NULL|NULL|Rob", "3|NULL|NULL|NULL"]);
    assert_eq!(copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", b"").expect("copied"), "COPY 0");
    let told = notices(&mut session);
    assert!(told[0] == "entities: nothing to import" && told[1].contains("holds nothing"), "{told:?}");
    let csv = "PartitionKey,RowKey,Timestamp,Age,Age@type\r\na,4,2024-05-01T00:00:00Z,41,Edm.Int64\r\n";
    assert_eq!(
        copy(&mut session, "COPY People FROM STDIN (FORMAT typed_csv)", csv.as_bytes()).expect("copied"),
        "COPY 1"
    );
    assert_eq!(ask(&mut session, "SELECT pg_typeof(\"Age\"), \"Age\" FROM People WHERE rowkey = '4'"), ["bigint|41"]);
}

#[test]
fn entities_go_out_as_they_came() {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = session(&engine);
    run(&mut session, "CREATE TABLE People ()");
    copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", TYPED.as_bytes()).expect("copied");
    let shown = ask(&mut session, SHOWN);
    for format in ["ndjson", "json", "typed_csv", "parquet"] {
        let (bytes, tag) =
            copied_out(&mut session, &format!("COPY People TO STDOUT (FORMAT {format})")).expect("copied");
        assert_eq!(tag, "COPY 2", "{format}");
        run(&mut session, "DELETE FROM People");
        let back = copy(&mut session, &format!("COPY People FROM STDIN (FORMAT {format})"), &bytes);
        assert_eq!(back.expect("copied"), "COPY 2", "{format}");
        assert_eq!(ask(&mut session, SHOWN), shown, "{format}");
    }
    let query = "COPY (SELECT rowkey AS k, \"Big\" FROM People ORDER BY 1) TO STDOUT (FORMAT ndjson)";
    let (bytes, tag) = copied_out(&mut session, query).expect("copied");
    assert_eq!(tag, "COPY 2");
    assert_eq!(bytes, b"{\"k\":\"1\",\"Big\":9007199254740993}\n{\"k\":\"2\",\"Big\":null}\n");
    assert!(notices(&mut session).last().is_some_and(|note| note.contains("types are those of JSON")));
    let failing = "COPY (SELECT 1 / (n - 900) AS q FROM generate_series(1, 1000) g(n)) TO STDOUT (FORMAT ndjson)";
    assert_eq!(copied_out(&mut session, failing).expect_err("refused").sqlstate(), SqlState::DIVISION_BY_ZERO);
    session.failed();
    assert_eq!(ask(&mut session, "SELECT count(*) FROM People"), ["2"]);
}

/// What a client leaves unread is not made.
#[test]
fn a_client_that_reads_no_further_ends_its_export() {
    let mut session = people();
    run(&mut session, "ALTER TABLE People ADD COLUMN t text");
    run(
        &mut session,
        "INSERT INTO People (partitionkey, rowkey, t) SELECT 'p', n::text, repeat('x', 1000) FROM generate_series(1, 20000) g(n)",
    );
    runtime().block_on(async {
        let prepared = parse("COPY People TO STDOUT (FORMAT ndjson)").expect("a statement");
        let prepared = session.prepare(Arc::new(prepared), &[]).await.expect("prepared");
        let outcome = session.run(&Arc::new(prepared), &Arc::default()).await.expect("begun");
        let Outcome::Copy(Copying::EntitiesOut(mut copy)) = outcome else { panic!("no entities") };
        assert!(copy.next().await.is_some());
        let mut written = 0;
        while copy.rows() > written {
            written = copy.rows();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(written < 20_000, "{written} entities were written, and next to none taken");
        drop(copy);
    });
    assert_eq!(ask(&mut session, "SELECT count(*) FROM People"), ["20000"]);
}

#[test]
fn entities_that_break_a_rule_stop_it_or_are_left_out() {
    let mut session = people();
    let broken = format!("{TYPED}{{\"PartitionKey\":\"a/b\",\"RowKey\":\"3\"}}\n");
    let error = copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", broken.as_bytes()).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION);
    assert!(
        error.to_string().contains("STDIN") && error.hint().is_some_and(|hint| hint.contains("ON_ERROR")),
        "{error}"
    );
    session.failed();
    assert!(ask(&mut session, "SELECT rowkey FROM People").is_empty());
    let ignoring = "COPY People FROM STDIN (FORMAT ndjson, ON_ERROR ignore)";
    assert_eq!(copy(&mut session, ignoring, broken.as_bytes()).expect("copied"), "COPY 2");
    let told = notices(&mut session);
    assert!(told[0] == "entities: 2 inserted, 1 rejected" && told[1].contains("a/b"), "{told:?}");
    for unreadable in ["{\"PartitionKey\":\"a\"", "neither", "{\"PartitionKey\":\"z\",\"RowKey\":\"9\"}]"] {
        let error = copy(&mut session, ignoring, unreadable.as_bytes()).expect_err(unreadable);
        assert!(error.to_string().contains("STDIN"), "{error}");
        session.failed();
    }
    assert_eq!(ask(&mut session, "SELECT count(*) FROM People"), ["2"]);
}

#[test]
fn a_client_that_goes_away_leaves_the_table_as_it_was() {
    let mut session = people();
    runtime().block_on(async {
        let mut entities = begin(&mut session, "COPY People FROM STDIN (FORMAT ndjson)").await.expect("begun");
        entities = session.read_copied(entities, Bytes::from_static(TYPED.as_bytes())).await.expect("read");
        drop(entities);
    });
    session.failed();
    // The job of the table is free again.
    assert_eq!(copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", b"").expect("copied"), "COPY 0");
    assert!(ask(&mut session, "SELECT rowkey FROM People").is_empty());
}

#[test]
fn what_it_does_not_take_is_refused_by_name() {
    let mut session = people();
    let mut refused = |sql: &str| {
        let error = copy(&mut session, sql, b"").expect_err(sql);
        session.failed();
        (error.sqlstate(), error.to_string())
    };
    for (sql, code, named) in [
        ("COPY Nobody FROM STDIN (FORMAT ndjson)", SqlState::UNDEFINED_TABLE, "nobody"),
        ("COPY People (rowkey) FROM STDIN (FORMAT ndjson)", SqlState::FEATURE_NOT_SUPPORTED, "list of columns"),
        ("COPY People FROM STDIN (FORMAT ndjson, HEADER)", SqlState::FEATURE_NOT_SUPPORTED, "header"),
        ("COPY People FROM STDIN (FORMAT json, ON_ERROR maybe)", SqlState::INVALID_PARAMETER_VALUE, "maybe"),
        ("COPY People FROM STDIN (FORMAT json, FORMAT json)", SqlState::SYNTAX_ERROR, "redundant"),
        ("COPY People FROM STDIN (FORMAT xml)", SqlState::INVALID_PARAMETER_VALUE, "xml"),
        ("COPY Nobody TO STDOUT (FORMAT ndjson)", SqlState::UNDEFINED_TABLE, "nobody"),
        ("COPY People TO STDOUT (FORMAT ndjson, HEADER)", SqlState::FEATURE_NOT_SUPPORTED, "HEADER"),
    ] {
        let (sqlstate, message) = refused(sql);
        assert!(sqlstate == code && message.contains(named), "{sql}: {sqlstate:?} {message}");
    }
    run(&mut session, "BEGIN");
    let error = copy(&mut session, "COPY People FROM STDIN (FORMAT ndjson)", b"").expect_err("a block");
    assert_eq!(error.sqlstate(), SqlState::ACTIVE_SQL_TRANSACTION);
}

#[test]
fn a_copy_under_way_is_seen_by_others() {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let (mut session, mut other) = (super::session(&engine), super::session(&engine));
    run(&mut session, "CREATE TABLE People ()");
    let progress = "SELECT command, relid::regclass, bytes_processed, tuples_processed FROM pg_stat_progress_copy";
    let copy = runtime().block_on(async {
        let copy = begin(&mut session, "COPY people (partitionkey, rowkey) FROM STDIN (FORMAT csv)").await?;
        session.read_copied(copy, Bytes::from_static(b"a,1\na,2\na,")).await
    });
    let copy = copy.expect("copies");
    assert_eq!(ask(&mut other, progress), ["COPY FROM|\"People\"|10|2"]);
    drop(copy);
    session.idle();
    assert!(ask(&mut other, progress).is_empty());
}
