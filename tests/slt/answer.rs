//! What a statement answers, in the one form that all ways have: values as PostgreSQL writes them.

use std::fmt;

use rowkey_postgres::types::oid;
use sqllogictest::ColumnType;

/// What EXPLAIN and EXPLAIN ANALYZE say about sizes and times: they change with the Parquet library
/// and the machine.
const VOLATILE: [&str; 7] = ["bytes~", "bytes=", "bytes ", "cost=", "time=", "Planning Time: ", "Execution Time: "];

/// The column of a plan.
const PLAN_COLUMN: &str = "QUERY PLAN";

/// Letters for the types of columns.
const LETTERS: &str = "TIRBDGXJ?";

/// The type of a column as a letter behind `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Letter(char);

impl ColumnType for Letter {
    fn from_char(letter: char) -> Option<Self> {
        LETTERS.contains(letter).then_some(Self(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

impl Letter {
    /// That of a type of PostgreSQL.
    pub(crate) fn of(ty: u32) -> Self {
        Self(match ty {
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR => 'T',
            oid::INT2 | oid::INT4 | oid::INT8 | oid::OID => 'I',
            oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC => 'R',
            oid::BOOL => 'B',
            oid::TIMESTAMP | oid::TIMESTAMPTZ => 'D',
            oid::UUID => 'G',
            oid::BYTEA => 'X',
            oid::JSON | oid::JSONB => 'J',
            _ => '?',
        })
    }
}

/// What a statement answered. No types: it has no rows, not even none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub types: Vec<Letter>,
    /// Cells that make the line of a file when a blank is put between them, as the crate does.
    pub rows: Vec<Vec<String>>,
}

/// An answer that rows are added to.
#[derive(Debug)]
pub(crate) struct AnswerBuilder {
    is_plan: bool,
    answer: Answer,
}

impl AnswerBuilder {
    /// No rows yet, of columns with these names and types.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let (names, types): (Vec<&str>, Vec<Letter>) =
            columns.into_iter().map(|(name, ty)| (name, Letter::of(ty))).unzip();
        Self { is_plan: names == [PLAN_COLUMN], answer: Answer { types, rows: Vec::new() } }
    }

    /// Adds a row of values as PostgreSQL writes them; None is NULL.
    pub(crate) fn push<'a>(&mut self, values: impl IntoIterator<Item = Option<&'a str>>) {
        let cells = values.into_iter().zip(&self.answer.types).enumerate().map(|(place, (value, letter))| {
            let text = match value {
                None => "NULL".to_owned(),
                // The backslash of bytea's is no text.
                Some(bytes) if letter.0 == 'X' => bytes.to_owned(),
                Some(line) if self.is_plan => without_volatile(&visible(line)),
                Some(text) => visible(text),
            };
            if place == 0 { text } else { format!("| {text}") }
        });
        let row = cells.collect();
        self.answer.rows.push(row);
    }

    pub(crate) fn finish(self) -> Answer {
        self.answer
    }
}

/// Why a statement was refused.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub message: String,
    pub sqlstate: Option<String>,
}

impl Refused {
    /// A fault that is none of the statement's.
    pub(crate) fn fault(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), sqlstate: None }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// Text on one line that can be seen.
fn visible(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// The line with `#` for numbers that are not the same everywhere.
fn without_volatile(line: &str) -> String {
    let mut line = line.to_owned();
    for label in VOLATILE {
        let mut from = 0;
        while let Some(at) = line[from..].find(label) {
            let begin = from + at + label.len();
            let rest = &line[begin..];
            let number = rest.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_')).count();
            let number = rest[..number].trim_end_matches([',', '.']).len();
            let mut end = begin + number;
            for unit in [" KiB", " MiB", " GiB", " bytes", " B", "ms", "µs", "us", "ns", "s"] {
                if number > 0 && line[end..].starts_with(unit) {
                    end += unit.len();
                    break;
                }
            }
            if number > 0 {
                line.replace_range(begin..end, "#");
            }
            from = begin;
        }
    }
    line
}

/// What has to hold for the other tests to mean something.
pub(crate) fn check() {
    let masked = without_volatile("(cost=0.00..1.20 rows=5), files 1/4, bytes~1,234, time=1.5ms, bytes~2 KiB");
    assert_eq!(masked, "(cost=# rows=5), files 1/4, bytes~#, time=#, bytes~#", "sizes are masked");
    assert!(visible("") == "(empty)" && visible("a\nb\\") == "a\\nb\\\\", "values stay on their line");

    let mut answer = AnswerBuilder::new([("a", oid::TEXT), ("b", oid::BYTEA), ("c", oid::INT4)]);
    answer.push([Some("x\\y"), Some("\\x00"), None]);
    let answer = answer.finish();
    assert_eq!(answer.types.iter().map(ColumnType::to_char).collect::<String>(), "TXI");
    assert_eq!(answer.rows, [["x\\\\y", "| \\x00", "| NULL"]], "cells carry what is between them");

    let mut plan = AnswerBuilder::new([(PLAN_COLUMN, oid::TEXT)]);
    plan.push([Some("rows<=5, bytes~12")]);
    assert_eq!(plan.finish().rows, [["rows<=5, bytes~#"]]);
}
