//! The rows of every relation, made when it is scanned.

mod collations;
mod columns;
mod comments;
mod dependencies;
mod functions;
mod grants;
mod information_schema;
mod listings;
mod relations;
mod routines;
mod server;
mod sessions;
mod statistics;
mod time_zones;
mod types;

use std::sync::Arc;

pub(super) use comments::comment;
pub(super) use functions::Functions;
pub(super) use relations::index_definition;
pub(super) use relations::key_constraint_definition;
pub(super) use relations::quoted;
pub(super) use types::types;

use super::cell::Rows;
use super::contents::Contents;
use super::recorded::Definition;
use super::wanted::{Telling, Wanted};

/// The rows of a relation. Those of which a data folder has none, such as triggers, are empty.
pub(super) fn rows(contents: &Arc<Contents>, definition: &Definition, wanted: &Wanted) -> Rows {
    match definition.schema {
        "pg_catalog" => pg_catalog(contents, definition.name, wanted),
        "information_schema" => information_schema(contents, definition.name, wanted),
        _ => Rows::none(),
    }
}

fn pg_catalog(contents: &Arc<Contents>, name: &str, wanted: &Wanted) -> Rows {
    match name {
        "pg_class" => relations::pg_class(contents, wanted),
        "pg_attribute" => relations::pg_attribute(contents, wanted),
        "pg_attrdef" => relations::pg_attrdef(contents),
        "pg_index" => relations::pg_index(contents, wanted),
        "pg_constraint" => relations::pg_constraint(contents, wanted),
        "pg_depend" => dependencies::pg_depend(contents),
        "pg_rewrite" => relations::pg_rewrite(contents),
        "pg_description" => comments::pg_description(contents),
        "pg_shdescription" => comments::pg_shdescription(contents),
        "pg_type" => types::pg_type(contents),
        "pg_range" => types::pg_range(),
        "pg_proc" => functions::pg_proc(contents),
        "pg_operator" => functions::pg_operator(),
        "pg_cast" => functions::pg_cast(),
        "pg_opclass" => functions::pg_opclass(),
        "pg_opfamily" => functions::pg_opfamily(),
        "pg_am" => functions::pg_am(),
        "pg_language" => functions::pg_language(),
        "pg_collation" => collations::pg_collation(),
        "pg_namespace" => server::pg_namespace(),
        "pg_database" => server::pg_database(contents),
        "pg_tablespace" => server::pg_tablespace(),
        "pg_authid" => server::pg_authid(contents),
        "pg_roles" => server::pg_roles(contents),
        "pg_user" => server::pg_user(contents, true),
        "pg_shadow" => server::pg_user(contents, false),
        "pg_settings" => sessions::pg_settings(contents),
        "pg_stat_activity" => sessions::pg_stat_activity(contents),
        "pg_stat_progress_copy" => sessions::pg_stat_progress_copy(contents),
        "pg_stat_statements" => sessions::pg_stat_statements(contents),
        "pg_prepared_statements" => sessions::pg_prepared_statements(contents),
        "pg_cursors" => sessions::pg_cursors(contents),
        "pg_timezone_names" => time_zones::pg_timezone_names(contents),
        "pg_tables" => listings::pg_tables(contents, wanted),
        "pg_views" => listings::pg_views(contents, wanted),
        "pg_indexes" => listings::pg_indexes(contents, wanted),
        _ => statistics::rows(contents, name, wanted).unwrap_or_else(Rows::none),
    }
}

fn information_schema(contents: &Arc<Contents>, name: &str, wanted: &Wanted) -> Rows {
    match name {
        "information_schema_catalog_name" => information_schema::catalog_name(contents),
        "schemata" => information_schema::schemata(contents),
        "tables" => information_schema::tables(contents, wanted),
        "views" => information_schema::views(contents, wanted),
        "view_table_usage" => information_schema::view_table_usage(contents),
        "columns" => columns::columns(contents, wanted),
        "element_types" => columns::element_types(contents, wanted),
        "column_udt_usage" => columns::column_udt_usage(contents, wanted),
        "domains" => columns::domains(contents),
        "table_constraints" => information_schema::table_constraints(contents, wanted),
        "check_constraints" => information_schema::check_constraints(contents),
        "key_column_usage" => information_schema::key_column_usage(contents, wanted),
        "constraint_column_usage" => information_schema::constraint_column_usage(contents, wanted),
        "constraint_table_usage" => information_schema::constraint_table_usage(contents, wanted),
        "character_sets" => collations::character_sets(contents),
        "collations" => collations::collations(contents),
        "collation_character_set_applicability" => collations::applicability(contents),
        "enabled_roles" => grants::enabled_roles(contents),
        "table_privileges" | "role_table_grants" => grants::table_privileges(contents, wanted),
        "column_privileges" | "role_column_grants" => grants::column_privileges(contents, wanted),
        "routines" => routines::routines(contents),
        "parameters" => routines::parameters(contents),
        _ => Rows::none(),
    }
}

/// Which columns of a relation say what relation a row tells of, where there are many rows.
pub(super) fn telling(definition: &Definition) -> Telling {
    let (oid, name, schema) = match (definition.schema, definition.name) {
        ("pg_catalog", "pg_class") => ("oid", "relname", ""),
        ("pg_catalog", "pg_attribute") => ("attrelid", "", ""),
        ("pg_catalog", "pg_index") => ("indrelid", "", ""),
        ("pg_catalog", "pg_constraint") => ("conrelid", "", ""),
        ("pg_catalog", "pg_tables" | "pg_indexes") => ("", "tablename", "schemaname"),
        ("pg_catalog", "pg_views") => ("", "viewname", "schemaname"),
        ("pg_catalog", name) if name.starts_with("pg_stat") && name.ends_with("_tables") => {
            ("relid", "relname", "schemaname")
        }
        (
            "information_schema",
            "tables"
            | "views"
            | "columns"
            | "table_constraints"
            | "key_column_usage"
            | "constraint_column_usage"
            | "constraint_table_usage"
            | "column_udt_usage"
            | "table_privileges"
            | "role_table_grants"
            | "column_privileges"
            | "role_column_grants",
        ) => ("", "table_name", "table_schema"),
        _ => ("", "", ""),
    };
    Telling { oid, name, schema }
}
