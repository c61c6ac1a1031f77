//! What is written beside a database lies outside its folder.

use std::path::Path;

use super::error::{Error, Result};
use rowkey_model::files::{self, Operation, overlap};

/// Refuses a path for output that leads into a data folder, or that the folder lies in. The folder
/// need not exist yet.
pub fn expect_outside(root: &Path, path: &Path) -> Result<()> {
    let shown = || path.display().to_string();
    match overlap(root, path) {
        Ok(None) => Ok(()),
        Ok(Some(overlap)) => Err(Error::InDataFolder { path: shown(), overlap }),
        Err(error) => Err(files::Error::from_io(shown(), Operation::Resolve, error).into()),
    }
}
