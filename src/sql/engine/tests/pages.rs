//! Pages of entity queries, beside a plain pass over all entities.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;

use super::{import, open, rows};
use crate::engine::{Engine, EntityPage, EntityQuery, PAGE_ENTITIES_MAX};
use crate::session::SqlState;
use rowkey_base::clock::ManualClock;
use rowkey_base::testing::Dice;
use rowkey_model::columns::PropertyLookup;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Entity, Key, KeyCut, KeyRange, KeySet, Value, ValueRef};

const PARTITIONS: usize = 7;

/// A table of several files, with recent writes and deletions above them.
fn filled(dice: &mut Dice) -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let line = |partition: usize, row: usize, n: usize| {
        format!("{{\"PartitionKey\":\"p{partition}\",\"RowKey\":\"{row:05}\",\"N\":{n},\"T\":\"text {n}\"}}\n")
    };
    let export: String =
        (0..PARTITIONS).flat_map(|partition| (0..300).map(move |row| line(partition, row * 2, row))).collect();
    import(&engine, "Things", &export, 4000).expect("imports");
    let mut session = engine.own_session().expect("a session");
    for _ in 0..40 {
        let (partition, row, n) = (dice.below(PARTITIONS), dice.below(600), dice.below(100));
        let key = format!("partitionkey = 'p{partition}' and rowkey = '{row:05}'");
        let statement = match dice.below(3) {
            0 => format!("delete from things where {key}"),
            1 => format!("update things set n = {n} where {key}"),
            _ => format!(
                "insert into things (partitionkey, rowkey, n) values ('p{partition}', '{row:05}', {n}) \
                 on conflict (partitionkey, rowkey) do update set n = excluded.n"
            ),
        };
        rows(&mut session, &statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    engine
}

fn cut(dice: &mut Dice) -> KeyCut {
    let key = Key::new(format!("p{}", dice.below(PARTITIONS)), format!("{:05}", dice.below(620)));
    match dice.below(5) {
        0 => KeyCut::Start,
        1 => KeyCut::End,
        2 => KeyCut::BeforePartition(key.partition),
        3 => KeyCut::Before(key),
        _ => KeyCut::After(key),
    }
}

fn keys(dice: &mut Dice) -> KeySet {
    let mut ranges = Vec::new();
    for _ in 0..=dice.below(4) {
        if dice.chance(3) {
            ranges.push(KeyRange::point(Key::new("p3", format!("{:05}", dice.below(620)))));
        } else {
            ranges.extend(KeyRange::new(cut(dice), cut(dice)));
        }
    }
    KeySet::from_ranges(ranges)
}

fn n(entity: &dyn PropertyLookup) -> i32 {
    match entity.property("N") {
        Some(ValueRef::Int32(n)) => n,
        other => panic!("N is {other:?}"),
    }
}

#[test]
fn pages_one_after_the_other_have_what_a_pass_over_all_finds() {
    for seed in 0..10 {
        let mut dice = Dice(seed);
        let engine = filled(&mut dice);
        let table = engine.entities().table_id("things").expect("a table");
        let all = super::entities(&engine, "Things").expect("a table");
        for _ in 0..8 {
            let (keys, least) = (keys(&mut dice), dice.below(300) as i32);
            let top_max = if dice.chance(2) { 5 } else { PAGE_ENTITIES_MAX };
            let select = dice.chance(2).then(|| vec!["N".to_owned()]);
            let mut query = EntityQuery {
                filter: dice.chance(2).then(|| Arc::new(move |entity: &dyn PropertyLookup| n(entity) >= least) as _),
                select: select.clone(),
                top: 1 + dice.below(top_max),
                ..EntityQuery::new(keys.clone())
            };
            let filtered = query.filter.is_some();
            let mut expected: Vec<Entity> = all
                .iter()
                .filter(|entity| keys.contains(entity.key.as_ref()) && (!filtered || n(*entity) >= least))
                .cloned()
                .collect();
            if select.is_some() {
                for entity in &mut expected {
                    let n = [(Arc::from("N"), Value::Int32(n(entity)))].into();
                    *entity = Entity::from_parts(entity.key.clone(), entity.timestamp, n);
                }
            }
            let mut found = Vec::new();
            loop {
                let EntityPage { entities, continuation } =
                    block_on(engine.entities().page(table, &query)).expect("a page");
                let is_last = continuation.is_none();
                assert!(entities.len() == query.top || is_last, "seed {seed}: a page in the middle is full");
                found.extend(entities);
                query.continuation = continuation;
                if is_last {
                    break;
                }
            }
            assert_eq!(found, expected, "seed {seed}: {query:?}");
        }
    }
}

#[test]
fn a_page_that_takes_long_ends_where_it_is_and_each_one_gets_on() {
    let files = Arc::new(MemoryStore::new());
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(super::NOW_TICKS)));
    let opened = Engine::open_files(files, clock.clone(), crate::engine::Options::default(), false);
    let engine = block_on(opened).expect("opens");
    let export: String = (0..3000).map(|row| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{row:05}\"}}\n")).collect();
    import(&engine, "Things", &export, 1 << 20).expect("imports");
    let table = engine.entities().table_id("Things").expect("a table");
    // Every entity takes a second, and none is wanted but the last.
    let filter = move |entity: &dyn PropertyLookup| {
        clock.advance(Duration::from_secs(1));
        entity.property("RowKey") == Some(ValueRef::String("02999"))
    };
    let mut query = EntityQuery { filter: Some(Arc::new(filter)), ..EntityQuery::new(KeySet::all()) };
    let (mut pages, mut found) = (0, 0);
    loop {
        let page = block_on(engine.entities().page(table, &query)).expect("a page");
        (pages, found) = (pages + 1, found + page.entities.len());
        let Some(next) = page.continuation else { break };
        assert!(query.continuation.is_none_or(|before| before < next), "the next page begins later");
        query.continuation = Some(next);
    }
    assert!(pages > 1, "it ended in between");
    assert_eq!(found, 1);
}

#[test]
fn sizes_of_pages_are_bounded() {
    let engine = filled(&mut Dice(1));
    let service = engine.entities();
    let table = service.table_id("Things").expect("a table");
    let page = |top: usize| block_on(service.page(table, &EntityQuery { top, ..EntityQuery::new(KeySet::all()) }));
    assert_eq!(page(0).expect("a page"), EntityPage::default());
    assert_eq!(page(PAGE_ENTITIES_MAX).expect("a page").entities.len(), PAGE_ENTITIES_MAX);
    let error = page(PAGE_ENTITIES_MAX + 1).expect_err("too large");
    assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    assert!(error.to_string().contains("1001"), "{error}");
}
