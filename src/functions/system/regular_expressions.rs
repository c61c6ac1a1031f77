//! Texts taken apart by regular expressions.

use datafusion::common::Result;
use datafusion::functions::regex::compile_regex;

use super::datum::{Datum, Returns};
use super::error::{FunctionError, FunctionErrorKind};
use super::function::{Call, Definition};

pub static FUNCTIONS: &[Definition] = &[
    Definition::immutable("regexp_split_to_array", (2, 3), Returns::Texts("text"), split),
    Definition::immutable("like_escape", (2, 2), Returns::Text, like_escape),
];

/// A pattern of LIKE with another escape character, or with none if that is empty, as one with backslashes.
fn like_escape(call: &Call) -> Result<Datum> {
    let (pattern, escape) = (call.string(0), call.string(1));
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        return Err(FunctionError::new(FunctionErrorKind::InvalidEscape, "invalid escape string").into());
    }
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            out.push('\\');
            out.extend(chars.next());
        } else {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
    }
    Ok(out.into())
}

/// What lies between matches. An empty match splits only between two characters, and not right behind another match.
fn split(call: &Call) -> Result<Datum> {
    let (text, pattern) = (call.string(0), call.string(1));
    let flags = call.text(2);
    let regex = compile_regex(&pattern, flags.as_deref()).map_err(|_| {
        let message = format!("invalid regular expression: {pattern}");
        FunctionError::new(FunctionErrorKind::InvalidRegularExpression, message)
    })?;
    let mut parts = Vec::new();
    let mut from = 0;
    for found in regex.find_iter(&text) {
        if found.is_empty() && (found.start() == from || found.start() == text.len()) {
            continue;
        }
        parts.push(Datum::from(&text[from..found.start()]));
        from = found.end();
    }
    parts.push(Datum::from(&text[from..]));
    Ok(Datum::List(parts))
}
