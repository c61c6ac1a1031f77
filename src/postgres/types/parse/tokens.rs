//! Tokens of dates and times.

/// A piece of a date or time, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// With separators inside: `2019-12-31`, `31.dec.2019`, `europe/berlin`.
    Date(String),
    /// `12:30`, `12:30:15.5`.
    Time(String),
    /// `20191231`, `15.5`, `.5`.
    Number(String),
    /// A sign and digits, `+02:30`.
    Offset(String),
    Word(String),
}

/// Cuts a text. Words for which `is_keyword` holds end before a digit or a plus. None: there is a
/// character that no token has.
pub(super) fn tokens(text: &str, is_keyword: impl Fn(&str) -> bool) -> Option<Vec<Token>> {
    let mut reader = Reader { rest: text.as_bytes() };
    let mut tokens = Vec::new();
    while let Some(&first) = reader.rest.first() {
        let token = match first {
            b' ' | b'\t'..=b'\r' => {
                reader.rest = &reader.rest[1..];
                continue;
            }
            b'0'..=b'9' => reader.number_first(),
            b'.' => Token::Number(reader.take_first() + &reader.while_in(|c| c.is_ascii_digit())),
            b'a'..=b'z' | b'A'..=b'Z' => reader.word_first(&is_keyword),
            b'+' | b'-' => {
                let sign = reader.take_first();
                reader.while_in(|c| c.is_ascii_whitespace());
                match reader.rest.first()? {
                    b'0'..=b'9' | b'.' => Token::Offset(
                        sign + &reader.while_in(|c| c.is_ascii_digit() || matches!(c, b':' | b'.' | b'-')),
                    ),
                    b'a'..=b'z' | b'A'..=b'Z' => Token::Word(sign + &reader.while_in(|c| c.is_ascii_alphabetic())),
                    _ => return None,
                }
            }
            // Other punctuation separates.
            c if c.is_ascii_punctuation() => {
                reader.rest = &reader.rest[1..];
                continue;
            }
            _ => return None,
        };
        tokens.push(token);
    }
    Some(tokens)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take_first(&mut self) -> String {
        let first = self.rest.first().map(|c| char::from(*c).to_ascii_lowercase().to_string()).unwrap_or_default();
        self.rest = self.rest.get(1..).unwrap_or_default();
        first
    }

    fn while_in(&mut self, belongs: impl Fn(u8) -> bool) -> String {
        let end = self.rest.iter().position(|c| !belongs(*c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.iter().map(|c| char::from(*c).to_ascii_lowercase()).collect()
    }

    fn number_first(&mut self) -> Token {
        let mut token = self.while_in(|c| c.is_ascii_digit());
        match self.rest.first() {
            Some(b':') => Token::Time(token + &self.while_in(|c| c.is_ascii_digit() || matches!(c, b':' | b'.'))),
            Some(&separator @ (b'-' | b'/' | b'.')) => {
                token += &self.take_first();
                if !self.rest.first().is_some_and(u8::is_ascii_digit) {
                    return Token::Date(token + &self.while_in(|c| c.is_ascii_alphanumeric() || c == separator));
                }
                token += &self.while_in(|c| c.is_ascii_digit());
                if self.rest.first() == Some(&separator) {
                    return Token::Date(token + &self.while_in(|c| c.is_ascii_digit() || c == separator));
                }
                // `31.12` is a number, `040506.5-08` a time with a zone.
                if separator == b'.' { Token::Number(token) } else { Token::Date(token) }
            }
            _ => Token::Number(token),
        }
    }

    fn word_first(&mut self, is_keyword: impl Fn(&str) -> bool) -> Token {
        let word = self.while_in(|c| c.is_ascii_alphabetic());
        let goes_on = match self.rest.first() {
            Some(b'-' | b'/' | b'.') => true,
            Some(b'+' | b'0'..=b'9') => !is_keyword(&word),
            _ => false,
        };
        if !goes_on {
            return Token::Word(word);
        }
        let more = self.while_in(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'/' | b'_' | b'.' | b':'));
        Token::Date(word + &more)
    }
}

/// Microseconds of a fraction of a second with its point, rounded. Empty is none.
pub(super) fn fraction_micros(fraction: &str) -> Option<i64> {
    match fraction {
        "" | "." => Some(0),
        // The rounding of a double, as PostgreSQL has it.
        _ => fraction.parse::<f64>().ok().map(|fraction| (fraction * 1e6).round_ties_even() as i64),
    }
}
