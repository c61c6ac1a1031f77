//! `COMMENT ON TABLE | VIEW | COLUMN | SCHEMA | DATABASE name IS 'text' | NULL`.

use datafusion::sql::sqlparser::ast::{CommentObject as Kind, Ident, ObjectName};

use super::Definition;
use super::relation_name::{Relation, existing, identifiers};
use crate::planner::PUBLIC;
use crate::planner::StatementPlanner;
use crate::provider::TableColumns;
use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::{CommentObject, Edit};

/// The edit that sets a comment, or takes it away: an empty one is none, as in PostgreSQL.
pub(super) fn comment(
    kind: Kind,
    name: &ObjectName,
    text: Option<String>,
    planner: &StatementPlanner,
) -> Result<Definition> {
    let parts = identifiers(name)?;
    let object = match kind {
        Kind::Table => match existing(&parts, planner)? {
            Relation::Table(table) => CommentObject::Table(table.id),
            Relation::View(view) => return Err(is_not(&view.name, "table")),
        },
        Kind::View => match existing(&parts, planner)? {
            Relation::View(view) => CommentObject::View(view.id),
            Relation::Table(table) => return Err(is_not(&table.name, "view")),
        },
        Kind::Column => {
            let Some((column, relation)) = parts.split_last().filter(|(_, relation)| !relation.is_empty()) else {
                return Err(Error::new(SqlState::INVALID_STATEMENT, "column name must be qualified"));
            };
            let relation = existing(relation, planner)?;
            CommentObject::Column(relation.id(), column_named(&relation, column)?)
        }
        Kind::Schema => match parts.as_slice() {
            [schema] if schema.value.to_ascii_lowercase() == PUBLIC => CommentObject::Schema(PUBLIC.to_owned()),
            _ => return Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("schema \"{name}\" does not exist"))),
        },
        Kind::Database => match parts.as_slice() {
            [database] if database.value == planner.account().as_str() => CommentObject::Database,
            _ => return Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("database \"{name}\" does not exist"))),
        },
        other => {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("COMMENT ON {other} is not supported")));
        }
    };
    let text = text.filter(|text| !text.is_empty());
    let edit = Edit::SetComment { account: planner.account().as_str().to_owned(), object, text };
    Ok(Definition { edits: vec![edit], ..Definition::default() })
}

fn is_not(name: &str, kind: &str) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, format!("\"{name}\" is not a {kind}"))
}

/// The exact name of a column: what is written in quotes; else the one of that name, or the only
/// one ignoring case.
pub(super) fn column_named(relation: &Relation, written: &Ident) -> Result<String> {
    let columns: Vec<String> = match relation {
        Relation::Table(table) => TableColumns::of(table).visible().iter().map(|field| field.name().clone()).collect(),
        Relation::View(view) => view.columns.iter().map(|column| column.name.clone()).collect(),
    };
    if columns.contains(&written.value) {
        return Ok(written.value.clone());
    }
    let folded = written.value.to_lowercase();
    let mut alike = columns.iter().filter(|column| column.to_lowercase() == folded);
    match (alike.next(), alike.next()) {
        (Some(column), None) if written.quote_style.is_none() => Ok(column.clone()),
        (Some(one), Some(another)) if written.quote_style.is_none() => {
            let message = format!("column reference \"{}\" is ambiguous", written.value);
            let hint = format!("it could be \"{one}\" or \"{another}\": name it in double quotes");
            Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).with_hint(hint))
        }
        _ => {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", written.value, relation.name());
            Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
        }
    }
}
