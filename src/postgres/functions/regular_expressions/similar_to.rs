//! Patterns of SIMILAR TO as regular expressions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use crate::functions::error::{SqlState, fail};
use crate::functions::kind::Kind;
use crate::functions::scalar::{Arguments, Call, Function, immutable};

pub(in crate::functions) static FUNCTIONS: [Function; 1] = [immutable("similar_to_escape", 1..=2, returns, run)];

fn returns(arguments: &Arguments) -> Result<DataType> {
    let texts = (0..arguments.types.len()).all(|place| matches!(arguments.kind(place), Kind::Text | Kind::Null));
    if texts { Ok(DataType::Utf8View) } else { arguments.undefined() }
}

fn run(call: &Call) -> Result<ArrayRef> {
    let patterns = call.text(0)?;
    let escapes = if call.len() == 2 { Some(call.text(1)?) } else { None };
    let nulls = [patterns.nulls(), escapes.as_ref().and_then(|escapes| escapes.nulls())];
    let expressions: StringViewArray = call.each(nulls, |row| {
        regular_expression(patterns.value(row), escapes.as_ref().map_or("\\", |escapes| escapes.value(row)))
    })?;
    Ok(Arc::new(expressions))
}

/// The regular expression that a pattern of SIMILAR TO means: all of the text, `%` and `_` as in
/// LIKE, the rest as there. Two escaped double quotes part it into three, of which the second is
/// captured: of the first part the shortest match is taken.
///
/// # Errors
/// An escape of more than one character, or more than two escaped double quotes.
pub(in crate::functions) fn regular_expression(pattern: &str, escape: &str) -> Result<String> {
    let mut escapes = escape.chars();
    let (escape, more) = (escapes.next(), escapes.next());
    if more.is_some() {
        return fail(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string");
    }
    let mut out = String::from("^(?:");
    let (mut in_class, mut quotes) = (false, 0);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            match characters.next() {
                Some('"') if !in_class => {
                    out.push_str(match quotes {
                        0 => "){1,1}?(",
                        1 => "){1,1}(?:",
                        _ => {
                            let message =
                                "SQL regular expression may not contain more than two escape-double-quote separators";
                            return fail(SqlState::INVALID_USE_OF_ESCAPE_CHARACTER, message);
                        }
                    });
                    quotes += 1;
                }
                Some(escaped) => out.extend(['\\', escaped]),
                None => {}
            }
            continue;
        }
        match character {
            character if in_class => {
                if character == '\\' {
                    out.push('\\');
                }
                out.push(character);
                in_class = character != ']';
            }
            '[' => {
                in_class = true;
                out.push('[');
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => out.extend(['\\', character]),
            character => out.push(character),
        }
    }
    out.push_str(")$");
    Ok(out)
}
