//! The grammar of commands, as PostgreSQL has it: transactions, settings, cursors, prepared
//! statements.
//!
//! It is small and the clients' use of it wide, so it is read here from tokens and not by the SQL
//! parser.

mod explain;
mod vacuum;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::words::Words;
use super::{expressions, statement_of};
use crate::syntax::RowLocks;
use crate::syntax::statement::{Command, Direction, Discard, Isolation, Modes, Request};
use crate::types::{SqlValue, TextStyle, Zone, oid, parse_text, type_by_oid};
use rowkey_base::{Error, Result, SqlState};

/// Zones are less than a week away.
const ZONE_SECONDS_MAX: i32 = 168 * 3600;

/// The command that the tokens make; `None` where the statement does not begin like one.
pub(super) fn command(words: &mut Words<'_>) -> Result<Option<Command>> {
    let command = if words.take("begin") {
        let _ = words.take("work") || words.take("transaction");
        Command::Begin { modes: modes(words)?, started: false }
    } else if words.take_all(&["start", "transaction"]) {
        Command::Begin { modes: modes(words)?, started: true }
    } else if words.take("commit") || words.take("end") {
        if words.is("prepared") {
            return Err(words.unsupported("COMMIT PREPARED"));
        }
        Command::Commit { chain: chain(words)? }
    } else if words.take("rollback") || words.take("abort") {
        rollback(words)?
    } else if words.take("savepoint") {
        Command::Savepoint(words.name()?)
    } else if words.take("release") {
        words.take("savepoint");
        Command::Release(words.name()?)
    } else if words.take("set") {
        set(words)?
    } else if words.take("reset") {
        reset(words)?
    } else if words.is("show") {
        match show(words)? {
            Some(show) => show,
            None => return Ok(None),
        }
    } else if words.take("discard") {
        discard(words)?
    } else if words.take("listen") {
        words.name()?;
        Command::Listen
    } else if words.take("unlisten") {
        if !words.take_token(&Token::Mul) {
            words.name()?;
        }
        Command::Unlisten
    } else if words.take("prepare") {
        if words.is("transaction") {
            return Err(words.unsupported("PREPARE TRANSACTION"));
        }
        prepare(words)?
    } else if words.take("execute") {
        let name = words.name()?;
        Command::Execute { name, arguments: arguments(words)? }
    } else if words.is("explain") {
        match explain::explain_execute(words)? {
            Some(explain) => explain,
            None => return Ok(None),
        }
    } else if words.take("deallocate") {
        words.take("prepare");
        Command::Deallocate(if words.take("all") { None } else { Some(words.name()?) })
    } else if words.take("declare") {
        declare(words)?
    } else if words.take("fetch") {
        fetch(words, true)?
    } else if words.take("move") {
        fetch(words, false)?
    } else if words.take("close") {
        Command::CloseCursor(if words.take("all") { None } else { Some(words.name()?) })
    } else if words.take("vacuum") {
        Command::Vacuum(vacuum::vacuum(words)?)
    } else if words.take("analyze") || words.take("analyse") {
        Command::Analyze(vacuum::analyze(words)?)
    } else {
        return Ok(None);
    };
    words.expect_end()?;
    Ok(Some(command))
}

fn modes(words: &mut Words<'_>) -> Result<Modes> {
    let mut modes = Modes::default();
    loop {
        if words.take_all(&["isolation", "level"]) {
            let level = if words.take_all(&["read", "uncommitted"]) {
                Isolation::ReadUncommitted
            } else if words.take_all(&["read", "committed"]) {
                Isolation::ReadCommitted
            } else if words.take_all(&["repeatable", "read"]) {
                Isolation::RepeatableRead
            } else if words.take("serializable") {
                Isolation::Serializable
            } else {
                return Err(words.syntax());
            };
            modes.isolation = Some(level);
        } else if words.take_all(&["read", "only"]) {
            modes.read_only = Some(true);
        } else if words.take_all(&["read", "write"]) {
            modes.read_only = Some(false);
        } else if words.take("deferrable") {
            modes.deferrable = Some(true);
        } else if words.take_all(&["not", "deferrable"]) {
            modes.deferrable = Some(false);
        } else if !words.take_token(&Token::Comma) {
            return Ok(modes);
        }
    }
}

fn chain(words: &mut Words<'_>) -> Result<bool> {
    let _ = words.take("work") || words.take("transaction");
    if words.take_all(&["and", "no", "chain"]) {
        return Ok(false);
    }
    Ok(words.take_all(&["and", "chain"]))
}

fn rollback(words: &mut Words<'_>) -> Result<Command> {
    if words.is("prepared") {
        return Err(words.unsupported("ROLLBACK PREPARED"));
    }
    let _ = words.take("work") || words.take("transaction");
    if words.take("to") {
        words.take("savepoint");
        return Ok(Command::RollbackTo(words.name()?));
    }
    Ok(Command::Rollback { chain: chain(words)? })
}

/// At least one mode.
fn some_modes(words: &mut Words<'_>) -> Result<Modes> {
    let modes = modes(words)?;
    if modes == Modes::default() { Err(words.syntax()) } else { Ok(modes) }
}

fn set(words: &mut Words<'_>) -> Result<Command> {
    if words.take_all(&["session", "characteristics", "as", "transaction"]) {
        return Ok(Command::SetSessionTransaction(some_modes(words)?));
    }
    let local = words.take("local");
    if !local && words.is("session") {
        let mut ahead = words.clone();
        ahead.skip();
        // SET SESSION x, but not SET SESSION AUTHORIZATION.
        if !ahead.is("authorization") {
            words.skip();
        }
    }
    if words.take("transaction") {
        if words.is("snapshot") {
            return Err(words.unsupported("SET TRANSACTION SNAPSHOT"));
        }
        return Ok(Command::SetTransaction(some_modes(words)?));
    }
    if words.take_all(&["time", "zone"]) {
        let value = if words.take("local") || words.take("default") { None } else { Some(zone(words)?) };
        return Ok(Command::Set { name: "timezone".to_owned(), value, local });
    }
    if words.take("names") {
        let value = if words.at_end() || words.take("default") { None } else { Some(value(words)?) };
        return Ok(Command::Set { name: "client_encoding".to_owned(), value, local });
    }
    if words.take_all(&["session", "authorization"]) {
        let value = if words.take("default") { None } else { Some(value(words)?) };
        return Ok(Command::Set { name: "session_authorization".to_owned(), value, local });
    }
    if words.take("role") {
        let value = if words.take("none") || words.take("default") { None } else { Some(value(words)?) };
        return Ok(Command::Set { name: "role".to_owned(), value, local });
    }
    let name = setting_name(words)?;
    if !words.take("to") && !words.take_token(&Token::Eq) {
        return Err(words.syntax());
    }
    if words.take("default") {
        return Ok(Command::Set { name, value: None, local });
    }
    let mut values = vec![value(words)?];
    while words.take_token(&Token::Comma) {
        values.push(value(words)?);
    }
    Ok(Command::Set { name, value: Some(values.join(", ")), local })
}

/// A name, or several with dots between.
fn setting_name(words: &mut Words<'_>) -> Result<String> {
    let mut name = words.name()?;
    while words.take_token(&Token::Period) {
        name.push('.');
        name.push_str(&words.name()?);
    }
    Ok(name.to_ascii_lowercase())
}

fn value(words: &mut Words<'_>) -> Result<String> {
    let negative = words.take_token(&Token::Minus);
    if !negative {
        words.take_token(&Token::Plus);
    }
    let value = match words.peek() {
        Token::Number(digits, _) if negative => format!("-{digits}"),
        _ if negative => return Err(words.syntax()),
        Token::Number(digits, _) => digits.clone(),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
        Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
        Token::Word(word) => word.value.clone(),
        _ => return Err(words.syntax()),
    };
    words.skip();
    Ok(value)
}

/// A value of `SET TIME ZONE`. `INTERVAL '-03:00' HOUR TO MINUTE` counts to the east, as numbers
/// do.
fn zone(words: &mut Words<'_>) -> Result<String> {
    if !words.take("interval") {
        return value(words);
    }
    let Token::SingleQuotedString(text) = words.peek() else { return Err(words.syntax()) };
    let written = text;
    words.skip();
    let unit = if words.take("hour") {
        if words.take("to") {
            words.expect("minute")?;
        }
        // A bare number counts what the unit says.
        if written.trim().parse::<f64>().is_ok() { " hour" } else { "" }
    } else if words.at_end() {
        ""
    } else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "time zone interval must be HOUR or HOUR TO MINUTE"));
    };
    let invalid = || {
        Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{written}'\""),
        )
    };
    let interval = type_by_oid(oid::INTERVAL).ok_or_else(invalid)?;
    let offset = match parse_text(interval, &format!("{written}{unit}"), &TextStyle::default())? {
        SqlValue::Interval(offset) => offset,
        _ => return Err(invalid()),
    };
    if offset.months != 0 {
        return Err(invalid().with_detail("Cannot specify months in time zone interval."));
    }
    if offset.days != 0 {
        return Err(invalid().with_detail("Cannot specify days in time zone interval."));
    }
    let seconds = offset.micros / 1_000_000;
    match i32::try_from(seconds) {
        Ok(seconds) if seconds.abs() < ZONE_SECONDS_MAX => Ok(Zone::fixed(seconds).to_string()),
        _ => Err(invalid()),
    }
}

fn reset(words: &mut Words<'_>) -> Result<Command> {
    Ok(if words.take("all") {
        Command::Reset(None)
    } else if words.take_all(&["time", "zone"]) {
        Command::Reset(Some("timezone".to_owned()))
    } else if words.take_all(&["session", "authorization"]) {
        Command::Reset(Some("session_authorization".to_owned()))
    } else if words.take_all(&["transaction", "isolation", "level"]) {
        Command::Reset(Some("transaction_isolation".to_owned()))
    } else {
        Command::Reset(Some(setting_name(words)?))
    })
}

/// `SHOW TABLES` and `SHOW COLUMNS` are the SQL parser's.
fn show(words: &mut Words<'_>) -> Result<Option<Command>> {
    let mut ahead = words.clone();
    ahead.skip();
    if ["tables", "columns", "full", "extended", "catalogs", "schemas", "databases", "functions"]
        .iter()
        .any(|word| ahead.is(word))
    {
        return Ok(None);
    }
    words.skip();
    Ok(Some(if words.take("all") {
        Command::ShowAll
    } else if words.take_all(&["time", "zone"]) {
        Command::Show("timezone".to_owned())
    } else if words.take_all(&["session", "authorization"]) {
        Command::Show("session_authorization".to_owned())
    } else if words.take_all(&["transaction", "isolation", "level"]) {
        Command::Show("transaction_isolation".to_owned())
    } else if words.take("names") {
        Command::Show("client_encoding".to_owned())
    } else {
        Command::Show(setting_name(words)?)
    }))
}

fn discard(words: &mut Words<'_>) -> Result<Command> {
    Ok(Command::Discard(if words.take("all") {
        Discard::All
    } else if words.take("plans") {
        Discard::Plans
    } else if words.take("temp") || words.take("temporary") {
        Discard::Temporary
    } else if words.take("sequences") {
        Discard::Sequences
    } else {
        return Err(words.syntax());
    }))
}

fn prepare(words: &mut Words<'_>) -> Result<Command> {
    let name = words.name()?;
    let mut types = Vec::new();
    if words.take_token(&Token::LParen) {
        loop {
            types.push(type_name(words)?);
            if words.take_token(&Token::RParen) {
                break;
            }
            if !words.take_token(&Token::Comma) {
                return Err(words.syntax());
            }
        }
    }
    words.expect("as")?;
    let statement = Arc::new(statement_of(words)?);
    Ok(Command::Prepare { name, types, statement })
}

/// The words of a type up to a comma or the closing parenthesis: `timestamp with time zone`,
/// `varchar(10)`, `int[]`.
fn type_name(words: &mut Words<'_>) -> Result<String> {
    let mut name = String::new();
    loop {
        match words.peek() {
            Token::Word(word) => {
                if !name.is_empty() && !name.ends_with('.') {
                    name.push(' ');
                }
                name.push_str(&word.value.to_ascii_lowercase());
            }
            Token::Period => name.push('.'),
            Token::LBracket => name.push_str("[]"),
            Token::RBracket => {}
            Token::LParen => {
                // Lengths and scales do not matter to a parameter.
                while !matches!(words.peek(), Token::RParen | Token::EOF) {
                    words.skip();
                }
            }
            Token::Comma | Token::RParen if !name.is_empty() => return Ok(name),
            _ => return Err(words.syntax()),
        }
        words.skip();
    }
}

fn arguments(words: &mut Words<'_>) -> Result<Vec<Expr>> {
    if words.at_end() {
        return Ok(Vec::new());
    }
    if !matches!(words.peek(), Token::LParen) {
        return Err(words.syntax());
    }
    expressions(words)
}

fn declare(words: &mut Words<'_>) -> Result<Command> {
    let name = words.name()?;
    let (mut scroll, mut no_scroll) = (false, false);
    loop {
        if words.take("binary") {
            return Err(words.unsupported("DECLARE BINARY"));
        } else if words.take_all(&["no", "scroll"]) {
            no_scroll = true;
        } else if words.take("scroll") {
            scroll = true;
        } else if !words.take("insensitive") && !words.take("asensitive") {
            break;
        }
    }
    if scroll && no_scroll {
        return Err(Error::new(SqlState::INVALID_CURSOR_DEFINITION, "cannot specify both SCROLL and NO SCROLL"));
    }
    words.expect("cursor")?;
    let hold = words.take_all(&["with", "hold"]);
    if !hold {
        words.take_all(&["without", "hold"]);
    }
    words.expect("for")?;
    let statement = Arc::new(statement_of(words)?);
    if !statement.is_query() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "DECLARE CURSOR takes a query"));
    }
    if let Request::Query(query) = &statement.request
        && let Some(locks) = RowLocks::of(query)?
        && (hold || scroll)
    {
        let kind = if hold { "CURSOR WITH HOLD" } else { "SCROLL CURSOR" };
        let message = format!("DECLARE {kind} ... {} is not supported", locks.words);
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(Command::Declare { name, hold, scroll, statement })
}

fn fetch(words: &mut Words<'_>, rows: bool) -> Result<Command> {
    let direction = direction(words)?;
    let _ = words.take("from") || words.take("in");
    Ok(Command::Fetch { cursor: words.name()?, direction, rows })
}

fn direction(words: &mut Words<'_>) -> Result<Direction> {
    let count = |number: Option<i64>| match number {
        Some(number) if number < 0 => Direction::Backward(Some(number.unsigned_abs())),
        number => Direction::Forward(Some(number.unwrap_or(1).unsigned_abs())),
    };
    let needed = |words: &mut Words<'_>| match words.integer()? {
        Some(number) => Ok(number),
        None => Err(words.syntax()),
    };
    Ok(if words.take("next") {
        Direction::Forward(Some(1))
    } else if words.take("prior") {
        Direction::Backward(Some(1))
    } else if words.take("first") {
        Direction::Absolute(1)
    } else if words.take("last") {
        Direction::Absolute(-1)
    } else if words.take("absolute") {
        Direction::Absolute(needed(words)?)
    } else if words.take("relative") {
        Direction::Relative(needed(words)?)
    } else if words.take("forward") {
        if words.take("all") { Direction::Forward(None) } else { count(words.integer()?) }
    } else if words.take("backward") {
        if words.take("all") {
            Direction::Backward(None)
        } else {
            match words.integer()? {
                Some(number) if number < 0 => Direction::Forward(Some(number.unsigned_abs())),
                number => Direction::Backward(Some(number.unwrap_or(1).unsigned_abs())),
            }
        }
    } else if words.take("all") {
        Direction::Forward(None)
    } else {
        count(words.integer()?)
    })
}
