//! Tables whose writers wait for one of them.
//!
//! Whoever reads much of a table and then writes it is refused if somebody else wrote to it meanwhile, and beside steady writers that is
//! so each time it tries again. It can hold the table then: the writes of all others wait until it is through. Those that were under
//! way already are not stopped, so that it may be refused once more. Turns are taken in the order of asking, by holders and the others
//! alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

use crate::storage::catalog::Table;
use crate::storage::store::Store;

/// The tables that are held, or about to be.
#[derive(Debug, Default)]
pub struct TableHolds {
    tables: Mutex<BTreeMap<u64, Turns>>,
    /// How many tables these are: mostly none, which every write asks.
    held: AtomicUsize,
}

#[derive(Debug, Default)]
struct Turns {
    lock: Arc<RwLock<()>>,
    holders: usize,
}

/// Under which terms somebody writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms<'a> {
    /// The table that is held for it.
    pub hold: Option<&'a TableHold>,
    /// The tables as it saw them: what it writes is refused if their columns have got other names, or are gone.
    pub planned: &'a [Arc<Table>],
}

/// Writes of others to a table wait until this is dropped.
#[derive(Debug)]
pub struct TableHold {
    store: Arc<Store>,
    table: u64,
    turn: Option<OwnedRwLockWriteGuard<()>>,
}

impl Store {
    /// Holds a table, once all who asked before are through. One holder holds one table at a time, or they would wait for each other.
    pub async fn hold_table(self: &Arc<Self>, table: u64) -> TableHold {
        let lock = self.holds.enter(table);
        // Made before the wait, so that one that is given up leaves.
        let mut hold = TableHold { store: Arc::clone(self), table, turn: None };
        hold.turn = Some(lock.write_owned().await);
        hold
    }

    /// Returns when nobody but the holder of `own` holds a table.
    pub(in crate::storage) async fn not_held(&self, table: u64, own: Option<&TableHold>) {
        if self.holds.held.load(Ordering::Acquire) == 0 || own.is_some_and(|own| own.table == table) {
            return;
        }
        let turns = self.holds.tables().get(&table).map(|turns| Arc::clone(&turns.lock));
        if let Some(turns) = turns {
            drop(turns.read().await);
        }
    }
}

impl TableHolds {
    fn enter(&self, table: u64) -> Arc<RwLock<()>> {
        let mut tables = self.tables();
        let turns = tables.entry(table).or_default();
        turns.holders += 1;
        let lock = Arc::clone(&turns.lock);
        self.held.store(tables.len(), Ordering::Release);
        lock
    }

    fn leave(&self, table: u64) {
        let mut tables = self.tables();
        if let Some(turns) = tables.get_mut(&table) {
            turns.holders -= 1;
            if turns.holders == 0 {
                tables.remove(&table);
            }
        }
        self.held.store(tables.len(), Ordering::Release);
    }

    fn tables(&self) -> MutexGuard<'_, BTreeMap<u64, Turns>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TableHold {
    fn drop(&mut self) {
        self.turn = None;
        self.store.holds.leave(self.table);
    }
}

#[cfg(test)]
mod tests;
