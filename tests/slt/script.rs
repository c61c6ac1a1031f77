//! One file, asked in one way.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use futures::future::BoxFuture;
use sqllogictest::{
    AsyncDB, Condition, DBOutput, QueryExpect, Record, RecordOutput, Runner, StatementExpect, strict_column_validator,
    update_record_with_output,
};

use crate::answer::{Answer, Letter, Refused};
use crate::expected::{self, COLUMN_SEPARATOR};

/// Asks a statement.
pub(crate) type Ask = Box<dyn FnMut(String) -> BoxFuture<'static, Result<Answer, Refused>> + Send>;

/// How a file is asked.
pub(crate) struct Way {
    /// Also the label of `onlyif` and `skipif`.
    pub name: &'static str,
    /// What of a line is compared.
    pub compared: fn(&String) -> String,
}

/// A connection as the crate knows it.
struct Connection {
    ask: Ask,
}

impl AsyncDB for Connection {
    type Error = Refused;
    type ColumnType = Letter;

    // As `async_trait` writes it.
    fn run<'life0, 'life1, 'async_trait>(
        &'life0 mut self,
        sql: &'life1 str,
    ) -> BoxFuture<'async_trait, Result<DBOutput<Letter>, Refused>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        let asked = (self.ask)(sql.to_owned());
        Box::pin(async move {
            // Rows even where there are no columns: the crate takes a statement without rows for a
            // query that found none, whatever its columns.
            let Answer { types, rows } = asked.await?;
            Ok(DBOutput::Rows { types, rows })
        })
    }

    fn shutdown<'life0, 'async_trait>(&'life0 mut self) -> BoxFuture<'async_trait, ()>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(std::future::ready(()))
    }

    fn error_sql_state(refused: &Refused) -> Option<String> {
        refused.sqlstate.clone()
    }
}

/// The records of a file.
#[derive(Debug)]
pub(crate) struct Script {
    records: Vec<Record<Letter>>,
    /// Which of them were asked when answers were filled in.
    asked: Vec<bool>,
}

impl Script {
    /// `labels` are those that `skipif` and `onlyif` may name.
    pub(crate) fn read(file: &Path, labels: &[&str]) -> Result<Self, String> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&name, &text, labels)
    }

    pub(crate) fn parse(name: &str, text: &str, labels: &[&str]) -> Result<Self, String> {
        let records = sqllogictest::parse_with_name(text, name).map_err(|error| error.to_string())?;
        let is_asked = |record: &&Record<Letter>| matches!(record, Record::Statement { .. } | Record::Query { .. });
        if records.iter().filter(is_asked).count() == 0 {
            return Err(format!("{name}: no statements"));
        }
        for record in &records {
            match record {
                // What is behind it would never be asked.
                Record::Halt { loc } => return Err(format!("{loc}: halt")),
                Record::Condition(Condition::OnlyIf { label } | Condition::SkipIf { label })
                    if !labels.contains(&label.as_str()) =>
                {
                    return Err(format!("{name}: label {label:?} is none of {labels:?}"));
                }
                _ => {}
            }
        }
        let script = Self { asked: vec![false; records.len()], records };
        if script.to_string() != text {
            return Err(format!("{name}: would be written back otherwise; look at blank lines and ends of lines"));
        }
        Ok(script)
    }

    /// Asks everything, and tells of all that is not as expected.
    pub(crate) async fn run(&self, way: &Way, open: impl FnMut() -> Result<Ask, Refused>) -> Result<(), String> {
        let mut runner = runner(way, open);
        let mut faults = Vec::new();
        for record in &self.records {
            faults.extend(runner.run_async(record.clone()).await.err().map(|fault| fault.to_string()));
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }

    /// Asks everything, and from then on expects what was answered, but for what an earlier call
    /// has asked. Statements that had to answer and fail stay as they are, and are told.
    pub(crate) async fn update(&mut self, way: &Way, open: impl FnMut() -> Result<Ask, Refused>) -> Result<(), String> {
        let mut runner = runner(way, open);
        let mut faults = Vec::new();
        for (record, asked) in self.records.iter_mut().zip(&mut self.asked) {
            let output = runner.apply_record(record.clone()).await;
            if *asked || matches!(output, RecordOutput::Nothing) {
                continue;
            }
            *asked = true;
            if let Some(fault) = failure(record, &output) {
                faults.push(fault);
                continue;
            }
            let updated = update_record_with_output(
                record,
                &output,
                COLUMN_SEPARATOR,
                expected::is_expected,
                way.compared,
                strict_column_validator,
            );
            *record = updated.unwrap_or_else(|| record.clone());
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }
}

/// The text of the file.
impl std::fmt::Display for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for record in &self.records {
            writeln!(text, "{record}")?;
        }
        // Records end with a blank line, and so would the file.
        writeln!(f, "{}", text.trim_end_matches('\n'))
    }
}

fn runner<M>(way: &Way, mut open: M) -> Runner<Connection, impl sqllogictest::MakeConnection<Conn = Connection>>
where
    M: FnMut() -> Result<Ask, Refused>,
{
    let mut runner = Runner::new(move || std::future::ready(open().map(|ask| Connection { ask })));
    runner.with_validator(expected::is_expected);
    runner.with_normalizer(way.compared);
    runner.with_column_validator(strict_column_validator);
    runner.add_label(way.name);
    runner
}

/// That a statement failed which had to answer.
fn failure(record: &Record<Letter>, output: &RecordOutput<Letter>) -> Option<String> {
    let (RecordOutput::Query { error: Some(error), .. } | RecordOutput::Statement { error: Some(error), .. }) = output
    else {
        return None;
    };
    match record {
        Record::Query { expected: QueryExpect::Error(_), .. }
        | Record::Statement { expected: StatementExpect::Error(_), .. } => None,
        Record::Query { loc, sql, .. } | Record::Statement { loc, sql, .. } => {
            Some(format!("{loc}: fails, which is not filled in: {error}\n{sql}\n"))
        }
        _ => None,
    }
}
