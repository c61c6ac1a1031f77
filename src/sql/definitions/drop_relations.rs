//! `DROP VIEW | TABLE [IF EXISTS] names [CASCADE]`.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType};

use super::dependents::Dependents;
use super::relation_name::{Relation, identifiers, name_in_public};
use super::{Definition, Notice};
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::Edit;

/// The edits that drop tables or views and, with `cascade`, the views that read them. Without it,
/// views that read them are in the way unless the statement drops them as well.
pub(crate) fn drop_relations(
    object_type: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
    planner: &StatementPlanner,
) -> Result<Definition> {
    let kind = match object_type {
        ObjectType::View => "view",
        ObjectType::Table => "table",
        other => return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("DROP {other} is not supported"))),
    };
    let catalog = planner.catalog();
    let mut definition = Definition::default();
    let mut dropped: Vec<Relation> = Vec::new();
    for name in names {
        let name = name_in_public(&identifiers(name)?, planner)?;
        match Relation::named(catalog, planner.account(), &name.value) {
            Some(found) if found.kind() != kind => {
                let error = Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a {kind}", found.name()));
                let other = found.kind();
                return Err(error.with_hint(format!("Use DROP {} to remove a {other}.", other.to_uppercase())));
            }
            Some(found) if dropped.iter().all(|other| other.id() != found.id()) => dropped.push(found),
            Some(_) => {}
            None if if_exists => {
                let notice = format!("{kind} \"{}\" does not exist, skipping", name.value);
                definition.notices.push(Notice::from(notice));
            }
            None => {
                return Err(Error::new(SqlState::UNDEFINED_TABLE, format!("{kind} \"{}\" does not exist", name.value)));
            }
        }
    }
    let named: HashSet<u64> = dropped.iter().map(Relation::id).collect();
    let (mut gone, mut lines, mut along) = (HashSet::new(), Vec::new(), Vec::new());
    for relation in &dropped {
        let what = format!("{kind} {}", relation.name());
        let dependents = Dependents::of(catalog, relation.id(), &what, &named);
        for line in dependents.lines {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        for view in catalog.dependents(relation.id()) {
            if gone.insert(view.id) {
                definition.edits.push(Edit::DropView { id: view.id });
                if !named.contains(&view.id) {
                    along.push(view);
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
    if !cascade {
        let message = match dropped.as_slice() {
            [one] => format!("cannot drop {kind} {} because other objects depend on it", one.name()),
            _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
        };
        Dependents::refuse(&lines, message)?;
    }
    definition.notices.extend(Dependents::cascade(&along));
    Ok(definition)
}
