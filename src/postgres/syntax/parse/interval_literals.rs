//! `INTERVAL(1) '1.25 s'` as the cast `'1.25 s'::INTERVAL(1)`: the parser forgets the digits.

use std::borrow::Cow;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The words of a statement with such literals as casts.
pub(super) fn as_casts(tokens: Cow<'_, [TokenWithSpan]>) -> Cow<'_, [TokenWithSpan]> {
    let has_one = (0..tokens.len()).any(|at| literal(&tokens[at..]).is_some());
    if !has_one {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match literal(&tokens[at..]) {
            Some(text) => {
                let put = |of: Token| TokenWithSpan { token: of, span: token.span };
                written.extend([tokens[at + text].clone(), put(Token::DoubleColon)]);
                written.extend(tokens[at..at + text].iter().cloned());
                at += text + 1;
            }
            None => {
                written.push(token.clone());
                at += 1;
            }
        }
    }
    Cow::Owned(written)
}

/// Where its text stands, if such a literal begins here.
fn literal(tokens: &[TokenWithSpan]) -> Option<usize> {
    let is_interval = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none() && word.keyword == Keyword::INTERVAL);
    if !is_interval(&tokens.first()?.token) {
        return None;
    }
    let mut words = tokens.iter().enumerate().skip(1).filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let mut next = || words.next().map(|(at, token)| (at, &token.token));
    match (next()?, next()?, next()?, next()?) {
        ((_, Token::LParen), (_, Token::Number(..)), (_, Token::RParen), (at, Token::SingleQuotedString(_))) => {
            Some(at)
        }
        _ => None,
    }
}
