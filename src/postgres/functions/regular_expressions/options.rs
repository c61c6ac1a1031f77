//! The options of a regular expression: as flags in an argument, or embedded at its beginning.

use datafusion::common::Result;

use super::refusal::{invalid, unsupported};
use crate::functions::error::{SqlState, fail};

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Options {
    pub ignore_case: bool,
    /// `.` and `[^` do not match a line end.
    pub stops_at_lines: bool,
    /// `^` and `$` also match at line ends.
    pub anchors_at_lines: bool,
    pub expanded: bool,
    /// The pattern is a text as it stands.
    pub literal: bool,
}

impl Options {
    pub(crate) const IGNORE_CASE: Self =
        Self { ignore_case: true, stops_at_lines: false, anchors_at_lines: false, expanded: false, literal: false };

    /// One letter; `false` if there is no such option.
    pub(super) fn set(&mut self, letter: char) -> Result<bool> {
        match letter {
            'c' => self.ignore_case = false,
            'i' => self.ignore_case = true,
            'm' | 'n' => (self.stops_at_lines, self.anchors_at_lines) = (true, true),
            's' => (self.stops_at_lines, self.anchors_at_lines) = (false, false),
            'p' => (self.stops_at_lines, self.anchors_at_lines) = (true, false),
            'w' => (self.stops_at_lines, self.anchors_at_lines) = (false, true),
            'q' => self.literal = true,
            't' => self.expanded = false,
            'x' => self.expanded = true,
            'b' => return unsupported("basic regular expressions (option \"b\") are not supported"),
            'e' => return unsupported("plain extended regular expressions (option \"e\") are not supported"),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The flags of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Flags {
    pub options: Options,
    /// `g`: all matches.
    pub global: bool,
}

impl Flags {
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for a letter that is none.
    pub(crate) fn parse(letters: &str) -> Result<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            if letter == 'g' {
                flags.global = true;
            } else if !flags.options.set(letter)? {
                let message = format!("invalid regular expression option: \"{letter}\"");
                return fail(SqlState::INVALID_PARAMETER_VALUE, message);
            }
        }
        let options = flags.options;
        if options.literal && (options.expanded || options.stops_at_lines || options.anchors_at_lines) {
            return invalid("invalid argument to regex function");
        }
        Ok(flags)
    }

    /// The same of a function that has no use for `g`.
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for `g` as well.
    pub(crate) fn parse_local(letters: &str, function: &str) -> Result<Options> {
        let flags = Self::parse(letters)?;
        if flags.global {
            let message = format!("{function}() does not support the \"global\" option");
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        Ok(flags.options)
    }
}
