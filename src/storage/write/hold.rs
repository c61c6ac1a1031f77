//! Tables whose writers wait for one of them.
//!
//! Whoever reads much of a table and then writes it is refused if somebody else wrote to it
//! meanwhile, and beside steady writers that is so each time it tries again. It can hold the table
//! then: the writes of all others wait until it is through. Those that were under way already are
//! not stopped, so that it may be refused once more. Turns are taken in the order of asking, by
//! holders and the others alike. Who has read a little, waits for a holder, and is refused for what
//! that one wrote takes a turn for reading and writing together, or each holder in a row would have
//! it read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::catalog::Table;
use crate::store::Store;

/// The tables that are held, or about to be.
#[derive(Debug, Default)]
pub(crate) struct TableHolds {
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
    /// Its turn at a table that is held.
    pub hold: Option<&'a TableHold>,
    /// The tables as it saw them: what it writes is refused if their columns have got other names,
    /// or are gone.
    pub planned: &'a [Arc<Table>],
}

/// A turn at a table, until this is dropped: writes of others wait, or those who would hold the
/// table do.
#[derive(Debug)]
pub struct TableHold {
    store: Arc<Store>,
    table: u64,
    turn: Option<Turn>,
}

#[derive(Debug)]
enum Turn {
    Alone(#[expect(dead_code, reason = "held")] OwnedRwLockWriteGuard<()>),
    BesideWriters(#[expect(dead_code, reason = "held")] OwnedRwLockReadGuard<()>),
}

impl Store {
    /// Holds a table, once all who asked before are through. One holder holds one table at a time,
    /// or they would wait for each other.
    pub async fn hold_table(self: &Arc<Self>, table: u64) -> TableHold {
        let lock = self.holds.enter(table);
        // Made before the wait, so that one that is given up leaves.
        let mut hold = TableHold { store: Arc::clone(self), table, turn: None };
        hold.turn = Some(Turn::Alone(lock.write_owned().await));
        hold
    }

    /// Takes a turn beside the other writers of a table that somebody holds; `None` if nobody does.
    pub async fn turn_at_held_table(self: &Arc<Self>, table: u64) -> Option<TableHold> {
        if !self.holds.is_held(table) {
            return None;
        }
        let lock = self.holds.enter(table);
        let mut hold = TableHold { store: Arc::clone(self), table, turn: None };
        hold.turn = Some(Turn::BesideWriters(lock.read_owned().await));
        Some(hold)
    }

    /// Returns when nobody else holds a table; at once with a turn of one's `own`.
    pub(crate) async fn not_held(&self, table: u64, own: Option<&TableHold>) {
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

    fn is_held(&self, table: u64) -> bool {
        self.held.load(Ordering::Acquire) > 0 && self.tables().contains_key(&table)
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
