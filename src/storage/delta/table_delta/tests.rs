use std::collections::BTreeMap;

use super::*;
use crate::delta::{Locations, visible_of};
use rowkey_base::testing::Dice;
use rowkey_model::rows::{EncodedRow, Rows, key_bytes};
use rowkey_model::{DateTime, KeyRef};

fn row(delta: &TableDelta, row: &str, at: Option<i64>) -> EncodedRow {
    let mut rows = Rows::new();
    let key = KeyRef { partition: "p", row };
    rows.push(delta.names(), key, at.map(DateTime::from_ticks), std::iter::empty()).expect("a row");
    rows.to_encoded().next().expect("a row")
}

fn written(delta: &TableDelta, key: &str, at: i64) -> Arc<Version> {
    Version::written(row(delta, key, Some(at)), Locations::unknown())
}

fn deleted(delta: &TableDelta, key: &str) -> Arc<Version> {
    Version::deleted(row(delta, key, None), Locations::unknown())
}

fn add(to: &Generation, sequence: u64, version: Arc<Version>) {
    to.add(sequence, KeyHash::of(version.key_bytes()), version);
}

/// RowKeys and Timestamps of the entities that a snapshot sees.
fn seen(delta: &TableDelta, sequence: u64) -> Vec<(String, i64)> {
    let layers = delta.layers(sequence);
    let mut seen: Vec<(String, i64)> = layers
        .iter()
        .flat_map(|(layer, hidden)| {
            let versions = layer.versions().iter().enumerate();
            let live = versions.filter(|(place, _)| !hidden.contains(*place as u32));
            live.filter_map(|(_, v)| Some((v.key().row.to_owned(), v.timestamp()?.ticks()))).collect::<Vec<_>>()
        })
        .collect();
    seen.sort();
    assert_eq!(seen.len() as u64, layers.live_rows());
    for (row, at) in &seen {
        let key = key_bytes(KeyRef { partition: "p", row });
        assert_eq!(layers.find(&key).and_then(|v| v.timestamp()), Some(DateTime::from_ticks(*at)));
        assert_eq!(
            delta.newest(&key, KeyHash::of(&key), sequence).and_then(|(_, v)| v.timestamp()),
            Some(DateTime::from_ticks(*at))
        );
    }
    seen
}

fn rows(of: &[(&str, i64)]) -> Vec<(String, i64)> {
    of.iter().map(|(row, at)| ((*row).to_owned(), *at)).collect()
}

#[test]
fn a_snapshot_sees_the_versions_up_to_its_number_across_generations() {
    let mut delta = TableDelta::new();
    add(delta.active(), 5, written(&delta, "a", 5));
    add(delta.active(), 6, written(&delta, "b", 6));
    add(delta.active(), 7, deleted(&delta, "a"));
    delta = delta.sealed();
    add(delta.active(), 8, written(&delta, "a", 8));
    add(delta.active(), 8, written(&delta, "c", 8));
    add(delta.active(), 9, written(&delta, "b", 9));
    delta = delta.sealed();
    add(delta.active(), 10, deleted(&delta, "c"));
    for _ in 0..2 {
        assert_eq!(seen(&delta, 4), rows(&[]));
        assert_eq!(seen(&delta, 5), rows(&[("a", 5)]));
        assert_eq!(seen(&delta, 6), rows(&[("a", 5), ("b", 6)]));
        assert_eq!(seen(&delta, 7), rows(&[("b", 6)]));
        assert_eq!(seen(&delta, 8), rows(&[("a", 8), ("b", 6), ("c", 8)]));
        assert_eq!(seen(&delta, 9), rows(&[("a", 8), ("b", 9), ("c", 8)]));
        assert_eq!(seen(&delta, 10), rows(&[("a", 8), ("b", 9)]));
        assert_eq!(seen(&delta, u64::MAX), rows(&[("a", 8), ("b", 9)]));
    }
    assert_eq!((delta.first_sequence(), delta.last_sequence(), delta.len()), (Some(5), 10, 7));
    let folded = delta.folded(1);
    assert_eq!(seen(&folded, 10), rows(&[("a", 8), ("b", 9)]));
    assert_eq!(folded.first_sequence(), Some(8));
    let above = TableDelta::above(&delta, 8);
    assert_eq!(seen(&above, 10), rows(&[("b", 9)]));
    let gone = key_bytes(KeyRef { partition: "p", row: "c" });
    assert!(above.newest(&gone, KeyHash::of(&gone), 10).is_some_and(|(_, v)| v.is_deleted()));
}

#[test]
fn what_is_added_later_is_not_taken_for_part_of_a_kept_view() {
    let delta = TableDelta::new();
    add(delta.active(), 1, written(&delta, "a", 1));
    assert_eq!(seen(&delta, 100), rows(&[("a", 1)]));
    add(delta.active(), 101, written(&delta, "b", 2));
    assert_eq!(seen(&delta, 100), rows(&[("a", 1)]));
    assert_eq!(seen(&delta, 101), rows(&[("a", 1), ("b", 2)]));
}

#[test]
fn a_generation_of_a_transaction_goes_back_to_a_savepoint() {
    let delta = Arc::new(TableDelta::new());
    add(delta.active(), 1, written(&delta, "a", 1));
    add(delta.active(), 2, written(&delta, "a", 2));
    add(delta.active(), 2, written(&delta, "b", 2));
    assert!(Arc::ptr_eq(&delta.up_to(2), &delta), "there is nothing to take back");
    let back = delta.up_to(1);
    assert_eq!(seen(&back, u64::MAX), rows(&[("a", 1)]));
    // The numbers are given again.
    add(back.active(), 2, written(&back, "c", 7));
    assert_eq!(seen(&back, u64::MAX), rows(&[("a", 1), ("c", 7)]));
    assert!(delta.up_to(0).is_empty());
}

/// Everything that was written: by sequence number the RowKey, and whether it was written or
/// deleted.
type Written = Vec<(u64, String, bool)>;

/// What is to be seen: of each key the last write up to a sequence number.
fn expected(written: &Written, sequence: u64) -> Vec<(String, i64)> {
    let mut last = std::collections::BTreeMap::new();
    for (at, row, is_deletion) in written.iter().filter(|(at, ..)| *at <= sequence) {
        last.insert(row, (*at, *is_deletion));
    }
    let live = last.into_iter().filter(|(_, (_, is_deletion))| !is_deletion);
    live.map(|(row, (at, _))| (row.clone(), at as i64)).collect()
}

#[test]
fn generated_writes_are_seen_the_same_whenever_generations_are_sealed() {
    for seed in 1..=20u64 {
        let mut dice = Dice(seed);
        let mut roll = |sides: u64| dice.next_u64() % sides;
        let mut delta = TableDelta::new();
        let mut history: Written = Vec::new();
        // Many keys, so that small and large layers meet.
        let keys = [5, 60, 2_000][roll(3) as usize];
        for sequence in 1..=400 {
            let size = if roll(40) == 0 { 1 + roll(600) } else { 1 + roll(3) };
            for _ in 0..size {
                let (key, is_deletion) = (format!("{:05}", roll(keys)), roll(4) == 0);
                if history.iter().rev().take_while(|(at, ..)| *at == sequence).any(|(_, row, _)| *row == key) {
                    continue;
                }
                let version = if is_deletion { deleted(&delta, &key) } else { written(&delta, &key, sequence as i64) };
                add(delta.active(), sequence, version);
                history.push((sequence, key, is_deletion));
            }
            if roll(12) == 0 {
                delta = delta.sealed();
            }
            // Once or twice between seals, so that some hidden places are known and some are new.
            if roll(9) == 0 {
                let before = sequence - roll(sequence.min(30));
                assert_eq!(seen(&delta, sequence), expected(&history, sequence), "seed {seed}, at {sequence}");
                assert_eq!(seen(&delta, before), expected(&history, before), "seed {seed}, {before} at {sequence}");
            }
            if roll(60) == 0 && !delta.sealed_generations().is_empty() {
                let count = 1 + roll(delta.sealed_generations().len() as u64) as usize;
                let folded = delta.sealed_generations()[..count].iter().map(|g| g.last_sequence()).max();
                delta = delta.folded(count);
                history.retain(|(at, ..)| Some(*at) > folded);
            }
        }
    }
}

#[test]
fn generations_are_brought_together_in_key_order_and_the_newest_counts() {
    for seed in 1..=200 {
        let mut dice = Dice(seed);
        let mut delta = TableDelta::new();
        let mut model = BTreeMap::new();
        // Keys that begin alike, end where others go on, and have bytes of all kinds.
        let begins = ["", "order-2024-", "é"][dice.below(3)];
        let longest = 1 + dice.below(12);
        let mut sequence = 0;
        for _ in 0..1 + dice.below(5) {
            for _ in 0..dice.below(40) {
                sequence += 1;
                let letters = (0..dice.below(longest + 1)).map(|_| [' ', 'a', 'b', 'ÿ', '\u{10fffd}'][dice.below(5)]);
                let key = format!("{begins}{}", letters.collect::<String>());
                let version = written(&delta, &key, sequence);
                model.insert(version.key_bytes().to_vec(), sequence);
                add(delta.active(), sequence as u64, version);
            }
            delta = delta.sealed();
        }
        let found = visible_of(delta.sealed_generations(), u64::MAX);
        let at = |version: &Arc<Version>| version.timestamp().expect("an entity").ticks();
        let found: Vec<_> = found.iter().map(|version| (version.key_bytes().to_vec(), at(version))).collect();
        assert_eq!(found, model.into_iter().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn keys_are_found_in_a_generation_of_any_size_at_every_number() {
    for (seed, keys) in [(1, 1), (2, 30), (3, 3_000), (4, 100_000)] {
        let mut dice = Dice(seed);
        let delta = TableDelta::new();
        let mut history: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for sequence in 1..=40_000 {
            let key = dice.below(keys);
            add(delta.active(), sequence, written(&delta, &format!("{key:06}"), sequence as i64));
            history.entry(key).or_default().push(sequence);
        }
        for _ in 0..2_000 {
            let (key, sequence) = (dice.below(keys), dice.below(40_001) as u64);
            let bytes = key_bytes(KeyRef { partition: "p", row: &format!("{key:06}") });
            let found = delta.newest(&bytes, KeyHash::of(&bytes), sequence).map(|(at, _)| at);
            let written = history.get(&key).into_iter().flatten();
            assert_eq!(found, written.copied().filter(|at| *at <= sequence).max(), "{key} of {keys} at {sequence}");
        }
        let newest: Vec<u64> = history.values().filter_map(|written| written.last().copied()).collect();
        let visible = delta.active().visible(u64::MAX);
        let seen = visible.iter().filter_map(|version| Some(version.timestamp()?.ticks() as u64));
        assert!(seen.eq(newest), "of {keys} keys");
    }
}
