//! `LIKE` and `ILIKE` with a pattern of each row: matched as they stand, since a regular expression
//! of each would cost more to make than to match.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::{Expr, not};

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, ILIKE, LIKE, Scalar, immutable};
use crate::carried::Stop;

/// Characters between two questions whether the statement is to stop.
const CHARS_UNASKED: usize = 1 << 14;

static TEXT_LIKE: Function = immutable(LIKE, 2..=2, returns, |call| matched(call, false));
static TEXT_ILIKE: Function = immutable(ILIKE, 2..=2, returns, |call| matched(call, true));

/// Longer patterns would become regular expressions that take minutes to make.
const CONSTANT_BYTES_MAX: usize = 8192;

/// A condition whose pattern is no constant as a call; others are found in keys and statistics.
pub(super) fn of_rows(like: Like, kind: impl Fn(&Expr) -> Option<Kind>) -> Expr {
    let is_constant =
        matches!(&*like.pattern, Expr::Literal(..) | Expr::Placeholder(_)) && !is_matched_here(&like.pattern);
    let is_text = |expr| kind(expr) == Some(Kind::Text);
    if is_constant || !is_text(&like.expr) || !is_text(&like.pattern) { Expr::Like(like) } else { call(like) }
}

/// A condition of texts as a call, if its pattern was a parameter and is one of those.
pub(crate) fn of_value(like: Like) -> Transformed<Expr> {
    if is_matched_here(&like.pattern) { Transformed::yes(call(like)) } else { Transformed::no(Expr::Like(like)) }
}

/// Whether a pattern is long, or ends with an escape character, which arrow takes for a backslash.
fn is_matched_here(pattern: &Expr) -> bool {
    let Expr::Literal(pattern, _) = pattern else { return false };
    pattern.try_as_str().flatten().is_some_and(|text| {
        let escapes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
        text.len() > CONSTANT_BYTES_MAX || escapes % 2 == 1
    })
}

fn call(like: Like) -> Expr {
    if like.escape_char.is_some() {
        return Expr::Like(like);
    }
    let function = if like.case_insensitive { &TEXT_ILIKE } else { &TEXT_LIKE };
    let call = ScalarFunction::new_udf(Scalar::udf(function), vec![*like.expr, *like.pattern]);
    if like.negated { not(Expr::ScalarFunction(call)) } else { Expr::ScalarFunction(call) }
}

fn returns(_: &Arguments) -> Result<DataType> {
    Ok(DataType::Boolean)
}

fn matched(call: &Call, in_any_case: bool) -> Result<ArrayRef> {
    Ok(Arc::new(match_each(&call.text(0)?, &call.text(1)?, in_any_case, &Stop::of(call.options))?))
}

/// Whether each text matches the pattern beside it, or the only one.
pub(super) fn match_each(
    texts: &StringViewArray,
    patterns: &StringViewArray,
    in_any_case: bool,
    stop: &Stop,
) -> Result<BooleanArray> {
    let mut unasked = CHARS_UNASKED;
    let cased = |pattern| if in_any_case { Cow::Owned(str::to_lowercase(pattern)) } else { Cow::Borrowed(pattern) };
    let mut last: Option<(&str, Cow<'_, str>)> = None;
    let rows = texts.iter().zip(patterns.iter().cycle());
    rows.map(|row| {
        let (Some(text), Some(pattern)) = row else { return Ok(None) };
        let (_, pattern) = match &mut last {
            Some(last) if std::ptr::eq(last.0, pattern) => last,
            last => last.insert((pattern, cased(pattern))),
        };
        is_match(&cased(text), pattern, &mut unasked, stop).map(Some)
    })
    .collect()
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
/// In the worst case every character of the text is compared with every one of the pattern, so that
/// one row may take long.
fn is_match(mut text: &str, mut pattern: &str, unasked: &mut usize, stop: &Stop) -> Result<bool> {
    let mut last_any: Option<(&str, &str)> = None;
    loop {
        *unasked -= 1;
        if *unasked == 0 {
            stop.check()?;
            *unasked = CHARS_UNASKED;
        }
        if text.is_empty() {
            // Whatever else is asked for, a shorter rest does not have it either.
            return Ok(pattern.bytes().all(|byte| byte == b'%'));
        }
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
                let fits = |next: &char| match part {
                    Part::Char(char) => *next == char,
                    _ => true,
                };
                text.chars().next().filter(fits).map(|next| (next.len_utf8(), length))
            }
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

    fn is_match(text: &str, pattern: &str) -> Result<bool> {
        super::is_match(text, pattern, &mut 1, &Stop::default())
    }

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
            ("a", "a\\", false),
            ("a", "a%\\", false),
            ("", "\\", false),
        ] {
            assert_eq!(is_match(text, pattern).expect("a pattern"), expected, "{text} LIKE {pattern}");
        }
        assert!(is_match("ab", "a\\").expect_err("no pattern").to_string().contains("escape character"));
    }
}
