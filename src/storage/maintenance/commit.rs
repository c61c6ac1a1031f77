//! Committing what a job has made of a table, rebased on writes since it began.

use std::sync::Arc;

use crate::catalog::{COLUMNS_MAX, Edit, PropertyColumn, Table};
use crate::error::{Error, Result};
use crate::run::{RunFile, RunFiles};
use crate::snapshot::Snapshot;
use crate::state::State;

/// Commits the edits of a job that began with the table as `base` says, or that make the table.
/// Columns that single writes have added since then stay; if the run files are others than
/// then, nothing is done.
pub(crate) fn commit_job(state: &State, base: &Table, edits: Vec<Edit>) -> Result<Snapshot> {
    state.manifest_holds().wait(base.id);
    state.commit_with(|head| {
        if edits.iter().any(|edit| matches!(edit, Edit::CreateTable { .. })) {
            // Others may have made tables since.
            return Ok((renumbered(edits, head.catalog.next_table_id()), None));
        }
        let newest = head.catalog.table_by_id(base.id).ok_or_else(|| Error::NoSuchTable(base.name.clone()))?;
        Ok((rebased(base, newest, edits)?, None))
    })
}

/// Removes files of a job that ended with this error, if nothing can name them. What cannot be
/// removed now is swept when the data folder is opened.
pub(super) fn remove_unnamed<'a>(files: &RunFiles, error: &Error, unnamed: impl Iterator<Item = &'a Arc<RunFile>>) {
    // The record may be durable, and then it names them after the next opening.
    if matches!(error, Error::Log(crate::log::Error::OutcomeUnknown { .. })) {
        return;
    }
    for file in unnamed {
        files.forget(file.id);
        let _ = files.store().remove(&file.path);
    }
}

/// Edits that make a table, for a table of this number.
fn renumbered(mut edits: Vec<Edit>, number: u64) -> Vec<Edit> {
    for edit in &mut edits {
        match edit {
            Edit::CreateTable { id, .. } => *id = number,
            Edit::SetColumns { table, .. } | Edit::ReplaceRanges { table, .. } => *table = number,
            _ => {}
        }
    }
    edits
}

/// Edits for `newest` that do what `edits` do for `base`.
fn rebased(base: &Table, newest: &Table, edits: Vec<Edit>) -> Result<Vec<Edit>> {
    if !newest.manifest.is_same(&base.manifest) {
        return Err(Error::Conflict(format!("table \"{}\" was emptied while a job worked on it", base.name)));
    }
    let kept = base.columns.iter().all(|column| {
        newest
            .columns
            .iter()
            .any(|now| now.name == column.name && column.types.iter().all(|edm| now.types.contains(edm)))
    });
    if !kept {
        return Err(Error::Conflict(format!(
            "columns of table \"{}\" were changed while a job worked on it",
            base.name
        )));
    }
    let mut columns = newest.columns.clone();
    let mut rebased = Vec::with_capacity(edits.len());
    for edit in edits {
        match edit {
            Edit::SetColumns { columns: own, .. } => add_columns(&mut columns, &own, base)?,
            edit => rebased.push(edit),
        }
    }
    if columns != newest.columns {
        rebased.insert(0, Edit::SetColumns { table: base.id, columns });
    }
    Ok(rebased)
}

fn add_columns(columns: &mut Vec<PropertyColumn>, own: &[PropertyColumn], table: &Table) -> Result<()> {
    for column in own {
        let Some(place) = columns.iter().position(|known| known.name == column.name) else {
            columns.push(column.clone());
            continue;
        };
        for &edm in &column.types {
            if let Err(at) = columns[place].types.binary_search(&edm) {
                columns[place].types.insert(at, edm);
            }
        }
    }
    // Both sides have given the last columns away, to different properties: what lies in files by
    // one choice cannot be read by another.
    if columns.len() > COLUMNS_MAX {
        let name = &table.name;
        return Err(Error::Conflict(format!("table \"{name}\" got its last columns while a job worked on it")));
    }
    Ok(())
}
