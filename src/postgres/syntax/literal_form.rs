//! A statement with parameters in place of its literals.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Longer statements are no reads of few keys.
const READ_BYTES_MAX: usize = 2 << 10;
const READ_LITERALS_MAX: usize = 4;
/// Longer statements that write spend their time elsewhere.
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

/// What a statement is, but for its literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralFormKind {
    Read,
    Write,
}

/// A statement with parameters in place of its literals, and these. Of a statement that reads they
/// are its texts; of one that writes, numbers too where they are all that is assigned.
#[derive(Debug, PartialEq, Eq)]
pub struct LiteralForm {
    pub kind: LiteralFormKind,
    pub text: String,
    pub literals: Vec<Literal>,
}

impl LiteralForm {
    /// `None` if it is another statement, or has none, or parameters already.
    pub fn of(text: &str) -> Option<Self> {
        let kind = kind_of(text)?;
        let (bytes_max, literals_max) = match kind {
            LiteralFormKind::Read => (READ_BYTES_MAX, READ_LITERALS_MAX),
            LiteralFormKind::Write => (WRITE_BYTES_MAX, WRITE_LITERALS_MAX),
        };
        if text.len() > bytes_max {
            return None;
        }
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
        let mut form = Self { kind, text: String::with_capacity(text.len()), literals: Vec::new() };
        // Between VALUES or SET and what follows the values.
        let mut assigns = false;
        let mut before = Token::EOF;
        let mut tokens = tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
        while let Some(token) = tokens.next() {
            let begins_value = assigns && matches!(before, Token::LParen | Token::Comma | Token::Eq);
            let literal = match token {
                // `date '2020-01-01'` is one thing.
                Token::SingleQuotedString(_) if is_other_word(&before) => return None,
                Token::SingleQuotedString(text) => Literal::Text(text),
                Token::Number(digits, false) if begins_value => Literal::Number { digits, negative: false },
                Token::Minus if begins_value && matches!(tokens.peek(), Some(Token::Number(_, false))) => {
                    let Some(Token::Number(digits, _)) = tokens.next() else { return None };
                    Literal::Number { digits, negative: true }
                }
                // At the end it says nothing.
                Token::SemiColon if tokens.peek().is_none() => break,
                token => {
                    if !is_written_as_read(&token) {
                        return None;
                    }
                    if let Token::Word(word) = &token {
                        match word.keyword {
                            Keyword::VALUES | Keyword::SET => assigns = kind == LiteralFormKind::Write,
                            Keyword::WHERE | Keyword::ON | Keyword::RETURNING | Keyword::FROM => assigns = false,
                            _ => {}
                        }
                    }
                    form.text.push_str(&token.to_string());
                    form.text.push(' ');
                    before = token;
                    continue;
                }
            };
            if form.literals.len() == literals_max {
                return None;
            }
            form.literals.push(literal);
            form.text.push_str(&format!("${} ", form.literals.len()));
            before = Token::Placeholder(String::new());
        }
        (!form.literals.is_empty()).then_some(form)
    }
}

fn kind_of(text: &str) -> Option<LiteralFormKind> {
    let first = text.trim_start().get(..6)?;
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    if is("select") {
        Some(LiteralFormKind::Read)
    } else if is("insert") || is("update") || is("delete") {
        Some(LiteralFormKind::Write)
    } else {
        None
    }
}

/// Whether a text behind it may belong to it.
fn is_other_word(token: &Token) -> bool {
    matches!(token, Token::Word(word) if !matches!(word.keyword, Keyword::AND | Keyword::BETWEEN))
}

/// Whether its text, as it is written here, is read as the same again.
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

    fn form(text: &str) -> Option<(String, Vec<String>)> {
        let written = |literal: Literal| match literal {
            Literal::Text(text) => text,
            Literal::Number { digits, negative } => format!("{}{digits} as a number", if negative { "-" } else { "" }),
        };
        LiteralForm::of(text).map(|form| (form.text, form.literals.into_iter().map(written).collect()))
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
            let (form, found) = form(text).expect(text);
            assert_eq!(tokens(&form), tokens(wanted), "{text}");
            assert_eq!(found, literals, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_from_something_else_has_no_form() {
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
            assert_eq!(form(text), None, "{text}");
        }
    }
}
