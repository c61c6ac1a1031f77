//! The newest state, durable or on its way to be.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use super::reclaimer::Unlinked;
use crate::catalog::{Catalog, Edit};
use crate::delta::{Deltas, follow_edits};
use crate::error::{Error, Result};
use crate::log::{Appended, Log};
use crate::snapshot::Snapshot;
use rowkey_model::rows::PropertyId;
use rowkey_model::{DateTime, EdmType};

/// What the next record is built on. Under its lock, the commit lock, nothing waits.
#[derive(Debug)]
pub(crate) struct Head {
    log: Arc<Log>,
    /// What readers see: the state after the last durable record.
    published: Arc<RwLock<Snapshot>>,
    /// Of the last record handed to the log.
    sequence: u64,
    pub catalog: Arc<Catalog>,
    pub deltas: Arc<Deltas>,
    /// Of the last entity write.
    pub last_timestamp: DateTime,
    /// By table: the version of its columns, and the types of properties that need no further
    /// column.
    pub known_properties: HashMap<u64, (u64, HashSet<(PropertyId, EdmType)>)>,
    /// Since the last checkpoint.
    pub(super) log_bytes: u64,
}

impl Head {
    pub(super) fn new(
        log: Arc<Log>,
        published: Arc<RwLock<Snapshot>>,
        newest: Snapshot,
        last_timestamp: DateTime,
        log_bytes: u64,
    ) -> Self {
        let Snapshot { sequence, catalog, deltas, .. } = newest;
        Self { log, published, sequence, catalog, deltas, last_timestamp, known_properties: HashMap::new(), log_bytes }
    }

    /// Hands a record to the log and makes what it leads to the newest state; `enter` adds what
    /// belongs to the record besides catalog edits, and gets its sequence number. When the record
    /// is durable the state is published; with `synced` that does not depend on the store's
    /// [`Durability`](crate::Durability).
    pub(crate) fn append(
        &mut self,
        kind: u8,
        payload: Vec<u8>,
        edits: &[Edit],
        synced: bool,
        enter: impl FnOnce(&mut Head, u64),
    ) -> Result<Appended> {
        if !edits.is_empty() {
            self.enter_edits(edits)?;
        }
        self.sequence += 1;
        let sequence = self.sequence;
        enter(self, sequence);
        self.log_bytes += payload.len() as u64;
        let (published, next) = (Arc::clone(&self.published), self.snapshot());
        let publish = move |written| {
            debug_assert_eq!(written, sequence, "records are numbered in the order of their appends");
            *published.write().unwrap_or_else(PoisonError::into_inner) = next;
        };
        Ok(match synced {
            true => self.log.append_synced(kind, payload, publish),
            false => self.log.append_then(kind, payload, publish),
        })
    }

    /// The state after the last durable record.
    pub(crate) fn published(&self) -> Snapshot {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The state after the last record, which may not be durable yet.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.sequence, Arc::clone(&self.catalog), Arc::clone(&self.deltas))
    }

    /// Whether the log refuses records until what was built on refused ones is taken back. An error
    /// if it refuses them for good: what was built on them is never taken back then.
    pub(super) fn is_stalled(&self) -> Result<bool> {
        Ok(self.log.is_stalled()?)
    }

    /// Goes back to the published state, since the records behind it were refused; the log goes on.
    pub(super) fn take_back(&mut self, published: &Snapshot) {
        self.sequence = published.sequence;
        self.catalog = Arc::clone(&published.catalog);
        let kept = published.deltas.iter().map(|(&table, delta)| (table, delta.up_to(published.sequence)));
        self.deltas = Arc::new(kept.collect());
        self.known_properties.clear();
        self.log.go_on();
    }

    /// Changes the newest catalog, and the deltas with it.
    pub(crate) fn enter_edits(&mut self, edits: &[Edit]) -> Result<()> {
        self.catalog = Arc::new(self.catalog.apply(edits).map_err(Error::Conflict)?);
        follow_edits(Arc::make_mut(&mut self.deltas), edits);
        for edit in edits {
            if let Edit::TruncateTable { table, .. } = edit {
                // The properties of its writes are numbered anew.
                self.known_properties.remove(table);
            }
        }
        Ok(())
    }

    /// The sequence number that the next record gets.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence + 1
    }

    /// What an earlier state had and this one has not.
    pub(crate) fn unlinked_since(&self, before: &(Arc<Catalog>, Arc<Deltas>)) -> Unlinked {
        Unlinked::between((&before.0, &before.1), (&self.catalog, &self.deltas))
    }

    /// Gives a table a new generation for its writes, if the one it has is full.
    pub(crate) fn seal_when_full(&mut self, table: u64) {
        if self.deltas.get(&table).is_some_and(|delta| delta.active().is_full()) {
            self.seal(table);
        }
    }

    /// Gives a table a new generation for its writes; the one it has never changes any more.
    pub(crate) fn seal(&mut self, table: u64) {
        if let Some(delta) = Arc::make_mut(&mut self.deltas).get_mut(&table)
            && !delta.active().is_empty()
        {
            *delta = Arc::new(delta.sealed());
        }
    }
}
