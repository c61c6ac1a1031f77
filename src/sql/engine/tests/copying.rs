//! COPY through a session: what comes out goes in again, and input that is wrong leaves nothing.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Runtime;

use super::{open, rows};
use crate::session::{Copying, Outcome, Result, Session};
use rowkey_base::testing::{Dice, Mutator, fuzz};
use rowkey_model::files::MemoryStore;
use rowkey_postgres::syntax::parse;

const COLUMNS: &str = "partitionkey, rowkey, t, n, big, f, b, at, id, x";

fn session() -> Session {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = engine.own_session().expect("a session");
    let types = "t text, n int, big bigint, f float8, b boolean, at timestamptz, id uuid, x bytea";
    for table in ["copied", "again"] {
        rows(&mut session, &format!("CREATE TABLE {table} ({types})")).expect("a table");
    }
    session
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn outcome(session: &mut Session, sql: &str) -> Result<Outcome> {
    let prepared = session.prepare(Arc::new(parse(sql)?), &[]).await?;
    session.run(&Arc::new(prepared), &Arc::default()).await
}

fn copy_out(session: &mut Session, sql: &str) -> Result<Vec<u8>> {
    runtime().block_on(async {
        let Outcome::Copy(Copying::Out(mut copy)) = outcome(session, sql).await? else { panic!("{sql}") };
        let (mut bytes, mut lines) = (Vec::new(), copy.lines());
        while let Some(batch) = copy.rows.next(100).await? {
            lines.write(&batch, 0, |line| {
                bytes.extend_from_slice(line);
                true
            })?;
        }
        bytes.extend(lines.end());
        Ok(bytes)
    })
}

/// Takes bytes in pieces; gives the tag.
fn copy_in(session: &mut Session, sql: &str, bytes: &[u8], mut piece: impl FnMut() -> usize) -> Result<String> {
    runtime().block_on(async {
        let Outcome::Copy(Copying::In(mut copy)) = outcome(session, sql).await? else { panic!("{sql}") };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(piece().min(rest.len()));
            copy = session.read_copied(copy, Bytes::copy_from_slice(piece)).await?;
            rest = behind;
        }
        session.finish_copy(*copy).await
    })
}

fn fill(session: &mut Session) {
    let values = "('p', '1', 'é', -5, 9007199254740993, 'NaN', true, '2024-02-29 12:00:00.123456Z', \
                  '00112233-4455-6677-8899-aabbccddeeff', '\\x00ff'), \
                  ('p', '2', '', 0, -1, '-0', false, '1601-01-01Z', NULL, ''), \
                  ('p', '3', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";
    rows(session, &format!("INSERT INTO copied ({COLUMNS}) VALUES {values}")).expect("rows");
}

#[test]
fn binary_rows_come_back() {
    let mut session = session();
    fill(&mut session);
    let bytes = copy_out(&mut session, "COPY copied TO STDOUT (FORMAT binary)").expect("rows");
    for piece in [1, 7, 100_000] {
        let tag = copy_in(&mut session, "COPY BINARY again FROM STDIN", &bytes, || piece);
        assert_eq!(tag.expect("rows"), "COPY 3");
        let again = copy_out(&mut session, "COPY again TO STDOUT WITH BINARY").expect("rows");
        assert_eq!(again, bytes);
        rows(&mut session, "DELETE FROM again").expect("gone");
    }
    let none = copy_out(&mut session, "COPY again TO STDOUT BINARY").expect("no rows");
    assert_eq!(none, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\xff\xff");
}

#[test]
fn wrong_values_say_where_they_are() {
    let mut session = session();
    let field = |bytes: &[u8]| [&(bytes.len() as i32).to_be_bytes(), bytes].concat();
    let file = |last: &[u8]| {
        [b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", &[0, 3][..], &field(b"p"), &field(b"1"), &field(last)].concat()
    };
    for (column, value, code, message) in [
        ("n", &[0, 0, 1][..], "08P01", "insufficient data left in message"),
        ("n", &[0; 5], "22P03", "incorrect binary data format"),
        ("t", b"a\xff", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff"),
        ("id", &[0; 15], "08P01", "insufficient data left in message"),
    ] {
        let sql = format!("COPY again (partitionkey, rowkey, {column}) FROM STDIN (FORMAT binary)");
        let error = copy_in(&mut session, &sql, &file(value), || 100).expect_err(column);
        assert_eq!((error.sqlstate().to_string().as_str(), error.to_string().as_str()), (code, message));
        assert!(error.context().is_some_and(|context| context.ends_with(&format!(", line 1, column {column}"))));
        session.failed();
    }
    assert_eq!(rows(&mut session, "SELECT count(*) FROM again").expect("a count"), ["0"]);
}

#[test]
fn columns_are_forced_as_options_say() {
    let mut session = session();
    let options = "(FORMAT csv, NULL 'NIL', FORCE_NULL (t), FORCE_NOT_NULL (x, t))";
    let sql = format!("COPY again (partitionkey, rowkey, t, x) FROM STDIN {options}");
    copy_in(&mut session, &sql, b"p,1,\"NIL\",NIL\np,2,NIL,\"a\"\np,3,\"b\",\n", || 3).expect("rows");
    let csv = "COPY (SELECT rowkey, t, x FROM again ORDER BY 1) TO STDOUT";
    assert_eq!(
        copy_out(&mut session, &format!("{csv} (FORMAT csv, FORCE_QUOTE (T, rowkey), HEADER)")).expect("rows"),
        b"RowKey,t,x\n\"1\",,\\x4e494c\n\"2\",\"NIL\",\\x61\n\"3\",\"b\",\\x\n"
    );
    assert_eq!(
        copy_out(&mut session, &format!("{csv} CSV FORCE QUOTE *")).expect("rows"),
        b"\"1\",,\"\\x4e494c\"\n\"2\",\"NIL\",\"\\x61\"\n\"3\",\"b\",\"\\x\"\n"
    );
    for (sql, expected) in [
        ("COPY again TO STDOUT (FORMAT csv, FORCE_QUOTE (nosuch))", "42703"),
        (
            "COPY again (t) TO STDOUT (FORMAT csv, FORCE_QUOTE (x))",
            "42P10 FORCE_QUOTE column \"x\" not referenced by COPY",
        ),
        ("COPY again TO STDOUT (FORMAT csv, FORCE_QUOTE (x, x))", "42701 column \"x\" specified more than once"),
        ("COPY (SELECT 1 AS a) TO STDOUT (FORMAT csv, FORCE_QUOTE (zz))", "42703 column \"zz\" does not exist"),
        (
            "COPY (SELECT 1 AS a) TO STDOUT (FORMAT csv, FORCE_QUOTE (a, a))",
            "42701 column \"a\" specified more than once",
        ),
        (
            "COPY again (t) FROM STDIN (FORMAT csv, FORCE_NULL (x))",
            "42P10 FORCE_NULL column \"x\" not referenced by COPY",
        ),
        (
            "COPY again (t) FROM STDIN (FORMAT csv, FORCE_NOT_NULL (x))",
            "42P10 FORCE_NOT_NULL column \"x\" not referenced by COPY",
        ),
    ] {
        let error = runtime().block_on(outcome(&mut session, sql)).expect_err(sql);
        assert!(format!("{} {error}", error.sqlstate()).starts_with(expected), "{sql}: {error}");
        session.failed();
    }
}

#[test]
fn a_header_has_to_match() {
    let mut session = session();
    let mut said = |options: &str, header: &str| {
        let sql = format!("COPY again (partitionkey, rowkey, n) FROM STDIN (HEADER match, {options})");
        let copied = copy_in(&mut session, &sql, header.as_bytes(), || 4);
        session.failed();
        copied.unwrap_or_else(|error| format!("{} {error}; {}", error.sqlstate(), error.context().unwrap_or_default()))
    };
    assert_eq!(said("FORMAT csv", "partitionkey,RowKey,\"n\"\np,1,1\n"), "COPY 1");
    assert_eq!(said("DELIMITER '|'", "PartitionKey|rowkey|n\n\\.\n"), "COPY 0");
    for (options, header, expected) in [
        ("FORMAT csv", "partitionkey,rowkey\n", "wrong number of fields in header line: got 2, expected 3"),
        ("FORMAT csv", "", "wrong number of fields in header line: got 1, expected 3"),
        ("FORMAT csv", "\\.\n", "wrong number of fields in header line: got 1, expected 3"),
        (
            "FORMAT csv",
            "partitionkey,,n",
            "column name mismatch in header line field 2: got null value (\"\"), expected \"RowKey\"",
        ),
        (
            "FORMAT text",
            "partitionkey\trowkey\tt\n",
            "column name mismatch in header line field 3: got \"t\", expected \"n\"",
        ),
    ] {
        let said = said(options, header).to_ascii_lowercase();
        let expected = format!("22p04 {expected}; copy again, line 1: ").to_ascii_lowercase();
        assert!(said.starts_with(&expected), "{header:?}: {said}");
    }
}

/// Damaged input gives an error and no row, or rows that PostgreSQL's format has; and the session
/// goes on.
#[test]
fn fuzz_binary_copies() {
    let mut session = session();
    fill(&mut session);
    let mut seeds = vec![copy_out(&mut session, "COPY copied TO STDOUT (FORMAT binary)").expect("rows")];
    let some = format!("COPY (SELECT {COLUMNS} FROM copied WHERE rowkey = '2') TO STDOUT (FORMAT binary)");
    seeds.push(copy_out(&mut session, &some).expect("a row"));
    let tokens: &[&[u8]] = &[
        &[255; 4],
        &[0, 10],
        &[255, 255],
        &[0, 0, 0, 8],
        &[0x7f, 255, 255, 255],
        &[0x80, 0, 0, 0],
        b"PGCOPY\n\xff\r\n\0",
    ];
    let mutator = Mutator::new(&seeds, tokens);
    fuzz("binary copies", |dice: &mut Dice| {
        let bytes = mutator.next(dice);
        let copied = copy_in(&mut session, "COPY again FROM STDIN (FORMAT binary)", &bytes, || 1 + dice.below(60));
        let count: usize =
            rows(&mut session, "SELECT count(*) FROM again").expect("a count")[0].parse().expect("a number");
        match copied {
            Ok(tag) => assert_eq!(tag, format!("COPY {count}")),
            Err(error) => {
                session.failed();
                assert_eq!(count, 0, "{error}");
                assert_ne!(error.sqlstate().to_string(), "XX000", "{error}");
            }
        }
        if count > 0 {
            rows(&mut session, "DELETE FROM again").expect("gone");
        }
    });
}
