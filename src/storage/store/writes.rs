//! Entity writes of a store.

use super::Store;
use crate::error::Result;
use crate::operation::{Operation, Written};
use crate::state::Unlinked;
use crate::write::{Attempts, Definitions, PreparedWrite, TableHold, Terms};

impl Store {
    /// Applies operations, all or none, as one log record; when this returns they are durable and
    /// visible. A key occurs once among them. They may be of several tables and partitions: what
    /// the service asks of an entity group is for the caller to check.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) where the state of an entity is not as its
    /// operation demands, [`Error::RejectedAt`](crate::Error::RejectedAt) where an entity would
    /// break a rule of the data model; both have the index of the operation.
    /// [`Error::FoldFails`](crate::Error::FoldFails) if the delta is full and cannot be folded,
    /// [`Error::Log`](crate::Error::Log) if the record could not be written.
    pub async fn write(&self, operations: &[Operation<'_>]) -> Result<Written> {
        self.write_under(operations, Terms::default()).await
    }

    /// [`Store::write`] with the lock that the statement holds.
    ///
    /// # Errors
    /// Those of [`Store::write`]; [`Error::Conflict`](crate::Error::Conflict) if the columns of a
    /// table are not those that the statement was planned for.
    pub async fn write_under(&self, operations: &[Operation<'_>], terms: Terms<'_>) -> Result<Written> {
        self.writer.write(operations, terms).await
    }

    /// The first part of [`Store::write_under`], which may be dropped: nothing is written yet. It
    /// waits until other statements have released the tables, and for room in their deltas.
    ///
    /// # Errors
    /// [`Error::FoldFails`](crate::Error::FoldFails) if there is no room and folds fail.
    pub async fn prepare_write(
        &self,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
        attempts: &mut Attempts,
    ) -> Result<PreparedWrite> {
        self.writer.prepare(operations, terms, attempts).await
    }

    /// The second part. `None` if a job has changed the tables meanwhile: the write has to be
    /// prepared once more.
    ///
    /// # Errors
    /// Those of [`Store::write_under`].
    pub async fn commit_prepared(
        &self,
        prepared: PreparedWrite,
        operations: &[Operation<'_>],
        terms: Terms<'_>,
    ) -> Result<Option<Written>> {
        self.writer.commit(prepared, operations, terms).await
    }

    /// Commits definitions and writes, all or none, as one record; when this returns they are
    /// durable and visible. Then [`Store::clean_up`] is due.
    pub async fn commit_definitions(
        &self,
        definitions: &Definitions,
        operations: &[Operation<'_>],
        hold: Option<&TableHold>,
    ) -> Result<(Written, Unlinked)> {
        self.writer.write_definitions(definitions, operations, hold).await
    }

    /// Removes the files of dropped tables and frees their writes, once no snapshot reads them.
    /// Blocks for its reads and writes.
    pub fn clean_up(&self, unlinked: Unlinked) {
        self.state.retire(unlinked);
    }

    /// Returns when no other statement holds the tables that some operations write to, and their
    /// deltas have room. Waits for folds where they have not.
    ///
    /// # Errors
    /// [`Error::FoldFails`](crate::Error::FoldFails) if there is no room and folds fail.
    pub async fn wait_for_room(&self, operations: &[Operation<'_>], hold: Option<&TableHold>) -> Result<()> {
        self.writer.admit(operations, hold).await
    }

    /// Locks a table against all other writes, in the order of requests. A statement holds one
    /// table at a time, or two could deadlock.
    pub async fn hold_table(&self, table: u64) -> TableHold {
        self.writer.locks().hold(table).await
    }

    /// Locks a table that another statement holds against further ones, beside other writers;
    /// `None` if none holds it.
    pub async fn turn_at_held_table(&self, table: u64) -> Option<TableHold> {
        self.writer.locks().hold_shared(table).await
    }
}
