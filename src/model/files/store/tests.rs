//! What every store that can be written to promises, asked of each.

use super::super::fault::{FaultPlan, FaultStore};
use super::super::local::tests::Folder;
use super::super::{Error, LocalStore, MemoryStore};
use super::*;

/// Calls the test with each kind of store, empty.
async fn each_store<F: AsyncFn(&dyn FileStore)>(test: F) {
    let folder = Folder::new("each-store");
    test(&LocalStore::open(folder.path()).unwrap()).await;
    test(&MemoryStore::new()).await;
    test(&FaultStore::new(FaultPlan::none())).await;
}

fn write(store: &dyn FileStore, path: &str, content: &[u8]) {
    store.create(path).unwrap().write_at(0, content).unwrap();
}

async fn content(store: &dyn FileStore, path: &str) -> Bytes {
    let file = store.open(path).await.unwrap();
    file.read(0..file.bytes()).await.unwrap()
}

#[tokio::test]
async fn files_are_written_in_place_and_read_anywhere() {
    each_store(async |store| {
        let mut file = store.create("a/b/file").unwrap();
        file.write_at(4, b"4567").unwrap();
        file.write_at(1, b"12").unwrap();
        file.write_at(100, b"").unwrap();
        file.sync().unwrap();
        store.sync_folder("a/b").unwrap();
        assert_eq!(&content(store, "a/b/file").await[..], b"\x0012\x004567");
        let mut again = store.open_for_write("a/b/file").unwrap();
        again.set_bytes(2).unwrap();
        again.set_bytes(4).unwrap();
        assert_eq!(&content(store, "a/b/file").await[..], b"\x001\0\0");
        let read = store.open("a/b/file").await.unwrap();
        assert_eq!((read.bytes(), &read.read(1..2).await.unwrap()[..]), (4, &b"1"[..]));
        assert!(read.read(4..4).await.unwrap().is_empty());
        again.write_at(4, b"grown").unwrap();
        assert_eq!(&read.read(4..9).await.unwrap()[..], b"grown", "an open file shows what was written since");
    })
    .await;
}

#[tokio::test]
async fn a_range_beyond_the_end_is_a_short_read() {
    each_store(async |store| {
        write(store, "file", b"0123");
        let file = store.open("file").await.unwrap();
        for range in [0..5, 4..5, 9..10, 0..u64::MAX] {
            let error = file.read(range.clone()).await.unwrap_err();
            assert!(matches!(&error, Error::ShortRead { bytes: 4, range: told, .. } if *told == range), "{error}");
            assert!(error.to_string().contains("file: "), "{error}");
        }
        let backwards = std::ops::Range { start: 3, end: 1 };
        assert!(matches!(file.read(backwards).await.unwrap_err(), Error::Io { .. }));
    })
    .await;
}

#[tokio::test]
async fn lists_go_deep_and_are_sorted() {
    each_store(async |store| {
        assert!(store.list("").await.unwrap().is_empty());
        for path in ["b/2", "b/1", "b/c/3", "bb/4", "a"] {
            write(store, path, path.as_bytes());
        }
        let _owner = store.lock().unwrap();
        let paths = async |folder| {
            let entries = store.list(folder).await.unwrap();
            assert!(entries.iter().all(|entry| entry.bytes == entry.path.len() as u64));
            entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>()
        };
        assert_eq!(paths("").await, ["a", "b/1", "b/2", "b/c/3", "bb/4"]);
        assert_eq!(paths("b").await, ["b/1", "b/2", "b/c/3"]);
        assert_eq!(paths("b/c").await, ["b/c/3"]);
        assert!(paths("none").await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn names_change_and_open_files_stay() {
    each_store(async |store| {
        write(store, "f/old", b"old");
        write(store, "f/new", b"new");
        let old = store.open("f/old").await.unwrap();
        store.rename("f/new", "f/old").unwrap();
        assert_eq!(&content(store, "f/old").await[..], b"new");
        assert_eq!(&old.read(0..3).await.unwrap()[..], b"old");
        store.remove("f/old").unwrap();
        assert!(store.open("f/old").await.unwrap_err().is_not_found());
        assert!(store.list("").await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn errors_name_file_and_operation() {
    each_store(async |store| {
        write(store, "f/there", b"");
        let errors = [
            (store.create("f/there").map(drop).unwrap_err(), "cannot create ", "f/there: it exists already"),
            (store.open("f/x").await.map(drop).unwrap_err(), "cannot open ", "f/x: there is no such file"),
            (
                store.open_for_write("f/x").map(drop).unwrap_err(),
                "cannot open for writing ",
                "f/x: there is no such file",
            ),
            (store.remove("f/x").unwrap_err(), "cannot remove ", "f/x: there is no such file"),
            (store.create("../x").map(drop).unwrap_err(), "cannot create \"../x\": ", "parts"),
            (store.list("/etc").await.map(drop).unwrap_err(), "cannot list \"/etc\": ", "parts"),
        ];
        for (error, start, end) in errors {
            let text = error.to_string();
            assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        }
        let text = store.rename("f/x", "f/y").unwrap_err().to_string();
        assert!(text.starts_with("cannot rename ") && text.contains("f/x"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn one_owner_at_a_time() {
    each_store(async |store| {
        let owner = store.lock().unwrap();
        let error = store.lock().unwrap_err();
        assert!(matches!(error, Error::Owned { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("the data folder is in use by this process already; stop that first"), "{text}");
        drop(owner);
        store.lock().unwrap();
    })
    .await;
}
