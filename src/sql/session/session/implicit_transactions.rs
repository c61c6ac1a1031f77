//! Implicit transactions, and the end of all transactions.

use std::sync::Arc;

use super::Session;
use crate::session::transaction::TransactionStatus;
use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::TableHold;

impl Session {
    /// Statements from here to the end of the request are one transaction, unless there is one.
    pub fn begin_implicit(&mut self) -> Result<()> {
        self.transaction.begin_implicit(&mut self.settings)
    }

    /// Whether the end of the request is the end of a transaction.
    pub fn is_implicit(&self) -> bool {
        self.transaction.is_implicit()
    }

    /// Commits what the request's statements have done together, if they are a transaction.
    pub async fn commit_implicit(&mut self) -> Result<()> {
        self.commit_implicit_holding(None).await
    }

    pub(super) async fn commit_implicit_holding(&mut self, hold: Option<&Arc<TableHold>>) -> Result<()> {
        if self.transaction.is_implicit() {
            self.commit_writes(hold).await?;
            self.transaction.end(true, &mut self.settings);
        }
        Ok(())
    }

    /// True unless a commit became a rollback.
    pub(super) async fn end_transaction(&mut self, commit: bool, chain: bool) -> Result<bool> {
        let is_block = self.transaction.status() != TransactionStatus::Idle && !self.transaction.is_implicit();
        if !is_block {
            if chain {
                let command = if commit { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" };
                let message = format!("{command} can only be used in transaction blocks");
                return Err(Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message));
            }
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
        }
        let modes = self.transaction.modes_of_next(commit, &self.settings);
        if commit {
            self.commit_writes(None).await?;
        }
        let ended = self.transaction.end(commit, &mut self.settings);
        self.end_portals();
        if chain {
            self.transaction.begin_next(modes, &mut self.settings)?;
        }
        Ok(ended.unwrap_or(true))
    }
}
