//! Queries over rows that a statement has in memory, and the rows that a query finds for it.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_empty_array};
use arrow::compute::interleave;
use arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::ast::{self, Expr};

use super::rows::{MemoryColumn, column_of, memory_table};
use super::syntax::{self, assigned, column, columns_named, from_memory, item, memory_name};
use super::write::Write;
use crate::planner::MEMORY_ROWS;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Entity, Key};
use rowkey_postgres::error::from_datafusion;

/// The query over existing and proposed rows that ON CONFLICT DO UPDATE is, and those rows.
pub(crate) fn conflict_query(
    write: &Write,
    assignments: &[(usize, Expr)],
    selection: Option<&Expr>,
    existing: &[Entity],
    proposed: &[Entity],
) -> Result<(ast::Statement, Arc<dyn datafusion::catalog::TableProvider>)> {
    const EXCLUDED: &str = "excluded";
    let aliases = [write.alias.clone(), EXCLUDED.to_owned()];
    let mut items = vec![item(column(MEMORY_ROWS, "(row)"), "(row)")];
    for (place, (at, expr)) in assignments.iter().enumerate() {
        items.push(item(assigned(expr, &write.target.columns[*at]), &format!("(value {place})")));
    }
    let mut selection = selection.cloned();
    let mut named = columns_named(&items, &aliases);
    for column in selection.iter().flat_map(|selection| columns_named(selection, &aliases)) {
        if !named.contains(&column) {
            named.push(column);
        }
    }
    let row_field: FieldRef = Arc::new(Field::new("(row)", arrow::datatypes::DataType::Int64, false));
    let numbers: ArrayRef = Arc::new(arrow::array::Int64Array::from_iter_values(0..existing.len() as i64));
    let mut columns: Vec<MemoryColumn> = vec![(row_field, numbers)];
    for (alias, name) in named {
        let of = if alias == EXCLUDED { proposed } else { existing };
        let target = &write.target.columns[write.target.place(&name)?];
        let field = target.field.as_ref().clone().with_name(memory_name(&alias, &name)).with_nullable(true);
        columns.push((Arc::new(field), column_of(target, of)?));
    }
    from_memory(&mut items, &aliases);
    if let Some(selection) = &mut selection {
        from_memory(selection, &aliases);
    }
    let from = vec![syntax::from_table(&["public", MEMORY_ROWS], MEMORY_ROWS)];
    let query = syntax::select(write.with.as_ref(), items, from, selection)?;
    Ok((query, memory_table(columns, existing.len())?))
}

/// The query that RETURNING is, and the rows that it reads.
pub(crate) fn returning_query(
    write: &Write,
    returned: &Returned,
) -> Result<Option<(ast::Statement, Arc<dyn datafusion::catalog::TableProvider>)>> {
    let Some(items) = &write.returning else { return Ok(None) };
    let aliases = write.aliases();
    let mut columns: Vec<MemoryColumn> = Vec::new();
    for (alias, name) in write.returned() {
        if alias != write.alias {
            continue;
        }
        let target = &write.target.columns[write.target.place(&name)?];
        let field = target.field.as_ref().clone().with_name(memory_name(&alias, &name));
        columns.push((Arc::new(field), column_of(target, &returned.entities)?));
    }
    columns.extend(returned.others.iter().cloned());
    let mut items = items.clone();
    from_memory(&mut items, &aliases);
    let from = vec![syntax::from_table(&["public", MEMORY_ROWS], MEMORY_ROWS)];
    let query = syntax::select(write.with.as_ref(), items, from, None)?;
    Ok(Some((query, memory_table(columns, returned.entities.len())?)))
}

/// Whether RETURNING tells the time of the write, which is known when it is done.
pub(crate) fn returns_timestamp(write: &Write) -> bool {
    write.returned().iter().any(|(alias, name)| *alias == write.alias && name == rowkey_storage::run::TIMESTAMP)
}

/// What RETURNING is computed from.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    /// The rows of the table: as they are now, of DELETE as they were.
    pub entities: Vec<Entity>,
    /// Columns of other relations.
    pub others: Vec<MemoryColumn>,
    /// Whether the entities have the Timestamp of this statement.
    pub are_written: bool,
}

impl Returned {
    /// What was written has this time.
    pub(crate) fn set_timestamp(&mut self, timestamp: DateTime) {
        self.entities.iter_mut().for_each(|entity| entity.timestamp = timestamp);
    }
}

/// Rows of the query of UPDATE and DELETE: each key once, with what RETURNING wants of other
/// relations.
pub(crate) struct Found {
    keys: HashSet<Key>,
    /// Where the columns of other relations begin.
    others_from: usize,
    batches: Vec<Vec<ArrayRef>>,
    fields: Vec<FieldRef>,
    /// Batch and row of every key.
    places: Vec<(usize, usize)>,
    wants_others: bool,
}

impl Found {
    pub(crate) fn new(write: &Write, others_from: usize, schema: &Schema) -> Self {
        let wants_others = write.returned().iter().any(|(alias, _)| *alias != write.alias);
        let fields = schema.fields().iter().skip(others_from).filter(|_| wants_others).cloned().collect();
        Self { keys: HashSet::new(), others_from, batches: Vec::new(), fields, places: Vec::new(), wants_others }
    }

    /// The rows whose keys were not there before.
    pub(crate) fn rows_of(&mut self, batch: &RecordBatch) -> Result<Vec<(usize, Key)>> {
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let key = key_of(batch, row)?;
            if self.keys.insert(key.clone()) {
                rows.push((row, key));
            }
        }
        if self.wants_others {
            let number = self.batches.len();
            self.batches.push(batch.columns()[self.others_from..].to_vec());
            self.places.extend(rows.iter().map(|(row, _)| (number, *row)));
        }
        Ok(rows)
    }

    pub(crate) fn returned(self) -> Result<Returned> {
        let mut others = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            let arrays: Vec<&dyn Array> = self.batches.iter().map(|columns| columns[place].as_ref()).collect();
            let values = match arrays.is_empty() {
                true => new_empty_array(field.data_type()),
                false => interleave(&arrays, &self.places).map_err(DataFusionError::from).map_err(from_datafusion)?,
            };
            others.push((Arc::clone(field), values));
        }
        Ok(Returned { others, ..Returned::default() })
    }
}

pub(crate) fn key_of(batch: &RecordBatch, row: usize) -> Result<Key> {
    let part = |place: usize| {
        let array = batch.column(place);
        let text = array.as_string_view_opt().filter(|array| array.is_valid(row)).map(|array| array.value(row));
        text.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "a row to be written has no key"))
    };
    Ok(Key::new(part(0)?, part(1)?))
}
