//! What the statements of a file leave: the same in every way.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::script::Ask;

/// All relations with their columns.
const COLUMNS: &str = "SELECT table_name, table_type, column_name, data_type \
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) \
    WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";

/// The states that files were left in, by file, and in which way that was seen first.
#[derive(Default)]
pub(crate) struct States {
    seen: Mutex<HashMap<PathBuf, (&'static str, Vec<String>)>>,
}

impl States {
    /// Whether a file leaves what it has left in other ways, as far as those have run.
    pub(crate) fn expect_same(&self, file: &Path, way: &'static str, state: Vec<String>) -> Result<(), String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (other, expected) = seen.entry(file.to_owned()).or_insert_with(|| (way, state.clone()));
        match expected.iter().zip(&state).find(|(expected, line)| expected != line) {
            Some((expected, line)) => Err(format!("{}: left\n{line}\nwhere {other} left\n{expected}", file.display())),
            None if expected.len() != state.len() => {
                let (lines, others) = (state.len(), expected.len());
                Err(format!("{}: left {lines} columns and rows, where {other} left {others}", file.display()))
            }
            None => Ok(()),
        }
    }
}

/// Relations with their columns, and the rows of tables in the order of their keys. Timestamps are
/// left out: they depend on the time of writes.
pub(crate) async fn state(ask: &mut Ask) -> Result<Vec<String>, String> {
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    let mut state = Vec::new();
    for row in rows(ask, COLUMNS).await? {
        state.push(row.join(" "));
        let [table, kind, column, _] = &row[..] else { return Err(format!("columns are {row:?}")) };
        let [kind, column] = [kind, column].map(|cell| cell.trim_start_matches("| ").to_owned());
        if kind != "BASE TABLE" || column == "Timestamp" {
            continue;
        }
        match columns.last_mut() {
            Some((last, columns)) if last == table => columns.push(column),
            _ => columns.push((table.clone(), vec![column])),
        }
    }
    for (table, columns) in columns {
        let columns: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
        let sql = format!("SELECT {} FROM public.\"{table}\" ORDER BY 1, 2", columns.join(", "));
        state.extend(rows(ask, &sql).await?.into_iter().map(|row| format!("{table}: {}", row.join(" "))));
    }
    Ok(state)
}

async fn rows(ask: &mut Ask, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let answer = ask(sql.to_owned()).await;
    answer.map(|answer| answer.rows).map_err(|refused| format!("{refused}\n{sql}"))
}

/// What has to hold for the other tests to mean something.
pub(crate) fn check() {
    let states = States::default();
    let left = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let (one, other) = (Path::new("one.slt"), Path::new("other.slt"));
    assert_eq!(states.expect_same(one, "here", left(&["a", "b"])), Ok(()));
    assert_eq!(states.expect_same(one, "there", left(&["a", "b"])), Ok(()));
    assert_eq!(states.expect_same(other, "there", left(&["c"])), Ok(()), "of another file");
    for different in [&["a", "c"][..], &["a"], &["a", "b", "b"], &[]] {
        assert!(states.expect_same(one, "there", left(different)).is_err(), "{different:?}");
    }
}
