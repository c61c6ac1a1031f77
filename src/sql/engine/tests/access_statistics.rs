//! `rowkey.access_statistics` and `pg_stat_statements`: what the statements of all sessions cost.

use std::sync::Arc;

use super::{ask, fails, open, run, session};
use crate::session::{Session, SqlState};
use rowkey_model::files::MemoryStore;

fn filled() -> Session {
    let engine = open(Arc::new(MemoryStore::new())).expect("an engine");
    let mut session = session(&engine);
    run(&mut session, "CREATE TABLE things (n int)");
    run(
        &mut session,
        "INSERT INTO things (partitionkey, rowkey, n) SELECT 'p' || n % 4, lpad(n::text, 4, '0'), n FROM generate_series(0, 99) g(n)",
    );
    run(&mut session, "SELECT pg_stat_statements_reset()");
    session
}

const COSTS: &str = "SELECT calls, rows, point_queries, range_queries, partition_scans, table_scans, entities_read \
                     FROM rowkey.access_statistics WHERE query ";

#[test]
fn statements_are_counted_by_what_they_read() {
    let mut session = filled();
    for key in ["0000", "0004", "none"] {
        run(&mut session, &format!("SELECT n FROM things WHERE partitionkey = 'p0' AND rowkey = '{key}'"));
    }
    run(&mut session, "SELECT n FROM things WHERE partitionkey = 'p0' AND rowkey > '0010'");
    run(&mut session, "SELECT count(*) FROM things WHERE partitionkey = 'p1'");
    run(&mut session, "SELECT sum(n) FROM things WHERE n > 5");
    run(&mut session, "UPDATE things SET n = 1 WHERE n = 7");
    run(&mut session, "SELECT 1");
    let cases = [
        ("LIKE 'SELECT n FROM things%AND%=%'", "3|2|3|0|0|0|2"),
        ("LIKE 'SELECT n FROM things%>%'", "1|22|0|1|0|0|22"),
        ("LIKE 'SELECT count%'", "1|1|0|0|1|0|25"),
        ("LIKE 'SELECT sum%'", "1|1|0|0|0|1|94"),
        ("LIKE 'UPDATE%'", "1|1|0|0|0|1|1"),
        ("= 'SELECT $1'", "1|1|0|0|0|0|0"),
    ];
    for (query, costs) in cases {
        assert_eq!(ask(&mut session, &format!("{COSTS}{query}")), [costs], "{query}");
    }
}

#[test]
fn failed_statements_and_commands_are_not_counted() {
    let mut session = filled();
    for failing in ["SELECT 1 / 0", "SELECT nothing FROM things"] {
        fails(&mut session, failing);
    }
    run(&mut session, "SET work_mem = '8MB'");
    assert_eq!(
        ask(&mut session, "SELECT query FROM rowkey.access_statistics ORDER BY 1"),
        ["SELECT pg_stat_statements_reset()"]
    );
}

#[test]
fn tools_read_pg_stat_statements() {
    let mut session = filled();
    run(&mut session, "SELECT count(*) FROM things");
    let statement = "SELECT calls, rows, total_exec_time >= mean_exec_time, queryid IS NOT NULL \
                     FROM pg_stat_statements WHERE query = 'SELECT count(*) FROM things'";
    assert_eq!(ask(&mut session, statement), ["1|1|true|true"]);
    run(&mut session, "SELECT pg_stat_statements_reset(0, 0, 0)");
    assert_eq!(fails(&mut session, "SELECT pg_stat_statements_reset(0, 0, 5)"), SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(ask(&mut session, statement), [""; 0]);
}
