//! Statements that write, with the columns that they add.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::writing::WRITE_ATTEMPTS_MAX;
use super::{Outcome, Session};
use crate::compiler::Prepared;
use crate::session::commit;
use crate::session::transaction::TransactionStatus;
use rowkey_base::{Result, SqlState};
use rowkey_postgres::settings::NEW_PROPERTIES;
use rowkey_postgres::types::SqlValue;

impl Session {
    /// Runs a statement that writes. An INSERT may add columns first, if the session has set so:
    /// they are defined in the transaction block, without one in an implicit one that ends with the
    /// statement.
    pub(super) async fn write(
        &mut self,
        prepared: &Arc<Prepared>,
        written: &ast::Statement,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        self.transaction.refuse_if_failed()?;
        let verb = rowkey_postgres::syntax::verb(written).unwrap_or_default();
        self.refuse_if_read_only(verb)?;
        let is_alone = self.transaction.status() == TransactionStatus::Idle;
        let mut attempt = 1;
        loop {
            let outcome = match self.define_new_properties(prepared).await {
                Ok(()) => self.write_rows(prepared, verb, parameters).await,
                Err(error) => Err(error),
            };
            if !is_alone || self.transaction.status() == TransactionStatus::Idle {
                return outcome;
            }
            let committed = match outcome {
                Ok(outcome) => self.commit_implicit().await.map(|()| outcome),
                Err(error) => Err(error),
            };
            match committed {
                Ok(outcome) => return Ok(outcome),
                Err(error) => {
                    self.transaction.end(false, &mut self.settings);
                    // Another transaction was first: the statement is analyzed again.
                    if error.sqlstate() != SqlState::SERIALIZATION_FAILURE || attempt == WRITE_ATTEMPTS_MAX {
                        return Err(error);
                    }
                    attempt += 1;
                    commit::settled(self.compiler.store()).await?;
                }
            }
        }
    }

    /// Adds the columns that an INSERT names and its table does not have to the block, of which one
    /// is begun where there is none.
    async fn define_new_properties(&mut self, prepared: &Arc<Prepared>) -> Result<()> {
        if !self.settings.is_on(NEW_PROPERTIES) {
            return Ok(());
        }
        let types: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
        loop {
            let context = self.context();
            let edit = self.compiler.new_properties(&context, &prepared.statement, &types).await?;
            // It may be the last one that reads an older snapshot.
            self.compute().drop_apart(context);
            let Some(edit) = edit else { return Ok(()) };
            if self.transaction.status() == TransactionStatus::Idle {
                // The block has its own snapshot, for which the edit is made again.
                self.transaction.begin_implicit(&mut self.settings)?;
                continue;
            }
            return self.transaction.define(vec![edit], []);
        }
    }
}
