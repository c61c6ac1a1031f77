//! COPY beside PostgreSQL's: the same bytes out, one's file into the other, the same errors.

use std::pin::pin;

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::Client;

use super::server::Server;
use super::{Result, connect};
use crate::postgres::server::{BINARIES, Postgres};
use rowkey_base::testing::Dice;

const COLUMNS: &str = "partitionkey, rowkey, t, n, big, f, b, at, id, x";
const TYPES: &str = "t text, n int, big bigint, f float8, b boolean, at timestamptz, id uuid, x bytea";

/// Values of types that both have.
const VALUES: &[&str] = &[
    "null",
    "1",
    "-1::int8",
    "32767::int2",
    "1.5::float8",
    "'NaN'::float8",
    "'-Infinity'::float8",
    "1.1::real",
    "true",
    "'é'::text",
    "''",
    "null::text",
    "'\\x00ff'::bytea",
    "''::bytea",
    "'00112233-4455-6677-8899-aabbccddeeff'::uuid",
    "'2024-02-29 12:00:00.123456+02'::timestamptz",
    "'2024-02-29 12:00:00'::timestamp",
    "'0001-01-01'::date",
    "'23:59:59.999999'::time",
    "'1 year 2 mons -3 days 04:05:06.7'::interval",
    "0::numeric",
    "1.50::numeric",
    "-12345678901234567890.123456::numeric",
    "0.00001::numeric",
    "12.3456::numeric(10,2)",
    "array[1,2,null]",
    "'{}'::int[]",
    "array['a','b\"c',null]",
    "array['2024-01-01'::date]",
    "array['\\x01'::bytea]",
    "'x'::varchar(5)",
    "'x'::char(3)",
    "'x'::name",
    "5::oid",
    "'{\"a\": 1}'::json",
    "'{\"b\":1,\"a\":[1, 2]}'::jsonb",
    "count(*)",
    "sum(1::int8)",
];

/// COPY TO whose answers are compared, and what both refuse.
const STATEMENTS: &[&str] = &[
    "copy (select 1 as a, '' as b, null as c, 'x,\"y' as d) to stdout (format csv, header, force_quote (a, d))",
    "copy (select '\\.' as a) to stdout csv force quote a",
    "copy (select 'x' as a, null as b) to stdout (format csv, quote 'q', force_quote *)",
    "copy (select 1 as a, 2 as a) to stdout (format csv, force_quote (a))",
    "copy (select 1 as a where false) to stdout (format csv, header)",
    "copy (select 1 as a where false) to stdout (format binary)",
    "copy (values (1,'a'),(2,null)) to stdout with binary",
    "copy empty to stdout using delimiters ';' with null 'x'",
    "copy binary empty to stdin",
    "copy empty (a, b) to stdout csv header force quote a, b",
    "copy empty to stdout (format binary, delimiter ',')",
    "copy empty to stdout (format binary, null 'x')",
    "copy empty to stdout (format binary, header)",
    "copy empty to stdout (format binary, force_quote *)",
    "copy empty to stdout (header match)",
    "copy empty to stdout (header 2)",
    "copy empty to stdout (format csv, force_quote a)",
    "copy empty to stdout (format csv, force_quote (zz))",
    "copy empty (a) to stdout (format csv, force_quote (b))",
    "copy empty to stdout (format csv, force_quote (a, a))",
    "copy (select 1 as a) to stdout (format csv, force_quote (zz))",
    "copy empty to stdout (format csv, force_null (a))",
    "copy empty to stdout (format csv, force_not_null *)",
    "copy empty to stdout (format binary, format csv)",
    "copy empty to stdout (encoding)",
    "copy empty to stdout (foo 1)",
    "copy empty to stdout (force_quote *) csv",
    "copy empty to stdout where a > 1",
    "copy binary (select 1) to stdout",
    "copy empty from stdin (force_null (a))",
    "copy empty from stdin (format csv, force_quote *)",
    "copy empty (b) from stdin (format csv, force_null (a))",
    "copy empty (b) from stdin (format csv, force_not_null (a))",
    "copy empty from stdin (format csv, force_null (zz))",
    "copy binary empty from stdin delimiter ','",
];

/// The messages of a COPY TO, or what is said of an error.
async fn sent(client: &Client, sql: &str) -> Result<Vec<Bytes>, String> {
    let said = |error: tokio_postgres::Error| match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => error.to_string(),
    };
    if sql.contains(" from stdin") {
        // The driver's copy_in loses the connection where it fails at once.
        return match client.batch_execute(sql).await {
            Ok(()) => Err("taken".to_owned()),
            Err(error) => Err(said(error)),
        };
    }
    client.copy_out(sql).await.map_err(said)?.try_collect().await.map_err(said)
}

/// All rows of a table as a file.
async fn file(client: &Client) -> Result<Vec<u8>> {
    let sql = format!("COPY (SELECT {COLUMNS} FROM copied ORDER BY rowkey) TO STDOUT (FORMAT binary)");
    Ok(client.copy_out(&sql).await?.try_collect::<Vec<Bytes>>().await?.concat())
}

async fn take(client: &Client, sql: &str, bytes: &[u8], piece: usize) -> Result<u64> {
    let mut sink = pin!(client.copy_in::<_, Bytes>(sql).await?);
    for piece in bytes.chunks(piece) {
        sink.send(Bytes::copy_from_slice(piece)).await?;
    }
    Ok(sink.finish().await?)
}

/// Generated inputs of COPY FROM.
const INPUTS: u64 = 600;

/// A COPY FROM of any options, and an input that is more or less what it reads.
fn input(dice: &mut Dice) -> (String, Vec<u8>) {
    let is_csv = !dice.chance(3);
    let delimiter = dice.pick(&[",", "|", ";"]);
    let (quote, escape) = (dice.pick(&["\"", "'"]), dice.pick(&["\"", "'", "^"]));
    let null = dice.pick(&["", "NIL", "\\N"]);
    let header = dice.pick(&["", ", HEADER", ", HEADER match"]);
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut options = format!("DELIMITER {}, NULL {}{header}", text(delimiter), text(null));
    if is_csv {
        options += &format!(", FORMAT csv, QUOTE {}, ESCAPE {}", text(quote), text(escape));
        for option in ["FORCE_NULL", "FORCE_NOT_NULL"] {
            options += &dice.pick(&["", "(t)", "(n)", "(t, u)", "(t, n, u)"]).replace('(', &format!(", {option} ("));
        }
    }
    let mut lines = String::new();
    if !header.is_empty() {
        let names = ["PartitionKey", "RowKey", "t", "n", "u"];
        let mut names: Vec<&str> = names[..if dice.chance(9) { 4 } else { 5 }].to_vec();
        if dice.chance(6) {
            names.swap(3, 2);
        }
        lines += &(names.join(delimiter) + "\n");
    }
    for row in 0..dice.below(4) {
        lines += &format!("p{delimiter}{row}");
        for place in 0..if dice.chance(12) { 2 + dice.below(3) } else { 3 } {
            lines += delimiter;
            if place == 1 && !dice.chance(4) {
                lines += if dice.chance(3) { null } else { "41" };
                continue;
            }
            let quotes = is_csv && dice.chance(2);
            let around = if quotes { quote } else { "" };
            lines += around;
            for _ in 0..dice.below(3) {
                let pieces = [null, "1", "x", " ", "é", "\\\\", "\\n", "\\t", "^", "\\x41", "\\101"];
                let quoted = [null, delimiter, "\n", "a", "1", "^^"];
                lines += if quotes { dice.pick(&quoted) } else { dice.pick(&pieces) };
                if quotes && dice.chance(5) {
                    lines += escape;
                    lines += dice.pick(&[quote, escape, "a"]);
                }
            }
            lines += if quotes && dice.chance(20) { "" } else { around };
        }
        lines += "\n";
    }
    (format!("COPY lines (partitionkey, rowkey, t, n, u) FROM STDIN ({options})"), lines.into_bytes())
}

type Line = (String, Option<String>, Option<i32>, Option<String>);

/// The rows of the table after a COPY, or its error.
async fn taken(client: &Client, sql: &str, bytes: &[u8], piece: usize) -> Result<String> {
    client.batch_execute("DELETE FROM lines").await?;
    let said = match take(client, sql, bytes, piece).await {
        Ok(count) => count.to_string(),
        Err(error) => match error.downcast_ref::<tokio_postgres::Error>().and_then(|error| error.as_db_error()) {
            Some(error) => {
                let place = error.where_().unwrap_or_default().to_ascii_lowercase();
                format!("{} {}; {place}", error.code().code(), error.message().replace("PartitionKey", "partitionkey"))
            }
            None => return Err(error),
        },
    };
    let rows = client.query("SELECT \"RowKey\", t, n, u FROM lines ORDER BY 1", &[]).await?;
    let rows: Vec<Line> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    Ok(format!("{said}; {rows:?}"))
}

#[tokio::test]
async fn copies_are_those_of_postgres() -> Result {
    let postgres = Postgres::start().await.map_err(|error| error.to_string())?;
    let Some(postgres) = postgres else {
        return crate::peers::skipped("clients", &format!("PostgreSQL is not installed and {BINARIES} names none"))
            .map_err(|error| error.to_string().into());
    };
    let theirs = postgres.connect("postgres").await.map_err(|error| error.to_string())?;
    let server = Server::start()?;
    let ours = connect(&server).await?;
    let keys = "partitionkey text not null, rowkey text not null";
    theirs.batch_execute(&format!("CREATE TABLE empty ({keys}, a int, b text)")).await?;
    theirs.batch_execute(&format!("CREATE TABLE copied ({keys}, {TYPES})")).await?;
    ours.batch_execute("CREATE TABLE empty (a int, b text)").await?;
    ours.batch_execute(&format!("CREATE TABLE copied ({TYPES})")).await?;

    let mut differences = Vec::new();
    let queries = VALUES.iter().map(|value| format!("copy (select {value} as a) to stdout (format binary)"));
    for sql in queries.chain(STATEMENTS.iter().map(|sql| (*sql).to_owned())) {
        let (theirs, ours) = (sent(&theirs, &sql).await, sent(&ours, &sql).await);
        if theirs != ours {
            differences.push(format!("{sql}\n  PostgreSQL: {theirs:?}\n  Rowkey:     {ours:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));

    // Their rows into our table and back.
    let rows = "SELECT 'p', i::text, CASE WHEN i % 5 > 0 THEN 'é' || i END, i, i::bigint << 33, i / 7::float8, \
                i % 2 = 0, '2024-02-29 12:00:00.123456Z'::timestamptz + make_interval(secs => i), \
                ('00112233-4455-6677-8899-' || lpad(i::text, 12, '0'))::uuid, decode(repeat('00ff', i % 40), 'hex') \
                FROM generate_series(1000, 3000) i";
    theirs.batch_execute(&format!("INSERT INTO copied ({COLUMNS}) {rows}")).await?;
    let written = file(&theirs).await?;
    let copy = format!("COPY copied ({COLUMNS}) FROM STDIN (FORMAT binary)");
    assert_eq!(take(&ours, &copy, &written, 1001).await?, 2001);
    let again = file(&ours).await?;
    assert!(again == written, "{} bytes for {}", again.len(), written.len());
    theirs.batch_execute("TRUNCATE copied").await?;
    assert_eq!(take(&theirs, &copy, &again, 70_000).await?, 2001);
    assert!(file(&theirs).await? == written);

    theirs.batch_execute("CREATE TABLE lines (\"PartitionKey\" text, \"RowKey\" text, t text, n int, u text)").await?;
    ours.batch_execute("CREATE TABLE lines (t text, n int, u text)").await?;
    let (mut differences, mut failed) = (Vec::new(), 0);
    for seed in 0..INPUTS {
        let mut dice = Dice(seed);
        let (sql, bytes) = input(&mut dice);
        let piece = 1 + dice.below(40);
        let exact = sql.replace("partitionkey, rowkey", "\"PartitionKey\", \"RowKey\"");
        let (theirs, ours) = (taken(&theirs, &exact, &bytes, 4096).await?, taken(&ours, &sql, &bytes, piece).await?);
        failed += u64::from(theirs.ends_with("; []"));
        if theirs != ours {
            let input = String::from_utf8_lossy(&bytes);
            differences.push(format!("{seed}: {sql} {input:?}\n  PostgreSQL: {theirs}\n  Rowkey:     {ours}"));
        }
    }
    assert!(differences.is_empty(), "{}\n{}", differences.join("\n"), differences.len());
    assert!((INPUTS / 10..INPUTS * 9 / 10).contains(&failed), "{failed} of {INPUTS} failed");

    // A file that ends early leaves nothing.
    ours.batch_execute("DELETE FROM copied").await?;
    let error = take(&ours, &copy, &written[..written.len() - 30], 70_000).await.expect_err("cut off").to_string();
    let count = ours.query_one("SELECT count(*) FROM copied", &[]).await?;
    assert_eq!(count.get::<_, i64>(0), 0, "{error}");
    Ok(())
}
