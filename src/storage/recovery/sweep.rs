//! Removing what a crash or a failed job left behind.

use std::collections::HashSet;

use crate::catalog::Catalog;
use crate::error::Result;
use rowkey_model::files::{FileEntry, FileStore, paths};

/// Removes, of the files `found`, temporary ones and run files that the catalog does not name. The
/// latter are given back where they are to be kept.
pub(super) fn sweep(
    store: &dyn FileStore,
    found: Vec<FileEntry>,
    catalog: &Catalog,
    keep_unnamed: bool,
) -> Result<Vec<String>> {
    let mut unnamed = Vec::new();
    let named = named(catalog);
    for file in found {
        let orphan = is_orphan(&file, &named);
        if orphan && keep_unnamed {
            unnamed.push(file.path);
        } else if orphan || paths::is_temporary(&file.path) {
            match store.remove(&file.path) {
                // A temporary one that the log has since used for the file that it was meant to be.
                Err(error) if error.is_not_found() => {}
                removed => removed?,
            }
        }
    }
    Ok(unnamed)
}

/// Of the files `found`, the run files that the catalog does not name; nothing is removed.
pub(super) fn unnamed(found: Vec<FileEntry>, catalog: &Catalog) -> Vec<String> {
    let named = named(catalog);
    found.into_iter().filter(|file| is_orphan(file, &named)).map(|file| file.path).collect()
}

fn named(catalog: &Catalog) -> HashSet<&str> {
    catalog.tables().flat_map(|table| table.manifest.files()).map(|file| file.path.as_str()).collect()
}

fn is_orphan(file: &FileEntry, named: &HashSet<&str>) -> bool {
    paths::parse_run(&file.path).is_some() && !named.contains(file.path.as_str())
}
