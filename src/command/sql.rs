//! `rowkey sql`: statements from the command line, a file or standard input.

mod remote;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use super::arguments::{DATA_DEFAULT, DATA_MEMORY, SqlArguments};
use super::failure::{ExitStatus, Failure};
use super::output::{self, Form, ResultColumns, ResultWriter};
use super::script::{HOW_TO_ASK, read_file, read_standard_input};
use super::{prompt, sample, tour};
use rowkey_postgres::syntax::visit_relations_mut;
use rowkey_postgres::types::TextStyle;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{
    Error, Outcome, Request, Rows, Session, SqlState, StatementGuard, export_path, parse_all, write_tag,
};

/// The first words of statements that write.
const WRITING: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];
/// Rows asked for at a time.
const BATCH_ROWS_MAX: usize = 8192;

pub(super) async fn run(arguments: SqlArguments) -> Result<ExitStatus, Failure> {
    let is_prompt = is_prompt(&arguments)?;
    let is_tour = !is_prompt && arguments.sample && arguments.query.is_none() && arguments.file.is_none();
    if is_tour && arguments.output.is_some_and(|form| form != Form::Table) {
        return Err(Failure::usage(
            "the tour of the sample data is text for people; other forms of --output need a query",
            "rowkey sql --sample --output csv 'SELECT ...'",
        ));
    }
    if is_prompt && arguments.server.is_some() {
        return Err(Failure::usage("there is no query for the server", "give it one, or use psql for a prompt"));
    }
    let mut location =
        if arguments.sample { arguments.data.location_of_sample() } else { arguments.data.location()? };
    let is_script = arguments.query.is_none();
    let text = match (arguments.query, arguments.file) {
        _ if is_tour || is_prompt => String::new(),
        (Some(query), _) => query,
        (None, Some(file)) if file == Path::new("-") => read_standard_input()?,
        (None, Some(file)) => read_file(&file)?,
        // At a terminal, with output that goes elsewhere: a prompt would not be seen.
        (None, None) if io::stdin().is_terminal() => return Err(Failure::usage("there is no query", HOW_TO_ASK)),
        (None, None) => read_standard_input()?,
    };
    let beside_commands = prompt::statements_beside_commands(&text);
    let has_commands = beside_commands.is_some();
    let statements = match beside_commands {
        Some(statements) => statements,
        None => rowkey_sql::session::split_statements(&text)?,
    };
    if statements.is_empty() && !has_commands && !is_tour && !is_prompt {
        return Err(Failure::usage("the input holds no statement", HOW_TO_ASK));
    }
    let form = arguments.output.unwrap_or(Form::Table);
    if let Some(url) = &arguments.server {
        if has_commands {
            return Err(Failure::usage(
                "commands that begin with a backslash are not for --server",
                "use psql, which has them all",
            ));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let done = remote::execute(url, &statements, &mut Printer { form, tables: 0, out: &mut out }).await;
        return ended(done, is_script, &mut out);
    }
    if !arguments.sample
        && let Err(missing) = super::expect_folder(&location)
        && !makes_table_first(&statements)
    {
        if location != DATA_DEFAULT || !statements.iter().any(|text| reads_export(text)) {
            return Err(missing);
        }
        location = DATA_MEMORY.to_owned();
    }
    let database = super::open_with(&location, &arguments.data, &arguments.engine).await?;
    if arguments.sample {
        sample::add(&database).await?;
    }
    if is_prompt {
        return prompt::run(database, &location).await;
    }
    if has_commands {
        return prompt::run_text(database, &location, text, form).await;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let done = if is_tour {
        tour::run(&database, &mut out).await
    } else {
        execute(&database, &statements, form, &mut out).await
    };
    ended(done, is_script, &mut out)
}

/// Results before an error are printed before its message.
fn ended(done: Result<(), Failure>, is_script: bool, out: &mut dyn Write) -> Result<ExitStatus, Failure> {
    let flushed = out.flush();
    done.map_err(|failure| if is_script { failure.in_script() } else { failure })?;
    flushed?;
    Ok(ExitStatus::Well)
}

/// Whether there is a prompt: with `--prompt`, or at a terminal without any statement.
fn is_prompt(arguments: &SqlArguments) -> Result<bool, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let is_plain = arguments.query.is_none() && arguments.file.is_none() && !arguments.sample;
    if arguments.prompt && !is_terminal {
        return Err(Failure::usage("--prompt needs a terminal to type at", HOW_TO_ASK));
    }
    let is_prompt = arguments.prompt || is_plain && is_terminal;
    if is_prompt && arguments.output.is_some_and(|form| form != Form::Table) {
        return Err(Failure::usage(
            "the prompt prints tables; other forms of --output need a query",
            "rowkey sql --output csv 'SELECT ...'",
        ));
    }
    Ok(is_prompt)
}

/// Whether the first statement but SET, BEGIN and the like makes a table: then a folder that is not
/// there is made.
fn makes_table_first(statements: &[String]) -> bool {
    let mut requests = statements.iter().map(|text| match parse_all(text) {
        Ok(mut parsed) => parsed.pop().map(|statement| statement.into_request()),
        Err(_) => None,
    });
    let first = requests.find(|request| !matches!(request, Some(Request::Command(_))));
    first.flatten().is_some_and(|request| request.makes_table())
}

/// Whether a statement reads a file, whose path is a name in single quotes.
fn reads_export(text: &str) -> bool {
    let Some(mut query) = parse_all(text).ok().and_then(|parsed| parsed.first()?.request.statement().ok().cloned())
    else {
        return false;
    };
    let mut reads = false;
    visit_relations_mut(&mut query, |name| reads |= export_path(name).is_some());
    reads
}

/// Runs the statements in order and prints each result before the next statement runs. The first
/// error ends it.
async fn execute(database: &Engine, statements: &[String], form: Form, out: &mut dyn Write) -> Result<(), Failure> {
    let mut printer = Printer { form, tables: 0, out };
    let mut session = database.own_session()?;
    for text in statements {
        session.active(text);
        run_statement(&mut session, text, &mut printer).await.map_err(|failure| failure.in_statement(text))?;
        session.succeeded()?;
        session.end_of_request();
    }
    Ok(())
}

async fn run_statement(session: &mut Session, text: &str, printer: &mut Printer<'_>) -> Result<(), Failure> {
    let timeout = session.settings().limits().statement_timeout;
    let mut guard = StatementGuard::new(session.registration().signals(), timeout);
    let Some(statement) = parse_all(text)?.pop() else { return Ok(()) };
    let prepared = Arc::new(guard.run(session.prepare(Arc::new(statement), &[])).await?);
    if !prepared.parameters.is_empty() {
        return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1").into());
    }
    let outcome = guard.run(session.run(&prepared, &Arc::default())).await?;
    for notice in session.take_notices() {
        eprintln!("note: {notice}");
    }
    let style = Arc::clone(session.settings().style());
    match outcome {
        Outcome::Done(tag) => printer.tag(&tag),
        Outcome::Rows(mut rows) => {
            printer.print(&mut rows, u64::MAX, &style, &mut guard).await?;
            match WRITING.contains(&rows.verb) {
                true => printer.tag(&write_tag(rows.verb, rows.taken)),
                false => Ok(()),
            }
        }
        Outcome::FromCursor { name, rows_max } => {
            let mut portal = session.take_portal(&name)?;
            printer.print(portal.state.open_rows(&name)?, rows_max, &style, &mut guard).await?;
            session.put_portal(&name, portal);
            Ok(())
        }
        Outcome::Copy(_) => {
            let message = "COPY needs a connection of the Postgres wire";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).into())
        }
    }
}

/// Prints results one after the other.
struct Printer<'a> {
    form: Form,
    /// Tables printed so far.
    tables: u64,
    out: &'a mut dyn Write,
}

impl Printer<'_> {
    /// Prints what a statement without rows, or one that wrote, did.
    fn tag(&mut self, tag: &str) -> Result<(), Failure> {
        if self.form.is_for_people() && !tag.is_empty() {
            writeln!(self.out, "{tag}")?;
        }
        Ok(())
    }

    /// The writer of a result; none for one without columns.
    fn writer(&mut self, columns: ResultColumns) -> Result<Option<Box<dyn ResultWriter>>, Failure> {
        if columns.is_empty() {
            return Ok(None);
        }
        let writer = output::writer(self.form, columns)?;
        // In Markdown rows behind an empty line are another table.
        if self.form.is_for_people() || self.form == Form::Markdown {
            if self.tables > 0 {
                writeln!(self.out)?;
            }
            self.tables += 1;
        }
        Ok(Some(writer))
    }

    /// Prints rows as they come, at most `rows_max`. A result without columns prints nothing.
    async fn print(
        &mut self,
        rows: &mut Rows,
        rows_max: u64,
        style: &Arc<TextStyle>,
        guard: &mut StatementGuard,
    ) -> Result<(), Failure> {
        let mut writer = self.writer(ResultColumns::of(rows, style))?;
        let mut left = rows_max;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(BATCH_ROWS_MAX);
            let batch = match guard.run(rows.next(most)).await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => {
                    if let Some(mut writer) = writer {
                        writer.abandon(self.out)?;
                    }
                    return Err(error.into());
                }
            };
            left -= batch.num_rows() as u64;
            if let Some(writer) = &mut writer {
                writer.batch(&batch, self.out)?;
            }
        }
        if let Some(mut writer) = writer {
            writer.finish(self.out)?;
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use rowkey_sql::engine::Options;

    use super::*;

    async fn answers(statements: &[&str]) -> Result<String, Failure> {
        let database = Arc::new(Engine::open(":memory:", Options::default()).await?);
        let statements: Vec<String> = statements.iter().map(|statement| (*statement).to_owned()).collect();
        let mut out = Vec::new();
        execute(&database, &statements, Form::Csv, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn values_follow_the_settings() {
        let asked = "SELECT TIMESTAMPTZ '2024-06-01 12:00:00+00' AS at, ARRAY[1, 2] AS list, \
                     INTERVAL '1 day 2 hours' AS span, '\\x00ff'::bytea AS data, 0.1::float8 + 0.2 AS sum";
        let printed = answers(&[asked]).await.unwrap();
        let row = |printed: &str| printed.lines().last().unwrap_or_default().to_owned();
        let expected = "2024-06-01 12:00:00+00,\"{1,2}\",1 day 02:00:00,\\x00ff,0.30000000000000004";
        assert_eq!(row(&printed), expected);
        let set = "SET TimeZone = 'Europe/Berlin'; SET DateStyle = German; SET IntervalStyle = iso_8601; \
                   SET bytea_output = escape; SET extra_float_digits = 0";
        let mut statements: Vec<&str> = set.split("; ").collect();
        statements.push(asked);
        let printed = answers(&statements).await.unwrap();
        assert_eq!(row(&printed), "01.06.2024 14:00:00 CEST,\"{1,2}\",P1DT2H,\\000\\377,0.3");
    }

    #[tokio::test]
    async fn rows_of_cursors_are_printed() {
        let declare = "DECLARE c CURSOR FOR SELECT n FROM generate_series(1, 5) AS g(n) ORDER BY n";
        let printed = answers(&["BEGIN", declare, "FETCH 2 FROM c", "FETCH 2 FROM c", "COMMIT"]).await.unwrap();
        assert_eq!(printed, "n\n1\n2\nn\n3\n4\n");
        let failure = answers(&["COPY (SELECT 1) TO STDOUT"]).await.unwrap_err();
        assert!(
            matches!(&failure, Failure::Statement(failure) if failure.error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED)
        );
    }

    #[tokio::test]
    async fn settings_last_from_one_statement_to_the_next_however_they_are_set() {
        let printed =
            answers(&["SELECT set_config('TimeZone', 'Europe/Berlin', false)", "SHOW TimeZone"]).await.unwrap();
        assert_eq!(printed.lines().last(), Some("Europe/Berlin"));
        let endless = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
        match answers(&["SET statement_timeout = 100", endless]).await.unwrap_err() {
            Failure::Statement(failure) => {
                assert_eq!(failure.error.to_string(), "canceling statement due to statement timeout")
            }
            other => panic!("{other:?}"),
        }
    }
}
