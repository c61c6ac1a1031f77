//! The transaction of a session.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryPool;

use crate::compute::ComputeRuntime;
use crate::writes::{MemoryBudget, SharedWriteSet, UndoneWrites, WriteMemory, WriteSetMark};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::DateTime;
use rowkey_postgres::settings::{READ_ONLY, Settings, definition};
use rowkey_postgres::syntax::{Isolation, Modes};
use rowkey_storage::{Definitions, Edit, Snapshot};

/// What ReadyForQuery says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

/// A transaction block, if one is open. All its statements read one snapshot, taken by the first of
/// them; whether a statement may write is looked up in the settings, which roll back with the
/// block.
#[derive(Debug)]
pub(super) struct Transaction {
    block: Option<Block>,
    compute: Arc<ComputeRuntime>,
    memory_pool: Arc<dyn MemoryPool>,
}

/// A write set of more bytes is not dropped on the thread that ends its block.
const DROPPED_HERE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug)]
struct Block {
    /// Its modes before BEGIN or SET said otherwise.
    began_with: Modes,
    snapshot: Option<Snapshot>,
    /// When its first statement ran.
    began: Option<DateTime>,
    failed: bool,
    /// Begun for statements that were sent together, not by BEGIN.
    is_implicit: bool,
    /// The oldest first; several can have one name.
    savepoints: Vec<Savepoint>,
    write_set: SharedWriteSet,
    definitions: Vec<Edit>,
    /// The snapshot with the definitions.
    defined: Option<Snapshot>,
    /// Tables to which no other transaction may write until the block is committed.
    unwritten: BTreeSet<u64>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    write_set: WriteSetMark,
    definitions: usize,
    defined: Option<Snapshot>,
    unwritten: BTreeSet<u64>,
    /// How many cursors the session had declared.
    cursors: u64,
}

impl Transaction {
    /// Without a block.
    pub(super) fn new(compute: Arc<ComputeRuntime>, memory_pool: &Arc<dyn MemoryPool>) -> Self {
        Self { block: None, compute, memory_pool: Arc::clone(memory_pool) }
    }

    pub(super) fn status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::InTransaction,
        }
    }

    /// Fails the block after an error: an explicit one waits for its end, an implicit one is over.
    pub(super) fn fail(&mut self, settings: &mut Settings) {
        match &mut self.block {
            Some(block) if block.is_implicit => {
                self.end(false, settings);
            }
            Some(block) => block.failed = true,
            None => {}
        }
    }

    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        match self.status() {
            TransactionStatus::Failed => Err(Error::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            _ => Ok(()),
        }
    }

    /// Begins a block, or sets the modes of the one there is. An implicit one becomes explicit.
    pub(super) fn begin(&mut self, modes: Modes, settings: &mut Settings) -> Result<()> {
        if self.block.is_some() {
            self.set_modes(modes, settings)?;
            self.block.iter_mut().for_each(|block| block.is_implicit = false);
            return Ok(());
        }
        settings.begin();
        self.block = Some(Block {
            began_with: modes_of(|name| settings.get(name)),
            snapshot: None,
            began: None,
            failed: false,
            is_implicit: false,
            savepoints: Vec::new(),
            write_set: SharedWriteSet::new(WriteMemory::of(&self.memory_pool)),
            definitions: Vec::new(),
            defined: None,
            unwritten: BTreeSet::new(),
        });
        self.set_modes(modes, settings)
    }

    /// The modes of the block that begins when this one ends AND CHAIN. What a block has undone by
    /// then does not count (PostgreSQL's transactions within transactions are undone one by one).
    pub(super) fn modes_of_next(&self, commit: bool, settings: &Settings) -> Modes {
        match &self.block {
            Some(block) if !block.savepoints.is_empty() && (block.failed || !commit) => {
                modes_of(|name| settings.saved_mode(1, name))
            }
            Some(block) if block.failed => block.began_with,
            _ => modes_of(|name| settings.get(name)),
        }
    }

    /// Begins the block after one that has ended AND CHAIN.
    pub(super) fn begin_next(&mut self, modes: Modes, settings: &mut Settings) -> Result<()> {
        self.begin(modes, settings)?;
        self.block.iter_mut().for_each(|block| block.began_with = modes);
        Ok(())
    }

    /// Begins the block of statements that are sent together, unless there is a block.
    pub(super) fn begin_implicit(&mut self, settings: &mut Settings) -> Result<()> {
        if self.block.is_none() {
            self.begin(Modes::default(), settings)?;
            if let Some(block) = &mut self.block {
                block.is_implicit = true;
            }
        }
        Ok(())
    }

    /// Whether there is a block that ends with the request.
    pub(super) fn is_implicit(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.is_implicit)
    }

    /// Ends the block; the answer is whether its effects stay. `None` if there was no block.
    pub(super) fn end(&mut self, commit: bool, settings: &mut Settings) -> Option<bool> {
        let block = self.block.take()?;
        let commit = commit && !block.failed;
        let held_bytes = block.write_set.lock().memory_bytes();
        if held_bytes > DROPPED_HERE_BYTES_MAX {
            self.compute.drop_apart(block);
        }
        if !commit {
            settings.restore(0);
        }
        settings.forget(0);
        Some(commit)
    }

    /// Makes a savepoint; `cursors` is how many the session has declared so far.
    pub(super) fn savepoint(&mut self, name: String, cursors: u64, settings: &mut Settings) -> Result<()> {
        let block = self.block_for("SAVEPOINT")?;
        block.savepoints.push(Savepoint {
            name,
            write_set: block.write_set.lock().mark(),
            definitions: block.definitions.len(),
            defined: block.defined.clone(),
            unwritten: block.unwritten.clone(),
            cursors,
        });
        settings.save();
        Ok(())
    }

    pub(super) fn release(&mut self, name: &str, settings: &mut Settings) -> Result<()> {
        let at = self.find(name, "RELEASE SAVEPOINT")?;
        self.block_for("RELEASE SAVEPOINT")?.savepoints.truncate(at);
        settings.forget(at + 1);
        Ok(())
    }

    /// The write set of the block, and what it was at a savepoint; `None` if there is no such.
    pub(super) fn write_set_to_undo(&self, savepoint: &str) -> Option<(SharedWriteSet, WriteSetMark)> {
        let block = self.block.as_ref()?;
        let found = block.savepoints.iter().rfind(|known| known.name == savepoint)?;
        Some((block.write_set.clone(), found.write_set.clone()))
    }

    /// Undoes what happened since the savepoint, which stays; `undone` are its writes
    /// ([`Self::write_set_to_undo`]). Gives how many cursors the session
    /// had declared by then.
    pub(super) fn rollback_to(
        &mut self,
        name: &str,
        undone: Option<UndoneWrites>,
        settings: &mut Settings,
    ) -> Result<u64> {
        let at = self.find(name, "ROLLBACK TO SAVEPOINT")?;
        let (is_large, compute) = (self.held_bytes() > DROPPED_HERE_BYTES_MAX, Arc::clone(&self.compute));
        let block = self.block_for("ROLLBACK TO SAVEPOINT")?;
        block.savepoints.truncate(at + 1);
        block.failed = false;
        let mut cursors = 0;
        if let Some(savepoint) = block.savepoints.last() {
            cursors = savepoint.cursors;
            if let Some(undone) = undone {
                let before = block.write_set.lock().roll_back(&savepoint.write_set, undone);
                if is_large {
                    compute.drop_apart(before);
                }
            }
            block.definitions.truncate(savepoint.definitions);
            block.defined.clone_from(&savepoint.defined);
            block.unwritten.clone_from(&savepoint.unwritten);
        }
        settings.restore(at + 1);
        Ok(cursors)
    }

    /// The snapshot of the block, which `newest` gives to the first that asks; without a block, the
    /// newest one.
    pub(super) fn snapshot(&mut self, newest: impl FnOnce() -> Snapshot) -> Snapshot {
        match &mut self.block {
            Some(block) => {
                let taken = block.snapshot.get_or_insert_with(newest);
                block.write_set.lock().seen_by(block.defined.as_ref().unwrap_or(taken).clone())
            }
            None => newest(),
        }
    }

    /// The snapshot that the next statement would get, which this does not decide: it may be one
    /// that does not read.
    pub(super) fn snapshot_seen(&self, newest: impl FnOnce() -> Snapshot) -> Snapshot {
        let taken = self.block.as_ref().and_then(|block| block.defined.clone().or_else(|| block.snapshot.clone()));
        taken.unwrap_or_else(newest)
    }

    /// The time of the block, which is that of its first statement; without a block, the time now.
    pub(super) fn now(&mut self, now: impl FnOnce() -> DateTime) -> DateTime {
        match &mut self.block {
            Some(block) => *block.began.get_or_insert_with(now),
            None => now(),
        }
    }

    /// What the block has written; None without a block.
    pub(super) fn write_set(&self) -> Option<&SharedWriteSet> {
        self.block.as_ref().map(|block| &block.write_set)
    }

    /// About how much memory the write set takes, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.block.as_ref().map_or(0, |block| block.write_set.lock().memory_bytes())
    }

    /// What a statement may write.
    pub(super) fn memory_budget(&self) -> MemoryBudget {
        MemoryBudget::beside(self.held_bytes(), WriteMemory::of(&self.memory_pool))
    }

    /// Adds edits to the block. `unwritten` are tables of which nothing may have changed when they
    /// are committed.
    pub(super) fn define(&mut self, edits: Vec<Edit>, unwritten: impl IntoIterator<Item = u64>) -> Result<()> {
        let no_snapshot = || Error::new(SqlState::INTERNAL_ERROR, "a definition without a snapshot");
        let block = self.block_for("a definition")?;
        let seen = block.defined.as_ref().or(block.snapshot.as_ref()).ok_or_else(no_snapshot)?;
        let defined = seen.with_edits(&edits)?;
        for edit in &edits {
            match edit {
                Edit::TruncateTable { table, .. } => block.write_set.lock().truncate(*table),
                Edit::DropTable { id } => block.write_set.lock().forget(*id),
                _ => {}
            }
        }
        block.defined = Some(defined);
        block.definitions.extend(edits);
        block.unwritten.extend(unwritten);
        Ok(())
    }

    /// What the block has defined, if it has.
    pub(super) fn definitions(&self) -> Option<Definitions> {
        let block = self.block.as_ref().filter(|block| !block.definitions.is_empty())?;
        let base = block.snapshot.clone()?;
        Some(Definitions { edits: block.definitions.clone(), base, unwritten: block.unwritten.clone() })
    }

    /// What the first statement that reads has seen; None before.
    pub(super) fn first_snapshot(&self) -> Option<&Snapshot> {
        self.block.as_ref().and_then(|block| block.snapshot.as_ref())
    }

    /// Whether some statement has read already.
    pub(super) fn has_read(&self) -> bool {
        self.first_snapshot().is_some()
    }

    /// Modes are settings that end with the transaction.
    pub(super) fn set_modes(&self, modes: Modes, settings: &mut Settings) -> Result<()> {
        let switch = |on: bool| if on { "on" } else { "off" };
        for (name, value) in [
            ("transaction_isolation", modes.isolation.map(|isolation| isolation.name())),
            (READ_ONLY, modes.read_only.map(switch)),
            ("transaction_deferrable", modes.deferrable.map(switch)),
        ] {
            if value.is_some() {
                self.set_mode(name, value, false, settings)?;
            }
        }
        Ok(())
    }

    /// Sets one of them, where that is not too late (PostgreSQL, `SET TRANSACTION`); `None` is its
    /// default. A query that does so has read by then.
    pub(super) fn set_mode(
        &self,
        name: &str,
        value: Option<&str>,
        by_query: bool,
        settings: &mut Settings,
    ) -> Result<()> {
        let given = definition(name).zip(value).filter(|_| by_query || self.block.is_some());
        let Some((definition, value)) = given else { return settings.set(name, value, true) };
        let value = Settings::canonical(definition, value)?;
        let changes = settings.get(name) != Some(value.as_str());
        let has_read = by_query || self.has_read();
        let is_nested = self.block.as_ref().is_some_and(|block| !block.savepoints.is_empty());
        let refusal = match (definition.name, value.as_str()) {
            (READ_ONLY, "on") => None,
            (READ_ONLY, _) if !changes => None,
            (READ_ONLY, _) if is_nested => {
                Some("cannot set transaction read-write mode inside a read-only transaction")
            }
            (READ_ONLY, _) => has_read.then_some("transaction read-write mode must be set before any query"),
            ("transaction_isolation", _) if !changes => None,
            ("transaction_isolation", _) if has_read => {
                Some("SET TRANSACTION ISOLATION LEVEL must be called before any query")
            }
            ("transaction_isolation", _) => {
                is_nested.then_some("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
            }
            _ if is_nested => Some("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction"),
            _ => has_read.then_some("SET TRANSACTION [NOT] DEFERRABLE must be called before any query"),
        };
        match refusal {
            Some(message) => Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message)),
            None => settings.set(name, Some(&value), true),
        }
    }

    fn block_for(&mut self, command: &str) -> Result<&mut Block> {
        // An implicit block has no savepoints.
        let named = !matches!(command, "SAVEPOINT" | "RELEASE SAVEPOINT" | "ROLLBACK TO SAVEPOINT");
        self.block.as_mut().filter(|block| named || !block.is_implicit).ok_or_else(|| {
            Error::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, format!("{command} can only be used in transaction blocks"))
        })
    }

    fn find(&mut self, name: &str, command: &str) -> Result<usize> {
        let found = self.block_for(command)?.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| Error::new(SqlState::UNDEFINED_SAVEPOINT, format!("savepoint \"{name}\" does not exist")))
    }
}

fn modes_of<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Modes {
    let is_on = |name: &str| get(name).map(|value| value == "on");
    Modes {
        isolation: get("transaction_isolation").and_then(Isolation::parse),
        read_only: is_on(READ_ONLY),
        deferrable: is_on("transaction_deferrable"),
    }
}
