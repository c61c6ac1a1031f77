//! LIKE patterns.

/// What a LIKE pattern asks of the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// No wildcard: the text itself.
    Text(String),
    /// `abc%`: every text that begins so.
    Prefix(String),
    /// Any other: the texts begin so, and more is asked of them.
    Narrower { prefix: String },
}

/// Reads a pattern: `%` is any text, `_` any character, and the character after `escape` stands for
/// itself.
pub(super) fn read(pattern: &str, escape: char) -> Pattern {
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == escape {
            match chars.next() {
                Some(literal) => prefix.push(literal),
                // An escape that escapes nothing: an error in some engines, a character in others.
                None => return Pattern::Narrower { prefix },
            }
        } else if c == '%' && chars.all(|rest| rest == '%') {
            return Pattern::Prefix(prefix);
        } else if c == '%' || c == '_' {
            return Pattern::Narrower { prefix };
        } else {
            prefix.push(c);
        }
    }
    Pattern::Text(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> Pattern {
        Pattern::Text(of.to_owned())
    }

    fn prefix(of: &str) -> Pattern {
        Pattern::Prefix(of.to_owned())
    }

    fn narrower(prefix: &str) -> Pattern {
        Pattern::Narrower { prefix: prefix.to_owned() }
    }

    #[test]
    fn patterns_are_texts_prefixes_or_narrower() {
        let cases = [
            ("", text("")),
            ("abc", text("abc")),
            ("%", prefix("")),
            ("abc%", prefix("abc")),
            ("abc%%", prefix("abc")),
            ("é%", prefix("é")),
            ("a%c", narrower("a")),
            ("a%%c", narrower("a")),
            ("a_", narrower("a")),
            ("_%", narrower("")),
            ("%a%", narrower("")),
            (r"a\%", text("a%")),
            (r"a\%%", prefix("a%")),
            (r"a\_b%", prefix("a_b")),
            (r"a\\%", prefix(r"a\")),
            (r"a\\", text(r"a\")),
            (r"a\bc", text("abc")),
            (r"a\", narrower("a")),
        ];
        for (pattern, expected) in cases {
            assert_eq!(read(pattern, '\\'), expected, "LIKE '{pattern}'");
        }
    }

    #[test]
    fn another_escape_character_frees_the_backslash() {
        assert_eq!(read(r"a\!%%", '!'), prefix(r"a\%"));
        assert_eq!(read("a%%", '%'), text("a%"));
    }
}
