//! Statements that compute for long in one piece.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use crate::robustness::server::Server;
use crate::robustness::wire::{Client, query};

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
