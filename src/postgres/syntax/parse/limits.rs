//! Limits of a statement's shape: what is deep takes as much stack, and some of it takes
//! exponential time to plan.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use rowkey_base::{Error, Result, SqlState};

/// Deepest nesting of expressions that is parsed.
pub(super) const DEPTH_MAX: usize = 200;
/// Deepest nesting of CASE, whose parts are levels as well.
const CASES_MAX: usize = DEPTH_MAX - 10;
/// Most operators one behind the other outside parentheses.
pub(super) const CHAIN_MAX: usize = 2000;
/// Most INTERSECT and EXCEPT: each is planned as a join with all before it.
const SET_OPERATIONS_MAX: usize = 100;
/// Most UNION one behind the other.
const UNIONS_MAX: usize = 1000;
/// Most casts and the like on one value, one behind the other: each is a level of its own.
const POSTFIX_MAX: usize = 100;
/// Deepest nesting of calls in calls: what it costs to type some of them grows with its cube.
const CALLS_MAX: usize = 32;
/// Deepest nesting of calls that are planned as CASE, each with two copies of what is within it.
const COPYING_CALLS_MAX: usize = 10;

/// Most joins that wait for their ON, one in the other: `a JOIN b JOIN c ON .. ON ..`.
const JOINS_WAITING_MAX: usize = 10;

const QUICK_BYTES_MAX: usize = 16 << 10;
/// The parser takes twice the time for each level of calls in calls.
const QUICK_DEPTH_MAX: usize = 6;

pub(super) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("expressions are nested more than {DEPTH_MAX} deep"))
}

/// The error where the parser has read parts of a text again and again.
pub(super) fn too_many_readings() -> Error {
    let message = "the statement has too many ways to be read";
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint("nest calls and conditions less deep")
}

/// Brackets that are open.
#[derive(Default)]
struct Open {
    /// Operators since the last comma.
    chain: usize,
    /// UNIONs since then.
    unions: usize,
    /// Comparisons since the last AND, OR and the like: of those PostgreSQL takes one.
    comparisons: usize,
    /// Casts and the like since the last operator.
    postfix: usize,
    /// Joins without their ON or USING yet.
    joins: usize,
    /// Levels of calls that it stands for.
    calls: usize,
    /// Levels of calls that are planned as CASE.
    copying: usize,
}

/// Refuses what would take the planner too much of either, before anything is parsed.
pub(super) fn refuse(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut open = vec![Open::default()];
    let (mut calls, mut copying, mut cases, mut set_operations) = (0, 0, 0_usize, 0);
    let mut before = &Token::EOF;
    for token in tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_))) {
        let inner = open.len();
        let Some(innermost) = open.last_mut() else { break };
        match token {
            Token::LParen | Token::LBracket => {
                if inner > DEPTH_MAX {
                    return Err(too_deep());
                }
                let inside = Open {
                    calls: usize::from(calls_function(before)),
                    copying: usize::from(copies_arguments(before)),
                    ..Open::default()
                };
                calls += inside.calls;
                copying += inside.copying;
                if calls > CALLS_MAX {
                    return Err(nested_calls("calls", CALLS_MAX));
                }
                if copying > COPYING_CALLS_MAX {
                    return Err(nested_calls("coalesce and nullif", COPYING_CALLS_MAX));
                }
                open.push(inside);
            }
            Token::RParen | Token::RBracket if inner > 1 => {
                calls -= innermost.calls;
                copying -= innermost.copying;
                open.pop();
                // A subscript is a level as well.
                if let (Token::RBracket, Some(outer)) = (token, open.last_mut()) {
                    outer.postfix += 1;
                }
            }
            Token::Comma | Token::SemiColon => {
                *innermost = Open { calls: innermost.calls, copying: innermost.copying, ..Open::default() };
            }
            Token::DoubleColon => innermost.postfix += 1,
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::INTERSECT | Keyword::EXCEPT => {
                    set_operations += 1;
                    if set_operations > SET_OPERATIONS_MAX {
                        let message = format!("more than {SET_OPERATIONS_MAX} INTERSECT and EXCEPT in a statement");
                        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
                    }
                    (innermost.comparisons, innermost.postfix) = (0, 0);
                }
                Keyword::UNION => {
                    innermost.unions += 1;
                    (innermost.comparisons, innermost.postfix) = (0, 0);
                }
                Keyword::AND | Keyword::OR => {
                    innermost.chain += 1;
                    (innermost.comparisons, innermost.postfix) = (0, 0);
                }
                Keyword::CASE => {
                    innermost.postfix += 1;
                    cases += 1;
                    if cases + inner > CASES_MAX {
                        return Err(too_deep());
                    }
                }
                Keyword::END => cases = cases.saturating_sub(1),
                Keyword::JOIN if !is_word(before, &[Keyword::CROSS, Keyword::NATURAL]) => {
                    innermost.joins += 1;
                    if innermost.joins > JOINS_WAITING_MAX {
                        let message = format!("more than {JOINS_WAITING_MAX} joins without ON in a row");
                        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                            .with_hint("put ON behind the table that is joined"));
                    }
                }
                Keyword::ON | Keyword::USING => {
                    innermost.joins = innermost.joins.saturating_sub(1);
                    innermost.comparisons = 0;
                }
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::WHERE => innermost.comparisons = 0,
                Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR => innermost.comparisons += 1,
                Keyword::NOT | Keyword::IS | Keyword::COLLATE | Keyword::ZONE => innermost.postfix += 1,
                _ => {}
            },
            Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                innermost.comparisons += 1;
                innermost.postfix = 0;
            }
            operator if is_operator(operator) => {
                innermost.chain += 1;
                // Signs in a row are levels as well.
                innermost.postfix = if is_operator(before) { innermost.postfix + 1 } else { 0 };
            }
            _ => {}
        }
        if let Some(innermost) = open.last() {
            let operators = innermost.chain.max(innermost.comparisons);
            let counts = [(innermost.unions, UNIONS_MAX, "UNIONs"), (operators, CHAIN_MAX, "operators")];
            if let Some((_, most, what)) = counts.into_iter().find(|(count, most, _)| count > most) {
                let message = format!("more than {most} {what} in a row");
                let error = Error::new(SqlState::STATEMENT_TOO_COMPLEX, message);
                return Err(match shorter(token) {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                });
            }
            if innermost.postfix > POSTFIX_MAX {
                let message = format!("more than {POSTFIX_MAX} casts, NOTs or the like in a row");
                return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
            }
        }
        before = token;
    }
    Ok(())
}

/// Whether a token is one of some words.
pub(super) fn is_word(token: &Token, words: &[Keyword]) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && words.contains(&word.keyword))
}

/// Whether a token is an operator between two values, or before one, other than a comparison.
fn is_operator(token: &Token) -> bool {
    matches!(
        token,
        Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::Mod
            | Token::Caret
            | Token::StringConcat
            | Token::Ampersand
            | Token::Pipe
            | Token::Sharp
            | Token::ShiftLeft
            | Token::ShiftRight
            | Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk
            | Token::ExclamationMark
            | Token::DoubleExclamationMark
            | Token::Overlap
            | Token::AtSign
            | Token::CaretAt
            | Token::PGSquareRoot
            | Token::PGCubeRoot
            | Token::Arrow
            | Token::LongArrow
            | Token::HashArrow
            | Token::HashLongArrow
            | Token::HashMinus
            | Token::AtArrow
            | Token::ArrowAt
            | Token::AtQuestion
            | Token::AtAt
            | Token::Question
            | Token::QuestionAnd
            | Token::QuestionPipe
            | Token::TwoWayArrow
            | Token::CustomBinaryOperator(_)
    )
}

/// What a long chain of an operator is shorter as.
fn shorter(operator: &Token) -> Option<&'static str> {
    match operator {
        Token::Word(word) => match word.keyword {
            Keyword::OR => Some("a long OR of keys is shorter as IN ('a', 'b', ...)"),
            Keyword::AND => Some("a long AND of <> is shorter as NOT IN ('a', 'b', ...)"),
            Keyword::UNION => Some("a long UNION of constant rows is shorter as VALUES (...), (...)"),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text is parsed in less time than a way to another thread takes, more or less.
pub fn is_parsed_quickly(text: &str) -> bool {
    text.len() <= QUICK_BYTES_MAX && brackets_deep(text) <= QUICK_DEPTH_MAX
}

/// How deep brackets are nested in a text, those in literals and comments as well.
fn brackets_deep(text: &str) -> usize {
    let (mut deepest, mut open) = (0, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' => open += 1,
            b')' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn nested_calls(calls: &str, most: usize) -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, format!("{calls} are nested more than {most} deep"))
        .with_hint("compute the inner part in a subquery in FROM")
}

/// Whether a bracket behind this token begins the arguments of a call that is planned as CASE.
fn copies_arguments(before: &Token) -> bool {
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    matches!(before, Token::Word(word) if is(&word.value, "coalesce") || is(&word.value, "nullif"))
}

/// Whether a bracket behind this token holds arguments or elements, and not a list of a clause.
/// Many functions have names that are keywords of some dialect.
fn calls_function(before: &Token) -> bool {
    let Token::Word(word) = before else { return false };
    word.quote_style.is_some()
        || !matches!(
            word.keyword,
            Keyword::ALL
                | Keyword::AND
                | Keyword::ANY
                | Keyword::AS
                | Keyword::BETWEEN
                | Keyword::BY
                | Keyword::CASE
                | Keyword::CUBE
                | Keyword::DISTINCT
                | Keyword::ELSE
                | Keyword::EXCEPT
                | Keyword::EXISTS
                | Keyword::EXPLAIN
                | Keyword::FILTER
                | Keyword::FROM
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::ILIKE
                | Keyword::IN
                | Keyword::INTERSECT
                | Keyword::INTO
                | Keyword::IS
                | Keyword::JOIN
                | Keyword::LATERAL
                | Keyword::LIKE
                | Keyword::LIMIT
                | Keyword::MATERIALIZED
                | Keyword::NOT
                | Keyword::OFFSET
                | Keyword::ON
                | Keyword::ONLY
                | Keyword::OR
                | Keyword::OVER
                | Keyword::RETURNING
                | Keyword::ROLLUP
                | Keyword::SELECT
                | Keyword::SET
                | Keyword::SETS
                | Keyword::SOME
                | Keyword::THEN
                | Keyword::TO
                | Keyword::UNION
                | Keyword::USING
                | Keyword::VALUES
                | Keyword::WHEN
                | Keyword::WHERE
                | Keyword::WITH
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    fn refused(text: &str) -> String {
        parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn what_is_deep_is_refused_and_what_is_long_is_not() {
        let nested = |call: &str, depth: usize| format!("SELECT {}1{}", call.repeat(depth), ")".repeat(depth));
        for call in ["abs(", "row(", "\"f\"(", "least(", "greatest(1, ", "format('', ", "if("] {
            assert!(refused(&nested(call, CALLS_MAX + 1)).contains("nested more than 32"), "{call}");
        }
        for call in ["coalesce(", "NULLIF(1, ", "\"coalesce\"("] {
            assert!(refused(&nested(call, COPYING_CALLS_MAX + 1)).contains("nested more than 10"), "{call}");
            assert!(parse(&nested(call, COPYING_CALLS_MAX)).is_ok(), "{call}");
        }
        assert!(parse(&nested("abs(", CALLS_MAX)).is_ok());
        assert!(parse(&nested("(", 40)).is_ok());
        assert!(refused(&nested("(", 300)).contains("200 deep"));
        for chain in ["::int", " at time zone 'UTC'", " is null"] {
            assert!(refused(&format!("SELECT now(){}", chain.repeat(101))).contains("in a row"), "{chain}");
        }
        assert!(refused(&format!("SELECT {}true", "not ".repeat(20_000))).contains("in a row"));
        assert!(refused(&format!("SELECT {}1", "- ".repeat(20_000))).contains("in a row"));
        let wide = vec!["abs(x::int) + y::int"; 1_500].join(", ");
        assert!(parse(&format!("SELECT {wide}")).is_ok());
        let sum = vec!["a::int"; 1_500].join(" + ");
        assert!(parse(&format!("SELECT {sum}")).is_ok());
    }

    #[test]
    fn chains_of_every_operator_are_limited() {
        for operator in ["|", "&", "#", "<<", ">>", "^@", "->", "#>", "@>", "~", "?", "<->", "^", "||", "=", "like"] {
            let chain = vec!["a"; 20_000].join(&format!(" {operator} "));
            let error = parse(&format!("SELECT {chain}")).expect_err(operator);
            assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX, "{operator}");
            assert_eq!(error.to_string(), "more than 2000 operators in a row", "{operator}");
        }
        for prefix in ["~ ", "@ ", "|/ "] {
            assert!(refused(&format!("SELECT {}1", prefix.repeat(102))).contains("in a row"), "{prefix}");
        }
        for between in [" OR ", " AND "] {
            assert!(parse(&format!("SELECT {}", vec!["a::int = 1"; 1_900].join(between))).is_ok());
        }
        let branches = "WHEN a = 1 THEN 2 ".repeat(2_500);
        assert!(parse(&format!("SELECT CASE {branches} END")).is_ok());
        let casts = vec!["a::int8"; 500].join(" >> ");
        assert!(parse(&format!("SELECT {casts}")).is_ok());
    }

    /// The parser reads the arguments of an ordinary call once.
    #[test]
    fn nested_calls_are_parsed_in_linear_time() {
        let begun = std::time::Instant::now();
        for call in ["least(", "abs(", "f(1, "] {
            let text = format!("SELECT {}1{}", call.repeat(CALLS_MAX), ")".repeat(CALLS_MAX));
            for _ in 0..50 {
                assert!(parse(&text).is_ok(), "{call}");
            }
        }
        // It was 0.1 s for each of them.
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    /// Where an expression is wrong, the parser tries its first word as the name of a function.
    #[test]
    fn what_is_wrong_is_not_read_again_and_again() {
        let nested = |before: &str, inner: &str, after: &str, depth: usize| {
            format!("SELECT {}{inner}{}", before.repeat(depth), after.repeat(depth))
        };
        for (before, inner, after, depth, state) in [
            ("not (", "'x' 1", ")", 45, SqlState::SYNTAX_ERROR),
            ("not (", "true", ")", 110, SqlState::STATEMENT_TOO_COMPLEX),
            ("case when true then ", "1 1 1", " end", 45, SqlState::SYNTAX_ERROR),
            ("cast(", "'x' 1", " as text)", 16, SqlState::SYNTAX_ERROR),
            ("array[", "'x' 1", "]", 16, SqlState::SYNTAX_ERROR),
        ] {
            let error = parse(&nested(before, inner, after, depth)).expect_err(before);
            assert_eq!(error.sqlstate(), state, "{before}: {error}");
        }
        for (before, after) in [("ceil(", ")"), ("substring(", ")"), ("overlay(", ")"), ("extract(", ")")] {
            let error = parse(&nested(before, "'x' 1", after, 16)).expect_err(before);
            let states = [SqlState::SYNTAX_ERROR, SqlState::STATEMENT_TOO_COMPLEX];
            assert!(states.contains(&error.sqlstate()), "{before}: {error}");
        }
        assert!(parse(&nested("not (", "true", ")", 90)).is_ok());
        assert!(parse("SELECT floor, ceil, position, extract, overlay FROM t").is_ok());
    }

    #[test]
    fn set_operations_are_counted() {
        let chain = |count: usize, between: &str| format!("SELECT {}", vec!["1"; count].join(between));
        for between in [" INTERSECT SELECT ", " EXCEPT ALL SELECT ", " EXCEPT (SELECT 2) INTERSECT SELECT "] {
            assert!(refused(&chain(102, between)).contains("more than 100 INTERSECT and EXCEPT"), "{between}");
        }
        assert!(parse(&chain(100, " INTERSECT SELECT ")).is_ok());
        assert!(refused(&chain(1_002, " UNION SELECT ")).contains("more than 1000 UNIONs in a row"));
        assert!(parse(&chain(1_000, " UNION SELECT ")).is_ok());
    }

    #[test]
    fn brackets_are_counted() {
        assert_eq!(["1", "(1)", "((1) + a[2])", ")(", "f(g(h()))"].map(brackets_deep), [0, 1, 2, 1, 3]);
    }

    #[test]
    fn hints_are_about_the_operator() {
        for (member, between, hint) in [
            ("a = 1", " OR ", Some("IN (")),
            ("a <> 1", " AND ", Some("NOT IN (")),
            ("1", " UNION ALL SELECT ", Some("VALUES")),
            ("1", " + ", None),
        ] {
            let text = format!("SELECT {}", vec![member; 2_002].join(between));
            let error = parse(&text).expect_err("refused");
            assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX);
            match hint {
                Some(hint) => assert!(error.hint().is_some_and(|given| given.contains(hint)), "{between}"),
                None => assert_eq!(error.hint(), None),
            }
        }
    }
}
