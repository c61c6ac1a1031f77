//! `rowkey sql --sample` without a query: one question, asked in four ways.

use std::io::{self, Write};
use std::sync::Arc;

use super::failure::Failure;
use super::output::{ResultColumns, TableWriter};
use super::text::{counted, visible, width, wrapped};
use crate::sample;
use rowkey_postgres::types::TextStyle;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::Answer;

/// The width of the page, in terminal columns.
const PAGE_COLUMNS: usize = 100;
const INDENT: &str = "    ";
/// Rows of an answer that are shown.
const ROWS_SHOWN_MAX: u64 = 5;

/// What EXPLAIN writes in the line that names the access path of a table.
const ACCESS_PATH: &str = "access path";
/// What it writes where it counts what is read.
const COUNTS: &str = "range partitions";

/// Asks the questions and shows, for each, the answer and how it was found; then all of them side
/// by side.
pub(super) async fn run(database: &Engine, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "One question, asked in {} ways", sample::QUESTIONS.len())?;
    writeln!(out, "The answer is the same each time. What is read for it depends on the keys that are named.")?;
    for (at, (label, sql)) in sample::QUESTIONS.iter().enumerate() {
        write_heading(&format!("{}. {label}", at + 1), out)?;
        for line in sql.trim().lines() {
            show_wrapped(line, out)?;
        }
        writeln!(out)?;
        show_answer(database, sql, out).await?;
        writeln!(out)?;
        show_plan(database, sql, out).await?;
        out.flush()?;
    }
    write_heading("Side by side", out)?;
    show_side_by_side(database, out).await?;
    write_heading("Go on", out)?;
    for line in GO_ON {
        writeln!(out, "{INDENT}{line}")?;
    }
    Ok(())
}

const GO_ON: [&str; 4] = [
    "rowkey sql --sample 'SELECT ...'                   ask these samples something else",
    "rowkey sql --sample 'EXPLAIN ANALYZE SELECT ...'   see what a question really reads",
    "rowkey import --table NAME PATH...                 import an export of a table of yours",
    "rowkey sql 'SELECT count(*) FROM \"NAME\"'           and ask it",
];

/// A title on a rule across the page, between empty lines.
fn write_heading(title: &str, out: &mut dyn Write) -> io::Result<()> {
    let heading = format!("-- {title} ");
    writeln!(out, "\n{heading}{}\n", "-".repeat(PAGE_COLUMNS.saturating_sub(width(&heading))))
}

/// The first rows of the answer, indented.
async fn show_answer(database: &Engine, sql: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut answer = database.sql(sql, &[]).await?;
    let mut table = TableWriter::new(columns_of(&answer), "");
    let mut text = Vec::new();
    let mut rows = 0;
    while let Some(batch) = answer.next().await {
        let batch = batch?;
        let left = ROWS_SHOWN_MAX.saturating_sub(rows).min(batch.num_rows() as u64);
        table.batch(&batch.slice(0, left as usize), &mut text)?;
        rows += batch.num_rows() as u64;
    }
    let footer = match rows.checked_sub(ROWS_SHOWN_MAX) {
        Some(more) if more > 0 => format!("... and {more} more ({})", counted(rows, "row", "rows")),
        _ => format!("({})", counted(rows, "row", "rows")),
    };
    table.finish_with(&footer, &mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        writeln!(out, "{INDENT}{line}")?;
    }
    Ok(())
}

/// What EXPLAIN says about access paths, out of the whole plan.
async fn show_plan(database: &Engine, sql: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let plan = text_of(database.sql(&format!("EXPLAIN {sql}"), &[]).await?).await?;
    let lines: Vec<&str> = plan.iter().flat_map(|row| row.iter()).flat_map(|cell| cell.lines()).collect();
    for line in access_lines(&lines) {
        show_wrapped(line.trim(), out)?;
    }
    Ok(())
}

/// Indents a line, and breaks it if the page is too narrow for it.
fn show_wrapped(line: &str, out: &mut dyn Write) -> io::Result<()> {
    if width(line) <= PAGE_COLUMNS - INDENT.len() {
        return writeln!(out, "{INDENT}{line}");
    }
    for (at, part) in wrapped(line, PAGE_COLUMNS - 2 * INDENT.len()).iter().enumerate() {
        writeln!(out, "{INDENT}{}{part}", if at == 0 { "" } else { INDENT })?;
    }
    Ok(())
}

/// The lines that name an access path or count what is read; the whole plan if there are none.
fn access_lines<'a>(plan: &[&'a str]) -> Vec<&'a str> {
    let is_about_access = |line: &&str| {
        let line = line.to_lowercase();
        line.contains(ACCESS_PATH) || line.contains(COUNTS)
    };
    let named: Vec<&str> = plan.iter().copied().filter(is_about_access).collect();
    if named.is_empty() { plan.to_vec() } else { named }
}

/// What `access_paths` returns for each question, as a column of its own.
async fn show_side_by_side(database: &Engine, out: &mut dyn Write) -> Result<(), Failure> {
    let mut names = Vec::new();
    let mut columns = Vec::new();
    for (label, sql) in sample::QUESTIONS {
        let quoted = sql.trim().replace('\'', "''");
        let answer = database.sql(&format!("SELECT * FROM access_paths('{quoted}')"), &[]).await?;
        names = columns_of(&answer).names().map(str::to_owned).collect();
        for row in text_of(answer).await? {
            columns.push(((*label).to_owned(), row));
        }
    }
    for line in side_by_side(&names, &columns, PAGE_COLUMNS) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Rows as columns: a line (or more, where text is long) for each name that has a value anywhere.
fn side_by_side(names: &[String], columns: &[(String, Vec<String>)], page_columns: usize) -> Vec<String> {
    let name_columns = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let rest = page_columns.saturating_sub(name_columns + 2);
    let cell_columns = (rest / columns.len().max(1)).saturating_sub(3).max(8);
    let rule = std::iter::once("-".repeat(name_columns + 2))
        .chain(columns.iter().map(|_| "-".repeat(cell_columns + 2)))
        .collect::<Vec<_>>();

    let mut lines = Vec::new();
    let mut row = |name: &str, cells: Vec<&str>| {
        let cells: Vec<Vec<String>> = cells.iter().map(|cell| wrapped(cell, cell_columns)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for at in 0..height {
            let mut line = String::from(" ");
            push_cell(if at == 0 { name } else { "" }, name_columns, &mut line);
            for cell in &cells {
                line.push_str(" | ");
                push_cell(cell.get(at).map_or("", String::as_str), cell_columns, &mut line);
            }
            lines.push(line.trim_end_matches(' ').to_owned());
        }
    };
    row("", columns.iter().map(|(label, _)| label.as_str()).collect());
    for (at, name) in names.iter().enumerate() {
        let cells: Vec<&str> = columns.iter().map(|(_, row)| row.get(at).map_or("", String::as_str)).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            row(name, cells);
        }
    }
    let heading_lines = columns.iter().map(|(label, _)| wrapped(label, cell_columns).len()).max().unwrap_or(1);
    lines.insert(heading_lines, rule.join("+"));
    lines
}

fn push_cell(text: &str, columns: usize, line: &mut String) {
    line.push_str(text);
    line.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
}

/// The columns of an answer, under the settings of a new session.
fn columns_of(answer: &Answer) -> ResultColumns {
    ResultColumns::new(answer.schema().fields().iter().map(Arc::clone), &Arc::new(TextStyle::default()))
}

/// All values of a small result as text, row by row.
async fn text_of(mut answer: Answer) -> Result<Vec<Vec<String>>, Failure> {
    let columns = columns_of(&answer);
    let mut rows = Vec::new();
    while let Some(batch) = answer.next().await {
        let values = columns.text(&batch?)?.rows()?;
        rows.extend(values.into_iter().map(|row| {
            let cells = row.into_iter().map(|cell| cell.map_or_else(String::new, |text| visible(&text)));
            cells.collect::<Vec<_>>()
        }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let owned = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(|(label, row)| ((*label).to_owned(), owned(row))).collect()
    }

    #[test]
    fn rows_become_columns() {
        let names = ["access_path", "keys", "hint", "files"].map(str::to_owned);
        let columns = columns(&[
            ("point", &["point", "PartitionKey = 'a' AND RowKey = '1'", "", "1/4"]),
            ("table", &["table", "all keys", "", "4/4"]),
        ]);
        let lines = side_by_side(&names, &columns, 54).join("\n");
        let expected = "
             | point             | table
-------------+-------------------+-------------------
 access_path | point             | table
 keys        | PartitionKey =    | all keys
             | 'a' AND RowKey =  |
             | '1'               |
 files       | 1/4               | 4/4";
        assert_eq!(lines, expected[1..]);
    }

    #[test]
    fn a_page_is_not_overrun() {
        let names = ["residual filter".to_owned()];
        let long = "x".repeat(300);
        let columns = columns(&[("a", &[&long]), ("b", &[&long]), ("c", &[""]), ("d", &[&long])]);
        let lines = side_by_side(&names, &columns, PAGE_COLUMNS);
        assert!(lines.len() > 10);
        assert!(lines.iter().all(|line| width(line) <= PAGE_COLUMNS), "{lines:?}");
        assert!(GO_ON.iter().all(|line| INDENT.len() + width(line) <= PAGE_COLUMNS));
    }

    #[test]
    fn the_lines_about_access() {
        let plan =
            ["Sort", "  Scan of devices", "    Access path: point, keys=1", "    range partitions 1/4, files 1/4"];
        assert_eq!(access_lines(&plan), plan[2..]);
        assert_eq!(access_lines(&plan[..2]), plan[..2]);
    }
}
