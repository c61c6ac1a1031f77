//! `EXPLAIN EXECUTE name(...)`.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::arguments;
use crate::syntax::parse::statement_of;
use crate::syntax::parse::words::Words;
use crate::syntax::statement::{Command, Request};
use rowkey_base::Result;

/// EXPLAIN of a prepared statement; `None` for any other, of which nothing is taken.
pub(super) fn explain_execute(words: &mut Words<'_>) -> Result<Option<Command>> {
    let before = words.rest();
    let mut ahead = words.clone();
    ahead.skip();
    if matches!(ahead.peek(), Token::LParen) {
        while !matches!(ahead.peek(), Token::RParen | Token::EOF) {
            ahead.skip();
        }
        ahead.skip();
    } else {
        let _ = ahead.take("analyze");
        let _ = ahead.take("verbose");
    }
    let words_before = &before[..before.len() - ahead.rest().len()];
    if !ahead.take("execute") {
        return Ok(None);
    }
    // The options are read as those of a statement of which nothing else matters.
    let mut stand_in: Vec<TokenWithSpan> = words_before.to_vec();
    for token in [Token::make_keyword("SELECT"), Token::Number("1".to_owned(), false)] {
        stand_in.push(TokenWithSpan::wrap(token));
    }
    let options = match statement_of(&mut Words::new(words.source(), &stand_in))?.into_request() {
        Request::Explain { options, .. } => options,
        _ => return Err(words.syntax()),
    };
    let name = ahead.name()?;
    let arguments = arguments(&mut ahead)?;
    *words = ahead;
    Ok(Some(Command::ExplainExecute { name, arguments, options }))
}
