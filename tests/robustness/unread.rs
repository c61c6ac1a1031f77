//! Answers of long rows that many clients leave unread.

use std::thread;
use std::time::Duration;

use crate::protocol::query;
use crate::robustness::server::Server;
use crate::robustness::wire::Client;

const CLIENTS: usize = 40;
const ROW_BYTES: usize = 4_000_000;
/// Queries 256, the cache 64, answers 64, and the program with what it computes.
const MIBIBYTES_MAX: u64 = 600;
const SOON: Duration = Duration::from_secs(60);

fn rows(count: usize) -> String {
    format!("select repeat('x', {ROW_BYTES}) from generate_series(1, {count})")
}

#[test]
fn unread_answers_share_a_bound() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let clients: Vec<Client> = (0..CLIENTS)
        .map(|_| {
            let mut client = server.connect();
            client.send(&query(&rows(1000))).expect("sent");
            client
        })
        .collect();
    thread::sleep(Duration::from_secs(2));
    server.wait_until_quiet(SOON);
    server.assert_well_within(MIBIBYTES_MAX);
    drop(clients);
    // The memory is there for others again.
    let mut client = server.connect();
    client.send(&query(&rows(20))).expect("sent");
    let answer = client.answer();
    assert_eq!((answer.errors.as_slice(), answer.rows.len()), ([].as_slice(), 20));
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn cursors_that_are_open_share_a_bound() {
    let (server, mut client) = Server::with_people();
    for query in ["select generate_series(1, 1000000), repeat('x', 1000)", "select * from people"] {
        client.ask("begin");
        let mut refused = None;
        for number in 0..300 {
            client.ask(&format!("declare c{number} cursor for {query}"));
            let answer = client.ask(&format!("fetch 2 from c{number}"));
            if answer.code() == "53200" {
                refused = Some(number);
                break;
            }
            assert_eq!((answer.errors.as_slice(), answer.rows.len()), ([].as_slice(), 2), "{number}: {query}");
        }
        println!("{refused:?}: {query}");
        server.assert_well_within(MIBIBYTES_MAX);
        client.ask("rollback");
        // Others have the memory again.
        assert_eq!(client.ask(&format!("select * from ({query}) q limit 10")).errors, [], "{query}");
    }
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn rows_that_grow_are_counted_before_they_are_written() {
    let (server, mut client) = Server::with_people();
    // 600 MB of texts, half of what UTF-16 makes of them in the service's limit of 64 KiB.
    let long = "repeat('y', 30000)";
    for (statement, expected) in [
        (&*format!("update people set last = {long}"), "53200"),
        (
            &*format!(
                "merge into people p using people q on p.partitionkey = q.partitionkey and p.rowkey = q.rowkey \
                 when matched then update set last = {long}"
            ),
            "53200",
        ),
        (
            &*format!(
                "insert into people (partitionkey, rowkey) select partitionkey, rowkey from people \
                 on conflict (partitionkey, rowkey) do update set last = {long}"
            ),
            "53200",
        ),
        (&*format!("update people set age = 1 returning {long}"), "53200"),
        (&*format!("delete from people returning {long}"), "53200"),
        ("update people set age = age + 1 where rowkey < '001000' returning repeat(last, 10)", ""),
    ] {
        let answer = client.ask(statement);
        assert_eq!(answer.code(), expected, "{statement}: {}", answer.text());
        let peak = server.peak_mibibytes();
        assert!(peak < MIBIBYTES_MAX, "{peak} MiB: {statement}");
    }
    assert_eq!(client.value("select count(*) from people where length(last) < 10"), "20000");
    server.assert_well_within(MIBIBYTES_MAX);
}
