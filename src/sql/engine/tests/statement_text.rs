//! Texts of statements that are almost right: an error of the one who wrote it, or an answer, in
//! time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rowkey_base::clock::{Clock, SystemClock};
use rowkey_base::testing::{Dice, Mutator, fuzz};
use rowkey_model::files::MemoryStore;
use rowkey_postgres::cancellation::StatementGuard;

use super::*;
use crate::session::{Error, Settings};

/// Where the statements are that the SQL reference is tested with.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql");
const TIMEOUT: Duration = Duration::from_secs(1);
/// After its timeout a statement has so long to end.
const GRACE: Duration = Duration::from_secs(1);
/// So often it must outlive that: a machine with other work on it is late now and then.
const TRIES: usize = 3;
const STATEMENTS_PER_ENGINE: usize = 30;

fn files_below(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// The statements of all scripts.
fn statements() -> Vec<String> {
    let mut scripts = Vec::new();
    files_below(Path::new(SCRIPTS), "slt", &mut scripts);
    let mut statements = Vec::new();
    for script in scripts {
        let text = fs::read_to_string(script).expect("a script");
        for record in text.split("\n\n") {
            let mut lines = record.lines().filter(|line| !line.starts_with('#'));
            let is_statement =
                lines.next().is_some_and(|first| first.starts_with("query") || first.starts_with("statement"));
            let sql: Vec<&str> = lines.take_while(|line| *line != "----").collect();
            if is_statement && !sql.is_empty() {
                statements.push(sql.join("\n"));
            }
        }
    }
    statements
}

/// Words, numbers, texts in quotes, and the characters between them.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = sql.chars().peekable();
    while let Some(first) = chars.next() {
        let mut token = String::from(first);
        if first == '\'' || first == '"' {
            for next in chars.by_ref() {
                token.push(next);
                if next == first {
                    break;
                }
            }
        } else if first.is_alphanumeric() || first == '_' || first == '$' {
            while let Some(next) = chars.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '$')) {
                token.push(next);
            }
        } else if first.is_whitespace() {
            while chars.next_if(|next| next.is_whitespace()).is_some() {}
            token = " ".to_owned();
        } else if let Some(next) = chars.next_if(|next| matches!(next, ':' | '=' | '|' | '>' | '<' | '~' | '*')) {
            token.push(next);
        }
        tokens.push(token);
    }
    tokens
}

/// What is put in the place of tokens, beside those of the statements.
const PIECES: [&str; 34] = [
    "null",
    "''",
    "0",
    "-1",
    "2147483648",
    "9223372036854775807",
    "1e308",
    "'NaN'::float8",
    "true",
    "array[1,null]",
    "'{1,2}'::int[]",
    "interval '1 month'",
    "date '2024-02-29'",
    "now()",
    "'a'::text",
    "$1",
    "*",
    "(select 1)",
    "(select partitionkey from employees limit 1)",
    "partitionkey",
    "rowkey",
    "\"Timestamp\"",
    "count(*)",
    "sum(age)",
    "row(1, 'a')",
    "not",
    "in (1, null)",
    "like '%a_'",
    "between 1 and 0",
    "::numeric(38,10)",
    "order by 1",
    "group by rollup(1)",
    "limit 0",
    "union all select 1",
];

/// A statement with some of its tokens taken out, doubled, or exchanged.
struct Texts {
    statements: Vec<Vec<String>>,
    bytes: Vec<Vec<u8>>,
}

impl Texts {
    fn new() -> Self {
        let statements = statements();
        assert!(statements.len() > 300, "{} statements in {SCRIPTS}", statements.len());
        let bytes = statements.iter().map(|sql| sql.clone().into_bytes()).collect();
        Self { statements: statements.iter().map(|sql| tokens(sql)).collect(), bytes }
    }

    fn any(&self, dice: &mut Dice) -> &[String] {
        &self.statements[dice.below(self.statements.len())]
    }

    fn token(&self, dice: &mut Dice) -> String {
        if dice.chance(3) {
            return dice.pick(&PIECES).to_owned();
        }
        let statement = self.any(dice);
        statement[dice.below(statement.len())].clone()
    }

    fn next(&self, dice: &mut Dice) -> String {
        if dice.chance(12) {
            let mutator = Mutator::new(&self.bytes, &[b"\0", b"'", b"$$", b"/*", b"--", b"::", b"E'\\x"]);
            return String::from_utf8_lossy(&mutator.next(dice)).into_owned();
        }
        let mut tokens = self.any(dice).to_vec();
        for _ in 0..dice.below(5) {
            let at = dice.below(tokens.len().max(1)).min(tokens.len().saturating_sub(1));
            match dice.below(6) {
                _ if tokens.is_empty() => tokens.push(self.token(dice)),
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, self.token(dice)),
                2 | 3 => tokens[at] = self.token(dice),
                4 => {
                    let other = self.any(dice);
                    let from = dice.below(other.len());
                    let to = (from + 1 + dice.below(12)).min(other.len());
                    tokens.splice(at..at, other[from..to].iter().cloned());
                }
                _ => {
                    let end = (at + 1 + dice.below(8)).min(tokens.len());
                    tokens.insert(end, ")".to_owned());
                    tokens.insert(at, "(".to_owned());
                }
            }
        }
        tokens.concat()
    }
}

/// An engine in memory with the tables of the scripts.
fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let mut exports = Vec::new();
    files_below(Path::new(SCRIPTS), "ndjson", &mut exports);
    for export in exports {
        let table = export.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        import(&engine, &table, &fs::read_to_string(export).expect("an export"), 2000).expect("imported");
    }
    engine
}

/// Runs a statement to its last row, and says how long that took.
async fn run(session: &mut Session, sql: &str) -> (Result<()>, Duration) {
    let clock = SystemClock::new();
    let mut guard = StatementGuard::new(session.registration().signals(), Some(TIMEOUT));
    session.active(sql);
    let mut outcome = match guard.run(Box::pin(session.sql(sql, &[]))).await {
        Ok(mut answer) => loop {
            match guard.run(async { answer.next().await.transpose() }).await {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        },
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => outcome = session.succeeded(),
        Err(_) => session.failed(),
    }
    session.end_of_request();
    (outcome, clock.elapsed())
}

fn new_session(engine: &Engine) -> Session {
    let settings = Settings::new([]).expect("settings");
    engine.session(engine.account(), engine.entities().principal(), "", settings).expect("a session")
}

#[test]
fn fuzz_texts_of_statements_are_refused_or_answered_in_time() {
    let texts = Texts::new();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let (mut refused, mut answered) = (0, 0);
    let is_fault = |error: &Error| ["XX000", "XX001", "58030"].contains(&error.sqlstate().code());
    fuzz("texts of statements", |dice| {
        let engine = engine();
        let mut session = new_session(&engine);
        let mut before = Vec::new();
        for _ in 0..STATEMENTS_PER_ENGINE {
            let sql = texts.next(dice);
            let (outcome, mut took) = runtime.block_on(run(&mut session, &sql));
            for _ in 1..TRIES {
                if took > TIMEOUT + GRACE {
                    took = took.min(runtime.block_on(run(&mut new_session(&engine), &sql)).1);
                }
            }
            assert!(took <= TIMEOUT + GRACE, "{took:?}: {sql}\n\nafter {before:#?}");
            match outcome {
                Ok(()) => answered += 1,
                Err(error) => {
                    assert!(!is_fault(&error), "{error:?}: {sql}\n\nafter {before:#?}");
                    refused += 1;
                }
            }
            before.push(sql);
        }
    });
    assert!(refused > 10 && answered > 10, "{refused} refused, {answered} answered");
}
