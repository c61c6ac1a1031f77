//! Statements that define things: CREATE, ALTER and DROP TABLE, TRUNCATE, CREATE and DROP VIEW,
//! COMMENT ON, CALL create_entity_views.
//!
//! Each is turned into edits of the catalog ([`define`]), which the session commits. A view is kept
//! as the text of its query; [`ViewExpansion`] plans it where it is read, and gives it the columns
//! it had when it was made.

mod alter_table;
mod column_types;
mod comment;
mod create_view;
mod dependents;
mod drop_relations;
mod entity_types;
mod new_properties;
mod relation_name;
mod rewritten;
mod tables;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use datafusion::sql::sqlparser::ast::{ObjectType, Statement};

use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::DateTime;
use rowkey_postgres::syntax::refused;
use rowkey_storage::Edit;

pub(crate) use drop_relations::drop_relations;
pub(crate) use entity_types::EntityTypes;
pub(crate) use new_properties::new_properties;
pub(crate) use rewritten::Rewritten;

/// What a statement changes and answers.
#[derive(Debug, Default)]
pub(crate) struct Definition {
    /// To be committed as one; empty where there is nothing to change.
    pub edits: Vec<Edit>,
    /// What becomes of the entities of tables, by the same commit.
    pub rewritten: Vec<Rewritten>,
    /// What PostgreSQL would say in a NOTICE.
    pub notices: Vec<Notice>,
    /// The rows of the answer, of statements that have one.
    pub rows: Option<RecordBatch>,
}

/// A NOTICE, with the details it has.
#[derive(Debug)]
pub(crate) struct Notice {
    pub message: String,
    pub detail: Option<String>,
}

impl From<String> for Notice {
    fn from(message: String) -> Self {
        Self { message, detail: None }
    }
}

impl Definition {
    /// The first words of the statement, as the tag of the answer has them.
    pub(crate) fn tag(statement: &Statement) -> &'static str {
        match statement {
            Statement::CreateView(_) => "CREATE VIEW",
            Statement::CreateTable(_) => "CREATE TABLE",
            Statement::AlterTable(_) => "ALTER TABLE",
            Statement::Truncate(_) => "TRUNCATE TABLE",
            Statement::Drop { object_type: ObjectType::Table, .. } => "DROP TABLE",
            Statement::Drop { .. } => "DROP VIEW",
            Statement::Call(_) => "CALL",
            _ => "COMMENT",
        }
    }

    /// The columns of the answer, of statements that have one.
    pub(crate) fn columns(statement: &Statement) -> Option<Vec<FieldRef>> {
        match statement {
            Statement::Call(call) if entity_types::is_create_entity_views(call) => {
                Some(entity_types::entity_types_fields())
            }
            _ => None,
        }
    }
}

/// The edits that a defining statement asks for, against the snapshot of `planner`. `text` is the
/// statement as it was written.
pub(crate) async fn define(
    statement: Statement,
    text: &str,
    now: DateTime,
    planner: &StatementPlanner,
) -> Result<Definition> {
    match statement {
        Statement::CreateView(view) => create_view::create_view(view, text, planner).await,
        Statement::Comment { object_type, object_name, comment, if_exists } => {
            if if_exists {
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COMMENT has no IF EXISTS"));
            }
            comment::comment(object_type, &object_name, comment, planner)
        }
        Statement::Drop { object_type, if_exists, names, cascade, temporary: false, table: None, .. } => {
            drop_relations(object_type, if_exists, &names, cascade, planner)
        }
        Statement::CreateTable(create) => tables::create_table(create, now, planner),
        Statement::AlterTable(alter) => alter_table::alter_table(alter, planner).await,
        Statement::Truncate(truncated) => tables::truncate(&truncated, planner),
        Statement::Call(call) if entity_types::is_create_entity_views(&call) => {
            entity_types::create_entity_views(&call, planner).await
        }
        call @ Statement::Call(_) => Err(refused(&call)),
        _ => Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "this statement defines nothing that this version knows")),
    }
}

#[cfg(test)]
mod tests;
