//! VACUUM and ANALYZE, as PostgreSQL writes them.

use datafusion::sql::sqlparser::tokenizer::Token;

use crate::syntax::parse::words::Words;
use crate::syntax::statement::{TableName, Vacuum};
use rowkey_base::{Error, Result, SqlState};

/// Options that PostgreSQL has and that mean nothing here.
const FOREIGN: [&str; 8] = [
    "freeze",
    "disable_page_skipping",
    "skip_locked",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
    "buffer_usage_limit",
];

/// What follows the word VACUUM.
pub(super) fn vacuum(words: &mut Words<'_>) -> Result<Vacuum> {
    let mut vacuum = Vacuum::default();
    if words.take_token(&Token::LParen) {
        options(words, "a VACUUM", |option, on, words| set(&mut vacuum, option, on, words))?;
    } else {
        for option in ["full", "freeze", "verbose", "analyze"] {
            if words.take(option) {
                set(&mut vacuum, option, true, words)?;
            }
        }
    }
    vacuum.tables = tables(words, "VACUUM")?;
    Ok(vacuum)
}

/// What follows the word ANALYZE: the tables, none for all.
pub(super) fn analyze(words: &mut Words<'_>) -> Result<Vec<TableName>> {
    if words.take_token(&Token::LParen) {
        options(words, "an ANALYZE", |option, _, words| match option {
            "verbose" => Ok(()),
            "skip_locked" | "buffer_usage_limit" => Err(words.unsupported(&format!("ANALYZE option \"{option}\""))),
            _ => {
                let message = format!("unrecognized ANALYZE option \"{option}\"");
                Err(Error::new(SqlState::SYNTAX_ERROR, message))
            }
        })?;
    } else {
        // There is nothing that it would say.
        words.take("verbose");
    }
    tables(words, "ANALYZE")
}

/// Options up to the bracket, each of which is handed over.
fn options(words: &mut Words<'_>, of: &str, mut take: impl FnMut(&str, bool, &Words<'_>) -> Result<()>) -> Result<()> {
    loop {
        let option = words.name()?.to_ascii_lowercase();
        let on = switch(words, of)?;
        take(&option, on, words)?;
        if words.take_token(&Token::RParen) {
            return Ok(());
        }
        if !words.take_token(&Token::Comma) {
            return Err(words.syntax());
        }
    }
}

/// Names of tables up to the end.
fn tables(words: &mut Words<'_>, verb: &str) -> Result<Vec<TableName>> {
    let mut tables = Vec::new();
    while !words.at_end() {
        let first = words.name()?;
        tables.push(match words.take_token(&Token::Period) {
            true => (Some(first), words.name()?),
            false => (None, first),
        });
        if words.peek() == &Token::LParen {
            return Err(words.unsupported(&format!("{verb} with a list of columns")));
        }
        if !words.take_token(&Token::Comma) {
            break;
        }
        if words.at_end() {
            return Err(words.syntax());
        }
    }
    Ok(tables)
}

/// The value of an option, which is on without one.
fn switch(words: &mut Words<'_>, of: &str) -> Result<bool> {
    let value = match words.peek() {
        Token::Word(word) => word.value.to_ascii_lowercase(),
        Token::Number(digits, _) => digits.clone(),
        Token::SingleQuotedString(text) => text.to_ascii_lowercase(),
        _ => return Ok(true),
    };
    let on = match value.as_str() {
        "true" | "on" | "1" => true,
        "false" | "off" | "0" => false,
        _ => return Err(Error::new(SqlState::SYNTAX_ERROR, format!("{of} option requires a Boolean value"))),
    };
    words.skip();
    Ok(on)
}

fn set(vacuum: &mut Vacuum, option: &str, on: bool, words: &Words<'_>) -> Result<()> {
    match option {
        "full" => vacuum.full = on,
        "verbose" => vacuum.verbose = on,
        // Statistics are part of every file, so those of what VACUUM writes are new in any case.
        "analyze" => {}
        option if FOREIGN.contains(&option) => {
            return Err(words.unsupported(&format!("VACUUM option \"{option}\"")));
        }
        option => {
            let message = format!("unrecognized VACUUM option \"{option}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}
