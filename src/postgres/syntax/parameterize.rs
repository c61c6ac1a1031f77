//! Simple parameterization, as SQL Server calls it: parameters in place of the literals of a
//! statement, so that statements that differ in their literals only are prepared once.
//!
//! Clients of the simple protocol write values into the text. This works on tokens, to be cheaper
//! than a parse; what the statement means, and whether it means the same with parameters, is for
//! the caller to know.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Longer queries are not worth it: with one, more time is spent elsewhere.
const QUERY_BYTES_MAX: usize = 2 << 10;
const QUERY_LITERALS_MAX: usize = 4;
/// The same for statements that write.
const WRITE_BYTES_MAX: usize = 16 << 10;
const WRITE_LITERALS_MAX: usize = 64;

/// A value as it is written into a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// Without its quotes.
    Text(String),
    Number {
        digits: String,
        negative: bool,
    },
}

impl Literal {
    /// Its text, or its digits.
    pub fn text(&self) -> &str {
        match self {
            Literal::Text(text) => text,
            Literal::Number { digits, .. } => digits,
        }
    }
}

/// A statement with parameters in place of its literals, and these. Of a SELECT they are its texts;
/// of INSERT, UPDATE and DELETE, numbers too where they are all that is assigned.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameterized {
    /// Whether it is a SELECT.
    pub is_query: bool,
    pub text: String,
    pub literals: Vec<Literal>,
}

impl Parameterized {
    /// `None` for another statement, one without literals, one that has parameters already, and
    /// texts where literals cannot be told from their surroundings.
    pub fn of(text: &str) -> Option<Self> {
        let is_query = begins_as_query(text)?;
        let (bytes_max, literals_max) = match is_query {
            true => (QUERY_BYTES_MAX, QUERY_LITERALS_MAX),
            false => (WRITE_BYTES_MAX, WRITE_LITERALS_MAX),
        };
        if text.len() > bytes_max {
            return None;
        }
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
        let mut parameterized = Self { is_query, text: String::with_capacity(text.len()), literals: Vec::new() };
        // Between VALUES or SET and what follows the values.
        let mut assigns = false;
        let mut before = Token::EOF;
        let mut tokens = tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
        while let Some(token) = tokens.next() {
            let begins_value = assigns && matches!(before, Token::LParen | Token::Comma | Token::Eq);
            let literal = match token {
                Token::SingleQuotedString(_) if is_other_word(&before) => return None,
                Token::SingleQuotedString(text) => Literal::Text(text),
                Token::Number(digits, false) if begins_value => Literal::Number { digits, negative: false },
                Token::Minus if begins_value && matches!(tokens.peek(), Some(Token::Number(_, false))) => {
                    let Some(Token::Number(digits, _)) = tokens.next() else { return None };
                    Literal::Number { digits, negative: true }
                }
                // The end of the only statement.
                Token::SemiColon if tokens.peek().is_none() => break,
                token => {
                    if !is_written_as_read(&token) {
                        return None;
                    }
                    if let Token::Word(word) = &token {
                        match word.keyword {
                            Keyword::VALUES | Keyword::SET => assigns = !is_query,
                            Keyword::WHERE | Keyword::ON | Keyword::RETURNING | Keyword::FROM => assigns = false,
                            _ => {}
                        }
                    }
                    parameterized.text.push_str(&token.to_string());
                    parameterized.text.push(' ');
                    before = token;
                    continue;
                }
            };
            if parameterized.literals.len() == literals_max {
                return None;
            }
            parameterized.literals.push(literal);
            parameterized.text.push_str(&format!("${} ", parameterized.literals.len()));
            before = Token::Placeholder(String::new());
        }
        (!parameterized.literals.is_empty()).then_some(parameterized)
    }
}

/// Whether the first word is SELECT; `None` if it is none of SELECT, INSERT, UPDATE and DELETE.
fn begins_as_query(text: &str) -> Option<bool> {
    let first = text.trim_start().get(..6)?;
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    if is("select") { Some(true) } else { (is("insert") || is("update") || is("delete")).then_some(false) }
}

/// Whether a literal after the token may belong to it, as in `date '2020-01-01'`.
fn is_other_word(token: &Token) -> bool {
    matches!(token, Token::Word(word) if !matches!(word.keyword, Keyword::AND | Keyword::BETWEEN))
}

/// Whether the text of a token is tokenized as the same token again.
fn is_written_as_read(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none_or(|quote| !word.value.contains(quote)),
        Token::Number(_, long) => !long,
        Token::Comma
        | Token::LParen
        | Token::RParen
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Period
        | Token::DoubleColon
        | Token::StringConcat => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameterized(text: &str) -> Option<(String, Vec<String>)> {
        let written = |literal: Literal| match literal {
            Literal::Text(text) => text,
            Literal::Number { digits, negative } => format!("{}{digits} as a number", if negative { "-" } else { "" }),
        };
        Parameterized::of(text).map(|found| (found.text, found.literals.into_iter().map(written).collect()))
    }

    fn tokens(text: &str) -> Vec<Token> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().expect(text);
        tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).collect()
    }

    #[test]
    fn literals_become_parameters_and_nothing_else_changes() {
        for (text, wanted, literals) in [
            (
                "select \"A\", b FROM t -- 'no'\n WHERE \"PartitionKey\" = 'it''s' AND (\"RowKey\">='$1' or x <> 1.50);",
                "select \"A\", b FROM t  WHERE \"PartitionKey\" = $1 AND (\"RowKey\">=$2 or x <> 1.50)",
                vec!["it's", "$1"],
            ),
            (
                "SELECT * FROM t WHERE k BETWEEN 'a' AND 'b'",
                "SELECT * FROM t WHERE k BETWEEN $1 AND $2",
                vec!["a", "b"],
            ),
            (
                "INSERT INTO t (a, b) VALUES ('x', -1.5), (7, -'y' - 2) ON CONFLICT (a, b) DO UPDATE SET b = 3, c=t.c+4;",
                "INSERT INTO t (a, b) VALUES ($1, $2), ($3, -$4 - 2) ON CONFLICT (a, b) DO UPDATE SET b = $5, c=t.c+4",
                vec!["x", "-1.5 as a number", "7 as a number", "y", "3 as a number"],
            ),
            (
                "update t set a=-3, b = (4) where x=5 and y='6'",
                "update t set a=$1, b = ($2) where x=5 and y=$3",
                vec!["-3 as a number", "4 as a number", "6"],
            ),
            ("DELETE FROM t WHERE a = 1 AND b = ''", "DELETE FROM t WHERE a = 1 AND b = $1", vec![""]),
        ] {
            let (with_parameters, found) = parameterized(text).expect(text);
            assert_eq!(tokens(&with_parameters), tokens(wanted), "{text}");
            assert_eq!(found, literals, "{text}");
        }
    }

    #[test]
    fn a_statement_whose_literals_cannot_be_told_apart_is_left_alone() {
        for text in [
            "SELECT 1",
            "SELECT $1, 'a'",
            "INSERT INTO t VALUES ($1, 'a')",
            "INSERT INTO t VALUES (a)",
            "INSERT INTO t VALUES (E'a', 'b')",
            "INSERT INTO t VALUES ($$a$$, 'b')",
            "SELECT \"a\"\"b\" FROM t WHERE k = 'a'",
            "SELECT date '2020-01-01'",
            "SELECT 'a'; SELECT 'b'",
            "UPDATE t SET a = 1; DELETE FROM t",
            "SELECT 'unfinished",
            "WITH a AS (SELECT 'b') SELECT * FROM a",
            "",
            "SELECT 'a','b','c','d','e'",
        ] {
            assert_eq!(parameterized(text), None, "{text}");
        }
    }
}
