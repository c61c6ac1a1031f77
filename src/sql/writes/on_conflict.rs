//! The query of ON CONFLICT DO UPDATE.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, FieldRef};
use datafusion::catalog::TableProvider;
use datafusion::sql::sqlparser::ast::{self, Expr};

use super::rows::{MemoryColumn, column_of, memory_table};
use super::syntax::{self, EXCLUDED, assigned, column, columns_named, from_memory, item, memory_name};
use super::write::Write;
use crate::planner::MEMORY_ROWS;
use rowkey_base::Result;
use rowkey_model::Entity;

/// The query over existing and proposed rows that ON CONFLICT DO UPDATE is, and those rows in
/// memory.
pub(super) fn conflict_query(
    write: &Write,
    assignments: &[(usize, Expr)],
    selection: Option<&Expr>,
    existing: &[Entity],
    proposed: &[Entity],
) -> Result<(ast::Statement, Arc<dyn TableProvider>)> {
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
        let target = write.target.read(&name)?;
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
