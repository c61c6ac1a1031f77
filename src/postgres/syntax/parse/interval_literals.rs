//! `INTERVAL(1) '1.25 s'` as the cast `'1.25 s'::INTERVAL(1)`: the parser forgets the digits. And
//! `INTERVAL '2' weeks` as `'2'::INTERVAL weeks`: the word is a label to PostgreSQL, and a unit to
//! the parser. And the offset of a frame `'1 day'::interval PRECEDING` as
//! `INTERVAL '1 day' PRECEDING`, where it knows no casts.

use std::borrow::Cow;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// The words of a statement with such literals as casts, and such casts as literals.
pub(super) fn as_read(tokens: Cow<'_, [TokenWithSpan]>) -> Cow<'_, [TokenWithSpan]> {
    let has_one = (0..tokens.len()).any(|at| literal(&tokens[at..]).is_some() || offset(&tokens[at..]).is_some());
    if !has_one {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let Some(interval) = offset(&tokens[at..]) {
            let blank = TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span: token.span };
            written.extend([tokens[at + interval].clone(), blank, token.clone()]);
            at += interval + 1;
            continue;
        }
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

fn is_word(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.keyword == keyword)
}

/// Where its type stands, if such an offset begins here.
fn offset(tokens: &[TokenWithSpan]) -> Option<usize> {
    let Token::SingleQuotedString(_) = tokens.first()?.token else { return None };
    let mut words = tokens.iter().enumerate().skip(1).filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let mut next = || words.next().map(|(at, token)| (at, &token.token));
    match (next()?, next()?, next()?) {
        ((_, Token::DoubleColon), (at, interval), (_, direction))
            if is_word(interval, Keyword::INTERVAL)
                && (is_word(direction, Keyword::PRECEDING) || is_word(direction, Keyword::FOLLOWING)) =>
        {
            Some(at)
        }
        _ => None,
    }
}

/// Words that are units to the parser alone; those of PostgreSQL are year to second.
const LABELS: [Keyword; 28] = [
    Keyword::YEARS,
    Keyword::MONTHS,
    Keyword::WEEK,
    Keyword::WEEKS,
    Keyword::DAYS,
    Keyword::HOURS,
    Keyword::MINUTES,
    Keyword::SECONDS,
    Keyword::CENTURY,
    Keyword::DECADE,
    Keyword::DOW,
    Keyword::DOY,
    Keyword::EPOCH,
    Keyword::ISODOW,
    Keyword::ISOYEAR,
    Keyword::JULIAN,
    Keyword::MICROSECOND,
    Keyword::MICROSECONDS,
    Keyword::MILLENIUM,
    Keyword::MILLENNIUM,
    Keyword::MILLISECOND,
    Keyword::MILLISECONDS,
    Keyword::NANOSECOND,
    Keyword::NANOSECONDS,
    Keyword::QUARTER,
    Keyword::TIMEZONE,
    Keyword::TIMEZONE_HOUR,
    Keyword::TIMEZONE_MINUTE,
];

/// Where its text stands, if such a literal begins here.
fn literal(tokens: &[TokenWithSpan]) -> Option<usize> {
    if !is_word(&tokens.first()?.token, Keyword::INTERVAL) {
        return None;
    }
    let mut words = tokens.iter().enumerate().skip(1).filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let mut next = || words.next().map(|(at, token)| (at, &token.token));
    match (next()?, next()?) {
        ((at, Token::SingleQuotedString(_)), (_, label)) if LABELS.iter().any(|unit| is_word(label, *unit)) => Some(at),
        ((_, Token::LParen), (_, Token::Number(..))) => match (next()?, next()?) {
            ((_, Token::RParen), (at, Token::SingleQuotedString(_))) => Some(at),
            _ => None,
        },
        _ => None,
    }
}
