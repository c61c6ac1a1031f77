//! Catalog objects spelled out: constraints, indexes, views, defaults, functions, owners.

use datafusion::common::Result;

use super::context::FunctionFacts;
use super::datum::{Datum, Returns};
use super::function::{Call, Definition};
use super::quoting::{quote_identifier, quote_qualified};
use super::registered::class;
use super::type_names::format_type;
use crate::functions::error::{SqlState, fail};

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::stable("pg_get_expr", (2, 3), Returns::Text, |call| Ok(call.text(0).into())),
    Definition::stable("format_type", (2, 2), Returns::Text, |call| {
        if call.get(0).is_null() {
            return Ok(Datum::Null);
        }
        let modifier = if call.get(1).is_null() { None } else { Some(call.int(1)?) };
        Ok(format_type(call.context()?, call.oid(0)?, modifier).into())
    })
    .with_nulls(),
    Definition::stable("pg_get_constraintdef", (1, 2), Returns::Text, |call| {
        let constraint = call.context()?.constraint(call.oid(0)?);
        Ok(constraint.map(|constraint| format!("PRIMARY KEY ({})", quoted(&constraint.columns))).into())
    }),
    Definition::stable("pg_get_indexdef", (1, 3), Returns::Text, index_definition),
    Definition::stable("pg_get_viewdef", (1, 2), Returns::Text, view_definition),
    Definition::stable("pg_get_userbyid", (1, 1), Returns::Named("name"), |call| {
        let oid = call.oid(0)?;
        Ok(call.context()?.role_name(oid).unwrap_or_else(|| format!("unknown (OID={oid})")).into())
    }),
    Definition::stable("pg_get_function_result", (1, 1), Returns::Text, |call| {
        Ok(function(call)?.map(|facts| function_result(call, &facts)).transpose()?.into())
    }),
    Definition::stable("pg_get_function_arguments", (1, 1), Returns::Text, function_arguments),
    Definition::stable("pg_get_function_identity_arguments", (1, 1), Returns::Text, function_arguments),
    Definition::stable("pg_get_function_arg_default", (2, 2), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_function_sqlbody", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_functiondef", (1, 1), Returns::Text, function_definition),
    Definition::stable("pg_get_serial_sequence", (2, 2), Returns::Text, |call| {
        let (table, column) = (call.string(0), call.string(1));
        let oid = class(call.context()?, &table)?;
        let relation = call.context()?.relation(oid);
        if relation.is_some_and(|relation| !relation.columns.contains(&column)) {
            let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
            return fail(SqlState::UNDEFINED_COLUMN, message);
        }
        Ok(Datum::Null)
    }),
    // Of what no account has: whatever the oid, there is nothing to print.
    Definition::stable("pg_get_partkeydef", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_partition_constraintdef", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_statisticsobjdef", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_statisticsobjdef_columns", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_statisticsobjdef_expressions", (1, 1), Returns::Texts("text"), |_| Ok(Datum::Null)),
    Definition::stable("pg_get_triggerdef", (1, 2), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_get_ruledef", (1, 2), Returns::Text, |_| Ok(Datum::Null)),
    Definition::stable("pg_relation_is_publishable", (1, 1), Returns::Bool, |call| {
        let relation = call.context()?.relation(call.oid(0)?);
        Ok(relation.map_or(Datum::Null, |relation| (relation.kind == 'r' && relation.schema == "public").into()))
    }),
    Definition::stable("pg_relation_is_updatable", (2, 2), Returns::Int4, |_| Ok(Datum::Int(0))),
    Definition::stable("pg_column_is_updatable", (3, 3), Returns::Bool, |_| Ok(false.into())),
    Definition::stable("pg_describe_object", (3, 3), Returns::Text, describe),
];

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| quote_identifier(name)).collect::<Vec<_>>().join(", ")
}

fn index_definition(call: &Call) -> Result<Datum> {
    let Some(index) = call.context()?.index(call.oid(0)?) else { return Ok(Datum::Null) };
    let column = if call.len() > 1 { call.int(1)? } else { 0 };
    if column != 0 {
        let name = usize::try_from(column - 1).ok().and_then(|at| index.columns.get(at));
        return Ok(name.map_or_else(String::new, |name| quote_identifier(name)).into());
    }
    Ok(format!(
        "CREATE UNIQUE INDEX {} ON {} USING btree ({})",
        quote_identifier(&index.name),
        quote_qualified(Some(&index.schema), &index.table),
        quoted(&index.columns)
    )
    .into())
}

/// By oid, or by name; the second argument only says how to break lines.
fn view_definition(call: &Call) -> Result<Datum> {
    let context = call.context()?;
    let oid = match call.get(0) {
        Datum::Text(name) if !name.bytes().all(|byte| byte.is_ascii_digit()) => class(context, name)?,
        _ => call.oid(0)?,
    };
    let definition = context.relation(oid).and_then(|relation| relation.view_definition.clone());
    Ok(definition.map(|query| format!(" {};", query.trim().trim_end_matches(';'))).into())
}

fn function(call: &Call) -> Result<Option<FunctionFacts>> {
    Ok(call.context()?.function(call.oid(0)?))
}

fn function_result(call: &Call, facts: &FunctionFacts) -> Result<String> {
    let name = format_type(call.context()?, facts.result_type, None);
    Ok(if facts.returns_set { format!("SETOF {name}") } else { name })
}

fn function_arguments(call: &Call) -> Result<Datum> {
    let Some(facts) = function(call)? else { return Ok(Datum::Null) };
    let context = call.context()?;
    let arguments = facts.argument_types.iter().enumerate().map(|(i, oid)| {
        let data_type = format_type(context, *oid, None);
        match facts.argument_names.get(i).filter(|name| !name.is_empty()) {
            Some(name) => format!("{} {data_type}", quote_identifier(name)),
            None => data_type,
        }
    });
    Ok(arguments.collect::<Vec<_>>().join(", ").into())
}

fn function_definition(call: &Call) -> Result<Datum> {
    let Some(facts) = function(call)? else { return Ok(Datum::Null) };
    let Datum::Text(arguments) = function_arguments(call)? else { return Ok(Datum::Null) };
    let name = quote_qualified(Some(&facts.schema), &facts.name);
    let result = function_result(call, &facts)?;
    let body = &facts.name;
    Ok(format!(
        "CREATE OR REPLACE FUNCTION {name}({arguments})\n RETURNS {result}\n LANGUAGE internal\nAS $function${body}$function$\n"
    )
    .into())
}

fn describe(call: &Call) -> Result<Datum> {
    let context = call.context()?;
    let oid = call.oid(1)?;
    if let Some(relation) = context.relation(oid) {
        let kind = match relation.kind {
            'v' => "view",
            'i' => "index",
            _ => "table",
        };
        let name = super::registered::class_text(context, oid).unwrap_or_default();
        let number = call.int(2)?;
        let column = usize::try_from(number - 1).ok().and_then(|at| relation.columns.get(at));
        return Ok(match column {
            Some(column) => format!("column {} of {kind} {name}", quote_identifier(column)),
            None => format!("{kind} {name}"),
        }
        .into());
    }
    if let Some(name) = context.schema_name(oid) {
        return Ok(format!("schema {}", quote_identifier(&name)).into());
    }
    if context.type_facts(oid).is_some() {
        return Ok(format!("type {}", format_type(context, oid, None)).into());
    }
    Ok(context.role_name(oid).map(|name| format!("role {}", quote_identifier(&name))).into())
}
