//! The types that stand for catalog rows (`regclass`, `regtype`, ...): names in, oids between,
//! names out.

use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::context::FunctionContext;
use super::datum::{Datum, Returns};
use super::function::{Call, Definition, read_oid};
use super::quoting::{quote_identifier, quote_qualified, split_names};
use super::type_names::{format_type, type_by_sql_name};
use crate::functions::error::{Error, SqlState};
use crate::types::type_of;

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::stable("regclassin", (1, 1), Returns::Oid("regclass"), |call| read(call, class)),
    Definition::stable("regtypein", (1, 1), Returns::Oid("regtype"), |call| read(call, data_type)),
    Definition::stable("regprocin", (1, 1), Returns::Oid("regproc"), |call| read(call, function)),
    Definition::stable("regprocedurein", (1, 1), Returns::Oid("regprocedure"), |call| read(call, function)),
    Definition::stable("regnamespacein", (1, 1), Returns::Oid("regnamespace"), |call| read(call, namespace)),
    Definition::stable("regrolein", (1, 1), Returns::Oid("regrole"), |call| read(call, role)),
    Definition::immutable("oidin", (1, 1), Returns::Oid("oid"), |call| Ok(call.oid(0)?.into())),
    Definition::stable("to_regclass", (1, 1), Returns::Oid("regclass"), |call| find(call, class)),
    Definition::stable("to_regtype", (1, 1), Returns::Oid("regtype"), |call| find(call, data_type)),
    Definition::stable("pg_typeof", (1, 1), Returns::Oid("regtype"), |call| Ok(type_of_argument(call).into()))
        .with_nulls(),
    Definition::stable("to_regproc", (1, 1), Returns::Oid("regproc"), |call| find(call, function)),
    Definition::stable("to_regprocedure", (1, 1), Returns::Oid("regprocedure"), |call| find(call, function)),
    Definition::stable("to_regnamespace", (1, 1), Returns::Oid("regnamespace"), |call| find(call, namespace)),
    Definition::stable("to_regrole", (1, 1), Returns::Oid("regrole"), |call| find(call, role)),
    Definition::stable("regclassout", (1, 1), Returns::Text, |call| print(call, class_text)),
    Definition::stable("regtypeout", (1, 1), Returns::Text, |call| print(call, format_type_of)),
    Definition::stable("regprocout", (1, 1), Returns::Text, |call| print(call, function_text)),
    Definition::stable("regprocedureout", (1, 1), Returns::Text, |call| print(call, function_text)),
    Definition::stable("regnamespaceout", (1, 1), Returns::Text, |call| {
        print(call, |context, oid| context.schema_name(oid).map(|name| quote_identifier(&name)))
    }),
    Definition::stable("regroleout", (1, 1), Returns::Text, |call| {
        print(call, |context, oid| context.role_name(oid).map(|name| quote_identifier(&name)))
    }),
];

/// The types of this kind; each has functions `...in` and `...out`.
pub const REGISTERED_TYPES: &[&str] = &["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"];

type Lookup = fn(&dyn FunctionContext, &str) -> std::result::Result<u32, Error>;

/// The type that an argument has; a bare literal in quotes has none yet.
fn type_of_argument(call: &Call) -> u32 {
    const UNKNOWN: u32 = 705;
    match call.fields.first() {
        // Literals alone are in this form of text.
        Some(field) if matches!(field.data_type(), DataType::Utf8 | DataType::Null) && field.metadata().is_empty() => {
            UNKNOWN
        }
        Some(field) => type_of(field).map_or(UNKNOWN, |ty| ty.oid),
        None => UNKNOWN,
    }
}

/// Numbers are oids, and so are texts of digits; `-` is none; any other text is a name that has to
/// be there.
fn read(call: &Call, lookup: Lookup) -> Result<Datum> {
    let Datum::Text(text) = call.get(0) else { return Ok(call.oid(0)?.into()) };
    if text == "-" {
        return Ok(0u32.into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return Ok(read_oid(text)?.into());
    }
    Ok(lookup(call.context()?, text)?.into())
}

/// As `read`, but what is not there is NULL.
fn find(call: &Call, lookup: Lookup) -> Result<Datum> {
    match read(call, lookup) {
        Ok(oid) => Ok(oid),
        Err(datafusion::error::DataFusionError::External(error)) => match error.downcast_ref::<Error>() {
            Some(error) if error.sqlstate != SqlState::INVALID_NAME => Ok(Datum::Null),
            _ => Err(datafusion::error::DataFusionError::External(error)),
        },
        Err(other) => Err(other),
    }
}

fn print(call: &Call, name: fn(&dyn FunctionContext, u32) -> Option<String>) -> Result<Datum> {
    let oid = call.oid(0)?;
    if oid == 0 {
        return Ok("-".into());
    }
    Ok(name(call.context()?, oid).unwrap_or_else(|| oid.to_string()).into())
}

/// `schema.name` or `name`, taken apart.
pub(super) fn qualified(text: &str) -> std::result::Result<(Option<String>, String), Error> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut names = split_names(text, true).map_err(|_| invalid())?;
    let name = names.pop().ok_or_else(invalid)?;
    match names.len() {
        0 => Ok((None, name)),
        // A database before the schema: it can only be this one.
        1 | 2 => Ok((names.pop(), name)),
        _ => {
            let message = format!("improper relation name (too many dotted names): {text}");
            Err(Error::new(SqlState::INVALID_NAME, message))
        }
    }
}

pub(super) fn class(context: &dyn FunctionContext, text: &str) -> std::result::Result<u32, Error> {
    let (schema, name) = qualified(text)?;
    context.relation_oid(schema.as_deref(), &name).ok_or_else(|| {
        let shown = schema.map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"))
    })
}

fn data_type(context: &dyn FunctionContext, text: &str) -> std::result::Result<u32, Error> {
    type_by_sql_name(context, text)?
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{text}\" does not exist")))
}

fn function(context: &dyn FunctionContext, text: &str) -> std::result::Result<u32, Error> {
    // `regprocedure` has the arguments' types behind the name.
    let bare = text.split_once('(').map_or(text, |(name, _)| name);
    let (schema, name) = qualified(bare)?;
    let mut oids = context.function_oids(schema.as_deref(), &name);
    match (oids.pop(), oids.len()) {
        (Some(oid), 0) => Ok(oid),
        (Some(_), _) => {
            let message = format!("more than one function named \"{bare}\"");
            Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message))
        }
        (None, _) => {
            let message = format!("function \"{text}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_FUNCTION, message))
        }
    }
}

fn namespace(context: &dyn FunctionContext, text: &str) -> std::result::Result<u32, Error> {
    let (_, name) = qualified(text)?;
    context
        .schema_oid(&name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist")))
}

fn role(context: &dyn FunctionContext, text: &str) -> std::result::Result<u32, Error> {
    let (_, name) = qualified(text)?;
    context
        .role_oid(&name)
        .ok_or_else(|| Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
}

/// A relation's name, with its schema unless the search path finds it without.
pub(super) fn class_text(context: &dyn FunctionContext, oid: u32) -> Option<String> {
    let relation = context.relation(oid)?;
    let visible = context.relation_oid(None, &relation.name) == Some(oid);
    Some(quote_qualified((!visible).then_some(relation.schema.as_str()), &relation.name))
}

fn format_type_of(context: &dyn FunctionContext, oid: u32) -> Option<String> {
    Some(format_type(context, oid, None))
}

fn function_text(context: &dyn FunctionContext, oid: u32) -> Option<String> {
    let function = context.function(oid)?;
    let alone = function.namesakes <= 1 && context.search_path(true).contains(&function.schema);
    Some(quote_qualified((!alone).then_some(function.schema.as_str()), &function.name))
}
