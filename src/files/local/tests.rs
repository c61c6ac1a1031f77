use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A folder for one test, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("rowkey-{name}-{}-{number}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn only_open_creates_the_folder() {
    let folder = Folder::new("open");
    let inner = folder.path().join("a/b");
    let error = LocalStore::open_existing(&inner).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("a/b"), "{error}");
    assert!(!folder.path().exists());
    assert_eq!(LocalStore::open(&inner).unwrap().location(), inner.display().to_string());
    LocalStore::open_existing(&inner).unwrap();
    fs::write(inner.join("file"), "").unwrap();
    for opened in [LocalStore::open(inner.join("file")), LocalStore::open(inner.join("file/deeper"))] {
        let error = opened.unwrap_err();
        assert!(
            error.to_string().contains("cannot open the store") && error.to_string().contains("it is a file"),
            "{error}"
        );
    }
}

#[test]
fn reads_are_ready_at_once() {
    let folder = Folder::new("ready");
    let store = LocalStore::open(folder.path()).unwrap();
    store.create("file").unwrap().write_at(0, b"content").unwrap();
    let file = store.open("file").now_or_never().unwrap().unwrap();
    assert_eq!(&file.read(0..7).now_or_never().unwrap().unwrap()[..], b"content");
    assert_eq!(store.list("").now_or_never().unwrap().unwrap().len(), 1);
}

#[test]
fn a_folder_is_no_file() {
    let folder = Folder::new("no-file");
    let store = LocalStore::open(folder.path()).unwrap();
    store.create("a/b").unwrap();
    for error in [store.open("a").now_or_never().unwrap().map(drop), store.open_for_write("a").map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
    assert!(store.list("a/b").now_or_never().unwrap().is_err(), "a file is no folder");
}

#[test]
fn the_owner_is_told_by_its_process_id() {
    let folder = Folder::new("owner");
    let store = LocalStore::open(folder.path()).unwrap();
    let _held = store.lock().unwrap();
    let text = |content: &str| {
        fs::write(folder.path().join(paths::LOCK), content).unwrap();
        LocalStore::open(folder.path()).unwrap().lock().unwrap_err().to_string()
    };
    assert!(text("4294967295").contains("in use by another process (process id 4294967295); stop"), "{}", text("1"));
    assert!(text("").contains("in use by another process; stop that first, or work with another folder"));
    assert!(text("\u{fffd}garbage").contains("in use by another process;"));
}

#[test]
fn a_folder_that_cannot_be_written_is_told_apart() {
    let error = |kind| Error::from_io("x", Operation::Create, io::Error::from(kind));
    assert!(matches!(error(io::ErrorKind::ReadOnlyFilesystem), Error::ReadOnly { .. }));
    assert!(matches!(error(io::ErrorKind::PermissionDenied), Error::ReadOnly { .. }));
    assert!(matches!(error(io::ErrorKind::StorageFull), Error::NoSpace { .. }));
    let error = Error::from_io("x", Operation::Read, io::Error::from(io::ErrorKind::PermissionDenied));
    assert!(matches!(error, Error::Io { .. }), "{error}");
}
