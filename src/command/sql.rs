//! `rowkey sql`: statements from the command line, a file or standard input.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;

use super::arguments::SqlArguments;
use super::failure::{Failure, Outcome};
use super::output::{self, Form};
use super::{prompt, tour};
use crate::sample;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{Request, StatementGuard, parse_all};
use std::sync::Arc;

/// Most bytes of statements, which are in memory as a whole.
const STATEMENTS_BYTES_MAX: u64 = 64 << 20;

const HOW_TO_ASK: &str =
    "rowkey sql 'SELECT ...', rowkey sql -f FILE, or rowkey sql < FILE; or rowkey sql at a terminal";

pub(super) async fn run(arguments: SqlArguments) -> Result<Outcome, Failure> {
    let is_prompt = is_prompt(&arguments)?;
    let is_tour = !is_prompt && arguments.sample && arguments.query.is_none() && arguments.file.is_none();
    if is_tour && arguments.output.is_some_and(|form| form != Form::Table) {
        return Err(Failure::usage(
            "the tour of the sample data is text for people; --output csv and json need a query",
            "rowkey sql --sample --output csv 'SELECT ...'",
        ));
    }
    let location = if arguments.sample { arguments.data.location_of_sample() } else { arguments.data.location()? };
    let text = match (arguments.query, arguments.file) {
        _ if is_tour || is_prompt => String::new(),
        (Some(query), _) => query,
        (None, Some(file)) if file == Path::new("-") => read_standard_input()?,
        (None, Some(file)) => read_file(&file)?,
        // Somebody types, and nobody would see a prompt.
        (None, None) if io::stdin().is_terminal() => return Err(Failure::usage("there is no query", HOW_TO_ASK)),
        (None, None) => read_standard_input()?,
    };
    let statements = rowkey_sql::session::split_statements(&text)?;
    if statements.is_empty() && !is_tour && !is_prompt {
        return Err(Failure::usage("the input holds no statement", HOW_TO_ASK));
    }
    if !arguments.sample
        && let Err(missing) = super::expect_folder(&location)
        && !makes_table_first(&statements)
    {
        return Err(missing);
    }
    let database = super::open_with(&location, &arguments.data, &arguments.engine).await?;
    if arguments.sample {
        fill_sample(&database).await?;
    }
    if is_prompt {
        return prompt::run(database, &location).await;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let done = if is_tour {
        tour::run(&database, &mut out).await
    } else {
        execute(&database, &statements, arguments.output.unwrap_or(Form::Table), &mut out).await
    };
    // What was printed before an error stays printed, and comes before its message.
    let flushed = out.flush();
    done?;
    flushed?;
    Ok(Outcome::Well)
}

/// Whether statements are typed one by one: asked for, or at a terminal where nothing else is said.
fn is_prompt(arguments: &SqlArguments) -> Result<bool, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let is_plain = arguments.query.is_none() && arguments.file.is_none() && !arguments.sample;
    if arguments.prompt && !is_terminal {
        return Err(Failure::usage("--prompt needs a terminal to type at", HOW_TO_ASK));
    }
    let is_prompt = arguments.prompt || is_plain && is_terminal;
    if is_prompt && arguments.output.is_some_and(|form| form != Form::Table) {
        return Err(Failure::usage(
            "the prompt prints tables; --output csv and json need a query",
            "rowkey sql --output csv 'SELECT ...'",
        ));
    }
    Ok(is_prompt)
}

/// Whether the first statement but SET, BEGIN and the like makes a table: then a folder that is not
/// there is made.
fn makes_table_first(statements: &[String]) -> bool {
    let mut requests = statements.iter().map(|text| match parse_all(text) {
        Ok(mut parsed) => parsed.pop().map(|statement| statement.request),
        Err(_) => None,
    });
    let first = requests.find(|request| !matches!(request, Some(Request::Command(_))));
    first.flatten().is_some_and(|request| request.makes_table())
}

/// Adds the sample tables.
pub(super) async fn fill_sample(database: &Arc<Engine>) -> Result<(), Failure> {
    let filled = database.clone();
    match tokio::task::spawn_blocking(move || sample::fill(&filled)).await {
        Ok(filled) => Ok(filled?),
        Err(error) => Err(Failure::defect(format!("making the sample tables ended unexpectedly: {error}"))),
    }
}

/// Runs the statements in order and prints each result before the next statement runs. The first
/// error ends it.
async fn execute(database: &Engine, statements: &[String], form: Form, out: &mut dyn Write) -> Result<(), Failure> {
    let mut tables = 0;
    let mut session = database.own_session()?;
    for statement in statements {
        let timeout = session.settings().limits().statement_timeout;
        let mut guard = StatementGuard::new(session.registration().signals(), timeout);
        let answer = guard.run(session.sql(statement, &[])).await?;
        for notice in session.take_notices() {
            eprintln!("note: {notice}");
        }
        if form == Form::Table && !answer.schema().fields().is_empty() {
            if tables > 0 {
                writeln!(out)?;
            }
            tables += 1;
        }
        output::print(answer, form, out).await?;
        out.flush()?;
        session.succeeded()?;
    }
    Ok(())
}

pub(super) fn read_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| unreadable(&name, error))?;
    read(file, &name)
}

fn read_standard_input() -> Result<String, Failure> {
    read(io::stdin().lock(), "standard input")
}

fn read(input: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    input.take(STATEMENTS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, error))?;
    if bytes.len() as u64 > STATEMENTS_BYTES_MAX {
        return Err(Failure::plain(
            format!("{name} is longer than {} MiB", STATEMENTS_BYTES_MAX >> 20),
            "statements are read as a whole; split them into several files",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        Failure::plain(format!("{name}:{line}: the text is not UTF-8"), "statements are written in UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn unreadable(name: &str, error: io::Error) -> Failure {
    Failure::plain(format!("{name}: cannot read it: {error}"), HOW_TO_ASK)
}

#[cfg(test)]
mod tests {
    use rowkey_sql::engine::Options;

    use super::*;

    fn message(failure: Failure) -> String {
        match failure {
            Failure::Plain { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    async fn answers(statements: &[&str]) -> Result<String, Failure> {
        let database = Arc::new(Engine::open(":memory:", Options::new().unwrap()).await?);
        let statements: Vec<String> = statements.iter().map(|statement| (*statement).to_owned()).collect();
        let mut out = Vec::new();
        execute(&database, &statements, Form::Csv, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn settings_last_from_one_statement_to_the_next_however_they_are_set() {
        let printed =
            answers(&["SELECT set_config('TimeZone', 'Europe/Berlin', false)", "SHOW TimeZone"]).await.unwrap();
        assert_eq!(printed.lines().last(), Some("Europe/Berlin"));
        let endless = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
        match answers(&["SET statement_timeout = 100", endless]).await.unwrap_err() {
            Failure::Engine(error) => assert_eq!(error.to_string(), "canceling statement due to statement timeout"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn statements_are_utf8_text_of_bounded_length() {
        assert_eq!(read("\u{feff}SELECT 'é'".as_bytes(), "a.sql").unwrap(), "SELECT 'é'");
        let failure = read(b"SELECT 1;\nSELECT '\xff'".as_slice(), "a.sql").unwrap_err();
        assert_eq!(message(failure), "a.sql:2: the text is not UTF-8");
        let failure = read(io::repeat(b' '), "a.sql").unwrap_err();
        assert_eq!(message(failure), "a.sql is longer than 64 MiB");
        assert!(message(read_file(Path::new("/no/such.sql")).unwrap_err()).starts_with("/no/such.sql: cannot read it"));
    }
}
