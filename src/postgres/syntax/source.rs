//! Places in a statement's text.

use std::sync::Arc;

use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use rowkey_base::{Error, SqlState};

/// A text of statements, in which the parser's places are found again.
#[derive(Debug, Clone)]
pub struct Source {
    text: Arc<str>,
    /// Byte offset of every line.
    lines: Arc<[usize]>,
}

impl Source {
    /// A text, with its lines indexed.
    pub fn new(text: &str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text: text.into(), lines }
    }

    /// Byte offset of a place. The parser counts lines and columns from 1, columns in characters.
    pub fn offset(&self, at: Location) -> usize {
        let line = self.lines.get((at.line as usize).saturating_sub(1)).copied().unwrap_or(self.text.len());
        let column = (at.column as usize).saturating_sub(1);
        self.text[line..].char_indices().nth(column).map_or(self.text.len(), |(byte, _)| line + byte)
    }

    /// The place as PostgreSQL counts: in characters from 1.
    pub fn position(&self, at: Location) -> usize {
        self.text[..self.offset(at)].chars().count() + 1
    }

    /// The text between two byte offsets; empty if they are not within it.
    pub fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// PostgreSQL's words for a token that does not fit; none is the end.
    pub fn syntax_at(&self, token: Option<&TokenWithSpan>) -> Error {
        match token {
            Some(token) if !matches!(token.token, Token::EOF | Token::SemiColon) => {
                let (from, to) = (self.offset(token.span.start), self.offset(token.span.end));
                let near = match self.slice(from, to) {
                    "" => token.token.to_string(),
                    near => near.to_owned(),
                };
                Error::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{near}\""))
                    .at(self.position(token.span.start))
            }
            _ => Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(self.text.chars().count() + 1),
        }
    }
}
