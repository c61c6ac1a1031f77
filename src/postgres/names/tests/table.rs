//! Statements beside what they mean, in text files. A paragraph is a statement, then either
//!
//! - `= ` the statement as rewritten, and `: ` the labels of its output, each with `< ` the base
//!   column behind it, or
//! - `! ` the SQLSTATE, the message, perhaps ` | ` and a hint, and ` @ ` line and column (`-` for
//!   none).

use std::fmt::Write;

use super::{OutputColumn, resolved};

/// How a paragraph goes on behind its statement.
fn told(sql: &str) -> String {
    match resolved(sql) {
        Ok((rewritten, resolved)) => {
            let labels: Vec<String> = resolved.output.iter().map(label).collect();
            format!("  = {rewritten}\n  : {}", labels.join(", ")).trim_end().to_owned()
        }
        Err(error) => {
            let mut told = format!("  ! {} {}", error.sqlstate.code(), error.message);
            let hint = error.hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
            let position = error.position.map(|position| format!("{}:{}", position.line, position.column));
            write!(told, "{hint} @ {}", position.as_deref().unwrap_or("-")).expect("a string takes all");
            told
        }
    }
}

fn label(column: &OutputColumn) -> String {
    match &column.origin {
        Some(origin) => format!("{} < {}.{}.{}", column.label, origin.schema, origin.relation, origin.column),
        None => column.label.clone(),
    }
}

fn check(table: &str, least: usize) {
    let mut paragraphs = 0;
    let mut wrong = String::new();
    for paragraph in table.trim_end().split("\n\n") {
        let (sql, expected) = paragraph.split_once('\n').expect("a statement and what it means");
        let found = told(sql);
        paragraphs += 1;
        if found != expected {
            writeln!(wrong, "{sql}\nexpected\n{expected}\nfound\n{found}\n").expect("a string takes all");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(paragraphs >= least, "only {paragraphs} statements");
}

#[test]
fn columns() {
    check(include_str!("columns.txt"), 24);
}

#[test]
fn labels() {
    check(include_str!("labels.txt"), 7);
}

#[test]
fn from() {
    check(include_str!("from.txt"), 60);
}

#[test]
fn with() {
    check(include_str!("with.txt"), 16);
}

#[test]
fn order() {
    check(include_str!("order.txt"), 40);
}

#[test]
fn statements() {
    check(include_str!("statements.txt"), 30);
}
