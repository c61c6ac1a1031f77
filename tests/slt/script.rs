//! A file of statements: read, asked, and written with other answers. The format is sqllogictest's,
//! of which these are used:
//!
//! ```text
//! # A comment; the lines between records stay as they are.
//! statement ok
//! SQL, on as many lines as it takes
//!
//! statement error [part of the message]
//! SQL
//!
//! query <types> [nosort|rowsort]
//! SQL
//! ----
//! one row a line, up to an empty line
//!
//! query error [part of the message]
//! SQL
//! ```
//!
//! `rowsort` sorts the rows that are answered, column by column; those expected have to be in that
//! order.

mod tests;

use std::fmt;

use crate::comparison;

pub(crate) use tests::TESTS;

/// Letters for the types of columns.
const TYPES: &str = "TIRBDGX?";

/// Between SQL and rows.
const DELIMITER: &str = "----";

/// What a statement gives. No types: it has no rows, not even none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub types: String,
    pub rows: Vec<Vec<String>>,
}

/// The records of a file and the lines between them.
#[derive(Debug)]
pub(crate) struct Script {
    /// The file, for messages.
    name: String,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// A comment or blank line.
    Text(String),
    Record(Record),
}

#[derive(Debug)]
struct Record {
    /// From 1.
    line: usize,
    directive: Directive,
    /// The line as it is in the file.
    head: String,
    sql: String,
    expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    Statement,
    Query,
}

#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// Any answer.
    Success,
    /// Part of the message.
    Error(String),
    Rows {
        types: String,
        order: Option<Order>,
        lines: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    NoSort,
    RowSort,
}

impl Script {
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut lines = (1..).zip(text.lines());
        while let Some((number, line)) = lines.next() {
            if line.starts_with('#') || line.trim().is_empty() {
                parts.push(Part::Text(line.to_owned()));
                continue;
            }
            let (record, end) = Record::parse(number, line, &mut lines).map_err(|rule| format!("{name}:{rule}"))?;
            parts.push(Part::Record(record));
            parts.extend(end.map(|line| Part::Text(line.to_owned())));
        }
        if !parts.iter().any(|part| matches!(part, Part::Record(_))) {
            return Err(format!("{name}: no statements"));
        }
        Ok(Self { name: name.to_owned(), parts })
    }

    /// Asks everything, and tells of all that is not as expected.
    pub(crate) async fn run(&self, mut ask: impl AsyncFnMut(&str) -> Result<Answer, String>) -> Result<(), String> {
        let mut faults = Vec::new();
        for part in &self.parts {
            let Part::Record(record) = part else { continue };
            let given = record.in_order(ask(&record.sql).await);
            if let Some(fault) = record.fault(&given) {
                faults.push(record.told(&self.name, &fault));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n\n")) }
    }

    /// Asks everything, and from then on expects what was answered. Statements that had to answer
    /// and fail stay as they are, and are told.
    pub(crate) async fn update(
        &mut self,
        mut ask: impl AsyncFnMut(&str) -> Result<Answer, String>,
    ) -> Result<(), String> {
        let mut faults = Vec::new();
        for part in &mut self.parts {
            let Part::Record(record) = part else { continue };
            let given = record.in_order(ask(&record.sql).await);
            if record.fault(&given).is_none() {
                continue;
            }
            if let Err(fault) = record.accept(given) {
                faults.push(record.told(&self.name, &fault));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n\n")) }
    }
}

/// The text of the file.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            let record = match part {
                Part::Text(line) => {
                    writeln!(f, "{line}")?;
                    continue;
                }
                Part::Record(record) => record,
            };
            writeln!(f, "{}\n{}", record.head, record.sql)?;
            if let Expected::Rows { lines, .. } = &record.expected {
                writeln!(f, "{DELIMITER}")?;
                lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
            }
        }
        Ok(())
    }
}

impl Record {
    /// Reads the lines behind the first one, and the empty line at the end if there is one. Errors
    /// begin with the line.
    fn parse<'a>(
        number: usize,
        head: &str,
        lines: &mut impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<(Self, Option<&'a str>), String> {
        let (directive, mut expected) = parse_head(head).map_err(|rule| format!("{number}: {rule}"))?;
        let (mut sql, mut in_rows, mut end) = (Vec::new(), false, None);
        for (number, line) in lines {
            if line.is_empty() {
                end = Some(line);
                break;
            }
            match &mut expected {
                Expected::Rows { lines, .. } if in_rows => lines.push(line.to_owned()),
                Expected::Rows { .. } if line == DELIMITER => in_rows = true,
                _ if line == DELIMITER => {
                    return Err(format!("{number}: {DELIMITER:?} behind {head:?}, which has no rows"));
                }
                _ => sql.push(line),
            }
        }
        if sql.iter().all(|line| line.trim().is_empty()) {
            return Err(format!("{number}: no SQL behind {head:?}"));
        }
        if !in_rows && matches!(expected, Expected::Rows { .. }) {
            return Err(format!("{number}: no {DELIMITER:?} behind the SQL of {head:?}"));
        }
        Ok((Self { line: number, directive, head: head.to_owned(), sql: sql.join("\n"), expected }, end))
    }

    fn in_order(&self, mut given: Result<Answer, String>) -> Result<Answer, String> {
        if let (Expected::Rows { order: Some(Order::RowSort), .. }, Ok(answer)) = (&self.expected, &mut given) {
            answer.rows.sort();
        }
        given
    }

    /// What is not as expected.
    fn fault(&self, given: &Result<Answer, String>) -> Option<String> {
        match (&self.expected, given) {
            (Expected::Success, Ok(_)) => None,
            (Expected::Success | Expected::Rows { .. }, Err(message)) => Some(format!("fails: {message}")),
            (Expected::Error(part), Err(message)) => (!comparison::is_expected_error(message, part))
                .then(|| format!("fails otherwise than expected\n- {part}\n+ {message}")),
            (Expected::Error(_), Ok(answer)) => {
                Some(format!("has to fail, and answers {} rows ({})", answer.rows.len(), named(&answer.types)))
            }
            (Expected::Rows { types, lines, .. }, Ok(answer)) => {
                let of_types = (*types != answer.types)
                    .then(|| format!("columns are {}, expected {}", named(&answer.types), named(types)));
                let of_rows = (!comparison::is_expected(&answer.rows, lines))
                    .then(|| format!("another answer\n{}", comparison::difference(&answer.rows, lines)));
                let faults: Vec<String> = of_types.into_iter().chain(of_rows).collect();
                (!faults.is_empty()).then(|| faults.join("; "))
            }
        }
    }

    fn told(&self, file: &str, fault: &str) -> String {
        format!("{file}:{}: {fault}\n{}", self.line, self.sql)
    }

    /// Expects from now on what was given. Lines that match stay as they are, for what they ignore.
    fn accept(&mut self, given: Result<Answer, String>) -> Result<(), String> {
        let expected = match (given, &self.expected) {
            (Err(message), Expected::Error(_)) => Expected::Error(one_line(&message)),
            (Err(message), _) => return Err(format!("fails, which is not filled in: {message}")),
            (Ok(answer), _) if self.directive == Directive::Statement || answer.types.is_empty() => {
                self.directive = Directive::Statement;
                Expected::Success
            }
            (Ok(answer), Expected::Rows { order, lines, .. }) if comparison::is_expected(&answer.rows, lines) => {
                Expected::Rows { types: answer.types, order: *order, lines: lines.clone() }
            }
            (Ok(answer), before) => {
                let lines: Vec<String> = answer.rows.iter().map(|row| comparison::line(row)).collect();
                if let Some(line) = lines.iter().find(|line| line.is_empty() || line.contains(['\n', '\r'])) {
                    return Err(format!("a row is not one line of text: {line:?}"));
                }
                let order = if let Expected::Rows { order, .. } = before { *order } else { None };
                Expected::Rows { types: answer.types, order, lines }
            }
        };
        self.head = match &expected {
            Expected::Success => "statement ok".to_owned(),
            Expected::Error(part) => {
                let word = if self.directive == Directive::Statement { "statement" } else { "query" };
                format!("{word} error {part}").trim_end().to_owned()
            }
            Expected::Rows { types, order, .. } => match order {
                None => format!("query {types}"),
                Some(Order::NoSort) => format!("query {types} nosort"),
                Some(Order::RowSort) => format!("query {types} rowsort"),
            },
        };
        self.expected = expected;
        Ok(())
    }
}

fn parse_head(head: &str) -> Result<(Directive, Expected), String> {
    let (word, rest) = split_word(head);
    let (kind, rest) = split_word(rest);
    match (word, kind) {
        ("statement", "ok") if rest.is_empty() => Ok((Directive::Statement, Expected::Success)),
        ("statement", "error") => Ok((Directive::Statement, Expected::Error(rest.to_owned()))),
        ("query", "error") => Ok((Directive::Query, Expected::Error(rest.to_owned()))),
        ("query", "") => Err(format!("{head:?} has no types of columns (letters of {TYPES:?}) and no \"error\"")),
        ("query", types) => {
            if let Some(letter) = types.chars().find(|letter| !TYPES.contains(*letter)) {
                return Err(format!("{letter:?} in {head:?} is no type of a column, those are {TYPES:?}"));
            }
            let order = match rest {
                "" => None,
                "nosort" => Some(Order::NoSort),
                "rowsort" => Some(Order::RowSort),
                other => {
                    return Err(format!("{other:?} in {head:?} is no order of rows, those are nosort and rowsort"));
                }
            };
            Ok((Directive::Query, Expected::Rows { types: types.to_owned(), order, lines: Vec::new() }))
        }
        _ => Err(format!("{head:?} is none of \"statement ok\", \"statement error\", \"query\" and \"query error\"")),
    }
}

/// The first word, and what is behind it.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

/// The part of a message that fits behind `error`.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

fn named(types: &str) -> &str {
    if types.is_empty() { "none" } else { types }
}
