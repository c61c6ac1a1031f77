//! Collations and the character set. Texts are ordered by code points, which is what `C` says.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::Contents;
use super::super::oid;

/// Oid, name, provider, and the locale.
const COLLATIONS: [(u32, &str, char, Option<&str>); 3] =
    [(oid::COLLATION, "default", 'd', None), (950, "C", 'c', Some("C")), (951, "POSIX", 'c', Some("POSIX"))];

pub(super) fn pg_collation() -> Rows {
    rows!(COLLATIONS, |(oid, name, provider, locale)| {
        oid: oid, collname: name, collnamespace: oid::PG_CATALOG, collowner: oid::ROLE, collprovider: provider,
        collisdeterministic: true, collencoding: -1, collcollate: locale, collctype: locale,
    })
}

pub(super) fn collations(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    rows!(COLLATIONS, |(_, name, ..)| {
        collation_catalog: database.clone(), collation_schema: "pg_catalog", collation_name: name,
        pad_attribute: "NO PAD",
    })
}

pub(super) fn applicability(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    rows!(COLLATIONS, |(_, name, ..)| {
        collation_catalog: database.clone(), collation_schema: "pg_catalog", collation_name: name,
        character_set_name: "UTF8",
    })
}

pub(super) fn character_sets(contents: &Arc<Contents>) -> Rows {
    rows!([contents.database()], |database| {
        character_set_name: "UTF8", character_repertoire: "UCS", form_of_use: "UTF8", default_collate_catalog: database,
    })
}
