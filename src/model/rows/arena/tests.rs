use std::sync::Arc;

use super::super::generated::{Random, push};
use super::super::{NameCache, PropertyId, PropertyNames, Rows};
use crate::{DateTime, Key, KeyRef, Rule, Value, ValueRef};

fn row_numbers(rows: &Rows) -> Vec<i64> {
    rows.iter()
        .map(|row| match row.properties().next() {
            Some((_, ValueRef::Int64(n))) => n,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn rows_read_back_what_was_set() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let names = PropertyNames::new();
        for name in ["A", "B", "C", "D", "E", "F", "G", "H"] {
            names.intern(name);
        }
        let mut rows = Rows::new();
        let mut expected = Vec::new();
        for _ in 0..random.below(20) {
            let mut properties: Vec<(PropertyId, Value)> = Vec::new();
            for id in 0..8 {
                if !random.chance(3) {
                    properties.push((PropertyId(id), random.value()));
                }
            }
            let (a, b) = (random.below(8), random.below(8));
            if a < properties.len() && b < properties.len() {
                properties.swap(a, b);
            }
            let key = Key::new(random.key(4), random.key(4));
            let timestamp = (!random.chance(3)).then(|| DateTime::from_ticks(random.next_u64() as i64 >> 10));
            let mut builder = rows.builder(&names);
            builder.begin();
            for (id, value) in &properties {
                builder.set(*id, value.into());
            }
            builder.finish(&key.partition, &key.row, timestamp).unwrap();
            properties.sort_by_key(|(id, _)| *id);
            expected.push((key, timestamp, properties));
        }
        assert_eq!(rows.len(), expected.len(), "seed {seed}");
        for (row, (key, timestamp, properties)) in rows.iter().zip(&expected) {
            assert_eq!(row.key(), key.as_ref(), "seed {seed}");
            assert_eq!(row.timestamp(), *timestamp, "seed {seed}");
            let read: Vec<_> = row.properties().map(|(id, value)| (id, value.to_value())).collect();
            assert_eq!(&read, properties, "seed {seed}");
            let entity = row.to_entity(&names);
            assert_eq!(entity.key, *key, "seed {seed}");
            for (id, value) in properties {
                assert_eq!(entity.get(&names.name(*id)), Some(value), "seed {seed}");
            }
            let mut copy = Rows::new();
            copy.push_ref(row);
            assert_eq!(copy.get(0).encoded_bytes(), row.encoded_bytes(), "seed {seed}");
        }
    }
}

#[test]
fn sorting_is_stable_and_follows_the_key_order() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let names = PropertyNames::new();
        let mut rows = Rows::new();
        let mut expected = Vec::new();
        let beginning = random.key(20);
        for n in 0..random.below(200) as i64 {
            let key = Key::new(beginning.clone() + &random.key(3), random.key(12));
            push(&mut rows, &names, (&key.partition, &key.row), None, n);
            expected.push((key, n));
        }
        let ascending = expected.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        assert_eq!(rows.is_sorted(), ascending, "seed {seed}");
        rows.sort();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(rows.is_sorted(), "seed {seed}");
        assert_eq!(row_numbers(&rows), expected.iter().map(|(_, n)| *n).collect::<Vec<_>>(), "seed {seed}");
        let strict = expected.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert_eq!(rows.is_strictly_sorted(), strict, "seed {seed}");
    }
}

#[test]
fn an_origin_goes_with_its_row_until_it_is_kept() {
    let names = PropertyNames::new();
    let mut rows = Rows::new();
    for (n, row) in ["c", "a", "b"].into_iter().enumerate() {
        push(&mut rows, &names, ("p", row), Some(DateTime::from_ticks(7)), n as i64);
        if row != "b" {
            rows.set_last_origin(u64::MAX - n as u64);
        }
    }
    rows.sort();
    let origins = |rows: &Rows| rows.iter().map(|row| row.origin()).collect::<Vec<_>>();
    assert_eq!(origins(&rows), [Some(u64::MAX - 1), None, Some(u64::MAX)]);
    assert_eq!(row_numbers(&rows), [1, 2, 0]);
    let mut kept = Rows::new();
    rows.iter().for_each(|row| kept.push_without_origin(row));
    assert_eq!(origins(&kept), [None; 3]);
    for (row, kept) in rows.iter().zip(kept.iter()) {
        assert_eq!((row.key(), row.timestamp()), (kept.key(), kept.timestamp()));
        assert!(row.same_version(kept));
        assert_eq!(row.entity_bytes(), kept.encoded_bytes().len());
    }
    rows.pop();
    assert_eq!(row_numbers(&rows), [1, 2]);
    push(&mut rows, &names, ("p", "d"), None, 3);
    assert_eq!(origins(&rows), [Some(u64::MAX - 1), None, None]);
}

#[test]
fn empty_key_parts_come_before_all_others() {
    let names = PropertyNames::new();
    let mut rows = Rows::new();
    for (n, key) in [("a", ""), ("", "b"), ("a b", ""), ("a", "a"), ("", "")].into_iter().enumerate() {
        push(&mut rows, &names, key, None, n as i64);
    }
    rows.sort();
    assert_eq!(row_numbers(&rows), [4, 1, 0, 3, 2]);
    assert_eq!(rows.get(2).key(), KeyRef { partition: "a", row: "" });
    assert_eq!(rows.get(2).partition_bytes(), b"a");
}

#[test]
fn equal_property_sets_have_equal_bytes_whatever_their_order() {
    let names = PropertyNames::new();
    let (a, b) = (names.intern("A"), names.intern("B"));
    let mut rows = Rows::new();
    for (first, second, value) in [(a, b, 1), (b, a, 1), (a, b, 2)] {
        let mut builder = rows.builder(&names);
        builder.begin();
        for id in [first, second] {
            builder.set(id, if id == a { ValueRef::Int32(value) } else { ValueRef::String("x") });
        }
        builder.finish("p", "r", None).unwrap();
    }
    assert!(rows.get(0).same_properties(rows.get(1)));
    assert!(!rows.get(0).same_properties(rows.get(2)));
}

#[test]
fn a_refused_or_aborted_entity_leaves_no_trace() {
    let names = PropertyNames::new();
    let (a, b) = (names.intern("A"), names.intern("B"));
    let mut rows = Rows::new();
    push(&mut rows, &names, ("p", "1"), None, 1);
    let bytes = rows.bytes();
    let mut builder = rows.builder(&names);
    builder.begin();
    builder.set(b, ValueRef::Int32(1));
    builder.set(a, ValueRef::Int32(1));
    builder.set(b, ValueRef::Int32(2));
    let twice = builder.finish("p", "2", None).unwrap_err();
    assert_eq!((twice.rule, twice.value.as_str()), (Rule::PropertyTwice, "B"));
    builder.begin();
    assert_eq!(builder.finish("p/q", "2", None).unwrap_err().rule, Rule::KeyCharacter);
    builder.begin();
    assert_eq!(builder.finish("p\0q", "2", None).unwrap_err().rule, Rule::KeyCharacter);
    builder.begin();
    builder.set(a, ValueRef::Int32(1));
    builder.abort();
    builder.begin();
    builder.set(a, ValueRef::Int32(1));
    drop(builder);
    assert_eq!((rows.len(), rows.bytes()), (1, bytes));
    push(&mut rows, &names, ("p", "2"), None, 2);
    assert_eq!(row_numbers(&rows), [1, 2]);
}

#[test]
fn property_count_and_entity_size_have_exact_limits() {
    let names = PropertyNames::new();
    let mut rows = Rows::new();
    for (count, fits) in [(252, true), (253, false)] {
        let ids: Vec<_> = (0..count).map(|i| names.intern(&format!("P{i:03}"))).collect();
        let mut builder = rows.builder(&names);
        builder.begin();
        ids.iter().for_each(|id| builder.set(*id, ValueRef::Boolean(true)));
        let result = builder.finish("p", "r", None);
        assert_eq!(result.is_ok(), fits, "{count} properties");
        assert!(fits || result.unwrap_err().rule == Rule::PropertyCount);
    }
    // Fifteen strings of 64 KiB, and one that fills the entity to 1 MiB exactly: what is left of it
    // are the key (4 + 2
    // * 2) and sixteen properties of 8 + 2 * 4 + 4 each.
    let long = "é".repeat(32 * 1024);
    for (more, fits) in [(0, true), (1, false)] {
        let last_units = 32 * 1024 - (8 + 16 * 20) / 2 + more;
        let mut builder = rows.builder(&names);
        builder.begin();
        for i in 0..16 {
            let id = names.intern(&format!("P{i:03}"));
            builder.set(id, ValueRef::String(if i < 15 { &long } else { &long[..2 * last_units] }));
        }
        let result = builder.finish("p", "r", None);
        assert_eq!(result.is_ok(), fits, "{more} more");
        assert!(fits || result.unwrap_err().rule == Rule::EntitySize);
    }
    let entity = rows.last().unwrap().to_entity(&names);
    assert_eq!(entity.size_bytes(), crate::ENTITY_BYTES_MAX);
}

#[test]
fn name_caches_agree_across_threads_and_refuse_bad_names() {
    let names = Arc::new(PropertyNames::new());
    let all: Vec<Vec<PropertyId>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|shift| {
                let names = &names;
                scope.spawn(move || {
                    let mut cache = NameCache::new(names);
                    let mut ids = vec![PropertyId(0); 100];
                    for i in 0..1000 {
                        let at = (i * (shift + 1)) % 100;
                        ids[at] = cache.intern(&format!("Name{at}")).unwrap();
                    }
                    (0..100).map(|at| cache.intern(&format!("Name{at}")).unwrap()).collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|ids| *ids == all[0]));
    assert_eq!(names.len(), 100);
    assert_eq!(&*names.name(all[0][42]), "Name42");
    let mut cache = NameCache::new(&names);
    assert_eq!(cache.intern("a-b").unwrap_err().rule, Rule::PropertyName);
    assert_eq!(cache.intern("PartitionKey").unwrap_err().rule, Rule::PropertyNameReserved);
    assert_eq!(names.len(), 100);
}

#[test]
fn rows_appended_after_a_sort_come_behind_equal_keys() {
    let names = PropertyNames::new();
    let mut rows = Rows::new();
    for (n, row) in ["c", "a", "b", "a"].into_iter().enumerate() {
        push(&mut rows, &names, ("p", row), None, n as i64);
    }
    rows.sort();
    for (n, row) in [(4, "a"), (5, "c")] {
        push(&mut rows, &names, ("p", row), None, n);
    }
    rows.sort();
    assert_eq!(row_numbers(&rows), [1, 3, 4, 2, 0, 5]);
    rows.pop();
    assert_eq!(row_numbers(&rows), [1, 3, 4, 2, 0]);
    push(&mut rows, &names, ("p", "d"), None, 6);
    assert_eq!(row_numbers(&rows), [1, 3, 4, 2, 0, 6]);
    assert!(rows.is_sorted() && !rows.is_strictly_sorted());
    rows.clear();
    assert!(rows.is_empty() && rows.is_strictly_sorted());
}
