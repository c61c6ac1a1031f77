//! The words of a filter.

use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, Value};

use super::error::FilterError;

/// A word, with the place behind it as a byte of the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind<'a> {
    Open,
    Close,
    Comma,
    /// A property, a keyword or an operator.
    Word(&'a str),
    Literal(Value),
    Null,
    End,
}

/// Reads a text word by word.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next word, or the end for ever.
    pub(super) fn next(&mut self) -> Result<Token<'a>, FilterError> {
        self.at = self.text.len() - self.rest().trim_start().len();
        let rest = self.rest();
        let kind = match rest.chars().next() {
            None => TokenKind::End,
            Some('(') => self.take(1, TokenKind::Open),
            Some(')') => self.take(1, TokenKind::Close),
            Some(',') => self.take(1, TokenKind::Comma),
            Some('\'') => TokenKind::Literal(Value::String(self.quoted()?)),
            Some('-' | '0'..='9') => TokenKind::Literal(self.number()?),
            Some(first) if is_word_start(first) => self.word()?,
            Some(other) => return Err(self.syntax(self.at + other.len_utf8())),
        };
        Ok(Token { kind, end: self.at })
    }

    /// A syntax error behind the byte `end`.
    pub(super) fn syntax(&self, end: usize) -> FilterError {
        let position = self.text.get(..end).unwrap_or(self.text).chars().count();
        FilterError::Syntax { position, filter: self.text.to_owned() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, bytes: usize, kind: TokenKind<'a>) -> TokenKind<'a> {
        self.at += bytes;
        kind
    }

    /// A text in quotes, which are doubled inside it.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let mut text = String::new();
        let mut rest = &self.rest()[1..];
        loop {
            let Some((part, behind)) = rest.split_once('\'') else { return Err(self.syntax(self.text.len())) };
            text.push_str(part);
            rest = behind;
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    text.push('\'');
                    rest = behind;
                }
                None => {
                    self.at = self.text.len() - rest.len();
                    return Ok(text);
                }
            }
        }
    }

    /// An identifier; where a quote follows, the text in the quotes is a literal of a type.
    fn word(&mut self) -> Result<TokenKind<'a>, FilterError> {
        let rest = self.rest();
        let length = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        if self.rest().starts_with('\'') {
            let text = self.quoted()?;
            return typed(word, &text).map(TokenKind::Literal).ok_or_else(|| self.syntax(self.at));
        }
        Ok(match word {
            // Some clients capitalise as their languages do.
            "true" | "True" => TokenKind::Literal(Value::Boolean(true)),
            "false" | "False" => TokenKind::Literal(Value::Boolean(false)),
            "null" => TokenKind::Null,
            word => TokenKind::Word(word),
        })
    }

    /// `123`, `-5`, `123L`, `1.5`, `1.2E+3`, `3D`. Without a suffix an integer is an Int32, or what
    /// it fits: Int64, then Double (unconfirmed).
    fn number(&mut self) -> Result<Value, FilterError> {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(rest[0] == b'-');
        let whole = digits(sign);
        let mut end = sign + whole;
        let mut is_integer = true;
        if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
            is_integer = false;
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let signed = end + 1 + usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            if signed < rest.len() && digits(signed) > 0 {
                end = signed + digits(signed);
                is_integer = false;
            }
        }
        let number = &self.rest()[..end];
        let suffix = rest.get(end).copied().filter(|byte| matches!(byte, b'L' | b'l' | b'D' | b'd'));
        self.at += end + usize::from(suffix.is_some());
        // What follows is another word only behind a blank or a parenthesis.
        let runs_on = self.rest().chars().next().is_some_and(|next| is_word_part(next) || next == '.');
        let value = match suffix {
            Some(b'L' | b'l') if is_integer => Value::from_text(EdmType::Int64, number).ok(),
            Some(b'L' | b'l') => None,
            Some(_) => Value::from_text(EdmType::Double, number).ok(),
            None if is_integer => [EdmType::Int32, EdmType::Int64, EdmType::Double]
                .into_iter()
                .find_map(|edm_type| Value::from_text(edm_type, number).ok()),
            None => Value::from_text(EdmType::Double, number).ok(),
        };
        value.filter(|_| whole > 0 && !runs_on).ok_or_else(|| self.syntax(self.at))
    }
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Letters, digits and marks of any script: which of them a property's name may have is checked
/// where a property is written, and others are in no entity.
fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

/// A literal that has its type before the quotes.
fn typed(prefix: &str, text: &str) -> Option<Value> {
    match prefix {
        // It may be one that no property has, such as the first of .NET.
        "datetime" => DateTime::parse_odata_unbounded(text).ok().map(Value::DateTime),
        "guid" => Value::from_text(EdmType::Guid, text).ok(),
        "X" | "x" | "binary" => binary(text).map(Value::Binary),
        _ => None,
    }
}

/// Bytes from hexadecimal digits.
fn binary(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || text.len() > 2 * BINARY_BYTES_MAX {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
