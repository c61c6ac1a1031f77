//! Each fault still occurs without its workaround. Where a test here fails, DataFusion has mended
//! the fault, and the workaround can go.

use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::{WORKAROUNDS, install_some};

/// The smallest statement that shows the fault of a workaround.
struct Canary {
    workaround: &'static str,
    statement: &'static str,
    /// The rows, or a part of the error, without the workaround.
    wrong: Outcome,
    rows: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Rows(usize),
    Fails(&'static str),
}

const TABLES: [&str; 5] = [
    "create table a as select column1 as i, column2 as d from (values (1, null), (2, 5)) v",
    "create table b as select column1 as k, column2 as w from (values (1, null), (2, 6)) v",
    "create table t as select column1 as x from (values (2), (3), (3)) v",
    "create table u as select column1 as x from (values (1), (2), (3)) v",
    "create table o as select column1 as x, column2 as n from (values (2, 1), (2, 2), (3, 1)) v",
];

const CANARIES: [Canary; 8] = [
    Canary {
        workaround: "orders of unions",
        statement: "select a, r from (select a, dense_rank() over (order by b) as r from (select x as a, x as b from t \
                    union all select x as a, x as b from u) v) w group by a, r",
        wrong: Outcome::Fails("does not satisfy order requirements"),
        rows: 3,
    },
    Canary {
        workaround: "keys of joins where NULL equals NULL",
        statement: "select * from a join b on a.i is not distinct from b.k where a.d = b.w",
        wrong: Outcome::Rows(1),
        rows: 0,
    },
    Canary {
        workaround: "conditions above aggregates, windows, DISTINCT and UNNEST",
        statement: "select count(*) from t having (select 5) > 100",
        wrong: Outcome::Rows(1),
        rows: 0,
    },
    Canary {
        workaround: "schemas above subqueries that became joins",
        statement: "select (select count(*) from t where t.x = u.x) from u union select 100",
        wrong: Outcome::Fails("Physical input schema should be the same"),
        rows: 4,
    },
    Canary {
        workaround: "keys that a join repeats",
        statement: "select distinct k from (select g.x as k, o.n from (select x from t group by x) g join o on o.x = g.x \
                    group by g.x, o.n) v",
        wrong: Outcome::Rows(3),
        rows: 2,
    },
    Canary {
        workaround: "properties below operators",
        statement: "select * from (select x from t where x = 3 group by rollup(x) order by x nulls last limit 1) v \
                    where x is not null",
        wrong: Outcome::Rows(0),
        rows: 1,
    },
    Canary {
        workaround: "subqueries among VALUES",
        statement: "values (1), ((select max(x) from t))",
        wrong: Outcome::Fails("evaluated before the subquery was executed"),
        rows: 2,
    },
    Canary {
        workaround: "keys of aggregates below projections",
        statement: "select * from (select rank() over (order by n) as r, s from (select column1 as s, count(*) as n \
                    from (values (3), (2)) v group by column1) g order by r, s limit 1) w where s = 2",
        wrong: Outcome::Rows(0),
        rows: 1,
    },
];

/// The rows of a statement in a session with the workarounds that are wanted.
fn rows(statement: &str, wanted: impl Fn(&str) -> bool) -> Result<usize> {
    // In one partition rows that nothing sorts come in the same order each time.
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
    let state = install_some(session.state(), |workaround| wanted(workaround.name))?;
    let session = SessionContext::new_with_state(state);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        for table in TABLES {
            session.sql(table).await?.collect().await?;
        }
        session.sql(statement).await?.count().await
    })
}

#[test]
fn every_workaround_has_a_canary() {
    let names: Vec<&str> = WORKAROUNDS.iter().map(|workaround| workaround.name).collect();
    // The first fault needs more than tables in memory: its canary is a plan, in its own file. The
    // second needs PostgreSQL's functions: its statements are in `sql/queries/conditional.slt`. The
    // next three have theirs in their files: a plan that grows, memory that ends, and what is asked
    // for again and again. Those of the next are in `sql/queries/subquery_order.slt`, and of the
    // two behind it, which need several partitions, in `sql/subqueries/partitions.slt`.
    assert_eq!(names[8..], CANARIES.map(|canary| canary.workaround));
}

#[test]
fn workarounds_keep_the_faults_away() {
    for canary in CANARIES {
        let rows = rows(canary.statement, |_| true).unwrap_or_else(|error| panic!("{}: {error}", canary.statement));
        assert_eq!(rows, canary.rows, "{}", canary.statement);
    }
}

#[test]
fn without_its_workaround_each_fault_is_there() {
    for (canary, workaround) in CANARIES.iter().zip(&WORKAROUNDS[8..]) {
        let mended = format!("DataFusion has mended {:?} ({:?})", workaround.name, workaround.upstream);
        match (rows(canary.statement, |name| name != canary.workaround), &canary.wrong) {
            (Ok(rows), Outcome::Rows(wrong)) => assert_eq!(rows, *wrong, "{mended}: {}", canary.statement),
            (Err(error), Outcome::Fails(part)) => assert!(error.to_string().contains(part), "{mended}: {error}"),
            (rows, _) => panic!("{mended}: {} gives {rows:?}", canary.statement),
        }
    }
}
