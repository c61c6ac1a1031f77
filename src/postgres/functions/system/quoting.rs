//! Names and literals in quotes, and out of them.

use datafusion::common::Result;

use super::datum::{Datum, Returns};
use super::function::{ANY, Call, Definition};
use super::keywords::{Category, KEYWORDS};
use crate::functions::error::{Error, SqlState, fail};

/// Most bytes of names that `parse_ident` takes apart.
const IDENTIFIERS_BYTES_MAX: usize = 64 << 10;

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::immutable("quote_ident", (1, 1), Returns::Text, |call| Ok(quote_identifier(&call.string(0)).into()))
        .of_texts(),
    Definition::immutable("quote_literal", (1, 1), Returns::Text, |call| {
        Ok(quote_literal(&cast_text(call).unwrap_or_default()).into())
    }),
    Definition::immutable("quote_nullable", (1, 1), Returns::Text, |call| {
        Ok(cast_text(call).map_or_else(|| "NULL".to_owned(), |text| quote_literal(&text)).into())
    })
    .with_nulls(),
    Definition::immutable("parse_ident", (1, 2), Returns::Texts("text"), parse_ident),
    Definition::stable("format", (1, ANY), Returns::Text, format).with_nulls(),
];

/// A name as it has to stand in SQL: in quotes unless it is a lower case word that is no keyword.
pub fn quote_identifier(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !KEYWORDS.iter().any(|(word, category)| *word == name && *category != Category::Unreserved);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A schema's name and a name in it, or the name alone.
pub(super) fn quote_qualified(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(name)),
        None => quote_identifier(name),
    }
}

/// The first argument as a cast to text has it: a boolean in words, not as it is sent.
fn cast_text(call: &Call) -> Option<String> {
    match call.get(0) {
        Datum::Bool(value) => Some(value.to_string()),
        value => value.text(),
    }
}

/// A text as it has to stand in SQL; with an `E` before it if it has backslashes.
pub(crate) fn quote_literal(text: &str) -> String {
    let escape = if text.contains('\\') { "E" } else { "" };
    format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn invalid_name(text: &str) -> Error {
    let message = format!("string is not a valid identifier: \"{text}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn parse_ident(call: &Call) -> Result<Datum> {
    let strict = call.len() < 2 || call.flag(1)?;
    let text = call.string(0);
    if text.len() > IDENTIFIERS_BYTES_MAX {
        let message = format!("identifiers of {} bytes, at most {IDENTIFIERS_BYTES_MAX} are taken apart", text.len());
        return fail(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    }
    let names = split_names(&text, strict)?;
    Ok(Datum::List(names.into_iter().map(Datum::from).collect()))
}

/// Takes `a."B".c` apart; what has no quotes is lower case afterwards. Unless `strict`, what
/// follows the names is ignored.
pub(super) fn split_names(text: &str, strict: bool) -> std::result::Result<Vec<String>, Error> {
    let blank = |c: char| c.is_ascii_whitespace();
    let mut rest = text.trim_start_matches(blank);
    let mut names = Vec::new();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = quoted.char_indices().peekable();
            loop {
                match chars.next() {
                    None => return Err(invalid_name(text)),
                    Some((_, '"')) if chars.next_if(|(_, c)| *c == '"').is_some() => name.push('"'),
                    Some((at, '"')) => {
                        rest = &quoted[at + 1..];
                        break;
                    }
                    Some((_, c)) => name.push(c),
                }
            }
            if name.is_empty() {
                return Err(invalid_name(text));
            }
            names.push(name);
        } else {
            let starts = |c: char| c.is_alphabetic() || c == '_';
            if !rest.starts_with(starts) {
                return Err(invalid_name(text));
            }
            let end = rest.find(|c: char| !(starts(c) || c.is_ascii_digit() || c == '$')).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            names.push(name.to_lowercase());
            rest = after;
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(after) => rest = after.trim_start_matches(blank),
            None if rest.is_empty() || !strict => return Ok(names),
            None => return Err(invalid_name(text)),
        }
    }
}

/// `format`: %s, %I, %L and %%, each with an optional position, a minus, and a width.
fn format(call: &Call) -> Result<Datum> {
    let refuse = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let Some(template) = call.text(0) else { return Ok(Datum::Null) };
    let too_few = || refuse("too few arguments for format()".to_owned());
    let argument = |position: usize| -> Result<&Datum> {
        if position < call.len() { Ok(call.get(position)) } else { Err(too_few().into()) }
    };
    let mut out = String::new();
    let mut chars = template.chars().peekable();
    let mut last = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let unterminated = || refuse("unterminated format() type specifier".to_owned());
        let zeroth = || refuse("format specifies argument 0, but arguments are numbered from 1".to_owned());
        let (mut number, mut position) = (digits(&mut chars)?, None);
        if number.is_some() && chars.next_if_eq(&'$').is_some() {
            position = number.take();
        }
        if position == Some(0) {
            return Err(zeroth().into());
        }
        let mut left = false;
        let mut width = number.unwrap_or(0);
        if number.is_none() {
            while chars.next_if_eq(&'-').is_some() {
                left = true;
            }
            if chars.next_if_eq(&'*').is_some() {
                last = match digits(&mut chars)? {
                    Some(_) if chars.next_if_eq(&'$').is_none() => {
                        let message = "width argument position must be ended by \"$\"";
                        return Err(refuse(message.to_owned()).into());
                    }
                    Some(0) => return Err(zeroth().into()),
                    Some(position) => position,
                    None => last + 1,
                };
                if !argument(last)?.is_null() {
                    let value = call.int(last)?;
                    left |= value < 0;
                    width = usize::try_from(value.unsigned_abs()).unwrap_or(usize::MAX);
                }
            } else {
                width = digits(&mut chars)?.unwrap_or(0);
            }
        }
        let conversion = chars.next().ok_or_else(unterminated)?;
        if !matches!(conversion, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{conversion}\"");
            return Err(refuse(message).into());
        }
        last = position.unwrap_or(last + 1);
        let text = argument(last)?.text();
        let text = match (conversion, text) {
            ('s', text) => text.unwrap_or_default(),
            ('I', Some(text)) => quote_identifier(&text),
            ('I', None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return fail(SqlState::NULL_VALUE_NOT_ALLOWED, message);
            }
            (_, Some(text)) => quote_literal(&text),
            (_, None) => "NULL".to_owned(),
        };
        let pad = width.saturating_sub(text.chars().count());
        call.reserve(out.len().saturating_add(pad).saturating_add(text.len()))?;
        if left {
            out.push_str(&text);
        }
        out.extend(std::iter::repeat_n(' ', pad));
        if !left {
            out.push_str(&text);
        }
    }
    Ok(out.into())
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars>) -> Result<Option<usize>> {
    let mut text = String::new();
    while let Some(c) = chars.next_if(char::is_ascii_digit) {
        text.push(c);
    }
    if text.is_empty() {
        return Ok(None);
    }
    let out_of_range = |_| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range");
    Ok(Some(text.parse().map_err(out_of_range)?))
}
