//! Durable writes: in process, over the wire, and of PostgreSQL.
//!
//! ```sh
//! cargo bench --bench writes -- FOLDER [--seconds 5] [--rowkey URL] [--postgres URL] [--work NAME] [--writers 1,8,32]
//! ```
//! NAME is one of `inserts`, `updates` (behind inserts), `groups` and `rows`; without it there are
//! all of them. FOLDER is made anew for the writes in process. At each URL a table is made, filled
//! and dropped: `postgresql://rowkey@127.0.0.1:5433/devstoreaccount1`. Every write is answered when
//! it is durable; PostgreSQL's `synchronous_commit` should be `on`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rowkey::model::{EntityBuilder, Key};
use rowkey::{Database, EntityOperation};

/// As in the `rowkey` program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const GROUP: usize = 100;

#[derive(Clone, Copy, PartialEq)]
enum Work {
    Insert,
    Update,
    Group,
    Rows,
}

impl Work {
    const ALL: [Work; 4] = [Work::Insert, Work::Update, Work::Group, Work::Rows];

    fn option(self) -> &'static str {
        match self {
            Work::Insert => "inserts",
            Work::Update => "updates",
            Work::Group => "groups",
            Work::Rows => "rows",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Work::Insert => "inserts",
            Work::Update => "updates",
            Work::Group => "transactions of 100 inserts",
            Work::Rows => "one INSERT of 100 rows",
        }
    }
}

/// What is measured, each for so long.
struct Run {
    time: Duration,
    works: Vec<Work>,
    writers: Vec<usize>,
}

/// Numbers of entities, each given once.
#[derive(Clone, Default)]
struct Numbers(Arc<AtomicU64>);

impl Numbers {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

fn partition(number: u64) -> String {
    format!("customer-{:04}", number % 1000)
}

fn entity(number: u64, place: usize) -> Result<rowkey::model::Entity, Failure> {
    Names::new().entity(&partition(number), number, place)
}

/// Names of the properties, which the entities of a group share.
struct Names([Arc<str>; 3]);

impl Names {
    fn new() -> Self {
        Self(["Amount", "Status", "Score"].map(Arc::from))
    }

    fn entity(&self, partition: &str, number: u64, place: usize) -> Result<rowkey::model::Entity, Failure> {
        let key = Key::new(partition, format!("{number:012}-{place:03}"));
        let [amount, status, score] = self.0.clone();
        let builder = EntityBuilder::new(key)
            .property(amount, number as i32)
            .property(status, "waiting for the next step of its life")
            .property(score, number as f64 / 7.0);
        Ok(builder.build()?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut folder = None;
    let mut run = Run { time: Duration::from_secs(5), works: Work::ALL.to_vec(), writers: vec![1, 8, 32] };
    let mut servers = Vec::new();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("an option lacks its value");
        match argument.as_str() {
            "--seconds" => run.time = Duration::from_secs(value()?.parse()?),
            "--work" => {
                let name = value()?;
                // What is updated has to be there.
                let fills = |work: Work| work == Work::Insert && name == Work::Update.option();
                run.works.retain(|work| work.option() == name || fills(*work));
                if run.works.is_empty() {
                    return Err(format!("there is no work called {name}").into());
                }
            }
            "--writers" => run.writers = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--rowkey" => servers.push(("rowkey, wire", value()?)),
            "--postgres" => servers.push(("postgresql", value()?)),
            _ => folder = Some(argument),
        }
    }
    println!(
        "{:<16} {:<28} {:>8} {:>12} {:>10} {:>10} {:>10}",
        "engine", "work", "writers", "a second", "p50 us", "p99 us", "max us"
    );
    if let Some(folder) = folder {
        in_process(&folder, &run).await?;
    }
    for (name, url) in servers {
        server(name, &url, &run).await?;
    }
    Ok(())
}

fn report(engine: &str, work: Work, writers: usize, time: Duration, mut latencies: Vec<Duration>) {
    latencies.sort();
    let at = |share: f64| latencies.get((latencies.len() as f64 * share) as usize).map_or(0, Duration::as_micros);
    let max = latencies.last().map_or(0, Duration::as_micros);
    let rate = latencies.len() as f64 / time.as_secs_f64();
    println!("{engine:<16} {:<28} {writers:>8} {rate:>12.0} {:>10} {:>10} {:>10}", work.name(), at(0.5), at(0.99), max);
}

async fn in_process(folder: &str, run: &Run) -> Result<(), Failure> {
    if std::path::Path::new(folder).exists() {
        return Err(format!("{folder} exists already").into());
    }
    let db = Database::open(folder).await?;
    let table = db.create_table("Bench").await?;
    let numbers = Numbers::default();
    // Over the wire, a transaction is several statements or one; in process there is one way.
    for work in run.works.iter().copied().filter(|work| *work != Work::Rows) {
        for writers in run.writers.iter().copied() {
            let inserted = numbers.0.load(Ordering::Relaxed).max(1);
            let end = Instant::now() + run.time;
            let mut tasks = Vec::new();
            for writer in 0..writers {
                let (table, numbers) = (table.clone(), numbers.clone());
                tasks.push(tokio::spawn(async move {
                    let mut latencies = Vec::new();
                    let mut at = writer as u64 * 7919;
                    while Instant::now() < end {
                        let begun = Instant::now();
                        match work {
                            Work::Insert => {
                                table.insert(&entity(numbers.next(), 0)?).await?;
                            }
                            Work::Update => {
                                at += 1;
                                let changed = entity(at % inserted, 0)?;
                                table.insert_or_merge(&changed).await?;
                            }
                            Work::Group | Work::Rows => {
                                let number = numbers.next();
                                let (names, pk) = (Names::new(), partition(number));
                                let entity = |place| names.entity(&pk, number, place).map(EntityOperation::Insert);
                                let group = (1..=GROUP).map(entity);
                                table.batch(&group.collect::<Result<Vec<_>, _>>()?).await?;
                            }
                        }
                        latencies.push(begun.elapsed());
                    }
                    Ok::<_, Failure>(latencies)
                }));
            }
            let mut latencies = Vec::new();
            for task in tasks {
                latencies.extend(task.await??);
            }
            report("rowkey, process", work, writers, run.time, latencies);
        }
    }
    Ok(())
}

async fn connect(url: &str) -> Result<tokio_postgres::Client, Failure> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn server(name: &'static str, url: &str, run: &Run) -> Result<(), Failure> {
    let owner = connect(url).await?;
    owner.batch_execute("DROP TABLE IF EXISTS BenchWrites").await.or_else(|_| Ok::<_, Failure>(()))?;
    let create = "CREATE TABLE BenchWrites (\"PartitionKey\" text, \"RowKey\" text, \"Amount\" int4, \"Status\" text, \
                  \"Score\" float8, PRIMARY KEY (\"PartitionKey\", \"RowKey\"))";
    owner.batch_execute(create).await?;
    let numbers = Numbers::default();
    for work in run.works.iter().copied() {
        for writers in run.writers.iter().copied() {
            let inserted = numbers.0.load(Ordering::Relaxed).max(1);
            let mut clients = Vec::new();
            for _ in 0..writers {
                clients.push(connect(url).await?);
            }
            let end = Instant::now() + run.time;
            let mut tasks = Vec::new();
            for (writer, mut client) in clients.into_iter().enumerate() {
                let numbers = numbers.clone();
                tasks.push(tokio::spawn(async move {
                    let insert = "INSERT INTO BenchWrites (\"PartitionKey\", \"RowKey\", \"Amount\", \"Status\", \"Score\") \
                                  VALUES ($1, $2, $3, $4, $5)";
                    let insert = client.prepare(insert).await?;
                    let update = "UPDATE BenchWrites SET \"Amount\" = $3 WHERE \"PartitionKey\" = $1 AND \"RowKey\" = $2";
                    let update = client.prepare(update).await?;
                    let values = (0..GROUP).map(|row| format!("(${}, ${}, $1, $2, $3)", 4 + 2 * row, 5 + 2 * row));
                    let rows = "INSERT INTO BenchWrites (\"PartitionKey\", \"RowKey\", \"Amount\", \"Status\", \"Score\") VALUES ";
                    let rows = client.prepare(&(rows.to_owned() + &values.collect::<Vec<_>>().join(", "))).await?;
                    let status = "waiting for the next step of its life";
                    let mut latencies = Vec::new();
                    let mut at = writer as u64 * 7919;
                    while Instant::now() < end {
                        let begun = Instant::now();
                        match work {
                            Work::Insert => {
                                let number = numbers.next();
                                let (pk, rk) = (partition(number), format!("{number:012}-000"));
                                client.execute(&insert, &[&pk, &rk, &(number as i32), &status, &1.5]).await?;
                            }
                            Work::Update => {
                                at += 1;
                                let number = at % inserted;
                                let (pk, rk) = (partition(number), format!("{number:012}-000"));
                                client.execute(&update, &[&pk, &rk, &(at as i32)]).await?;
                            }
                            Work::Group => {
                                let number = numbers.next();
                                let pk = partition(number);
                                let transaction = client.transaction().await?;
                                for place in 1..=GROUP {
                                    let rk = format!("{number:012}-{place:03}");
                                    transaction.execute(&insert, &[&pk, &rk, &(number as i32), &status, &1.5]).await?;
                                }
                                transaction.commit().await?;
                            }
                            Work::Rows => {
                                let number = numbers.next();
                                let pk = partition(number);
                                let keys: Vec<String> = (1..=GROUP).map(|place| format!("{number:012}-{place:03}")).collect();
                                let amount = number as i32;
                                let mut values: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = vec![&amount, &status, &1.5];
                                keys.iter().for_each(|rk| values.extend([&pk as &(dyn tokio_postgres::types::ToSql + Sync), rk]));
                                client.execute(&rows, &values).await?;
                            }
                        }
                        latencies.push(begun.elapsed());
                    }
                    Ok::<_, Failure>(latencies)
                }));
            }
            let mut latencies = Vec::new();
            for task in tasks {
                latencies.extend(task.await??);
            }
            report(name, work, writers, run.time, latencies);
        }
    }
    owner.batch_execute("DROP TABLE BenchWrites").await?;
    Ok(())
}
