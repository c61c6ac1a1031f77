//! The group commit in schedules of its threads that a scheduler chooses: who leads, who follows,
//! who gives up his lead, and when the thread sleeps.
//!
//! `commit.rs` and `queue.rs` are compiled once more here, with locks and threads of shuttle, which
//! runs one thread at a time and decides at each lock, wait and park who goes on. A deadlock
//! fails, too. The answers' channels are not among what it orders, nor is the disk, on which only a
//! leader works.

mod threads {
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use shuttle::thread::{Builder, JoinHandle, Thread, current, panicking, park};
}
#[allow(clippy::duplicate_mod, dead_code, unreachable_pub, reason = "the same code on other locks, for tests of it")]
#[path = "commit.rs"]
mod commit;
#[allow(clippy::duplicate_mod, dead_code, unreachable_pub, reason = "the same code on other locks, for tests of it")]
#[path = "queue.rs"]
mod queue;

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use bytes::Bytes;
use futures::executor::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread;
use shuttle::{Config, Runner};

use super::{callers, checkpoint, error, record, recovery, segment, writer};
use callers::Callers;
use commit::{Appended, Durability, Log};
use error::Error;
use recovery::{Covered, Record};
use rowkey_base::testing::{Dice, fuzz};
use rowkey_model::files::FileStore;
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};
use segment::SegmentBytes;

const KIND: u8 = 7;
/// A few records fill one.
const SEGMENTS: SegmentBytes = SegmentBytes { min: 300, max: 300 };
/// Schedules of one workload.
const SCHEDULES: usize = 20;

/// What happens on the threads, each with a log of calls of its own.
#[derive(Debug, Clone)]
struct Workload {
    /// Appends one after another at first, so that a caller is taken to be alone.
    alone: usize,
    threads: Vec<Vec<Call>>,
    durability: Durability,
    faults: FaultPlan,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    /// Appends, and waits for the answer.
    Append,
    AppendSynced,
    /// Appends so many, and waits for the answers in their order: the first may be its own to
    /// write.
    Several(usize),
    /// Appends, and takes no interest in it.
    Forget,
    /// Appends, looks once, and takes no further interest.
    LookOnce,
    Sync,
    /// Takes appends again if they were refused for want of a segment.
    GoOn,
}

fn workload(dice: &mut Dice) -> Workload {
    let call = |dice: &mut Dice| match dice.below(12) {
        0..4 => Call::Append,
        4 => Call::AppendSynced,
        5 => Call::Several(1 + dice.below(3)),
        6 => Call::Forget,
        7 => Call::LookOnce,
        8..10 => Call::Sync,
        _ => Call::GoOn,
    };
    let mut faults = FaultPlan::none();
    if dice.chance(2) {
        let fault = match dice.below(4) {
            0 => Fault::Stop,
            1 => Fault::Tear,
            2 => Fault::Fail(io::ErrorKind::Other),
            _ => Fault::Fail(io::ErrorKind::StorageFull),
        };
        faults = faults.and(1 + dice.below(60) as u64, fault);
    }
    let threads = 1 + dice.below(3);
    Workload {
        alone: dice.pick(&[0, 3, 6, 9]),
        threads: (0..threads).map(|_| (0..1 + dice.below(4)).map(|_| call(dice)).collect()).collect(),
        durability: if dice.chance(4) { Durability::Os } else { Durability::Sync },
        faults,
    }
}

/// What the callers have seen.
#[derive(Debug, Default)]
struct Seen {
    /// In the order in which they became durable: sequence number and payload.
    published: Vec<(u64, Bytes)>,
    acknowledged: Vec<(u64, Bytes)>,
    /// Answered as not begun.
    refused: Vec<Bytes>,
    /// Appends that were their callers' to write.
    led: usize,
}

/// The callers' hands on a log.
#[derive(Clone)]
struct Caller {
    log: Arc<Log>,
    seen: Arc<Mutex<Seen>>,
}

impl Caller {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, payload: &Bytes, synced: bool) -> Appended {
        let (seen, published) = (Arc::clone(&self.seen), payload.clone());
        let on_durable = move |sequence| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.published.push((sequence, published));
        };
        let appended = match synced {
            true => self.log.append_synced(KIND, payload.clone(), on_durable),
            false => self.log.append_then(KIND, payload.clone(), on_durable),
        };
        self.seen().led += usize::from(appended.is_led());
        appended
    }

    fn took(&self, payload: Bytes, answer: Result<u64, Error>) {
        let mut seen = self.seen();
        match answer {
            Ok(sequence) => {
                assert!(seen.published.contains(&(sequence, payload.clone())), "published before it is answered");
                seen.acknowledged.push((sequence, payload));
            }
            Err(Error::Poisoned { .. } | Error::NoSegment { .. }) => seen.refused.push(payload),
            Err(Error::OutcomeUnknown { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn call(&self, call: Call, name: &str) {
        let payload = |number: usize| Bytes::from(format!("{name}, {number}"));
        match call {
            Call::Append => self.took(payload(0), self.append(&payload(0), false).wait()),
            Call::AppendSynced => self.took(payload(0), self.append(&payload(0), true).wait()),
            Call::Several(count) => {
                let appended: Vec<_> = (0..count).map(|number| self.append(&payload(number), false)).collect();
                for (number, appended) in appended.into_iter().enumerate() {
                    self.took(payload(number), appended.wait());
                }
            }
            Call::Forget => drop(self.append(&payload(0), false)),
            Call::LookOnce => {
                let appended = pin!(self.append(&payload(0), false));
                let _ = appended.poll(&mut Context::from_waker(Waker::noop()));
            }
            Call::Sync => drop(self.log.sync()),
            Call::GoOn => {
                if self.log.is_stalled().is_ok_and(|is_stalled| is_stalled) {
                    self.log.go_on();
                }
            }
        }
    }
}

fn open(disk: &FaultStore, durability: Durability) -> Result<(Log, Vec<Record>), Error> {
    let mut records = Vec::new();
    let mut apply = |record| {
        records.push(record);
        Ok(())
    };
    let store: Arc<dyn FileStore> = Arc::new(disk.clone());
    let callers: Arc<Callers> = Arc::default();
    let opening = Log::open_with(store, SEGMENTS, durability, callers, Covered::default(), &mut apply);
    let (log, _) = block_on(opening)?;
    Ok((log, records))
}

/// One schedule of a workload, and what a log opened after it holds.
fn run(workload: &Workload, led: &AtomicUsize) {
    let disk = FaultStore::new(workload.faults.clone());
    let Ok((log, _)) = open(&disk, workload.durability) else {
        // A schedule of a single thread is refused as a mistake.
        let threads = [thread::spawn(thread::yield_now), thread::spawn(thread::yield_now)];
        return threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    };
    let caller = Caller { log: Arc::new(log), seen: Arc::default() };
    for number in 0..workload.alone {
        caller.call(Call::Append, &format!("alone {number}"));
        // The thread ends its lead meanwhile.
        (0..4).for_each(|_| thread::yield_now());
    }
    let threads: Vec<_> = (0..)
        .zip(workload.threads.clone())
        .map(|(thread, calls): (usize, Vec<Call>)| {
            let caller = caller.clone();
            thread::spawn(move || {
                for (number, call) in calls.into_iter().enumerate() {
                    caller.call(call, &format!("thread {thread}, call {number}"));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    let Caller { log, seen } = caller;
    let closed = Arc::into_inner(log).expect("the last hand on it").close();
    let seen = Arc::into_inner(seen).expect("the last hand on it").into_inner().unwrap_or_else(PoisonError::into_inner);
    led.fetch_add(seen.led, Ordering::Relaxed);
    assert!(disk.faults() > 0 || closed.is_ok() && seen.refused.is_empty(), "without a fault: {closed:?}, {seen:?}");
    assert!(seen.published.iter().map(|(sequence, _)| *sequence).eq(1..=seen.published.len() as u64), "{seen:?}");
    expect_log(&disk, workload, &seen, closed.is_ok());
}

/// All that was acknowledged is there, and what was refused is not; nothing is in the place of
/// another.
fn expect_log(disk: &FaultStore, workload: &Workload, seen: &Seen, is_closed: bool) {
    for mode in [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(7)] {
        let left = FaultStore::over(&disk.after_crash(mode), FaultPlan::none());
        let (log, records) = open(&left, Durability::Sync).expect("opens");
        drop(log);
        let found: Vec<(u64, Bytes)> = records.into_iter().map(|record| (record.sequence, record.payload)).collect();
        let is_kept = workload.durability == Durability::Sync || mode == AfterCrash::KeepUnsynced || is_closed;
        assert!(
            !is_kept || seen.acknowledged.iter().all(|record| found.contains(record)),
            "{mode:?}: {found:?}, {seen:?}"
        );
        let published = &seen.published[..seen.published.len().min(found.len())];
        assert_eq!(found[..published.len()], *published, "{mode:?}: {seen:?}");
        assert!(found.iter().all(|(_, payload)| !seen.refused.contains(payload)), "{mode:?}: {found:?}, {seen:?}");
    }
}

fn run_schedules(scheduler: impl Scheduler + 'static, workload: Workload, led: &Arc<AtomicUsize>) {
    let led = Arc::clone(led);
    Runner::new(scheduler, Config::new()).run(move || run(&workload, &led));
}

#[test]
fn fuzz_schedules_of_the_group_commit_lose_and_mix_up_nothing() {
    let led = Arc::default();
    fuzz("schedules of the group commit", |dice| {
        let (workload, seed) = (workload(dice), dice.next_u64());
        match dice.below(4) {
            0 => run_schedules(RandomScheduler::new_from_seed(seed, SCHEDULES), workload, &led),
            depth => run_schedules(PctScheduler::new_from_seed(seed, depth, SCHEDULES), workload, &led),
        }
    });
    let led = led.load(Ordering::Relaxed);
    println!("{led} appends written by their callers");
    assert!(led > 20, "only {led} appends were written by their callers");
}
