//! The end of the server, and servers that cannot begin.

use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::query;
use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use rowkey_base::testing::Scratch;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn all_are_told_and_the_folder_is_free() {
    let scratch = Scratch::new("shutdown").expect("a folder");
    let data = scratch.path().join("data");
    let data = data.to_str().expect("text");
    for signal in ["TERM", "INT"] {
        let server = Server::start(&["--data", data, "--sample"]);
        let (mut idle, mut in_transaction) = (server.connect(), server.connect());
        let (mut busy, mut joining, mut streaming) = (server.connect(), server.connect(), server.connect());
        let (mut sleeping, mut stalled) = (server.connect(), server.connect());
        let stranger = Client::dial(server.port);
        assert_eq!(in_transaction.ask("begin").status, 'T');
        let send = |client: &mut Client, sql: &str| client.send(&query(sql)).expect("sent");
        send(&mut busy, "select count(*) from generate_series(1, 1000000000000)");
        send(
            &mut joining,
            "select count(*) from generate_series(1, 1000000) a(x) join generate_series(1, 1000000) b(y) on x + y < 0",
        );
        send(&mut streaming, "select g from generate_series(1, 1000000000000) g");
        send(&mut stalled, "select g, repeat('x', 1000) from generate_series(1, 1000000000000) g");
        send(&mut sleeping, "select pg_sleep(1000)");
        thread::sleep(Duration::from_millis(200));
        let reader = thread::spawn(move || streaming.answer());
        let began = Instant::now();
        server.signal(signal);
        for client in [&mut idle, &mut in_transaction, &mut busy, &mut joining, &mut sleeping] {
            let answer = client.answer();
            assert_eq!((answer.code(), answer.status), ("57P01", ' '), "{answer:?}");
        }
        let streamed = reader.join().expect("it reads");
        assert!(["57P01", ""].contains(&streamed.code()), "{:?}", streamed.errors);
        assert_eq!(streamed.status, ' ');
        let ended = server.ended(SOON);
        assert!(ended.status.success(), "{signal}: {:?} {}", ended.status, ended.said);
        assert!(!ended.said.contains("panicked"), "{}", ended.said);
        println!("{signal}: ended after {:?}", began.elapsed());
        drop((stalled, stranger));
        // At once.
        let check = Server::run(&["check", "--data", data], Duration::from_secs(30));
        assert!(check.status.success(), "{}", check.said);
    }
}

#[test]
fn killed_servers_leave_a_folder_that_opens() {
    let scratch = Scratch::new("killed").expect("a folder");
    let data = scratch.path().join("data");
    let data = data.to_str().expect("text");
    let server = Server::start(&["--data", data, "--sample"]);
    server.signal("KILL");
    assert!(!server.ended(SOON).status.success());
    let server = Server::start(&["--data", data]);
    assert_eq!(
        server.connect().value("select count(*) from departments"),
        server.connect().value("select count(*) from departments where true")
    );
    server.assert_well();
}

#[test]
fn a_second_server_says_what_is_in_its_way() {
    let scratch = Scratch::new("second").expect("a folder");
    let data = scratch.path().join("data");
    let data = data.to_str().expect("text");
    let server = Server::start(&["--data", data]);
    let address = format!("127.0.0.1:{}", server.port);
    for (arguments, wanted) in [
        (["serve", "--pg", &address, "--data", ":memory:"], &address),
        (["serve", "--pg", "127.0.0.1:0", "--data", data], &data.to_owned()),
    ] {
        let ended = Server::run(&arguments, Duration::from_secs(20));
        assert!(!ended.status.success(), "{arguments:?}");
        assert!(ended.said.contains(wanted.as_str()), "{}", ended.said);
        assert!(!ended.said.contains("panicked") && ended.said.lines().count() <= 4, "{}", ended.said);
    }
    server.assert_well();
}
