//! Elements of ROLLUP, CUBE and GROUPING SETS that begin with a parenthesis and do not end with it:
//! the parser takes `(a + b) * 2` for the list `(a + b)`.

use std::borrow::Cow;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// How often a word is looked at on average, at most: lists of elements lie within others. What
/// lies deeper is read as the parser does.
const LOOKS_A_WORD: usize = 8;

/// The words of a statement with such elements in parentheses of their own.
pub(super) fn in_parentheses(tokens: Cow<'_, [TokenWithSpan]>) -> Cow<'_, [TokenWithSpan]> {
    let mut elements = Vec::new();
    let mut left = tokens.len().saturating_mul(LOOKS_A_WORD);
    for at in 0..tokens.len() {
        if begins_elements(&tokens[at].token)
            && let Some(open) = next(&tokens, at + 1)
            && tokens[open].token == Token::LParen
        {
            elements.extend(misread(&tokens, open, &mut left));
        }
    }
    if elements.is_empty() {
        return tokens;
    }
    // Where parentheses stand before a word: closed ones first.
    let mut put: Vec<(usize, Token)> = Vec::with_capacity(elements.len() * 2);
    for (start, end) in elements {
        put.extend([(start, Token::LParen), (end, Token::RParen)]);
    }
    put.sort_by_key(|(at, token)| (*at, *token == Token::LParen));
    let mut written = Vec::with_capacity(tokens.len() + put.len());
    let mut put = put.into_iter().peekable();
    for (at, token) in tokens.iter().enumerate() {
        while let Some((_, parenthesis)) = put.next_if(|(before, _)| *before == at) {
            written.push(TokenWithSpan { token: parenthesis, span: token.span });
        }
        written.push(token.clone());
    }
    Cow::Owned(written)
}

fn begins_elements(token: &Token) -> bool {
    let keyword = match token {
        Token::Word(Word { quote_style: None, keyword, .. }) => *keyword,
        _ => Keyword::NoKeyword,
    };
    matches!(keyword, Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS)
}

/// The place of the first word from there on.
fn next(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
}

/// The elements behind the parenthesis at `open` that are misread: where they start, and what
/// follows them.
fn misread(tokens: &[TokenWithSpan], open: usize, left: &mut usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut depth = 0;
    // Of the element that is being read: its start, and whether its first parenthesis has closed.
    let (mut start, mut closed, mut more) = (next(tokens, open + 1), false, false);
    for at in open..tokens.len() {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Vec::new();
        }
        let token = &tokens[at].token;
        let ends = match token {
            Token::LParen => {
                more |= closed;
                depth += 1;
                false
            }
            Token::RParen => {
                depth -= 1;
                closed |= depth == 1;
                depth == 0
            }
            Token::Comma => depth == 1,
            Token::Whitespace(_) => false,
            _ => {
                more |= closed && depth == 1;
                false
            }
        };
        if !ends {
            continue;
        }
        if more
            && let Some(start) = start
            && tokens[start].token == Token::LParen
        {
            found.push((start, at));
        }
        if depth == 0 {
            break;
        }
        (start, closed, more) = (next(tokens, at + 1), false, false);
    }
    found
}
