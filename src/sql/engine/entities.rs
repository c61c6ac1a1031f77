//! Reading entities by key, without the planner.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{BoxStream, Stream};
use futures::{StreamExt, TryStreamExt, stream};
use rowkey_model::{Entity, KeyRange, KeyRef, TableName};
use rowkey_storage::TableSnapshot;

use super::open::Engine;
use rowkey_base::{Error, Result, SqlState};

impl Engine {
    /// Names of all tables, as they were created, in the order of their creation.
    pub fn table_names(&self) -> Vec<String> {
        let account = self.account.as_str();
        let snapshot = self.store.snapshot();
        snapshot.catalog.tables().filter(|table| table.account == account).map(|table| table.name.clone()).collect()
    }

    /// The number of a table, found by its name whatever the case.
    pub fn table_id(&self, name: &str) -> Result<u64> {
        let snapshot = self.store.snapshot();
        let found = TableName::parse(name).ok().and_then(|name| snapshot.catalog.table(&self.account, &name).cloned());
        found.map(|table| table.id).ok_or_else(|| {
            let names = self.table_names();
            let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
            rowkey_postgres::error::no_such_table(name, &candidates)
        })
    }

    /// The entity with this key, as the newest snapshot has it; shared with the cache.
    pub async fn entity(&self, table: u64, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
        Ok(self.table_snapshot(table)?.get(self.store.files(), key).await?)
    }

    /// Entities of a range of keys, in key order, as they were when the stream was made.
    pub fn entities(&self, table: u64, range: KeyRange) -> EntityStream {
        let entities = match self.table_snapshot(table) {
            Ok(table) => table
                .range(Arc::clone(self.store.files()), range)
                .map_ok(|batch| stream::iter(batch.into_iter().map(Ok)))
                .try_flatten()
                .map_err(|error: rowkey_storage::Error| Error::from(error))
                .boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        };
        EntityStream { entities }
    }

    fn table_snapshot(&self, table: u64) -> Result<TableSnapshot> {
        let snapshot = self.store.snapshot();
        let table = snapshot.table(table).map(|table| snapshot.table_snapshot(table));
        table.ok_or_else(|| Error::new(SqlState::UNDEFINED_TABLE, "the table was dropped meanwhile"))
    }
}

/// Entities in key order; a batch at a time is in memory.
pub struct EntityStream {
    entities: BoxStream<'static, Result<Entity>>,
}

impl EntityStream {
    /// A stream of nothing.
    pub fn empty() -> Self {
        Self { entities: stream::empty().boxed() }
    }
}

impl Stream for EntityStream {
    type Item = Result<Entity>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.entities.poll_next_unpin(context)
    }
}

impl std::fmt::Debug for EntityStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntityStream")
    }
}
