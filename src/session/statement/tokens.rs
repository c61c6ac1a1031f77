//! From text to words.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::session::error::{Error, ErrorKind, Result};
use crate::session::position::Source;

/// The words of a text, as PostgreSQL cuts and joins them.
pub fn tokens(text: &str, source: &Source) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().map_err(|error| {
        let from = source.offset(error.location);
        let near = source.slice(from, text.len());
        let message = match error.message.as_str() {
            message if message.starts_with("Unterminated string") => {
                format!("unterminated quoted string at or near \"{near}\"")
            }
            message => format!("syntax error: {message}"),
        };
        Error::new(ErrorKind::Syntax, message).at(source.position(error.location))
    })?;
    joined_texts(operators_cut(tokens), source)
}

/// An operator such as `>-` is two: only one with a special character may end in a sign.
fn operators_cut(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut split = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token::CustomBinaryOperator(operator) = &token.token else {
            split.push(token);
            continue;
        };
        let sign = match operator.chars().last() {
            Some('-') if !operator.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) => Token::Minus,
            Some('+') if !operator.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) => Token::Plus,
            _ => {
                split.push(token);
                continue;
            }
        };
        let comparison = match &operator[..operator.len() - 1] {
            "=" => Token::Eq,
            "<" => Token::Lt,
            ">" => Token::Gt,
            "<=" => Token::LtEq,
            ">=" => Token::GtEq,
            "<>" => Token::Neq,
            _ => {
                split.push(token);
                continue;
            }
        };
        split.push(TokenWithSpan { token: comparison, span: token.span });
        split.push(TokenWithSpan { token: sign, span: token.span });
    }
    split
}

/// Texts that follow each other on lines of their own are one; on one line they are an error.
///
/// PostgreSQL, 4.1.2.1 String Constants.
fn joined_texts(tokens: Vec<TokenWithSpan>, source: &Source) -> Result<Vec<TokenWithSpan>> {
    let mut joined: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // What may be between two texts of one line and between those of two: blanks, and these with the end of a line.
    let (mut last_text, mut is_new_line, mut is_blank) = (None, false, true);
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => is_new_line = true,
            Token::Whitespace(Whitespace::MultiLineComment(_)) => is_blank = false,
            Token::Whitespace(_) => {}
            Token::SingleQuotedString(next) => {
                if let Some(place) = last_text {
                    let first: &mut TokenWithSpan = &mut joined[place];
                    match &mut first.token {
                        _ if !is_new_line || !is_blank => return Err(source.syntax_at(Some(&token))),
                        Token::SingleQuotedString(text) => text.push_str(next),
                        Token::EscapedStringLiteral(text) if !next.contains('\\') => text.push_str(next),
                        _ => {
                            let message = "a text with escapes that goes on in another line is not supported";
                            return Err(
                                Error::new(ErrorKind::Unsupported, message).at(source.position(token.span.start))
                            );
                        }
                    }
                    first.span.end = token.span.end;
                    joined.truncate(place + 1);
                    (is_new_line, is_blank) = (false, true);
                    continue;
                }
                (last_text, is_new_line, is_blank) = (Some(joined.len()), false, true);
            }
            Token::EscapedStringLiteral(_) => (last_text, is_new_line, is_blank) = (Some(joined.len()), false, true),
            _ => last_text = None,
        }
        joined.push(token);
    }
    Ok(joined)
}
