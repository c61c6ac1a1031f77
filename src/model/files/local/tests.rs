use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
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

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Whatever changes the folder is refused, without a word of where it lies.
fn assert_refused(store: &LocalStore, folder: &Path, change: &str) {
    let refused = [
        store.create("log/new").map(drop),
        store.open_for_write("log/old").map(drop),
        store.rename("log/old", "log/other"),
        store.remove("log/old"),
        store.sync_folder("log"),
        store.confirm_owned(),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(error, Error::Replaced { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(change) && !text.contains(&folder.display().to_string()), "{text}");
    }
}

#[test]
fn a_folder_stays_locked_whatever_becomes_of_its_lock_file() {
    for replaced in [false, true] {
        let folder = Folder::new("lock-file");
        let store = LocalStore::open(folder.path()).unwrap();
        let held = store.lock().unwrap();
        store.create("log/old").unwrap().write_at(0, b"kept").unwrap();
        store.confirm_owned().unwrap();
        let (lock, aside) = (folder.path().join(paths::LOCK), folder.path().join("aside"));
        fs::rename(&lock, &aside).unwrap();
        if replaced {
            fs::write(&lock, "another").unwrap();
        }
        let error = LocalStore::open(folder.path()).unwrap().lock().unwrap_err();
        assert!(matches!(error, Error::Owned { .. }), "{error}");
        assert_eq!(lock.exists(), replaced, "a refused process makes no lock file");
        assert_refused(&store, folder.path(), "rowkey.lock was removed or replaced while this process had");
        let file = store.open("log/old").now_or_never().unwrap().unwrap();
        assert_eq!(&file.read(0..4).now_or_never().unwrap().unwrap()[..], b"kept", "reads go on");
        fs::rename(&aside, &lock).unwrap();
        // An older program, which knows no other lock, may have written meanwhile.
        assert_refused(&store, folder.path(), "rowkey.lock was removed or replaced while this process had");
        drop(held);
        let _held = store.lock().unwrap();
        store.create("log/new").unwrap();
    }
}

#[test]
fn a_folder_that_was_moved_stays_locked_and_its_successor_is_left_alone() {
    let (folder, moved) = (Folder::new("moved-from"), Folder::new("moved-to"));
    let store = LocalStore::open(folder.path()).unwrap();
    let _held = store.lock().unwrap();
    store.create("log/old").unwrap();
    let change = "was moved, removed or replaced while this process had";
    fs::rename(folder.path(), moved.path()).unwrap();
    assert_refused(&store, folder.path(), change);
    assert!(!folder.path().exists());
    let error = LocalStore::open(moved.path()).unwrap().lock().unwrap_err();
    assert!(matches!(error, Error::Owned { .. }), "{error}");

    let successor = LocalStore::open(folder.path()).unwrap();
    let held_by_successor = successor.lock().unwrap();
    successor.create("log/old").unwrap();
    assert_refused(&store, folder.path(), change);
    let error = store.open("log/old").now_or_never().unwrap().unwrap_err();
    assert!(matches!(error, Error::Replaced { .. }), "a file of the other folder: {error}");
    assert_eq!(successor.list("").now_or_never().unwrap().unwrap().len(), 1);

    drop(held_by_successor);
    fs::remove_dir_all(folder.path()).unwrap();
    fs::rename(moved.path(), folder.path()).unwrap();
    store.create("log/new").unwrap();
}

#[test]
fn a_file_being_written_is_told_from_another_of_its_name() {
    let folder = Folder::new("named");
    let store = LocalStore::open(folder.path()).unwrap();
    let file = store.create("log/one").unwrap();
    file.confirm_name().unwrap();
    fs::rename(folder.path().join("log"), folder.path().join("aside")).unwrap();
    let error = file.confirm_name().unwrap_err();
    assert!(error.to_string().contains("log/one: it was moved, removed or replaced"), "{error}");
    store.create("log/one").unwrap();
    assert!(matches!(file.confirm_name().unwrap_err(), Error::Replaced { .. }));
}

#[test]
fn a_lock_file_that_is_no_plain_file_is_refused_and_left_as_it_is() {
    let folder = Folder::new("foreign-lock");
    let (data, precious) = (folder.path().join("data"), folder.path().join("precious"));
    fs::create_dir_all(&data).unwrap();
    fs::write(&precious, "12345").unwrap();
    let lock = data.join(paths::LOCK);
    let refusal = |kind: &str| {
        let error = LocalStore::open(&data).unwrap().lock().unwrap_err().to_string();
        assert!(error.contains(&lock.display().to_string()) && error.contains(kind), "{error}");
    };
    symlink("../precious", &lock).unwrap();
    refusal("it is a link");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "12345");
    assert!(fs::symlink_metadata(&lock).unwrap().is_symlink());
    fs::remove_file(&lock).unwrap();
    symlink("../missing", &lock).unwrap();
    refusal("it is a link");
    assert!(!folder.path().join("missing").exists());
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    refusal("it is a folder");
    fs::remove_dir(&lock).unwrap();
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    refusal("it is no plain file");
    fs::remove_file(&lock).unwrap();
    LocalStore::open(&data).unwrap().lock().unwrap();
}

#[test]
fn what_others_wrote_into_the_lock_file_is_kept() {
    let foreign = ["notes\n", "12 and more", &"1".repeat(40)];
    for content in foreign.into_iter().chain(["", "4294967295", "77\n", "\0\0\0"]) {
        let folder = Folder::new("lock-content");
        fs::create_dir(folder.path()).unwrap();
        let lock = folder.path().join(paths::LOCK);
        fs::write(&lock, content).unwrap();
        let _held = LocalStore::open(folder.path()).unwrap().lock().unwrap();
        let own = std::process::id().to_string();
        let kept = foreign.contains(&content);
        assert_eq!(fs::read_to_string(&lock).unwrap(), if kept { content } else { &own }, "{content:?}");
        let error = LocalStore::open(folder.path()).unwrap().lock().unwrap_err();
        assert!(matches!(error, Error::Owned { .. }), "{content:?}: {error}");
    }
    // Who finds a server is told how to ask it.
    let folder = Folder::new("lock-server");
    let store = LocalStore::open(folder.path()).unwrap();
    let held = store.lock().unwrap();
    held.name_server("0.0.0.0:7654".parse().unwrap()).unwrap();
    let error = rowkey_base::Error::from(LocalStore::open(folder.path()).unwrap().lock().unwrap_err());
    assert!(error.hint().unwrap().contains("psql postgresql://rowkey@127.0.0.1:7654/devstoreaccount1"), "{error:?}");
    drop(held);
    let _held = store.lock().unwrap();
    let error = rowkey_base::Error::from(LocalStore::open(folder.path()).unwrap().lock().unwrap_err());
    assert_eq!(error.hint(), None);
    // Digits as well, where the file has a name elsewhere.
    let folder = Folder::new("lock-linked");
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.path().join("precious"), "12345").unwrap();
    fs::hard_link(folder.path().join("precious"), folder.path().join(paths::LOCK)).unwrap();
    let _held = LocalStore::open(folder.path()).unwrap().lock().unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "12345");
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let above = Folder::new("private");
    let root = above.path().join("above/data");
    let store = LocalStore::open(&root).unwrap();
    let _held = store.lock().unwrap();
    store.create("log/one.tmp").unwrap();
    store.rename("log/one.tmp", "log/one").unwrap();
    store.create("tables/a/T.1/run").unwrap();
    for folder in ["", "log", "tables", "tables/a", "tables/a/T.1"] {
        assert_eq!(mode(&root.join(folder)), 0o700, "{folder}");
    }
    for file in ["rowkey.lock", "log/one", "tables/a/T.1/run"] {
        assert_eq!(mode(&root.join(file)), 0o600, "{file}");
    }
    let usual = above.path().join("usual");
    fs::create_dir(&usual).unwrap();
    assert_eq!(mode(root.parent().unwrap()), mode(&usual), "the folders above are as any other");
}

#[test]
fn a_folder_that_others_could_read_is_taken_from_them_if_nothing_else_is_in_it() {
    for (foreign, wanted) in [(None, 0o700), (Some("notes"), 0o755)] {
        let folder = Folder::new("tightened");
        fs::create_dir_all(folder.path().join("log")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(name) = foreign {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let store = LocalStore::open(folder.path()).unwrap();
        assert_eq!(mode(folder.path()), 0o755, "not before it is owned");
        let _held = store.lock().unwrap();
        assert_eq!(mode(folder.path()), wanted, "{foreign:?}");
        assert!(!folder.path().join("rowkey.lock.tmp").exists());
        store.create("log/one").unwrap();
    }
}

/// Names, sizes and permissions of what is in a folder.
fn content(folder: &Path) -> Vec<(PathBuf, u64, u32)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                open.push(entry.path());
            }
            found.push((entry.path(), metadata.len(), metadata.permissions().mode()));
        }
    }
    found.sort();
    found
}

#[test]
fn readers_share_a_folder_and_keep_writers_out() {
    for with_lock_file in [true, false] {
        let folder = Folder::new("readers");
        let writer = LocalStore::open(folder.path()).unwrap();
        let held = writer.lock().unwrap();
        writer.create("log/old").unwrap().write_at(0, b"kept").unwrap();
        let reader = || LocalStore::open_read_only(folder.path()).unwrap();
        let error = reader().lock().unwrap_err().to_string();
        assert!(error.contains("is in use by this process already"), "{error}");
        drop(held);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if !with_lock_file {
            fs::remove_file(folder.path().join(paths::LOCK)).unwrap();
        }
        let before = content(folder.path());

        let (one, other) = (reader(), reader());
        let (held_by_one, held_by_other) = (one.lock().unwrap(), other.lock().unwrap());
        let file = one.open("log/old").now_or_never().unwrap().unwrap();
        assert_eq!(&file.read(0..4).now_or_never().unwrap().unwrap()[..], b"kept");
        let refused = [
            one.create("log/new").map(drop),
            one.open_for_write("log/old").map(drop),
            one.rename("log/old", "log/other"),
            one.remove("log/old"),
            one.sync_folder("log"),
            one.confirm_owned(),
        ];
        for error in refused.map(Result::unwrap_err) {
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        }
        assert_eq!(content(folder.path()), before, "reading leaves everything as it was");
        drop(held_by_one);
        let error = writer.lock().unwrap_err().to_string();
        assert!(error.contains("is in use by processes that have it open for reading only;"), "{error}");
        drop(held_by_other);
        writer.lock().unwrap();
    }
    let missing = Folder::new("readers-missing");
    assert!(LocalStore::open_read_only(missing.path()).unwrap_err().is_not_found());
    assert!(!missing.path().exists());
}

#[test]
fn whether_a_folder_can_be_written_is_told_without_writing() {
    let folder = Folder::new("may-write");
    assert!(private::may_write(folder.path()).unwrap(), "it may be made");
    fs::create_dir(folder.path()).unwrap();
    assert!(private::may_write(folder.path()).unwrap());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let told = private::may_write(folder.path()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Root may write in spite of the mode.
    assert_eq!(told, fs::write(folder.path().join("file"), "").is_ok());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(private::may_write(&folder.path().join("file/deeper")).is_err(), "a file is no folder");
}
