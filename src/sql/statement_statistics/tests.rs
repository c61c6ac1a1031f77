use std::sync::Arc;

use super::{STATEMENTS_MAX, StatementReads, StatementStatistics};
use crate::access::AccessPath;

const ACCOUNT: &str = "devstoreaccount1";

fn run(statistics: &Arc<StatementStatistics>, account: &str, text: &str, rows: usize) {
    let reads = StatementReads::default();
    reads.add_by_key(AccessPath::Point, rows as u64);
    let mut counted = statistics.begin(statistics.entry(account, text)).answers(&reads);
    counted.add(rows);
}

#[test]
fn runs_of_statements_that_differ_in_constants_add_up() {
    let statistics = Arc::new(StatementStatistics::default());
    run(&statistics, ACCOUNT, "SELECT * FROM t WHERE a = 1", 2);
    run(&statistics, ACCOUNT, "select * FROM T WHERE a = 20", 3);
    run(&statistics, "other", "SELECT * FROM t WHERE a = 1", 1);
    let costs = statistics.costs(ACCOUNT);
    assert_eq!(costs.len(), 1);
    let (text, totals) = (&costs[0].text, costs[0].totals);
    assert_eq!((text.as_str(), totals.calls, totals.rows), ("SELECT * FROM t WHERE a = $1", 2, 5));
    assert_eq!((totals.reads.point_queries, totals.reads.entities), (2, 5));
    assert!(totals.least <= totals.most && totals.most <= totals.total);
}

#[test]
fn runs_that_fail_do_not_count() {
    let statistics = Arc::new(StatementStatistics::default());
    let mut counted = statistics.begin(statistics.entry(ACCOUNT, "SELECT 1 / 0")).answers(&StatementReads::default());
    counted.add(1);
    counted.fail();
    drop(counted);
    drop(statistics.begin(statistics.entry(ACCOUNT, "SELECT 1 / 0")));
    assert_eq!(statistics.costs(ACCOUNT), []);
}

/// A prepared statement keeps its entry, which is listed again when it runs.
#[test]
fn what_is_reset_begins_anew() {
    let statistics = Arc::new(StatementStatistics::default());
    let entry = statistics.entry(ACCOUNT, "SELECT 1");
    let run_it = || statistics.begin(Arc::clone(&entry)).wrote(1, &StatementReads::default());
    run_it();
    run(&statistics, "other", "SELECT 1", 1);
    statistics.reset(ACCOUNT);
    assert_eq!(statistics.costs(ACCOUNT), []);
    assert_eq!(statistics.costs("other").len(), 1);
    run_it();
    run(&statistics, ACCOUNT, "SELECT 1", 1);
    run_it();
    let costs = statistics.costs(ACCOUNT);
    assert_eq!((costs.len(), costs[0].totals.calls), (1, 3));
}

#[test]
fn those_that_run_least_go_where_they_are_too_many() {
    let statistics = Arc::new(StatementStatistics::default());
    for _ in 0..3 {
        run(&statistics, ACCOUNT, "SELECT often", 1);
    }
    for number in 0..STATEMENTS_MAX * 2 {
        run(&statistics, ACCOUNT, &format!("SELECT a{number}"), 1);
    }
    let costs = statistics.costs(ACCOUNT);
    assert!(costs.len() <= STATEMENTS_MAX, "{}", costs.len());
    assert!(costs.iter().any(|cost| cost.text == "SELECT often" && cost.totals.calls == 3));
}
