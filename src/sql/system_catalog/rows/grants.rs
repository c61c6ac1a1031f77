//! Privileges: the role of the session has them all.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Contents, Relation};
use super::super::wanted::Wanted;

const ON_TABLES: [&str; 7] = ["INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"];
const ON_COLUMNS: [&str; 4] = ["INSERT", "SELECT", "UPDATE", "REFERENCES"];
const READING: [&str; 1] = ["SELECT"];

pub(super) fn enabled_roles(contents: &Arc<Contents>) -> Rows {
    rows!([contents.user()], |user| { role_name: user })
}

/// What can be done to a relation: everything to a table of the data folder, reading to the rest.
fn privileges(relation: &Relation, all: &'static [&'static str]) -> &'static [&'static str] {
    if relation.user_table().is_some() { all } else { &READING }
}

pub(super) fn table_privileges(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let (database, user) = (contents.database(), contents.user());
    let granted = contents.tables_and_views(wanted).flat_map(|relation| {
        privileges(&relation, &ON_TABLES).iter().map(move |privilege| (relation.clone(), *privilege))
    });
    rows!(granted, |(relation, privilege)| {
        grantor: user.clone(), grantee: user.clone(), table_catalog: database.clone(), table_schema: relation.schema,
        table_name: relation.name, privilege_type: privilege, is_grantable: "YES",
        with_hierarchy: if privilege == "SELECT" { "YES" } else { "NO" },
    })
}

pub(super) fn column_privileges(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let (database, user) = (contents.database(), contents.user());
    let granted = contents.tables_and_views(wanted).flat_map(|relation| {
        let columns = relation.columns().into_iter();
        columns.flat_map(move |column| {
            let privileges = privileges(&relation, &ON_COLUMNS).iter();
            let relation = relation.clone();
            privileges.map(move |privilege| (relation.clone(), Arc::clone(&column.name), *privilege))
        })
    });
    rows!(granted, |(relation, column, privilege)| {
        grantor: user.clone(), grantee: user.clone(), table_catalog: database.clone(), table_schema: relation.schema,
        table_name: relation.name, column_name: column, privilege_type: privilege, is_grantable: "YES",
    })
}
