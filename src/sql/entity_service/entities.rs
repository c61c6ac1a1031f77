//! Reading entities by key, without the planner.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::stream::{BoxStream, Stream};
use futures::{StreamExt, TryStreamExt, stream};
use rowkey_model::{Entity, KeyRange, KeyRef, KeySet};

use super::service::EntityService;
use rowkey_base::{Error, Result};

/// Decoded bytes of pages of which entities are read beside sockets.
const PAGE_BYTES_MAX: u64 = 1 << 20;

impl EntityService {
    /// The entity with this key, as the newest snapshot has it; shared with the cache.
    pub async fn get(&self, table: u64, key: KeyRef<'_>) -> Result<Option<Arc<Entity>>> {
        let table = self.table_snapshot(table)?;
        if !self.principal().reaches(key) {
            return Ok(None);
        }
        Ok(table.get(self.store.files(), key).await?)
    }

    /// Whether to read an entity of a partition takes some microseconds: pages are small.
    pub fn reads_little(&self, table: u64, partition: &str) -> bool {
        let range = KeyRange::partition(partition);
        self.table_snapshot(table).is_ok_and(|table| table.page_bytes_max(&range) <= PAGE_BYTES_MAX)
    }

    /// Entities of a range of keys, in key order, as they were when the stream was made.
    pub fn range(&self, table: u64, range: KeyRange) -> EntityStream {
        let entities = match self.table_snapshot(table) {
            Ok(table) => {
                let files = Arc::clone(self.store.files());
                let ranges = self.principal().keys_within(KeySet::from(range)).ranges().to_vec();
                stream::iter(ranges)
                    .flat_map(move |range| table.range(Arc::clone(&files), range))
                    .map_ok(|batch| stream::iter(batch.into_iter().map(Ok)))
                    .try_flatten()
                    .map_err(|error: rowkey_storage::Error| Error::from(error))
                    .boxed()
            }
            Err(error) => return EntityStream::failed(error),
        };
        EntityStream { entities }
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

    /// A stream of nothing but an error.
    pub fn failed(error: Error) -> Self {
        Self { entities: stream::iter([Err(error)]).boxed() }
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
