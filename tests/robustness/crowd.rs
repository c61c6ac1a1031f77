//! Many at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::robustness::is_long;
use crate::robustness::server::Server;
use crate::robustness::wire::Client;

const IDLE: usize = 200;
const BUSY: usize = 32;
/// Pairs of 1500 numbers of which the first is less.
const JOIN: &str = "select count(*) from generate_series(1, 1500) a(x) join generate_series(1, 1500) b(y) on x < y";
const PAIRS: &str = "1124250";
const GROUPS: &str =
    "select count(*), max(\"RowKey\") from employees e group by \"PartitionKey\" order by count(*) desc, 2 limit 3";

#[test]
fn idle_and_busy_clients_together() {
    let server = Server::with_sample();
    let mut idle: Vec<Client> = (0..IDLE).map(|_| server.connect()).collect();
    let groups = idle[0].ask(GROUPS);
    assert_eq!((groups.row_count, groups.code()), (3, ""));
    let running_for = Duration::from_secs(if is_long() { 60 } else { 4 });
    let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut waits = Vec::new();
    thread::scope(|scope| {
        for number in 0..BUSY {
            let (mut client, stop, asked, wanted) = (server.connect(), &stop, &asked, &groups.rows);
            scope.spawn(move || {
                let mut round = number;
                while !stop.load(Ordering::Relaxed) {
                    busy(&mut client, round, wanted);
                    round += 1;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                client.leave();
            });
        }
        let began = Instant::now();
        while began.elapsed() < running_for {
            let at = waits.len() % IDLE;
            let asked = Instant::now();
            assert_eq!(idle[at].value("select 1"), "1");
            waits.push(asked.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });
    waits.sort();
    let share = |percent: usize| waits[(waits.len() - 1) * percent / 100];
    println!(
        "{BUSY} busy clients asked {} times; SELECT 1 of the idle took {:?} (half), {:?} (9 of 10), {:?} (all)",
        asked.load(Ordering::Relaxed),
        share(50),
        share(90),
        share(100)
    );
    assert!(asked.load(Ordering::Relaxed) >= BUSY as u64);
    for client in &mut idle {
        assert_eq!(client.value("select 2"), "2");
    }
    server.assert_well();
    let before = server.descriptors();
    idle.into_iter().for_each(Client::leave);
    crate::robustness::wait_for("their sockets are closed", Duration::from_secs(40), || {
        server.descriptors() + IDLE <= before
    });
}

/// One question of several kinds; the answer has to be right.
fn busy(client: &mut Client, round: usize, groups: &[Vec<Option<String>>]) {
    match round % 6 {
        0 => assert_eq!(client.value(JOIN), PAIRS),
        1 => {
            let answer = client.ask_extended("select $1::int8 * 2 + count(*) from generate_series(1, 100)", &["21"]);
            assert_eq!(answer.rows, [[Some("142".to_owned())]], "{answer:?}");
        }
        2 => assert_eq!(client.ask_extended(GROUPS, &[]).rows, groups),
        3 => {
            let answer = client.ask("select 1 / (g - 50) from generate_series(1, 100) g");
            assert_eq!((answer.code(), answer.status), ("22012", 'I'), "{answer:?}");
        }
        4 => {
            let answer = client.ask("begin; select count(*) from events; rollback");
            assert_eq!((answer.tags.len(), answer.status), (3, 'I'), "{answer:?}");
        }
        _ => assert_eq!(client.ask("select g, reverse(g::text) from generate_series(1, 5000) g").row_count, 5000),
    }
}

/// Sessions that end at any point leave nothing behind.
#[test]
fn sessions_come_and_go() {
    let server = Server::empty();
    server.assert_well();
    let before = server.descriptors();
    let rounds = if is_long() { 2000 } else { 150 };
    for round in 0..rounds {
        let mut client = server.connect();
        match round % 4 {
            0 => assert_eq!(client.value("select 1"), "1"),
            // Gone in the middle of an answer.
            1 => client.send(&crate::protocol::query("select g from generate_series(1, 100000000) g")).expect("sent"),
            // Gone in a transaction.
            2 => assert_eq!(client.ask("begin").status, 'T'),
            _ => client.send(b"Q\0\0\0\xffselect").expect("sent"),
        }
    }
    crate::robustness::wait_for("all sessions ended", Duration::from_secs(20), || server.descriptors() <= before);
    let mut client = server.connect();
    assert_eq!(client.value("select count(*) from pg_stat_activity where client_port is not null"), "1");
    server.wait_until_quiet(Duration::from_secs(40));
    server.assert_well();
}
