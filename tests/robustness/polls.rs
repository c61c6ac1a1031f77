//! No statement keeps the runtime that serves sockets: every poll of a connection is measured while
//! statements of many kinds run, in a server in this process.

use std::fmt::Write as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use rowkey_base::testing::{PollWatch, thread_time};
use rowkey_sql::engine::{Engine, Options};
use rowkey_wire::{Server, ServerOptions};
use tokio::sync::watch;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use rowkey_base::testing::Scratch;

/// The longest that a poll may take of its processor.
const POLL_MAX: Duration = Duration::from_millis(5);
/// How much longer the same takes in a build that is not optimised.
const UNOPTIMISED: u32 = 10;
/// The widest rows: an entity has at most 1 MiB, in UTF-16.
const WIDE_COLUMNS: usize = 16;
const TEXT_CHARS: usize = 30_000;

/// A client whose statements are named to the watchdog.
struct Watched {
    client: Client,
    watch: Arc<PollWatch>,
}

impl Watched {
    /// Does a step of the test, and notes what it took.
    async fn step<T>(&mut self, what: &str, done: impl AsyncFnOnce(&Client) -> T) -> T {
        self.watch.begin(what);
        let done = done(&self.client).await;
        let (polls, longest) = loop {
            match self.watch.polls() {
                Some(polls) => break polls,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        };
        assert!(polls > 0, "{what}: the connection was not polled");
        println!("{longest:>12?} in {polls:>6} polls: {what}");
        done
    }

    /// Runs a text of statements; gives its rows.
    async fn run(&mut self, what: &str, text: &str) -> usize {
        let answer = self.step(what, async |client| client.simple_query(text).await).await;
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count()
    }

    /// Runs a text that fails with a code.
    async fn fails(&mut self, what: &str, text: &str, code: &str) {
        let answer = self.step(what, async |client| client.simple_query(text).await).await;
        let error = answer.expect_err(what);
        assert_eq!(error.code().map(|state| state.code()), Some(code), "{what}: {error:?}");
    }

    /// COPY of lines into a table.
    async fn copy_in(&mut self, what: &str, table: &str, lines: impl Iterator<Item = Bytes>) -> u64 {
        let copied = self.step(what, async |client| {
            let mut sink = pin!(client.copy_in::<_, Bytes>(&format!("COPY {table} FROM STDIN")).await?);
            for some in lines {
                sink.feed(some).await?;
            }
            sink.finish().await
        });
        copied.await.unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }
}

fn values(from: usize, to: usize) -> String {
    let mut text = String::new();
    for row in from..to {
        let comma = if row == from { "" } else { "," };
        write!(text, "{comma}('p{}','{row:08}',{row},'a name of {row}')", row % 7).expect("a text");
    }
    text
}

fn lines(rows: usize, rows_at_once: usize) -> impl Iterator<Item = Bytes> {
    (0..rows).step_by(rows_at_once).map(move |from| {
        let mut text = String::new();
        for row in from..rows.min(from + rows_at_once) {
            writeln!(text, "c{}\t{row:08}\t{row}\ta name of {row}", row % 7).expect("a text");
        }
        Bytes::from(text)
    })
}

#[test]
fn no_statement_keeps_the_runtime_of_the_sockets() {
    let folder = Scratch::new("polls").expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(measured(folder.path()));
}

async fn measured(folder: &Path) {
    let database = Arc::new(Engine::open(":memory:", Options::default()).await.expect("opens"));
    let limit = POLL_MAX * if cfg!(debug_assertions) { UNOPTIMISED } else { 1 };
    let watch = PollWatch::new(limit, thread_time);
    let address = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions { address, copy_folder: Some(folder.to_owned()), ..ServerOptions::default() };
    let server = Server::bind(database, &options).await.expect("listens").watch_polls(Arc::clone(&watch));
    let config = format!("host=127.0.0.1 port={} user=test", server.address().expect("an address").port());
    let (stop, stopped) = watch::channel(false);
    let server = tokio::spawn(server.serve(stopped));
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.expect("connects");
    let connection = tokio::spawn(connection);
    let mut watched = Watched { client, watch };
    definitions_and_small_statements(&mut watched).await;
    large_writes(&mut watched).await;
    copies(&mut watched, folder).await;
    large_texts(&mut watched).await;
    large_values(&mut watched).await;
    many_rows(&mut watched).await;
    let Watched { client, watch } = watched;
    drop(client);
    connection.await.expect("no panic").expect("ends well");
    stop.send_replace(true);
    server.await.expect("no panic");
    assert_eq!(watch.long(), [], "polls above {limit:?}");
}

async fn definitions_and_small_statements(watched: &mut Watched) {
    watched.run("CREATE TABLE", "CREATE TABLE items (number int, name text)").await;
    watched.run("CREATE TABLE of copies", "CREATE TABLE copies (number int, name text)").await;
    let columns = (1..WIDE_COLUMNS).map(|at| format!("c{at} text")).collect::<Vec<_>>().join(", ");
    watched.run("CREATE TABLE of wide rows", &format!("CREATE TABLE wide ({columns})")).await;
    watched.run("ALTER TABLE", &format!("ALTER TABLE wide ADD COLUMN c{WIDE_COLUMNS} text")).await;
    watched.run("CREATE VIEW", "CREATE VIEW names AS SELECT name FROM items").await;
    watched.run("INSERT by key", "INSERT INTO items VALUES ('k', '1', 1, 'one')").await;
    assert_eq!(watched.run("SELECT by key", read("items", "k", "1").as_str()).await, 1);
    watched.run("UPDATE by key", "UPDATE items SET number = 2 WHERE PartitionKey = 'k' AND RowKey = '1'").await;
    watched.fails("an unknown column", "SELECT nothing FROM items", "42703").await;
    watched.fails("a division by zero", "SELECT number / 0 FROM items", "22012").await;
    watched.fails("a key that exists", "INSERT INTO items VALUES ('k', '1', 1, 'one')", "23505").await;
    watched.run("the catalog", "SELECT * FROM pg_class, pg_attribute WHERE attrelid = pg_class.oid").await;
}

fn read(table: &str, partition: &str, row: &str) -> String {
    format!("SELECT * FROM {table} WHERE PartitionKey = '{partition}' AND RowKey = '{row}'")
}

async fn large_writes(watched: &mut Watched) {
    let insert = |from, to| format!("INSERT INTO items VALUES {}", values(from, to));
    watched.run("VALUES of 50,000 rows", &insert(0, 50_000)).await;
    watched.fails("the same again", &insert(0, 50_000), "23505").await;
    watched.run("BEGIN", "BEGIN").await;
    watched.run("VALUES of 50,000 rows in a block", &insert(50_000, 100_000)).await;
    watched.run("SAVEPOINT", "SAVEPOINT s").await;
    watched.run("UPDATE of all rows in a block", "UPDATE items SET number = number + 1").await;
    watched.run("ROLLBACK TO", "ROLLBACK TO s").await;
    watched.run("DELETE of half the rows in a block", "DELETE FROM items WHERE number % 2 = 0").await;
    watched.run("COMMIT of 100,000 writes", "COMMIT").await;
    watched.run("BEGIN", "BEGIN").await;
    watched.run("UPDATE of all rows in another block", "UPDATE items SET number = number + 1").await;
    watched.run("ROLLBACK of 50,000 writes", "ROLLBACK").await;
    let inserted = "INSERT INTO copies SELECT PartitionKey, RowKey, number, name FROM items RETURNING *";
    assert_eq!(watched.run("INSERT SELECT RETURNING", inserted).await, 50_000);
    watched.run("UPDATE of all rows", "UPDATE copies SET number = number + 1").await;
    watched.run("MERGE", "MERGE INTO copies c USING items i ON c.RowKey = i.RowKey AND c.PartitionKey = i.PartitionKey WHEN MATCHED THEN UPDATE SET name = i.name").await;
    watched.run("a column of all rows is renamed", "ALTER TABLE copies RENAME COLUMN name TO title").await;
    watched.run("and back", "ALTER TABLE copies RENAME COLUMN title TO name").await;
    watched.run("DELETE of all rows", "DELETE FROM copies").await;
    let mut many = String::from("BEGIN;");
    for row in 0..2000 {
        write!(many, "INSERT INTO items VALUES ('m', '{row}', {row}, 'of many');").expect("a text");
    }
    watched.run("2,000 statements in a text", &(many + "COMMIT")).await;
}

async fn copies(watched: &mut Watched, folder: &Path) {
    const ROWS: usize = 200_000;
    let copied = watched.copy_in("COPY FROM of 200,000 rows", "copies", lines(ROWS, 1000)).await;
    assert_eq!(copied, ROWS as u64);
    watched.run("TRUNCATE", "TRUNCATE copies").await;
    watched.run("BEGIN", "BEGIN").await;
    watched.copy_in("COPY FROM in a block, a row a message", "copies", lines(ROWS, 1)).await;
    watched.run("COMMIT of a COPY", "COMMIT").await;
    let sent = watched.step("COPY TO STDOUT", async |client| {
        let lines = client.copy_out("COPY copies TO STDOUT").await?;
        lines.try_fold(0, async |bytes, some| Ok(bytes + some.len())).await
    });
    assert!(sent.await.expect("copied") > ROWS * 20);
    for file in ["rows.csv", "rows.parquet", "rows.ndjson", "rows.typed.csv"] {
        let path = folder.join(file);
        watched.run(&format!("COPY TO {file}"), &format!("COPY copies TO '{}'", path.display())).await;
        let query = format!("COPY (SELECT * FROM copies) TO '{}' (FORMAT csv)", path.display());
        watched.run(&format!("COPY of a query TO {file}"), &query).await;
    }
    let long = ["x".repeat(TEXT_CHARS).as_str(); WIDE_COLUMNS].join("\t");
    let wide = (0..100).map(|row| Bytes::from(format!("w\t{row:04}\t{long}\n")));
    watched.copy_in("COPY FROM of wide rows", "wide", wide).await;
    let sent = watched.step("COPY TO STDOUT of wide rows", async |client| {
        let lines = client.copy_out("COPY wide TO STDOUT").await?;
        lines.try_fold(0, async |bytes, some| Ok(bytes + some.len())).await
    });
    assert!(sent.await.expect("copied") > 100 * WIDE_COLUMNS * TEXT_CHARS);
    // A page of keys has all of them: fifty times what is decoded beside sockets.
    watched.run("VACUUM FULL of wide rows", "VACUUM FULL wide").await;
    for row in 0..20 {
        let text = read("wide", "w", &format!("{row:04}"));
        assert_eq!(watched.run("a wide row by key", &text).await, 1);
    }
    watched
        .run("UPDATE of a wide row by key", "UPDATE wide SET c1 = 'x' WHERE PartitionKey = 'w' AND RowKey = '0050'")
        .await;
    let copied = watched.step("COPY FROM of a line that is no row", async |client| {
        let mut sink = pin!(client.copy_in::<_, Bytes>("COPY wide FROM STDIN").await.expect("begins"));
        // The server may be gone from the copy before all of it is sent.
        let _ = sink.feed(Bytes::from("y".repeat(15 << 20))).await;
        sink.finish().await
    });
    assert!(copied.await.is_err());
}

async fn large_texts(watched: &mut Watched) {
    let comment = "x".repeat(8 << 20);
    assert_eq!(watched.run("a text of 8 MiB", &format!("SELECT 1 /* {comment} */")).await, 1);
    let literal = "x".repeat(8 << 20);
    assert_eq!(watched.run("a literal of 8 MiB", &format!("SELECT length('{literal}')")).await, 1);
    watched.fails("a literal of 8 MiB that is no number", &format!("SELECT '{literal}'::int"), "22P02").await;
    watched.fails("a text of 8 MiB that is no SQL", &format!("SELEC '{literal}'"), "42601").await;
    let list = (0..1500).map(|at| format!("number + {at} AS c{at}")).collect::<Vec<_>>().join(",");
    assert_eq!(watched.run("a select list of 1,500", &format!("SELECT {list} FROM items LIMIT 1")).await, 1);
    let again = format!("SELECT {list} FROM items LIMIT 2");
    for time in ["planned", "kept", "kept again"] {
        assert_eq!(watched.run(&format!("a select list of 1,500, {time}"), &again).await, 2);
    }
    let keys = (0..20_000).map(|at| format!("'{at:08}'")).collect::<Vec<_>>().join(",");
    let rows = watched.run("an IN list of 20,000", &format!("SELECT * FROM items WHERE RowKey IN ({keys})")).await;
    assert!(rows > 0);
    let rows = watched.run("VALUES of 25,000 rows", &format!("SELECT * FROM (VALUES {}) v", values(0, 25_000))).await;
    assert_eq!(rows, 25_000);
    watched
        .run("PREPARE of a long text", &format!("PREPARE long AS SELECT * FROM items WHERE RowKey IN ({keys})"))
        .await;
    watched.run("EXECUTE", "EXECUTE long").await;
    watched.run("EXECUTE again", "EXECUTE long").await;
    watched.run("DEALLOCATE", "DEALLOCATE long").await;
    watched.run("EXPLAIN of a long text", &format!("EXPLAIN SELECT * FROM items WHERE RowKey IN ({keys})")).await;
    let nested = "(".repeat(100_000);
    watched.fails("100,000 parentheses", &format!("SELECT {nested}"), "54001").await;
}

async fn large_values(watched: &mut Watched) {
    let long = "x".repeat(8 << 20);
    let length =
        watched.step("a parameter of 8 MiB", async |client| client.query_one("SELECT length($1)", &[&long]).await);
    assert_eq!(length.await.expect("a row").get::<_, i32>(0), 8 << 20);
    let bytes = vec![7u8; 8 << 20];
    let length =
        watched.step("bytes of 8 MiB", async |client| client.query_one("SELECT length($1::bytea)", &[&bytes]).await);
    assert_eq!(length.await.expect("a row").get::<_, i32>(0), 8 << 20);
    let places = (1..=WIDE_COLUMNS).map(|at| format!(", ${}", at + 1)).collect::<String>();
    let insert = format!("INSERT INTO wide VALUES ('v', $1{places})");
    let inserted = watched.step("INSERT by key of a wide row", async |client| {
        let statement = client.prepare(&insert).await?;
        for row in 0..20 {
            let (key, text) = (format!("{row}"), &long[..TEXT_CHARS]);
            let values = std::iter::once(&key as &(dyn ToSql + Sync));
            let values: Vec<_> = values.chain(std::iter::repeat_n(&text as _, WIDE_COLUMNS)).collect();
            client.execute(&statement, &values).await?;
        }
        Ok::<_, tokio_postgres::Error>(())
    });
    inserted.await.expect("inserted");
    assert_eq!(watched.run("a value of 64 MiB", "SELECT repeat('x', 64 << 20)").await, 1);
    assert_eq!(
        watched.run("many values of 1 MiB", "SELECT repeat('x', 1 << 20) FROM generate_series(1, 50)").await,
        50
    );
}

async fn many_rows(watched: &mut Watched) {
    assert!(watched.run("SELECT of 200,000 rows", "SELECT * FROM copies").await >= 200_000);
    let rows = watched.step("SELECT of 200,000 rows, prepared", async |client| {
        client.query("SELECT PartitionKey, RowKey, number, name FROM copies", &[]).await
    });
    assert!(rows.await.expect("rows").len() >= 200_000);
    assert!(watched.run("ORDER BY", "SELECT * FROM copies ORDER BY name DESC").await >= 200_000);
    assert!(watched.run("GROUP BY", "SELECT name, count(*) FROM copies GROUP BY name").await >= 200_000);
    watched.run("BEGIN", "BEGIN").await;
    watched.run("DECLARE", "DECLARE c CURSOR FOR SELECT * FROM copies ORDER BY RowKey").await;
    assert_eq!(watched.run("FETCH 100", "FETCH 100 FROM c").await, 100);
    assert_eq!(watched.run("FETCH 100,000", "FETCH 100000 FROM c").await, 100_000);
    watched.run("MOVE ALL", "MOVE ALL FROM c").await;
    watched.run("COMMIT", "COMMIT").await;
}
