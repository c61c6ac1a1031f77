use std::borrow::Cow;
use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;

use crate::{Change, Condition, Edit, Operation, Store, StoreOptions, TableHold, Terms};
use rowkey_base::clock::ManualClock;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Key};

const TABLES: [u64; 2] = [1, 2];

fn store() -> Arc<Store> {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(17_145_504_000_000_000)));
    let store = block_on(Store::open(Arc::new(MemoryStore::new()), clock, StoreOptions::default())).expect("opens");
    for id in TABLES {
        let (account, name) = ("acme".to_owned(), format!("Table{id}"));
        store.commit(&[Edit::CreateTable { id, account, name, created_ticks: 0 }]).expect("a table");
    }
    Arc::new(store)
}

fn insert(table: u64) -> Operation<'static> {
    let change = Change::InsertOrReplace(Cow::Owned(Vec::new()));
    Operation { table, key: Cow::Owned(Key::new("p", "r")), change, condition: Condition::Any }
}

/// Whether a write would not have to wait.
fn may_write(store: &Store, table: u64, hold: Option<&TableHold>) -> bool {
    store.wait_for_room(&[insert(table)], hold).now_or_never().is_some_and(|room| room.is_ok())
}

#[test]
fn others_wait_for_who_holds_a_table() {
    let store = store();
    assert!(may_write(&store, 1, None));
    let hold = block_on(store.hold_table(1));
    assert!(!may_write(&store, 1, None));
    assert!(store.write(&[insert(1)]).now_or_never().is_none());
    assert!(may_write(&store, 1, Some(&hold)));
    block_on(store.write_under(&[insert(1)], Terms { hold: Some(&hold), planned: &[] })).expect("written");
    assert!(may_write(&store, 2, None), "another table");
    let other = block_on(store.hold_table(2));
    assert!(!may_write(&store, 1, Some(&other)), "it holds another table");
    assert!(store.hold_table(1).now_or_never().is_none(), "one at a time");
    drop(hold);
    assert!(may_write(&store, 1, None), "and one that was given up is not waited for");
    assert!(!may_write(&store, 2, None));
    drop(other);
    assert!(may_write(&store, 2, None));
    assert!(store.writer.locks().tables().is_empty());
}

#[test]
fn turns_are_taken_in_their_order() {
    let store = store();
    let first = block_on(store.hold_table(1));
    let mut writer = Box::pin(store.writer.locks().not_held(1, None));
    assert!(writer.as_mut().now_or_never().is_none());
    let mut second = Box::pin(store.hold_table(1));
    assert!(second.as_mut().now_or_never().is_none());
    let mut late = Box::pin(store.writer.locks().not_held(1, None));
    assert!(late.as_mut().now_or_never().is_none());
    drop(first);
    assert!(second.as_mut().now_or_never().is_none(), "a writer was there before");
    assert!(writer.now_or_never().is_some());
    let second = second.now_or_never().expect("its turn");
    assert!(late.as_mut().now_or_never().is_none());
    drop(second);
    assert!(late.now_or_never().is_some());
    assert!(store.writer.locks().tables().is_empty());
}

#[test]
fn who_reads_and_writes_with_a_turn_has_no_holder_in_between() {
    let store = store();
    assert!(block_on(store.turn_at_held_table(1)).is_none(), "nobody holds it");
    let first = block_on(store.hold_table(1));
    let mut turn = Box::pin(store.turn_at_held_table(1));
    assert!(turn.as_mut().now_or_never().is_none());
    let mut second = Box::pin(store.hold_table(1));
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    let turn = turn.now_or_never().flatten().expect("its turn");
    assert!(second.as_mut().now_or_never().is_none());
    assert!(may_write(&store, 1, Some(&turn)), "though another waits to hold the table");
    drop(turn);
    drop(second.now_or_never().expect("its turn"));
    assert!(store.writer.locks().tables().is_empty());
}
