//! A fault at every write, sync, rename and removal of a workload, and again at those of the
//! recovery after it.

use super::*;

const ROUNDS: u64 = 8;

/// What the callers of the log know when the workload ends, by a fault or not.
#[derive(Debug, Default)]
struct Known {
    /// Payloads handed to the log, in order, up to the first that was refused without being
    /// written.
    attempted: Vec<Bytes>,
    /// How many of them were acknowledged.
    acknowledged: usize,
}

/// Rounds of a single record and a group, a checkpoint every third round. The same operations each
/// time.
fn workload(store: Arc<FaultStore>) -> Known {
    workload_with(store, SEGMENTS)
}

fn workload_with(store: Arc<FaultStore>, segments: SegmentBytes) -> Known {
    let mut known = Known::default();
    let Ok(opened) = open_with_checkpoint(store, segments) else { return known };
    let mut state = opened.state;
    for round in 0..ROUNDS {
        let payloads: Vec<_> = (0..1 + round % 5).map(|number| payload(round * 10 + number)).collect();
        for (payload, appended) in payloads.iter().zip(append_as_group(&opened.log, &payloads)) {
            match appended.wait() {
                Ok(_) => {
                    known.attempted.push(payload.clone());
                    known.acknowledged += 1;
                    state.push(payload.clone());
                }
                Err(Error::OutcomeUnknown { .. }) => known.attempted.push(payload.clone()),
                Err(Error::Poisoned { .. }) => {}
                // None of these, or of what came behind them, was begun.
                Err(Error::NoSegment { .. }) => opened.log.go_on(),
                Err(error) => panic!("{error}"),
            }
        }
        opened.log.await_next_segment();
        if round % 3 == 2 {
            // It may fail; the log goes on, or is poisoned already.
            let _ = opened.log.checkpoint(opened.log.durable(), 1, &encode(&state));
        }
    }
    let _ = opened.log.close();
    known
}

struct Recovered {
    log: Log,
    state: Vec<Bytes>,
    replayed: Replayed,
}

/// Opens as a storage engine does: the newest checkpoint, then the log above it.
fn open_from_checkpoint(store: Arc<dyn FileStore>) -> Result<Recovered> {
    open_with_checkpoint(store, SEGMENTS)
}

fn open_with_checkpoint(store: Arc<dyn FileStore>, segments: SegmentBytes) -> Result<Recovered> {
    let checkpoint = block_on(newest_checkpoint(store.as_ref()))?;
    let mut state = checkpoint.as_ref().map_or_else(Vec::new, |checkpoint| decode(&checkpoint.content));
    let opened = open_with(store, segments, checkpoint.map_or(0, |checkpoint| checkpoint.sequence))?;
    state.extend(opened.payloads());
    Ok(Recovered { log: opened.log, state, replayed: opened.replayed })
}

fn encode(state: &[Bytes]) -> Vec<u8> {
    state.iter().flat_map(|payload| [&(payload.len() as u32).to_le_bytes()[..], &payload[..]].concat()).collect()
}

fn decode(content: &Bytes) -> Vec<Bytes> {
    let mut state = Vec::new();
    let mut at = 0;
    while at < content.len() {
        let bytes = u32::from_le_bytes(content[at..at + 4].try_into().unwrap()) as usize;
        state.push(content.slice(at + 4..at + 4 + bytes));
        at += 4 + bytes;
    }
    state
}

/// All that was acknowledged, and nothing but what was attempted, in order and without a gap.
fn assert_state(state: &[Bytes], known: &Known, what: &str) {
    let attempted = &known.attempted;
    assert!(state.len() >= known.acknowledged, "{what}: {} of {} records", state.len(), known.acknowledged);
    assert!(state.len() <= attempted.len(), "{what}: {} records of {} attempted", state.len(), attempted.len());
    assert_eq!(state, &attempted[..state.len()], "{what}");
}

fn modes(seed: u64) -> [AfterCrash; 5] {
    let torn = |more| AfterCrash::TearUnsynced(seed * 3 + more);
    [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, torn(0), torn(1), torn(2)]
}

fn operations() -> u64 {
    let store = Arc::new(FaultStore::new(FaultPlan::none()));
    let known = workload(store.clone());
    assert_eq!((known.acknowledged, known.attempted.len()), (21, 21), "without faults all is acknowledged");
    let after = store.after_crash(AfterCrash::LoseUnsynced);
    assert!(block_on(newest_checkpoint(&after)).unwrap().is_some());
    assert!(segments(&after.files()).len() > 1);
    store.operations()
}

#[test]
fn a_crash_anywhere_keeps_what_was_acknowledged() {
    let mut torn_tails = 0;
    for n in 1..=operations() + 1 {
        for fault in [Fault::Stop, Fault::Tear] {
            let store = Arc::new(FaultStore::new(FaultPlan::at(n, fault)));
            let known = workload(store.clone());
            for mode in modes(n) {
                let what = format!("{fault:?} at operation {n}, then {mode:?}");
                let after = Arc::new(store.after_crash(mode));
                let recovered = open_from_checkpoint(after.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
                torn_tails += u64::from(recovered.replayed.torn_tail.is_some());
                assert_state(&recovered.state, &known, &what);
                // It goes on from there.
                recovered.log.append(KIND, "one more").wait().unwrap();
                recovered.log.close().unwrap();
                let again = open_from_checkpoint(after).unwrap_or_else(|error| panic!("{what}, again: {error}"));
                assert_eq!(again.state, [&recovered.state[..], &[Bytes::from("one more")]].concat(), "{what}, again");
                assert_eq!(again.replayed.torn_tail, None, "{what}, again");
            }
        }
    }
    assert!(torn_tails > 20, "only {torn_tails} torn tails: the faults do not reach them");
}

/// The next segment is made while records are written.
#[test]
fn a_fault_anywhere_beside_segments_that_are_made_ahead_keeps_what_was_acknowledged() {
    const GROWING: SegmentBytes = SegmentBytes { min: SEGMENT_BYTES / 2, max: 4 * SEGMENT_BYTES };
    let whole = Arc::new(FaultStore::new(FaultPlan::none()));
    let known = workload_with(Arc::clone(&whole), GROWING);
    assert_eq!(known.acknowledged, 21, "without faults all is acknowledged");
    let files = whole.after_crash(AfterCrash::LoseUnsynced).files();
    let longest = segments(&files).iter().map(|path| files[path].len() as u64).max();
    assert!(longest > Some(SEGMENT_BYTES), "the longest segment has {longest:?} bytes");
    assert!(!files.contains_key(&paths::temporary(paths::NEXT_LOG_SEGMENT)), "one that is not needed is removed");
    for n in 1..=whole.operations() {
        for fault in [Fault::Stop, Fault::Tear, Fault::Fail(io::ErrorKind::StorageFull)] {
            let store = Arc::new(FaultStore::new(FaultPlan::at(n, fault)));
            let known = workload_with(Arc::clone(&store), GROWING);
            for mode in modes(n) {
                let what = format!("{fault:?} at operation {n}, then {mode:?}");
                let after = Arc::new(store.after_crash(mode));
                let recovered = open_with_checkpoint(Arc::clone(&after) as Arc<dyn FileStore>, GROWING);
                let recovered = recovered.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_state(&recovered.state, &known, &what);
                // Enough for the next segments, over what was left of one.
                let more: Vec<Bytes> = (0..9).map(|number| payload(100 + number)).collect();
                for payload in &more {
                    recovered.log.append(KIND, payload.clone()).wait().unwrap();
                    recovered.log.await_next_segment();
                }
                recovered.log.close().unwrap();
                let again = open_from_checkpoint(after).unwrap_or_else(|error| panic!("{what}, again: {error}"));
                assert_eq!(again.state, [&recovered.state[..], &more].concat(), "{what}, again");
            }
        }
    }
}

#[test]
fn a_crash_during_recovery_loses_nothing_either() {
    for n in 1..=operations() {
        let store = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Tear)));
        let known = workload(store.clone());
        for mode in modes(n) {
            let crashed = store.after_crash(mode);
            for m in 1.. {
                let second = Arc::new(FaultStore::over(&crashed, FaultPlan::at(m, Fault::Tear)));
                let recovered = open_from_checkpoint(second.clone());
                let mut known = Known { attempted: known.attempted.clone(), acknowledged: known.acknowledged };
                if let Ok(recovered) = &recovered {
                    // What recovery has handed out is as good as acknowledged.
                    assert_state(&recovered.state, &known, "second opening");
                    known = Known { attempted: recovered.state.clone(), acknowledged: recovered.state.len() };
                    known.attempted.push(Bytes::from("one more"));
                    let appended = recovered.log.append(KIND, "one more").wait();
                    known.acknowledged += usize::from(appended.is_ok());
                }
                drop(recovered);
                for mode in modes(m) {
                    let what = format!("torn at operation {n}, then at {m} of the recovery, {mode:?}");
                    let third = open_from_checkpoint(Arc::new(second.after_crash(mode)));
                    let third = third.unwrap_or_else(|error| panic!("{what}: {error}"));
                    assert_state(&third.state, &known, &what);
                }
                if !second.is_stopped() {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_restart_after_a_failure_makes_durable_what_it_hands_out() {
    for n in 1..=operations() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
            let store = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Fail(kind))));
            let known = workload(store.clone());
            // A new process on the same machine sees what is in memory.
            let what = format!("{kind:?} at operation {n}");
            let reopened = open_from_checkpoint(store.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_state(&reopened.state, &known, &what);
            let mut durable = reopened.state.clone();
            durable.push(Bytes::from("one more"));
            reopened.log.append(KIND, "one more").wait().unwrap();
            for mode in modes(n) {
                let what = format!("{what}, reopened, then {mode:?}");
                let recovered = open_from_checkpoint(Arc::new(store.after_crash(mode)));
                let recovered = recovered.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(recovered.state, durable, "{what}");
            }
        }
    }
}

/// What was to be cut must not be back after the next crash: it would stand before a new segment,
/// or behind a new record of the same length.
#[test]
fn a_restart_after_a_failure_of_recovery_leaves_nothing_of_a_torn_tail() {
    let mut failed = 0;
    for n in 1..=operations() {
        let store = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Tear)));
        let known = workload(store.clone());
        for mode in modes(n) {
            let crashed = store.after_crash(mode);
            let copy = Arc::new(MemoryStore::with_files(crashed.files()));
            if open_from_checkpoint(copy).unwrap().replayed.torn_tail.is_none() {
                continue;
            }
            for m in 1.. {
                let disk = Arc::new(FaultStore::over(&crashed, FaultPlan::at(m, Fault::Fail(io::ErrorKind::Other))));
                failed += u64::from(open_from_checkpoint(disk.clone()).is_err());
                if disk.faults() == 0 {
                    break;
                }
                let what = format!("torn at operation {n}, {mode:?}, an error at {m} of the recovery, reopened");
                let reopened = open_from_checkpoint(disk.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_state(&reopened.state, &known, &what);
                let mut durable = reopened.state.clone();
                // Enough for the next segment.
                for more in 0..6 {
                    durable.push(payload(100 + more));
                    reopened.log.append(KIND, payload(100 + more)).wait().unwrap();
                    for mode in modes(m).into_iter().filter(|_| more % 5 == 0) {
                        let what = format!("{what}, {more} more, then {mode:?}");
                        let recovered = open_from_checkpoint(Arc::new(disk.after_crash(mode)));
                        let recovered = recovered.unwrap_or_else(|error| panic!("{what}: {error}"));
                        assert_eq!(recovered.state, durable, "{what}");
                    }
                }
            }
        }
    }
    assert!(failed > 100, "only {failed} recoveries failed: the faults do not reach them");
}
