//! Texts taken apart by regular expressions.

use datafusion::common::Result;
use datafusion::functions::regex::compile_regex;

use super::datum::{Datum, Returns};
use super::error::{FunctionError, SqlState};
use super::function::{Call, Definition};
use crate::functions::pattern::Last;

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::immutable("regexp_split_to_array", (2, 3), Returns::Texts("text"), split),
    Definition::immutable("regexp_matches", (2, 3), Returns::TextLists, matches),
    Definition::immutable("regexp_substr", (2, 6), Returns::Text, part),
    Definition::immutable("like_escape", (2, 2), Returns::Text, like_escape),
];

/// A pattern of LIKE with another escape character, or with none if that is empty, as one with
/// backslashes.
fn like_escape(call: &Call) -> Result<Datum> {
    let (pattern, escape) = (call.string(0), call.string(1));
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        return Err(FunctionError::new(SqlState::INVALID_ESCAPE_CHARACTER, "invalid escape string").into());
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

/// Of every match (with flag `g`), or of the first, the groups; without groups all of it.
fn matches(call: &Call) -> Result<Datum> {
    let (text, pattern, flags) = (call.string(0), call.string(1), call.text(2).unwrap_or_default());
    let mut last = Last::default();
    let regex = last.pattern(&pattern, &flags)?;
    let most = if flags.contains('g') { usize::MAX } else { 1 };
    let groups = |found: regex::Captures<'_>| {
        let first = usize::from(found.len() > 1);
        let group = |part: Option<regex::Match<'_>>| Datum::from(part.map(|part| part.as_str().to_owned()));
        Datum::List(found.iter().skip(first).map(group).collect())
    };
    Ok(Datum::List(regex.captures_iter(&text).take(most).map(groups).collect()))
}

/// `regexp_substr(text, pattern [, from [, n [, flags [, group]]]])`: the n-th match behind a
/// character, or a group of it.
fn part(call: &Call) -> Result<Datum> {
    let (text, pattern) = (call.string(0), call.string(1));
    let number = |place: usize, name: &str, least: i64, default: i64| -> Result<usize> {
        let number = if call.len() > place { call.int(place)? } else { default };
        match usize::try_from(number).ok().filter(|_| number >= least) {
            Some(number) => Ok(number),
            None => {
                let message = format!("invalid value for parameter \"{name}\": {number}");
                Err(FunctionError::new(SqlState::INVALID_PARAMETER_VALUE, message).into())
            }
        }
    };
    let (from, nth, group) = (number(2, "start", 1, 1)?, number(3, "n", 1, 1)?, number(5, "subexpr", 0, 0)?);
    let flags = call.text(4).filter(|flags| !flags.is_empty());
    let regex = compile_regex(&pattern, flags.as_deref()).map_err(|_| {
        let message = format!("invalid regular expression: {pattern}");
        FunctionError::new(SqlState::INVALID_REGULAR_EXPRESSION, message)
    })?;
    let Some((start, _)) = text.char_indices().chain([(text.len(), ' ')]).nth(from - 1) else {
        return Ok(Datum::Null);
    };
    let found = regex.captures_iter(&text[start..]).nth(nth - 1);
    Ok(found.and_then(|found| found.get(group).map(|part| part.as_str().to_owned())).into())
}

/// What lies between matches. An empty match splits only between two characters, and not right
/// behind another match.
fn split(call: &Call) -> Result<Datum> {
    let (text, pattern) = (call.string(0), call.string(1));
    let flags = call.text(2);
    let regex = compile_regex(&pattern, flags.as_deref()).map_err(|_| {
        let message = format!("invalid regular expression: {pattern}");
        FunctionError::new(SqlState::INVALID_REGULAR_EXPRESSION, message)
    })?;
    call.reserve(regex.find_iter(&text).count().saturating_mul(size_of::<Datum>()).saturating_add(text.len()))?;
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
