//! Analytic queries beside DataFusion's own reader over the same files, in one process, in turns.
//!
//! `cargo bench --bench queries -- DATA TABLE [ROUNDS]` reads an existing data folder; the columns
//! are those of `benches/peers/generate.py`.
//!
//! With `--serve DATA` it is the driver of another program instead: it runs each line of standard
//! input as a statement and writes a line for it, `ok SECONDS ROWS` or `error REASON`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use rowkey::Database;

const QUERIES: &[(&str, &str)] = &[
    ("count(*)", r#"SELECT count(*) FROM {t}"#),
    (
        "group by low-card",
        r#"SELECT "Department", count(*), avg("Score") FROM {t} GROUP BY "Department" ORDER BY "Department""#,
    ),
    (
        "top-k double",
        r#"SELECT "PartitionKey", "RowKey", "Score" FROM {t} WHERE "Score" IS NOT NULL ORDER BY "Score" DESC LIMIT 10"#,
    ),
    ("distinct count", r#"SELECT count(DISTINCT "Email") FROM {t}"#),
    (
        "month histogram",
        r#"SELECT date_trunc('month', "HiredAt") AS m, count(*) FROM {t} WHERE "HiredAt" IS NOT NULL GROUP BY 1 ORDER BY 1"#,
    ),
    (
        "self join",
        r#"SELECT d."Department", count(*) FROM {t} e JOIN (SELECT DISTINCT "Department" FROM {t}) d ON e."Department" = d."Department" GROUP BY 1 ORDER BY 1"#,
    ),
    ("percentile", r#"SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY "Score") FROM {t}"#),
    ("string LIKE", r#"SELECT count(*) FROM {t} WHERE "Bio" LIKE '%lambda%'"#),
    (
        "multi-aggregate",
        r#"SELECT "Department", "Active", count(*), count("Email"), min("Score"), max("Score"), sum("Badge"), min("HiredAt"), max("HiredAt") FROM {t} GROUP BY "Department", "Active" ORDER BY 1, 2"#,
    ),
    (
        "window top-3",
        r#"SELECT "Department", "PartitionKey", "RowKey", "Score", rn FROM (SELECT "Department", "PartitionKey", "RowKey", "Score", row_number() OVER (PARTITION BY "Department" ORDER BY "Score" DESC, "PartitionKey", "RowKey") AS rn FROM {t} WHERE "Score" IS NOT NULL) x WHERE rn <= 3 ORDER BY 1, 5"#,
    ),
    ("scan filter", r#"SELECT "PartitionKey", "RowKey", "Email" FROM {t} WHERE "LastName" = 'Badenba' ORDER BY 1, 2"#),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("--serve") {
        return serve(&std::env::args().nth(2).ok_or("--serve needs a data folder")?).await;
    }
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(data), Some(table)) = (arguments.next(), arguments.next()) else {
        println!("usage: cargo bench --bench queries -- DATA TABLE [ROUNDS]");
        return Ok(());
    };
    let rounds: usize = arguments.next().map_or(Ok(7), |rounds| rounds.parse())?;
    let database = Database::open(&data).await?;
    let folder = std::fs::read_dir(format!("{data}/tables/devstoreaccount1"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{table}."))))
        .ok_or("the table has no folder")?;
    let stock = SessionContext::new_with_config(SessionConfig::new());
    stock.register_parquet("stock", folder.to_string_lossy(), ParquetReadOptions::default()).await?;

    println!("{:<20} {:>10} {:>10} {:>8}", "query", "rowkey ms", "stock ms", "ratio");
    let mut ratios = Vec::new();
    for (name, query) in QUERIES {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        let mut answers = Vec::new();
        for round in 0..=rounds {
            let started = Instant::now();
            let ours = database.sql(&query.replace("{t}", &format!("\"{table}\""))).await?.collect().await?;
            let ours_took = started.elapsed();
            let started = Instant::now();
            let theirs = stock.sql(&query.replace("{t}", "stock")).await?.collect().await?;
            let theirs_took = started.elapsed();
            // The first round warms the caches and compares the answers.
            if round == 0 {
                answers = vec![shown(&ours)?, shown(&theirs)?];
                continue;
            }
            times.entry("ours").or_default().push(ours_took);
            times.entry("theirs").or_default().push(theirs_took);
        }
        let median = |who: &str| {
            let mut taken = times[who].clone();
            taken.sort_unstable();
            taken[taken.len() / 2].as_secs_f64() * 1e3
        };
        let (ours, theirs) = (median("ours"), median("theirs"));
        let note = if answers[0] == answers[1] { "" } else { "  (answers differ)" };
        println!("{name:<20} {ours:>10.2} {theirs:>10.2} {:>8.2}{note}", theirs / ours);
        ratios.push(theirs / ours);
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("geometric mean of the speed against DataFusion's own reader: {mean:.2}");
    Ok(())
}

/// Times statements as they come in; a whole result is in memory when the clock stops.
async fn serve(data: &str) -> Result<(), Box<dyn std::error::Error>> {
    let database = Database::open(data).await?;
    for statement in std::io::stdin().lines() {
        let statement = statement?;
        let started = Instant::now();
        let answer = match database.sql(&statement).await {
            Ok(answer) => answer.collect().await,
            Err(error) => Err(error),
        };
        let seconds = started.elapsed().as_secs_f64();
        match answer {
            Ok(batches) => {
                println!("ok {seconds} {}", batches.iter().map(RecordBatch::num_rows).sum::<usize>());
            }
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

/// The rows without the header, whose names may differ.
fn shown(batches: &[RecordBatch]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let lines = pretty_format_batches(batches)?.to_string();
    let rows = lines.lines().skip(3).filter(|line| !line.starts_with('+'));
    Ok(rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect())
}
