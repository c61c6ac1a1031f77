//! From text to statements.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AnalyzeFormat, AnalyzeFormatKind, Expr, Statement, UtilityOption, visit_expressions, visit_relations_mut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::definitions::{self, ENTITY_TYPES};
use super::error::{Error, ErrorKind, Result};
use super::snapshot_catalog::ACCESS_PATHS;
use crate::system_catalog::ROWKEY_SCHEMA;

/// Deepest nesting of expressions that is parsed.
const DEPTH_MAX: usize = 200;

/// Most operators one behind the other outside parentheses.
const CHAIN_MAX: usize = 2000;

/// What a statement asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Query(Box<Statement>),
    Explain {
        statement: Box<Statement>,
        analyze: bool,
        verbose: bool,
        format: ExplainFormat,
    },
    /// CREATE VIEW, DROP VIEW, COMMENT ON and the like.
    Define(Box<Statement>),
}

/// How EXPLAIN writes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Text,
    Json,
}

/// Parses exactly one statement, in the dialect of PostgreSQL.
pub fn parse(text: &str) -> Result<Request> {
    let tokens = tokens(text)?;
    refuse_long_chains(&tokens)?;
    let parsed = Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(DEPTH_MAX)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(|error| syntax(&error))?;
    let mut statements = parsed.into_iter();
    match (statements.next(), statements.next()) {
        (Some(mut statement), None) => {
            unqualify_functions(&mut statement);
            refuse_open_distinct(&statement)?;
            classify(statement)
        }
        (None, _) => Err(Error::new(ErrorKind::Invalid, "there is no statement to run")),
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorKind::Invalid, "one statement at a time, please: this text has several"))
        }
    }
}

/// The words of a text. An operator such as `>-` is two, as in PostgreSQL: only one with a special character may end in a sign.
fn tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize_with_location()
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("syntax error: {error}")))?;
    let mut split = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token::CustomBinaryOperator(operator) = &token.token else {
            split.push(token);
            continue;
        };
        let sign = match operator.chars().last() {
            Some('-') if !operator.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) => Token::Minus,
            Some('+') if !operator.contains(['~', '!', '@', '#', '%', '^', '&', '|', '`', '?']) => Token::Plus,
            _ => {
                split.push(token);
                continue;
            }
        };
        let comparison = match &operator[..operator.len() - 1] {
            "=" => Token::Eq,
            "<" => Token::Lt,
            ">" => Token::Gt,
            "<=" => Token::LtEq,
            ">=" => Token::GtEq,
            "<>" => Token::Neq,
            _ => {
                split.push(token);
                continue;
            }
        };
        split.push(TokenWithSpan { token: comparison, span: token.span });
        split.push(TokenWithSpan { token: sign, span: token.span });
    }
    Ok(split)
}

/// A long chain of operators is a deep tree, which takes as much stack and more than linear time to plan.
fn refuse_long_chains(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut chains = vec![0_usize];
    for token in tokens {
        match &token.token {
            Token::LParen => chains.push(0),
            Token::RParen if chains.len() > 1 => {
                chains.pop();
            }
            Token::Comma | Token::SemiColon => {
                if let Some(chain) = chains.last_mut() {
                    *chain = 0;
                }
            }
            Token::Word(word) if matches!(word.keyword, Keyword::AND | Keyword::OR | Keyword::UNION) => {
                count(&mut chains)?;
            }
            Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => {
                count(&mut chains)?
            }
            _ => {}
        }
    }
    Ok(())
}

fn count(chains: &mut [usize]) -> Result<()> {
    let Some(chain) = chains.last_mut() else { return Ok(()) };
    *chain += 1;
    if *chain <= CHAIN_MAX {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, format!("more than {CHAIN_MAX} operators in a row"))
        .with_hint("a long OR of keys is shorter as IN ('a', 'b', ...)"))
}

/// Table functions have no schema for the planner: `rowkey.entity_types('t')` is `entity_types('t')`.
fn unqualify_functions(statement: &mut Statement) {
    let _: ControlFlow<()> = visit_relations_mut(statement, |name| {
        let named = |place: usize, wanted: &[&str]| {
            let part = name.0.get(place).and_then(|part| part.as_ident());
            part.is_some_and(|part| wanted.iter().any(|wanted| part.value.eq_ignore_ascii_case(wanted)))
        };
        if name.0.len() == 2 && named(0, &[ROWKEY_SCHEMA]) && named(1, &[ACCESS_PATHS, ENTITY_TYPES]) {
            name.0.remove(0);
        }
        ControlFlow::Continue(())
    });
}

/// The parser takes all that follows `IS DISTINCT FROM`, up to the end, for its right side.
fn refuse_open_distinct(statement: &Statement) -> Result<()> {
    let found = visit_expressions(statement, |expr| match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
            if matches!(**right, Expr::BinaryOp { .. }) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::new(
            ErrorKind::Unsupported,
            "IS DISTINCT FROM beside other operators needs parentheses: (a IS DISTINCT FROM b) AND ...",
        )),
    }
}

fn syntax(error: &ParserError) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.clone(),
        ParserError::RecursionLimitExceeded => format!("expressions are nested more than {DEPTH_MAX} deep"),
    };
    Error::new(ErrorKind::Invalid, format!("syntax error: {message}"))
}

fn classify(statement: Statement) -> Result<Request> {
    match statement {
        Statement::Query(_)
        | Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ExplainTable { .. } => Ok(Request::Query(Box::new(statement))),
        Statement::Explain {
            analyze, verbose, query_plan: false, estimate: false, statement, format, options, ..
        } => {
            if !matches!(*statement, Statement::Query(_)) {
                return Err(refused(&statement));
            }
            let (mut analyze, mut verbose) = (analyze, verbose);
            let mut text_or_json = match format {
                None => ExplainFormat::Text,
                Some(AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format)) => {
                    explain_format(&format)?
                }
            };
            for option in options.unwrap_or_default() {
                apply_option(&option, &mut analyze, &mut verbose, &mut text_or_json)?;
            }
            Ok(Request::Explain { statement, analyze, verbose, format: text_or_json })
        }
        other if definitions::defines(&other) => Ok(Request::Define(Box::new(other))),
        other => Err(refused(&other)),
    }
}

fn explain_format(format: &AnalyzeFormat) -> Result<ExplainFormat> {
    match format {
        AnalyzeFormat::TEXT => Ok(ExplainFormat::Text),
        AnalyzeFormat::JSON => Ok(ExplainFormat::Json),
        other => Err(Error::new(ErrorKind::Unsupported, format!("EXPLAIN writes text or json, not {other}"))),
    }
}

fn apply_option(
    option: &UtilityOption,
    analyze: &mut bool,
    verbose: &mut bool,
    format: &mut ExplainFormat,
) -> Result<()> {
    let argument = option.arg.as_ref().map(|arg| arg.to_string().trim_matches('\'').to_ascii_lowercase());
    let flag = || match argument.as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(other) => {
            Err(Error::new(ErrorKind::Invalid, format!("EXPLAIN option {} is on or off, not {other}", option.name)))
        }
    };
    match option.name.value.to_ascii_lowercase().as_str() {
        "analyze" => *analyze = flag()?,
        "verbose" => *verbose = flag()?,
        "format" => {
            *format = match argument.as_deref() {
                Some("text") => ExplainFormat::Text,
                Some("json") => ExplainFormat::Json,
                other => {
                    let other = other.unwrap_or("nothing");
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("EXPLAIN writes text or json, not {other}"),
                    ));
                }
            };
        }
        other => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("EXPLAIN has no option {other}: it has ANALYZE, VERBOSE and FORMAT"),
            ));
        }
    }
    Ok(())
}

fn refused(statement: &Statement) -> Error {
    let words: Vec<String> = statement.to_string().split_whitespace().take(2).map(str::to_uppercase).collect();
    let verb = match words.first().map(String::as_str) {
        Some("CREATE" | "DROP" | "ALTER") => words.join(" "),
        Some(verb) => verb.to_owned(),
        None => String::new(),
    };
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "{verb} is not supported: statements are SELECT, VALUES, WITH, EXPLAIN of them, SHOW TABLES, DESCRIBE, \
             CREATE VIEW, DROP VIEW, COMMENT ON and CALL create_entity_views"
        ),
    )
    .with_hint("entities come in by `rowkey import`")
}

/// Cuts text at the semicolons between statements, leaving out empty ones. Semicolons in quotes and comments do not cut.
pub fn split(text: &str) -> Result<Vec<String>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize_with_location()
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("syntax error: {error}")))?;
    let line_starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut statements = Vec::new();
    let (mut from, mut empty) = (0, true);
    for token in tokens {
        match token.token {
            Token::SemiColon => {
                let at = offset(text, &line_starts, token.span.start);
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

/// Lines and columns count from 1, columns in characters.
pub(super) fn offset(text: &str, line_starts: &[usize], at: Location) -> usize {
    let line_start = line_starts.get((at.line as usize).saturating_sub(1)).copied().unwrap_or(text.len());
    let column = (at.column as usize).saturating_sub(1);
    text[line_start..].char_indices().nth(column).map_or(text.len(), |(byte, _)| line_start + byte)
}

#[cfg(test)]
mod tests;
