//! Statements by key in simple protocol, whose values are literals in their texts.
//!
//! No two such texts are the same, and none is found among the planned ones. With parameters in
//! place of the literals ([`Parameterized`]), a statement by key means the same, and is prepared
//! once: keys are texts, so that parameters of reads are of type text; those of writes are read as
//! the columns take them, by the rules for literals. Of other statements that is not known: they
//! are run as they are written.

use std::sync::Arc;

use crate::compiler::{ParameterizedStatements, Prepared};
use crate::planner::PlanningSettings;
use crate::session::session::Session;
use crate::session::transaction::TransactionStatus;
use rowkey_base::SqlState;
use rowkey_postgres::syntax::{Literal, Parameterized, only};
use rowkey_postgres::types::{PostgresType, SqlValue, oid, type_by_oid};

/// Errors of a parameterized statement that last, whatever becomes of catalog and settings.
const LASTING_ERRORS: [SqlState; 4] = [
    SqlState::SYNTAX_ERROR,
    SqlState::DATATYPE_MISMATCH,
    SqlState::UNDEFINED_FUNCTION,
    SqlState::FEATURE_NOT_SUPPORTED,
];

/// A statement by key, with the values of its parameters.
#[derive(Debug)]
pub enum BoundKeyStatement {
    Read(Arc<Prepared>, Vec<SqlValue>),
    Write(Arc<Prepared>, Vec<Literal>),
}

/// A text that is no statement by key: for good, or as catalog and settings are now.
struct NotByKey {
    text: String,
    for_good: bool,
}

type Found<T> = std::result::Result<T, NotByKey>;

impl Session {
    /// The statement by key that a text is, prepared with parameters in place of its literals.
    /// `None` if it is none.
    pub async fn bind_key_statement(&mut self, text: &str) -> Option<BoundKeyStatement> {
        // Every statement fails, after its parse.
        if self.status() == TransactionStatus::Failed {
            return None;
        }
        let parameterized = Parameterized::of(text)?;
        let known = Arc::clone(self.compiler().parameterized());
        if known.not_by_key.get(parameterized.text.as_str()).is_some() {
            return None;
        }
        let bound = match parameterized.is_query {
            true => self.bind_key_read(parameterized).await,
            false => self.bind_key_write(&known, parameterized).await,
        };
        match bound {
            Ok(bound) => Some(bound),
            Err(NotByKey { text, for_good }) => {
                if for_good {
                    known.not_by_key.insert(text.into(), ());
                }
                None
            }
        }
    }

    async fn bind_key_read(&mut self, parameterized: Parameterized) -> Found<BoundKeyStatement> {
        let text_type: Option<&'static PostgresType> = type_by_oid(oid::TEXT);
        let types = vec![text_type; parameterized.literals.len()];
        let prepared = match self.prepared_before(&parameterized.text, &types) {
            Some(prepared) => Arc::new(prepared),
            None => {
                let prepared = self.prepare_key_statement(&parameterized.text, &types).await?;
                self.keep_plan(&parameterized.text, &types, &prepared);
                prepared
            }
        };
        let value = |literal| match literal {
            Literal::Text(text) => SqlValue::Text(text),
            Literal::Number { digits, .. } => SqlValue::Text(digits),
        };
        Ok(BoundKeyStatement::Read(prepared, parameterized.literals.into_iter().map(value).collect()))
    }

    async fn bind_key_write(
        &mut self,
        known: &ParameterizedStatements,
        parameterized: Parameterized,
    ) -> Found<BoundKeyStatement> {
        let Parameterized { text, literals, .. } = parameterized;
        // PostgreSQL rejects a literal that does not fit before it refuses to write.
        if self.settings().limits().is_read_only {
            return Err(NotByKey { text, for_good: false });
        }
        let key = (Box::from(text.as_str()), PlanningSettings::of(self.settings()));
        if let Some(prepared) = known.writes.get(&key)
            && self.is_as_prepared(&prepared)
        {
            return Ok(BoundKeyStatement::Write(prepared, literals));
        }
        let prepared = self.prepare_key_statement(&text, &[]).await?;
        known.writes.insert(key, Arc::clone(&prepared));
        Ok(BoundKeyStatement::Write(prepared, literals))
    }

    async fn prepare_key_statement(
        &mut self,
        text: &str,
        types: &[Option<&'static PostgresType>],
    ) -> Found<Arc<Prepared>> {
        let prepared = match self.parse(text).await.and_then(only) {
            Ok(statement) => Box::pin(self.prepare(Arc::new(statement), types)).await,
            Err(error) => Err(error),
        };
        match prepared {
            Ok(prepared) if prepared.is_by_key() => Ok(Arc::new(prepared)),
            Ok(_) => Err(NotByKey { text: text.to_owned(), for_good: true }),
            Err(error) => Err(NotByKey { text: text.to_owned(), for_good: LASTING_ERRORS.contains(&error.sqlstate()) }),
        }
    }
}
