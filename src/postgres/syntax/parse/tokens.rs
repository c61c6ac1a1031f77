//! From text to words.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::syntax::Source;
use rowkey_base::{Error, Result, SqlState};

/// The words of a text, as PostgreSQL cuts and joins them. `count` is about how many there are.
pub(super) fn tokens(text: &str, source: &Source, count: usize) -> Result<Vec<TokenWithSpan>> {
    // Long texts have so many that none is to be copied.
    let mut tokens = Vec::with_capacity(count);
    let made = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location_into_buf(&mut tokens);
    made.map_err(|error| {
        let from = source.offset(error.location);
        let near = source.slice(from, text.len());
        let message = match error.message.as_str() {
            message if message.starts_with("Unterminated string") => {
                format!("unterminated quoted string at or near \"{near}\"")
            }
            message => format!("syntax error: {message}"),
        };
        Error::new(SqlState::SYNTAX_ERROR, message).at(source.position(error.location))
    })?;
    refuse_trailing_junk(&tokens, source)?;
    joined_texts(operators_cut(tokens), source)
}

/// A number ends before a letter and holds no underscore: `1_000` and `10x` are neither numbers nor
/// numbers with a name. (PostgreSQL 15, 4.1.2.6.)
fn refuse_trailing_junk(tokens: &[TokenWithSpan], source: &Source) -> Result<()> {
    for (at, token) in tokens.iter().enumerate() {
        // Of other kinds there are millions.
        if !matches!(token.token, Token::Number(..) | Token::Placeholder(_) | Token::HexStringLiteral(_)) {
            continue;
        }
        let is_junk = |next: &&TokenWithSpan| match &next.token {
            Token::Word(word) => word.quote_style.is_none() && next.span.start == token.span.end,
            _ => false,
        };
        let junk = tokens.get(at + 1).filter(is_junk);
        let kind = match &token.token {
            Token::Number(digits, is_long) if *is_long || junk.is_some() || digits.contains('_') => "numeric literal",
            Token::Placeholder(name) if has_junk(name) || (is_parameter(name) && junk.is_some()) => "parameter",
            // `0x1F`, where `x'1F'` are bits.
            Token::HexStringLiteral(_) if starts_with_zero(token, source) => "numeric literal",
            _ => continue,
        };
        let to = source.offset(junk.unwrap_or(token).span.end);
        let near = source.slice(source.offset(token.span.start), to);
        let message = format!("trailing junk after {kind} at or near \"{near}\"");
        return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(source.position(token.span.start)));
    }
    Ok(())
}

fn is_parameter(name: &str) -> bool {
    name.strip_prefix('$').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

fn has_junk(name: &str) -> bool {
    is_parameter(name) && !name.bytes().skip(1).all(|byte| byte.is_ascii_digit())
}

fn starts_with_zero(token: &TokenWithSpan, source: &Source) -> bool {
    let from = source.offset(token.span.start);
    source.slice(from, from + 1) == "0"
}

/// An operator with one of these may end in a sign.
const MAY_END_IN_A_SIGN: [char; 10] = ['~', '!', '@', '#', '%', '^', '&', '|', '`', '?'];

/// An operator such as `>-` is two: only one with a special character may end in a sign.
fn operators_cut(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| matches!(token.token, Token::CustomBinaryOperator(_))) {
        return tokens;
    }
    let mut split = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token::CustomBinaryOperator(operator) = &token.token else {
            split.push(token);
            continue;
        };
        let sign = match operator.chars().last() {
            _ if operator.contains(MAY_END_IN_A_SIGN) => None,
            Some('-') => Some(Token::Minus),
            Some('+') => Some(Token::Plus),
            _ => None,
        };
        let Some(sign) = sign else {
            split.push(token);
            continue;
        };
        let before = match &operator[..operator.len() - 1] {
            "=" => Token::Eq,
            "<" => Token::Lt,
            ">" => Token::Gt,
            "<=" => Token::LtEq,
            ">=" => Token::GtEq,
            "<>" => Token::Neq,
            "->" => Token::Arrow,
            "->>" => Token::LongArrow,
            _ => {
                split.push(token);
                continue;
            }
        };
        split.push(TokenWithSpan { token: before, span: token.span });
        split.push(TokenWithSpan { token: sign, span: token.span });
    }
    split
}

/// What has come behind a text that may go on.
enum Gap {
    Line,
    NewLine,
    Comment,
}

/// Texts that follow each other on lines of their own are one; on one line they are an error.
///
/// PostgreSQL, 4.1.2.1 String Constants.
fn joined_texts(mut tokens: Vec<TokenWithSpan>, source: &Source) -> Result<Vec<TokenWithSpan>> {
    let (mut kept, mut text) = (0, None);
    for at in 0..tokens.len() {
        let (before, rest) = tokens.split_at_mut(at);
        let Some(token) = rest.first_mut() else { break };
        match (&token.token, &mut text) {
            (Token::Whitespace(Whitespace::MultiLineComment(_)), Some((_, gap))) => *gap = Gap::Comment,
            (
                Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }),
                Some((_, gap @ Gap::Line)),
            ) => *gap = Gap::NewLine,
            (Token::Whitespace(_), _) => {}
            (Token::SingleQuotedString(next), Some((place, Gap::NewLine))) => {
                let first: &mut TokenWithSpan = &mut before[*place];
                match &mut first.token {
                    Token::SingleQuotedString(text) => text.push_str(next),
                    Token::EscapedStringLiteral(text) if !next.contains('\\') => text.push_str(next),
                    _ => {
                        let message = "a text with escapes that goes on in another line is not supported";
                        return Err(
                            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(source.position(token.span.start))
                        );
                    }
                }
                first.span.end = token.span.end;
                kept = *place + 1;
                text = Some((*place, Gap::Line));
                continue;
            }
            (Token::SingleQuotedString(_), Some(_)) => return Err(source.syntax_at(Some(token))),
            (Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_), _) => text = Some((kept, Gap::Line)),
            _ => text = None,
        }
        tokens.swap(kept, at);
        kept += 1;
    }
    tokens.truncate(kept);
    Ok(tokens)
}
