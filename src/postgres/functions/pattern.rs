//! Regular expressions, as far as PostgreSQL's and those of DataFusion agree.

use regex::{Regex, RegexBuilder};

use datafusion::common::Result;

use super::error::{SqlState, fail};

/// The pattern of the row before, which mostly is that of the next.
#[derive(Default)]
pub(super) struct Last {
    known: Option<(String, String, Regex)>,
}

impl Last {
    /// A pattern with PostgreSQL's flags: `i` ignores case, `n`, `s`, `m`, `x` say how lines and
    /// blanks count; `g` is the caller's.
    pub(super) fn pattern(&mut self, pattern: &str, flags: &str) -> Result<&Regex> {
        let same = self.known.as_ref().is_some_and(|(known, with, _)| known == pattern && with == flags);
        if !same {
            self.known = Some((pattern.to_owned(), flags.to_owned(), compile(pattern, flags)?));
        }
        match &self.known {
            Some((_, _, regex)) => Ok(regex),
            None => fail(SqlState::INVALID_REGULAR_EXPRESSION, "no pattern"),
        }
    }
}

fn compile(pattern: &str, flags: &str) -> Result<Regex> {
    // By default a point matches line ends, and ^ $ only the ends of the text.
    let mut builder = RegexBuilder::new(pattern);
    builder.dot_matches_new_line(true);
    for flag in flags.chars() {
        match flag {
            'g' | 'c' | 't' => {}
            'i' => _ = builder.case_insensitive(true),
            'm' | 'n' => _ = builder.multi_line(true).dot_matches_new_line(false),
            's' => _ = builder.multi_line(false).dot_matches_new_line(true),
            'p' => _ = builder.dot_matches_new_line(false),
            'w' => _ = builder.multi_line(true),
            'x' => _ = builder.ignore_whitespace(true),
            'q' => return self::literal(pattern),
            other => {
                return fail(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid regular expression option: \"{other}\""),
                );
            }
        }
    }
    match builder.build() {
        Ok(regex) => Ok(regex),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            fail(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {reason}"))
        }
    }
}

fn literal(pattern: &str) -> Result<Regex> {
    Regex::new(&regex::escape(pattern))
        .or_else(|error| fail(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {error}")))
}
