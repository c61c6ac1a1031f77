//! What UPDATE and MERGE assign to a row, counted before the row is read.

use datafusion::sql::sqlparser::ast::Expr;

use super::memory_budget::MemoryBudget;
use super::row_builder::{TargetRowBuilder, value_bytes};
use super::values::AssignedColumn;
use super::write::Write;
use rowkey_base::Result;
use rowkey_model::{Entity, Value};

/// What a key takes with its row, in bytes, about.
const KEY_BYTES: u64 = 256;

/// What a statement assigns to one row, before the row is read.
pub(super) struct AssignedValues {
    values: Vec<Option<Value>>,
    /// Taken for them already.
    bytes: u64,
}

impl AssignedValues {
    /// The values of one row of a query.
    pub(super) fn take<'a>(
        columns: impl Iterator<Item = &'a AssignedColumn>,
        row: usize,
        budget: &mut MemoryBudget,
    ) -> Result<Self> {
        let values = columns.map(|column| column.value(row)).collect::<Result<Vec<_>>>()?;
        let bytes = values.iter().flatten().map(value_bytes).sum::<u64>() + KEY_BYTES;
        budget.take(bytes)?;
        Ok(Self { values, bytes })
    }

    /// The row that an entity becomes.
    pub(super) fn assign(
        self,
        write: &Write,
        assignments: &[(usize, Expr)],
        entity: &Entity,
        budget: &mut MemoryBudget,
    ) -> Result<TargetRowBuilder> {
        let mut row = TargetRowBuilder::of(entity);
        for ((at, _), value) in assignments.iter().zip(self.values) {
            row.assign(&write.target.columns[*at], value)?;
        }
        budget.grow(self.bytes, row.memory_bytes())?;
        Ok(row)
    }
}
