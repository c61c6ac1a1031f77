//! Statements that compute for long in one piece.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use crate::protocol::query;
use crate::robustness::server::Server;
use crate::robustness::wire::Client;

/// Folded into constants while it is planned, which takes seconds and gives no thread back
/// meanwhile.
fn folded() -> String {
    let hash = |letter| format!("md5(repeat('{letter}', 250000000))");
    format!("select {}", ('a'..='l').map(hash).collect::<Vec<_>>().join(", "))
}

/// Without a new connection, which would wake a thread that waits for sockets.
#[test]
fn idle_sessions_are_answered_while_one_computes() {
    for _ in 0..3 {
        let server = Server::empty();
        let mut idle: Vec<Client> = (0..3).map(|_| server.connect()).collect();
        let mut busy = server.connect();
        for client in idle.iter_mut().chain([&mut busy]) {
            assert_eq!(client.value("select 1"), "1");
        }
        // All threads of the server have found nothing to do.
        thread::sleep(Duration::from_millis(200));
        busy.send(&query(&folded())).expect("sent");
        thread::sleep(Duration::from_millis(200));
        for client in &mut idle {
            assert_eq!(client.value("select 2"), "2");
        }
        busy.socket.set_nonblocking(true).expect("a socket");
        let answer = busy.socket.peek(&mut [0]);
        let waits = answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(waits, "the others were answered first: {answer:?}");
    }
}

/// Takes seconds to plan, and milliseconds to run.
fn planned_for_long() -> String {
    let sum = vec!["n"; 600].join(" + ");
    format!("explain select {} from generate_series(1, 2) as g(n)", vec![sum; 100].join(", "))
}

#[test]
fn a_statement_is_stopped_while_it_is_planned() {
    let server = Server::empty();
    let mut observer = server.connect();
    let mut client = server.connect();
    assert_eq!(client.value("select 1"), "1");
    let pid = client.pid;
    for stop in ["set statement_timeout = '200ms'", "cancel", "terminate"] {
        if stop.starts_with("set") {
            assert_eq!(client.ask(stop).errors, []);
        }
        client.send(&query(&planned_for_long())).expect("sent");
        thread::sleep(Duration::from_millis(100));
        // It does not run yet: nothing of it is known but its text.
        match stop {
            "cancel" => assert_eq!(observer.value(&format!("select pg_cancel_backend({pid})")), "t"),
            "terminate" => assert_eq!(observer.value(&format!("select pg_terminate_backend({pid})")), "t"),
            _ => {}
        }
        let answer = client.answer();
        let code = if stop == "terminate" { "57P01" } else { "57014" };
        assert_eq!(answer.errors.first().map(|(code, _)| code.as_str()), Some(code), "{stop}");
        if stop != "terminate" {
            // The session goes on at once, whether or not the planner has ended.
            assert_eq!(client.ask("reset statement_timeout").errors, []);
            assert_eq!(client.value("select 2"), "2");
        }
    }
    server.assert_well();
}

#[test]
fn sessions_that_plan_badly_hold_up_nobody() {
    let server = Server::empty();
    let mut reader = server.connect();
    let setup = "create table things (n int); insert into things (partitionkey, rowkey, n) values ('p', 'r', 7)";
    assert_eq!(reader.ask(setup).errors, []);
    let mut planners: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for planner in &mut planners {
        planner.send(&query(&planned_for_long())).expect("sent");
    }
    for _ in 0..200 {
        assert_eq!(reader.value("select n from things where partitionkey = 'p' and rowkey = 'r'"), "7");
    }
    for planner in &mut planners {
        planner.socket.set_nonblocking(true).expect("a socket");
        let answer = planner.socket.peek(&mut [0]);
        let waits = answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(waits, "the planner was first: {answer:?}");
    }
}
