//! Rowkey and PostgreSQL answer the same questions about the same rows.
//!
//! PostgreSQL is found where Debian has it, on the PATH, or in the folder that
//! `ROWKEY_TEST_POSTGRES_BIN` names; without it the tests say that they are skipped.
//! `ROWKEY_TEST_SEED` and `ROWKEY_TEST_CASES` (questions of each kind) vary what is asked.
//!
//! Left out here, and asked by the test `differential`: NaN, -0.0, min and max of doubles by group,
//! casts of texts to bytea, and NULLs in lists and in row comparisons.

mod answer;
mod predicate;
mod question;
pub(crate) mod server;
mod table;

use std::collections::BTreeMap;
use std::env;
use std::io::Cursor;

use rowkey::formats::Source;
use rowkey::{Database, ImportOptions, OnReject};
use tokio_postgres::Client;

use question::Question;
use rowkey_base::testing::Dice;
use server::Postgres;
use table::Table;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SEED: &str = "ROWKEY_TEST_SEED";
const CASES: &str = "ROWKEY_TEST_CASES";
/// Differences that are listed.
const LISTED_MAX: usize = 60;
/// What Rowkey says about questions it does not answer yet, where PostgreSQL does. Anything else
/// that fails is a difference.
const REFUSALS: &[&str] = &["uuid IS DISTINCT FROM text", "uuid IS NOT DISTINCT FROM text"];
/// Questions of each kind, over all tables.
const CASES_DEFAULT: u64 = 240;

/// Entities and the size of the files they are cut into, in bytes: one file, many of them, and
/// files with many pages.
const TABLES: &[(usize, usize)] = &[(60, 1 << 20), (700, 4_000), (5_000, 1 << 20), (3_000, 60_000)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_gives_the_same_answers() -> Outcome<()> {
    let Some(postgres) = Postgres::start().await? else {
        return crate::peers::skipped(
            "postgres",
            &format!("PostgreSQL is not installed and {} does not name its binaries", server::BINARIES),
        );
    };
    let client = postgres.connect("postgres").await?;
    client.batch_execute("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'").await?;
    let database = Database::open(":memory:").await?;
    let (seed, cases) = (from_environment(SEED, 1)?, from_environment(CASES, CASES_DEFAULT)?);

    let mut compared = Compared::default();
    for (number, &(entities, file_bytes)) in TABLES.iter().enumerate() {
        let mut dice = Dice(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let table = Table::generated(&format!("tab{number}"), &mut dice, entities);
        store(&table, file_bytes, &database, &client).await?;
        for case in 0..cases.div_ceil(TABLES.len() as u64) {
            for question in question::questions(&table, &mut dice) {
                let place = format!("{SEED}={seed}, {}, case {case}", table.name);
                compared.ask(&place, &question, &database, &client).await?;
            }
        }
    }
    let Compared { asked, refused, empty, rows, differences } = &compared;
    assert!(
        differences.is_empty(),
        "{} of {asked} answers differ with {SEED}={seed}:\n\n{}",
        differences.len(),
        differences.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    );
    let refusals: usize = refused.values().sum();
    println!("{asked} questions, {rows} rows, {empty} answers without a row, refused: {refused:?}");
    assert!(refusals * 5 < *asked, "{refusals} of {asked} questions were refused: {refused:?}");
    assert!(*rows > *asked && empty * 3 < asked * 2, "{asked} answers of {rows} rows, {empty} of none: too little");
    Ok(())
}

pub(crate) fn from_environment(name: &str, default: u64) -> Outcome<u64> {
    match env::var(name) {
        Ok(text) => Ok(text.parse().map_err(|error| format!("{name}={text}: {error}"))?),
        Err(env::VarError::NotPresent) => Ok(default),
        Err(error) => Err(format!("{name}: {error}").into()),
    }
}

/// The same rows on both sides.
async fn store(table: &Table, file_bytes: usize, database: &Database, client: &Client) -> Outcome<()> {
    client.batch_execute(&table.postgres()).await?;
    let source = Source::stream("generated", Box::new(Cursor::new(table.ndjson().into_bytes())));
    let options = ImportOptions { on_reject: OnReject::Stop, file_bytes: Some(file_bytes), ..ImportOptions::default() };
    let report = database.import(&table.name, vec![source], &options).await?;
    assert_eq!(report.inserted, table.entities() as u64, "{}", table.name);
    assert!(file_bytes > 1 << 16 || report.files > 3, "{} is to have several files", table.name);
    Ok(())
}

#[derive(Default)]
struct Compared {
    asked: usize,
    /// By what was said, of [`REFUSALS`].
    refused: BTreeMap<&'static str, usize>,
    /// Answers without a row.
    empty: usize,
    rows: usize,
    differences: Vec<String>,
}

impl Compared {
    /// Asks with literals and with parameters.
    async fn ask(&mut self, place: &str, question: &Question, database: &Database, client: &Client) -> Outcome<()> {
        let literal = question.sql.literal();
        let with_parameters = question.sql.parameters();
        let mut forms = vec![(literal.clone(), Vec::new())];
        if !with_parameters.1.is_empty() {
            forms.push(with_parameters);
        }
        for (statement, parameters) in forms {
            self.asked += 1;
            let shown = format!("{place}\n  {statement}\n  {parameters:?}\n  in PostgreSQL: {literal}");
            let (ours, types) = match answer::of_rowkey(database, &statement, parameters).await {
                Ok(found) => found,
                Err(error) => {
                    let message = error.to_string();
                    if let Some(refusal) = REFUSALS.iter().find(|refusal| message.contains(*refusal)) {
                        *self.refused.entry(refusal).or_default() += 1;
                        continue;
                    }
                    let theirs = match answer::of_postgres(client, &literal, None).await {
                        Ok(rows) => format!("{} rows", rows.len()),
                        Err(error) => format!("an error as well: {}", with_cause(error.as_ref())),
                    };
                    self.differences.push(format!("{shown}\n  Rowkey: {message}\n  PostgreSQL: {theirs}"));
                    continue;
                }
            };
            let theirs = answer::of_postgres(client, &literal, Some(&types)).await;
            let mut theirs = theirs.map_err(|error| format!("{shown}: {}", with_cause(error.as_ref())))?;
            let mut ours = ours;
            if !question.ordered {
                ours.sort();
                theirs.sort();
            }
            self.rows += ours.len();
            self.empty += usize::from(ours.is_empty());
            if ours != theirs {
                let first = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at)).unwrap_or(0);
                self.differences.push(format!(
                    "{shown}\n  {} rows and {} in PostgreSQL; the first that differ, at {first}:\n  Rowkey:     {:?}\n  PostgreSQL: {:?}",
                    ours.len(),
                    theirs.len(),
                    ours.get(first),
                    theirs.get(first)
                ));
            }
        }
        Ok(())
    }
}

/// PostgreSQL's own message is the cause of the driver's.
fn with_cause(error: &(dyn std::error::Error + 'static)) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_cause(cause)),
        None => error.to_string(),
    }
}
