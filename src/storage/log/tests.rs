use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use bytes::Bytes;
use futures::executor::block_on;

use super::commit::Appended;
use super::error::Result;
use super::recovery::Replayed;
use super::*;
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};
use rowkey_model::files::{FileStore, LocalStore, MemoryStore, paths};

mod corruption;
mod crash;
mod leaders;

const SEGMENT_BYTES: u64 = 300;
const SEGMENTS: SegmentBytes = SegmentBytes { min: SEGMENT_BYTES, max: SEGMENT_BYTES };
const KIND: u8 = 7;

/// What opening has handed out, and the log.
struct Opened {
    log: Log,
    records: Vec<Record>,
    replayed: Replayed,
}

impl Opened {
    fn payloads(&self) -> Vec<Bytes> {
        self.records.iter().map(|record| record.payload.clone()).collect()
    }
}

fn open(store: Arc<dyn FileStore>, from: u64) -> Result<Opened> {
    open_with(store, SEGMENTS, from)
}

fn open_durable(store: Arc<dyn FileStore>, durability: Durability) -> Log {
    let mut apply = |_| Ok(());
    block_on(Log::open_with(store, SEGMENTS, durability, Arc::default(), Covered::default(), &mut apply)).unwrap().0
}

fn open_with(store: Arc<dyn FileStore>, segments: SegmentBytes, from: u64) -> Result<Opened> {
    let mut records = Vec::new();
    let mut apply = |record| {
        records.push(record);
        Ok(())
    };
    let (log, replayed) = block_on(Log::open(store, segments, from, &mut apply))?;
    assert_eq!(replayed.records, records.len() as u64);
    assert!(records.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
    Ok(Opened { log, records, replayed })
}

fn memory(files: BTreeMap<String, Vec<u8>>) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::with_files(files))
}

/// Payloads of many lengths, each different.
fn payload(number: u64) -> Bytes {
    let mut payload = number.to_le_bytes().to_vec();
    payload.resize(8 + (number * 13 % 40) as usize, number as u8);
    payload.into()
}

fn segments(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    files.keys().filter(|path| paths::parse_log_segment(path).is_some()).cloned().collect()
}

/// An answer that is awaited already, or not yet.
enum Answer {
    Awaited(thread::JoinHandle<Result<u64>>),
    Open(Appended),
}

impl Answer {
    fn wait(self) -> Result<u64> {
        match self {
            Answer::Awaited(thread) => thread.join().expect("no panic"),
            Answer::Open(answer) => answer.wait(),
        }
    }
}

/// Appends the first record alone and the others as one group, which gathers while the log's thread
/// is held at the first.
fn append_as_group(log: &Log, payloads: &[Bytes]) -> Vec<Answer> {
    let Some((first, others)) = payloads.split_first() else { return Vec::new() };
    let (reached, reaching) = mpsc::channel();
    let (release, held) = mpsc::channel();
    let first = log.append_then(KIND, first.clone(), move |_| {
        let _ = reached.send(());
        let _ = held.recv();
    });
    // It may be written by its caller.
    let mut answers = vec![Answer::Awaited(thread::spawn(move || first.wait()))];
    // Not reached if the append fails.
    let _ = reaching.recv();
    answers.extend(others.iter().map(|payload| Answer::Open(log.append(KIND, payload.clone()))));
    let _ = release.send(());
    answers
}

#[test]
fn an_empty_log_opens_and_opens_again() {
    let store = Arc::new(MemoryStore::new());
    for _ in 0..3 {
        let opened = open(store.clone(), 0).unwrap();
        assert_eq!(opened.replayed, Replayed { last_sequence: 0, records: 0, torn_tail: None });
        opened.log.close().unwrap();
    }
    assert_eq!(segments(&store.files()), [paths::log_segment(1)]);
}

#[test]
fn records_of_many_threads_replay_in_order() {
    const THREADS: u64 = 8;
    const APPENDS: u64 = 60;
    let store = Arc::new(MemoryStore::new());
    let log = open(store.clone(), 0).unwrap().log;
    let published = Arc::new(Mutex::new(Vec::new()));
    let mut acknowledged: Vec<(u64, Bytes)> = std::thread::scope(|scope| {
        let (log, published) = (&log, &published);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    for number in 0..APPENDS {
                        let payload = payload(thread * APPENDS + number);
                        let published = Arc::clone(published);
                        let publish = move |sequence| published.lock().unwrap().push(sequence);
                        let appended = log.append_then(KIND, payload.clone(), publish);
                        let sequence = if number % 2 == 0 { appended.wait() } else { block_on(appended) }.unwrap();
                        assert!(log.durable() >= sequence);
                        answers.push((sequence, payload));
                    }
                    assert!(answers.is_sorted_by(|a, b| a.0 < b.0), "a thread's records are in its order");
                    answers
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    acknowledged.sort_by_key(|(sequence, _)| *sequence);
    let published = published.lock().unwrap().clone();
    assert!(published.is_sorted() && published.len() == (THREADS * APPENDS) as usize, "published in log order");
    log.close().unwrap();
    assert!(segments(&store.files()).len() > 10);
    let opened = open(store, 0).unwrap();
    let replayed: Vec<_> = opened.records.into_iter().map(|record| (record.sequence, record.payload)).collect();
    assert_eq!(replayed, acknowledged);
}

#[test]
fn what_waits_together_is_written_and_synced_once() {
    let store = Arc::new(FaultStore::new(FaultPlan::none()));
    let mut records = |_| Ok(());
    let (log, _) = block_on(Log::open(store.clone(), SegmentBytes::each(1 << 20), 0, &mut records)).unwrap();
    let before = store.operations();
    let answers = append_as_group(&log, &(0..100).map(payload).collect::<Vec<_>>());
    let sequences: Vec<_> = answers.into_iter().map(|answer| answer.wait().unwrap()).collect();
    assert_eq!(sequences, (1..=100).collect::<Vec<_>>());
    assert_eq!(store.operations() - before, 4, "a write and a sync for the first, and for all the others");
}

#[test]
fn a_large_record_gets_a_segment_of_its_size() {
    let store = Arc::new(MemoryStore::new());
    let log = open(store.clone(), 0).unwrap().log;
    let payloads = [vec![1; 5000], vec![2; 10], vec![3; 299], vec![4; 0]].map(Bytes::from);
    for payload in &payloads {
        log.append(KIND, payload.clone()).wait().unwrap();
    }
    log.close().unwrap();
    assert_eq!(open(store, 0).unwrap().payloads(), payloads);
}

#[test]
fn bad_appends_are_refused_alone() {
    let log = open(Arc::new(MemoryStore::new()), 0).unwrap().log;
    let error = log.append(0, "x").wait().unwrap_err();
    assert!(matches!(error, Error::ReservedKind { kind: 0 }), "{error}");
    let error = log.append(KIND, vec![0; record::PAYLOAD_BYTES_MAX + 1]).wait().unwrap_err();
    assert!(matches!(error, Error::TooLong { .. }), "{error}");
    assert_eq!(log.append(KIND, "x").wait().unwrap(), 1);
}

#[tokio::test]
async fn waiting_blocks_a_thread_or_a_task() {
    let mut apply = |_| Ok(());
    fn movable<T: Send>(future: T) -> T {
        future
    }
    let opening = movable(Log::open(Arc::new(MemoryStore::new()), SegmentBytes::each(1 << 16), 0, &mut apply));
    let (log, _) = opening.await.unwrap();
    assert_eq!(log.append(KIND, "awaited").await.unwrap(), 1);
    assert_eq!(log.append(KIND, "waited for").wait().unwrap(), 2);
    drop(log.append(KIND, "forgotten"));
    assert_eq!(log.append(KIND, "after it").await.unwrap(), 4);
}

#[test]
fn a_checkpoint_frees_the_log_up_to_the_one_before() {
    let store = Arc::new(MemoryStore::new());
    let log = open(store.clone(), 0).unwrap().log;
    for number in 0..30 {
        log.append(KIND, payload(number)).wait().unwrap();
    }
    assert!(segments(&store.files()).len() > 3);
    log.checkpoint(10, 1, b"ten").unwrap();
    log.checkpoint(20, 1, b"twenty").unwrap();
    let error = log.checkpoint(31, 1, b"").unwrap_err();
    assert!(matches!(error, Error::CheckpointMisplaced { sequence: 31, newest: 20, durable: 30 }), "{error}");
    log.close().unwrap();
    let firsts: Vec<_> = segments(&store.files()).iter().map(|path| paths::parse_log_segment(path).unwrap()).collect();
    assert!(firsts[0] > 1 && firsts[0] <= 11 && firsts[1] > 11, "all of the log behind the one before: {firsts:?}");
    let newest = block_on(newest_checkpoint(store.as_ref())).unwrap().unwrap();
    assert_eq!((newest.sequence, &newest.content[..]), (20, &b"twenty"[..]));
    let opened = open(store.clone(), 20).unwrap();
    assert_eq!(opened.payloads(), (20..30).map(payload).collect::<Vec<_>>());
    // All of it: the segment being written stays.
    let durable = opened.log.durable();
    opened.log.checkpoint(durable, 1, b"all").unwrap();
    assert_eq!(opened.log.append(KIND, "next").wait().unwrap(), durable + 1);
    opened.log.checkpoint(durable + 1, 1, b"and the next").unwrap();
    opened.log.close().unwrap();
    assert_eq!(segments(&store.files()).len(), 1);
    // Without the newest, the one before leads to the same state.
    store.remove(&paths::checkpoint(durable + 1)).unwrap();
    let opened = open(store, durable).unwrap();
    assert_eq!(opened.payloads(), ["next"]);
    assert!(opened.log.append(KIND, "last").wait().unwrap() > durable + 1);
}

#[test]
fn a_checkpoint_anywhere_leaves_what_follows_it() {
    for sequence in 0..=20 {
        let store = Arc::new(MemoryStore::new());
        let log = open(store.clone(), 0).unwrap().log;
        for number in 0..20 {
            log.append(KIND, payload(number)).wait().unwrap();
        }
        log.checkpoint(sequence, 1, b"").unwrap();
        drop(log);
        assert_eq!(open(store, sequence).unwrap().payloads(), (sequence..20).map(payload).collect::<Vec<_>>());
    }
}

#[test]
fn reading_changes_nothing() {
    let store = Arc::new(MemoryStore::new());
    let log = open(store.clone(), 0).unwrap().log;
    for number in 0..20 {
        log.append(KIND, payload(number)).wait().unwrap();
    }
    let before = store.files();
    let mut payloads = Vec::new();
    let mut apply = |record: Record| {
        payloads.push(record.payload);
        Ok(())
    };
    let replayed = block_on(replay(store.as_ref(), Covered::up_to(5), &mut apply)).unwrap();
    assert_eq!((replayed.last_sequence, replayed.torn_tail), (20, None));
    assert_eq!(payloads, (5..20).map(payload).collect::<Vec<_>>());
    assert_eq!(store.files(), before);
}

#[test]
fn what_cannot_be_applied_is_named() {
    let store = Arc::new(MemoryStore::new());
    let log = open(store.clone(), 0).unwrap().log;
    log.append(KIND, "first").wait().unwrap();
    log.append(KIND, "second").wait().unwrap();
    log.close().unwrap();
    let mut apply =
        |record: Record| if record.sequence == 2 { Err("no catalog edit".into()) } else { Ok::<(), Box<_>>(()) };
    let error = block_on(replay(store.as_ref(), Covered::default(), &mut apply)).unwrap_err();
    let expected =
        ":memory:/log/00000000000000000001.log holds at byte 62 record 2, which cannot be applied: no catalog edit";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_local_folder_keeps_the_log() {
    let folder = std::env::temp_dir().join(format!("rowkey-log-{}", std::process::id()));
    let store = || Arc::new(LocalStore::open(&folder).unwrap());
    let log = open(store(), 0).unwrap().log;
    for number in 0..20 {
        log.append(KIND, payload(number)).wait().unwrap();
    }
    log.checkpoint(8, 1, b"eight").unwrap();
    log.close().unwrap();
    let opened = open(store(), 8).unwrap();
    let payloads = opened.payloads();
    drop(opened);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(payloads, (8..20).map(payload).collect::<Vec<_>>());
}

/// Appends until one is refused: without a sync for each, it is noticed at the next segment that
/// something was taken away.
fn refusal(log: &Log) -> String {
    let refused = (0..20).find_map(|_| log.append(KIND, payload(39)).wait().err()).expect("a refusal");
    assert!(matches!(refused, Error::NoSegment { .. }), "{refused}");
    log.go_on();
    assert!(matches!(log.append(KIND, payload(39)).wait(), Err(Error::NoSegment { .. })));
    log.go_on();
    refused.to_string()
}

#[test]
fn a_log_whose_folder_was_taken_away_goes_on_when_it_is_back() {
    let folder = std::env::temp_dir().join(format!("rowkey-log-taken-{}", std::process::id()));
    let away = folder.with_extension("away");
    let store = Arc::new(LocalStore::open(&folder).unwrap());
    let owner = store.lock().unwrap();
    for durability in [Durability::Os, Durability::Sync] {
        let log = open_durable(store.clone(), durability);
        log.append(KIND, "before").wait().unwrap();
        std::fs::rename(&folder, &away).unwrap();
        let told = refusal(&log);
        assert!(told.contains("moved, removed or replaced"), "{told}");
        std::fs::rename(&away, &folder).unwrap();
        log.append(KIND, "after").wait().unwrap();
        log.close().unwrap();
    }
    let opened = open(store, 0).unwrap();
    let kept: Vec<Bytes> = opened.payloads().into_iter().filter(|payload| payload.len() < 8).collect();
    drop((opened, owner));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(kept, ["before", "after", "before", "after"].map(Bytes::from));
}

/// As a restore or a synchronising tool does it.
#[test]
fn a_log_replaced_by_a_copy_takes_no_more_until_it_is_back() {
    let folder = std::env::temp_dir().join(format!("rowkey-log-copied-{}", std::process::id()));
    let store = Arc::new(LocalStore::open(&folder).unwrap());
    let owner = store.lock().unwrap();
    let (place, away) = (folder.join("log"), folder.join("away"));
    for durability in [Durability::Os, Durability::Sync] {
        let log = open_durable(store.clone(), durability);
        log.append(KIND, "before").wait().unwrap();
        std::fs::rename(&place, &away).unwrap();
        std::fs::create_dir(&place).unwrap();
        for file in std::fs::read_dir(&away).unwrap().map(|file| file.unwrap()) {
            std::fs::copy(file.path(), place.join(file.file_name())).unwrap();
        }
        let told = refusal(&log);
        assert!(told.contains("moved, removed or replaced"), "{told}");
        std::fs::remove_dir_all(&place).unwrap();
        std::fs::rename(&away, &place).unwrap();
        // A segment that was made ahead may have been made in the copy.
        if log.append(KIND, "after").wait().is_err() {
            log.go_on();
            log.append(KIND, "after").wait().unwrap();
        }
        log.close().unwrap();
    }
    let opened = open(store, 0).unwrap();
    let kept: Vec<Bytes> = opened.payloads().into_iter().filter(|payload| payload.len() < 8).collect();
    drop((opened, owner));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(kept, ["before", "after", "before", "after"].map(Bytes::from));
}

#[test]
fn a_log_without_its_lock_file_takes_no_more_and_leaves_what_others_have_written() {
    let folder = std::env::temp_dir().join(format!("rowkey-log-unlocked-{}", std::process::id()));
    let store = Arc::new(LocalStore::open(&folder).unwrap());
    let owner = store.lock().unwrap();
    let log = open_durable(store.clone(), Durability::Sync);
    let acknowledged = log.append(KIND, "before").wait().unwrap();
    std::fs::remove_file(folder.join(paths::LOCK)).unwrap();
    // A program that knows the lock file alone: it finds none, and writes.
    let other = open(Arc::new(LocalStore::open(&folder).unwrap()), 0).unwrap().log;
    let told = refusal(&log);
    assert!(told.contains(" rowkey.lock was removed"), "{told}");
    other.append(KIND, "of the other").wait().unwrap();
    drop((log, owner));
    drop(other);
    let opened = open(store, 0).unwrap();
    let (torn, payloads) = (opened.replayed.torn_tail.clone(), opened.payloads());
    drop(opened);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((acknowledged, torn), (1, None));
    assert_eq!(payloads, ["before", "of the other"].map(Bytes::from));
}

#[test]
fn a_log_whose_segment_was_replaced_begins_no_further_one() {
    let folder = std::env::temp_dir().join(format!("rowkey-log-segment-{}", std::process::id()));
    let log = open(Arc::new(LocalStore::open(&folder).unwrap()), 0).unwrap().log;
    log.append(KIND, "first").wait().unwrap();
    let segment = folder.join(paths::log_segment(1));
    let away = segment.with_extension("away");
    std::fs::rename(&segment, &away).unwrap();
    std::fs::copy(&away, &segment).unwrap();
    let told = refusal(&log);
    assert!(told.contains("00000000000000000001.log: it was moved, removed or replaced"), "{told}");
    std::fs::rename(&away, &segment).unwrap();
    let last = log.append(KIND, "last").wait().unwrap();
    drop(log);
    let opened = open(Arc::new(LocalStore::open(&folder).unwrap()), 0).unwrap();
    let read = opened.records.last().map(|record| (record.sequence, record.payload.clone()));
    drop(opened);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(read, Some((last, Bytes::from("last"))));
}

#[test]
fn a_panic_of_a_caller_poisons_the_log() {
    let log = open(Arc::new(MemoryStore::new()), 0).unwrap().log;
    let (reached, reaching) = mpsc::channel();
    let (release, held) = mpsc::channel();
    let first = log.append_then(KIND, "first", move |_| {
        reached.send(()).unwrap();
        held.recv().unwrap();
        panic!("on purpose");
    });
    reaching.recv().unwrap();
    let second = log.append(KIND, "second");
    release.send(()).unwrap();
    assert!(matches!(first.wait().unwrap_err(), Error::OutcomeUnknown { .. }));
    assert!(matches!(second.wait().unwrap_err(), Error::Poisoned { .. }));
    assert!(matches!(log.append(KIND, "third").wait().unwrap_err(), Error::Poisoned { .. }));
    assert!(matches!(log.close().unwrap_err(), Error::OutcomeUnknown { .. }));
}

#[test]
fn a_failed_write_or_sync_ends_writing_and_not_reading() {
    let prepared = FaultStore::new(FaultPlan::none());
    let log = open(Arc::new(prepared.clone()), 0).unwrap().log;
    log.append(KIND, "kept").wait().unwrap();
    let steps = prepared.operations();
    drop(log);
    for (n, kind) in [(steps + 1, io::ErrorKind::StorageFull), (steps + 2, io::ErrorKind::Other)] {
        let store = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Fail(kind))));
        let log = open(store.clone(), 0).unwrap().log;
        log.append(KIND, "kept").wait().unwrap();
        let error = log.append(KIND, "under way").wait().unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error}");
        assert!(error.to_string().contains("log/00000000000000000001.log"), "{error}");
        for _ in 0..2 {
            let error = log.append(KIND, "later").wait().unwrap_err();
            assert!(matches!(error, Error::Poisoned { .. }), "{error}");
        }
        assert!(matches!(log.checkpoint(1, 1, b"").unwrap_err(), Error::Poisoned { .. }));
        assert!(log.poisoned().is_some());
        assert_eq!(log.durable(), 1);
        block_on(replay(store.as_ref(), Covered::default(), &mut |_| Ok(()))).unwrap();
        let operations = store.operations();
        assert!(matches!(log.close().unwrap_err(), Error::Poisoned { .. }));
        assert_eq!(store.operations(), operations, "closing wrote nothing");
    }
}
