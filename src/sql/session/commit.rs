//! Commits: the only place where a session makes something durable.

use std::sync::Arc;

use crate::writes::{changed_meanwhile, duplicate_key};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::{Catalog, Definitions, Edit, Operation, Refusal, Store, TableHold, Terms, Written};

/// Makes operations durable and visible, all or none. Cancellation of the statement does not stop
/// this.
pub(super) async fn commit(
    store: &Arc<Store>,
    operations: &[Operation<'_>],
    terms: Terms<'_>,
    signals: &Signals,
) -> Result<Written> {
    store.wait_for_room(operations, terms.hold).await?;
    let committing = signals.committing();
    let written = store.write_under(operations, terms).await.map_err(of_commit)?;
    committing.done();
    Ok(written)
}

/// The same with definitions.
pub(super) async fn commit_definitions(
    store: &Arc<Store>,
    definitions: &Definitions,
    operations: &[Operation<'_>],
    hold: Option<&TableHold>,
    signals: &Signals,
) -> Result<()> {
    store.wait_for_room(operations, hold).await?;
    let committing = signals.committing();
    let (_, gone) = store.commit_definitions(definitions, operations, hold).await.map_err(of_commit)?;
    committing.done();
    let store = Arc::clone(store);
    let cleaned = tokio::task::spawn_blocking(move || store.clean_up(gone)).await;
    cleaned.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
}

/// Commits what a single statement defines.
pub(super) async fn commit_edits(store: &Arc<Store>, edits: Vec<Edit>, base: Arc<Catalog>) -> Result<()> {
    let store = Arc::clone(store);
    let committed = tokio::task::spawn_blocking(move || store.commit_definition(edits, &base)).await;
    committed.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))??;
    Ok(())
}

/// Returns when the commits in flight are visible.
pub(super) async fn settled(store: &Store) -> Result<()> {
    Ok(store.settled().await?)
}

/// Holds a table: writes of other transactions to it wait. Those that were in flight are visible.
pub(super) async fn hold_table(store: &Store, table: u64) -> Result<TableHold> {
    let hold = store.hold_table(table).await;
    settled(store).await?;
    Ok(hold)
}

/// Waits for the turn at a table that is held, beside other writers: no holder comes between what
/// is read and what is written with it.
pub(super) async fn turn_at_held_table(store: &Store, table: u64) -> Result<Option<TableHold>> {
    let turn = store.turn_at_held_table(table).await;
    settled(store).await?;
    Ok(turn)
}

fn of_commit(error: rowkey_storage::Error) -> Error {
    match error {
        rowkey_storage::Error::Refused { refusal: Refusal::Exists, table, key, .. } => duplicate_key(&table, &key),
        rowkey_storage::Error::Refused { refusal: Refusal::Changed | Refusal::Missing, table, key, .. } => {
            changed_meanwhile(&table, &key)
        }
        rowkey_storage::Error::NoSuchTable(_) => Error::new(
            SqlState::SERIALIZATION_FAILURE,
            "could not serialize access: a table was dropped by a concurrent statement",
        ),
        rowkey_storage::Error::Conflict(reason) => {
            Error::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
                .with_detail(format!("Another statement changed the catalog meanwhile: {reason}."))
        }
        error => Error::from(error),
    }
}
