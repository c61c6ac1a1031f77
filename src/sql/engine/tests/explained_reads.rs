//! What EXPLAIN says that a statement reads, against what it has read: a bound, and for reads bound
//! by keys not more than three times as much, but for the pages at their ends.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use super::{ask, import, open, run, session};
use rowkey_base::testing::Dice;
use rowkey_model::files::MemoryStore;
use rowkey_storage::run::PAGE_ROWS;

const PARTITIONS: usize = 12;
const ENTITIES: usize = 30_000;
const STATEMENTS: usize = 150;

/// The partitions grow: the last has a quarter of the entities.
fn partition(entity: usize) -> usize {
    let place = entity as f64 / ENTITIES as f64;
    ((place.sqrt() * PARTITIONS as f64) as usize).min(PARTITIONS - 1)
}

fn row_key(dice: &mut Dice) -> String {
    format!("{:06}", dice.below(ENTITIES))
}

/// A condition on keys, and the most ranges that it is.
fn condition(dice: &mut Dice) -> (String, usize) {
    let partition = format!("p{:02}", dice.below(PARTITIONS));
    let (one, other) = (row_key(dice), row_key(dice));
    let (first, last) = if one < other { (one, other) } else { (other, one) };
    match dice.below(9) {
        0 => (format!("partitionkey = '{partition}' AND rowkey = '{first}'"), 1),
        1 => (format!("partitionkey = '{partition}' AND rowkey BETWEEN '{first}' AND '{last}'"), 1),
        2 => (format!("partitionkey = '{partition}' AND rowkey >= '{first}'"), 1),
        3 => (format!("partitionkey = '{partition}'"), 1),
        4 => (format!("partitionkey IN ('{partition}', 'p03') AND rowkey < '{last}'"), 2),
        5 => (format!("partitionkey >= '{partition}' AND partitionkey < 'p07'"), 1),
        6 => (format!("(partitionkey, rowkey) > ('{partition}', '{first}')"), 2),
        7 => (format!("partitionkey = '{partition}' AND rowkey LIKE '{}%'", &first[..3]), 1),
        _ => (format!("partitionkey = '{partition}' AND rowkey IN ('{first}', '{last}', '000001')"), 3),
    }
}

/// The scans of a plan.
fn scans<'p>(node: &'p Value, found: &mut Vec<&'p Value>) {
    if node["Node Type"] == "Entity Scan" {
        found.push(node);
    }
    node["Plans"].as_array().into_iter().flatten().for_each(|below| scans(below, found));
}

#[test]
fn estimates_are_bounds_and_near_for_reads_bound_by_keys() {
    let seed = 27_001;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut text = String::new();
    for entity in 0..ENTITIES {
        let partition = partition(entity);
        writeln!(text, r#"{{"PartitionKey":"p{partition:02}","RowKey":"{entity:06}","n":{entity}}}"#).expect("written");
    }
    import(&engine, "Things", &text, 200 << 10).expect("imports");
    let mut session = session(&engine);
    // Some are newer than the files, and some are gone.
    run(&mut session, "UPDATE Things SET n = -n WHERE n % 50 = 0");
    run(&mut session, "DELETE FROM Things WHERE n % 70 = 1");
    let (mut rows_read, mut rows_estimated) = (0, 0);
    for _ in 0..STATEMENTS {
        let (condition, ranges) = condition(&mut dice);
        let sql = format!("EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM Things WHERE {condition}");
        let plan: Value = serde_json::from_str(&ask(&mut session, &sql).join("\n")).expect("JSON");
        let mut found = Vec::new();
        scans(&plan[0]["Plan"], &mut found);
        let [scan] = found.as_slice() else { panic!("{sql}: {plan}") };
        let number = |name: &str| scan[name].as_u64().unwrap_or_else(|| panic!("{name} of {sql}: {plan}"));
        let (estimated, actual) = (number("Rows Read"), number("Actual Rows"));
        assert!(estimated >= actual, "{sql}: {estimated} estimated, {actual} read");
        assert!(number("Plan Rows") >= actual, "{sql}: {plan}");
        // A range begins and ends within pages, in each of the files that it meets.
        let at_ends = 2 * (PAGE_ROWS * ranges) as u64;
        assert!(estimated <= 3 * actual + at_ends, "{sql}: {estimated} estimated, {actual} read");
        (rows_read, rows_estimated) = (rows_read + actual, rows_estimated + estimated);
    }
    assert!(rows_read > 100_000, "{rows_read} rows read");
    println!("{rows_estimated} rows estimated, {rows_read} read");
}
