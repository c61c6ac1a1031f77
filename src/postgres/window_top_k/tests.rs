use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use rowkey_base::testing::Dice;

use super::*;

fn session(with_rule: bool) -> SessionContext {
    let state = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2)).state();
    SessionContext::new_with_state(if with_rule { install(state).expect("installed") } else { state })
}

/// The rows in an order of their own, and the plan.
fn run(with_rule: bool, statement: &str) -> (String, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let session = session(with_rule);
        let frame = session.sql(statement).await.expect(statement);
        let plan = frame.create_physical_plan().await.expect(statement);
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        let rows: Vec<RecordBatch> = collect(plan, session.task_ctx()).await.expect(statement);
        (pretty_format_batches(&rows).expect(statement).to_string(), shown)
    })
}

/// Rows in no order, some of whose values are NULL, NaN, or equal.
const ROWS: &str = "select value as n, nullif(value * 7919 % 13, 5) as g, \
                    case when value * 31 % 11 = 3 then null when value * 31 % 17 = 4 then 'NaN'::double \
                    else ((value * 104729) % 401)::double end as x, \
                    'k' || (value * 48271 % 97)::text as t, value * 16807 % 2 = 0 as b from generate_series(1, 20000)";

#[test]
fn first_rows_are_those_of_all_rows() {
    const PARTITIONS: [&str; 6] = ["by g", "by t, b", "by g, t", "by x", "by n", ""];
    const ORDERS: [&str; 6] = ["x", "t", "x desc nulls last", "t desc, x nulls first", "b, x desc", "n % 100"];
    const CONDITIONS: [&str; 9] =
        ["<= 3", "< 2", "= 1", "= 4", "<= 100", "between 1 and 5", "<= 3 and n > 500", "<= 101", "<= 0"];
    let mut applied = 0;
    for seed in 1..=40 {
        let mut dice = Dice(seed);
        let partition = match dice.pick(&PARTITIONS) {
            "" => String::new(),
            keys => format!("partition {keys}"),
        };
        let (order, condition) = (dice.pick(&ORDERS), dice.pick(&CONDITIONS));
        let (function, unique) = dice.pick(&[("row_number()", ", n"), ("rank()", "")]);
        let others = if dice.chance(3) { ", dense_rank() over w as d" } else { "" };
        let statement = format!(
            "select * from (select n, x, {function} over w as place{others} from ({ROWS}) r \
             window w as ({partition} order by {order}{unique})) v where place {condition} order by n"
        );
        let (plain, _) = run(false, &statement);
        let (rows, plan) = run(true, &statement);
        assert_eq!(rows, plain, "seed {seed}: {statement}\n{plan}");
        applied += usize::from(plan.contains(FirstRows::NAME));
    }
    assert!(applied > 10, "{applied}");
}

/// Of equal rows any may be first: as many as are wanted, and none behind another.
#[test]
fn equal_rows_are_as_many_as_are_wanted() {
    let statement = format!(
        "select g, count(*), min(k), max(k) from (select g, n % 100 as k, row_number() over \
         (partition by g order by n % 100) as place from ({ROWS}) r) v where place <= 20 group by g order by g"
    );
    assert_eq!(run(true, &statement).0, run(false, &statement).0);
}

#[test]
fn functions_that_look_behind_the_first_rows_see_all() {
    for function in ["lead(n) over w", "count(*) over (partition by g)", "ntile(4) over w", "last_value(n) over w"] {
        let statement = format!(
            "select * from (select n, row_number() over w as place, {function} as f from ({ROWS}) r \
             window w as (partition by g order by x, n rows between unbounded preceding and unbounded following)) v \
             where place <= 3 order by n"
        );
        let (rows, _) = run(true, &statement);
        assert_eq!(rows, run(false, &statement).0, "{statement}");
    }
    // The rows are sorted alike for both windows.
    let both = format!(
        "select * from (select n, row_number() over (partition by g order by x, n) as place, \
         rank() over (order by g, x, n) as r from ({ROWS}) r) v where place <= 2 order by n"
    );
    assert_eq!(run(true, &both).0, run(false, &both).0);
    let dense = format!(
        "select * from (select n, dense_rank() over (partition by g order by n % 7) as place from ({ROWS}) r) v \
         where place <= 2 order by n"
    );
    let (rows, plan) = run(true, &dense);
    assert!(!plan.contains(FirstRows::NAME), "{plan}");
    assert_eq!(rows, run(false, &dense).0);
}

/// Where each row comes before all others, and where each is a partition of its own.
#[test]
fn rows_are_all_kept_where_that_is_cheaper() {
    for (partition, order) in [("n % 3", "n desc"), ("n", "x")] {
        let rows = "select value as n, value % 10 as x from generate_series(1, 300000)";
        let statement = format!(
            "select count(*), sum(n), max(place) from (select n, row_number() over (partition by {partition} \
             order by {order}) as place from ({rows}) r) v where place <= 2"
        );
        let (found, plan) = run(true, &statement);
        assert!(plan.contains(FirstRows::NAME), "{plan}");
        assert_eq!(found, run(false, &statement).0, "{statement}");
    }
}
