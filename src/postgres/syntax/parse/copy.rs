//! COPY. The parser reads it up to the place that rows come from or go to; options are read here,
//! in both of PostgreSQL's forms.

use datafusion::sql::sqlparser::ast::{CopySource, CopyTarget, Ident, SetExpr, Statement};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::parsed;
use super::words::Words;
use crate::syntax::copy::{CopyArgument, CopyOption, CopyStatement};
use rowkey_base::{Error, Result, SqlState};

/// Reads a COPY, whose words are taken to their end.
pub(super) fn copy(words: &mut Words<'_>) -> Result<CopyStatement> {
    let all = words.rest();
    words.skip();
    let mut options = Vec::new();
    let mut head = all[..all.len() - words.rest().len()].to_vec();
    let location = words.location();
    if words.take("binary") {
        // The form from before 7.3.
        let format = CopyArgument::Text("binary".to_owned());
        options.push(CopyOption { name: "format".to_owned(), argument: format, location });
        if matches!(words.peek(), Token::LParen) {
            return Err(words.syntax());
        }
    }
    let from = words.rest();
    pass_target(words);
    head.extend_from_slice(&from[..from.len() - words.rest().len()]);
    let mut statement = parsed(&head, words.source())?;
    let Statement::Copy { source, to, target, .. } = &mut statement else {
        return Err(Error::new(SqlState::INTERNAL_ERROR, "COPY was parsed as something else"));
    };
    if let CopySource::Query(query) = &*source
        && matches!(*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
    {
        return Err(words.unsupported("COPY of a statement that writes"));
    }
    // Either word is the client.
    if matches!(target, CopyTarget::Stdin | CopyTarget::Stdout) {
        *target = if *to { CopyTarget::Stdout } else { CopyTarget::Stdin };
    }
    if matches!(source, CopySource::Table { .. }) {
        let location = words.location();
        let using = words.take("using");
        if words.take("delimiters") {
            options.push(CopyOption { name: "delimiter".to_owned(), argument: string(words)?, location });
        } else if using {
            return Err(words.syntax());
        }
    }
    words.take("with");
    match words.take_token(&Token::LParen) {
        true => listed(words, &mut options)?,
        false => while legacy(words, &mut options)? {},
    }
    if words.is("where") && matches!(source, CopySource::Table { .. }) {
        let position = words.source().position(words.location());
        return Err(match to {
            true => Error::new(SqlState::SYNTAX_ERROR, "WHERE clause not allowed with COPY TO").at(position),
            false => words.unsupported("COPY ... WHERE"),
        });
    }
    words.expect_end()?;
    Ok(CopyStatement { statement, options })
}

/// Passes over everything up to the target and the target itself; to the end if there is none.
fn pass_target(words: &mut Words<'_>) {
    let mut depth = 0_usize;
    while !words.at_end() {
        match words.peek() {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ if depth == 0 && (words.is("from") || words.is("to")) => {
                words.skip();
                words.take("program");
                if !words.at_end() {
                    words.skip();
                }
                return;
            }
            _ => {}
        }
        words.skip();
    }
}

/// `(NAME [ARGUMENT], ...)` behind its parenthesis.
fn listed(words: &mut Words<'_>, options: &mut Vec<CopyOption>) -> Result<()> {
    loop {
        let location = words.location();
        let name = words.name()?;
        options.push(CopyOption { name, argument: argument(words)?, location });
        if words.take_token(&Token::RParen) {
            return Ok(());
        }
        if !words.take_token(&Token::Comma) {
            return Err(words.syntax());
        }
    }
}

fn argument(words: &mut Words<'_>) -> Result<CopyArgument> {
    Ok(match words.peek() {
        Token::Comma | Token::RParen => CopyArgument::Nothing,
        Token::Mul => {
            words.skip();
            CopyArgument::All
        }
        Token::LParen => {
            words.skip();
            let columns = columns(words)?;
            if !words.take_token(&Token::RParen) {
                return Err(words.syntax());
            }
            CopyArgument::Columns(columns)
        }
        Token::Number(..) | Token::Plus | Token::Minus => {
            let sign = if words.take_token(&Token::Minus) { "-" } else { "" };
            if sign.is_empty() {
                words.take_token(&Token::Plus);
            }
            let Token::Number(digits, _) = words.peek() else { return Err(words.syntax()) };
            words.skip();
            CopyArgument::Number(format!("{sign}{digits}"))
        }
        Token::Word(_) => CopyArgument::Text(words.name()?),
        _ => string(words)?,
    })
}

/// An option in words from before 9.0; false where there is none.
fn legacy(words: &mut Words<'_>, options: &mut Vec<CopyOption>) -> Result<bool> {
    let location = words.location();
    let text = |text: &str| CopyArgument::Text(text.to_owned());
    let (name, argument) = if words.take("binary") {
        ("format", text("binary"))
    } else if words.take("csv") {
        ("format", text("csv"))
    } else if words.take("header") {
        ("header", text("true"))
    } else if words.take("freeze") {
        ("freeze", text("true"))
    } else if words.take("encoding") {
        ("encoding", string(words)?)
    } else if words.take_all(&["force", "quote"]) {
        let argument = if words.take_token(&Token::Mul) { CopyArgument::All } else { named(words)? };
        ("force_quote", argument)
    } else if words.take_all(&["force", "not", "null"]) {
        ("force_not_null", named(words)?)
    } else if words.take_all(&["force", "null"]) {
        ("force_null", named(words)?)
    } else {
        let Some(name) = ["delimiter", "null", "quote", "escape"].into_iter().find(|name| words.take(name)) else {
            return Ok(false);
        };
        words.take("as");
        (name, string(words)?)
    };
    options.push(CopyOption { name: name.to_owned(), argument, location });
    Ok(true)
}

fn named(words: &mut Words<'_>) -> Result<CopyArgument> {
    columns(words).map(CopyArgument::Columns)
}

fn columns(words: &mut Words<'_>) -> Result<Vec<Ident>> {
    let mut columns = Vec::new();
    loop {
        let span = words.rest().first().map(|token| token.span);
        let ident = match words.peek() {
            Token::Word(word) => Ident { value: word.value.clone(), quote_style: word.quote_style, ..Ident::new("") },
            // A list takes texts where it takes names.
            Token::SingleQuotedString(name) => Ident::with_quote('"', name),
            _ => return Err(words.syntax()),
        };
        words.skip();
        columns.push(Ident { span: span.unwrap_or(ident.span), ..ident });
        if !words.take_token(&Token::Comma) {
            return Ok(columns);
        }
    }
}

fn string(words: &mut Words<'_>) -> Result<CopyArgument> {
    let text = match words.peek() {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => text,
        Token::DollarQuotedString(quoted) => &quoted.value,
        _ => return Err(words.syntax()),
    };
    words.skip();
    Ok(CopyArgument::Text(text.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::syntax::statement::Request;

    /// The target, and the options as they are shown.
    fn read(text: &str) -> String {
        match parse(text).map(super::super::super::statement::Statement::into_request) {
            Ok(Request::Copy(copy)) => {
                let options: Vec<String> = copy.options.iter().map(ToString::to_string).collect();
                format!("{} | {}", copy.statement, options.join(", "))
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn both_forms_of_options_say_the_same() {
        for (text, expected) in [
            ("copy t to stdout", "COPY t TO STDOUT | "),
            ("copy t to stdin (format binary)", "COPY t TO STDOUT | FORMAT 'binary'"),
            ("copy binary t from stdout", "COPY t FROM STDIN | FORMAT 'binary'"),
            ("copy t to stdout with binary", "COPY t TO STDOUT | FORMAT 'binary'"),
            (
                "copy t (a, b) to stdout with csv header quote as '''' force quote *",
                "COPY t (a, b) TO STDOUT | FORMAT 'csv', HEADER 'true', QUOTE '''', FORCE_QUOTE *",
            ),
            (
                "copy s.t from stdin header csv force not null a, \"B\" force null c null ''",
                "COPY s.t FROM STDIN | HEADER 'true', FORMAT 'csv', FORCE_NOT_NULL (a, \"B\"), FORCE_NULL (c), NULL ''",
            ),
            (
                "copy t from stdin (header MATCH, \"delimiter\" E'\\t', force_null (a), freeze, quote -1)",
                "COPY t FROM STDIN | HEADER 'match', DELIMITER '\t', FORCE_NULL (a), FREEZE, QUOTE -1",
            ),
            ("copy t to stdout using delimiters ';'", "COPY t TO STDOUT | DELIMITER ';'"),
            ("copy (table t) to 'x.csv' (force_quote *)", "COPY (SELECT * FROM t) TO 'x.csv' | FORCE_QUOTE *"),
            ("copy (select 'to' from x) to program 'y'", "COPY (SELECT 'to' FROM x) TO PROGRAM 'y' | "),
            ("copy t to stdout ()", "syntax error at or near \")\""),
            ("copy t to stdout (force_quote ())", "syntax error at or near \")\""),
            ("copy t to stdout (force_quote *) csv", "syntax error at or near \"csv\""),
            ("copy t to stdout oids", "syntax error at or near \"oids\""),
            ("copy binary (select 1) to stdout", "syntax error at or near \"(\""),
            ("copy t to stdout where true", "WHERE clause not allowed with COPY TO"),
            (
                "copy (insert into t values (1) returning x) to stdout",
                "COPY of a statement that writes is not supported",
            ),
            ("copy t from stdin csv where true", "COPY ... WHERE is not supported"),
            ("copy t to", "syntax error at end of input"),
            ("copy t", "syntax error at end of input"),
            ("copy", "syntax error at end of input"),
            ("copy t to stdout (", "syntax error at end of input"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
