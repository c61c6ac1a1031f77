//! `LIKE` and `ILIKE` with a pattern of each row: matched as they stand, since a regular expression
//! of each would cost more to make than to match.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::{Expr, not};

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, Scalar, immutable};
use crate::carried::Stop;

/// Rows between two questions whether the statement is to stop.
const ROWS_UNASKED: usize = 64;

static LIKE: Function = immutable("textlike", 2..=2, returns, |call| matched(call, false));
static ILIKE: Function = immutable("texticlike", 2..=2, returns, |call| matched(call, true));

/// Longer patterns would become regular expressions that take minutes to make.
const CONSTANT_BYTES_MAX: usize = 8192;

/// A condition whose pattern is no constant as a call; others are found in keys and statistics.
pub(super) fn of_rows(like: Like, kind: impl Fn(&Expr) -> Option<Kind>) -> Expr {
    let is_constant = match &*like.pattern {
        Expr::Literal(pattern, _) => pattern.try_as_str().flatten().is_none_or(|text| text.len() <= CONSTANT_BYTES_MAX),
        Expr::Placeholder(_) => true,
        _ => false,
    };
    let is_text = |expr| kind(expr) == Some(Kind::Text);
    if is_constant || like.escape_char.is_some() || !is_text(&like.expr) || !is_text(&like.pattern) {
        return Expr::Like(like);
    }
    let function = if like.case_insensitive { &ILIKE } else { &LIKE };
    let call = ScalarFunction::new_udf(Scalar::udf(function), vec![*like.expr, *like.pattern]);
    if like.negated { not(Expr::ScalarFunction(call)) } else { Expr::ScalarFunction(call) }
}

fn returns(_: &Arguments) -> Result<DataType> {
    Ok(DataType::Boolean)
}

fn matched(call: &Call, in_any_case: bool) -> Result<ArrayRef> {
    let (texts, patterns) = (call.text(0)?, call.text(1)?);
    let stop = Stop::of(call.options);
    let matches: BooleanArray = call.each([texts.nulls(), patterns.nulls()], |row| {
        if row % ROWS_UNASKED == 0 {
            stop.check()?;
        }
        let (text, pattern) = (texts.value(row), patterns.value(row));
        match in_any_case {
            true => is_match(&text.to_lowercase(), &pattern.to_lowercase()),
            false => is_match(text, pattern),
        }
    })?;
    Ok(Arc::new(matches))
}

/// What a pattern asks for next.
enum Part {
    Any,
    One,
    Char(char),
}

/// The first part of a pattern, and how long it is.
fn part(pattern: &str) -> Result<Option<(Part, usize)>> {
    let mut chars = pattern.chars();
    Ok(match chars.next() {
        None => None,
        Some('%') => Some((Part::Any, 1)),
        Some('_') => Some((Part::One, 1)),
        Some('\\') => match chars.next() {
            Some(escaped) => Some((Part::Char(escaped), 1 + escaped.len_utf8())),
            None => {
                let message = "LIKE pattern must not end with escape character";
                return fail(SqlState::INVALID_ESCAPE_SEQUENCE, message);
            }
        },
        Some(char) => Some((Part::Char(char), char.len_utf8())),
    })
}

/// Where the text differs, the last `%` takes one character more: those before it need not change.
fn is_match(mut text: &str, mut pattern: &str) -> Result<bool> {
    let mut last_any: Option<(&str, &str)> = None;
    loop {
        let taken = match part(pattern)? {
            Some((Part::Any, length)) => {
                pattern = &pattern[length..];
                if pattern.is_empty() {
                    return Ok(true);
                }
                last_any = Some((text, pattern));
                continue;
            }
            Some((part, length)) => {
                let next = text.chars().next();
                let fits = match part {
                    Part::Char(char) => next == Some(char),
                    _ => next.is_some(),
                };
                next.filter(|_| fits).map(|next| (next.len_utf8(), length))
            }
            None if text.is_empty() => return Ok(true),
            None => None,
        };
        match (taken, &mut last_any) {
            (Some((of_text, of_pattern)), _) => (text, pattern) = (&text[of_text..], &pattern[of_pattern..]),
            (None, Some((from, behind))) => {
                let Some(skipped) = from.chars().next() else { return Ok(false) };
                *from = &from[skipped.len_utf8()..];
                (text, pattern) = (from, behind);
            }
            (None, None) => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc", "%b", false),
            ("aXbXc", "a%b%c", true),
            ("abab", "%ab", true),
            ("aab", "%ab%", true),
            ("mississippi", "m%iss%pi", true),
            ("mississippi", "m%iss%pp", false),
            ("é\n😀", "_\n_", true),
            ("100%", "100\\%", true),
            ("1000", "100\\%", false),
            ("a_b", "a\\_b", true),
            ("a\\b", "a\\\\b", true),
        ] {
            assert_eq!(is_match(text, pattern).expect("a pattern"), expected, "{text} LIKE {pattern}");
        }
        assert!(is_match("a", "a\\").expect_err("no pattern").to_string().contains("escape character"));
    }
}
