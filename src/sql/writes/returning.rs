//! The query of RETURNING.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast;

use super::rows::{MemoryColumn, column_of, memory_table};
use super::syntax::{self, from_memory, memory_name};
use super::write::{Action, Write};
use crate::planner::MEMORY_ROWS;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{DateTime, Entity};
use rowkey_storage::run::TIMESTAMP;

/// What RETURNING is computed from.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    /// The rows of the table: their new versions, of DELETE the old ones.
    pub entities: Vec<Entity>,
    /// Columns of other relations.
    pub others: Vec<MemoryColumn>,
    /// Whether the entities are new versions, whose Timestamp the commit decides.
    pub are_written: bool,
}

impl Returned {
    /// Gives the new versions the Timestamp of their commit.
    pub(crate) fn set_timestamp(&mut self, timestamp: DateTime) {
        self.entities.iter_mut().for_each(|entity| entity.timestamp = timestamp);
    }
}

/// The query that RETURNING is, and the rows in memory that it reads; `None` without RETURNING.
pub(crate) fn returning_query(
    write: &Write,
    returned: &Returned,
) -> Result<Option<(ast::Statement, Arc<dyn TableProvider>)>> {
    let Some(items) = &write.returning else { return Ok(None) };
    let aliases = write.aliases();
    let mut columns: Vec<MemoryColumn> = Vec::new();
    for (alias, name) in write.returned() {
        if alias != write.alias {
            continue;
        }
        let target = write.target.read(&name)?;
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

/// Refuses RETURNING that makes other rows of those that are written.
pub(crate) fn refuse_other_rows(plan: &LogicalPlan) -> Result<()> {
    let mut node = plan;
    loop {
        let (sqlstate, what) = match node {
            LogicalPlan::Projection(projection) => {
                node = &projection.input;
                continue;
            }
            LogicalPlan::SubqueryAlias(alias) => {
                node = &alias.input;
                continue;
            }
            LogicalPlan::Aggregate(_) => (SqlState::GROUPING_ERROR, "aggregate functions"),
            LogicalPlan::Window(_) => (SqlState::FEATURE_NOT_SUPPORTED, "window functions"),
            LogicalPlan::Unnest(_) => (SqlState::FEATURE_NOT_SUPPORTED, "set-returning functions"),
            _ => return Ok(()),
        };
        return Err(Error::new(sqlstate, format!("{what} are not allowed in RETURNING")));
    }
}

/// Whether RETURNING names the Timestamp or the ETag, which are known when the write is committed.
pub(crate) fn returns_timestamp(write: &Write) -> bool {
    returns_form_of_timestamp(write) || returns(write, TIMESTAMP)
}

/// Refuses the ETag of what a transaction block writes: it is known when the block is committed,
/// and any other would match no entity.
pub(crate) fn refuse_etag_in_block(write: &Write) -> Result<()> {
    if matches!(write.action, Action::Delete { .. }) || !returns_form_of_timestamp(write) {
        return Ok(());
    }
    let message = "RETURNING etag is not supported in a transaction block: ETags are made at COMMIT";
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint("SELECT etag after COMMIT"))
}

fn returns_form_of_timestamp(write: &Write) -> bool {
    write.target.forms_of_timestamp().any(|column| returns(write, &column.name))
}

fn returns(write: &Write, column: &str) -> bool {
    write.returned().iter().any(|(alias, name)| *alias == write.alias && name == column)
}
