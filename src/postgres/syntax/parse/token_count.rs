//! How many tokens a text has, before any is made: each takes fifty times the memory of the
//! character that it may be.

use rowkey_base::{Error, Result, SqlState};

/// Most tokens of a text. An INSERT of 75,000 rows of ten values has 2,500,000, blanks included.
const TOKENS_MAX: usize = 2_500_000;

/// How many tokens a text has, or a few more, without a copy of it.
///
/// # Errors
/// `STATEMENT_TOO_COMPLEX` beyond [`TOKENS_MAX`].
pub(super) fn token_count(text: &str) -> Result<usize> {
    let count = Tokens::of(text).take(TOKENS_MAX + 1).count();
    if count <= TOKENS_MAX {
        return Ok(count);
    }
    let message = format!("more than {TOKENS_MAX} words, signs and blanks in a statement");
    Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
        .with_hint("COPY takes any number of rows, and a parameter with an array any number of values"))
}

/// The tokens of a text, by where each begins. Signs of more than one character count as so many
/// tokens, and each blank is one, as the tokenizer has it.
struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip_while(&mut self, within: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.at += rest.iter().position(|byte| !within(*byte)).unwrap_or(rest.len());
    }

    /// To behind the next `end`, or to the end of the text.
    fn skip_past(&mut self, end: &[u8]) {
        let rest = self.rest();
        let found = rest.windows(end.len().max(1)).position(|window| window == end);
        self.at += found.map_or(rest.len(), |found| found + end.len());
    }

    /// A quote in quotes is written twice, and so begins the next token here.
    fn skip_escaped_text(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'\'' {
                return;
            }
        }
    }

    /// Comments nest.
    fn skip_comment(&mut self) {
        let mut open = 1;
        while open > 0 && self.at < self.bytes.len() {
            let (step, nests) = match self.rest() {
                [b'/', b'*', ..] => (2, 1),
                [b'*', b'/', ..] => (2, -1),
                _ => (1, 0),
            };
            self.at += step;
            open += nests;
        }
    }

    fn skip_number(&mut self) {
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        }
    }

    /// `$1`, or a text between `$tag$` and `$tag$`.
    fn skip_dollar(&mut self) {
        let from = self.at - 1;
        self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii());
        let is_parameter = self.bytes.get(from + 1).is_some_and(u8::is_ascii_digit);
        if !is_parameter && self.peek() == Some(b'$') {
            self.at += 1;
            let tag = self.bytes.get(from..self.at).unwrap_or_default();
            self.skip_past(tag);
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let (from, first) = (self.at, self.peek()?);
        self.at += 1;
        match (first, self.peek()) {
            (b'\'', _) => self.skip_past(b"'"),
            (b'"', _) => self.skip_past(b"\""),
            (b'e' | b'E', Some(b'\'')) => {
                self.at += 1;
                self.skip_escaped_text();
            }
            (b'-', Some(b'-')) => self.skip_past(b"\n"),
            (b'/', Some(b'*')) => {
                self.at += 1;
                self.skip_comment();
            }
            (b'$', _) => self.skip_dollar(),
            (b'0'..=b'9', _) => self.skip_number(),
            (first, _) if is_of_word(first) => self.skip_while(is_of_word),
            _ => {}
        }
        Some(from)
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn tokens_are_counted_as_they_are_made() {
        for text in [
            "select a, b1 from t where x = 'it, is' and \"Q, r\" <> 1.5",
            "insert into t values (1, 'a b c', e'x\\' y', $1), ($$ a b $$, $x$ a $ $$ b $x$, 1e5)",
            "select 1 -- a, b, c\n, /* a /* b */ c */ 2",
            "select élan, 'ü, é', \u{a0}",
            "(((1,2),(3,4)));;",
        ] {
            let made = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().expect("tokens").len();
            let counted = Tokens::of(text).count();
            // `<>` counts twice.
            assert!((made..=made + 1).contains(&counted), "{text}: {made} are made, {counted} counted");
        }
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        for text in ["'a b", "\"a b", "e'a\\", "$x$ a b", "/* /* a */ b", "-- a b", "e'a b\\'"] {
            assert_eq!(Tokens::of(text).count(), 1, "{text}");
        }
    }

    #[test]
    fn long_texts_are_refused_and_long_values_are_not() {
        let blanks = " ".repeat(TOKENS_MAX + 1);
        let error = token_count(&blanks).expect_err("refused");
        assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX);
        assert!(error.to_string().contains(&format!("more than {TOKENS_MAX}")), "{error}");
        assert!(token_count(&blanks[1..]).is_ok());
        assert!(token_count(&format!("select '{blanks}'")).is_ok());
        assert!(token_count(&format!("select $${blanks}$$")).is_ok());
        let values = "(1, 'a', 2, 'b', 3, 'c', 4, 'd', 5, 'e'),\n".repeat(75_000);
        assert!(token_count(&format!("insert into t values {values}")).is_ok());
    }
}
