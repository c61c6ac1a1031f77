use super::super::PropertyNames;
use super::super::generated::{Random, push};
use super::*;
use crate::{DateTime, ValueRef};

/// A row: key, Timestamp, value.
type Given = (&'static str, Option<i64>, i64);

/// Value and place of a row that was lost, and the place of the one kept.
type Lost = (i64, u64, u64);

#[derive(Debug, PartialEq)]
struct Found {
    kept: Vec<(String, i64)>,
    lost: Vec<Lost>,
    equal: u64,
    superseded: u64,
}

fn number(row: RowRef<'_>) -> i64 {
    match row.properties().next() {
        Some((_, ValueRef::Int64(number))) => number,
        other => panic!("{other:?}"),
    }
}

/// Pushes rows, which are in order, in batches of these sizes; their places count from 1.
fn deduplicate(rows: &[Given], mut batch_rows: impl FnMut() -> usize) -> Found {
    let names = PropertyNames::new();
    let mut deduplicator = Deduplicator::new();
    let mut found = Found { kept: Vec::new(), lost: Vec::new(), equal: 0, superseded: 0 };
    let (mut kept, mut place) = (Vec::new(), 0);
    let mut rest = rows;
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(batch_rows().clamp(1, rest.len()));
        rest = behind;
        let mut rows = Rows::new();
        for (key, at, value) in batch {
            place += 1;
            push(&mut rows, &names, ("p", key), at.map(DateTime::from_ticks), *value);
            rows.set_last_origin(place);
        }
        kept.extend(deduplicator.push(rows));
        found.lost.extend(deduplicator.take_conflicts().iter().map(lost));
    }
    kept.extend(deduplicator.finish());
    found.lost.extend(deduplicator.take_conflicts().iter().map(lost));
    for row in kept.iter().flat_map(Rows::iter) {
        let key = row.key().row.to_owned();
        assert!(found.kept.last().is_none_or(|(last, _)| *last < key), "{key} is not behind {:?}", found.kept.last());
        found.kept.push((key, number(row)));
    }
    Duplicates { equal: found.equal, superseded: found.superseded } = deduplicator.duplicates();
    found
}

fn lost(conflict: &Conflict) -> Lost {
    let row = conflict.lost.as_ref();
    (number(row), row.origin().expect("a place"), conflict.kept_origin.expect("a place"))
}

/// Rows of one key; of which number the one is that stays, which are lost, how many are equal ones
/// and how many superseded.
type Case = (&'static [Given], i64, &'static [Lost], u64, u64);

#[test]
fn what_became_of_rows_of_one_key() {
    let cases: [Case; 8] = [
        // Equal ones, and one that comes again later.
        (&[("k", None, 1), ("k", None, 1), ("k", None, 1)], 1, &[], 2, 0),
        (&[("k", None, 1), ("k", None, 2), ("k", None, 1)], 1, &[(2, 2, 3)], 1, 0),
        // No Timestamp, equal ones, and one that is missing decide nothing.
        (&[("k", None, 1), ("k", None, 2), ("k", None, 3)], 3, &[(1, 1, 3), (2, 2, 3)], 0, 0),
        (&[("k", Some(5), 1), ("k", Some(5), 2)], 2, &[(1, 1, 2)], 0, 0),
        (&[("k", Some(5), 1), ("k", None, 2)], 1, &[(2, 2, 1)], 0, 0),
        // Different ones decide, also for those that had met before.
        (&[("k", Some(5), 1), ("k", Some(7), 2), ("k", Some(6), 3)], 2, &[], 0, 2),
        (&[("k", Some(5), 1), ("k", Some(5), 2), ("k", Some(7), 3)], 3, &[], 0, 2),
        (&[("k", None, 0), ("k", Some(5), 1), ("k", Some(7), 1)], 1, &[(0, 1, 3)], 0, 1),
    ];
    for (rows, kept, lost, equal, superseded) in cases {
        for size in 1..=3 {
            let expected = Found { kept: vec![("k".to_owned(), kept)], lost: lost.to_vec(), equal, superseded };
            assert_eq!(deduplicate(rows, || size), expected, "{rows:?} in batches of {size}");
        }
    }
}

#[test]
fn batches_make_no_difference() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let mut rows: Vec<Given> = (0..random.below(40))
            .map(|_| {
                let at = (!random.chance(2)).then(|| random.below(3) as i64);
                (*random.pick(&keys), at, random.below(4) as i64)
            })
            .collect();
        rows.sort_by_key(|(key, _, _)| *key);
        let whole = deduplicate(&rows, || usize::MAX);
        let cut = deduplicate(&rows, || 1 + random.below(5));
        assert_eq!(whole, cut, "seed {seed}: {rows:?}");
        let dropped = whole.lost.len() as u64 + whole.equal + whole.superseded;
        assert_eq!(whole.kept.len() as u64 + dropped, rows.len() as u64, "seed {seed}: {rows:?}");
    }
}

#[test]
fn a_key_of_very_many_different_rows_is_held_in_part() {
    let rows: Vec<Given> = (0..10_000).map(|n| ("k", None, n)).collect();
    let mut deduplicator = Deduplicator::new();
    let names = PropertyNames::new();
    let mut lost = Vec::new();
    for chunk in rows.chunks(100) {
        let mut batch = Rows::new();
        chunk.iter().for_each(|(key, _, n)| push(&mut batch, &names, ("p", key), None, *n));
        assert!(deduplicator.push(batch).is_empty());
        assert!(deduplicator.group.len() <= GROUP_ROWS_MAX);
        lost.extend(deduplicator.take_conflicts().iter().map(|conflict| number(conflict.lost.as_ref())));
    }
    let last = deduplicator.finish().expect("a row");
    lost.extend(deduplicator.take_conflicts().iter().map(|conflict| number(conflict.lost.as_ref())));
    assert_eq!(last.iter().map(number).collect::<Vec<_>>(), [9_999]);
    assert_eq!(lost, (0..9_999).collect::<Vec<_>>());
}
