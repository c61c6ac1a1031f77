use super::*;
use crate::model::{DateTime, KeyRef};
use crate::rows::{EncodedRow, key_bytes};
use crate::storage::delta::Locations;

fn written(delta: &TableDelta, row: &str, at: i64) -> Arc<Version> {
    let key = KeyRef { partition: "p", row };
    let row = EncodedRow::encode(delta.names(), key, DateTime::from_ticks(at), std::iter::empty()).expect("a row");
    Version::written(row, Locations::unknown())
}

fn deleted(delta: &TableDelta, row: &str) -> Arc<Version> {
    Version::deleted(delta.names(), KeyRef { partition: "p", row }, Locations::unknown()).expect("a deletion")
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
        assert_eq!(delta.newest(&key, sequence).and_then(|(_, v)| v.timestamp()), Some(DateTime::from_ticks(*at)));
    }
    seen
}

fn rows(of: &[(&str, i64)]) -> Vec<(String, i64)> {
    of.iter().map(|(row, at)| ((*row).to_owned(), *at)).collect()
}

#[test]
fn a_snapshot_sees_the_versions_up_to_its_number_across_generations() {
    let mut delta = TableDelta::new();
    delta.active().add(5, written(&delta, "a", 5));
    delta.active().add(6, written(&delta, "b", 6));
    delta.active().add(7, deleted(&delta, "a"));
    delta = delta.sealed();
    delta.active().add(8, written(&delta, "a", 8));
    delta.active().add(8, written(&delta, "c", 8));
    delta.active().add(9, written(&delta, "b", 9));
    delta = delta.sealed();
    delta.active().add(10, deleted(&delta, "c"));
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
    assert!(above.newest(&key_bytes(KeyRef { partition: "p", row: "c" }), 10).is_some_and(|(_, v)| v.is_deleted()));
}

#[test]
fn what_is_added_later_is_not_taken_for_part_of_a_kept_view() {
    let delta = TableDelta::new();
    delta.active().add(1, written(&delta, "a", 1));
    assert_eq!(seen(&delta, 100), rows(&[("a", 1)]));
    delta.active().add(101, written(&delta, "b", 2));
    assert_eq!(seen(&delta, 100), rows(&[("a", 1)]));
    assert_eq!(seen(&delta, 101), rows(&[("a", 1), ("b", 2)]));
}

#[test]
fn a_generation_of_a_transaction_goes_back_to_a_savepoint() {
    let delta = TableDelta::new();
    let own = delta.active();
    own.add(1, written(&delta, "a", 1));
    own.add(2, written(&delta, "a", 2));
    own.add(2, written(&delta, "b", 2));
    own.roll_back(1);
    assert_eq!(seen(&delta, u64::MAX), rows(&[("a", 1)]));
    own.roll_back(0);
    assert!(own.is_empty());
}
