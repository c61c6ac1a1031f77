//! Statements that differ in their literals only: `... WHERE "PartitionKey" = 'a'` and `... = 'b'`.
//!
//! Clients of the simple protocol write values into the statement, so that no two are the same and
//! none is found among the planned ones. Where a statement is a read or a write of few keys, its
//! literals can be parameters and mean the same. Keys are texts, so that those of reads are of type
//! text; those that are assigned are read as the columns take them, by the very rules for literals.
//! For any other statement that is not known, and it is left alone.

use std::sync::Arc;

use crate::compiler::{Forms, Prepared};
use crate::planner::PlanningSettings;
use crate::session::session::Session;
use crate::session::transaction::TransactionStatus;
use rowkey_base::SqlState;
use rowkey_postgres::syntax::{Literal, LiteralForm, LiteralFormKind, parse};
use rowkey_postgres::types::{PostgresType, SqlValue, oid, type_by_oid};

/// What a statement with parameters in place of its literals will always be told.
const IS_NEVER_RIGHT: [SqlState; 4] = [
    SqlState::SYNTAX_ERROR,
    SqlState::DATATYPE_MISMATCH,
    SqlState::UNDEFINED_FUNCTION,
    SqlState::FEATURE_NOT_SUPPORTED,
];

/// A statement of few keys, with the values of its parameters.
#[derive(Debug)]
pub enum OfFewKeys {
    Read(Arc<Prepared>, Vec<SqlValue>),
    Write(Arc<Prepared>, Vec<Literal>),
}

impl Session {
    /// The read or write of few keys that a statement is, as it or one like it was prepared before.
    /// `None` if it is something else.
    pub async fn of_few_keys(&mut self, text: &str) -> Option<OfFewKeys> {
        // Whatever it is, it fails: in the way that it is parsed.
        if self.status() == TransactionStatus::Failed {
            return None;
        }
        let form = LiteralForm::of(text)?;
        let forms = Arc::clone(self.compiler().forms());
        if forms.others.get(form.text.as_str()).is_some() {
            return None;
        }
        let found = match form.kind {
            LiteralFormKind::Read => self.key_read(form).await,
            LiteralFormKind::Write => self.key_write(&forms, form).await,
        };
        match found {
            Ok(found) => Some(found),
            Err(NotOfFewKeys { form, for_good }) => {
                if for_good {
                    forms.others.insert(form.into(), ());
                }
                None
            }
        }
    }

    async fn key_read(&mut self, form: LiteralForm) -> std::result::Result<OfFewKeys, NotOfFewKeys> {
        let text_type: Option<&'static PostgresType> = type_by_oid(oid::TEXT);
        let types = vec![text_type; form.literals.len()];
        let prepared = match self.prepared_before(&form.text, &types) {
            Some(prepared) => Arc::new(prepared),
            None => {
                let prepared = self.prepare_form(&form, &types, Prepared::is_key_read).await?;
                self.keep_plan(&form.text, &types, &prepared);
                prepared
            }
        };
        let text = |literal| match literal {
            Literal::Text(text) => text,
            Literal::Number { digits, .. } => digits,
        };
        Ok(OfFewKeys::Read(prepared, form.literals.into_iter().map(|literal| SqlValue::Text(text(literal))).collect()))
    }

    async fn key_write(&mut self, forms: &Forms, form: LiteralForm) -> std::result::Result<OfFewKeys, NotOfFewKeys> {
        // A value that does not fit is told before that.
        if self.settings().limits().is_read_only {
            return Err(NotOfFewKeys { form: form.text, for_good: false });
        }
        let key = (Box::from(form.text.as_str()), PlanningSettings::of(self.settings()));
        if let Some(prepared) = forms.writes.get(&key)
            && self.is_as_prepared(&prepared)
        {
            return Ok(OfFewKeys::Write(prepared, form.literals));
        }
        let prepared = self.prepare_form(&form, &[], Prepared::is_key_write).await?;
        forms.writes.insert(key, Arc::clone(&prepared));
        Ok(OfFewKeys::Write(prepared, form.literals))
    }

    async fn prepare_form(
        &mut self,
        form: &LiteralForm,
        types: &[Option<&'static PostgresType>],
        is_wanted: impl Fn(&Prepared) -> bool,
    ) -> std::result::Result<Arc<Prepared>, NotOfFewKeys> {
        let not = |for_good| NotOfFewKeys { form: form.text.clone(), for_good };
        let prepared = match parse(&form.text) {
            Ok(statement) => Box::pin(self.prepare(Arc::new(statement), types)).await,
            Err(error) => Err(error),
        };
        match prepared {
            Ok(prepared) if is_wanted(&prepared) => Ok(Arc::new(prepared)),
            Ok(_) => Err(not(true)),
            // What is wrong with it is told of the statement itself, and may be right some day.
            Err(error) => Err(not(IS_NEVER_RIGHT.contains(&error.sqlstate()))),
        }
    }
}

/// A form that is no read or write of few keys: for good, or as things are.
struct NotOfFewKeys {
    form: String,
    for_good: bool,
}
