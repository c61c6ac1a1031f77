//! Filters that must not be pushed below an aggregate, a window, DISTINCT or UNNEST.
//!
//! `PushDownFilter` checks whether all columns of a condition may go below such a node. A condition
//! without columns always may: `count(*)` without GROUP BY then still has its row, which the
//! condition was to remove (<https://github.com/apache/datafusion/issues/11748>). The rule itself
//! may make one, `false` of `n = 0 AND n = 3`. A volatile one is evaluated for other rows, or again
//! (<https://github.com/apache/datafusion/issues/25415>).
//! What becomes too large below a node stays as well: see [`super::inlined_columns`].

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan};
use datafusion::optimizer::OptimizerConfig;

use super::guarded::{Guarded, Rule};
use super::inlined_columns::grown_nodes;
use crate::carried::Stop;
use crate::rules::Rules;

/// Most nodes of conditions together that become longer where they go. In a chain of queries, each
/// with a condition on what it computes of the one before, the last would have all of them.
const GROWN_NODES_MAX: usize = 1_000;

/// Guards the rule.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.optimizer.wrap("push_down_filter", |rule| Guarded::over(rule, rewritten))
}

fn rewritten(rule: &Rule, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = &plan else { return rule.rewrite(plan, config) };
    Stop::of(&config.options()).check()?;
    // The rule merges adjacent filters.
    let (mut conditions, mut input) = (vec![&filter.predicate], &filter.input);
    while let LogicalPlan::Filter(below) = input.as_ref() {
        conditions.push(&below.predicate);
        input = &below.input;
    }
    // The lowest is evaluated first.
    let conjuncts = conditions.into_iter().rev().cloned().flat_map(split_conjunction_owned);
    let mut grown = 0;
    let (stay, go): (Vec<_>, Vec<_>) = conjuncts.partition(|condition| {
        let Some(nodes) = grown_nodes(condition, input) else { return true };
        grown += nodes;
        // One alone has a limit of its own.
        stays_above(condition, input) || nodes > 0 && grown > nodes.max(GROWN_NODES_MAX)
    });
    let Some(stay) = conjunction(stay) else { return rule.rewrite(plan, config) };
    let Some(go) = conjunction(go) else { return Ok(Transformed::no(plan)) };
    let below = LogicalPlan::Filter(Filter::try_new(go, Arc::clone(input))?);
    let pushed = rule.rewrite(below, config)?;
    if !pushed.transformed {
        return Ok(Transformed::no(plan));
    }
    pushed.map_data(|below| match below {
        LogicalPlan::Filter(kept) => Ok(LogicalPlan::Filter(Filter::try_new(kept.predicate.and(stay), kept.input)?)),
        below => Ok(LogicalPlan::Filter(Filter::try_new(stay, Arc::new(below))?)),
    })
}

fn stays_above(condition: &Expr, plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => {
            condition.is_volatile()
                || condition.column_refs().is_empty()
                || may_have_rows_of_none(aggregate)
                || is_grouped_by_volatile(aggregate)
        }
        LogicalPlan::Window(_) | LogicalPlan::Distinct(_) | LogicalPlan::Unnest(_) => condition.is_volatile(),
        _ => false,
    }
}

/// Whether it may have a row without an input; no condition goes below such.
fn may_have_rows_of_none(aggregate: &Aggregate) -> bool {
    matches!(aggregate.group_expr.as_slice(), [] | [Expr::GroupingSet(_), ..])
}

/// Below the aggregate, a grouping expression is evaluated again.
fn is_grouped_by_volatile(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.iter().any(Expr::is_volatile)
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::*;

    /// Queries, and the node that their condition has to stay above.
    const CASES: [(&str, &str); 9] = [
        ("select count(*) from t having (select max(x) from t) > 100", "Aggregate"),
        ("select x, count(*) from t group by x having (select max(x) from t) > 100", "Aggregate"),
        ("select x, count(*) from t group by rollup(x) having (select max(x) from t) > 100", "Aggregate"),
        ("select count(*) from t having random() < 2", "Aggregate"),
        ("select x, count(*) from t group by x having x * random() < 2", "Aggregate"),
        ("select * from (select random() < 0.5 as b, count(*) from t group by random() < 0.5) where b", "Aggregate"),
        ("select * from (select x, count(*) over (partition by x) from t) where x * random() < 2", "WindowAggr"),
        ("select * from (select distinct x from t) where x * random() < 2", "Aggregate"),
        ("select * from (select x, unnest(array[x, x]) from t) where x * random() < 2", "Unnest"),
    ];

    fn session(guards: bool) -> SessionContext {
        let state = SessionContext::new().state();
        let mut rules = Rules::of(&state);
        if guards {
            install(&mut rules).expect("its rule");
        }
        SessionContext::new_with_state(rules.put_into(state))
    }

    fn run<T>(work: impl Future<Output = Result<T>>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(work).expect("an answer")
    }

    /// The nodes of a query's plan, from the top.
    fn nodes(sql: &str, guards: bool) -> Vec<String> {
        let plan = run(async {
            let session = session(guards);
            session.sql("create table t as values (1), (2), (3)").await?.collect().await?;
            session.sql("create view u as select column1 as x from t").await?.collect().await?;
            session.sql(&sql.replace("from t", "from u")).await?.into_optimized_plan()
        });
        let plan = plan.display_indent().to_string();
        plan.lines().map(|line| line.trim_start().split([':', ' ']).next().unwrap_or_default().to_owned()).collect()
    }

    fn is_above(nodes: &[String], upper: &str, lower: &str) -> bool {
        let place = |wanted: &str| nodes.iter().position(|node| node == wanted);
        matches!((place(upper), place(lower)), (Some(upper), Some(lower)) if upper < lower)
    }

    #[test]
    fn conditions_stay_above_what_makes_other_rows() {
        for (sql, node) in CASES {
            let nodes = nodes(sql, true);
            assert!(is_above(&nodes, "Filter", node), "{sql}: {nodes:?}");
        }
    }

    /// When this fails, DataFusion has mended it: this file can go.
    #[test]
    fn the_unguarded_rule_takes_them_below() {
        for (sql, node) in CASES {
            let nodes = nodes(sql, false);
            assert!(!is_above(&nodes, "Filter", node), "{sql}: {nodes:?}");
        }
    }

    #[test]
    fn other_conditions_go_below() {
        for (sql, node) in [
            ("select x, count(*) from t group by x having x > 1 and count(*) > 1", "Aggregate"),
            ("select * from (select x, count(*) over (partition by x) from t) where x > 1", "WindowAggr"),
            ("select x, count(*) from t group by x having x > 1 and random() < 2 and count(*) > 1", "Aggregate"),
        ] {
            let mut nodes = nodes(sql, true);
            nodes.reverse();
            assert!(is_above(&nodes, "Filter", node), "{sql}: {nodes:?}");
        }
    }

    /// An aggregate without groups has one row, of which HAVING takes none or all.
    #[test]
    fn having_takes_the_row_of_an_aggregate_without_groups_away() {
        for sql in [
            "select count(*) from (values (1)) t(x) having (select 5) > 100",
            "select x, count(*) from (values (1)) t(x) group by rollup(x) having count(*) = 0 and count(*) = 3",
        ] {
            let rows = |guards: bool| run(async { session(guards).sql(sql).await?.count().await });
            assert_eq!((rows(false), rows(true)), (1, 0), "{sql}");
        }
    }
}
