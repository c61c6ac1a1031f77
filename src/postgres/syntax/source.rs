//! Places in a statement's text.

use std::sync::Arc;

use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use rowkey_base::{Error, SqlState};

/// A text of statements, in which the parser's places are found again.
#[derive(Debug, Clone)]
pub struct Source {
    text: Arc<str>,
    /// Where every line begins, in characters.
    lines: Arc<[usize]>,
    /// Byte offset of every [`MARKED`]th character: a text may be one long line of statements.
    marks: Arc<[usize]>,
    characters: usize,
}

const MARKED: usize = 128;

impl Source {
    /// A text, with its lines indexed.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let (mut lines, mut marks, mut characters) = (vec![0], Vec::with_capacity(text.len() / MARKED + 1), 0);
        for (byte, character) in text.char_indices() {
            if characters % MARKED == 0 {
                marks.push(byte);
            }
            characters += 1;
            if character == '\n' {
                lines.push(characters);
            }
        }
        Self { text, lines: lines.into(), marks: marks.into(), characters }
    }

    /// Byte offset of a place. The parser counts lines and columns from 1, columns in characters.
    pub fn offset(&self, at: Location) -> usize {
        let before = self.characters_before(at);
        let Some(mark) = self.marks.get(before / MARKED) else { return self.text.len() };
        let ahead = self.text[*mark..].char_indices().nth(before % MARKED);
        ahead.map_or(self.text.len(), |(byte, _)| mark + byte)
    }

    /// The place as PostgreSQL counts: in characters from 1.
    pub fn position(&self, at: Location) -> usize {
        self.characters_before(at) + 1
    }

    fn characters_before(&self, at: Location) -> usize {
        let line = self.lines.get((at.line as usize).saturating_sub(1)).copied().unwrap_or(self.characters);
        (line + (at.column as usize).saturating_sub(1)).min(self.characters)
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
            _ => Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(self.characters + 1),
        }
    }
}
