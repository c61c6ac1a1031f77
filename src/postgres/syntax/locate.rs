//! Positions of DataFusion's errors, which have none: of the literal that the message quotes, or
//! the operator or column that it names, if the statement has only one such.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::aggregates::is_aggregate;
use super::statement::Statement;
use rowkey_base::{Error, SqlState};

/// An error from planning a statement, with its position if that can be found.
pub fn located(error: Error, statement: &Statement) -> Error {
    if error.position().is_some() {
        return error;
    }
    let message = error.to_string();
    let wanted = match error.sqlstate() {
        SqlState::INVALID_TEXT_REPRESENTATION
        | SqlState::INVALID_DATETIME_FORMAT
        | SqlState::DATETIME_FIELD_OVERFLOW
        | SqlState::NUMERIC_VALUE_OUT_OF_RANGE => quoted(&message).map(|text| Wanted::Literal(text.to_owned())),
        SqlState::UNDEFINED_FUNCTION => {
            message.strip_prefix("operator does not exist: ").and_then(operator).map(Wanted::Operator)
        }
        SqlState::GROUPING_ERROR => {
            message.contains(" must appear in the GROUP BY").then(|| quoted(&message)).flatten().map(|name| {
                let name = name.rsplit('.').next().unwrap_or(name);
                Wanted::Column(name.trim_matches('"').to_lowercase())
            })
        }
        SqlState::UNDEFINED_OBJECT if message.starts_with("collation ") => Some(Wanted::Operator("COLLATE".to_owned())),
        SqlState::INDETERMINATE_DATATYPE if message.ends_with(" empty array") => Some(Wanted::EmptyArray),
        SqlState::SYNTAX_ERROR if message.starts_with("subquery has too ") => Some(Wanted::Operator("IN".to_owned())),
        _ => None,
    };
    let (Some(wanted), Ok(tokens)) =
        (wanted, Tokenizer::new(&PostgreSqlDialect {}, statement.text()).tokenize_with_location())
    else {
        return error;
    };
    // Positions count in the whole text, of which the statement may be a part.
    let before = statement.source.slice(0, statement.from).chars().count();
    let own = super::source::Source::new(statement.text());
    match find(&wanted, &tokens) {
        Some(token) => error.at(before + own.position(token.span.start)),
        None => error,
    }
}

enum Wanted {
    Literal(String),
    Operator(String),
    Column(String),
    EmptyArray,
}

fn find<'t>(wanted: &Wanted, tokens: &'t [TokenWithSpan]) -> Option<&'t TokenWithSpan> {
    match wanted {
        Wanted::Literal(text) => only(tokens.iter().filter(|token| match &token.token {
            Token::SingleQuotedString(literal) | Token::EscapedStringLiteral(literal) => literal == text,
            Token::Number(digits, _) => digits == text,
            _ => false,
        })),
        Wanted::Operator(operator) => {
            only(tokens.iter().filter(|token| token.token.to_string().eq_ignore_ascii_case(operator)))
        }
        Wanted::EmptyArray => empty_array(tokens),
        Wanted::Column(name) => outside_aggregates(tokens)
            .find(|token| matches!(&token.token, Token::Word(word) if word.value.to_lowercase() == *name)),
    }
    .map(|token| first_of_name(token, tokens))
}

/// The first `ARRAY[]` to which no cast gives a type.
fn empty_array(tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    let words: Vec<&TokenWithSpan> =
        tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let is_array = |token: &Token| matches!(token, Token::Word(word) if word.keyword == Keyword::ARRAY);
    let is_typed = |next: Option<&&TokenWithSpan>| match next.map(|token| &token.token) {
        Some(Token::DoubleColon) => true,
        Some(Token::Word(word)) => word.keyword == Keyword::AS,
        _ => false,
    };
    let found = words.windows(3).enumerate().find(|(at, three)| {
        is_array(&three[0].token)
            && three[1].token == Token::LBracket
            && three[2].token == Token::RBracket
            && !is_typed(words.get(at + 3))
    });
    found.map(|(_, three)| three[0])
}

fn only<'t>(mut found: impl Iterator<Item = &'t TokenWithSpan>) -> Option<&'t TokenWithSpan> {
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// What stands outside the arguments of aggregates.
fn outside_aggregates(tokens: &[TokenWithSpan]) -> impl Iterator<Item = &TokenWithSpan> {
    let mut depth = 0_usize;
    let mut called = false;
    tokens.iter().filter(move |token| {
        match &token.token {
            Token::LParen if depth > 0 || called => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            _ => {}
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            called = matches!(&token.token, Token::Word(word) if is_aggregate(&word.value.to_lowercase()));
        }
        depth == 0
    })
}

/// A name with dots begins with its first part.
fn first_of_name<'t>(token: &'t TokenWithSpan, tokens: &'t [TokenWithSpan]) -> &'t TokenWithSpan {
    let mut first = token;
    let mut place = tokens.iter().position(|other| std::ptr::eq(other, token)).unwrap_or(0);
    while let Some([part, dot]) = place.checked_sub(2).and_then(|from| tokens.get(from..place))
        && dot.token == Token::Period
        && matches!(part.token, Token::Word(_))
    {
        first = part;
        place -= 2;
    }
    first
}

/// What stands between the first double quote and the last.
fn quoted(message: &str) -> Option<&str> {
    let (from, to) = (message.find('"')?, message.rfind('"')?);
    // A name of a type may follow in quotes of its own.
    let inner = message.get(from + 1..to)?;
    Some(inner.split_once("\" ").map_or(inner, |(first, _)| first))
}

/// The operator between two types.
fn operator(types: &str) -> Option<String> {
    let is_operator = |word: &&str| !word.is_empty() && word.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c));
    types.split(' ').find(is_operator).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse_all;

    #[test]
    fn what_the_message_names_is_found_in_the_text() {
        for (text, kind, message, expected) in [
            (
                "SELECT 1; SELECT 'abc'::int",
                SqlState::INVALID_TEXT_REPRESENTATION,
                "invalid input syntax for type integer: \"abc\"",
                Some(18),
            ),
            (
                "SELECT 'a'::int, 'a'",
                SqlState::INVALID_TEXT_REPRESENTATION,
                "invalid input syntax for type integer: \"a\"",
                None,
            ),
            (
                "SELECT date '2020-02-31'",
                SqlState::DATETIME_FIELD_OVERFLOW,
                "date/time field value out of range: \"2020-02-31\"",
                Some(13),
            ),
            (
                "SELECT '99999999999'::int",
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "value \"99999999999\" is out of range for type integer",
                Some(8),
            ),
            ("SELECT a + b FROM t", SqlState::UNDEFINED_FUNCTION, "operator does not exist: boolean + text", Some(10)),
            (
                "SELECT a + b, a + c FROM t",
                SqlState::UNDEFINED_FUNCTION,
                "operator does not exist: boolean + text",
                None,
            ),
            (
                "SELECT 1; SELECT ARRAY[]::int[], array [ ]",
                SqlState::INDETERMINATE_DATATYPE,
                "cannot determine type of empty array",
                Some(34),
            ),
            (
                "SELECT 'a' COLLATE \"de_DE\"",
                SqlState::UNDEFINED_OBJECT,
                "collation \"de_DE\" for encoding \"UTF8\" does not exist",
                Some(12),
            ),
            (
                "SELECT max(b), b FROM t",
                SqlState::GROUPING_ERROR,
                "column \"t.b\" must appear in the GROUP BY clause or be used in an aggregate function",
                Some(16),
            ),
            (
                "SELECT max(b), t.b FROM t",
                SqlState::GROUPING_ERROR,
                "column \"t.b\" must appear in the GROUP BY clause or be used in an aggregate function",
                Some(16),
            ),
        ] {
            let statement = parse_all(text).expect(text).pop().expect(text);
            assert_eq!(located(Error::new(kind, message), &statement).position(), expected, "{text}");
        }
    }
}
