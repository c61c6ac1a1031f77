//! What kind of statement a parsed one is.

use datafusion::sql::sqlparser::ast::{ObjectType, SetExpr, Statement};

/// The first word of a statement that writes rows, as its tag has it; `None` for any other.
pub fn verb(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Insert(_) => Some("INSERT"),
        Statement::Update(_) => Some("UPDATE"),
        Statement::Delete(_) => Some("DELETE"),
        Statement::Merge(_) => Some("MERGE"),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                verb(inner)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement defines, changes or removes relations, or calls a procedure.
pub(super) fn defines(statement: &Statement) -> bool {
    match statement {
        Statement::CreateView(_)
        | Statement::Comment { .. }
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::Truncate(_)
        | Statement::Call(_) => true,
        Statement::Drop { object_type, .. } => matches!(object_type, ObjectType::View | ObjectType::Table),
        _ => false,
    }
}
