use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::log::{Covered, Record, replay};
use crate::{Change, CommentObject, Condition, Error, LogError, Operation, Refusal};
use futures::executor::block_on;
use rowkey_base::clock::ManualClock;
use rowkey_model::files::fault::{Fault, FaultPlan, FaultStore};
use rowkey_model::files::{MemoryStore, paths};
use rowkey_model::{DateTime, Key};

fn open(files: &MemoryStore, checkpoint_after_bytes: u64) -> Store {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
    let options = StoreOptions { checkpoint_after_bytes, ..StoreOptions::default() };
    block_on(Store::open(Arc::new(files.clone()), clock, options)).expect("opens")
}

fn table() -> Edit {
    Edit::CreateTable { id: 1, account: "acme".to_owned(), name: "People".to_owned(), created_ticks: 0 }
}

fn comment() -> Edit {
    let text = Some("said".to_owned());
    Edit::SetComment { account: "acme".to_owned(), object: CommentObject::Database, text }
}

/// What a program that knows tables alone makes of a record.
fn kinds(files: &MemoryStore) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut collect = |record: Record| {
        kinds.push(record.kind);
        Ok(())
    };
    block_on(replay(files, Covered::default(), &mut collect)).expect("replays");
    kinds
}

/// Version in the header of the newest checkpoint.
fn checkpoint_version(files: &MemoryStore) -> u32 {
    let files = files.files();
    let mut checkpoints = files.iter().filter(|(path, _)| path.starts_with("checkpoint/"));
    let (_, content) = checkpoints.next_back().expect("a checkpoint");
    u32::from_le_bytes(content[8..12].try_into().expect("four bytes"))
}

#[test]
fn records_say_whether_there_is_more_than_tables_and_checkpoints_that_there_may_be_writes() {
    let files = MemoryStore::new();
    let store = open(&files, u64::MAX);
    store.commit(&[table()]).expect("commits");
    store.commit(&[comment()]).expect("commits");
    drop(store);
    assert_eq!(kinds(&files), [1, 2]);

    let files = MemoryStore::new();
    let store = open(&files, 1);
    store.commit(&[table()]).expect("commits");
    store.commit(&[comment()]).expect("commits");
    // Programs that know no writes of entities refuse it.
    assert_eq!(checkpoint_version(&files), 3);
    let wanted = store.snapshot().catalog;
    drop(store);
    assert_eq!(open(&MemoryStore::with_files(files.files()), u64::MAX).snapshot().catalog, wanted);
}

#[test]
fn what_is_left_beside_a_lost_log_does_not_pass_for_one() {
    for (left, content) in [("log/00000000000000000001.1.torn", "torn"), ("log/next.tmp", ""), ("checkpoint/x.tmp", "")]
    {
        let run = paths::run("acme", "People", 1, 1);
        let files = MemoryStore::with_files([(left.to_owned(), content.into()), (run, b"PAR1".to_vec())]);
        let before = files.files();
        let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
        let error = block_on(Store::open(Arc::new(files.clone()), clock, StoreOptions::default())).unwrap_err();
        assert!(matches!(error, Error::LogLost { .. }), "{left}: {error}");
        assert_eq!(files.files(), before, "{left}");
    }
}

fn insert(row: &str) -> Operation<'static> {
    let change = Change::Insert(Cow::Owned(Vec::new()));
    Operation { table: 1, key: Cow::Owned(Key::new("p", row)), change, condition: Condition::Any }
}

fn open_with_table(plan: FaultPlan) -> (FaultStore, Store) {
    let disk = FaultStore::new(plan);
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
    let store = block_on(Store::open(Arc::new(disk.clone()), clock, StoreOptions::default())).expect("opens");
    store.commit(&[table()]).expect("commits");
    (disk, store)
}

#[test]
fn a_write_is_not_refused_for_what_a_failed_one_would_have_written() {
    let (disk, _whole) = open_with_table(FaultPlan::none());
    // The write of the record, and the sync behind it.
    for place in 1..=2 {
        let plan = FaultPlan::at(disk.operations() + place, Fault::Fail(io::ErrorKind::Other));
        let (_, store) = open_with_table(plan);
        let error = block_on(store.write(&[insert("r")])).unwrap_err();
        assert!(matches!(error, Error::Log(LogError::OutcomeUnknown { .. })), "{error}");
        // That there is such an entity would tell the caller that its first try was a success.
        let error = block_on(store.write(&[insert("r")])).unwrap_err();
        assert!(matches!(error, Error::Log(LogError::Poisoned { .. })), "{error}");
    }
}

#[test]
fn a_refusal_for_a_write_in_flight_waits_for_its_outcome() {
    let (disk, _whole) = open_with_table(FaultPlan::none());
    for fails in [false, true] {
        let plan = match fails {
            // The sync of what gathers.
            true => FaultPlan::at(disk.operations() + 2, Fault::Fail(io::ErrorKind::Other)),
            false => FaultPlan::none(),
        };
        let (_, store) = open_with_table(plan);
        let (operation, other) = ([insert("r")], [insert("r")]);
        let (mut first, mut second) = (Box::pin(store.write(&operation)), Box::pin(store.write(&other)));
        let gathering = store.state.log().gather().expect("it takes writes");
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending(), "nobody knows yet");
        drop(gathering);
        match (block_on(first), block_on(second)) {
            (Ok(_), Err(Error::Refused { refusal: Refusal::Exists, .. })) if !fails => {}
            (Err(Error::Log(LogError::OutcomeUnknown { .. })), Err(Error::Log(LogError::Poisoned { .. }))) if fails => {
            }
            outcomes => panic!("{outcomes:?}"),
        }
        // What is durable is told at once.
        if !fails {
            let gathering = store.state.log().gather().expect("it takes writes");
            let mut third = Box::pin(store.write(&other));
            let refused = third.as_mut().poll(&mut context);
            assert!(matches!(refused, Poll::Ready(Err(Error::Refused { .. }))), "{refused:?}");
            drop(gathering);
        }
    }
}
