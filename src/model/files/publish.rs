//! Publishing a file durably: after a crash it is there whole under its name, or not at all.
//!
//! The order is: write under a temporary name, sync the file, rename it, sync the folder. Only then
//! may anything durable name the file.

use std::io;
use std::sync::Arc;

use super::error::{Error, Result};
use super::paths;
use super::store::{FileStore, WriteFile};

/// A file being written front to back, to be published under `path` when it is finished.
///
/// Dropped unfinished, it removes its temporary file; what cannot be removed then is temporary by
/// name and swept at the next opening of the data folder.
#[derive(Debug)]
pub struct Publication {
    store: Arc<dyn FileStore>,
    path: String,
    temporary: String,
    /// None once published.
    file: Option<Box<dyn WriteFile>>,
    bytes: u64,
}

impl Publication {
    /// Starts writing; a temporary file left by an earlier process is replaced.
    pub fn start(store: Arc<dyn FileStore>, path: &str) -> Result<Self> {
        let temporary = paths::temporary(path);
        let file = create_anew(store.as_ref(), &temporary)?;
        Ok(Self { store, path: path.to_owned(), temporary, file: Some(file), bytes: 0 })
    }

    /// Appends to the file.
    pub fn append(&mut self, content: &[u8]) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.write_at(self.bytes, content)?;
            self.bytes += content.len() as u64;
        }
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes over what was appended before.
    pub fn overwrite(&mut self, offset: u64, content: &[u8]) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_at(offset, content))
    }

    /// Makes durable what was written so far, so that less is left to do at the end.
    pub fn sync(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.sync())
    }

    /// Publishes the file, replacing one of the same name; when this returns it is durable.
    pub fn finish(mut self) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.sync()?;
            self.store.rename(&self.temporary, &self.path)?;
            self.file = None;
            self.store.sync_folder(paths::folder_of(&self.path))?;
        }
        Ok(())
    }

    /// The same under another path in the same folder, for a file whose name was not known at the
    /// start.
    pub fn finish_as(mut self, path: &str) -> Result<()> {
        path.clone_into(&mut self.path);
        self.finish()
    }
}

/// For writers that take a stream; a [`files::Error`](Error) travels inside the I/O error. Each
/// call is one write to the file, so wrap it in a `BufWriter` where calls are small.
impl io::Write for Publication {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.append(content).map_err(io::Error::other)?;
        Ok(content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // An error has no caller left here; the file is not referenced.
            let _ = self.store.remove(&self.temporary);
        }
    }
}

/// Publishes content that is small enough to be in memory.
pub fn publish(store: &dyn FileStore, path: &str, content: &[u8]) -> Result<()> {
    let temporary = paths::temporary(path);
    let mut file = create_anew(store, &temporary)?;
    let written = file.write_at(0, content).and_then(|()| file.sync()).and_then(|()| store.rename(&temporary, path));
    if let Err(error) = written {
        // The first error is reported; the leftover is temporary by name.
        let _ = store.remove(&temporary);
        return Err(error);
    }
    store.sync_folder(paths::folder_of(path))
}

fn create_anew(store: &dyn FileStore, path: &str) -> Result<Box<dyn WriteFile>> {
    match store.create(path) {
        Err(Error::AlreadyExists { .. }) => {
            store.remove(path)?;
            store.create(path)
        }
        created => created,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::{AfterCrash, Fault, FaultPlan, FaultStore};
    use super::super::memory::MemoryStore;
    use super::*;

    const PATH: &str = "tables/a/T.1/000000000001.parquet";

    fn publish_in_parts(store: &Arc<FaultStore>, parts: &[&[u8]]) -> Result<()> {
        let mut publication = Publication::start(Arc::clone(store) as Arc<dyn FileStore>, PATH)?;
        for part in parts {
            publication.append(part)?;
        }
        publication.finish()
    }

    #[test]
    fn a_stop_at_any_step_leaves_the_old_file_or_the_new_one() {
        let before = MemoryStore::with_files([(PATH.to_owned(), b"old".to_vec())]);
        let store = Arc::new(FaultStore::over(&before, FaultPlan::none()));
        publish_in_parts(&store, &[b"new ", b"content"]).unwrap();
        let steps = store.operations();
        assert_eq!(steps, 6, "create, two writes, sync, rename, sync of the folder");
        for fault in [Fault::Stop, Fault::Tear] {
            for n in 1..=steps + 1 {
                let store = Arc::new(FaultStore::over(&before, FaultPlan::at(n, fault)));
                let published = publish_in_parts(&store, &[b"new ", b"content"]).is_ok();
                for mode in [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(n)] {
                    let content = store.after_crash(mode).files()[PATH].clone();
                    let whole = if published {
                        content == b"new content"
                    } else {
                        content == b"old" || content == b"new content"
                    };
                    assert!(whole, "{fault:?} at {n}, {mode:?}: {content:?}");
                }
            }
        }
    }

    #[test]
    fn an_error_leaves_no_temporary_file() {
        for n in 1..=5 {
            let store = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Fail(io::ErrorKind::StorageFull))));
            let error = publish_in_parts(&store, &[b"new ", b"content"]).unwrap_err();
            assert!(matches!(error, Error::NoSpace { .. }), "at {n}: {error}");
            assert!(store.after_crash(AfterCrash::KeepUnsynced).files().is_empty(), "at {n}");
            let store = FaultStore::new(FaultPlan::at(n, Fault::Fail(io::ErrorKind::StorageFull)));
            if n < 5 {
                publish(&store, PATH, b"content").unwrap_err();
                assert!(store.after_crash(AfterCrash::KeepUnsynced).files().is_empty(), "at {n}");
            }
        }
    }

    #[test]
    fn a_stale_temporary_file_is_replaced() {
        let store = MemoryStore::with_files([(paths::temporary(PATH), b"left by a crash".to_vec())]);
        publish(&store, PATH, b"whole").unwrap();
        assert_eq!(store.files(), [(PATH.to_owned(), b"whole".to_vec())].into());
    }

    #[test]
    fn writers_of_streams_can_publish() {
        let store = MemoryStore::new();
        let mut publication = Publication::start(Arc::new(store.clone()), PATH).unwrap();
        io::Write::write_all(&mut publication, b"streamed").unwrap();
        assert_eq!(publication.bytes(), 8);
        publication.finish().unwrap();
        assert_eq!(store.files(), [(PATH.to_owned(), b"streamed".to_vec())].into());
    }
}
