//! Expressions over key sets, beside the same over bitmaps of all keys of a small universe.

use rowkey_base::testing::{Dice, fuzz};

use super::{KeyDice, TEXTS};
use crate::KeyRef;
use crate::key_set::{KeyRange, KeySet};

/// The keys of the universe, in their order.
fn universe() -> Vec<KeyRef<'static>> {
    let mut texts = TEXTS;
    texts.sort_unstable();
    texts.iter().flat_map(|&partition| texts.iter().map(move |&row| KeyRef { partition, row })).collect()
}

/// Which keys of the universe are in a set, in their order.
type Bitmap = Vec<bool>;

fn bitmap(universe: &[KeyRef<'_>], holds: impl Fn(KeyRef<'_>) -> bool) -> Bitmap {
    universe.iter().map(|&key| holds(key)).collect()
}

fn both(a: &Bitmap, b: &Bitmap, of: impl Fn(bool, bool) -> bool) -> Bitmap {
    a.iter().zip(b).map(|(&a, &b)| of(a, b)).collect()
}

/// An expression of so many levels, as a set and as a bitmap. A leaf's bitmap is that of its
/// ranges, each asked by its two cuts.
fn expression(dice: &mut KeyDice, universe: &[KeyRef<'_>], levels: usize) -> (KeySet, Bitmap) {
    if levels == 0 {
        let count = dice.below(5);
        let cuts: Vec<_> = (0..count).map(|_| (dice.key_cut(), dice.key_cut())).collect();
        let holds = |key: KeyRef<'_>| cuts.iter().any(|(lower, upper)| lower.is_below(key) && !upper.is_below(key));
        let ranges = cuts.iter().filter_map(|(lower, upper)| KeyRange::new(lower.clone(), upper.clone()));
        return (KeySet::from_ranges(ranges), bitmap(universe, holds));
    }
    let (a, in_a) = expression(dice, universe, levels - 1);
    match dice.below(4) {
        0 => (a.complement(), in_a.iter().map(|held| !held).collect()),
        1 => {
            let (b, in_b) = expression(dice, universe, levels - 1);
            (a.union(&b), both(&in_a, &in_b, |a, b| a || b))
        }
        2 => {
            let (b, in_b) = expression(dice, universe, levels - 1);
            (a.intersect(&b), both(&in_a, &in_b, |a, b| a && b))
        }
        _ => {
            let (b, in_b) = expression(dice, universe, levels - 1);
            (a.intersect(&b.complement()), both(&in_a, &in_b, |a, b| a && !b))
        }
    }
}

fn expect_form(set: &KeySet) {
    for pair in set.ranges().windows(2) {
        assert!(pair[0].upper() < pair[1].lower(), "they ascend and do not touch: {set:?}");
    }
    for range in set.ranges() {
        assert!(range.lower() < range.upper(), "none is empty: {set:?}");
    }
    assert_eq!(KeySet::from_ranges(set.ranges().iter().rev().cloned()), *set);
    assert_eq!((set.is_empty(), set.complement().is_all()), (set.ranges().is_empty(), set.is_empty()));
    assert_eq!(set.complement().complement(), *set);
}

fn expect_spans(dice: &mut KeyDice, universe: &[KeyRef<'_>], set: &KeySet, held: &Bitmap) {
    for _ in 0..12 {
        let (first, last) = (dice.below(universe.len()), dice.below(universe.len()));
        let (from, to) = (universe[first], universe[last]);
        let of_span = held.get(first..=last).unwrap_or_default();
        let what = format!("{from:?} to {to:?} in {set:?}");
        // Between two keys of the universe lie others.
        assert!(set.overlaps(from, to) || !of_span.contains(&true), "{what}");
        assert!(!set.covers(from, to) || !of_span.is_empty() && !of_span.contains(&false), "{what}");
        let reaching: Vec<&KeyRange> =
            set.ranges().iter().filter(|range| !range.upper().is_below(from) && range.lower().is_below(to)).collect();
        let reaching = if last < first { Vec::new() } else { reaching };
        assert_eq!(set.overlapping(from, to).iter().collect::<Vec<_>>(), reaching, "{what}");
        assert_eq!(set.contains(from), held[first], "{what}");
    }
}

#[test]
fn fuzz_expressions_over_key_sets_agree_with_bitmaps() {
    let universe = universe();
    fuzz("key sets", |dice| {
        let mut dice = KeyDice(Dice(dice.next_u64()));
        let levels = dice.below(5);
        let (set, held) = expression(&mut dice, &universe, levels);
        assert_eq!(bitmap(&universe, |key| set.contains(key)), held, "{set:?}");
        expect_form(&set);
        expect_spans(&mut dice, &universe, &set, &held);
        for ranges_max in 1..5 {
            let coarse = set.coarsened(ranges_max);
            expect_form(&coarse);
            assert!(coarse.ranges().len() <= ranges_max, "{set:?}");
            assert_eq!(coarse.intersect(&set), set, "a superset");
            assert!(set.ranges().len() > ranges_max || coarse == set, "{set:?}");
        }
    });
}
