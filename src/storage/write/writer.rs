//! The steps of a write: admission, a look into run files, the commit, the signal that a fold is
//! due.

use std::sync::Arc;

use super::commit::{append_writes, check_all};
use super::definitions::{Definitions, append_definitions, refuse_if_named_otherwise};
use super::encoded::EncodedWrites;
use super::lookup::{Lookup, look_up};
use super::table_lock::{TableHold, TableLocks, Terms};
use crate::error::Result;
use crate::maintenance::WriteStalls;
use crate::operation::{Operation, Written};
use crate::state::{ManifestHold, State, Unlinked};

/// A write is prepared so often beside jobs on its tables; after that they wait for it.
const ATTEMPTS_BESIDE_JOBS_MAX: usize = 2;

/// How often a write was prepared.
#[derive(Debug, Default)]
pub struct Attempts(usize);

/// What was found for the operations of a write.
pub struct PreparedWrite {
    lookups: Vec<Lookup>,
    encoded: Option<EncodedWrites>,
    _holds: Vec<ManifestHold>,
}

/// Writes to the tables of a store.
#[derive(Debug)]
pub(crate) struct Writer {
    state: Arc<State>,
    stalls: Arc<WriteStalls>,
    locks: Arc<TableLocks>,
}

impl Writer {
    pub(crate) fn new(state: Arc<State>, stalls: Arc<WriteStalls>) -> Self {
        Self { state, stalls, locks: Arc::default() }
    }

    pub(crate) fn locks(&self) -> &Arc<TableLocks> {
        &self.locks
    }

    /// Applies operations, all or none, as one log record; when this returns they are durable and
    /// visible.
    pub(crate) async fn write(&self, operations: &[Operation<'_>], terms: Terms<'_>) -> Result<Written> {
        let mut attempts = Attempts::default();
        loop {
            let prepared = self.prepare(operations, terms, &mut attempts).await?;
            if let Some(written) = self.commit(prepared, operations, terms).await? {
                return Ok(written);
            }
        }
    }

    /// Waits for room and looks up what is there. Nothing is written yet.
    pub(crate) async fn prepare(
        &self,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
        attempts: &mut Attempts,
    ) -> Result<PreparedWrite> {
        self.admit(operations, terms.hold).await?;
        attempts.0 += 1;
        let holds = match attempts.0 > ATTEMPTS_BESIDE_JOBS_MAX {
            true => changes_of(tables_of(operations)).map(|table| self.state.manifest_holds().hold(table)).collect(),
            false => Vec::new(),
        };
        let lookups = look_up(&self.state, operations).await?;
        let deltas = self.state.snapshot().deltas;
        let encoded = EncodedWrites::beforehand(operations, |table| deltas.get(&table));
        Ok(PreparedWrite { lookups, encoded, _holds: holds })
    }

    /// Commits operations with what was found for them; when this returns they are durable and
    /// visible. `None` if they have to be prepared once more.
    pub(crate) async fn commit(
        &self,
        prepared: PreparedWrite,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<Option<Written>> {
        let PreparedWrite { lookups, encoded, _holds } = prepared;
        let appended = {
            let mut head = self.state.head()?;
            refuse_if_named_otherwise(&head, terms.planned)?;
            if !operations.is_empty()
                && operations.iter().all(Operation::keeps)
                && let Some(checked) = check_all(&mut head, self.state.clock().as_ref(), operations, &lookups)?
            {
                // Nothing to be made durable: what they are built on is.
                return Ok(Some(Written { timestamp: checked.timestamp, sequence: head.published().sequence }));
            }
            append_writes(&mut head, self.state.clock().as_ref(), operations, &lookups, encoded, &[])?
        };
        // None if a fold was committed meanwhile, or is about to be: what was found lies elsewhere
        // now. Or it is refused for what is in flight.
        let Some((timestamp, answer)) = appended else {
            self.state.settled().await?;
            return Ok(None);
        };
        let sequence = answer.await?;
        self.fold_if_due(tables_of(operations));
        Ok(Some(Written { timestamp, sequence }))
    }

    /// Commits definitions and writes, all or none, as one record; when this returns they are
    /// durable and visible. Gives what no table has any more as well.
    pub(crate) async fn write_definitions(
        &self,
        definitions: &Definitions,
        operations: &[Operation<'_>],
        hold: Option<&TableHold>,
    ) -> Result<(Written, Unlinked)> {
        loop {
            self.admit(operations, hold).await?;
            let lookups = look_up(&self.state, operations).await?;
            let (appended, unlinked) = {
                let mut head = self.state.head()?;
                let before = (Arc::clone(&head.catalog), Arc::clone(&head.deltas));
                let appended =
                    append_definitions(&mut head, self.state.clock().as_ref(), definitions, operations, lookups)?;
                let unlinked = head.unlinked_since(&before);
                (appended, unlinked)
            };
            let Some(((timestamp, answer), tables)) = appended else {
                self.state.settled().await?;
                continue;
            };
            let sequence = answer.await?;
            self.fold_if_due(tables.into_iter());
            return Ok((Written { timestamp, sequence }, unlinked));
        }
    }

    /// Returns when no other statement holds the tables of some operations, and their deltas have
    /// room. Stalls until folds have made it where they have not; when those fail, so does this.
    pub(crate) async fn admit(&self, operations: &[Operation<'_>], hold: Option<&TableHold>) -> Result<()> {
        for table in changes_of(tables_of(operations)) {
            self.locks.not_held(table, hold).await;
            self.stalls.wait_for_room(&self.state, table).await?;
        }
        Ok(())
    }

    /// Asks for a fold of the tables that have enough to fold.
    fn fold_if_due(&self, tables: impl Iterator<Item = u64>) {
        let snapshot = self.state.snapshot();
        for table in changes_of(tables) {
            if let Some(delta) = snapshot.deltas.get(&table) {
                self.stalls.fold_if_due(table, delta);
            }
        }
    }
}

/// The tables that operations write to, one for each.
fn tables_of(operations: &[Operation<'_>]) -> impl Iterator<Item = u64> {
    operations.iter().map(|operation| operation.table)
}

/// The tables without those that come again at once: most writes are to one.
fn changes_of(tables: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut before = None;
    tables.filter(move |table| before.replace(*table) != Some(*table))
}
