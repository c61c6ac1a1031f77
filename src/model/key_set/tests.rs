mod algebra;

use rowkey_base::testing::Dice;

use super::*;
use crate::{Key, KeyRef};

/// Shared prefixes, empty, just above another (`\0`), on both sides of the surrogates, and the last
/// character.
const TEXTS: [&str; 14] = [
    "",
    "A",
    "a",
    "a\0",
    "aa",
    "ab",
    "a\u{10FFFF}",
    "b",
    "é",
    "\u{D7FF}",
    "\u{E000}",
    "\u{FFFF}x",
    "\u{10000}",
    "\u{10FFFF}\u{10FFFF}",
];

const SEEDS: std::ops::Range<u64> = 1..400;

/// Choices of keys and of sets of them.
struct KeyDice(Dice);

impl KeyDice {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn text(&mut self) -> &'static str {
        self.0.pick(&TEXTS)
    }

    fn key(&mut self) -> KeyRef<'static> {
        KeyRef { partition: self.text(), row: self.text() }
    }

    fn cut(&mut self) -> Cut {
        match self.below(6) {
            0 => Cut::Start,
            1 | 2 => Cut::Before(self.text().to_owned()),
            3 | 4 => Cut::After(self.text().to_owned()),
            _ => Cut::End,
        }
    }

    fn key_cut(&mut self) -> KeyCut {
        match self.below(10) {
            0 => KeyCut::Start,
            1 | 2 => KeyCut::BeforePartition(self.text().to_owned()),
            3 | 4 => KeyCut::Before(self.key().to_key()),
            5 | 6 => KeyCut::After(self.key().to_key()),
            7 | 8 => KeyCut::AfterPartition(self.text().to_owned()),
            _ => KeyCut::End,
        }
    }

    fn interval_set(&mut self) -> IntervalSet {
        let count = self.below(5);
        let intervals: Vec<_> = (0..count).filter_map(|_| Interval::new(self.cut(), self.cut())).collect();
        IntervalSet::from_intervals(intervals)
    }

    fn key_set(&mut self) -> KeySet {
        let count = self.below(6);
        let ranges: Vec<_> = (0..count).filter_map(|_| KeyRange::new(self.key_cut(), self.key_cut())).collect();
        KeySet::from_ranges(ranges)
    }
}

fn all_keys() -> impl Iterator<Item = KeyRef<'static>> {
    TEXTS.into_iter().flat_map(|partition| TEXTS.into_iter().map(move |row| KeyRef { partition, row }))
}

fn before(text: &str) -> Cut {
    Cut::Before(text.to_owned())
}

fn after(text: &str) -> Cut {
    Cut::After(text.to_owned())
}

fn key(partition: &str, row: &str) -> Key {
    Key::new(partition, row)
}

fn range(lower: KeyCut, upper: KeyCut) -> KeyRange {
    KeyRange::new(lower, upper).unwrap()
}

#[test]
fn cuts_divide_texts_as_they_compare() {
    for text in TEXTS {
        for other in TEXTS {
            assert_eq!(before(other).is_below(text), other <= text, "before {other:?}, {text:?}");
            assert_eq!(after(other).is_below(text), other < text, "after {other:?}, {text:?}");
            assert_eq!(before(text) < before(other), text < other);
            assert_eq!(after(text) < before(other), text < other);
            assert_eq!(before(text) < after(other), text <= other);
        }
        assert!(Cut::Start < before(text) && after(text) < Cut::End);
        assert!(Cut::Start.is_below(text) && !Cut::End.is_below(text));
    }
}

#[test]
fn intervals_are_never_empty() {
    assert_eq!(Interval::new(Cut::Start, before("")), None);
    assert_eq!(Interval::new(after("a"), before("a\0")), None);
    assert_eq!(Interval::new(before("b"), before("a")), None);
    assert_eq!(Interval::new(after("a"), after("a")), None);
    assert!(Interval::new(Cut::Start, after("")).is_some());
    assert!(Interval::new(after("a"), before("a\0\0")).is_some());
}

#[test]
fn the_same_place_is_held_in_one_form() {
    assert_eq!(Interval::new(before(""), Cut::End), Some(Interval::all()));
    assert_eq!(Interval::new(Cut::Start, before("a\0")), Interval::new(Cut::Start, after("a")));
    let up_to_a = Interval::new(Cut::Start, after("a")).unwrap();
    let from_above_a = Interval::new(before("a\0"), Cut::End).unwrap();
    assert!(IntervalSet::from_intervals([from_above_a, up_to_a]).is_all());
}

#[test]
fn points_and_prefixes_hold_what_they_say() {
    for text in TEXTS {
        let point = Interval::point(text);
        assert_eq!(point.as_point(), Some(text));
        let prefix = Interval::prefix(text);
        assert_eq!(prefix.as_point(), None, "{text:?}");
        for other in TEXTS {
            assert_eq!(point.contains(other), other == text, "{text:?} {other:?}");
            assert_eq!(prefix.contains(other), other.starts_with(text), "{text:?} {other:?}");
        }
    }
    assert_eq!(Interval::prefix("ab").upper(), &before("ac"));
    assert_eq!(Interval::prefix("a\u{D7FF}").upper(), &before("a\u{E000}"));
    assert_eq!(Interval::prefix("a\u{10FFFF}").upper(), &before("b"));
    assert_eq!(Interval::prefix("\u{10FFFF}").upper(), &Cut::End);
    assert_eq!(Interval::prefix(""), Interval::all());
}

#[test]
fn interval_sets_obey_the_algebra_of_sets() {
    for seed in SEEDS {
        let mut dice = KeyDice(Dice(seed));
        let (a, b, c) = (dice.interval_set(), dice.interval_set(), dice.interval_set());
        for text in TEXTS {
            let (in_a, in_b) = (a.contains(text), b.contains(text));
            assert_eq!(in_a, a.intervals().iter().any(|interval| interval.contains(text)), "seed {seed} {text:?}");
            assert_eq!(a.union(&b).contains(text), in_a || in_b, "seed {seed} {text:?}");
            assert_eq!(a.intersect(&b).contains(text), in_a && in_b, "seed {seed} {text:?}");
            assert_eq!(a.complement().contains(text), !in_a, "seed {seed} {text:?}");
            assert!(!in_a || a.coarsened(2).contains(text), "seed {seed} {text:?}");
        }
        assert_eq!(a.complement().complement(), a, "seed {seed}");
        assert_eq!(a.union(&b), b.union(&a), "seed {seed}");
        assert_eq!(a.union(&b).complement(), a.complement().intersect(&b.complement()), "seed {seed}");
        assert_eq!(a.intersect(&b.union(&c)), a.intersect(&b).union(&a.intersect(&c)), "seed {seed}");
        assert_eq!(IntervalSet::from_intervals(a.intervals().iter().rev().cloned()), a, "seed {seed}");
        assert!(a.union(&a.complement()).is_all() && a.intersect(&a.complement()).is_empty(), "seed {seed}");
        assert!(a.coarsened(2).intervals().len() <= 2, "seed {seed}");
    }
}

#[test]
fn key_cuts_divide_keys_as_they_compare() {
    for seed in SEEDS {
        let mut dice = KeyDice(Dice(seed));
        let (a, b) = (dice.key_cut(), dice.key_cut());
        let mut between = false;
        for key in all_keys() {
            if a < b {
                assert!(a.is_below(key) || !b.is_below(key), "seed {seed} {a:?} {b:?} {key:?}");
            }
            between |= a.is_below(key) && !b.is_below(key);
        }
        assert!(!between || KeyRange::new(a.clone(), b.clone()).is_some(), "seed {seed} {a:?} {b:?}");
    }
}

#[test]
fn ranges_hold_what_they_say() {
    for seed in SEEDS {
        let mut dice = KeyDice(Dice(seed));
        let only = dice.key();
        let Some(rows) = Interval::new(dice.cut(), dice.cut()) else { continue };
        for key in all_keys() {
            assert_eq!(KeyRange::point(only.to_key()).contains(key), key == only, "seed {seed} {key:?}");
            let in_partition = key.partition == only.partition;
            assert_eq!(KeyRange::partition(only.partition).contains(key), in_partition, "seed {seed} {key:?}");
            let in_rows = in_partition && rows.contains(key.row);
            assert_eq!(KeyRange::rows(only.partition, &rows).contains(key), in_rows, "seed {seed} {key:?}");
            let in_span = rows.contains(key.partition);
            assert_eq!(KeyRange::partitions(&rows).contains(key), in_span, "seed {seed} {key:?}");
        }
    }
}

#[test]
fn the_shape_of_a_range_is_recognised() {
    for partition in TEXTS {
        for row in TEXTS {
            let point = KeyRange::point(key(partition, row));
            assert_eq!(point.as_point(), Some(KeyRef { partition, row }));
            assert_eq!(point.single_partition(), Some(partition), "{partition:?}");
            assert!(!point.is_whole_partition());
        }
        let whole = KeyRange::partition(partition);
        assert_eq!((whole.as_point(), whole.single_partition()), (None, Some(partition)), "{partition:?}");
        assert!(whole.is_whole_partition(), "{partition:?}");
        assert_eq!(whole, KeyRange::rows(partition, &Interval::all()), "{partition:?}");
        let rows = KeyRange::rows(partition, &Interval::new(before("a"), Cut::End).unwrap());
        assert_eq!((rows.as_point(), rows.single_partition()), (None, Some(partition)), "{partition:?}");
        assert!(!rows.is_whole_partition());
        let span = range(KeyCut::BeforePartition(partition.to_owned()), KeyCut::End);
        assert_eq!((span.as_point(), span.single_partition()), (None, None));
        assert!(!span.is_whole_partition());
    }
}

#[test]
fn empty_keys_are_keys_and_not_bounds() {
    let empty = KeyRef { partition: "", row: "" };
    let least = KeySet::from(KeyRange::point(key("", "")));
    assert!(least.contains(empty) && !least.contains(KeyRef { partition: "", row: "\0" }));
    let rest = least.complement();
    assert!(!rest.contains(empty) && rest.contains(KeyRef { partition: "", row: "\0" }));
    assert!(least.union(&rest).is_all());
}

#[test]
fn key_sets_obey_the_algebra_of_sets() {
    for seed in SEEDS {
        let mut dice = KeyDice(Dice(seed));
        let (a, b, c) = (dice.key_set(), dice.key_set(), dice.key_set());
        for key in all_keys() {
            let (in_a, in_b) = (a.contains(key), b.contains(key));
            assert_eq!(in_a, a.ranges().iter().any(|range| range.contains(key)), "seed {seed} {key:?}");
            assert_eq!(a.union(&b).contains(key), in_a || in_b, "seed {seed} {key:?}");
            assert_eq!(a.intersect(&b).contains(key), in_a && in_b, "seed {seed} {key:?}");
            assert_eq!(a.complement().contains(key), !in_a, "seed {seed} {key:?}");
            assert!(!in_a || a.coarsened(1).contains(key), "seed {seed} {key:?}");
        }
        assert_eq!(a.complement().complement(), a, "seed {seed}");
        assert_eq!(a.intersect(&b), b.intersect(&a), "seed {seed}");
        assert_eq!(a.intersect(&b).complement(), a.complement().union(&b.complement()), "seed {seed}");
        assert_eq!(a.union(&b.intersect(&c)), a.union(&b).intersect(&a.union(&c)), "seed {seed}");
        assert!(a.union(&a.complement()).is_all() && a.intersect(&a.complement()).is_empty(), "seed {seed}");
        assert!(a.ranges().is_sorted_by(|x, y| x.upper() < y.lower()), "seed {seed}: {a:?}");
        assert!(a.coarsened(2).ranges().len() <= 2, "seed {seed}");
    }
}

#[test]
fn spans_of_keys_are_compared_with_the_set() {
    for seed in SEEDS {
        let mut dice = KeyDice(Dice(seed));
        let set = dice.key_set();
        let (first, last) = (dice.key(), dice.key());
        if last < first {
            assert!(!set.overlaps(first, last) && !set.covers(first, last), "seed {seed}");
            continue;
        }
        let span = KeySet::from(range(KeyCut::Before(first.to_key()), KeyCut::After(last.to_key())));
        assert_eq!(set.overlaps(first, last), !set.intersect(&span).is_empty(), "seed {seed}");
        assert_eq!(set.covers(first, last), set.intersect(&span) == span, "seed {seed}");
        let reaching = set.overlapping(first, last);
        assert_eq!(KeySet::from_ranges(reaching.iter().cloned()).intersect(&span), set.intersect(&span), "seed {seed}");
    }
}

#[test]
fn intervals_read_as_conditions() {
    let condition = |lower, upper| Interval::new(lower, upper).unwrap().condition("RowKey");
    assert_eq!(Interval::point("it's").condition("RowKey"), "RowKey = 'it''s'");
    assert_eq!(condition(before("1"), after("5")), "RowKey >= '1' AND RowKey <= '5'");
    assert_eq!(condition(after("1"), Cut::End), "RowKey > '1'");
    assert_eq!(condition(Cut::Start, before("5")), "RowKey < '5'");
    assert_eq!(Interval::all().condition("RowKey"), "");
}

#[test]
fn ranges_read_as_conditions() {
    let rows = |lower, upper| KeyRange::rows("a", &Interval::new(lower, upper).unwrap()).to_string();
    assert_eq!(KeyRange::point(key("it's", "1")).to_string(), "PartitionKey = 'it''s' AND RowKey = '1'");
    assert_eq!(KeyRange::point(key("", "")).to_string(), "PartitionKey = '' AND RowKey = ''");
    assert_eq!(KeyRange::partition("a").to_string(), "PartitionKey = 'a'");
    assert_eq!(rows(before("1"), before("5")), "PartitionKey = 'a' AND RowKey >= '1' AND RowKey < '5'");
    assert_eq!(rows(after("1"), after("5")), "PartitionKey = 'a' AND RowKey > '1' AND RowKey <= '5'");
    assert_eq!(rows(Cut::Start, after("5")), "PartitionKey = 'a' AND RowKey <= '5'");
    let partitions = |lower, upper| KeyRange::partitions(&Interval::new(lower, upper).unwrap()).to_string();
    assert_eq!(partitions(before("a"), before("b")), "PartitionKey >= 'a' AND PartitionKey < 'b'");
    assert_eq!(partitions(after("a"), Cut::End), "PartitionKey > 'a'");
    assert_eq!(partitions(Cut::Start, after("b")), "PartitionKey <= 'b'");
    assert_eq!(KeyRange::all().to_string(), "all keys");
    let mixed = range(KeyCut::After(key("a", "1")), KeyCut::BeforePartition("c".to_owned()));
    assert_eq!(mixed.to_string(), "(PartitionKey, RowKey) > ('a', '1') AND PartitionKey < 'c'");
    let below = range(KeyCut::Start, KeyCut::Before(key("a", "1")));
    assert_eq!(below.to_string(), "(PartitionKey, RowKey) < ('a', '1')");
}
