//! `DROP VIEW | TABLE [IF EXISTS] names [CASCADE]`.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType};

use super::Definition;
use super::relation_name::{Relation, identifiers, name_in_public};
use crate::session::error::{Error, ErrorKind, Result};
use crate::session::planning::PlannedStatement;
use crate::storage::Edit;

/// The edits that drop tables or views and, with `cascade`, the views that read them. Without it, views that read them are in the
/// way unless the statement drops them as well.
pub fn drop_relations(
    object_type: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    planner: &PlannedStatement,
) -> Result<Definition> {
    let kind = match object_type {
        ObjectType::View => "view",
        ObjectType::Table => "table",
        other => return Err(Error::new(ErrorKind::Unsupported, format!("DROP {other} is not supported"))),
    };
    let catalog = planner.catalog();
    let mut definition = Definition::default();
    let mut dropped: Vec<Relation> = Vec::new();
    for name in names {
        let name = name_in_public(&identifiers(name)?, planner)?;
        match Relation::named(catalog, planner.account(), &name.value) {
            Some(found) if found.kind() != kind => {
                let error = Error::new(ErrorKind::Invalid, format!("\"{}\" is not a {kind}", found.name()));
                let other = found.kind();
                return Err(error.with_hint(format!("Use DROP {} to remove a {other}.", other.to_uppercase())));
            }
            Some(found) if dropped.iter().all(|other| other.id() != found.id()) => dropped.push(found),
            Some(_) => {}
            None if if_exists => {
                definition.notices.push(format!("{kind} \"{}\" does not exist, skipping", name.value));
            }
            None => {
                return Err(Error::new(ErrorKind::NotFound, format!("{kind} \"{}\" does not exist", name.value)));
            }
        }
    }
    let named: HashSet<u64> = dropped.iter().map(Relation::id).collect();
    let mut gone = HashSet::new();
    for relation in &dropped {
        for view in catalog.dependents(relation.id()) {
            if !named.contains(&view.id) && !cascade {
                let name = relation.name();
                let message = format!("cannot drop {kind} {name} because other objects depend on it");
                let hint = format!(
                    "view {} depends on {kind} {name}: use DROP ... CASCADE to drop the dependent objects too",
                    view.name
                );
                return Err(Error::new(ErrorKind::Invalid, message).with_hint(hint));
            }
            if gone.insert(view.id) {
                definition.edits.push(Edit::DropView { id: view.id });
                if !named.contains(&view.id) {
                    definition.notices.push(format!("drop cascades to view {}", view.name));
                }
            }
        }
        if gone.insert(relation.id()) {
            definition.edits.push(match relation {
                Relation::Table(table) => Edit::DropTable { id: table.id },
                Relation::View(view) => Edit::DropView { id: view.id },
            });
        }
    }
    Ok(definition)
}
