//! A statement's tokens, read from left to right.

use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::syntax::Source;
use rowkey_base::{Error, Result, SqlState};

/// Reads the tokens of one statement, passing over blanks and comments.
#[derive(Debug, Clone)]
pub(super) struct Words<'a> {
    source: &'a Source,
    tokens: &'a [TokenWithSpan],
    /// Always at a word or behind the last one.
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(source: &'a Source, tokens: &'a [TokenWithSpan]) -> Self {
        let mut words = Self { source, tokens, at: 0 };
        words.pass_blanks();
        words
    }

    fn pass_blanks(&mut self) {
        while matches!(self.peek(), Token::Whitespace(_)) {
            self.at += 1;
        }
    }

    pub(super) fn source(&self) -> &'a Source {
        self.source
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [TokenWithSpan] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> &'a Token {
        self.tokens.get(self.at).map_or(&Token::EOF, |token| &token.token)
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.peek(), Token::EOF)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
        self.pass_blanks();
    }

    /// Whether the next word is this one, in any case and without quotes; if so it is taken.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let taken = self.is(word);
        if taken {
            self.skip();
        }
        taken
    }

    /// Takes all of these words, or none.
    pub(super) fn take_all(&mut self, words: &[&str]) -> bool {
        let before = self.at;
        let all = words.iter().all(|word| self.take(word));
        if !all {
            self.at = before;
        }
        all
    }

    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(next) if next.quote_style.is_none() && next.value.eq_ignore_ascii_case(word))
    }

    pub(super) fn take_token(&mut self, token: &Token) -> bool {
        let taken = self.peek() == token;
        if taken {
            self.skip();
        }
        taken
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.syntax()) }
    }

    pub(super) fn expect_end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.syntax()) }
    }

    /// An identifier: in lower case unless it is quoted.
    pub(super) fn name(&mut self) -> Result<String> {
        let Token::Word(word) = self.peek() else { return Err(self.syntax()) };
        self.skip();
        Ok(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_ascii_lowercase(),
        })
    }

    /// A whole number, perhaps with a sign.
    pub(super) fn integer(&mut self) -> Result<Option<i64>> {
        let before = self.at;
        let negative = self.take_token(&Token::Minus);
        if !negative {
            self.take_token(&Token::Plus);
        }
        if let Token::Number(digits, _) = self.peek() {
            let number = digits.parse::<i64>().map_err(|_| self.syntax())?;
            self.skip();
            return Ok(Some(if negative { -number } else { number }));
        }
        self.at = before;
        Ok(None)
    }

    /// Where the next word stands, if there is one.
    pub(super) fn location(&self) -> Location {
        self.tokens.get(self.at).map_or(Location::empty(), |token| token.span.start)
    }

    /// PostgreSQL's words for a token that does not fit.
    pub(super) fn syntax(&self) -> Error {
        self.source.syntax_at(self.tokens.get(self.at))
    }

    pub(super) fn unsupported(&self, what: &str) -> Error {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }
}
