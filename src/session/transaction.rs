//! The transaction of a session.

use super::commands::{Isolation, Modes};
use super::error::{Error, ErrorKind, Result};
use super::settings::Settings;
use super::writes::OwnChanges;
use crate::model::DateTime;
use crate::storage::Snapshot;

/// What ReadyForQuery says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

/// A transaction block, if one is open. All its statements read one snapshot, taken by the first of them; whether a statement may
/// write is looked up in the settings, which roll back with the block.
#[derive(Debug, Default)]
pub struct Transaction {
    block: Option<Block>,
}

#[derive(Debug)]
struct Block {
    snapshot: Option<Snapshot>,
    /// When its first statement ran.
    began: Option<DateTime>,
    failed: bool,
    /// Names of savepoints, the oldest first; one can be there several times. Each with its place among the writes.
    savepoints: Vec<(String, u64)>,
    own: OwnChanges,
}

impl Transaction {
    pub fn status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::InTransaction,
        }
    }

    /// A statement failed.
    pub fn fail(&mut self) {
        if let Some(block) = &mut self.block {
            block.failed = true;
        }
    }

    pub fn refuse_if_failed(&self) -> Result<()> {
        match self.status() {
            TransactionStatus::Failed => Err(Error::new(
                ErrorKind::FailedTransaction,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            _ => Ok(()),
        }
    }

    /// Begins a block; false if there is one already.
    pub fn begin(&mut self, modes: Modes, settings: &mut Settings) -> Result<bool> {
        if self.block.is_some() {
            set_modes(modes, settings)?;
            return Ok(false);
        }
        settings.save();
        self.block = Some(Block {
            snapshot: None,
            began: None,
            failed: false,
            savepoints: Vec::new(),
            own: OwnChanges::default(),
        });
        let read_only = settings.is_on("default_transaction_read_only");
        let isolation = settings.get("default_transaction_isolation").and_then(Isolation::parse);
        let deferrable = settings.is_on("default_transaction_deferrable");
        let modes = Modes {
            isolation: modes.isolation.or(isolation),
            read_only: Some(modes.read_only.unwrap_or(read_only)),
            deferrable: Some(modes.deferrable.unwrap_or(deferrable)),
        };
        set_modes(modes, settings)?;
        Ok(true)
    }

    /// Ends the block; the answer is whether its effects stay. `None` if there was no block.
    pub fn end(&mut self, commit: bool, settings: &mut Settings) -> Option<bool> {
        let block = self.block.take()?;
        let commit = commit && !block.failed;
        if !commit {
            settings.restore(0);
        }
        settings.forget(0);
        Some(commit)
    }

    pub fn savepoint(&mut self, name: String, settings: &mut Settings) -> Result<()> {
        let block = self.block_for("SAVEPOINT")?;
        block.savepoints.push((name, block.own.mark()));
        settings.save();
        Ok(())
    }

    pub fn release(&mut self, name: &str, settings: &mut Settings) -> Result<()> {
        let at = self.find(name, "RELEASE SAVEPOINT")?;
        self.block_for("RELEASE SAVEPOINT")?.savepoints.truncate(at);
        settings.forget(at + 1);
        Ok(())
    }

    /// Undoes what happened since the savepoint, which stays.
    pub fn rollback_to(&mut self, name: &str, settings: &mut Settings) -> Result<()> {
        let at = self.find(name, "ROLLBACK TO SAVEPOINT")?;
        let block = self.block_for("ROLLBACK TO SAVEPOINT")?;
        block.savepoints.truncate(at + 1);
        block.failed = false;
        if let Some((_, mark)) = block.savepoints.last() {
            block.own.roll_back(*mark);
        }
        settings.restore(at + 1);
        Ok(())
    }

    /// The snapshot of the block, which `newest` gives to the first that asks; without a block, the newest one.
    pub fn snapshot(&mut self, newest: impl FnOnce() -> Snapshot) -> Snapshot {
        match &mut self.block {
            Some(block) => block.own.seen_by(block.snapshot.get_or_insert_with(newest).clone()),
            None => newest(),
        }
    }

    /// The snapshot that the next statement would get, which this does not decide: it may be one that does not read.
    pub fn snapshot_seen(&self, newest: impl FnOnce() -> Snapshot) -> Snapshot {
        let taken = self.block.as_ref().and_then(|block| block.snapshot.clone());
        taken.unwrap_or_else(newest)
    }

    /// The time of the block, which is that of its first statement; without a block, the time now.
    pub fn now(&mut self, now: impl FnOnce() -> DateTime) -> DateTime {
        match &mut self.block {
            Some(block) => *block.began.get_or_insert_with(now),
            None => now(),
        }
    }

    /// What the block has written; None without a block.
    pub fn own(&mut self) -> Option<&mut OwnChanges> {
        self.block.as_mut().map(|block| &mut block.own)
    }

    /// Whether some statement has read already.
    pub fn has_read(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.snapshot.is_some())
    }

    fn block_for(&mut self, command: &str) -> Result<&mut Block> {
        self.block.as_mut().ok_or_else(|| {
            Error::new(ErrorKind::NoActiveTransaction, format!("{command} can only be used in transaction blocks"))
        })
    }

    fn find(&mut self, name: &str, command: &str) -> Result<usize> {
        let found = self.block_for(command)?.savepoints.iter().rposition(|(savepoint, _)| savepoint == name);
        found.ok_or_else(|| Error::new(ErrorKind::UnknownSavepoint, format!("savepoint \"{name}\" does not exist")))
    }
}

/// Modes are settings that end with the transaction.
pub fn set_modes(modes: Modes, settings: &mut Settings) -> Result<()> {
    let switch = |on: bool| if on { "on" } else { "off" };
    if let Some(isolation) = modes.isolation {
        settings.set("transaction_isolation", Some(isolation.name()), true)?;
    }
    if let Some(read_only) = modes.read_only {
        settings.set("transaction_read_only", Some(switch(read_only)), true)?;
    }
    if let Some(deferrable) = modes.deferrable {
        settings.set("transaction_deferrable", Some(switch(deferrable)), true)?;
    }
    Ok(())
}
