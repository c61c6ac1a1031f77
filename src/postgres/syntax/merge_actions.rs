//! `MERGE ... WHEN ... THEN DO NOTHING`, which the parser does not know.
//!
//! It is given other actions: a DELETE and an INSERT whose first word is still `DO`.

use std::borrow::Cow;

use datafusion::sql::sqlparser::ast::MergeAction;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// The tokens of a statement with actions that the parser knows.
pub(super) fn with_known_actions(tokens: &[TokenWithSpan]) -> Cow<'_, [TokenWithSpan]> {
    if keywords(tokens).all(|(_, keyword)| keyword != Keyword::MERGE) {
        return Cow::Borrowed(tokens);
    }
    let found: Vec<(usize, Keyword)> = keywords(tokens).collect();
    let mut changed = tokens.to_vec();
    let mut replaced = Vec::new();
    let mut is_matched = true;
    for (at, words) in found.windows(3).enumerate() {
        // Not those of a CASE.
        match [words[0].1, words[1].1, words[2].1] {
            [Keyword::WHEN, Keyword::MATCHED, _] => is_matched = true,
            [Keyword::WHEN, Keyword::NOT, Keyword::MATCHED] => is_matched = false,
            _ => {}
        }
        let [(_, Keyword::THEN), (act, Keyword::DO), (nothing, Keyword::NOTHING)] = *words else { continue };
        // Nothing but blanks between: no other words are keywords.
        let between = |from: usize, to: usize| {
            tokens[from + 1..to].iter().all(|token| matches!(token.token, Token::Whitespace(_)))
        };
        if !between(found[at].0, act) || !between(act, nothing) {
            continue;
        }
        set_keyword(&mut changed[act], if is_matched { Keyword::DELETE } else { Keyword::INSERT });
        let span = changed[nothing].span;
        let token = |token| TokenWithSpan::new(token, span);
        let stand_in = match is_matched {
            true => vec![token(Token::Whitespace(Whitespace::Space))],
            false => vec![
                token(Token::make_keyword("VALUES")),
                token(Token::LParen),
                token(Token::make_keyword("NULL")),
                token(Token::RParen),
            ],
        };
        replaced.push((nothing, stand_in));
    }
    for (at, stand_in) in replaced.into_iter().rev() {
        changed.splice(at..=at, stand_in);
    }
    Cow::Owned(changed)
}

/// Whether an action stands for DO NOTHING.
pub fn is_nothing(action: &MergeAction) -> bool {
    let first = match action {
        MergeAction::Delete { delete_token } => delete_token,
        MergeAction::Insert(insert) => &insert.insert_token,
        MergeAction::Update(_) => return false,
    };
    matches!(&first.0.token, Token::Word(word) if word.value.eq_ignore_ascii_case("do"))
}

fn keywords(tokens: &[TokenWithSpan]) -> impl Iterator<Item = (usize, Keyword)> + '_ {
    tokens.iter().enumerate().filter_map(|(at, token)| match &token.token {
        Token::Word(word) if word.quote_style.is_none() && word.keyword != Keyword::NoKeyword => {
            Some((at, word.keyword))
        }
        _ => None,
    })
}

fn set_keyword(token: &mut TokenWithSpan, keyword: Keyword) {
    if let Token::Word(Word { keyword: known, .. }) = &mut token.token {
        *known = keyword;
    }
}
