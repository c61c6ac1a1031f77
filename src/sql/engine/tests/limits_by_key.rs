//! The first rows by key of a query within another: read in key order, and sorted, they are the
//! same.

use std::fmt::Write;
use std::sync::Arc;

use super::{ask, import, open, run, session};
use crate::session::Session;
use rowkey_base::testing::Dice;
use rowkey_model::files::MemoryStore;

const STATEMENTS: usize = 400;

/// Partitions whose entities lie in overlapping files and among recent writes.
fn steps() -> Session {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let lines = |from: usize, every: usize| {
        let mut text = String::new();
        for entity in (from..600).step_by(every) {
            let (partition, x) = (entity % 3, entity * 7 % 101);
            writeln!(text, r#"{{"PartitionKey":"p{partition}","RowKey":"{entity:04}","x":{x}}}"#).expect("written");
        }
        text
    };
    import(&engine, "Steps", &lines(0, 2), 4 << 10).expect("imports");
    import(&engine, "Steps", &lines(1, 4), 4 << 10).expect("imports");
    let mut session = session(&engine);
    run(
        &mut session,
        "INSERT INTO Steps (partitionkey, rowkey, x) SELECT 'p' || (n % 3), lpad(n::text, 4, '0'), n * 7 % 101 \
         FROM generate_series(3, 599, 4) n",
    );
    run(&mut session, "UPDATE Steps SET x = x + 1000 WHERE x % 9 = 0");
    run(&mut session, "DELETE FROM Steps WHERE x % 11 = 5");
    session
}

/// Entities of some partitions in an order of keys, up to a limit; `{row}` is the RowKey to order
/// by.
fn first_rows(dice: &mut Dice) -> String {
    let condition = match dice.below(4) {
        0 => "partitionkey IN ('p0', 'p2')".to_owned(),
        1 => format!("partitionkey = 'p1' AND rowkey > '{:04}'", dice.below(600)),
        _ => format!("partitionkey = 'p{}'", dice.below(3)),
    };
    let columns = dice.pick(&["partitionkey p, x", "x, partitionkey p", "partitionkey p, rowkey r, x"]);
    let descending = dice.pick(&["", " DESC"]);
    let order = match condition.contains(" IN ") || dice.chance(2) {
        true => format!("partitionkey{descending}, {{row}}{descending}"),
        false => format!("{{row}}{descending}"),
    };
    let limit = 1 + dice.below(40);
    format!("SELECT {columns} FROM Steps WHERE {condition} ORDER BY {order} LIMIT {limit}")
}

fn around(dice: &mut Dice, inner: &str) -> String {
    match dice.below(8) {
        0 => format!("SELECT p, x FROM ({inner}) q UNION SELECT 'a', 0"),
        1 => format!("SELECT p, count(*), max(x), sum(x) FROM ({inner}) q GROUP BY p"),
        2 => format!("SELECT x, rank() OVER (PARTITION BY p ORDER BY x) FROM ({inner}) q"),
        3 => format!("WITH q AS MATERIALIZED ({inner}) SELECT p, min(x) FROM q GROUP BY p"),
        4 => format!("SELECT s.x FROM Steps s JOIN ({inner}) q ON s.partitionkey = q.p AND s.x = q.x"),
        5 => format!("SELECT x FROM Steps WHERE (partitionkey, x) IN (SELECT p, x FROM ({inner}) q)"),
        6 => format!("SELECT p, x FROM ({inner}) q INTERSECT SELECT partitionkey, x FROM Steps WHERE x < 60"),
        _ => format!("SELECT p, x FROM ({inner}) q ORDER BY p, x"),
    }
}

#[test]
fn rows_in_key_order_are_those_that_a_sort_gives() {
    let seed = 24_001;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut session = steps();
    for _ in 0..STATEMENTS {
        let inner = first_rows(&mut dice);
        let statement = around(&mut dice, &inner);
        let mut in_key_order = ask(&mut session, &statement.replace("{row}", "rowkey"));
        let mut sorted = ask(&mut session, &statement.replace("{row}", "(rowkey || '')"));
        in_key_order.sort();
        sorted.sort();
        assert_eq!(in_key_order, sorted, "{statement}");
    }
}
