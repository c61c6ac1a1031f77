//! Small reads over the PostgreSQL wire, next to PostgreSQL itself: the same rows, the same key,
//! the same client.
//!
//! `cargo bench --bench wire -- [--server PATH] [--postgres 'host=127.0.0.1 user=postgres
//! dbname=wire'] [--seconds S] [--clients 1,8,32] [--only TEXT] [--beside UPDATES] [--planners N]`
//! starts the server (this build's, unless a path is given) on a folder of its own, fills it, and
//! prints throughput and latencies of closed loops. Without `--postgres` there is nothing to compare
//! with, and it measures the server alone. With `--beside`, one more client updates so many rows a
//! second meanwhile, each durably; with `--planners`, so many sessions plan a long statement again
//! and again. The table `orders` of the named PostgreSQL database is made anew.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::SinkExt;
use rowkey_base::testing::Dice;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

const PARTITIONS: usize = 100;
const ROWS_EACH: usize = 1000;
const RANGE_ROWS: usize = 100;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a client asks for, again and again, with other keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    One,
    Point,
    Range,
    Partition,
}

impl Question {
    const ALL: [Self; 4] = [Self::One, Self::Point, Self::Range, Self::Partition];

    fn name(self) -> &'static str {
        match self {
            Self::One => "select 1",
            Self::Point => "point",
            Self::Range => "range of 100",
            Self::Partition => "partition of 1000",
        }
    }

    fn rows(self) -> usize {
        match self {
            Self::One | Self::Point => 1,
            Self::Range => RANGE_ROWS,
            Self::Partition => ROWS_EACH,
        }
    }

    fn text(self, values: &[String]) -> String {
        let mut text = match self {
            Self::One => "SELECT 1",
            Self::Point => r#"SELECT * FROM orders WHERE "PartitionKey" = $1 AND "RowKey" = $2"#,
            Self::Range => r#"SELECT * FROM orders WHERE "PartitionKey" = $1 AND "RowKey" >= $2 AND "RowKey" < $3"#,
            Self::Partition => r#"SELECT * FROM orders WHERE "PartitionKey" = $1"#,
        }
        .to_owned();
        for (at, value) in values.iter().enumerate() {
            text = text.replace(&format!("${}", at + 1), &format!("'{value}'"));
        }
        text
    }

    fn values(self, dice: &mut Dice) -> Vec<String> {
        let (partition, row) = (dice.below(PARTITIONS), dice.below(ROWS_EACH));
        match self {
            Self::One => Vec::new(),
            Self::Point => vec![partition_key(partition), row_key(row)],
            Self::Range => {
                let from = row.min(ROWS_EACH - RANGE_ROWS);
                vec![partition_key(partition), row_key(from), row_key(from + RANGE_ROWS)]
            }
            Self::Partition => vec![partition_key(partition)],
        }
    }
}

struct Options {
    server: PathBuf,
    postgres: Option<String>,
    seconds: f64,
    clients: Vec<usize>,
    only: String,
    /// Updates a second by a further client.
    beside: u64,
    /// Further sessions that do nothing but plan.
    planners: usize,
}

fn main() -> Result<(), Failure> {
    let mut options = Options {
        server: PathBuf::from(env!("CARGO_BIN_EXE_rowkey")),
        postgres: None,
        seconds: 2.0,
        clients: vec![1, 8, 32],
        only: String::new(),
        beside: 0,
        planners: 0,
    };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} takes a value"))?;
        match name.as_str() {
            "--server" => options.server = PathBuf::from(value),
            "--postgres" => options.postgres = Some(value),
            "--seconds" => options.seconds = value.parse()?,
            "--clients" => options.clients = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--only" => options.only = value,
            "--beside" => options.beside = value.parse()?,
            "--planners" => options.planners = value.parse()?,
            other => return Err(format!("{other} is no option").into()),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&options))
}

async fn measure(options: &Options) -> Result<(), Failure> {
    let server = Server::start(&options.server)?;
    let mut peers = vec![("rowkey", server.config())];
    if let Some(postgres) = &options.postgres {
        fill_postgres(postgres).await?;
        peers.push(("postgres", postgres.clone()));
    }
    println!("| question | protocol | clients | server | queries/s | p50 us | p99 us | of the last |");
    println!("|---|---|---:|---|---:|---:|---:|---:|");
    for question in Question::ALL {
        for prepared in [true, false] {
            let protocol = if prepared { "prepared" } else { "simple" };
            if !format!("{} {protocol}", question.name()).contains(&options.only) {
                continue;
            }
            for &clients in &options.clients {
                let mut rates: Vec<(&str, Measured)> = Vec::new();
                for (name, config) in &peers {
                    let writer = (options.beside > 0).then(|| Writer::start(config, options.beside));
                    let planners = Planners::start(config, options.planners).await?;
                    let measured = load(config, question, prepared, clients, options.seconds).await?;
                    planners.stop().await?;
                    rates.push((name, measured));
                    if let Some(writer) = writer {
                        println!("{name}: beside {:.0} updates a second", writer.stop().await?);
                    }
                }
                let reference = rates.last().map_or(1.0, |(_, last)| last.rate);
                for (name, Measured { rate, p50, p99 }) in &rates {
                    let (asked, of) = (question.name(), rate / reference);
                    println!("| {asked} | {protocol} | {clients} | {name} | {rate:.0} | {p50} | {p99} | {of:.2} |");
                }
            }
        }
    }
    Ok(())
}

/// A client that updates single rows at a steady rate.
struct Writer {
    stopped: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<Result<f64, Failure>>,
}

impl Writer {
    fn start(config: &str, a_second: u64) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let (config, stops) = (config.to_owned(), Arc::clone(&stopped));
        let task = tokio::spawn(async move {
            let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
            tokio::spawn(connection);
            let update = r#"UPDATE orders SET "Count" = $3 WHERE "PartitionKey" = $1 AND "RowKey" = $2"#;
            let update = client.prepare(update).await?;
            let mut tick = tokio::time::interval(Duration::from_micros(1_000_000 / a_second));
            let (mut dice, mut count, begun) = (Dice(99), 0, Instant::now());
            while !stops.load(Ordering::Relaxed) {
                tick.tick().await;
                let (partition, row) = (partition_key(dice.below(PARTITIONS)), row_key(dice.below(ROWS_EACH)));
                client.execute(&update, &[&partition, &row, &(count % 100)]).await?;
                count += 1;
            }
            Ok(f64::from(count) / begun.elapsed().as_secs_f64())
        });
        Self { stopped, task }
    }

    /// Gives its updates a second.
    async fn stop(self) -> Result<f64, Failure> {
        self.stopped.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

/// Sessions that plan a statement of many joins, and do not run it.
struct Planners {
    stopped: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<Result<(), Failure>>>,
}

impl Planners {
    async fn start(config: &str, sessions: usize) -> Result<Self, Failure> {
        let stopped = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for _ in 0..sessions {
            let (client, connection) = tokio_postgres::connect(config, NoTls).await?;
            tokio::spawn(connection);
            let stops = Arc::clone(&stopped);
            tasks.push(tokio::spawn(async move {
                let joined = (1..12).map(|at| {
                    let of = at - 1;
                    format!(
                        r#" JOIN orders o{at} ON o{at}."Count" = o{of}."Count" AND o{at}."RowKey" = o{of}."RowKey""#
                    )
                });
                let text = format!("EXPLAIN SELECT count(*) FROM orders o0{}", joined.collect::<String>());
                while !stops.load(Ordering::Relaxed) {
                    client.simple_query(&text).await?;
                }
                Ok(())
            }));
        }
        Ok(Self { stopped, tasks })
    }

    async fn stop(self) -> Result<(), Failure> {
        self.stopped.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await??;
        }
        Ok(())
    }
}

struct Measured {
    rate: f64,
    p50: u64,
    p99: u64,
}

async fn load(
    config: &str,
    question: Question,
    prepared: bool,
    clients: usize,
    seconds: f64,
) -> Result<Measured, Failure> {
    let mut tasks = Vec::new();
    let warm = Duration::from_secs_f64(seconds / 4.0);
    let run = Duration::from_secs_f64(seconds);
    let begin = Instant::now();
    for number in 0..clients {
        let (client, connection) = tokio_postgres::connect(config, NoTls).await?;
        tokio::spawn(connection);
        let mut dice = Dice(number as u64 + 1);
        let placeholders = question.text(&[]);
        tasks.push(tokio::spawn(async move {
            let statement = match prepared {
                true => Some(client.prepare(&placeholders).await?),
                false => None,
            };
            let mut micros = Vec::new();
            while begin.elapsed() < warm + run {
                let values = question.values(&mut dice);
                let asked = Instant::now();
                let rows = ask(&client, question, statement.as_ref(), &values).await?;
                if rows != question.rows() {
                    return Err(format!("{} gave {rows} rows", question.name()).into());
                }
                if begin.elapsed() > warm {
                    micros.push(asked.elapsed().as_micros() as u64);
                }
            }
            Ok::<_, Failure>(micros)
        }));
    }
    let mut micros = Vec::new();
    for task in tasks {
        micros.extend(task.await??);
    }
    micros.sort_unstable();
    let at = |share: f64| micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or_default();
    Ok(Measured { rate: micros.len() as f64 / run.as_secs_f64(), p50: at(0.5), p99: at(0.99) })
}

async fn ask(
    client: &Client,
    question: Question,
    statement: Option<&Statement>,
    values: &[String],
) -> Result<usize, Failure> {
    Ok(match statement {
        Some(statement) => {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
            client.query(statement, &values).await?.len()
        }
        None => {
            let answers = client.simple_query(&question.text(values)).await?;
            answers.iter().filter(|answer| matches!(answer, tokio_postgres::SimpleQueryMessage::Row(_))).count()
        }
    })
}

/// A server of ours, filled; it ends with this.
struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    fn start(binary: &Path) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("rowkey-wire-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let (data, csv) = (folder.join("data"), folder.join("orders.csv"));
        let mut file = std::io::BufWriter::new(std::fs::File::create(&csv)?);
        writeln!(
            file,
            "PartitionKey,RowKey,Timestamp,Customer,Customer@type,Amount,Amount@type,Count,Count@type,At,At@type,\
             Paid,Paid@type"
        )?;
        for_each_row(|row| {
            let Row { partition, row, customer, amount, count, at, paid } = row;
            Ok(writeln!(
                file,
                "{partition},{row},2024-01-01T00:00:00Z,{customer},Edm.String,{amount},Edm.Double,{count},Edm.Int32,\
                 {at},Edm.DateTime,{paid},Edm.Boolean"
            )?)
        })?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        let imported = Command::new(binary)
            .arg("import")
            .arg("--data")
            .arg(&data)
            .args(["--table", "orders"])
            .arg(&csv)
            .output()?;
        if !imported.status.success() {
            return Err(String::from_utf8_lossy(&imported.stderr).into_owned().into());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child = Command::new(binary)
            .arg("serve")
            .arg("--data")
            .arg(&data)
            .args(["--pg", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let errors = child.stderr.take();
        let server = Self { child, port, folder };
        for _ in 0..500 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                // What it writes later must not fill the pipe.
                std::thread::spawn(move || errors.map(|errors| BufReader::new(errors).lines().for_each(drop)));
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the server does not listen".into())
    }

    fn config(&self) -> String {
        format!("host=127.0.0.1 port={} user=bench dbname=devstoreaccount1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn fill_postgres(config: &str) -> Result<(), Failure> {
    let (client, connection) = tokio_postgres::connect(config, NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute(
            r#"DROP TABLE IF EXISTS orders;
            CREATE TABLE orders ("PartitionKey" text, "RowKey" text, "Timestamp" timestamptz NOT NULL, "Customer" text,
                "Amount" float8, "Count" int4, "At" timestamptz, "Paid" boolean, PRIMARY KEY ("PartitionKey", "RowKey"))"#,
        )
        .await?;
    let mut sink = pin!(client.copy_in::<_, Bytes>("COPY orders FROM STDIN (FORMAT csv)").await?);
    let mut text = String::new();
    for_each_row(|row| {
        let Row { partition, row, customer, amount, count, at, paid } = row;
        writeln!(text, "{partition},{row},2024-01-01T00:00:00Z,{customer},{amount},{count},{at},{paid}")?;
        Ok(())
    })?;
    sink.send(Bytes::from(text)).await?;
    sink.as_mut().finish().await?;
    client.batch_execute("VACUUM ANALYZE orders").await?;
    Ok(())
}

struct Row {
    partition: String,
    row: String,
    customer: String,
    amount: String,
    count: usize,
    at: String,
    paid: bool,
}

fn for_each_row(mut row: impl FnMut(Row) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut dice = Dice(7);
    for partition in 0..PARTITIONS {
        for number in 0..ROWS_EACH {
            row(Row {
                partition: partition_key(partition),
                row: row_key(number),
                customer: format!("customer {}", dice.below(10_000)),
                amount: format!("{}.25", dice.below(100_000)),
                count: dice.below(100),
                at: format!("2024-{:02}-{:02}T10:11:12.345678Z", 1 + dice.below(12), 1 + dice.below(28)),
                paid: dice.below(2) == 0,
            })?;
        }
    }
    Ok(())
}

fn partition_key(number: usize) -> String {
    format!("store-{number:04}")
}

fn row_key(number: usize) -> String {
    format!("order-{number:06}")
}
