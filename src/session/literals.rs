//! Statements that differ in their texts only: `... WHERE "PartitionKey" = 'a'` and `... = 'b'`.
//!
//! Clients of the simple protocol write values into the statement, so that no two are the same and none is found among the planned ones.
//! Where a statement is a read of few keys, its text literals can be parameters of type text and mean the same, since keys are texts; for
//! any other statement that is not known, and it is left alone.

use std::sync::Arc;

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use quick_cache::sync::Cache;

use super::error::{Error, ErrorKind, Result};
use super::prepared::Prepared;
use super::session::Session;
use super::statement::parse;
use crate::sql_types::{PostgresType, SqlValue, oid, type_by_oid};

/// Longer statements are no reads of few keys.
const TEXT_BYTES_MAX: usize = 2 << 10;
const LITERALS_MAX: usize = 4;
/// Forms of statements that are remembered as no reads of few keys.
const OTHERS_MAX: usize = 4096;

/// Forms of statements that are no reads of few keys.
#[derive(Debug)]
pub struct OtherForms(Cache<Box<str>, ()>);

impl OtherForms {
    pub fn new() -> Self {
        Self(Cache::new(OTHERS_MAX))
    }
}

/// A statement with parameters in place of its text literals, and these.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    text: String,
    literals: Vec<String>,
}

impl Form {
    /// `None` if it is no SELECT with literals, or has parameters already.
    fn of(text: &str) -> Option<Self> {
        let begins = text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"));
        if text.len() > TEXT_BYTES_MAX || !begins {
            return None;
        }
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
        let mut form = Self { text: String::with_capacity(text.len()), literals: Vec::new() };
        let mut word_before = false;
        for token in tokens {
            match &token {
                // `date '2020-01-01'` is one thing.
                Token::SingleQuotedString(_) if word_before => return None,
                Token::SingleQuotedString(literal) => {
                    form.literals.push(literal.clone());
                    form.text.push_str(&format!("${}", form.literals.len()));
                }
                Token::Placeholder(_) | Token::SemiColon => return None,
                Token::Whitespace(_) => {
                    form.text.push(' ');
                    continue;
                }
                token => form.text.push_str(&token.to_string()),
            }
            word_before =
                matches!(&token, Token::Word(word) if !matches!(word.keyword, Keyword::AND | Keyword::BETWEEN));
        }
        (1..=LITERALS_MAX).contains(&form.literals.len()).then_some(form)
    }
}

impl Session {
    /// The read of few keys that a statement is, with the values of its parameters, as it or one like it was planned before. `None` if it
    /// is something else.
    pub async fn key_read_of(&mut self, text: &str) -> Option<(Arc<Prepared>, Vec<SqlValue>)> {
        let form = Form::of(text)?;
        let others = Arc::clone(self.planner().other_forms());
        if others.0.get(form.text.as_str()).is_some() {
            return None;
        }
        let text_type: Option<&'static PostgresType> = type_by_oid(oid::TEXT);
        let types = vec![text_type; form.literals.len()];
        let prepared = match self.prepared_before(&form.text, &types) {
            Some(prepared) => Arc::new(prepared),
            None => match self.prepare_form(&form.text, &types).await {
                Ok(prepared) => prepared,
                // What is wrong with it is told of the statement itself.
                Err(_) => {
                    others.0.insert(form.text.into(), ());
                    return None;
                }
            },
        };
        Some((prepared, form.literals.into_iter().map(SqlValue::Text).collect()))
    }

    async fn prepare_form(&mut self, text: &str, types: &[Option<&'static PostgresType>]) -> Result<Arc<Prepared>> {
        let prepared = Arc::new(Box::pin(self.prepare(Arc::new(parse(text)?), types)).await?);
        if !prepared.is_key_read() {
            return Err(Error::new(ErrorKind::Unsupported, "no read of few keys"));
        }
        self.keep_plan(text, types, &prepared);
        Ok(prepared)
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    fn form(text: &str) -> Option<(String, Vec<String>)> {
        Form::of(text).map(|form| (form.text, form.literals))
    }

    #[test]
    fn literals_become_parameters_and_nothing_else_changes() {
        let (text, literals) = form(
            "select \"A\", b FROM t -- 'no'\n WHERE \"PartitionKey\" = 'it''s' AND (\"RowKey\">='$1' or x <> 1.50)",
        )
        .expect("a form");
        let wanted = "select \"A\", b FROM t  WHERE \"PartitionKey\" = $1 AND (\"RowKey\">=$2 or x <> 1.50)";
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), wanted.split_whitespace().collect::<Vec<_>>());
        assert_eq!(literals, ["it's", "$1"]);
        let between = form("SELECT * FROM t WHERE k BETWEEN 'a' AND 'b'").expect("a form");
        assert_eq!(between.1, ["a", "b"]);
    }

    #[test]
    fn what_is_no_select_of_literals_has_no_form() {
        for text in [
            "SELECT 1",
            "SELECT $1, 'a'",
            "INSERT INTO t VALUES ('a')",
            "SELECT date '2020-01-01'",
            "SELECT 'a'; SELECT 'b'",
            "SELECT 'unfinished",
            "",
            "SELECT 'a','b','c','d','e'",
        ] {
            assert_eq!(form(text), None, "{text}");
        }
    }
}
