//! Making and removing tables.

use std::sync::Arc;

use super::open::Engine;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::TableName;
use rowkey_storage::{Edit, Snapshot, Store};

impl Engine {
    /// Creates a table; its name must be free.
    pub async fn create_table(&self, name: &TableName) -> Result<Snapshot> {
        let (account, name) = (self.account.as_str().to_owned(), name.as_str().to_owned());
        let created_ticks = self.store.clock().now().ticks();
        blocking(&self.store, move |store| {
            // The number is taken where nobody else takes one.
            store.commit_built(|catalog| {
                let id = catalog.next_table_id();
                vec![Edit::CreateTable { id, account, name, created_ticks }]
            })
        })
        .await
    }

    /// Removes a table with all its entities; views that read it keep it.
    pub async fn drop_table(&self, id: u64) -> Result<()> {
        blocking(&self.store, move |store| store.commit(&[Edit::DropTable { id }])).await.map(drop)
    }
}

/// Runs what waits for the disk where waiting harms nobody.
async fn blocking<T: Send + 'static>(
    store: &Arc<Store>,
    run: impl FnOnce(&Store) -> std::result::Result<T, rowkey_storage::Error> + Send + 'static,
) -> Result<T> {
    let store = Arc::clone(store);
    let done = tokio::task::spawn_blocking(move || run(&store)).await;
    Ok(done.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, format!("a write was not finished: {error}")))??)
}
