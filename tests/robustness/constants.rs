//! Long constants beside columns: what is made of them is in every row.

use crate::robustness::server::Server;

#[test]
fn a_constant_in_every_row_takes_no_more_than_a_few_rows() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    let longest = "select max(length(a)) from (select repeat('x', 7500000) || g a from generate_series(1, 60) g) t";
    assert_eq!(client.value(longest), "7500002");
    for value in [
        "concat(repeat('x', 7500000), g)",
        "format('%s %s', repeat('x', 3500000), g)",
        "json_build_array(repeat('x', 3500000), g)::text",
    ] {
        for text in [
            format!("select count(a) from (select {value} a from generate_series(1, 60) g) t"),
            format!("select count({value}) from generate_series(1, 60) g"),
            format!("select count(a) from (select {value} a from generate_series(1, 60) g) t where length(a) > 0"),
        ] {
            assert_eq!(client.value(&text), "60", "{text}");
        }
    }
    server.assert_well_within(700);
    assert!(server.peak_mibibytes() < 700, "{} MiB", server.peak_mibibytes());
}

/// A plan would hold all of them at once.
#[test]
fn many_long_constants_are_computed_while_there_are_rows() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    let list = |item: &str, separator: &str| {
        let items: Vec<_> = (0..100).map(|number| item.replace('#', &number.to_string())).collect();
        items.join(separator)
    };
    for item in ["repeat('x', 6000000 + #)", "repeat('xy', 3000000)"] {
        let values = list(&format!("({item})"), ", ");
        assert_eq!(client.value(&format!("select count(a) from (values {values}) v(a)")), "100");
        for text in [
            format!("select length(a) from unnest(array[{}]) a", list(item, ", ")),
            format!("select length(greatest({}))", list(item, ", ")),
            format!("select {}", list(item, ", ")),
        ] {
            assert_eq!(client.ask(&text).code(), "54000", "{text:.200}");
        }
        assert!(server.peak_mibibytes() < 500, "{item}: {} MiB", server.peak_mibibytes());
    }
    // A long literal that is used in many places.
    let literal = format!("'{}'", "x".repeat(1_000_000));
    let used = format!(
        "select count(*) from (select {literal} || '' r, n from generate_series(1, 2) n) t where {}",
        list("r || n = '#'", " or ")
    );
    assert_eq!(client.value(&used), "0");
    let used = format!("select {}", list("length($1 || '#')", " + "));
    assert_eq!(client.ask_extended(&used, &[&literal]).code(), "54001");
    assert_eq!(client.ask_extended(&used, &["abc"]).rows, [[Some("490".to_owned())]]);
    server.assert_well_within(700);
    assert!(server.peak_mibibytes() < 700, "{} MiB", server.peak_mibibytes());
}

/// As many rows at a time as memory allows, wherever large values are made.
#[test]
fn large_values_of_each_row_are_made_wherever_they_stand() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    let large = "repeat('x', (200000 + g)::int)";
    for (text, expected) in [
        ("select count(*) from generate_series(1, 50000) g where length(repeat('x', 4000) || g) > 0", "50000"),
        (&format!("select count(*) from generate_series(1, 500) g where length({large}) > 200400"), "100"),
        (&format!("select length(max({large})) from generate_series(1, 500) g"), "200500"),
        (&format!("select count(distinct {large}) from generate_series(1, 200) g"), "200"),
        (&format!("select g from generate_series(1, 300) g order by {large} desc limit 1"), "300"),
        (&format!("select sum(g) from (select g from generate_series(1, 300) g order by {large}) t"), "45150"),
        (
            "select count(*) from generate_series(1, 50) g, generate_series(1, 50) h \
             where length(repeat('x', (200000 + g)::int) || h) > 200026",
            "1291",
        ),
        (&format!("select count(*) from (select 1 from generate_series(1, 200) g group by {large}) t"), "200"),
        (&format!("select max(length({large})) filter (where g < 10) from generate_series(1, 60) g"), "200009"),
        (&format!("select length(max({large}) filter (where g < 300)) from generate_series(1, 500) g"), "200299"),
        (
            &format!(
                "select max(length(v)) from (select lag({large}, 50) over (order by g) v \
                 from generate_series(1, 200) g) t"
            ),
            "200150",
        ),
        // Many copies of a row.
        (
            &format!(
                "select max(length(a)) from (select a, row_number() over (order by {}) from \
                 (select repeat('x', (30000 + g)::int) a from generate_series(1, 100) g) t) u",
                (0..60).map(|copy| format!("a || '{copy}'")).collect::<Vec<_>>().join(", ")
            ),
            "30100",
        ),
        // More than there is memory.
        (
            &format!(
                "select max(length(v)) from (select {large} v, g from generate_series(1, 2000) g order by g offset 5) t"
            ),
            "202000",
        ),
        (
            "select sum(n) from (select row_number() over (order by repeat(g::text, 2000)) n \
             from generate_series(1, 30000) g) t",
            "450015000",
        ),
        (
            "select count(*) from (select g % 10 from generate_series(1, 100) g group by 1 \
             having length(max(repeat('x', (200000 + g)::int))) > 200095) t",
            "5",
        ),
    ] {
        assert_eq!(client.value(text), expected, "{text}");
    }
    server.assert_well_within(700);
    assert!(server.peak_mibibytes() < 700, "{} MiB", server.peak_mibibytes());
}

/// Recent rows are one batch, however many, and a file's are read in batches of their own.
#[test]
fn filters_of_scans_take_few_rows_at_a_time() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    for statement in [
        "set statement_timeout = '100s'",
        "create table numbers (n int)",
        "insert into numbers (partitionkey, rowkey, n) \
         select 'p' || n % 10, lpad(n::text, 6, '0'), n from generate_series(1, 3500) g(n)",
    ] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    for stored in ["recent", "compacted"] {
        for condition in
            ["array[repeat('a,', 50000), n::text]::text <> '%'", "replace(repeat('a', 100000) || n, 'b', 'bb') <> '%'"]
        {
            let text = format!("select count(*) from numbers where {condition}");
            assert_eq!(client.value(&text), "3500", "{stored}: {text}");
        }
        assert!(server.peak_mibibytes() < 450, "{stored}: {} MiB", server.peak_mibibytes());
        assert_eq!(client.ask("vacuum numbers").errors, []);
    }
}

/// Each slice of a batch would be counted with all buffers of the batch.
#[test]
fn sorts_of_computed_texts_take_what_the_texts_take() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "64", "--cache-mib", "16"]);
    let mut client = server.connect();
    for statement in [
        "create table numbers (n int, t text)",
        "insert into numbers (partitionkey, rowkey, n, t) \
         select 'p' || n % 10, lpad(n::text, 6, '0'), n, 'text ' || n from generate_series(1, 40000) g(n)",
        "vacuum numbers",
    ] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    for (text, expected) in [
        ("select count(*) from (select rowkey, lpad(t, 20) from numbers order by 2 offset 0) s", "40000"),
        ("select max(rows) from (select count(*) over (order by replace(t, 't', 'tt')) rows from numbers) s", "40000"),
        ("select rowkey from numbers order by format('%s-%s', n % 100, t) desc offset 39999", "000100"),
        ("select count(*) over (partition by repeat(t, 2)) from numbers limit 1", "1"),
        (
            "select max(r) from (select rank() over (order by d) r \
             from (select repeat(g::text, 200) d from generate_series(1, 8000) g) t) u",
            "8000",
        ),
    ] {
        assert_eq!(client.value(text), expected, "{text}");
    }
}
