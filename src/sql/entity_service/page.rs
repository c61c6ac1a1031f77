//! Queries that are answered a page at a time (Table service specification, section 2.7).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;

use super::service::EntityService;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::columns::EntityView;
use rowkey_model::{Entity, Key, KeyCut, KeyRange, KeySet};
use rowkey_storage::EntityFilter;

/// Entities of a page at most.
pub const PAGE_ENTITIES_MAX: usize = 1000;
/// What the entities of a page take at most, but for the last one: a thousand large ones would be a
/// gigabyte.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// How long a page is looked for; what was found by then is the page.
const PAGE_DURATION_MAX: Duration = Duration::from_secs(5);

/// Which entities are asked for, and what of them.
///
/// A door that takes a filter as text parses it; what the filter says of the keys is for this crate
/// to find, since `access` is here.
#[derive(Clone)]
pub struct EntityQuery {
    /// Nothing else is read; the shape decides between point, range, partition and table scan.
    pub keys: KeySet,
    /// What has to hold beside the keys; none takes all of them.
    pub filter: Option<EntityFilter>,
    /// The names of the properties that are wanted; none takes all of them. Keys and Timestamp are
    /// always there.
    pub select: Option<Vec<String>>,
    /// Entities of a page, up to [`PAGE_ENTITIES_MAX`]; a page of none is the last.
    pub top: usize,
    /// Where the page begins: [`EntityPage::continuation`] of the page before.
    pub continuation: Option<Key>,
}

impl EntityQuery {
    /// All entities of these keys, in pages as large as they may be.
    pub fn new(keys: KeySet) -> Self {
        Self { keys, filter: None, select: None, top: PAGE_ENTITIES_MAX, continuation: None }
    }

    /// The keys from the continuation on.
    fn keys_left(&self) -> KeySet {
        let Some(from) = &self.continuation else { return self.keys.clone() };
        match KeyRange::new(KeyCut::Before(from.clone()), KeyCut::End) {
            Some(rest) => self.keys.intersect(&KeySet::from_ranges([rest])),
            None => KeySet::empty(),
        }
    }

    fn takes(&self, entity: &dyn EntityView) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(entity))
    }

    fn selected(&self, entity: Entity) -> Entity {
        let Some(select) = &self.select else { return entity };
        let wanted = entity.parts().iter().filter(|(name, _)| select.iter().any(|wanted| **wanted == **name));
        let properties = wanted.cloned().collect();
        Entity::from_parts(entity.key, entity.timestamp, properties)
    }
}

impl fmt::Debug for EntityQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, filter, select, top, continuation } = self;
        f.debug_struct("EntityQuery")
            .field("keys", keys)
            .field("filter", &filter.is_some())
            .field("select", select)
            .field("top", top)
            .field("continuation", continuation)
            .finish()
    }
}

/// One page of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntityPage {
    /// In key order. There may be none although more follow: a filter was not met in time.
    pub entities: Vec<Entity>,
    /// Where the next page begins; none where this one is the last.
    pub continuation: Option<Key>,
}

impl EntityService {
    /// A page of a query over the newest snapshot. The next page is of the newest snapshot then, as
    /// in the service: what is written between them is seen from the continuation on.
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for too large a page, `UNDEFINED_TABLE` if the table is gone.
    pub async fn page(&self, table: u64, query: &EntityQuery) -> Result<EntityPage> {
        let mut entities = Vec::new();
        let mut take = |entity: &dyn EntityView| {
            let entity = query.selected(entity.to_entity());
            let bytes = entity.size_bytes_max();
            entities.push(entity);
            bytes
        };
        let continuation = self.show_page(table, query, &mut take).await?;
        Ok(EntityPage { entities, continuation })
    }

    /// Shows the entities of such a page one after the other, with all of their properties,
    /// whatever the query selects; gives where the next page begins. `show` tells how many bytes it
    /// keeps of an entity, which bound the page.
    ///
    /// # Errors
    /// Those of [`Self::page`].
    pub async fn show_page(
        &self,
        table: u64,
        query: &EntityQuery,
        show: &mut (dyn FnMut(&dyn EntityView) -> usize + Send),
    ) -> Result<Option<Key>> {
        if query.top > PAGE_ENTITIES_MAX {
            let message = format!("a page has at most {PAGE_ENTITIES_MAX} entities, and {} were asked for", query.top);
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let table = self.table_snapshot(table)?;
        if query.top == 0 {
            return Ok(None);
        }
        let (clock, files) = (self.store.clock(), self.store.files());
        let began = clock.elapsed();
        // The first entities are looked at whatever they take, so that each page gets on.
        let is_late = |looked_at: bool| looked_at && clock.elapsed().saturating_sub(began) >= PAGE_DURATION_MAX;
        let (mut looked_at, mut page) = (false, PageBounds { entities_left: query.top, bytes: 0 });
        for range in self.principal().keys_within(query.keys_left()).ranges() {
            // So that it can be dropped: a cache answers at once.
            tokio::task::consume_budget().await;
            if let Some(key) = range.as_point() {
                // Before it is read: keys that are not there cost time as well.
                if is_late(looked_at) {
                    return Ok(Some(key.to_key()));
                }
                looked_at = true;
                let Some(entity) = table.get(files, key).await? else { continue };
                if page.is_full() {
                    return Ok(Some(key.to_key()));
                }
                if query.takes(&*entity) {
                    page.add(show(&*entity));
                }
                continue;
            }
            let mut batches = table.first_in_range(Arc::clone(files), range.clone(), query.filter.clone());
            while let Some(rows) = batches.try_next().await? {
                tokio::task::yield_now().await;
                let is_late = is_late(looked_at);
                let shown = rows.each(&mut |entity| {
                    if is_late || page.is_full() {
                        return ControlFlow::Break(entity.key().to_key());
                    }
                    looked_at = true;
                    if query.takes(entity) {
                        page.add(show(entity));
                    }
                    ControlFlow::Continue(())
                })?;
                if let ControlFlow::Break(next) = shown {
                    return Ok(Some(next));
                }
            }
        }
        Ok(None)
    }
}

/// What a page still takes.
struct PageBounds {
    entities_left: usize,
    bytes: usize,
}

impl PageBounds {
    fn is_full(&self) -> bool {
        self.entities_left == 0 || self.bytes >= PAGE_BYTES_MAX
    }

    fn add(&mut self, entity_bytes: usize) {
        self.entities_left -= 1;
        self.bytes += entity_bytes;
    }
}
