//! Why a value was not taken.

use std::fmt;

/// The rule a rejected value broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    AccountName,
    TableName,
    TableNameReserved,
    ViewName,
    PropertyName,
    PropertyNameLength,
    PropertyNameReserved,
    PropertyTwice,
    KeyCharacter,
    KeyLength,
    StringLength,
    BinaryLength,
    DateTimeRange,
    PropertyCount,
    EntitySize,
    EntityGroup,
    /// Text that cannot be read as a value of the wanted type.
    Unreadable,
}

/// A value that breaks a rule of the data model: what it was, the rule, and the limit in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// What was rejected, as a noun: `PartitionKey`, `table name`, `property Age`.
    pub what: String,
    /// The value, shortened for display.
    pub value: String,
    pub rule: Rule,
    /// The rule in words, with its limit: `at most 1024 UTF-16 units, this has 1500`.
    pub limit: String,
}

/// How much of a rejected value is shown, in characters.
const SHOWN_CHARS_MAX: usize = 60;

impl Rejected {
    /// A rejection of `value`, which is shortened and has its control characters escaped.
    pub fn new(what: impl Into<String>, value: &str, rule: Rule, limit: impl Into<String>) -> Self {
        let (start, more) = match value.char_indices().nth(SHOWN_CHARS_MAX) {
            Some((end, _)) => (&value[..end], "…"),
            None => (value, ""),
        };
        // Escaped as `Debug` does, without its quotes.
        let escaped = format!("{start:?}");
        let shown = format!("{}{more}", &escaped[1..escaped.len() - 1]);
        Self { what: what.into(), value: shown, rule, limit: limit.into() }
    }

    /// The same rejection with another noun, for callers that know more of where the value stood:
    /// `property Age`.
    pub fn named(self, what: impl Into<String>) -> Self {
        Self { what: what.into(), ..self }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\" is not allowed: {}", self.what, self.value, self.limit)
    }
}

impl std::error::Error for Rejected {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_rejected_and_why() {
        let rejected = Rejected::new("RowKey", "a/b", Rule::KeyCharacter, "keys cannot contain /");
        assert_eq!(rejected.to_string(), "RowKey \"a/b\" is not allowed: keys cannot contain /");
        let rejected = rejected.named("property Age");
        assert_eq!(rejected.to_string(), "property Age \"a/b\" is not allowed: keys cannot contain /");
    }

    #[test]
    fn shows_sixty_characters_of_a_long_value() {
        let at_limit = Rejected::new("RowKey", &"é".repeat(60), Rule::KeyLength, "");
        assert_eq!(at_limit.value, "é".repeat(60));
        let above = Rejected::new("RowKey", &"é".repeat(61), Rule::KeyLength, "");
        assert_eq!(above.value, format!("{}…", "é".repeat(60)));
    }

    #[test]
    fn escapes_control_characters() {
        let shown = |value| Rejected::new("RowKey", value, Rule::KeyCharacter, "").value;
        assert_eq!(shown("a\nb\u{7}"), "a\\nb\\u{7}");
        assert_eq!(shown("O'Brien said \"no\""), "O'Brien said \\\"no\\\"");
        assert_eq!(shown(""), "");
    }
}
