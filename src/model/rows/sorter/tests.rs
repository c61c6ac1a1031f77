use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::generated::{Random, push};
use super::super::{Deduplicator, Error, PropertyNames, Rows};
use super::{Sorter, SorterOptions};
use crate::files::{FileStore, MemoryStore};
use crate::{DateTime, Key, ValueRef};

type Model = BTreeMap<Key, (Option<DateTime>, i64)>;

fn number(row: super::super::RowRef<'_>) -> i64 {
    match row.properties().next() {
        Some((_, ValueRef::Int64(n))) => n,
        other => panic!("{other:?}"),
    }
}

/// Appends batches to one list, which must be strictly ascending.
fn collect(list: &mut Vec<(Key, Option<DateTime>, i64)>, batch: &Rows) {
    for row in batch.iter() {
        let key = row.key().to_key();
        assert!(list.last().is_none_or(|(last, _, _)| *last < key), "{key:?} after {:?}", list.last());
        list.push((key, row.timestamp(), number(row)));
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Sorted,
    SortedPieces(usize),
    Random,
}

struct Outcome {
    interrupted: bool,
    handed_on: usize,
    spilled_bytes: u64,
}

/// Sorts generated rows and compares them with a map.
fn check(seed: u64, shape: Shape, rows: usize, keys: usize, memory: usize, stream_after: Option<usize>) -> Outcome {
    let mut random = Random::new(seed);
    let names = PropertyNames::new();
    let mut input: Vec<(Key, Option<DateTime>)> = (0..rows)
        .map(|_| {
            let k = random.below(keys);
            let timestamp = (!random.chance(4)).then(|| DateTime::from_ticks(random.below(3) as i64));
            (Key::new(format!("p{:03}", k / 16), format!("r{:06}", k)), timestamp)
        })
        .collect();
    match shape {
        Shape::Sorted => input.sort_by(|a, b| a.0.cmp(&b.0)),
        Shape::SortedPieces(pieces) => {
            input.chunks_mut(rows.div_ceil(pieces)).for_each(|piece| piece.sort_by(|a, b| a.0.cmp(&b.0)));
        }
        Shape::Random => {}
    }
    let mut model = Model::new();
    for (n, (key, timestamp)) in input.iter().enumerate() {
        let entry = model.entry(key.clone()).or_insert((*timestamp, n as i64));
        if *timestamp >= entry.0 {
            *entry = (*timestamp, n as i64);
        }
    }
    let store = MemoryStore::new();
    let options = SorterOptions { memory_bytes_max: memory, stream_after_bytes: stream_after };
    let mut sorter = Sorter::new(Arc::new(store.clone()), "tmp/sort", options);
    let (mut head, mut rest) = (Vec::new(), Vec::new());
    let mut distinct = Deduplicator::new();
    let mut n = 0;
    while n < input.len() {
        let mut chunk = Rows::new();
        for _ in 0..1 + random.below(60) {
            let Some((key, timestamp)) = input.get(n) else { break };
            push(&mut chunk, &names, (&key.partition, &key.row), *timestamp, n as i64);
            n += 1;
        }
        for batch in sorter.push(chunk).unwrap() {
            distinct.push(batch).iter().for_each(|batch| collect(&mut head, batch));
        }
    }
    let mut sorted = sorter.finish().unwrap();
    if sorted.head_interrupted() {
        distinct.finish().iter().for_each(|batch| collect(&mut head, batch));
    }
    let handed_on = head.len();
    assert!(sorted.head_handed_on() || handed_on == 0);
    let to = if sorted.head_interrupted() { &mut rest } else { &mut head };
    while let Some(batch) = sorted.next_batch().unwrap() {
        assert!(!batch.is_empty());
        distinct.push(batch).iter().for_each(|batch| collect(to, batch));
    }
    distinct.finish().iter().for_each(|batch| collect(to, batch));
    let outcome = Outcome { interrupted: sorted.head_interrupted(), handed_on, spilled_bytes: sorted.spilled_bytes() };
    let mut result = Model::new();
    let mut in_both = 0;
    for (key, timestamp, n) in head.into_iter().chain(rest) {
        match result.get(&key) {
            Some(earlier) => {
                in_both += 1;
                if timestamp >= earlier.0 {
                    result.insert(key, (timestamp, n));
                }
            }
            None => {
                result.insert(key, (timestamp, n));
            }
        }
    }
    assert_eq!(result, model);
    let dropped = distinct.duplicates().superseded + distinct.take_conflicts().len() as u64;
    assert_eq!(distinct.duplicates().equal, 0, "all values differ");
    assert_eq!(dropped + in_both, (rows - model.len()) as u64);
    drop(sorted);
    assert!(store.files().is_empty(), "left behind: {:?}", store.files().keys());
    outcome
}

#[test]
fn any_order_comes_out_sorted_with_tiny_memory() {
    let mut spilled = 0;
    let mut interrupted = 0;
    for seed in 0..120u64 {
        let mut random = Random::new(seed ^ 0xabcd);
        let shape = *random.pick(&[Shape::Sorted, Shape::SortedPieces(3), Shape::SortedPieces(20), Shape::Random]);
        let rows = random.below(3000);
        let keys = 1 + random.below(4000);
        let memory = *random.pick(&[1, 5_000, 40_000, 10_000_000]);
        let stream_after = *random.pick(&[None, Some(0), Some(10_000)]);
        eprintln!("seed {seed}: {shape:?} rows {rows} keys {keys} memory {memory} stream after {stream_after:?}");
        let outcome = check(seed, shape, rows, keys, memory, stream_after);
        spilled += u64::from(outcome.spilled_bytes > 0);
        interrupted += u64::from(outcome.interrupted);
        assert!(stream_after.is_some() || !outcome.interrupted);
    }
    assert!(spilled > 20 && interrupted > 10, "{spilled} spilled, {interrupted} interrupted");
}

#[test]
fn many_runs_are_merged_in_several_passes() {
    // One chunk for each run and a fan-in of two.
    let outcome = check(7, Shape::Random, 5000, 3000, 1, None);
    assert!(outcome.spilled_bytes > 4 * 5000 * 40, "{} bytes are too few for several passes", outcome.spilled_bytes);
}

#[test]
fn sorted_input_streams_without_spilling() {
    let outcome = check(1, Shape::Sorted, 5000, 100_000, 20_000, Some(5_000));
    assert_eq!((outcome.interrupted, outcome.spilled_bytes), (false, 0));
    assert!(outcome.handed_on > 4000);
}

#[test]
fn an_unsorted_tail_behind_a_long_sorted_head_interrupts_it() {
    let outcome = check(2, Shape::SortedPieces(2), 5000, 100_000, 20_000, Some(5_000));
    assert!(outcome.interrupted && outcome.handed_on > 2000);
}

#[test]
fn sorted_input_without_streaming_is_one_run() {
    let outcome = check(3, Shape::Sorted, 5000, 100_000, 20_000, None);
    assert!(outcome.spilled_bytes > 0 && outcome.spilled_bytes < 5000 * 70, "{} bytes", outcome.spilled_bytes);
}

fn spilled_sorter(store: &MemoryStore) -> Sorter {
    let names = PropertyNames::new();
    let options = SorterOptions { memory_bytes_max: 1, stream_after_bytes: None };
    let mut sorter = Sorter::new(Arc::new(store.clone()), "tmp/sort", options);
    for n in 0..10 {
        let mut rows = Rows::new();
        push(&mut rows, &names, ("p", &format!("{}", 9 - n)), None, n);
        sorter.push(rows).unwrap();
    }
    sorter
}

#[test]
fn a_sorter_given_up_removes_its_files() {
    let store = MemoryStore::new();
    let sorter = spilled_sorter(&store);
    assert!(!store.files().is_empty());
    drop(sorter);
    assert!(store.files().is_empty());
}

#[test]
fn a_flipped_bit_in_a_run_is_refused_with_its_place() {
    let store = MemoryStore::new();
    let sorter = spilled_sorter(&store);
    let path = "tmp/sort/run-000003";
    let mut content = store.files()[path].clone();
    let last = content.len() - 1;
    content[last] ^= 1;
    store.open_for_write(path).unwrap().write_at(0, &content).unwrap();
    let error = sorter.finish().map(|sorted| sorted.count()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path: p, offset: 0, .. } if p == path), "{error}");
    assert!(error.to_string().contains(path));
    assert!(store.files().is_empty(), "left behind: {:?}", store.files().keys());
}

#[test]
fn a_failing_file_is_named() {
    let store = MemoryStore::new();
    store.create("tmp/sort/run-000001").unwrap();
    let names = PropertyNames::new();
    let options = SorterOptions { memory_bytes_max: 1, stream_after_bytes: None };
    let mut sorter = Sorter::new(Arc::new(store), "tmp/sort", options);
    let mut rows = Rows::new();
    push(&mut rows, &names, ("p", "r"), None, 1);
    let error = sorter.push(rows).unwrap_err();
    assert!(error.to_string().contains("run-000001"), "{error}");
}
