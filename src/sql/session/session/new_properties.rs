//! Statements that write, with the columns that they add.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::writing::{WRITE_ATTEMPTS_MAX, written};
use super::{Outcome, Session};
use crate::compiler::{Prepared, StatementContext};
use crate::executor::Ran;
use crate::session::commit;
use crate::session::transaction::TransactionStatus;
use rowkey_base::{Result, SqlState};
use rowkey_postgres::settings::NEW_PROPERTIES;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::{Definitions, Edit};

impl Session {
    /// Runs a statement that writes. An INSERT may add columns, if the session has set so: they are
    /// committed with its rows, or with its transaction block.
    pub(super) async fn write(
        &mut self,
        prepared: &Arc<Prepared>,
        statement: &ast::Statement,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        self.transaction.refuse_if_failed()?;
        let verb = rowkey_postgres::syntax::verb(statement).unwrap_or_default();
        self.refuse_if_read_only(verb)?;
        let is_alone = self.transaction.status() == TransactionStatus::Idle;
        let mut attempt = 1;
        while self.settings.is_on(NEW_PROPERTIES) {
            let context = self.context();
            let types: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
            let Some(edit) = self.compiler.new_properties(&context, &prepared.statement, &types).await? else {
                self.compute().drop_apart(context);
                break;
            };
            if !is_alone {
                self.compute().drop_apart(context);
                self.transaction.define(vec![edit], [])?;
                break;
            }
            match self.write_with_columns(context, edit, prepared, verb, parameters).await {
                // Another transaction was first: the statement is analyzed again.
                Err(error) if error.sqlstate() == SqlState::SERIALIZATION_FAILURE && attempt < WRITE_ATTEMPTS_MAX => {
                    attempt += 1;
                    commit::settled(self.compiler.store()).await?;
                }
                outcome => return outcome,
            }
        }
        self.write_rows(prepared, verb, parameters).await
    }

    /// Runs an INSERT over its table with more columns, and commits both.
    async fn write_with_columns(
        &mut self,
        context: StatementContext,
        edit: Edit,
        prepared: &Arc<Prepared>,
        verb: &'static str,
        parameters: &Arc<[SqlValue]>,
    ) -> Result<Outcome> {
        let base = context.snapshot.clone();
        let definitions = Definitions { edits: vec![edit], base, unwritten: BTreeSet::new() };
        let snapshot = context.snapshot.with_edits(&definitions.edits)?;
        let context = StatementContext { snapshot, ..context };
        let ran =
            self.executor.run_write(context, prepared, parameters, None, self.transaction.memory_budget()).await?;
        let Ran { count, operations, mut answer, returning, memory, .. } = ran;
        let signals = self.registration.signals();
        let committed =
            commit::commit_definitions(&self.compiler, definitions, operations, None, Some(memory), signals).await?;
        if let Some(returning) = returning {
            let timestamp = committed.timestamp;
            answer = self.executor.returning(*returning, prepared, timestamp, parameters).await?;
        }
        Ok(written(prepared, verb, count, answer))
    }
}
