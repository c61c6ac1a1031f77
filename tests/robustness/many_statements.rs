//! Texts of many statements, or of many words: read in time, in memory that was asked for, and left
//! when their client has its error.

use std::time::Duration;

use crate::robustness::server::Server;

const MIBIBYTES_MAX: u64 = 700;
const SOON: Duration = Duration::from_secs(20);

#[test]
fn long_texts_end_and_leave_nothing_behind() {
    let (server, mut client) = Server::with_people();
    assert_eq!(client.ask("set statement_timeout = '1s'").errors, []);
    assert_eq!(client.ask("prepare alike(text) as select count(*) from people where last like $1").errors, []);
    for (text, code) in [
        ("select 1;".repeat(200_000), "53200"),
        ("begin;commit;".repeat(100_000), "53200"),
        (format!("select {}", vec!["1"; 400_000].join("+")), "53200"),
        (format!("select cardinality(array[{}])", vec!["'x'"; 1_000_000].join(",")), "53200"),
        (format!("select concat({})", vec!["1"; 1_000_000].join(",")), "53200"),
        (format!("select 1 from people group by {}", vec!["age"; 1_000_000].join(",")), "53200"),
        (format!("select {}1", "(".repeat(2_000_000)), "53200"),
        (format!("select a{}", ".a".repeat(1_000_000)), "53200"),
        (format!("select {}", "trim(leading a ".repeat(20_000)), "54001"),
        (format!("select 'a' ~ '{}'", "(a|b)*".repeat(30_000)), "2201B"),
        (format!("select count(*) from people where last like '{}b'", "%a".repeat(20_000)), ""),
        (format!("execute alike('{}b')", "%a".repeat(20_000)), ""),
        ("select repeat('a', 1000000) like '%' || repeat('a', 500000) || 'b'".to_owned(), "57014"),
        ("select repeat('a', 1000000) like any (array['%' || repeat('a', 500000) || 'b'])".to_owned(), "57014"),
    ] {
        let answer = client.ask(&text);
        // On a busy machine the timeout may be first.
        let is_late = code == "53200" && answer.code() == "57014";
        assert!(is_late || answer.code() == code, "{}: {code}, not {}", &text[..40], answer.text());
        server.wait_until_quiet(SOON);
        server.assert_well_within(MIBIBYTES_MAX);
    }
    let peak = server.peak_mibibytes();
    assert!(peak < MIBIBYTES_MAX, "{peak} MiB");
}

#[test]
fn many_statements_are_read_as_fast_as_they_are_long() {
    let (server, mut client) = Server::with_people();
    let answer = client.ask(&"select 1;".repeat(10_000));
    assert_eq!(answer.errors, []);
    assert_eq!(answer.row_count, 10_000);
    // What a client is shown as is a name.
    assert_eq!(client.ask(&format!("set application_name = '{}'", "x".repeat(15_000_000))).errors, []);
    assert_eq!(client.value("show application_name").len(), 63);
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn prepared_statements_take_memory_until_they_are_deallocated() {
    let (server, mut client) = Server::with_people();
    let items = vec!["'0123456789'"; 30_000].join(",");
    let refused = (0..200).find(|at| {
        let answer = client.ask(&format!("prepare s{at} as select rowkey from people where last in ({items})"));
        let code = answer.code();
        assert!(code.is_empty() || code == "53200", "{}", answer.text());
        !code.is_empty()
    });
    assert!(refused.is_some_and(|at| at > 2), "{refused:?}");
    // Others have their own, and queries have theirs.
    let mut other = server.connect();
    for at in 0..50 {
        assert_eq!(other.ask(&format!("prepare s{at} as select rowkey from people where age = {at}")).errors, []);
    }
    assert_eq!(other.value("select count(distinct last) from people"), "20000");
    assert_eq!(client.ask("deallocate all").errors, []);
    server.wait_until_quiet(SOON);
    assert_eq!(client.ask(&format!("prepare s as select rowkey from people where last in ({items})")).errors, []);
    server.assert_well_within(MIBIBYTES_MAX);
}
