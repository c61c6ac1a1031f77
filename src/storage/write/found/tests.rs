use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use futures::executor::block_on;

use super::*;
use crate::clock::ManualClock;
use crate::files::MemoryStore;
use crate::model::{DateTime, Key};
use crate::storage::catalog::Edit;
use crate::storage::dice::Dice;
use crate::storage::store::StoreOptions;
use crate::storage::write::{Change, Condition};

const TABLE: u64 = 1;

fn insert(key: &Key) -> Operation<'static> {
    let change = Change::Insert(Cow::Owned(Vec::new()));
    Operation { table: TABLE, key: Cow::Owned(key.clone()), change, condition: Condition::Any }
}

#[test]
fn keys_asked_for_one_after_another_have_recent_versions_or_not_as_if_they_were_asked_for_alone() {
    for seed in 1..=6 {
        let mut dice = Dice(seed);
        let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
        let store = block_on(Store::open(Arc::new(MemoryStore::new()), clock, StoreOptions::default())).expect("opens");
        let create =
            Edit::CreateTable { id: TABLE, account: "acme".to_owned(), name: "People".to_owned(), created_ticks: 0 };
        store.commit(&[create]).expect("a table");
        let mut written = BTreeSet::new();
        let mut gaps_used = 0;
        for round in 0..60 {
            let partition = ["a", "b"][dice.below(2)];
            let (from, step) = (dice.below(2000), 1 + dice.below(5));
            let mut keys: Vec<Key> = (0..40).map(|i| Key::new(partition, format!("{:05}", from + i * step))).collect();
            match dice.below(4) {
                0 => keys.reverse(),
                1 => keys.sort_by_cached_key(|_| dice.below(1000)),
                _ => {}
            }
            let snapshot = store.snapshot();
            let table = snapshot.table_snapshot(snapshot.table(TABLE).expect("the table"));
            let (mut gap, mut before) = (RecentGap::default(), None);
            for key in &keys {
                let bytes = key_bytes(key.as_ref());
                let hash = KeyHash::of(&bytes);
                let found = gap.has_recent(&table, before.as_deref(), &bytes, hash);
                assert_eq!(found, written.contains(key), "seed {seed}, round {round}, {key:?} among {keys:?}");
                gaps_used += usize::from(gap.hits > 0);
                before = Some(bytes);
            }
            let taken = keys.iter().position(|key| written.contains(key));
            let operations: Vec<Operation<'static>> = keys.iter().map(insert).collect();
            match (block_on(store.write(&operations)), taken) {
                (Ok(_), None) => written.extend(keys),
                (Err(crate::storage::Error::Refused { index, .. }), Some(taken)) => {
                    assert_eq!(index, taken, "seed {seed}, round {round}");
                    // Something is written all the same.
                    let free: Vec<&Key> = keys.iter().filter(|key| !written.contains(key)).take(5).collect();
                    if !free.is_empty() {
                        let operations: Vec<Operation<'static>> = free.iter().copied().map(insert).collect();
                        block_on(store.write(&operations)).expect("writes");
                    }
                    let free: Vec<Key> = free.into_iter().cloned().collect();
                    written.extend(free);
                }
                (outcome, taken) => panic!("seed {seed}, round {round}: {outcome:?}, taken {taken:?}"),
            }
            if round % 9 == 8 {
                // What comes now goes into another generation.
                store
                    .commit_with(|head| {
                        Ok((Vec::new(), head.deltas.get(&TABLE).map(|delta| (TABLE, Arc::new(delta.sealed())))))
                    })
                    .expect("sealed");
            }
        }
        assert!(gaps_used > 100, "seed {seed}: {gaps_used}");
    }
}
