//! Taking files out of use.

use std::sync::Arc;

use crate::catalog::Edit;
use crate::check::DamagedFile;
use crate::error::{Error, Result};
use crate::manifest::RangePartition;
use crate::run::RunFile;
use crate::state::State;
use rowkey_model::files::{self, FileStore, paths};

/// A damaged file that is dealt with.
#[derive(Debug, Clone, PartialEq)]
pub struct Quarantined {
    pub file: DamagedFile,
    /// Where it is now, in the data folder; none if it was missing, or whole.
    pub moved_to: Option<String>,
    /// The file was whole, and what the manifest said of it was not: that was put right, and
    /// nothing is lost.
    pub was_whole: bool,
}

/// Moves damaged files into the quarantine and commits the catalog without them: their entities
/// are gone from their tables. Files that are whole and were described wrongly stay, and are
/// described rightly.
pub(crate) async fn quarantine(state: &State, damaged: &[DamagedFile]) -> Result<Vec<Quarantined>> {
    state.refuse_if_read_only()?;
    let mut quarantined = Vec::new();
    for file in damaged {
        if let Some(corrected) = &file.corrected {
            match replace_file(state, file.file_id, Some(corrected)) {
                Ok(()) => {
                    quarantined.push(Quarantined { file: file.clone(), moved_to: None, was_whole: true });
                    continue;
                }
                // Described rightly, it does not belong where it is.
                Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // A crash in between leaves a file missing, which the next repair takes out of the
        // catalog. The other order would let the file be swept.
        let moved_to = set_aside(state.files().store().as_ref(), &file.path)?;
        replace_file(state, file.file_id, None)?;
        quarantined.push(Quarantined { file: file.clone(), moved_to, was_whole: false });
    }
    Ok(quarantined)
}

/// Commits a catalog in which a file is described otherwise, or is not.
fn replace_file(state: &State, file_id: u64, by: Option<&Arc<RunFile>>) -> Result<()> {
    state.files().forget(file_id);
    state.commit_with(|head| {
        let mut edits = Vec::new();
        for table in head.catalog.tables() {
            for (place, range) in table.manifest.ranges().iter().enumerate() {
                if range.files.iter().all(|other| other.id != file_id) {
                    continue;
                }
                let described = |other: &Arc<RunFile>| match other.id == file_id {
                    true => by.cloned(),
                    false => Some(Arc::clone(other)),
                };
                let files = range.files.iter().filter_map(described).collect();
                let ranges = vec![RangePartition { start: range.start.clone(), files }];
                edits.push(Edit::ReplaceRanges { table: table.id, from: place, to: place + 1, ranges });
            }
        }
        Ok((edits, None))
    })?;
    Ok(())
}

/// Moves a file into the quarantine, durably; gives its new path, or none if it is not there.
pub(super) fn set_aside(store: &dyn FileStore, path: &str) -> files::Result<Option<String>> {
    let to = free_path(store, path)?;
    match store.rename(path, &to) {
        Ok(()) => {}
        Err(error) => {
            // The name that was kept free for it.
            store.remove(&to)?;
            return if error.is_not_found() { Ok(None) } else { Err(error) };
        }
    }
    store.sync_folder(paths::folder_of(&to))?;
    store.sync_folder(paths::folder_of(path))?;
    Ok(Some(to))
}

/// Writes a copy of a file's content into the quarantine, durably.
pub(super) fn keep_copy(store: &dyn FileStore, path: &str, content: &[u8]) -> files::Result<String> {
    let to = free_path(store, path)?;
    let mut file = store.open_for_write(&to)?;
    file.write_at(0, content)?;
    file.sync()?;
    store.sync_folder(paths::folder_of(&to))?;
    Ok(to)
}

/// A path in the quarantine that nothing has, held by an empty file.
fn free_path(store: &dyn FileStore, path: &str) -> files::Result<String> {
    let mut copy = 0;
    loop {
        let to = paths::quarantined(path, copy);
        match store.create(&to) {
            Ok(_) => return Ok(to),
            Err(files::Error::AlreadyExists { .. }) => copy += 1,
            Err(error) => return Err(error),
        }
    }
}
