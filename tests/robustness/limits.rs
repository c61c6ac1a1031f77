//! More connections than there may be.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::robustness::server::Server;
use crate::robustness::wait_for;
use crate::robustness::wire::Client;

const SOON: Duration = Duration::from_secs(30);
/// As the server has it by default.
const CONNECTIONS_MAX: usize = 500;

#[test]
fn sessions_beyond_the_limit_are_refused() {
    let server = Server::empty();
    let mut clients: Vec<Client> = (0..CONNECTIONS_MAX).map(|_| server.connect()).collect();
    for _ in 0..20 {
        let refused = Client::try_connect(server.port, &[]).err().expect("refused");
        assert_eq!((refused.code(), refused.text()), ("53300", "sorry, too many clients already"));
    }
    for client in clients.iter_mut().step_by(50) {
        assert_eq!(client.value("select 1"), "1");
    }
    // One place is free again, soon after a client left.
    clients.pop().into_iter().for_each(Client::leave);
    wait_for("a place is free", SOON, || Client::try_connect(server.port, &[]).is_ok());
    drop(clients);
    wait_for("all have left", SOON, || Client::try_connect(server.port, &[]).is_ok());
    server.assert_well();
}

#[test]
fn port_scans_leave_nothing() {
    let server = Server::empty();
    let mut client = server.connect();
    let (descriptors, threads) = (server.descriptors(), server.threads());
    for round in 0..2_000 {
        drop(TcpStream::connect(("127.0.0.1", server.port)).expect("the server listens"));
        if round % 200 == 0 {
            assert_eq!(client.value("select 1"), "1");
        }
    }
    wait_for("their sockets are closed", SOON, || server.descriptors() <= descriptors);
    assert!(server.threads() <= threads + 32, "{} threads became {}", threads, server.threads());
    server.assert_well();
}

/// The silent do not keep others out.
#[test]
fn silent_strangers_give_way() {
    let server = Server::empty();
    let mut silent: Vec<Client> = (0..450).map(|_| Client::dial(server.port)).collect();
    for _ in 0..10 {
        server.assert_well();
    }
    assert!(server.descriptors() < 350, "{}", server.descriptors());
    // The newest of them still may say who it is.
    let mut newest = silent.pop().expect("some");
    let pairs = [("user", "rowkey"), ("database", crate::robustness::wire::DATABASE)];
    newest.send(&crate::protocol::startup(pairs.iter())).expect("sent");
    assert_eq!(newest.answer().status, 'I');
    server.assert_well();
}

#[test]
fn without_descriptors_the_server_goes_on() {
    let server = Server::with_descriptors(64, &["--data", ":memory:"]);
    let mut client = server.connect();
    let crowd: Vec<TcpStream> =
        (0..150).map(|_| TcpStream::connect(("127.0.0.1", server.port)).expect("queued")).collect();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.value("select 1"), "1");
    // The silent give way even so.
    server.assert_well();
    drop(crowd);
    wait_for("descriptors are free", SOON, || server.descriptors() < 40);
    // Sessions too many for it: the rest waits, and comes in when others leave.
    let sessions: Vec<Client> = (0..30).map(|_| server.connect()).collect();
    assert_eq!(client.value("select 2"), "2");
    drop(sessions);
    server.assert_well();
}
