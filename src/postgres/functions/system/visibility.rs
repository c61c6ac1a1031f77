//! What can be named without its schema, what one may do, and what is noted about it.

use datafusion::common::Result;

use super::datum::{Datum, Returns};
use super::function::{Call, Definition};
use super::registered::class;
use crate::functions::error::{SqlState, fail};

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::stable("pg_table_is_visible", (1, 1), Returns::Bool, |call| {
        let oid = call.oid(0)?;
        let context = call.context()?;
        let relation = context.relation(oid);
        Ok(relation.map_or(Datum::Null, |facts| (context.relation_oid(None, &facts.name) == Some(oid)).into()))
    }),
    Definition::stable("pg_type_is_visible", (1, 1), Returns::Bool, |call| {
        let oid = call.oid(0)?;
        let context = call.context()?;
        let facts = context.type_facts(oid);
        Ok(facts.map_or(Datum::Null, |facts| (context.type_oid(None, &facts.name) == Some(oid)).into()))
    }),
    Definition::stable("pg_function_is_visible", (1, 1), Returns::Bool, |call| {
        let facts = call.context()?.function(call.oid(0)?);
        in_path(call, facts.map(|facts| facts.schema))
    }),
    Definition::stable("pg_operator_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_operator")),
    Definition::stable("pg_opclass_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_opclass")),
    Definition::stable("pg_opfamily_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_opfamily")),
    Definition::stable("pg_collation_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_collation")),
    Definition::stable("pg_conversion_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_conversion")),
    Definition::stable("pg_ts_config_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_ts_config")),
    Definition::stable("pg_ts_dict_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_ts_dict")),
    Definition::stable("pg_ts_parser_is_visible", (1, 1), Returns::Bool, |call| object_visible(call, "pg_ts_parser")),
    Definition::stable("pg_ts_template_is_visible", (1, 1), Returns::Bool, |call| {
        object_visible(call, "pg_ts_template")
    }),
    Definition::stable("pg_statistics_obj_is_visible", (1, 1), Returns::Bool, |call| {
        object_visible(call, "pg_statistic_ext")
    }),
    Definition::stable("has_database_privilege", (2, 3), Returns::Bool, |call| {
        let known = |name: &str| -> Result<bool> { Ok(call.context()?.database_oid(name).is_some()) };
        privilege(call, 0, SqlState::UNDEFINED_DATABASE, "database", known)
    }),
    Definition::stable("has_schema_privilege", (2, 3), Returns::Bool, |call| {
        let known = |name: &str| -> Result<bool> { Ok(call.context()?.schema_oid(name).is_some()) };
        privilege(call, 0, SqlState::UNDEFINED_SCHEMA, "schema", known)
    }),
    Definition::stable("has_table_privilege", (2, 3), Returns::Bool, |call| relation_privilege(call, 0)),
    Definition::stable("has_any_column_privilege", (2, 3), Returns::Bool, |call| relation_privilege(call, 0)),
    Definition::stable("has_sequence_privilege", (2, 3), Returns::Bool, |call| relation_privilege(call, 0)),
    Definition::stable("has_column_privilege", (3, 4), Returns::Bool, |call| relation_privilege(call, 1)),
    Definition::stable("has_function_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("has_type_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("has_language_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("has_tablespace_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("has_foreign_data_wrapper_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("has_server_privilege", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("pg_has_role", (2, 3), Returns::Bool, |_| Ok(true.into())),
    Definition::stable("row_security_active", (1, 1), Returns::Bool, |_| Ok(false.into())),
    Definition::stable("obj_description", (1, 2), Returns::Text, |call| {
        let catalog = call.text(1);
        Ok(call.context()?.comment(call.oid(0)?, catalog.as_deref(), 0).into())
    }),
    Definition::stable("shobj_description", (2, 2), Returns::Text, |call| {
        let catalog = call.text(1);
        Ok(call.context()?.comment(call.oid(0)?, catalog.as_deref(), 0).into())
    }),
    Definition::stable("col_description", (2, 2), Returns::Text, |call| {
        let column = i32::try_from(call.int(1)?).unwrap_or_default();
        if column == 0 {
            return Ok(Datum::Null);
        }
        Ok(call.context()?.comment(call.oid(0)?, Some("pg_class"), column).into())
    }),
];

fn in_path(call: &Call, schema: Option<String>) -> Result<Datum> {
    let path = call.context()?.search_path(true);
    Ok(schema.map_or(Datum::Null, |schema| path.contains(&schema).into()))
}

fn object_visible(call: &Call, catalog: &str) -> Result<Datum> {
    let schema = call.context()?.object_schema(catalog, call.oid(0)?);
    in_path(call, schema)
}

const PRIVILEGES: &[&str] = &[
    "select",
    "insert",
    "update",
    "delete",
    "truncate",
    "references",
    "trigger",
    "create",
    "connect",
    "temporary",
    "temp",
    "usage",
    "execute",
    "set",
    "alter system",
];

/// Everyone may do everything; but what is asked about has to be there. The first of three
/// arguments is a role.
fn privilege(
    call: &Call,
    after: usize,
    kind: SqlState,
    what: &str,
    known: impl Fn(&str) -> Result<bool>,
) -> Result<Datum> {
    let object = call.len() - 2 - after;
    let wanted = call.string(call.len() - 1);
    for word in wanted.split(',') {
        let word = word.trim().to_ascii_lowercase();
        let word = word.strip_suffix(" with grant option").unwrap_or(&word);
        if !PRIVILEGES.contains(&word) {
            let message = format!("unrecognized privilege type: \"{}\"", wanted.trim());
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        }
    }
    if let Datum::Text(name) = call.get(object)
        && !known(name)?
    {
        return fail(kind, format!("{what} \"{name}\" does not exist"));
    }
    Ok(true.into())
}

/// `after` arguments lie between the relation and the privilege.
fn relation_privilege(call: &Call, after: usize) -> Result<Datum> {
    let known = |name: &str| -> Result<bool> {
        class(call.context()?, name)?;
        Ok(true)
    };
    privilege(call, after, SqlState::UNDEFINED_TABLE, "relation", known)
}
