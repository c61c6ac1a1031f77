//! Patterns of LIKE with an escape character of their own.

use datafusion::common::Result;

use super::datum::{Datum, Returns};
use super::function::{Call, Definition};
use crate::functions::error::{SqlState, fail};

pub(super) static FUNCTIONS: &[Definition] =
    &[Definition::immutable("like_escape", (2, 2), Returns::Text, like_escape)];

/// A pattern of LIKE with another escape character, or with none if that is empty, as one with
/// backslashes.
fn like_escape(call: &Call) -> Result<Datum> {
    let (pattern, escape) = (call.string(0), call.string(1));
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        return fail(SqlState::INVALID_ESCAPE_CHARACTER, "invalid escape string");
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
