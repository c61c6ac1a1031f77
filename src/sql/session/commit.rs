//! Commits: the only place where a session makes something durable.

use std::sync::Arc;

use crate::compiler::Compiler;
use crate::writes::{WriteMemory, changed_meanwhile, duplicate_key, properties_bytes};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::{
    Attempts, Catalog, Change, Definitions, Edit, Operation, Refusal, Store, Table, TableHold, Terms, Written,
};

/// Up to so many operations, with so many bytes of names and values, are encoded and handed to the
/// log on the thread of the session: that is bounded, and a way between threads takes as long.
const OPERATIONS_HERE_MAX: usize = 128;
const BYTES_HERE_MAX: u64 = 64 << 10;

/// Operations, and the terms on which they are committed.
pub(super) struct Commit<'a> {
    pub operations: Vec<Operation<'static>>,
    /// The lock that the statement holds.
    pub hold: Option<&'a Arc<TableHold>>,
    /// The tables as the statement was planned for.
    pub planned: &'a [Arc<Table>],
    /// What the operations take.
    pub memory: Option<WriteMemory>,
}

/// Makes operations durable and visible, all or none. Cancellation of the statement does not stop
/// this.
pub(super) async fn commit(compiler: &Compiler, commit: Commit<'_>, signals: &Signals) -> Result<Written> {
    if !is_small(&commit.operations) {
        return Box::pin(commit_apart(compiler, commit, signals)).await;
    }
    let Commit { operations, hold, planned, memory: _held } = commit;
    let (store, terms) = (compiler.store(), Terms { hold: hold.map(Arc::as_ref), planned });
    let mut attempts = Attempts::default();
    loop {
        signals.check()?;
        let prepared = store.prepare_write(&operations, terms, &mut attempts).await.map_err(of_commit)?;
        // Else it can be stopped again.
        let committing = signals.committing();
        if let Some(written) = store.commit_prepared(prepared, &operations, terms).await.map_err(of_commit)? {
            committing.done();
            return Ok(written);
        }
    }
}

/// The same on compute threads. That the statement commits is said here, where its future is
/// dropped: the session may have another statement when a thread finds that out.
async fn commit_apart(compiler: &Compiler, commit: Commit<'_>, signals: &Signals) -> Result<Written> {
    let mut write = WriteApart {
        store: Arc::clone(compiler.store()),
        operations: commit.operations,
        hold: commit.hold.cloned(),
        planned: commit.planned.to_vec(),
        attempts: Attempts::default(),
        _memory: commit.memory,
    };
    let of_work = signals.of_statement();
    loop {
        signals.check()?;
        let preparing = async move {
            let WriteApart { store, operations, hold, planned, attempts, .. } = &mut write;
            let terms = Terms { hold: hold.as_deref(), planned };
            let prepared = store.prepare_write(operations, terms, attempts).await.map_err(of_commit)?;
            Ok((write, prepared))
        };
        let (prepared_write, prepared) = compiler.compute().run(&of_work, preparing).await?;
        // Else it can be stopped again.
        let committing = signals.committing();
        let writing = async move {
            let WriteApart { store, operations, hold, planned, .. } = &prepared_write;
            let terms = Terms { hold: hold.as_deref(), planned };
            let written = store.commit_prepared(prepared, operations, terms).await.map_err(of_commit)?;
            // The operations are dropped here where they are written.
            Ok(match written {
                Some(written) => Ok(written),
                None => Err(prepared_write),
            })
        };
        match compiler.compute().run(&of_work, writing).await? {
            Ok(written) => {
                committing.done();
                return Ok(written);
            }
            Err(again) => write = again,
        }
    }
}

/// A write that compute threads prepare and commit.
struct WriteApart {
    store: Arc<Store>,
    operations: Vec<Operation<'static>>,
    hold: Option<Arc<TableHold>>,
    planned: Vec<Arc<Table>>,
    attempts: Attempts,
    _memory: Option<WriteMemory>,
}

/// Waits until the tables of operations have room for them.
async fn room_for(
    compiler: &Compiler,
    operations: Vec<Operation<'static>>,
    hold: Option<Arc<TableHold>>,
    signals: &Signals,
) -> Result<Vec<Operation<'static>>> {
    let store = Arc::clone(compiler.store());
    let waited = async move {
        store.wait_for_room(&operations, hold.as_deref()).await?;
        Ok(operations)
    };
    compiler.compute().run(signals, waited).await
}

fn is_small(operations: &[Operation<'_>]) -> bool {
    let content = |operation: &Operation<'_>| match &operation.change {
        Change::Insert(content)
        | Change::Replace(content)
        | Change::Merge(content)
        | Change::InsertOrReplace(content)
        | Change::InsertOrMerge(content) => properties_bytes(content),
        Change::Delete | Change::Keep => 0,
    };
    operations.len() <= OPERATIONS_HERE_MAX && operations.iter().map(content).sum::<u64>() <= BYTES_HERE_MAX
}

/// The same with definitions, of which there may be some without operations.
pub(super) async fn commit_definitions(
    compiler: &Compiler,
    definitions: Definitions,
    operations: Vec<Operation<'static>>,
    hold: Option<Arc<TableHold>>,
    memory: Option<WriteMemory>,
    signals: &Signals,
) -> Result<Written> {
    let of_work = signals.of_statement();
    let operations = room_for(compiler, operations, hold.clone(), &of_work).await?;
    let committing = signals.committing();
    let store = Arc::clone(compiler.store());
    let written = async move {
        let committed = store.commit_definitions(&definitions, &operations, hold.as_deref()).await;
        drop((operations, memory));
        committed.map_err(of_commit)
    };
    let (written, unlinked) = compiler.compute().run(&of_work, written).await?;
    committing.done();
    let store = Arc::clone(compiler.store());
    let cleaned = tokio::task::spawn_blocking(move || store.clean_up(unlinked)).await;
    cleaned.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
    Ok(written)
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
