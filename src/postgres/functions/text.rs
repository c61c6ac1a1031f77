//! Functions of texts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use memchr::memmem;

use crate::carried::Stop;

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::regular_expressions::{RowPatterns, first_part, regular_expression};
use super::scalar::{Arguments, Call, Function, immutable, stable};

/// Between two longer texts a call asks whether its statement is to stop.
pub(super) const LONG_TEXT_BYTES: usize = 1 << 16;

pub(super) static FUNCTIONS: [Function; 6] = [
    immutable("position", 2..=2, returns_position, run_position),
    immutable("strpos", 2..=2, returns_number_of_texts, run_strpos),
    immutable("substring", 2..=3, returns_substring, run_substring),
    immutable("substr", 2..=3, returns_substring, run_substring),
    stable("to_char", 2..=2, returns_formatted, super::to_char::run),
    stable("to_number", 2..=2, super::number_pattern::returns_number, super::number_pattern::run_number),
];

/// From and for so many characters, or what a pattern matches.
fn returns_substring(arguments: &Arguments) -> Result<DataType> {
    let is_place = |kind: Kind| kind.is_integer() || kind == Kind::Text && arguments.function == "substring";
    if !(1..arguments.types.len()).all(|place| arguments.may_be(place, is_place)) {
        return arguments.undefined();
    }
    match arguments.kind(0) {
        Kind::Bytea => Ok(DataType::BinaryView),
        Kind::Text | Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    }
}

fn returns_formatted(arguments: &Arguments) -> Result<DataType> {
    if arguments.may_be(1, |kind| kind == Kind::Text) { Ok(DataType::Utf8View) } else { arguments.undefined() }
}

fn returns_number_of_texts(arguments: &Arguments) -> Result<DataType> {
    match (arguments.kind(0), arguments.kind(1)) {
        (Kind::Text | Kind::Null, Kind::Text | Kind::Null) => Ok(DataType::Int32),
        _ => arguments.undefined(),
    }
}

fn returns_position(arguments: &Arguments) -> Result<DataType> {
    let is_bytes = |place: usize| arguments.may_be(place, |kind| kind == Kind::Bytea);
    if [0, 1].iter().any(|place| arguments.kind(*place) == Kind::Bytea) && is_bytes(0) && is_bytes(1) {
        return Ok(DataType::Int32);
    }
    returns_number_of_texts(arguments)
}

/// `position(part IN value)`, of texts as `strpos` or of bytes; the value comes first.
fn run_position(call: &Call) -> Result<ArrayRef> {
    if call.kind(0) != Kind::Bytea && call.kind(1) != Kind::Bytea {
        return run_strpos(call);
    }
    let (values, parts) = (call.as_type(0, &DataType::BinaryView)?, call.as_type(1, &DataType::BinaryView)?);
    let (values, parts) = (values.as_binary_view(), parts.as_binary_view());
    let stop = Stop::of(call.options);
    let places: Int32Array = call.each([values.nulls(), parts.nulls()], |row| {
        let (value, part) = (values.value(row), parts.value(row));
        if value.len() > LONG_TEXT_BYTES {
            stop.check()?;
        }
        // Linear, whatever the bytes are.
        Ok(memmem::find(value, part).map_or(0, |at| i32::try_from(at + 1).unwrap_or(i32::MAX)))
    })?;
    Ok(Arc::new(places))
}

/// Where a text begins in another one, in characters from 1; 0 where it is not.
fn run_strpos(call: &Call) -> Result<ArrayRef> {
    let (texts, parts) = (call.text(0)?, call.text(1)?);
    let stop = Stop::of(call.options);
    let places: Int32Array = call.each([texts.nulls(), parts.nulls()], |row| {
        let (text, part) = (texts.value(row), parts.value(row));
        if text.len() > LONG_TEXT_BYTES {
            stop.check()?;
        }
        // Linear, whatever the texts are.
        let place = text.find(part).map_or(0, |at| 1 + text[..at].chars().count());
        Ok(i32::try_from(place).unwrap_or(i32::MAX))
    })?;
    Ok(Arc::new(places))
}

/// `substring(text, from [, count])` in characters from 1, or what a pattern matches, or its first
/// group.
fn run_substring(call: &Call) -> Result<ArrayRef> {
    if call.kind(1) == Kind::Text {
        return matched(call);
    }
    let (whole, from) = (call.arg(0)?, call.int8(1)?);
    let count = if call.len() == 3 { Some(call.int8(2)?) } else { None };
    // The characters wanted, counted from 0: those before the first are counted, too.
    let span = |row: usize| -> Result<Option<(usize, usize)>> {
        if whole.is_null(row) || from.is_null(row) || count.as_ref().is_some_and(|count| count.is_null(row)) {
            return Ok(None);
        }
        let start = from.value(row).saturating_sub(1);
        let end = match &count {
            Some(count) if count.value(row) < 0 => {
                return fail(SqlState::SUBSTRING_ERROR, "negative substring length not allowed");
            }
            Some(count) => start.saturating_add(count.value(row)),
            None => i64::MAX,
        };
        let start = usize::try_from(start.max(0)).unwrap_or(usize::MAX);
        let end = usize::try_from(end.max(0)).unwrap_or(usize::MAX);
        Ok(Some((start, end.max(start))))
    };
    if call.kind(0) == Kind::Bytea {
        let bytes = call.as_type(0, &DataType::BinaryView)?;
        let bytes = bytes.as_binary_view();
        let mut parts = arrow::array::BinaryViewBuilder::with_capacity(call.rows);
        for row in 0..call.rows {
            match span(row)? {
                Some((start, end)) if bytes.is_valid(row) => {
                    let value = bytes.value(row);
                    parts.append_value(&value[start.min(value.len())..end.min(value.len())]);
                }
                _ => parts.append_null(),
            }
        }
        return Ok(Arc::new(parts.finish()));
    }
    let texts = call.text(0)?;
    let mut parts = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        match span(row)? {
            Some((start, end)) if texts.is_valid(row) => parts.append_value(characters(texts.value(row), start, end)),
            _ => parts.append_null(),
        }
    }
    Ok(Arc::new(parts.finish()))
}

/// Characters from `start` to before `end`.
pub(super) fn characters(text: &str, start: usize, end: usize) -> &str {
    let place = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(place, _)| place);
    let from = place(start);
    let to = if end == usize::MAX { text.len() } else { place(end) };
    &text[from..to.max(from)]
}

/// What a regular expression matches, or with a third text, an escape character, a pattern of
/// SIMILAR TO.
fn matched(call: &Call) -> Result<ArrayRef> {
    let (texts, patterns) = (call.text(0)?, call.text(1)?);
    let escapes = if call.len() == 3 { Some(call.text(2)?) } else { None };
    let (mut compiled, stop) = (RowPatterns::of(call.options), Stop::of(call.options));
    let mut parts = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        if texts.is_null(row) || patterns.is_null(row) || escapes.as_ref().is_some_and(|texts| texts.is_null(row)) {
            parts.append_null();
            continue;
        }
        let (text, pattern) = (texts.value(row), patterns.value(row));
        parts.append_option(match &escapes {
            None => first_part(&mut compiled, text, pattern, &stop)?,
            Some(escapes) => {
                let pattern = regular_expression(pattern, escapes.value(row))?;
                first_part(&mut compiled, text, &pattern, &stop)?
            }
        });
    }
    Ok(Arc::new(parts.finish()))
}
