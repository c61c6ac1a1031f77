//! A fair lock on a table, against starvation of statements that read much.
//!
//! A statement that reads much of a table and then writes it is refused if another one wrote to it
//! meanwhile, and beside steady writers every retry is refused again. It retries with the table's
//! lock held: exclusively, so that all other writes wait. Writes admitted before are not stopped,
//! so it may be refused once more. The lock is granted in the order of requests. A statement that
//! has read little, waited for an exclusive holder, and is refused for what that one wrote retries
//! with the lock shared from its read to its write, or every exclusive holder in a row would have
//! it read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::catalog::Table;

/// The locks of the tables that are locked, or about to be.
#[derive(Debug, Default)]
pub(crate) struct TableLocks {
    tables: Mutex<BTreeMap<u64, TableLock>>,
    /// How many tables these are: mostly none, and every write asks.
    locked: AtomicUsize,
}

/// The lock of one table. Tokio's is fair: first come, first served.
#[derive(Debug, Default)]
struct TableLock {
    lock: Arc<RwLock<()>>,
    /// Holds of it, those that are waiting among them.
    holds: usize,
}

/// The terms of a write.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms<'a> {
    /// The lock that its statement holds.
    pub hold: Option<&'a TableHold>,
    /// The tables as its statement was planned for: it is refused if their columns have got other
    /// names, or are gone.
    pub planned: &'a [Arc<Table>],
}

/// A table's lock, held until this is dropped.
#[derive(Debug)]
pub struct TableHold {
    locks: Arc<TableLocks>,
    table: u64,
    /// None while it waits for the lock.
    guard: Option<Guard>,
}

#[derive(Debug)]
enum Guard {
    Exclusive(#[expect(dead_code, reason = "held")] OwnedRwLockWriteGuard<()>),
    Shared(#[expect(dead_code, reason = "held")] OwnedRwLockReadGuard<()>),
}

impl TableLocks {
    /// Locks a table against all other writes. A statement holds one table at a time, or two could
    /// deadlock.
    pub(crate) async fn hold(self: &Arc<Self>, table: u64) -> TableHold {
        let (lock, mut hold) = self.enter(table);
        hold.guard = Some(Guard::Exclusive(lock.write_owned().await));
        hold
    }

    /// Locks a table against exclusive holders, if it has any; other writers go on.
    pub(crate) async fn hold_shared(self: &Arc<Self>, table: u64) -> Option<TableHold> {
        if !self.is_locked(table) {
            return None;
        }
        let (lock, mut hold) = self.enter(table);
        hold.guard = Some(Guard::Shared(lock.read_owned().await));
        Some(hold)
    }

    /// Returns when no other statement holds a table, at once for the one with a hold of its `own`.
    pub(crate) async fn not_held(&self, table: u64, own: Option<&TableHold>) {
        if self.locked.load(Ordering::Acquire) == 0 || own.is_some_and(|own| own.table == table) {
            return;
        }
        let lock = self.tables().get(&table).map(|table| Arc::clone(&table.lock));
        if let Some(lock) = lock {
            drop(lock.read().await);
        }
    }

    /// The lock, and a hold that has still to wait for it: a wait that is cancelled leaves by its
    /// drop.
    fn enter(self: &Arc<Self>, table: u64) -> (Arc<RwLock<()>>, TableHold) {
        let mut tables = self.tables();
        let entry = tables.entry(table).or_default();
        entry.holds += 1;
        let lock = Arc::clone(&entry.lock);
        self.locked.store(tables.len(), Ordering::Release);
        (lock, TableHold { locks: Arc::clone(self), table, guard: None })
    }

    fn is_locked(&self, table: u64) -> bool {
        self.locked.load(Ordering::Acquire) > 0 && self.tables().contains_key(&table)
    }

    fn leave(&self, table: u64) {
        let mut tables = self.tables();
        if let Some(entry) = tables.get_mut(&table) {
            entry.holds -= 1;
            if entry.holds == 0 {
                tables.remove(&table);
            }
        }
        self.locked.store(tables.len(), Ordering::Release);
    }

    fn tables(&self) -> MutexGuard<'_, BTreeMap<u64, TableLock>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TableHold {
    fn drop(&mut self) {
        self.guard = None;
        self.locks.leave(self.table);
    }
}

#[cfg(test)]
mod tests;
