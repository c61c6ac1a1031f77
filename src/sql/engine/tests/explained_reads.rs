//! What EXPLAIN says that a statement reads, against what it has read: a bound, and for reads bound
//! by keys not more than three times as much, but for the pages at their ends.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::Value;

use super::{ask, import, open, run, session};
use crate::session::Session;
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

/// Entities in twelve partitions and several files; some are newer than the files, some are gone.
fn things() -> Session {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut text = String::new();
    for entity in 0..ENTITIES {
        let partition = partition(entity);
        writeln!(text, r#"{{"PartitionKey":"p{partition:02}","RowKey":"{entity:06}","n":{entity}}}"#).expect("written");
    }
    import(&engine, "Things", &text, 200 << 10).expect("imports");
    let mut session = session(&engine);
    run(&mut session, "UPDATE Things SET n = -n WHERE n % 50 = 0");
    run(&mut session, "DELETE FROM Things WHERE n % 70 = 1");
    session
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

/// Joins and subqueries that give keys while they run: the entities of the plain way, of few pages.
#[test]
fn keys_that_a_join_finds_out_are_read_alone() {
    let seed = 27_002;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut session = things();
    run(&mut session, "CREATE TABLE Wanted (p text, r text)");
    let mut found_any = 0;
    for set in 0..40 {
        let count = 1 + dice.below(12);
        let keys: Vec<String> = (0..count)
            .map(|at| {
                let entity = dice.below(ENTITIES);
                // Some are in no partition, or in another.
                let partition = if dice.chance(8) { dice.below(20) } else { partition(entity) };
                format!("('set{set}', '{at}', 'p{partition:02}', '{entity:06}')")
            })
            .collect();
        run(&mut session, &format!("INSERT INTO Wanted (partitionkey, rowkey, p, r) VALUES {}", keys.join(", ")));
        let wanted = format!("(SELECT p, r FROM Wanted WHERE partitionkey = 'set{set}')");
        let plainly = format!(
            "SELECT t.rowkey, t.n FROM Things t WHERE t.partitionkey || '/' || t.rowkey IN \
             (SELECT p || '/' || r FROM {wanted} w)"
        );
        let expected = sorted(ask(&mut session, &plainly));
        found_any += expected.len();
        for (sql, pages_max) in [
            (
                "SELECT t.rowkey, t.n FROM Things t JOIN (SELECT DISTINCT p, r FROM WANTED w) w \
                 ON t.partitionkey = w.p AND t.rowkey = w.r",
                2 * count,
            ),
            ("SELECT t.rowkey, t.n FROM Things t WHERE (t.partitionkey, t.rowkey) IN WANTED", 2 * count),
            (
                "SELECT t.rowkey, t.n FROM Things t WHERE EXISTS (SELECT 1 FROM WANTED w \
                 WHERE t.partitionkey = w.p AND w.r = t.rowkey)",
                2 * count,
            ),
        ] {
            let sql = sql.replace("WANTED", &wanted);
            assert_eq!(sorted(ask(&mut session, &sql)), expected, "{sql}");
            let explained = format!("EXPLAIN (ANALYZE, FORMAT JSON) {sql}");
            let plan: Value = serde_json::from_str(&ask(&mut session, &explained).join("\n")).expect("JSON");
            let mut found = Vec::new();
            scans(&plan[0]["Plan"], &mut found);
            let scan = found.iter().find(|scan| scan["Relation Name"] == "Things").expect("a scan");
            assert!(scan["Run-Time Bounds"].is_string(), "{sql}: {plan}");
            let pages = scan["Actual Pages"]["Read"].as_u64().expect("pages");
            // Files of one range partition overlap.
            assert!(pages <= 2 * pages_max as u64, "{pages} pages for {count} keys: {sql}: {plan}");
        }
        // One key, by the values of subqueries.
        let one = format!("FROM Wanted WHERE partitionkey = 'set{set}' AND rowkey = '0'");
        let by_value =
            format!("SELECT rowkey, n FROM Things WHERE partitionkey = (SELECT p {one}) AND rowkey = (SELECT r {one})");
        let plainly =
            format!("SELECT rowkey, n FROM Things WHERE partitionkey || '/' || rowkey = (SELECT p || '/' || r {one})");
        assert_eq!(ask(&mut session, &by_value), ask(&mut session, &plainly), "{by_value}");
        let by_array = format!(
            "SELECT rowkey, n FROM Things WHERE partitionkey = 'p07' AND rowkey = ANY (ARRAY(SELECT r {}))",
            format_args!("FROM Wanted WHERE partitionkey = 'set{set}'")
        );
        let plainly = by_array.replace("rowkey = ANY", "rowkey || '' = ANY");
        assert_eq!(sorted(ask(&mut session, &by_array)), sorted(ask(&mut session, &plainly)), "{by_array}");
    }
    assert!(found_any > 100, "{found_any} entities found");
}

#[test]
fn estimates_are_bounds_and_near_for_reads_bound_by_keys() {
    let seed = 27_001;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut session = things();
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
        let pages = |name: &str| scan[name]["Read"].as_u64().unwrap_or_else(|| panic!("{name} of {sql}: {plan}"));
        let listed = |name: &str| -> u64 {
            let files = scan[name].as_array().unwrap_or_else(|| panic!("{name} of {sql}: {plan}"));
            let stretches = files.iter().flat_map(|file| file["Pages"].as_array().into_iter().flatten());
            stretches.map(|stretch| 1 + stretch[1].as_u64().expect("last") - stretch[0].as_u64().expect("first")).sum()
        };
        assert!(pages("Actual Pages") <= pages("Pages"), "{sql}: {plan}");
        assert_eq!(listed("Files Read"), pages("Pages"), "{sql}: {plan}");
        assert_eq!(listed("Actual Files Read"), pages("Actual Pages"), "{sql}: {plan}");
        // A range begins and ends within pages, in each of the files that it meets.
        let at_ends = 2 * (PAGE_ROWS * ranges) as u64;
        assert!(estimated <= 3 * actual + at_ends, "{sql}: {estimated} estimated, {actual} read");
        (rows_read, rows_estimated) = (rows_read + actual, rows_estimated + estimated);
    }
    assert!(rows_read > 100_000, "{rows_read} rows read");
    println!("{rows_estimated} rows estimated, {rows_read} read");
}
