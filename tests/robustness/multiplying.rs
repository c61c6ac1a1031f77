//! Short statements that multiply their rows or values: in memory, or refused before it is taken.

use crate::robustness::server::Server;

const MIBIBYTES_MAX: u64 = 700;
/// What one step makes is at most so much more.
const PEAK_MIBIBYTES_MAX: u64 = 500;

#[test]
fn what_multiplies_is_bounded_before_it_is_made() {
    let (server, mut client) = Server::with_people();
    let array = "(select array_agg(x) a from generate_series(1, 300000) x)";
    for (text, expected) in [
        // An array of a subquery stands once, not in each row.
        ("select count(*) from people where age = any(array(select generate_series(1, 100000)))", "19600"),
        ("select count(*) from people where age = any(array(select n from generate_series(60, 90) n))", "0"),
        (&format!("select sum(cardinality(array_cat(a, a))) from {array} s, generate_series(1, 100)"), "60000000"),
        (
            &format!(
                "select count(*) from (select array_prepend(g, a) b from {array} s, generate_series(1, 50) g) t \
                 where cardinality(b) > 1"
            ),
            "50",
        ),
        (
            "select count(c) from (select a || b c from (select jsonb_agg(g) a from generate_series(1, 100000) g) x, \
             (select jsonb_agg(g) b from generate_series(1, 100000) g) y, generate_series(1, 20)) t",
            "20",
        ),
        // Each input has a sort of its own, with memory of its own.
        (
            &format!(
                "select last from ({}) t order by last desc limit 1",
                vec!["select * from people"; 150].join(" union all ")
            ),
            "name9999",
        ),
        (
            &format!(
                "select count(*) from (select last, row_number() over (order by last || rowkey) from ({}) t) t",
                vec!["select * from people"; 30].join(" union all ")
            ),
            "600000",
        ),
        // Lists of expressions are not searched one below the other.
        (
            &format!(
                "select count(*) from people where rowkey = '000001' and age in ({})",
                (0..3000).map(|n| format!("age * {n} + 1")).collect::<Vec<_>>().join(", ")
            ),
            "1",
        ),
        // Branches of a CASE that are truth values become no ANDs and ORs of each with all before it.
        (
            &format!(
                "select count(*) from people where case {} else false end",
                (0..800)
                    .map(|n| format!("when age > {} and last like '%z{n}%' then true ", n + 49))
                    .collect::<String>()
            ),
            "0",
        ),
        // The list of a subquery stands in as many rows at a time as memory allows.
        (
            "select sum(cardinality(x)) from \
             (select (select array_agg(i) from generate_series(1, 20000) i) x from people offset 0) s",
            "400000000",
        ),
        // A long constant beside a column stands in no row but those that are worked on.
        ("select sum(length(left(repeat('a', 3000000), age))) from people where age < 2", "400"),
        ("select count(overlay(repeat('a', 30000) placing 'x' from age + 1)) from people", "20000"),
        ("select sum(length(upper(substr(repeat('a', 30000), 29900 + age)))) from people where age < 2", "80400"),
        // Lists that are made of a constant are as long as it is, in each row.
        (
            "select count(array_append(string_to_array(repeat('a,', 200000), ','), last)) from people \
             where rowkey < '000201'",
            "200",
        ),
        // The values of many groups.
        ("select count(m) from (select mode() within group (order by last) m from people group by rowkey) t", "20000"),
        (
            "select count(m) from (select percentile_disc(0.5) within group (order by last || rowkey || last) m \
             from people group by rowkey) t",
            "20000",
        ),
        (
            "select a && b from (select array_agg(g) a from generate_series(1, 200000) g) x, \
             (select array_agg(-g) b from generate_series(1, 200000) g) y",
            "f",
        ),
        ("select count(*) from people where repeat(last, 50) like '%a%m%e%1%' || last || rowkey", "0"),
        // What is replaced is counted in full, though there is room for the next value.
        (
            "select max(length(replace(repeat('x', 4000) || rowkey, 'x', repeat('y', 900)))) from people \
             where rowkey < '000300'",
            "3600006",
        ),
        (
            "select max(length(regexp_replace(repeat('x', 4000) || rowkey, 'x', repeat('y', 900), 'g'))) from people \
             where rowkey < '000300'",
            "3600006",
        ),
        (
            "select count(*) from (select count(*) from people \
             group by cube(age, last, rowkey, age + 1, age + 2, age + 3)) t where count = 20000",
            "1",
        ),
    ] {
        assert_eq!(client.value(text), expected, "{text}");
        assert!(server.peak_mibibytes() < PEAK_MIBIBYTES_MAX, "{} MiB: {text}", server.peak_mibibytes());
    }
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn what_multiplies_beyond_its_memory_is_refused() {
    let (server, mut client) = Server::with_people();
    let keys = |number: usize| (0..number).map(|at| format!("age + {at}")).collect::<Vec<_>>().join(", ");
    let (cube, product) = (keys(25), format!("cube({}), cube({})", keys(8), keys(7)));
    let columns = (0..100).map(|at| format!("repeat(last || {at}, 200000)")).collect::<Vec<_>>().join(", ");
    let constants = (0..100).map(|at| format!("repeat('{at}', 5000000)")).collect::<Vec<_>>().join(", ");
    let case = format!("{}2{}", "case when age = 1 then 1 else ".repeat(200), " end".repeat(200));
    for (text, code) in [
        ("select generate_series(1, 10) * generate_series(1, 1000000000)", "54000"),
        ("select count(*) from people, lateral generate_series(1, age * 1000000) g", "54000"),
        (
            "select generate_series(now()::timestamp, now()::timestamp + '100 years', interval '1 second') + interval '1 day'",
            "54000",
        ),
        ("select unnest(a), a from (select array_agg(g) a from generate_series(1, 100000) g) t", "54000"),
        (&format!("select count(*) from people group by cube({cube})"), "54011"),
        (&format!("select count(*) from people group by {product}"), "54001"),
        (&format!("select {columns} from people"), "54000"),
        (&format!("select {case} from people"), "54001"),
        (&format!("select cardinality('{{{}}}'::text[])", vec!["a"; 3_000_000].join(",")), "54000"),
        (&format!("select to_char(now(), '{}')", "D".repeat(1_000_000)), "54000"),
        (&format!("select to_char(1, '{}')", "9".repeat(1_000_000)), "54000"),
        // Arguments are counted one by one.
        (&format!("select cardinality(array[{constants}])"), "54000"),
        (&format!("select length(format('%s', concat({constants})))"), "54000"),
        (&format!("select json_build_array({constants}) is null from people limit 1"), "54000"),
        ("select percentile_cont(0.5) within group (order by age) from people, generate_series(1, 10000)", "53200"),
    ] {
        assert_eq!(client.ask(text).code(), code, "{text:.200}");
        assert!(server.peak_mibibytes() < PEAK_MIBIBYTES_MAX, "{} MiB: {text:.200}", server.peak_mibibytes());
    }
    let last = "select strpos(repeat('a', 8000000), repeat('a', 4000000) || 'b')";
    assert_eq!(client.value(last), "0");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// The condition that the first rows make of all keys would be as deep as there are keys.
#[test]
fn the_first_rows_by_many_keys() {
    let (server, mut client) = Server::with_people();
    let keys = (0..200).map(|at| format!("age + {at}")).collect::<Vec<_>>().join(", ");
    assert_eq!(client.value(&format!("select rowkey from people order by {keys}, rowkey limit 1")), "000050");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// What is written is in memory until it is committed, and of the memory of queries.
#[test]
fn large_writes_beside_each_other() {
    let (server, _) = Server::with_people();
    let text = "insert into people (partitionkey, rowkey, age) \
                select 'q' || {}, n::text, n % 50 from generate_series(1, 10000000) g(n)";
    let writers: Vec<_> = (0..3)
        .map(|at| {
            let (mut client, text) = (server.connect(), text.replace("{}", &at.to_string()));
            std::thread::spawn(move || client.ask(&text).code().to_owned())
        })
        .collect();
    for writer in writers {
        let code = writer.join().expect("no panic");
        assert!(["53200", "54000"].contains(&code.as_str()), "{code}");
    }
    let mut client = server.connect();
    assert_eq!(client.value("select count(*) from people"), "20000");
    for text in
        ["begin", "insert into people (partitionkey, rowkey) select 'r', n::text from generate_series(1, 50000) g(n)"]
    {
        assert_eq!(client.ask(text).errors, [], "{text}");
    }
    for text in ["savepoint s", "update people set age = 1 where partitionkey = 'r'", "rollback to s", "commit"] {
        assert_eq!(client.ask(text).errors, [], "{text}");
    }
    assert_eq!(client.value("select count(*) from people where age is null"), "50000");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// States of a partial aggregate are megabytes each, and few of them are merged at a time.
#[test]
fn joined_texts_of_groups_are_no_longer_than_values() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let joined = |groups: usize, rows: usize| {
        format!(
            "select sum(length(t)) from (select n % {groups}, string_agg(repeat('x', 900), ',') t \
             from generate_series(1, {rows}) g(n) group by 1) s"
        )
    };
    for (groups, rows) in [(7, 50_000), (7_000, 100_000)] {
        assert_eq!(client.value(&joined(groups, rows)), (rows * 901 - groups).to_string());
    }
    let answer = client.ask(&joined(7, 1_000_000));
    assert_eq!(answer.code(), "54000", "{}", answer.text());
    assert!(server.peak_mibibytes() < 450, "{} MiB", server.peak_mibibytes());
}

/// Kernels take memory that no pool knows of: how many run at a time is bounded.
#[test]
fn clients_that_make_large_values_at_once_share_a_bound() {
    const CLIENTS: usize = 24;
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    for (text, wanted) in [
        ("select sum(length(upper(repeat('x', 8000000) || i))) from generate_series(1, 3) i", "24000003"),
        ("select sum(ascii(repeat('x', 8000000) || i)) from generate_series(1, 3) i", "360"),
        (
            "select sum(length(replace(repeat('x', 1000000) || i, 'x', 'yyyyyy'))) from generate_series(1, 3) i",
            "18000003",
        ),
    ] {
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                let mut client = server.connect();
                scope.spawn(move || assert_eq!(client.value(text), wanted, "{text}"));
            }
        });
        let peak = server.peak_mibibytes();
        assert!(peak < PEAK_MIBIBYTES_MAX, "{peak} MiB: {text}");
    }
    // Rows of them on their way to the clients, of which those are refused that find no memory.
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = server.connect();
            scope.spawn(move || {
                let answer = client.ask("select repeat('x', 1000000) || i from generate_series(1, 20) i");
                assert!(
                    answer.code() == "53200" || answer.errors.is_empty() && answer.row_count == 20,
                    "{}",
                    answer.text()
                );
            });
        }
    });
    let peak = server.peak_mibibytes();
    assert!(peak < PEAK_MIBIBYTES_MAX, "{peak} MiB for rows");
}
