//! The look-up of current versions before a write: without the commit lock, since run files may
//! have to be read.

use std::sync::Arc;

use crate::delta::Locations;
use crate::error::Result;
use crate::key_filter::KeyHash;
use crate::manifest::Manifest;
use crate::operation::Operation;
use crate::snapshot::{Gaps, TableSnapshot};
use crate::state::State;
use rowkey_model::Entity;
use rowkey_model::rows::key_bytes;

/// The key of an operation, and what run files hold for it.
pub(super) struct Lookup {
    /// As bytes that compare like it.
    pub key: Vec<u8>,
    pub hash: KeyHash,
    /// None if there is a recent version, or no such table.
    pub stored: Option<Stored>,
}

/// What run files hold for a key, by one manifest.
pub(super) struct Stored {
    /// Shared by the operations of one write alone: writers would contend for the reference count
    /// of the table's own.
    pub manifest: Arc<Manifest>,
    /// There is no recent version up to this sequence number.
    pub sequence: u64,
    pub entity: Option<Arc<Entity>>,
    pub locations: Locations,
}

/// The table that operations are looked up in.
struct Search {
    table: TableSnapshot,
    manifest: Arc<Manifest>,
    /// All its files have smaller numbers.
    files_below: u64,
    gaps: Gaps,
}

/// Looks into run files for the keys that have no recent version.
pub(super) async fn look_up(state: &State, operations: &[Operation<'_>]) -> Result<Vec<Lookup>> {
    let snapshot = state.snapshot();
    let mut lookups = Vec::with_capacity(operations.len());
    let mut last: Option<Search> = None;
    for operation in operations {
        let key_ref = operation.key.as_ref().as_ref();
        let key = key_bytes(key_ref);
        let hash = KeyHash::of(&key);
        let search = match (last.take(), snapshot.table(operation.table)) {
            (_, None) => {
                lookups.push(Lookup { key, hash, stored: None });
                continue;
            }
            (Some(search), Some(_)) if search.table.table.id == operation.table => last.insert(search),
            (_, Some(table)) => last.insert(Search {
                table: snapshot.table_snapshot(table),
                manifest: Arc::new(table.manifest.clone()),
                files_below: table.manifest.newest_file_id() + 1,
                gaps: Gaps::default(),
            }),
        };
        if search.table.has_recent(&key, hash) {
            lookups.push(Lookup { key, hash, stored: None });
            continue;
        }
        let stored = search.table.find_in_files(state.files(), key_ref, hash, &mut search.gaps).await?;
        let place = stored.as_ref().map(|&(_, file, row)| (file, row));
        let stored = Stored {
            manifest: Arc::clone(&search.manifest),
            sequence: snapshot.sequence,
            entity: stored.map(|(entity, ..)| entity),
            locations: Locations::found(search.files_below, place),
        };
        lookups.push(Lookup { key, hash, stored: Some(stored) });
    }
    Ok(lookups)
}
