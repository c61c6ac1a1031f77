//! Functions of schema `rowkey`.

use datafusion::sql::sqlparser::ast::Statement;

use crate::system_catalog::ROWKEY_SCHEMA;
use rowkey_postgres::syntax::visit_relations_mut;

/// `access_paths(sql)`: how a statement would find its rows.
pub(crate) const ACCESS_PATHS: &str = "access_paths";

/// `entity_types(table, property)`: the kinds of entities that a table holds.
pub(crate) const ENTITY_TYPES: &str = "entity_types";

/// Columns of `access_paths` that are texts; they come first.
pub(crate) const ACCESS_PATHS_TEXTS: [&str; 6] = ["table", "path", "keys", "residual", "order", "hint"];

/// Columns of `access_paths` that are numbers.
pub(crate) const ACCESS_PATHS_NUMBERS: [&str; 13] = [
    "point_keys",
    "range_partitions",
    "range_partitions_all",
    "files",
    "files_all",
    "row_groups",
    "row_groups_all",
    "pages",
    "pages_all",
    "rows_max",
    "bytes_max",
    "service_requests_max",
    "service_entities_max",
];

/// Columns of `entity_types`.
pub(crate) const ENTITY_TYPES_COLUMNS: [&str; 6] =
    ["entity_type", "rule", "entities", "columns", "view_name", "create_statement"];

/// Functions of values. The planner knows them by their names with the schema.
const SCALAR: [&str; 5] =
    ["rowkey.entity_json", "rowkey.from_inverted_ticks", "rowkey.from_ticks", "rowkey.inverted_ticks", "rowkey.ticks"];

/// `rowkey.entity_json(table)`: takes a row of a table.
pub(crate) const ENTITY_JSON: &str = SCALAR[0];
pub(crate) const FROM_INVERTED_TICKS: &str = SCALAR[1];
pub(crate) const FROM_TICKS: &str = SCALAR[2];
pub(crate) const INVERTED_TICKS: &str = SCALAR[3];
pub(crate) const TICKS: &str = SCALAR[4];

/// The planner's name of a function of values of a schema.
pub(super) fn scalar(schema: &str, name: &str) -> Option<&'static str> {
    let named = |known: &&str| known.split_once('.') == Some((schema, name));
    SCALAR.into_iter().find(named)
}

/// The columns of a function of this schema.
pub(crate) fn columns(function: &str) -> Option<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match function {
        ACCESS_PATHS => Some(owned(&[&ACCESS_PATHS_TEXTS[..], &ACCESS_PATHS_NUMBERS[..]].concat())),
        ENTITY_TYPES => Some(owned(&ENTITY_TYPES_COLUMNS)),
        _ => None,
    }
}

/// Table functions of schema `rowkey` are known to the planner by their bare names.
pub(crate) fn unqualify(statement: &mut Statement) {
    visit_relations_mut(statement, |name| {
        let named = |place: usize, wanted: &[&str]| {
            let part = name.0.get(place).and_then(|part| part.as_ident());
            part.is_some_and(|part| wanted.iter().any(|wanted| part.value.eq_ignore_ascii_case(wanted)))
        };
        if name.0.len() == 2 && named(0, &[ROWKEY_SCHEMA]) && named(1, &[ACCESS_PATHS, ENTITY_TYPES]) {
            name.0.remove(0);
        }
    });
}
