//! Types by the names that SQL has for them.

use super::context::FunctionContext;
use super::quoting::quote_qualified;
use super::registered::qualified;
use crate::functions::error::Error;

/// `pg_type.typname`, SQL's name for it.
const SQL_NAMES: &[(&str, &str)] = &[
    ("bool", "boolean"),
    ("int2", "smallint"),
    ("int4", "integer"),
    ("int8", "bigint"),
    ("numeric", "numeric"),
    ("interval", "interval"),
    ("bit", "bit"),
    ("float4", "real"),
    ("float8", "double precision"),
    ("bpchar", "character"),
    ("varchar", "character varying"),
    ("timestamp", "timestamp without time zone"),
    ("timestamptz", "timestamp with time zone"),
    ("time", "time without time zone"),
    ("timetz", "time with time zone"),
    ("varbit", "bit varying"),
    ("char", "\"char\""),
];

/// Other spellings that SQL takes.
const SPELLINGS: &[(&str, &str)] = &[
    ("int", "int4"),
    ("decimal", "numeric"),
    ("dec", "numeric"),
    ("float", "float8"),
    ("timestamp", "timestamp"),
    ("time", "time"),
    ("char", "bpchar"),
    ("nchar", "bpchar"),
];

/// Bytes that a `varchar`'s modifier counts for itself.
const MODIFIER_HEADER: i64 = 4;

/// The name of a type as `format_type` prints it, with its modifier if there is one.
pub(super) fn format_type(context: &dyn FunctionContext, oid: u32, modifier: Option<i64>) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    let Some(facts) = context.type_facts(oid) else { return "???".to_owned() };
    if let Some(element) = facts.element {
        return format!("{}[]", format_type(context, element, modifier));
    }
    let name = match SQL_NAMES.iter().find(|(name, _)| *name == facts.name && facts.schema == "pg_catalog") {
        // Without a modifier `character` would mean one character, so the type's own name is
        // printed.
        Some(("bpchar", _)) if modifier == Some(-1) => "bpchar".to_owned(),
        Some((_, sql)) => (*sql).to_owned(),
        None => {
            let visible = context.type_oid(None, &facts.name) == Some(oid);
            return quote_qualified((!visible).then_some(facts.schema.as_str()), &facts.name);
        }
    };
    match modifier.filter(|modifier| *modifier >= 0) {
        None => name,
        Some(modifier) => match facts.name.as_str() {
            "varchar" | "bpchar" if modifier > MODIFIER_HEADER => format!("{name}({})", modifier - MODIFIER_HEADER),
            "numeric" if modifier >= MODIFIER_HEADER => {
                let modifier = modifier - MODIFIER_HEADER;
                format!("{name}({},{})", (modifier >> 16) & 0xffff, modifier & 0x7ff)
            }
            "timestamp" | "timestamptz" | "time" | "timetz" => match name.split_once(' ') {
                Some((word, rest)) => format!("{word}({modifier}) {rest}"),
                None => name,
            },
            _ => name,
        },
    }
}

/// The oid of a type written as SQL writes it: `int4`, `integer`, `pg_catalog.int4`, `text[]`,
/// `character varying(10)`.
pub(super) fn type_by_sql_name(context: &dyn FunctionContext, text: &str) -> std::result::Result<Option<u32>, Error> {
    let text = text.trim();
    if let Some(element) = text.strip_suffix("[]") {
        let Some(element) = type_by_sql_name(context, element)? else { return Ok(None) };
        let Some(facts) = context.type_facts(element) else { return Ok(None) };
        return Ok(context.type_oid(Some(&facts.schema), &format!("_{}", facts.name)));
    }
    let bare = match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) if open < close => format!("{}{}", &text[..open], &text[close + 1..]),
        _ => text.to_owned(),
    };
    let words = bare.split_ascii_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let known = SQL_NAMES.iter().find(|(_, sql)| *sql == words && *sql != "\"char\"").map(|(name, _)| *name);
    let known = known.or_else(|| SPELLINGS.iter().find(|(spelling, _)| *spelling == words).map(|(_, name)| *name));
    if let Some(name) = known {
        return Ok(context.type_oid(Some("pg_catalog"), name));
    }
    let (schema, name) = qualified(bare.trim())?;
    Ok(context.type_oid(schema.as_deref(), &name))
}
