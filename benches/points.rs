//! Point reads through the embedded API: within a hot set, and of keys all over the table.
//!
//! `cargo bench --bench points -- DATA TABLE [COUNT]` reads an existing data folder whose keys are
//! those of the generator: `benches/peers/generate.py`. Without arguments there is nothing to read,
//! and it says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use rowkey::model::KeyRange;
use rowkey::{Database, Options, Result};
use rowkey_base::testing::Dice;

/// Keys of the hot set.
const HOT_KEYS: usize = 100_000;
/// Reads timed.
const READS: usize = 100_000;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(data), Some(table)) = (arguments.next(), arguments.next()) else {
        println!("usage: cargo bench --bench points -- DATA TABLE");
        return Ok(());
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(run(&data, &table))
}

async fn run(data: &str, name: &str) -> Result<()> {
    let opened = Instant::now();
    let database = Database::open_with(data, Options { cache_bytes: Some(256 << 20), ..Options::default() }).await?;
    println!("open: {:?}", opened.elapsed());
    let table = database.table(name)?;
    let mut keys = Vec::new();
    let mut entities = table.range(KeyRange::all());
    while let Some(entity) = entities.next().await {
        keys.push(entity?.key);
    }
    println!("{} entities", keys.len());
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    // A stretch of keys per step, so that the hot set is spread over the table.
    let hot: Vec<usize> = (0..HOT_KEYS.min(keys.len())).map(|_| dice.below(keys.len())).collect();

    let mut cold = Vec::with_capacity(READS);
    for _ in 0..READS.min(10_000) {
        let key = &keys[dice.below(keys.len())];
        let started = Instant::now();
        let found = table.get_shared(&key.partition, &key.row).await?;
        cold.push(started.elapsed());
        assert_eq!(found.as_ref().map(|found| &found.key), Some(key), "a point read finds its entity");
    }
    report("anywhere in the table", cold);
    for &at in &hot {
        table.get_shared(&keys[at].partition, &keys[at].row).await?;
    }
    let mut warm = Vec::with_capacity(READS);
    for _ in 0..READS {
        let key = &keys[hot[dice.below(hot.len())]];
        let started = Instant::now();
        let found: Option<Arc<_>> = table.get_shared(&key.partition, &key.row).await?;
        warm.push(started.elapsed());
        assert!(found.is_some(), "a point read finds its entity");
    }
    report("within the hot set", warm);
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{what}: {} reads, median {:?}, p99 {:?}, max {:?}", times.len(), at(0.5), at(0.99), at(1.0));
}
