//! Data folders with the tables of a folder of files: filled once, and copied for each file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rowkey::Database;
use tokio::sync::Mutex;

use crate::tables;
use rowkey_base::testing::Scratch;

#[derive(Default)]
pub(crate) struct Folders {
    /// By the folder of exports.
    filled: Mutex<HashMap<PathBuf, Filled>>,
}

struct Filled {
    /// A third of the entities is in the log alone.
    recent: Scratch,
    /// How many.
    written: usize,
    compacted: Scratch,
}

/// What a file may do with as it likes.
pub(crate) struct DataFolder {
    pub folder: Scratch,
    /// Writes that are not in files.
    pub recent: usize,
}

impl Folders {
    /// With recent writes, or after a compaction.
    pub(crate) async fn copy(&self, exports: &Path, compacted: bool) -> Result<DataFolder, String> {
        let mut filled = self.filled.lock().await;
        if !filled.contains_key(exports) {
            filled.insert(exports.to_owned(), fill(exports).await?);
        }
        let from = &filled[exports];
        let folder = scratch()?;
        let (template, recent) = if compacted { (&from.compacted, 0) } else { (&from.recent, from.written) };
        copy(template.path(), folder.path()).map_err(|error| format!("{}: {error}", folder.path().display()))?;
        Ok(DataFolder { folder, recent })
    }
}

async fn fill(exports: &Path) -> Result<Filled, String> {
    let (recent, compacted) = (scratch()?, scratch()?);
    let location = recent.path().display().to_string();
    let database = Database::open(&location).await.map_err(|error| error.to_string())?;
    let written = tables::import_and_write(&database, &tables::exports(exports)?).await?;
    drop(database);
    copy(recent.path(), compacted.path()).map_err(|error| error.to_string())?;
    tables::compact(compacted.path()).await?;
    Ok(Filled { recent, written, compacted })
}

fn scratch() -> Result<Scratch, String> {
    Scratch::new("slt").map_err(|error| error.to_string())
}

/// All files below a folder.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
