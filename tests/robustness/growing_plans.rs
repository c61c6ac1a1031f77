//! Texts of a few kilobytes whose plans would double, or grow with a power, while they are planned.

use std::time::{Duration, Instant};

use crate::robustness::server::Server;
use crate::robustness::wire::Client;

/// On a machine with other work, and without optimization; what doubles takes hours.
const PATIENCE: Duration = Duration::from_secs(30);
const MIBIBYTES_MAX: u64 = 700;
/// The names resolve queries up to fifty deep.
const LEVELS: usize = 30;

/// Queries in queries, each of which uses the column of the next one more than once.
fn nested(level: &str, base: &str) -> String {
    (0..LEVELS).fold(base.to_owned(), |below, _| format!("select {level} from ({below}) t"))
}

/// A session with two small tables.
fn with_tables(server: &Server) -> Client {
    let mut client = server.connect();
    for statement in [
        "create table employees (age int)",
        "create table departments (region text)",
        "insert into employees (partitionkey, rowkey, age) select 'p', n::text, n from generate_series(1, 100) g(n)",
        "insert into departments (partitionkey, rowkey, region) \
         select 'p', n::text, 'r' || n from generate_series(1, 10) g(n)",
    ] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    client
}

#[track_caller]
fn ask(client: &mut Client, text: &str, code: &str) {
    let begun = Instant::now();
    let answer = client.ask(text);
    let took = begun.elapsed();
    assert_eq!(answer.code(), code, "{}: {text}", answer.text());
    assert!(took < PATIENCE, "{took:?}: {text}");
}

#[test]
fn conditions_over_nested_queries_do_not_double() {
    let server = Server::empty();
    let mut client = with_tables(&server);
    let series = "select n % 2 as a from generate_series(1, 3) g(n)";
    let half = nested("(a + a) / 2 as a", series);
    let ages = nested("(a + a) / 2 as a", "select age as a from employees");
    let groups = (0..LEVELS)
        .fold(series.to_owned(), |below, _| format!("select (a + a) / 2 as a from ({below}) t group by (a + a) / 2"));
    let joined = "select b as a from generate_series(1, 3) g(n) left join generate_series(1, 3) h(b) on n = b";
    let ctes: Vec<String> =
        (1..=LEVELS).map(|at| format!("t{at} as (select (a + a) / 2 as a from t{})", at - 1)).collect();
    for text in [
        format!("select a from ({half}) t where a > 0"),
        format!("select a from ({ages}) t where a > 0"),
        format!("select a from ({groups}) t where a > 0"),
        format!("select a from ({half}) t group by a having a > 0"),
        format!("select x.a from ({half}) x join ({half}) y on x.a = y.a and x.a > 0"),
        format!("select x.a from ({half}) x left join ({half}) y on x.a = y.a where y.a > 0"),
        format!("select a from ({}) t where a > 0", nested("(a + a) / 2 as a", joined)),
        format!("select a from ({ages}) t order by a limit 1"),
        format!("select g from generate_series(1, 3) g where g in ({half})"),
        format!("select a, count(*) over (partition by a) from ({half}) t where a > 0"),
        format!("select a from ({half} union all {half}) t where a > 0"),
        format!("select a from ({}) t where a > 0", nested("case when a > 1 then a else -a end as a", series)),
        format!("with t0 as ({series}), {} select a from t{LEVELS} where a > 0", ctes.join(", ")),
    ] {
        ask(&mut client, &text, "");
    }
    server.wait_until_quiet(PATIENCE);
    server.assert_well_within(MIBIBYTES_MAX);
}

/// A condition is pushed down as before where it grows little: keys are found in it.
#[test]
fn ordinary_conditions_still_reach_the_scan() {
    let server = Server::empty();
    let mut client = with_tables(&server);
    for statement in [
        "create view one as select partitionkey || '' as p, rowkey as r, age + age as a from employees",
        "create view two as select p, r, a + a as a from one",
    ] {
        assert_eq!(client.ask(statement).errors, []);
    }
    let keys: Vec<String> = (0..700).map(|at| format!("r = '{at:06}'")).collect();
    let answer = client.ask(&format!("explain select a from two where {}", keys.join(" or ")));
    let plan: Vec<String> = answer.rows.into_iter().flatten().flatten().collect();
    assert!(!plan.join("\n").contains("FilterExec"), "{plan:?}");
}

#[test]
fn subqueries_that_become_joins_are_limited() {
    let server = Server::empty();
    let mut client = with_tables(&server);
    let each = |number: usize, between: &str| {
        let member = |at| format!("rowkey in (select rowkey from departments where region <> '{at}')");
        (0..number).map(member).collect::<Vec<_>>().join(between)
    };
    ask(&mut client, &format!("select count(*) from employees where {}", each(30, " and ")), "");
    for between in [" and ", " or "] {
        ask(
            &mut client,
            &format!("select count(*) from employees where rowkey = 'x' or {}", each(400, between)),
            "54001",
        );
        server.wait_until_quiet(Duration::from_secs(10));
    }
    // Those without references to the outer query are values, and branches of a UNION are apart.
    let values: Vec<String> = (0..150).map(|at| format!("(select max(age) + {at} from employees)")).collect();
    ask(&mut client, &format!("select {}", values.join(", ")), "");
    let branches: Vec<String> =
        (0..120).map(|_| format!("select count(*) from departments where {}", each(1, ""))).collect();
    ask(&mut client, &branches.join(" union all "), "");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// Chains that cannot be fused into one call: their constants are too many, or a call is not ours.
#[test]
fn chains_of_every_kind_are_planned_in_time() {
    let server = Server::empty();
    let mut client = with_tables(&server);
    for (first, link) in [
        ("'{}'::jsonb", " #> '{abcdefgh}'"),
        ("'{}'::jsonb", " -> 'abcdefgh'"),
        ("'{}'::jsonb", " || '{\"a\": 1}'"),
        ("length('abcdefgh')", " + length('abcdefgh')"),
        ("jsonb_build_object('a', age)", " || jsonb_build_object('a', age)"),
        ("age", " >> age % 2"),
        ("age", " | age"),
        ("age", " # age"),
    ] {
        let rows = "from employees where partitionkey = 'nobody'";
        ask(&mut client, &format!("select {first}{} {rows}", link.repeat(400)), "");
        ask(&mut client, &format!("select {first}{} {rows}", link.repeat(2_100)), "54001");
    }
    server.wait_until_quiet(PATIENCE);
    server.assert_well();
}

#[test]
fn a_row_far_behind_needs_little_memory() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "64", "--cache-mib", "16"]);
    let mut client = server.connect();
    let far = "select g from generate_series(1, 1500000) g order by g % 1000, g limit 1 offset 1000000";
    assert_eq!(client.value(far), "1000666");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// What a column is computed from is shown by EXPLAIN, and quotes of records are quoted again.
#[test]
fn texts_that_double_at_each_level_are_bounded() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let distinct = |rows: String, _| format!("(select distinct on (a) a, b from {rows} q order by a, b)");
    let nested = (0..40).fold("(select 1 a, 2 b)".to_owned(), distinct);
    for explain in ["explain", "explain verbose", "explain (format json)"] {
        assert_eq!(client.ask(&format!("{explain} select * from {nested} q")).errors, []);
    }
    let literals = vec!["length(r)"; 1000].join(", ");
    let literals = format!("explain verbose select {literals} from (select '{}' r) q", "x".repeat(1_000_000));
    assert_eq!(client.ask(&literals).errors, []);
    let record = (0..30).fold("row(1, 1)".to_owned(), |record, _| format!("row({record}, 1)"));
    for record in [record.clone(), format!("array[{record}]")] {
        let answer = client.ask(&format!("select {record}"));
        assert_eq!((answer.code(), answer.kinds.contains('D')), ("54000", false), "{}", answer.text());
    }
    server.assert_well_within(700);
    assert!(server.peak_mibibytes() < 700, "{} MiB", server.peak_mibibytes());
}

/// Which operators of all statements have how much is not for clients.
#[test]
fn errors_of_memory_name_no_consumers() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "32", "--cache-mib", "16"]);
    let mut client = server.connect();
    let answer =
        client.ask("select length(array_to_string(array_agg(g::text), ',')) from generate_series(1, 5000000) g");
    assert_eq!(answer.code(), "53200", "{}", answer.text());
    assert!(!answer.text().contains('#') && !answer.text().contains("consumer"), "{}", answer.text());
}

/// Each of them is a join above the one before, of several batches.
#[test]
fn many_correlated_values_of_many_rows_take_memory_by_their_number() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let rows = "insert into readings (partitionkey, rowkey, value) \
                select 'p', n::text, n from generate_series(1, 40000) g(n)";
    for statement in ["create table readings (value int)", rows] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    let value = |at: usize| format!("(select max(value) + {at} from readings x where x.rowkey = r.rowkey)");
    let values: Vec<String> = (0..20).map(value).collect();
    let sum = format!("select sum({}) from readings r", values.join(" + "));
    assert_eq!(client.value(&sum), (20_u64 * 40_000 * 40_001 / 2 + 190 * 40_000).to_string());
    server.assert_well_within(MIBIBYTES_MAX);
}

/// DataFusion asks each level of an expression for its type, which asks all below it.
#[test]
fn types_of_long_chains_do_not_grow_with_their_cube() {
    let server = Server::empty();
    let mut client = with_tables(&server);
    let computed = |chain: String| format!("select {chain} as x from (values (1), (2)) v(n)");
    for (operator, members) in [("&", 1900), ("|", 1900), ("#", 1900), ("<<", 1900), ("%", 1900)] {
        ask(&mut client, &computed(vec!["n"; members].join(&format!(" {operator} "))), "");
    }
    let nulls = |members: usize| (0..members).map(|at| format!("nullif(n, {at})")).collect::<Vec<_>>().join(" + ");
    ask(&mut client, &computed(nulls(300)), "");
    ask(&mut client, &computed(nulls(600)), "54001");
}

/// Each query has a condition on what it computes of the one before: the last comes to have all.
#[test]
fn a_chain_of_conditions_ends_when_it_is_stopped() {
    let (server, mut client) = Server::with_people();
    let chain = |length: usize| {
        let steps = (0..length).map(|at| format!("c{} as (select a + 1 a from c{at} where a > {at})", at + 1));
        let steps = steps.collect::<Vec<_>>().join(", ");
        format!("with c0 as (select age a from people), {steps} select count(*) from c{length}")
    };
    assert_eq!(client.value(&chain(60)), "19600");
    assert_eq!(client.ask("set statement_timeout = '1s'").errors, []);
    let answer = client.ask(&format!("explain {}", chain(1000)));
    assert!(["", "57014"].contains(&answer.code()), "{}", answer.text());
    server.wait_until_quiet(Duration::from_secs(5));
}
