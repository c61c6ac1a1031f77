//! From text to statements.

mod abbreviations;
mod commands;
mod comparison_chains;
mod copy;
mod dialect;
mod explain_options;
mod foreign_words;
mod grouping_elements;
mod interval_literals;
mod limits;
mod precedence;
mod rowless_locks;
mod token_count;
mod tokens;
mod words;

pub use limits::is_parsed_quickly;

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::kinds;
use super::merge_actions;
use super::row_locks;
use super::source::Source;
use super::statement::{ExplainOptions, Request, Statement};
use dialect::PostgresDialect;
use rowkey_base::{Error, Result, SqlState};
use token_count::token_count;
use tokens::tokens;
use words::Words;

/// Parses statements with semicolons between, in the dialect of PostgreSQL. Empty ones are left
/// out. All of the text is parsed before any of it runs.
pub fn parse_all(text: &str) -> Result<Vec<Statement>> {
    parse_within(&Arc::from(text), &mut Unmetered)
}

/// What a text and the constants of its statements take as long as these are kept, in bytes.
pub fn kept_bytes(text: &str) -> usize {
    text.len() * 2
}

/// The same for a text that may be long, in memory that is asked for, beside [`kept_bytes`].
pub fn parse_within(text: &Arc<str>, memory: &mut impl ParseMemory) -> Result<Vec<Statement>> {
    let count = token_count(text)?;
    // Those of a statement are copied for its parser.
    let bytes = (count * (size_of::<TokenWithSpan>() + TOKEN_TEXT_BYTES) + text.len()) * 2;
    memory.grow(bytes)?;
    let source = Source::new(Arc::clone(text));
    let tokens = tokens(text, &source, count)?;
    let mut statements = Vec::new();
    for tokens in tokens.split(|token| matches!(token.token, Token::SemiColon | Token::EOF)) {
        if tokens.iter().all(|token| matches!(token.token, Token::Whitespace(_))) {
            continue;
        }
        memory.grow(statement_bytes(tokens))?;
        statements.push(statement_of(&mut Words::new(&source, tokens))?);
    }
    memory.shrink(bytes);
    Ok(statements)
}

/// Where the memory of a parse comes from.
pub trait ParseMemory {
    /// Asks for bytes before they are taken.
    ///
    /// # Errors
    /// There are no more, or the statement is to stop: the parse ends.
    fn grow(&mut self, bytes: usize) -> Result<()>;

    /// Gives bytes back.
    fn shrink(&mut self, bytes: usize);
}

/// Of short texts.
struct Unmetered;

impl ParseMemory for Unmetered {
    fn grow(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn shrink(&mut self, _: usize) {}
}

/// What the text of a token takes beside its characters, mostly.
const TOKEN_TEXT_BYTES: usize = 16;
/// `1,` and the like.
const TOKENS_OF_EXPRESSION: usize = 2;
/// A query without its expressions.
const QUERY_BYTES: usize = size_of::<ast::Query>() + size_of::<ast::Select>() + size_of::<ast::TableWithJoins>();

/// What a statement takes, by its tokens.
fn statement_bytes(tokens: &[TokenWithSpan]) -> usize {
    let is_query =
        |token: &&TokenWithSpan| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::SELECT);
    let queries = tokens.iter().filter(is_query).count().max(1);
    let expressions = tokens.len() / TOKENS_OF_EXPRESSION;
    size_of::<Statement>() + size_of::<ast::Statement>() + queries * QUERY_BYTES + expressions * size_of::<Expr>()
}

/// Parses exactly one statement.
pub fn parse(text: &str) -> Result<Statement> {
    only(parse_all(text)?)
}

/// The statement of a text that has exactly one.
pub fn only(statements: Vec<Statement>) -> Result<Statement> {
    let mut statements = statements.into_iter();
    match (statements.next(), statements.next()) {
        (Some(statement), None) => Ok(statement),
        (None, _) => Err(Error::new(SqlState::SYNTAX_ERROR, "there is no statement to run")),
        (Some(_), Some(_)) => {
            Err(Error::new(SqlState::SYNTAX_ERROR, "one statement at a time, please: this text has several"))
        }
    }
}

/// The statement that the words from here on make.
fn statement_of(words: &mut Words<'_>) -> Result<Statement> {
    let source = words.source().clone();
    let tokens = words.rest();
    let mut spans = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).map(|token| token.span);
    let first = spans.next();
    let last = spans.next_back().or(first);
    let from = first.map_or(0, |span| source.offset(span.start));
    let to = last.map_or(0, |span| source.offset(span.end));
    let request = match commands::command(words)? {
        Some(command) => Request::Command(command),
        None if words.is("copy") => Request::Copy(Box::new(copy::copy(words)?)),
        None => {
            let parsed = parsed(tokens, &source)?;
            while !words.at_end() {
                words.skip();
            }
            classify(parsed)?
        }
    };
    Ok(Statement { source, from, to, request, disposer: None })
}

/// The statement of exactly these tokens, as the parser sees it.
fn parsed(tokens: &[TokenWithSpan], source: &Source) -> Result<ast::Statement> {
    let tokens = grouping_elements::in_parentheses(abbreviations::spelled_out(tokens));
    let (tokens, lock) = rowless_locks::left_out(tokens);
    let tokens = foreign_words::as_names(interval_literals::as_read(tokens), source)?;
    let tokens = &*tokens;
    limits::refuse(tokens)?;
    abbreviations::refuse_rows_from(tokens)?;
    let dialect = PostgresDialect::of_tokens(tokens);
    let mut parser = parser(&dialect, &merge_actions::with_known_actions(tokens));
    let parsed = parser.parse_statement();
    let mut parsed = parsed.map_err(|error| unparsed(&dialect, &error, source, tokens))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(source.syntax_at(Some(&rest)));
    }
    rowless_locks::put_back(&mut parsed, lock);
    precedence::settle(&mut parsed);
    comparison_chains::refuse(&parsed, tokens, source)?;
    row_locks::refuse_nested(&parsed)?;
    Ok(parsed)
}

/// A list of expressions in parentheses.
fn expressions(words: &mut Words<'_>) -> Result<Vec<Expr>> {
    let tokens = words.rest();
    limits::refuse(tokens)?;
    let dialect = PostgresDialect::of_tokens(tokens);
    let mut parser = parser(&dialect, tokens);
    let parsed = parser.expect_token(&Token::LParen).and_then(|_| {
        if parser.consume_token(&Token::RParen) {
            return Ok(Vec::new());
        }
        let mut list = parser.parse_comma_separated(Parser::parse_expr)?;
        precedence::settle(&mut list);
        parser.expect_token(&Token::RParen)?;
        Ok(list)
    });
    let list = parsed.map_err(|error| unparsed(&dialect, &error, words.source(), tokens))?;
    comparison_chains::refuse(&list, tokens, words.source())?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(words.source().syntax_at(Some(&rest)));
    }
    while !words.at_end() {
        words.skip();
    }
    Ok(list)
}

/// `SELECT expr`.
pub fn select_of(expr: Expr) -> Result<ast::Statement> {
    let mut statement = match parse("SELECT 1")?.into_request() {
        Request::Query(query) => query,
        _ => return Err(Error::new(SqlState::INTERNAL_ERROR, "a query was parsed as something else")),
    };
    if let ast::Statement::Query(query) = statement.as_mut()
        && let ast::SetExpr::Select(select) = query.body.as_mut()
    {
        select.projection = vec![ast::SelectItem::UnnamedExpr(expr)];
    }
    Ok(*statement)
}

fn parser<'d>(dialect: &'d PostgresDialect, tokens: &[TokenWithSpan]) -> Parser<'d> {
    Parser::new(dialect).with_recursion_limit(limits::DEPTH_MAX).with_tokens_with_locations(tokens.to_vec())
}

/// The parser has the place at the end of its message.
/// The error for what the parser does not take, or was stopped at.
fn unparsed(dialect: &PostgresDialect, error: &ParserError, source: &Source, tokens: &[TokenWithSpan]) -> Error {
    match dialect.is_exhausted() {
        true => limits::too_many_readings(),
        false => syntax(error, source, tokens),
    }
}

/// The parser's error of an EXPLAIN within another.
const NESTED_EXPLAIN: &str = "Explain must be root of the plan";

fn syntax(error: &ParserError, source: &Source, tokens: &[TokenWithSpan]) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.as_str(),
        ParserError::RecursionLimitExceeded => {
            return limits::too_deep();
        }
    };
    if message == NESTED_EXPLAIN {
        return not_explained("EXPLAIN");
    }
    let Some((message, place)) = message.rsplit_once(" at Line: ") else {
        return match message.contains("found: EOF") {
            true => source.syntax_at(None).with_detail(message),
            false => Error::new(SqlState::SYNTAX_ERROR, format!("syntax error: {message}")),
        };
    };
    let place = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    let token = tokens.iter().find(|token| Some(token.span.start) == place);
    if let Some(Token::Word(word)) = token.map(|token| &token.token)
        && message.starts_with("Expected: ), found: ")
        && word.value.eq_ignore_ascii_case("exclude")
    {
        return Error::new(SqlState::FEATURE_NOT_SUPPORTED, "EXCLUDE in a frame is not supported");
    }
    source.syntax_at(token).with_detail(message)
}

fn classify(statement: ast::Statement) -> Result<Request> {
    match statement {
        written if kinds::verb(&written).is_some() => Ok(Request::Write(Box::new(written))),
        ast::Statement::Query(_)
        | ast::Statement::ShowTables { .. }
        | ast::Statement::ShowColumns { .. }
        | ast::Statement::ExplainTable { .. } => Ok(Request::Query(Box::new(statement))),
        ast::Statement::Explain {
            analyze,
            verbose,
            query_plan: false,
            estimate: false,
            statement,
            format,
            options,
            ..
        } => {
            let writes = kinds::verb(&statement);
            if writes.is_none() && !matches!(*statement, ast::Statement::Query(_)) {
                return Err(not_explained(&verb_of(&statement)));
            }
            let options = ExplainOptions::read(analyze, verbose, format, &options.unwrap_or_default())?;
            Ok(Request::Explain { statement, options })
        }
        other if kinds::defines(&other) => Ok(Request::Define(Box::new(other))),
        other => Err(refused(&other)),
    }
}

/// The first words of a statement.
fn verb_of(statement: &ast::Statement) -> String {
    let words: Vec<String> = statement.to_string().split_whitespace().take(2).map(str::to_uppercase).collect();
    match words.first().map(String::as_str) {
        Some("CREATE" | "DROP" | "ALTER") => words.join(" "),
        Some(verb) => verb.to_owned(),
        None => String::new(),
    }
}

fn not_explained(verb: &str) -> Error {
    Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "EXPLAIN of {verb} is not supported: it explains SELECT, VALUES, TABLE, WITH, INSERT, UPDATE, DELETE, MERGE and EXECUTE"
        ),
    )
}

/// The error of a statement that is not supported, which names its first words.
pub fn refused(statement: &ast::Statement) -> Error {
    let verb = verb_of(statement);
    Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "{verb} is not supported: statements are SELECT, VALUES, WITH, INSERT, UPDATE, DELETE, MERGE, COPY, EXPLAIN, SHOW TABLES, DESCRIBE, CREATE, ALTER and DROP TABLE, TRUNCATE, CREATE and DROP VIEW and COMMENT ON"
        ),
    )
}

/// Cuts text at the semicolons between statements, leaving out empty ones. Semicolons in quotes and
/// comments do not cut.
pub fn split(text: &str) -> Result<Vec<String>> {
    let source = Source::new(text);
    let tokens = tokens(text, &source, token_count(text)?)?;
    let mut statements = Vec::new();
    let (mut from, mut empty) = (0, true);
    for token in tokens {
        match token.token {
            Token::SemiColon => {
                let at = source.offset(token.span.start);
                if !empty {
                    statements.push(text[from..at].trim().to_owned());
                }
                (from, empty) = (at + 1, true);
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ => empty = false,
        }
    }
    if !empty {
        statements.push(text[from..].trim().to_owned());
    }
    Ok(statements)
}

#[cfg(test)]
mod tests;
