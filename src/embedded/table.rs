//! A table, for the owner of its account or the holder of a shared access signature.

use std::borrow::Cow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use rowkey_authorization::{Action, SharedAccess};
use rowkey_model::{AccessPolicy, Cut, Entity, Interval, KeyRange, KeyRef};
use rowkey_sql::engine::{Engine, EntityPage, EntityQuery, EntityService, EntityStream};
use rowkey_sql::session::Result;

/// The entities of an account, for one principal.
#[derive(Debug, Clone)]
pub(super) enum Entities {
    /// All of them, for the process itself.
    All(EntityService),
    /// What a signature permits at the moment.
    Shared(Arc<SharedAccess>),
}

/// A table of a [`Database`](crate::Database) or a [`SharedDatabase`](crate::SharedDatabase). Every
/// call looks at the newest snapshot; of a shared one it does what the signature permits at the
/// moment.
#[derive(Debug, Clone)]
pub struct Table {
    /// The folder is open as long as it is used.
    _engine: Arc<Engine>,
    entities: Entities,
    id: u64,
}

impl Table {
    pub(super) fn new(engine: Arc<Engine>, entities: Entities, id: u64) -> Self {
        Self { _engine: engine, entities, id }
    }

    pub(super) fn entities(&self) -> Result<Cow<'_, EntityService>> {
        match &self.entities {
            Entities::All(entities) => Ok(Cow::Borrowed(entities)),
            Entities::Shared(access) => Ok(Cow::Owned(access.entities_for(Action::Entities)?)),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The entity with this key: a point query that never goes through the planner.
    pub async fn get(&self, partition: &str, row: &str) -> Result<Option<Entity>> {
        Ok(self.get_shared(partition, row).await?.map(|entity| Entity::clone(&entity)))
    }

    /// The same without a copy of the cached entity.
    pub async fn get_shared(&self, partition: &str, row: &str) -> Result<Option<Arc<Entity>>> {
        self.entities()?.get(self.id, KeyRef { partition, row }).await
    }

    /// All entities of a partition, by RowKey.
    pub fn partition(&self, partition: &str) -> EntityStream {
        self.range(KeyRange::partition(partition))
    }

    /// Entities of a partition whose RowKey lies in a range, by RowKey: `table.rows("Sales",
    /// "000100".."000200")`.
    pub fn rows<'a>(&self, partition: &str, rows: impl RangeBounds<&'a str>) -> EntityStream {
        let lower = match rows.start_bound() {
            Bound::Included(row) => Cut::Before((*row).to_owned()),
            Bound::Excluded(row) => Cut::After((*row).to_owned()),
            Bound::Unbounded => Cut::Start,
        };
        let upper = match rows.end_bound() {
            Bound::Included(row) => Cut::After((*row).to_owned()),
            Bound::Excluded(row) => Cut::Before((*row).to_owned()),
            Bound::Unbounded => Cut::End,
        };
        match Interval::new(lower, upper) {
            Some(rows) => self.range(KeyRange::rows(partition, &rows)),
            None => EntityStream::empty(),
        }
    }

    /// Entities of a range of keys, in key order, as they were when the stream was made.
    pub fn range(&self, range: KeyRange) -> EntityStream {
        match self.entities() {
            Ok(entities) => entities.range(self.id, range),
            Err(error) => EntityStream::failed(error),
        }
    }

    /// A page of the entities that a query asks for, as the Table service answers it.
    ///
    /// ```
    /// # use rowkey_embedded as rowkey;
    /// use rowkey::{EntityQuery, Table};
    /// use rowkey::model::{KeyRange, KeySet};
    ///
    /// # async fn all(table: Table) -> rowkey::Result<()> {
    /// let mut query = EntityQuery::new(KeySet::from_ranges([KeyRange::partition("Sales")]));
    /// loop {
    ///     let page = table.page(&query).await?;
    ///     println!("{} entities", page.entities.len());
    ///     query.continuation = page.continuation;
    ///     if query.continuation.is_none() {
    ///         break Ok(());
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// `INVALID_PARAMETER_VALUE` for a page of more than
    /// [`PAGE_ENTITIES_MAX`](crate::PAGE_ENTITIES_MAX) entities, `UNDEFINED_TABLE` if the table was
    /// dropped.
    pub async fn page(&self, query: &EntityQuery) -> Result<EntityPage> {
        self.entities()?.page(self.id, query).await
    }

    /// The stored access policies of the table, which shared access signatures name, as they were
    /// set.
    ///
    /// # Errors
    /// `INSUFFICIENT_PRIVILEGE` for the holder of a signature, `UNDEFINED_TABLE` if the table was
    /// dropped.
    pub fn access_policies(&self) -> Result<Vec<AccessPolicy>> {
        self.entities()?.access_policies(self.id)
    }

    /// Sets all stored access policies of the table, durably: from then on signatures that name
    /// them permit what these say, and those that name others nothing.
    ///
    /// # Errors
    /// As for [`access_policies`](Self::access_policies); `INVALID_PARAMETER_VALUE` for more than
    /// five, an id that comes twice or is longer than 64 characters, and letters that are none of
    /// `raud`.
    pub async fn set_access_policies(&self, policies: Vec<AccessPolicy>) -> Result<()> {
        self.entities()?.set_access_policies(self.id, policies).await
    }

    /// Folds recent writes into files and compacts the files where that is due; with `full` the
    /// table is written anew, one file a range partition. The background does the same, except the
    /// latter, sooner or later.
    pub async fn vacuum(&self, full: bool) -> Result<()> {
        self.entities()?.vacuum(self.id, full).await.map(|_| ())
    }
}
