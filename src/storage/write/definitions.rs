//! What a transaction has defined and written, in one record.
//!
//! A transaction makes its edits for the catalog that it sees. When it commits, the newest catalog
//! may be another one. It is rebased then: numbers that were given away meanwhile are exchanged,
//! columns that were added stay. What cannot be rebased is a conflict, of which nothing is left.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::commit::{Appending, append_writes};
use super::lookup::{Lookup, Stored};
use crate::catalog::{COLUMNS_MAX, Catalog, CommentObject, Edit, PropertyColumn, Table};
use crate::delta::Locations;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::snapshot::Snapshot;
use crate::state::{Head, State};
use rowkey_base::clock::Clock;

/// The catalog edits of a transaction.
#[derive(Debug, Clone)]
pub struct Definitions {
    /// In their order. Writes come after all of them.
    pub edits: Vec<Edit>,
    /// What the edits were made for.
    pub base: Snapshot,
    /// Tables that no other transaction may have written to since.
    pub unwritten: BTreeSet<u64>,
}

/// Makes the edits of a statement durable as one record, made for `base`: TRUNCATE takes away
/// everything that was written before it is committed. Blocks for the sync.
pub(crate) fn commit_edits(state: &State, mut edits: Vec<Edit>, base: &Catalog) -> Result<Snapshot> {
    state.commit_with(|head| {
        refuse_if_read_otherwise(head, &edits, base)?;
        for edit in &mut edits {
            if let Edit::TruncateTable { sequence, .. } = edit {
                *sequence = head.next_sequence();
            }
        }
        Ok((edits, None))
    })
}

/// Checks and enters definitions and writes; gives the numbers of the tables written to as
/// well. Where it fails, everything is as before.
pub(super) fn append_definitions(
    head: &mut Head,
    clock: &dyn Clock,
    definitions: &Definitions,
    operations: &[Operation<'_>],
    lookups: Vec<Lookup>,
) -> Result<Option<(Appending, BTreeSet<u64>)>> {
    let before = (Arc::clone(&head.catalog), Arc::clone(&head.deltas));
    let appended = try_append(head, clock, definitions, operations, lookups);
    if !matches!(appended, Ok(Some(_))) {
        (head.catalog, head.deltas) = before;
        head.known_properties.clear();
    }
    appended
}

fn try_append(
    head: &mut Head,
    clock: &dyn Clock,
    definitions: &Definitions,
    operations: &[Operation<'_>],
    mut lookups: Vec<Lookup>,
) -> Result<Option<(Appending, BTreeSet<u64>)>> {
    for &table in &definitions.unwritten {
        refuse_if_written(head, table, &definitions.base)?;
    }
    refuse_if_named_otherwise(head, &definitions.base.tables_of(operations))?;
    refuse_if_read_otherwise(head, &definitions.edits, &definitions.base.catalog)?;
    let numbers = numbers(&definitions.edits, &head.catalog);
    let mut edits = renumbered(&definitions.edits, &numbers);
    let mut empty = BTreeSet::new();
    for edit in &mut edits {
        match edit {
            Edit::SetColumns { table, columns } => {
                if let Some(merged) = merged(head, *table, columns, &definitions.base.catalog)? {
                    *columns = merged;
                }
            }
            // The writes of the same record come after it.
            Edit::TruncateTable { table, sequence } => {
                *sequence = head.next_sequence() - 1;
                empty.insert(*table);
            }
            Edit::CreateTable { id, .. } => {
                empty.insert(*id);
            }
            _ => {}
        }
    }
    head.enter_edits(&edits)?;
    let moved = operations.iter().map(|operation| operation.on(number(&numbers, operation.table)));
    let moved: Vec<Operation<'_>> = moved.collect();
    for (operation, lookup) in moved.iter().zip(&mut lookups) {
        if empty.contains(&operation.table) {
            let table = head.catalog.table_by_id(operation.table);
            let manifest = table.ok_or_else(|| Error::NoSuchTable(operation.table.to_string()))?.manifest.clone();
            let locations = Locations::found(manifest.newest_file_id() + 1, None);
            let manifest = Arc::new(manifest);
            lookup.stored = Some(Stored { manifest, sequence: 0, entity: None, locations });
        }
    }
    let tables = moved.iter().map(|operation| operation.table).collect();
    Ok(append_writes(head, clock, &moved, &lookups, None, &edits)?.map(|appended| (appended, tables)))
}

/// Refuses what was planned for columns that have another name by now, or are gone.
pub(super) fn refuse_if_named_otherwise(head: &Head, planned: &[Arc<Table>]) -> Result<()> {
    for then in planned {
        let Some(now) = head.catalog.table_by_id(then.id) else { continue };
        if !Arc::ptr_eq(then, now) && !now.keeps_columns(&then.columns) {
            return Err(Error::Conflict(format!("columns of table \"{}\" were renamed or dropped", then.name)));
        }
    }
    Ok(())
}

/// Refuses edits of views and of what views read, if the other of both has changed since they
/// were made for `base`.
fn refuse_if_read_otherwise(head: &Head, edits: &[Edit], base: &Catalog) -> Result<()> {
    let changed = |name: &str| Err(Error::Conflict(format!("\"{name}\" or a view of it was changed")));
    for edit in edits {
        match edit {
            Edit::CreateView { name, reads, .. } => {
                for &id in reads {
                    let tables = base.table_by_id(id).zip(head.catalog.table_by_id(id));
                    let is_same = |(then, now): (&Arc<Table>, &Arc<Table>)| {
                        Arc::ptr_eq(then, now) || then.name == now.name && now.keeps_columns(&then.columns)
                    };
                    let views = base.view_by_id(id).zip(head.catalog.view_by_id(id));
                    if !tables.is_none_or(is_same) || !views.is_none_or(|(then, now)| then == now) {
                        return changed(name);
                    }
                }
            }
            Edit::DropColumn { table: id, .. }
            | Edit::RenameColumn { table: id, .. }
            | Edit::RenameTable { id, .. } => {
                let Some(table) = base.table_by_id(*id) else { continue };
                let of = |catalog: &Catalog| {
                    catalog.views().filter(|view| view.reads.contains(id)).cloned().collect::<Vec<_>>()
                };
                if of(base) != of(&head.catalog) {
                    return changed(&table.name);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn refuse_if_written(head: &Head, table: u64, base: &Snapshot) -> Result<()> {
    let (then, now) = (base.table(table), head.catalog.table_by_id(table));
    let Some((then, now)) = then.zip(now) else { return Ok(()) };
    let last = head.deltas.get(&table).map_or(0, |delta| delta.last_sequence());
    if last > base.sequence || !then.manifest.is_same(&now.manifest) || then.columns != now.columns {
        return Err(Error::Conflict(format!("table \"{}\" was written to", now.name)));
    }
    Ok(())
}

/// The columns that a transaction gives a table, with those that others have added since;
/// `None` if there are no such.
fn merged(head: &Head, table: u64, own: &[PropertyColumn], base: &Catalog) -> Result<Option<Vec<PropertyColumn>>> {
    let (then, now) = (base.table_by_id(table), head.catalog.table_by_id(table));
    let Some((then, now)) = then.zip(now) else { return Ok(None) };
    if then.columns == now.columns {
        return Ok(None);
    }
    let mut columns = now.columns.clone();
    for column in own {
        let Some(known) = columns.iter_mut().find(|known| known.name == column.name) else {
            columns.push(column.clone());
            continue;
        };
        if column.declared.is_some() && column.declared != known.declared {
            let message = format!("column \"{}\" of relation \"{}\" already exists", column.name, now.name);
            return Err(Error::Conflict(message));
        }
        let mut types: BTreeMap<_, _> = known.types.iter().map(|edm| (*edm, ())).collect();
        types.extend(column.types.iter().map(|edm| (*edm, ())));
        known.types = types.into_keys().collect();
    }
    if columns.len() > COLUMNS_MAX {
        return Err(Error::Conflict(format!("table \"{}\" got its last columns", now.name)));
    }
    Ok(Some(columns))
}

/// New numbers for what the edits make, where theirs were given away.
fn numbers(edits: &[Edit], newest: &Catalog) -> HashMap<u64, u64> {
    let made = edits.iter().filter_map(|edit| match edit {
        Edit::CreateTable { id, .. } | Edit::CreateView { id, replaces: false, .. } => Some(*id),
        _ => None,
    });
    let made: Vec<u64> = made.collect();
    let next = newest.next_table_id();
    match made.iter().all(|id| *id >= next) {
        true => HashMap::new(),
        false => made.into_iter().zip(next..).collect(),
    }
}

fn number(numbers: &HashMap<u64, u64>, id: u64) -> u64 {
    numbers.get(&id).copied().unwrap_or(id)
}

fn renumbered(edits: &[Edit], numbers: &HashMap<u64, u64>) -> Vec<Edit> {
    let mut edits = edits.to_vec();
    if numbers.is_empty() {
        return edits;
    }
    let change = |id: &mut u64| *id = number(numbers, *id);
    for edit in &mut edits {
        match edit {
            Edit::CreateTable { id, .. }
            | Edit::DropTable { id }
            | Edit::DropView { id }
            | Edit::RenameTable { id, .. } => change(id),
            Edit::SetColumns { table, .. }
            | Edit::DropColumn { table, .. }
            | Edit::RenameColumn { table, .. }
            | Edit::ReplaceRanges { table, .. }
            | Edit::MaskRows { table, .. }
            | Edit::SetFolded { table, .. }
            | Edit::TruncateTable { table, .. }
            | Edit::SetAccessPolicies { table, .. } => change(table),
            Edit::SetServiceProperties { .. } | Edit::SetAccountKeys { .. } => {}
            Edit::CreateView { id, reads, .. } => {
                change(id);
                reads.iter_mut().for_each(change);
            }
            Edit::SetComment { object, .. } => match object {
                CommentObject::Table(id) | CommentObject::View(id) | CommentObject::Column(id, _) => change(id),
                CommentObject::Schema(_) | CommentObject::Database => {}
            },
        }
    }
    edits
}
