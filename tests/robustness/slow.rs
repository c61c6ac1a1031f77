//! Clients that ask for much and read little.

use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::{bind, execute, parse, query, sync};
use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use crate::robustness::{is_long, wait_for};

/// A hundred gigabytes, were it read.
const HUGE: &str = "select g, repeat('x', 1000) from generate_series(1, 10000) a, generate_series(1, 10000) g";
const MIBIBYTES_MAX: u64 = 600;
const SOON: Duration = Duration::from_secs(30);

/// A client that asked and does not read, once the server has filled what lies between.
fn stalled(server: &Server) -> Client {
    let mut client = server.connect();
    client.send(&query(HUGE)).expect("sent");
    thread::sleep(Duration::from_millis(300));
    client
}

fn is_active(observer: &mut Client, pid: i32) -> bool {
    let state = format!("select count(*) from pg_stat_activity where pid = {pid} and state = 'active'");
    observer.value(&state) == "1"
}

fn is_there(observer: &mut Client, pid: i32) -> bool {
    observer.value(&format!("select count(*) from pg_stat_activity where pid = {pid}")) == "1"
}

#[test]
fn who_does_not_read_takes_no_memory_and_can_be_stopped() {
    let server = Server::empty();
    let mut observer = server.connect();
    let stalled: Vec<Client> = (0..8).map(|_| stalled(&server)).collect();
    thread::sleep(Duration::from_secs(if is_long() { 20 } else { 1 }));
    server.wait_until_quiet(SOON);
    for client in &stalled {
        assert!(is_active(&mut observer, client.pid));
    }
    server.assert_well_within(MIBIBYTES_MAX);

    for (at, mut client) in stalled.into_iter().enumerate() {
        let pid = client.pid;
        match at % 4 {
            0 => client.cancel(client.secret),
            1 => assert_eq!(observer.value(&format!("select pg_cancel_backend({pid})")), "t"),
            2 => assert_eq!(observer.value(&format!("select pg_terminate_backend({pid})")), "t"),
            _ => {
                drop(client);
                wait_for("a client that left ends", SOON, || !is_there(&mut observer, pid));
                continue;
            }
        }
        if at % 4 == 2 {
            // It is sent away although it does not take its goodbye.
            wait_for("a terminated session ends", SOON, || !is_there(&mut observer, pid));
            let mut answer = client.answer();
            assert_eq!((answer.status, answer.errors.pop()), (' ', None), "{}", answer.kinds);
            continue;
        }
        // It does not run any more, though the client still has not read.
        wait_for("a cancelled statement ends", SOON, || !is_active(&mut observer, pid));
        let answer = client.answer();
        assert_eq!((answer.kinds.as_str(), answer.code(), answer.status), ("TDEZ", "57014", 'I'));
        assert!(answer.row_count > 0 && answer.row_count < 1_000_000, "{}", answer.row_count);
        assert_eq!(client.value("select 7"), "7");
    }
    server.wait_until_quiet(SOON);
    server.assert_well_within(MIBIBYTES_MAX);
}

/// Answers of the messages before it must not be lost with the rows of a statement that is
/// cancelled.
#[test]
fn a_cancel_while_the_client_does_not_read_keeps_the_protocol_in_step() {
    let server = Server::empty();
    let mut client = server.connect();
    let pipeline = [
        parse("", HUGE, &[]),
        bind("", "", &[]),
        execute("", 0),
        sync(),
        parse("s", "select 'after'", &[]),
        bind("", "s", &[]),
        execute("", 0),
        sync(),
    ];
    client.send(&pipeline.concat()).expect("sent");
    thread::sleep(Duration::from_millis(500));
    client.cancel(client.secret);
    thread::sleep(Duration::from_millis(300));
    let first = client.answer();
    assert_eq!((first.kinds.as_str(), first.code()), ("12DEZ", "57014"));
    let second = client.answer();
    assert_eq!(second.kinds, "12DCZ");
    assert_eq!(second.rows, [[Some("after".to_owned())]]);
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn statement_timeout_holds_for_rows_that_nobody_reads() {
    let server = Server::empty();
    let mut client = server.connect();
    client.ask("set statement_timeout = '500ms'");
    client.send(&query(HUGE)).expect("sent");
    thread::sleep(Duration::from_millis(1500));
    let answer = client.answer();
    assert_eq!((answer.code(), answer.status), ("57014", 'I'));
    assert!(answer.text().contains("statement timeout"), "{}", answer.text());
    assert_eq!(client.value("select 1"), "1");
}

/// A slow reader gets everything, and in order.
#[test]
fn slow_readers_get_everything() {
    let server = Server::empty();
    let mut client = server.connect();
    let rows = 20_000;
    let sql = format!("select g, repeat('y', 1000) from generate_series(1, {rows}) g");
    client.send(&query(&sql)).expect("sent");
    let (mut seen, began) = (0, Instant::now());
    while let Some(message) = client.receive() {
        match message.kind {
            b'D' => {
                seen += 1;
                let text = seen.to_string();
                assert_eq!(&message.body[6..6 + text.len()], text.as_bytes());
                if seen % 2000 == 0 {
                    thread::sleep(Duration::from_millis(50));
                }
            }
            b'Z' => break,
            other => assert!(b"TC".contains(&other), "{other}"),
        }
    }
    assert_eq!(seen, rows, "after {:?}", began.elapsed());
    server.assert_well_within(MIBIBYTES_MAX);
}
