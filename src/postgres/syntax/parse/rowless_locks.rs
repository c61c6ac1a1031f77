//! `FOR UPDATE` behind a select list without FROM, where it is about no rows. The parser takes FOR
//! for a label there.

use std::borrow::Cow;

use datafusion::sql::sqlparser::ast::{LockClause, LockType, Statement};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The words of a statement without such clauses, and the one of the statement itself.
pub(super) fn left_out(tokens: Cow<'_, [TokenWithSpan]>) -> (Cow<'_, [TokenWithSpan]>, Option<LockType>) {
    if !tokens.iter().any(|token| is(&token.token, &[Keyword::FOR])) {
        return (tokens, None);
    }
    let mut outermost = None;
    // For each open parenthesis whether a select list stands in it, and nothing behind that yet.
    let mut lists = vec![false];
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let words = match lists.last() {
            Some(true) if is(&token.token, &[Keyword::FOR]) => words_of_clause(&tokens[at..]),
            _ => 0,
        };
        if words > 0 {
            if lists.len() == 1 {
                let is_share = tokens[at..at + words].iter().any(|token| is(&token.token, &[Keyword::SHARE]));
                outermost = Some(if is_share { LockType::Share } else { LockType::Update });
            }
            at += words;
            continue;
        }
        match &token.token {
            Token::LParen => lists.push(false),
            Token::RParen if lists.len() > 1 => {
                lists.pop();
            }
            token if is(token, &[Keyword::SELECT]) => replace_last(&mut lists, true),
            token if is(token, ENDS) => replace_last(&mut lists, false),
            _ => {}
        }
        written.push(token.clone());
        at += 1;
    }
    if written.len() == tokens.len() { (tokens, None) } else { (Cow::Owned(written), outermost) }
}

/// Gives a statement the clause that was left out of its words.
pub(super) fn put_back(statement: &mut Statement, lock_type: Option<LockType>) {
    if let (Statement::Query(query), Some(lock_type)) = (statement, lock_type) {
        query.locks.push(LockClause { lock_type, of: None, nonblock: None });
    }
}

/// What a select list is not followed by any more, or what takes no FOR UPDATE.
const ENDS: &[Keyword] = &[
    Keyword::FROM,
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::FOR,
];

/// How many tokens `FOR UPDATE` and its like have, with the blanks before them; 0 for anything else
/// and for what names tables.
fn words_of_clause(tokens: &[TokenWithSpan]) -> usize {
    let mut words =
        tokens.iter().enumerate().filter(|(_, token)| !matches!(token.token, Token::Whitespace(_))).skip(1).peekable();
    let Some((mut last, first)) = words.next() else { return 0 };
    if !is(&first.token, &[Keyword::UPDATE, Keyword::SHARE]) {
        return 0;
    }
    while let Some((at, _)) =
        words.next_if(|(_, token)| is(&token.token, &[Keyword::NOWAIT, Keyword::SKIP, Keyword::LOCKED]))
    {
        last = at;
    }
    match words.next() {
        None => last + 1,
        Some((_, next)) if next.token == Token::RParen || next.token == Token::EOF => last + 1,
        Some(_) => 0,
    }
}

fn replace_last(lists: &mut [bool], list: bool) {
    if let Some(last) = lists.last_mut() {
        *last = list;
    }
}

fn is(token: &Token, keywords: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}
