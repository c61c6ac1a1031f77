//! What recent writes cost: scans and point reads beside them, opening with them, and a million
//! random updates in all.
//!
//! ```sh
//! cargo bench --bench delta -- FOLDER [--entities 1000000] [--updates 1000000] [--load 1000,2000]
//! ```
//! FOLDER is made anew, filled with two databases, and left for a look: scans of both take turns,
//! so that what else the machine does slows both. Bytes written are what the kernel counts for this
//! process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rowkey::formats::Source;
use rowkey::model::{EntityBuilder, Key};
use rowkey::{Database, EntityOperation, ImportOptions, Table};
use rowkey_base::testing::Dice;

/// As in the `rowkey` program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Entities in the delta of the scans and of the opening.
const DELTA: u64 = 100_000;
/// Updates of one entity group transaction.
const GROUP: u64 = 50;
const SCANS: usize = 25;
/// Enough to meet some hundreds of updates.
const READS: usize = 200_000;

const QUERIES: [&str; 4] = [
    r#"SELECT count(*), sum("Amount"), avg("Score") FROM Bench"#,
    r#"SELECT "Status", count(*), max("Amount") FROM Bench GROUP BY 1"#,
    r#"SELECT "PartitionKey", sum("Amount") FROM Bench GROUP BY 1 ORDER BY 2 DESC LIMIT 10"#,
    r#"SELECT count(*) FROM Bench WHERE "Score" > 100000 AND "Status" LIKE '%7%'"#,
];

fn key(number: u64) -> Key {
    Key::new(format!("customer-{:04}", number % 1000), format!("{number:012}"))
}

fn entity(number: u64, round: u64) -> Result<rowkey::model::Entity, Failure> {
    let builder = EntityBuilder::new(key(number))
        .property("Amount", (number * 31 + round) as i32)
        .property("Status", format!("step {} of its life", number % 13))
        .property("Score", number as f64 / 7.0);
    Ok(builder.build()?)
}

fn main() -> Result<(), Failure> {
    let (mut folder, mut entities, mut updates) = (None, 1_000_000, 1_000_000);
    // Updates a second, in the background of point reads.
    let mut loads: Vec<u64> = vec![1_000, 2_000];
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--entities" => entities = arguments.next().ok_or("--entities lacks its value")?.parse()?,
            "--updates" => updates = arguments.next().ok_or("--updates lacks its value")?.parse()?,
            "--load" => {
                let given = arguments.next().ok_or("--load lacks its value")?;
                loads = given.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            _ => folder = Some(argument),
        }
    }
    let Some(folder) = folder else {
        println!("usage: cargo bench --bench delta -- FOLDER");
        return Ok(());
    };
    if Path::new(&folder).exists() {
        return Err(format!("{folder} exists already").into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(&folder, entities, updates, &loads))
}

async fn run(folder: &str, entities: u64, updates: u64, loads: &[u64]) -> Result<(), Failure> {
    let within = |name: &str| format!("{folder}/{name}");
    let folded = Database::open(&within("folded")).await?;
    fill(&folded, entities).await?;
    let folder = &within("recent");
    let mut db = Database::open(folder).await?;
    fill(&db, entities).await?;
    println!("{entities} entities, {} MB on disk", folder_bytes(folder) >> 20);

    let table = db.table("Bench")?;
    let mut dice = Dice(7);
    update(&table, &mut dice, entities, DELTA).await?;
    for query in QUERIES {
        let [folded, beside] = scans([&folded, &db], query).await?;
        let ratio = beside.as_secs_f64() / folded.as_secs_f64();
        println!("folded {folded:>10.2?}  beside {DELTA} recent writes {beside:>10.2?}  ratio {ratio:.2}  {query}");
    }
    drop(folded);

    drop(table);
    drop(db);
    let begun = Instant::now();
    db = Database::open(folder).await?;
    let opened = begun.elapsed();
    let table = db.table("Bench")?;
    table.get(&key(1).partition, &key(1).row).await?;
    println!("opened beside {DELTA} recent writes in {opened:.2?}, first entity after {:.2?}", begun.elapsed());

    reads("quiet", &table, entities).await?;
    for &a_second in loads {
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let load = tokio::spawn(load(table.clone(), entities, a_second, Arc::clone(&stop), Arc::clone(&written)));
        let begun = Instant::now();
        reads("under load", &table, entities).await?;
        let rate = written.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        load.await??;
        println!("the load was {rate:.0} durable updates a second");
    }

    let (bytes_before, payload_before) = (written_bytes(), folder_bytes(folder));
    let begun = Instant::now();
    let payload = update(&table, &mut dice, entities, updates).await?;
    let took = begun.elapsed();
    table.vacuum(false).await?;
    let written = written_bytes() - bytes_before;
    println!(
        "{updates} random updates in groups of up to {GROUP}: {took:.1?}, {} MB given, {} MB written ({:.1} times), {} MB on disk before, {} MB after",
        payload >> 20,
        written >> 20,
        written as f64 / payload as f64,
        payload_before >> 20,
        folder_bytes(folder) >> 20,
    );
    Ok(())
}

async fn fill(db: &Database, entities: u64) -> Result<(), Failure> {
    let lines = (0..1000).flat_map(|partition| (0..entities / 1000).map(move |row| row * 1000 + partition));
    let text: String = lines
        .map(|number| {
            format!(
                "{{\"PartitionKey\":\"customer-{:04}\",\"RowKey\":\"{number:012}\",\"Amount\":{},\"Status\":\"step {} of its life\",\"Score\":{:?}}}\n",
                number % 1000,
                (number * 31) as i32,
                number % 13,
                number as f64 / 7.0
            )
        })
        .collect();
    let source = Source::stream("bench.ndjson", Box::new(std::io::Cursor::new(text.into_bytes())));
    db.import("Bench", vec![source], &ImportOptions::default()).await?;
    Ok(())
}

/// The median times of a query on each of two databases, by turns.
async fn scans(dbs: [&Database; 2], query: &str) -> Result<[Duration; 2], Failure> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..SCANS {
        for (db, times) in dbs.iter().zip(&mut times) {
            let begun = Instant::now();
            db.sql(query).await?.collect().await?;
            times.push(begun.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times[SCANS / 2]
    }))
}

/// Updates random entities, in groups of one partition; gives the bytes of their keys and values.
async fn update(table: &Table, dice: &mut Dice, entities: u64, count: u64) -> Result<u64, Failure> {
    let (mut done, mut bytes) = (0, 0);
    while done < count {
        let partition = dice.next_u64() % 1000;
        let mut numbers: Vec<u64> =
            (0..GROUP.min(count - done)).map(|_| dice.next_u64() % (entities / 1000) * 1000 + partition).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let group = numbers.iter().map(|number| entity(*number, done).map(EntityOperation::InsertOrReplace));
        table.batch(&group.collect::<Result<Vec<_>, _>>()?).await?;
        done += numbers.len() as u64;
        bytes += numbers.len() as u64 * (13 + 12 + 4 + 18 + 8);
    }
    Ok(bytes)
}

async fn reads(what: &str, table: &Table, entities: u64) -> Result<(), Failure> {
    let mut dice = Dice(11);
    let mut times = Vec::with_capacity(READS);
    for round in 0..2 {
        for _ in 0..READS {
            let key = key(dice.next_u64() % entities);
            let begun = Instant::now();
            let found = table.get_shared(&key.partition, &key.row).await?;
            // The first round fills the cache.
            if round > 0 {
                times.push(begun.elapsed());
            }
            assert!(found.is_some(), "a point read finds its entity");
        }
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("point reads, {what}: median {:.1?}, p99 {:.1?}, max {:.1?}", at(0.5), at(0.99), at(1.0));
    Ok(())
}

/// Updates single entities at a steady rate.
async fn load(
    table: Table,
    entities: u64,
    a_second: u64,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut dice = Dice(13);
    let mut tick = tokio::time::interval(Duration::from_micros(1_000_000 / a_second));
    while !stop.load(Ordering::Relaxed) {
        tick.tick().await;
        table.insert_or_replace(&entity(dice.next_u64() % entities, 1)?).await?;
        written.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn folder_bytes(folder: &str) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path().to_string_lossy()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// What this process has written to files so far; 0 where the kernel does not tell. (Its count of
/// what goes to disk takes a page of 64 KiB or more for each write of a few bytes, of which the
/// disk sees the few.)
fn written_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}
