//! Patterns that are wrong, and those that are not supported.

use datafusion::common::Result;

use crate::functions::error::{SqlState, fail};

/// PostgreSQL's words for what is wrong with a pattern.
pub(super) fn invalid<T>(reason: &str) -> Result<T> {
    fail(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {reason}"))
}

pub(super) fn unsupported<T>(what: &str) -> Result<T> {
    fail(SqlState::FEATURE_NOT_SUPPORTED, what)
}

pub(super) const BAD_ESCAPE: &str = "invalid escape \\ sequence";
pub(super) const BAD_REPETITION: &str = "invalid repetition count(s)";
pub(super) const BAD_RANGE: &str = "invalid character range";
pub(super) const BAD_CLASS: &str = "invalid character class";
pub(super) const BAD_COLLATING: &str = "invalid collating element";
pub(super) const BAD_QUANTIFIER: &str = "quantifier operand invalid";
pub(super) const BAD_OPTION: &str = "invalid embedded option";
pub(super) const OPEN_BRACKET: &str = "brackets [] not balanced";
pub(super) const OPEN_PARENTHESIS: &str = "parentheses () not balanced";
pub(super) const OPEN_BRACE: &str = "braces {} not balanced";
pub(super) const TOO_COMPLEX: &str = "regular expression is too complex";
