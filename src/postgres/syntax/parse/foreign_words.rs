//! Words that begin a form of their own in the parser's SQL, and are names in PostgreSQL's:
//! `convert(x, int)` is a call.

use std::borrow::Cow;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::syntax::Source;
use rowkey_base::Result;

/// Functions, if a bracket follows.
const FUNCTIONS: [Keyword; 4] = [Keyword::CONVERT, Keyword::TRY_CONVERT, Keyword::TRY_CAST, Keyword::SAFE_CAST];

/// Operators of other dialects.
const OPERATORS: [Keyword; 5] = [Keyword::DIV, Keyword::MEMBER, Keyword::REGEXP, Keyword::RLIKE, Keyword::XOR];

/// The words of a statement with those as names.
///
/// # Errors
/// PostgreSQL's syntax error for `INTERVAL (` before anything but digits: it is no function.
pub(super) fn as_names<'t>(tokens: Cow<'t, [TokenWithSpan]>, source: &Source) -> Result<Cow<'t, [TokenWithSpan]>> {
    let mut names = Vec::new();
    let mut words = tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let (mut before, mut word) = (None, words.next());
    while let Some((at, token)) = word {
        let next = words.next();
        if let Token::Word(name) = &token.token
            && OPERATORS.contains(&name.keyword)
        {
            names.push(at);
        } else if let Token::Word(name) = &token.token
            && name.quote_style.is_none()
            && next.is_some_and(|(_, next)| next.token == Token::LParen)
            && before != Some(&Token::Period)
        {
            if FUNCTIONS.contains(&name.keyword) {
                names.push(at);
            } else if name.keyword == Keyword::INTERVAL
                && let Some((_, inner)) = words.clone().next()
                && !matches!(inner.token, Token::Number(..))
            {
                return Err(source.syntax_at(Some(inner)));
            }
        }
        before = Some(&token.token);
        word = next;
    }
    if names.is_empty() {
        return Ok(tokens);
    }
    let mut tokens = tokens.into_owned();
    for at in names {
        if let Token::Word(word) = &mut tokens[at].token {
            word.keyword = Keyword::NoKeyword;
        }
    }
    Ok(Cow::Owned(tokens))
}

#[cfg(test)]
mod tests {
    use crate::syntax::parse;

    #[test]
    fn they_are_calls() {
        for (text, position) in [
            ("SELECT convert(x, y)", None),
            ("SELECT try_cast(1)", None),
            ("SELECT t.interval FROM t", None),
            ("SELECT a member, b div, c rlike, 1 regexp, xor FROM member, div rlike", None),
            ("SELECT 7 div 2", Some(14)),
            ("SELECT interval(1) '1.25 s'", None),
            ("SELECT try_cast(1 AS int)", Some(19)),
            ("SELECT convert(x USING y)", Some(18)),
            ("SELECT interval((interval(n)))", Some(17)),
            ("SELECT 1, interval ( n )", Some(22)),
        ] {
            assert_eq!(parse(text).err().and_then(|error| error.position()), position, "{text}");
            assert_eq!(parse(text).is_ok(), position.is_none(), "{text}");
        }
    }
}
