use super::*;
use crate::access::dice::{PredicateDice, all_keys};
use rowkey_model::Key;

const SEEDS: std::ops::Range<u64> = 1..300;

fn region(dice: &mut PredicateDice) -> KeyRegion {
    let mut region = KeyRegion::empty();
    for _ in 0..dice.below(4) {
        let partitions = KeyRegion::with_partitions(&dice.interval_set());
        let rows = KeyRegion::with_rows(dice.interval_set());
        region = exactly(region.union(&exactly(partitions.intersect(&rows))));
    }
    region
}

fn exactly(outcome: Bounded) -> KeyRegion {
    match outcome {
        Bounded::Exact(region) => region,
        Bounded::Superset(region) => panic!("not exact: {region:?}"),
    }
}

#[test]
fn regions_obey_the_algebra_of_sets() {
    for seed in SEEDS {
        let mut dice = PredicateDice::new(seed);
        let (a, b, c) = (region(&mut dice), region(&mut dice), region(&mut dice));
        let union = |a: &KeyRegion, b: &KeyRegion| exactly(a.union(b));
        let intersect = |a: &KeyRegion, b: &KeyRegion| exactly(a.intersect(b));
        let complement = |a: &KeyRegion| exactly(a.complement());
        for key in all_keys() {
            let (in_a, in_b) = (a.contains(key), b.contains(key));
            assert_eq!(union(&a, &b).contains(key), in_a || in_b, "seed {seed} {key:?}");
            assert_eq!(intersect(&a, &b).contains(key), in_a && in_b, "seed {seed} {key:?}");
            assert_eq!(complement(&a).contains(key), !in_a, "seed {seed} {key:?}");
            assert!(!in_a || a.coarsened(2, 1).contains(key), "seed {seed} {key:?}");
        }
        assert_eq!(complement(&complement(&a)), a, "seed {seed}");
        assert_eq!(union(&a, &b), union(&b, &a), "seed {seed}");
        assert_eq!(complement(&union(&a, &b)), intersect(&complement(&a), &complement(&b)), "seed {seed}");
        let distributed = union(&intersect(&a, &b), &intersect(&a, &c));
        assert_eq!(intersect(&a, &union(&b, &c)), distributed, "seed {seed}");
        assert!(union(&a, &complement(&a)).is_all() && intersect(&a, &complement(&a)).is_empty(), "seed {seed}");
    }
}

#[test]
fn ranges_hold_every_key_and_say_whether_they_hold_more() {
    let (mut exact_ones, mut inexact_ones) = (0, 0);
    for seed in SEEDS {
        let region = region(&mut PredicateDice::new(seed));
        let (keys, exact) = region.to_key_set();
        for key in all_keys() {
            assert!(!region.contains(key) || keys.contains(key), "seed {seed} {key:?}");
            assert!(!exact || region.contains(key) == keys.contains(key), "seed {seed} {key:?}");
        }
        if exact { exact_ones += 1 } else { inexact_ones += 1 }
    }
    assert!(exact_ones > 20 && inexact_ones > 20, "{exact_ones} exact, {inexact_ones} not");
}

fn points(count: usize) -> IntervalSet {
    IntervalSet::from_intervals((0..count).map(|at| Interval::point(&format!("k{at:06}"))))
}

#[test]
fn what_would_grow_too_large_becomes_a_superset() {
    let partitions = KeyRegion::with_partitions(&points(6_000));
    let rows = KeyRegion::with_rows(points(6_000));
    for outcome in [partitions.intersect(&rows), partitions.union(&rows)] {
        let Bounded::Superset(widened) = outcome else { panic!("36 million pieces") };
        assert!(widened.pieces() <= PIECES_MAX, "{} pieces", widened.pieces());
        assert!(!widened.is_all());
        for at in (0..6_000).step_by(37) {
            let key = Key::new(format!("k{at:06}"), format!("k{:06}", 5_999 - at));
            assert!(widened.contains(key.as_ref()), "{key:?}");
        }
    }
    let two = KeyRegion::with_partitions(&points(2));
    let Bounded::Superset(widened) = two.intersect(&KeyRegion::with_rows(points(30_000))) else { panic!("60,000") };
    assert!(widened.slabs.len() == 2 && widened.pieces() > 1_000, "keeps what precision it can: {}", widened.pieces());
}

#[test]
fn large_complements_become_supersets() {
    let mut pairs = KeyRegion::empty();
    for at in 0..30_000 {
        let name = format!("k{at:06}");
        pairs.push(Interval::point(&name), Interval::point("x").into());
    }
    let Bounded::Superset(outside) = pairs.complement() else { panic!("90,001 pieces") };
    assert!(outside.pieces() <= PIECES_MAX);
    for (partition, row) in [("", ""), ("k000007", "y"), ("k029999", "w"), ("z", "x")] {
        assert!(outside.contains(KeyRef { partition, row }), "{partition} {row}");
    }
}

#[test]
fn touching_slabs_become_one_range() {
    let below = KeyRegion::with_partitions(&Interval::new(Cut::Start, Cut::Before("b".to_owned())).unwrap().into());
    let b = KeyRegion::with_partitions(&Interval::point("b").into());
    let up_to_5 = KeyRegion::with_rows(Interval::new(Cut::Start, Cut::After("5".to_owned())).unwrap().into());
    let region = exactly(below.union(&exactly(b.intersect(&up_to_5))));
    let (keys, exact) = region.to_key_set();
    assert!(exact);
    assert_eq!(
        keys.ranges().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["(PartitionKey, RowKey) <= ('b', '5')"]
    );
}
