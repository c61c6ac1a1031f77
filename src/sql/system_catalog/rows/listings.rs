//! The views of `pg_catalog` that list tables, views and indexes by name.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Contents, key_name};
use super::super::wanted::Wanted;
use super::relations::index_definition;

pub(super) fn pg_tables(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let user = contents.user();
    rows!(contents.tables_and_views(wanted).filter(|relation| relation.kind == 'r'), |relation| {
        schemaname: relation.schema, tablename: Arc::clone(&relation.name), tableowner: user.clone(),
        hasindexes: relation.user_table().is_some(), hasrules: false, hastriggers: false, rowsecurity: false,
    })
}

/// The catalog's own views are no queries, so they have no definition.
pub(super) fn pg_views(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let user = contents.user();
    rows!(contents.tables_and_views(wanted).filter(|relation| relation.kind == 'v'), |relation| {
        schemaname: relation.schema, viewname: Arc::clone(&relation.name), viewowner: user.clone(),
        definition: relation.view_definition(),
    })
}

pub(super) fn pg_indexes(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    rows!(contents.tables_and_views(wanted), |relation| {
        schemaname: relation.schema, tablename: Arc::clone(&relation.name), indexname: key_name(relation.user_table()?),
        indexdef: index_definition(relation.user_table()?),
    })
}
