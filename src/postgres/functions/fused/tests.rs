//! Expressions fused and not fused have the same values and errors.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::{SessionConfig, SessionContext};
use rowkey_base::clock::SystemClock;
use rowkey_base::testing::Dice;

use super::super::analyzer::ObjectNames;
use super::super::register::{configure, register_fusing};

/// A session with tables of one row of values that are hard to compute with: of several rows it is
/// open which are evaluated before a filter.
async fn session(depth_max: usize) -> SessionContext {
    let config = configure(SessionConfig::new().with_target_partitions(1));
    let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
    let clock: Arc<dyn rowkey_base::clock::Clock> = Arc::new(SystemClock::default());
    let state = register_fusing(state, &clock, ObjectNames::default(), depth_max).expect("registered");
    let session = SessionContext::new_with_state(state);
    let rows = [
        "2147483647, 0, 9223372036854775807, '1.5', 'a', true",
        "3, 7, 5, '-0.0', 'abc', false",
        "NULL, 2, NULL, NULL, NULL, NULL",
        "-2147483648, -1, -9223372036854775808, '1e300', '', true",
        "0, 0, 0, '0.25', 'x%y', NULL",
        "12, 5, 1000, '2.5', '17', false",
    ];
    let columns = "a::int4 as a, b::int4 as b, c::int8 as c, f::float8 as f, t::text as t, p::bool as p";
    for (at, row) in rows.iter().enumerate() {
        let made = format!("create table v{at} as select {columns} from (values ({row})) as rows (a, b, c, f, t, p)");
        session.sql(&made).await.expect("a table").collect().await.expect("rows");
    }
    session
}

/// Random expressions of three types.
struct Written(Dice);

impl Written {
    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.0.pick(&["a", "b", "c", "1", "2147483647", "0", "3", "a", "b"]).to_owned();
        }
        let below = depth - 1;
        match self.0.below(12) {
            0..=4 => {
                let operator = self.0.pick(&["+", "-", "*", "+", "-", "/", "%"]);
                format!("({} {operator} {})", self.number(below), self.shallow(below))
            }
            5 => format!("({} {} {})", self.shallow(below), self.0.pick(&["+", "-", "*"]), self.number(below)),
            6 => {
                format!("case when {} then {} else {} end", self.truth(below), self.number(below), self.shallow(below))
            }
            7 => format!("case when {} then {} end", self.truth(below.min(2)), self.number(below)),
            8 => format!("coalesce({}, {})", self.number(below), self.shallow(below)),
            9 => format!("nullif({}, {})", self.number(below), self.shallow(below)),
            10 => format!("length({})", self.text(below)),
            _ => format!("(- {})", self.number(below)),
        }
    }

    fn shallow(&mut self, depth: usize) -> String {
        let depth = depth.min(self.0.below(3));
        self.number(depth)
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.0.pick(&["t", "t", "'k'", "''"]).to_owned();
        }
        let below = depth - 1;
        match self.0.below(6) {
            0 | 1 => format!("({} || {})", self.text(below), self.text(below.min(1))),
            2 => format!("upper({})", self.text(below)),
            3 => format!(
                "case when {} then {} else {} end",
                self.truth(below),
                self.text(below),
                self.text(below.min(1))
            ),
            4 => format!("({})::text", self.number(below)),
            _ => format!("coalesce({}, {})", self.text(below), self.text(below.min(1))),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.0.pick(&["p", "b <> 0", "a is null", "t = 'abc'"]).to_owned();
        }
        let below = depth - 1;
        match self.0.below(9) {
            0 => format!("({} and {})", self.truth(below.min(1)), self.truth(below)),
            1 => format!("({} or {})", self.truth(below.min(1)), self.truth(below)),
            2 => format!("(not {})", self.truth(below)),
            3 => format!("({} is not null)", self.number(below)),
            4 => format!("({} in (1, 2, 3))", self.number(below)),
            5 => format!("({} between 0 and 7)", self.number(below)),
            6 => format!("({} like 'a%')", self.text(below)),
            _ => format!("({} {} {})", self.number(below), self.0.pick(&["<", "=", ">="]), self.shallow(below)),
        }
    }
}

/// The rows as text, or what is wrong: the innermost error, without the way to it.
async fn answer(session: &SessionContext, text: &str) -> Result<String, String> {
    let root = |error: datafusion::common::DataFusionError| error.find_root().to_string();
    let rows = session.sql(text).await.map_err(root)?.collect().await.map_err(root)?;
    Ok(arrow::util::pretty::pretty_format_batches(&rows).expect("rows of text").to_string())
}

#[tokio::test]
async fn fused_expressions_have_the_values_and_errors_of_others() {
    let seed = std::env::var("FUSED_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20261124);
    let mut written = Written(Dice(seed));
    let (fused, plain) = (session(3).await, session(usize::MAX).await);
    let (mut values, mut errors, mut differing, mut calls) = (0, 0, 0, 0);
    for round in 0..300 {
        let depth = 4 + written.0.below(6);
        let (number, text, truth) = (written.number(depth), written.text(depth), written.truth(depth));
        let table = format!("v{}", written.0.below(6));
        let statement = match written.0.below(7) {
            0 => format!("select {number} as x, count(*) from {table} group by 1"),
            1 => format!("select a from {table} where {truth}"),
            2 => format!("select {text} as x from {table} order by {number}"),
            3 => format!("select sum({number}) as x from {table}"),
            4 => format!("select x + 1 as y from (select {number} as x from {table}) as inner_rows"),
            5 => format!("select {number} + q as y from (select a / b as q, a, b, c, t, p from {table}) as w"),
            _ => format!("select {number} as x, {text} as y, {truth} as z from {table}"),
        };
        let (one, other) = (answer(&fused, &statement).await, answer(&plain, &statement).await);
        match (&one, &other) {
            // Of several errors it is open which one is met first.
            (Err(one), Err(other)) => {
                errors += 1;
                differing += usize::from(one != other);
            }
            _ => {
                assert_eq!(one, other, "seed {seed}, round {round}: {statement}");
                values += 1;
            }
        }
        if let Ok(plan) = fused.sql(&statement).await
            && let Ok(plan) = plan.into_optimized_plan()
        {
            calls += fused_calls(&plan);
        }
    }
    let counts = format!("{values} values, {errors} errors, {differing} of them others, {calls} calls");
    assert!(values > 50 && errors > 20 && differing * 10 < errors && calls > 100, "seed {seed}: {counts}");
}

fn fused_calls(plan: &LogicalPlan) -> usize {
    let mut calls = 0;
    each_expression(plan, |expr| {
        calls += usize::from(matches!(expr, Expr::ScalarFunction(call) if call.name() == "fused"))
    });
    calls
}

fn each_expression(plan: &LogicalPlan, mut each: impl FnMut(&Expr)) {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                each(expr);
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .expect("walked");
}

/// How deep the deepest expression of a plan is.
fn depth(plan: &LogicalPlan) -> usize {
    fn depth(expr: &Expr) -> usize {
        let mut below = 0;
        expr.apply_children(|child| {
            below = below.max(depth(child));
            Ok(TreeNodeRecursion::Continue)
        })
        .expect("walked");
        below + 1
    }
    let mut deepest = 0;
    each_expression(plan, |expr| deepest = deepest.max(depth(expr)));
    deepest
}

#[tokio::test]
async fn no_chain_makes_a_deep_plan() {
    let session = session(super::DEPTH_MAX).await;
    for link in ["a + ", "1 - ", "f * ", "c & "] {
        let text = format!("select {}b as x from v1 where {}b > 0", link.repeat(300), link.repeat(100));
        let plan = session.state().create_logical_plan(&text).await.expect("a plan");
        let analyzed = session
            .state()
            .analyzer()
            .execute_and_check(plan, session.state().config_options(), |_, _| {})
            .expect("analyzed");
        assert!(depth(&analyzed) <= super::DEPTH_MAX + 4, "{link}: {}", depth(&analyzed));
        // The rule sees what it has made again where a plan is kept.
        let again = session
            .state()
            .analyzer()
            .execute_and_check(analyzed.clone(), session.state().config_options(), |_, _| {})
            .expect("analyzed again");
        assert_eq!(again.display_indent_schema().to_string(), analyzed.display_indent_schema().to_string());
    }
}

#[tokio::test]
async fn equal_bodies_are_equal_calls() {
    let session = session(2).await;
    for (text, rows) in [
        ("select a + b + a + b + a as x, count(*) from v1 group by a + b + a + b + a", Ok("| 23 | 1        |")),
        ("select 1 + 1 + 1 + 1 + 1 + 1 as x", Ok("| 6 |")),
        ("select 1 + 1 + 1 + 1 + 1 / 0 as x", Err("division by zero")),
        ("select case when b <> 0 then a / b / b / b / b end as x from v0", Ok("|   |")),
        ("select a + a + a + a + a as x from v0", Err("integer out of range")),
    ] {
        let answer = answer(&session, text).await;
        match (&answer, rows) {
            (Ok(answer), Ok(wanted)) => assert!(answer.contains(wanted), "{text}: {answer}"),
            (Err(answer), Err(wanted)) => assert!(answer.contains(wanted), "{text}: {answer}"),
            _ => panic!("{text}: {answer:?}"),
        }
    }
}
