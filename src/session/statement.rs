//! From text to statements.

use datafusion::sql::sqlparser::ast::{AnalyzeFormat, AnalyzeFormatKind, Statement, UtilityOption};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};

use super::error::{Error, ErrorKind, Result};

/// Deepest nesting of expressions that is parsed.
const DEPTH_MAX: usize = 200;

/// What a statement asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Query(Box<Statement>),
    Explain { statement: Box<Statement>, analyze: bool, verbose: bool, format: ExplainFormat },
}

/// How EXPLAIN writes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Text,
    Json,
}

/// Parses exactly one statement, in the dialect of PostgreSQL.
pub fn parse(text: &str) -> Result<Request> {
    let parsed = Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(DEPTH_MAX)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| syntax(&error))?;
    let mut statements = parsed.into_iter();
    match (statements.next(), statements.next()) {
        (Some(statement), None) => classify(statement),
        (None, _) => Err(Error::new(ErrorKind::Invalid, "there is no statement to run")),
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorKind::Invalid, "one statement at a time, please: this text has several"))
        }
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
        Statement::Query(_) => Ok(Request::Query(Box::new(statement))),
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
        format!("{verb} is not supported: statements are SELECT, VALUES, WITH and EXPLAIN of them"),
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
fn offset(text: &str, line_starts: &[usize], at: Location) -> usize {
    let line_start = line_starts.get((at.line as usize).saturating_sub(1)).copied().unwrap_or(text.len());
    let column = (at.column as usize).saturating_sub(1);
    text[line_start..].char_indices().nth(column).map_or(text.len(), |(byte, _)| line_start + byte)
}
