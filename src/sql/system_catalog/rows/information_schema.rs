//! Tables, views and constraints in `information_schema`.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Contents, KEY_COLUMNS, Relation, key_name, schemas};
use super::super::oid::{self, Part};
use super::super::wanted::Wanted;

pub(super) fn catalog_name(contents: &Arc<Contents>) -> Rows {
    rows!([contents.database()], |database| { catalog_name: database })
}

pub(super) fn schemata(contents: &Arc<Contents>) -> Rows {
    let (database, user) = (contents.database(), contents.user());
    rows!(schemas(), |schema| { catalog_name: database.clone(), schema_name: schema, schema_owner: user.clone() })
}

pub(super) fn yes(is: bool) -> &'static str {
    if is { "YES" } else { "NO" }
}

pub(super) fn tables(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(contents.tables_and_views(wanted), |relation| {
        table_catalog: database.clone(), table_schema: relation.schema, table_name: Arc::clone(&relation.name),
        table_type: if relation.kind == 'v' { "VIEW" } else { "BASE TABLE" },
        is_insertable_into: yes(relation.user_table().is_some()), is_typed: "NO",
    })
}

pub(super) fn views(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(contents.tables_and_views(wanted).filter(|relation| relation.kind == 'v'), |relation| {
        table_catalog: database.clone(), table_schema: relation.schema, table_name: Arc::clone(&relation.name),
        view_definition: relation.view_definition(), check_option: "NONE", is_updatable: "NO", is_insertable_into: "NO",
        is_trigger_updatable: "NO", is_trigger_deletable: "NO", is_trigger_insertable_into: "NO",
    })
}

/// What the views of the data folder read.
pub(super) fn view_table_usage(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    let mut read = Vec::new();
    for view in contents.views() {
        let relations = view.reads.iter().filter_map(|id| contents.relation(oid::of(*id, Part::Relation)?));
        read.extend(relations.map(|relation| (view.name.clone(), relation)));
    }
    rows!(read, |(view, relation)| {
        view_catalog: database.clone(), view_schema: "public", view_name: view, table_catalog: database.clone(),
        table_schema: relation.schema, table_name: relation.name,
    })
}

/// A constraint on a table of the data folder.
struct Constraint {
    relation: Relation,
    name: String,
    kind: &'static str,
    /// The columns it is on, by number from 1.
    columns: Vec<(i32, &'static str)>,
}

/// The keys of tables.
fn keys(contents: &Contents, wanted: &Wanted) -> impl Iterator<Item = Constraint> + Send + use<> {
    contents.tables_and_views(wanted).filter_map(|relation| {
        let name = key_name(relation.user_table()?);
        Some(Constraint { relation, name, kind: "PRIMARY KEY", columns: (1..).zip(KEY_COLUMNS).collect() })
    })
}

/// Columns that cannot be NULL, each of which is shown as a check.
fn not_nulls(contents: &Contents, wanted: &Wanted) -> impl Iterator<Item = (Constraint, Arc<str>)> + Send + use<> {
    contents.tables_and_views(wanted).filter(|relation| relation.user_table().is_some()).flat_map(|relation| {
        let columns = relation.columns().into_iter().filter(|column| column.not_null);
        columns.map(move |column| {
            let name = format!("{}_{}_{}_not_null", relation.namespace(), relation.oid, column.number);
            (Constraint { relation: relation.clone(), name, kind: "CHECK", columns: Vec::new() }, column.name)
        })
    })
}

pub(super) fn table_constraints(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    let all = keys(contents, wanted).chain(not_nulls(contents, wanted).map(|(constraint, _)| constraint));
    rows!(all, |constraint| {
        constraint_catalog: database.clone(), constraint_schema: constraint.relation.schema,
        constraint_name: constraint.name, table_catalog: database.clone(), table_schema: constraint.relation.schema,
        table_name: constraint.relation.name, constraint_type: constraint.kind, is_deferrable: "NO",
        initially_deferred: "NO", enforced: "YES", nulls_distinct: (constraint.kind == "UNIQUE").then_some("YES"),
    })
}

pub(super) fn check_constraints(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    rows!(not_nulls(contents, &Wanted::default()), |(constraint, column)| {
        constraint_catalog: database.clone(), constraint_schema: constraint.relation.schema,
        constraint_name: constraint.name, check_clause: format!("{column} IS NOT NULL"),
    })
}

/// The columns of keys, each with the constraint it belongs to.
fn key_columns(
    contents: &Contents,
    wanted: &Wanted,
) -> impl Iterator<Item = (Constraint, i32, &'static str)> + Send + use<> {
    keys(contents, wanted).flat_map(|key| {
        let Constraint { relation, name, kind, columns } = key;
        columns.into_iter().map(move |(number, column)| {
            (Constraint { relation: relation.clone(), name: name.clone(), kind, columns: Vec::new() }, number, column)
        })
    })
}

pub(super) fn key_column_usage(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(key_columns(contents, wanted), |(key, number, column)| {
        constraint_catalog: database.clone(), constraint_schema: key.relation.schema, constraint_name: key.name,
        table_catalog: database.clone(), table_schema: key.relation.schema, table_name: key.relation.name,
        column_name: column, ordinal_position: number,
    })
}

pub(super) fn constraint_column_usage(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(key_columns(contents, wanted), |(key, _, column)| {
        table_catalog: database.clone(), table_schema: key.relation.schema, table_name: key.relation.name,
        column_name: column, constraint_catalog: database.clone(), constraint_schema: key.relation.schema,
        constraint_name: key.name,
    })
}

pub(super) fn constraint_table_usage(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let database = contents.database();
    rows!(keys(contents, wanted), |key| {
        table_catalog: database.clone(), table_schema: key.relation.schema, table_name: key.relation.name,
        constraint_catalog: database.clone(), constraint_schema: key.relation.schema, constraint_name: key.name,
    })
}
