//! Many messages before the first answer is read.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::protocol::{bind, close, describe, execute, flush, message, parse, query, sync};
use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use crate::robustness::{is_long, wait_for};

const MIBIBYTES_MAX: u64 = 600;

fn question(number: usize) -> Vec<u8> {
    let value = number.to_string();
    [bind("", "s", &[&value]), execute("", 0), sync()].concat()
}

/// Sends from a thread while the answers are read: what libraries do in pipeline mode.
#[test]
fn pipelines_of_thousands() {
    let server = Server::empty();
    let mut client = server.connect();
    client.send(&[parse("s", "select $1::int4 + 1", &[]), sync()].concat()).expect("sent");
    assert_eq!(client.answer().kinds, "1Z");
    let count = if is_long() { 100_000 } else { 5_000 };
    let mut socket = client.socket.try_clone().expect("a socket");
    let sender = thread::spawn(move || {
        for number in 0..count {
            socket.write_all(&question(number)).expect("sent");
        }
    });
    for number in 0..count {
        let answer = client.answer();
        assert_eq!(answer.rows, [[Some((number + 1).to_string())]], "{answer:?}");
    }
    sender.join().expect("it sends");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// Ten thousand messages and no answer read until all are sent: their answers fit between the two.
#[test]
fn ten_thousand_messages_unread() {
    let server = Server::empty();
    let mut client = server.connect();
    let count = 2_500;
    let mut pipeline = vec![parse("s", "select $1::int4 + 1", &[])];
    for number in 0..count {
        pipeline.extend([bind("", "s", &[&number.to_string()]), describe(b'P', ""), execute("", 0)]);
        if number % 100 == 99 {
            pipeline.push(sync());
        }
    }
    client.send(&pipeline.concat()).expect("sent");
    let mut rows = 0;
    for _ in 0..count / 100 {
        let answer = client.answer();
        assert_eq!((answer.errors.len(), answer.status), (0, 'I'), "{answer:?}");
        rows += answer.row_count;
    }
    assert_eq!(rows, count as u64);
    server.assert_well_within(MIBIBYTES_MAX);
}

/// A client that sends more than the queues hold and does not read is not read any further; when it
/// reads, all goes on. When it goes instead, nothing of it stays.
#[test]
fn who_sends_and_does_not_read_is_held() {
    let server = Server::empty();
    let mut observer = server.connect();
    let before = server.descriptors();
    for reads in [true, false] {
        let mut client = server.connect();
        let statement = query("select repeat('x', 100000)");
        let socket = client.socket.try_clone().expect("a socket");
        socket.set_write_timeout(Some(Duration::from_secs(2))).expect("a socket");
        let mut sent = 0;
        // Without an end: the server stops reading before.
        let held = loop {
            // A pad that is not answered makes the messages large.
            let pad = [&b"select '"[..], &vec![b'y'; 20_000], b"' where false"].concat();
            let pad = query(std::str::from_utf8(&pad).expect("text"));
            match (&socket).write_all(&[&statement[..], &pad].concat()) {
                Ok(()) if sent < 100_000 => sent += 1,
                Ok(()) => break false,
                Err(_) => break true,
            }
        };
        assert!(held, "{sent} messages were taken from a client that reads nothing");
        server.assert_well_within(MIBIBYTES_MAX);
        // The last message was sent in part.
        if reads {
            for _ in 0..2 * sent {
                assert_eq!(client.answer().errors, []);
            }
        }
        let pid = client.pid;
        drop((client, socket));
        let there = format!("select count(*) from pg_stat_activity where pid = {pid}");
        wait_for("its session ends", Duration::from_secs(40), || observer.value(&there) == "0");
    }
    wait_for("its sockets are closed", Duration::from_secs(40), || server.descriptors() <= before);
    server.wait_until_quiet(Duration::from_secs(40));
    server.assert_well_within(MIBIBYTES_MAX);
}

#[test]
fn flush_without_sync_and_syncs_without_end() {
    let server = Server::empty();
    let mut client = server.connect();
    client.send(&[parse("", "select 1", &[]), describe(b'S', ""), flush()].concat()).expect("sent");
    let kinds: String = (0..3).filter_map(|_| client.receive()).map(|message| message.kind as char).collect();
    assert_eq!(kinds, "1tT");
    client.send(&[bind("", "", &[]), execute("", 0), flush()].concat()).expect("sent");
    let kinds: String = (0..3).filter_map(|_| client.receive()).map(|message| message.kind as char).collect();
    assert_eq!(kinds, "2DC");
    client.send(&sync()).expect("sent");
    assert_eq!(client.answer().kinds, "Z");
    let storm = 20_000;
    client.send(&sync().repeat(storm)).expect("sent");
    for _ in 0..storm {
        assert_eq!(client.answer().kinds, "Z");
    }
    // After an error everything is passed over, flushes too.
    client
        .send(&[parse("", "select from where", &[]), flush(), flush(), bind("", "", &[]), sync()].concat())
        .expect("sent");
    assert_eq!(client.answer().kinds, "EZ");
    assert_eq!(client.value("select 1"), "1");
    server.assert_well();
}

#[test]
fn statements_and_portals_by_the_thousand() {
    let server = Server::empty();
    let mut client = server.connect();
    client.ask("begin");
    let count = if is_long() { 9_000 } else { 3_000 };
    let mut sender = client.socket.try_clone().expect("a socket");
    let sending = thread::spawn(move || {
        for number in 0..count {
            let (statement, portal) = (format!("s{number}"), format!("p{number}"));
            let messages = [
                parse(&statement, &format!("select {number} + $1::int4"), &[]),
                bind(&portal, &statement, &["1"]),
                sync(),
            ];
            sender.write_all(&messages.concat()).expect("sent");
        }
    });
    for _ in 0..count {
        assert_eq!(client.answer().kinds, "12Z");
    }
    sending.join().expect("it sends");
    for number in [0, count / 2, count - 1] {
        client.send(&[execute(&format!("p{number}"), 0), sync()].concat()).expect("sent");
        assert_eq!(client.answer().rows, [[Some((number + 1).to_string())]]);
    }
    server.assert_well_within(MIBIBYTES_MAX);
    // More than a session keeps is an error, and the session goes on.
    let more = 10_001 - count;
    let mut refused = 0;
    let mut sender = client.socket.try_clone().expect("a socket");
    let sending = thread::spawn(move || {
        for number in 0..more {
            sender.write_all(&[bind(&format!("q{number}"), "s0", &["1"]), sync()].concat()).expect("sent");
        }
    });
    for _ in 0..more {
        let answer = client.answer();
        refused += u32::from(["53200", "25P02"].contains(&answer.code()));
    }
    sending.join().expect("it sends");
    assert!(refused > 0);
    assert_eq!(client.ask("rollback").status, 'I');
    client.send(&[close(b'S', "s0"), close(b'S', "never"), close(b'P', "never"), sync()].concat()).expect("sent");
    assert_eq!(client.answer().kinds, "333Z");
    assert_eq!(client.ask("deallocate all; discard all").status, 'I');
    assert_eq!(client.value("select 1"), "1");
    server.assert_well_within(MIBIBYTES_MAX);
}

/// Terminate in the middle of a pipeline: what came before is answered.
#[test]
fn terminate_after_a_pipeline() {
    let server = Server::empty();
    let mut client: Client = server.connect();
    client.send(&[query("select 1"), query("select 2"), message(b'X', &[])].concat()).expect("sent");
    assert_eq!(client.answer().tags, ["SELECT 1"]);
    assert_eq!(client.answer().tags, ["SELECT 1"]);
    assert_eq!(client.receive(), None);
    server.assert_well();
}

/// Who says goodbye does not wait for what it has asked for: it is done. Who goes without a word
/// takes it along.
#[test]
fn what_was_asked_before_a_goodbye_is_done() {
    let server = Server::empty();
    let mut observer = server.connect();
    observer.ask("create table Done (n int)");
    let write = |key: &str| {
        let slowly = "(select pg_sleep(0.6))::text is not null";
        query(&format!("insert into done (partitionkey, rowkey, n) select 'p', '{key}', 1 where {slowly}"))
    };
    for (key, goodbye, stays) in [("a", message(b'X', &[]), true), ("b", Vec::new(), false)] {
        let mut client = server.connect();
        let pid = client.pid;
        client.send(&[write(key), goodbye].concat()).expect("sent");
        thread::sleep(Duration::from_millis(100));
        drop(client);
        let there = format!("select count(*) from pg_stat_activity where pid = {pid}");
        wait_for("its session ends", Duration::from_secs(40), || observer.value(&there) == "0");
        let found = observer.value(&format!("select count(*) from done where rowkey = '{key}'"));
        assert_eq!(found == "1", stays, "{key}");
    }
    server.assert_well();
}

const TABLE: &str = "create table things (n int)";

fn insert(key: &str) -> String {
    format!("insert into things (partitionkey, rowkey, n) values ('p', '{key}', 1)")
}

/// Parse, Bind and Execute of a statement.
fn run(sql: &str) -> Vec<u8> {
    [parse("", sql, &[]), bind("", "", &[]), execute("", 0)].concat()
}

/// Statements in one Query message are one transaction.
#[test]
fn a_query_of_several_statements_is_a_transaction() {
    let server = Server::empty();
    let (mut client, mut other) = (server.connect(), server.connect());
    let keys = "select coalesce(string_agg(rowkey, ',' order by rowkey), '') from things";
    let failed = client.ask(&format!("{TABLE}; {}; {}", insert("a"), insert("a")));
    assert_eq!((failed.code(), failed.status), ("23505", 'I'), "{failed:?}");
    assert_eq!(other.ask("select * from things").code(), "42P01");
    assert_eq!(client.ask(&format!("{TABLE}; {}", insert("a"))).errors, []);
    assert_eq!(other.value(keys), "a");
    for (text, code, status, wanted) in [
        (format!("{}; select 1/0", insert("b")), "22012", 'I', "a"),
        (format!("{}; begin; {}", insert("b"), insert("c")), "", 'T', "a"),
        ("rollback".to_owned(), "", 'I', "a"),
        (format!("{}; commit; {}; select 1/0", insert("b"), insert("c")), "22012", 'I', "a,b"),
        (format!("{}; rollback; {}", insert("c"), insert("d")), "", 'I', "a,b,d"),
        (format!("begin; {}; select 1/0", insert("e")), "22012", 'E', "a,b,d"),
        ("rollback; select 1".to_owned(), "", 'I', "a,b,d"),
        (format!("{}; vacuum things", insert("f")), "25001", 'I', "a,b,d"),
        (format!("{}; savepoint s", insert("f")), "25P01", 'I', "a,b,d"),
        (format!("{}; commit and chain", insert("f")), "25P01", 'I', "a,b,d"),
        ("delete from things; truncate things; drop table things; nonsense".to_owned(), "42601", 'I', "a,b,d"),
        ("delete from things; drop table things; select 1/0".to_owned(), "22012", 'I', "a,b,d"),
        (format!("begin; {}; commit; select 1/0", insert("g")), "22012", 'I', "a,b,d,g"),
        (format!("{}; set statement_timeout = '20ms'; select pg_sleep(10)", insert("h")), "57014", 'I', "a,b,d,g"),
    ] {
        let answer = client.ask(&text);
        assert_eq!((answer.code(), answer.status), (code, status), "{text}: {answer:?}");
        assert_eq!(other.value(keys), wanted, "{text}");
    }
    // What a setting was is what it is again.
    assert_eq!(client.value("show statement_timeout"), "0");
    // Each statement sees what those before it have written, and nobody else does.
    let answer =
        client.ask(&format!("{}; {keys}; update things set n = 2 where rowkey = 'x' returning n; {keys}", insert("x")));
    assert_eq!(answer.tags, ["INSERT 0 1", "SELECT 1", "UPDATE 1", "SELECT 1"]);
    assert_eq!(answer.rows[0], [Some("a,b,d,g,x".to_owned())]);
    // Who is not first loses all of it, and hears of it before the last statement is complete.
    client.ask("begin; update things set n = 5 where rowkey = 'a'");
    other.ask("update things set n = 6 where rowkey = 'a'");
    let lost = client.ask(&format!("{}; commit", insert("y")));
    assert_eq!((lost.code(), lost.status), ("40001", 'I'), "{lost:?}");
    assert_eq!(client.value("select n from things where rowkey = 'a'"), "6");
    assert_eq!(client.value("select count(*) from things where rowkey = 'y'"), "0");
    server.assert_well();
}

/// What is sent up to one Sync is one transaction.
#[test]
fn a_pipeline_is_a_transaction_up_to_its_sync() {
    let server = Server::empty();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.ask(TABLE);
    let keys = "select coalesce(string_agg(rowkey, ',' order by rowkey), '') from things";
    client
        .send(&[run(&insert("a")), run(&insert("b")), run(&insert("a")), run(&insert("c")), sync()].concat())
        .expect("sent");
    let answer = client.answer();
    assert_eq!((answer.kinds.as_str(), answer.code(), answer.status), ("12C12C12EZ", "23505", 'I'));
    assert_eq!(other.value(keys), "");
    client.send(&[run(&insert("a")), run(&insert("b")), flush()].concat()).expect("sent");
    for kind in "12C12C".chars() {
        assert_eq!(client.receive().map(|message| message.kind as char), Some(kind));
    }
    assert_eq!(other.value(keys), "", "nothing is committed before Sync");
    client.send(&[run(keys), sync()].concat()).expect("sent");
    assert_eq!(client.answer().rows, [[Some("a,b".to_owned())]]);
    assert_eq!(other.value(keys), "a,b");
    // Definitions as well, and settings.
    let pipeline = [
        run("create table more ()"),
        run("set application_name = 'x'"),
        run("drop table things"),
        run("select 1/0"),
        sync(),
    ];
    client.send(&pipeline.concat()).expect("sent");
    assert_eq!(client.answer().code(), "22012");
    assert_eq!(other.value(keys), "a,b");
    assert_eq!(client.ask("select * from more").code(), "42P01");
    assert_eq!(client.value("show application_name"), "");
    // BEGIN makes it a block that outlives Sync, with what came before; COMMIT in between ends it.
    client.send(&[run(&insert("c")), run("begin"), run(&insert("d")), sync()].concat()).expect("sent");
    assert_eq!(client.answer().status, 'T');
    assert_eq!(other.value(keys), "a,b");
    client.send(&[run("commit"), run(&insert("e")), run(&insert("a")), sync()].concat()).expect("sent");
    let answer = client.answer();
    assert_eq!((answer.code(), answer.status), ("23505", 'I'));
    assert_eq!(other.value(keys), "a,b,c,d");
    // A portal goes on within it.
    let rows = "select rowkey from things order by rowkey";
    let portal = [parse("", rows, &[]), bind("p", "", &[]), execute("p", 1)].concat();
    client.send(&[run(&insert("0")), portal, run(&insert("9")), execute("p", 2), sync()].concat()).expect("sent");
    let answer = client.answer();
    assert_eq!(answer.kinds, "12C12Ds12CDsZ");
    assert_eq!(answer.rows, ["0", "a", "b"].map(|key| [Some(key.to_owned())]));
    client.send(&[execute("p", 1), sync()].concat()).expect("sent");
    assert_eq!(client.answer().code(), "34000");
    // The commit itself may fail: the statements were complete, and nothing of them is there.
    client
        .send(&[run("update things set n = 5 where rowkey = 'a'"), run(&insert("z")), flush()].concat())
        .expect("sent");
    for kind in "12C12C".chars() {
        assert_eq!(client.receive().map(|message| message.kind as char), Some(kind));
    }
    other.ask("update things set n = 6 where rowkey = 'a'");
    client.send(&sync()).expect("sent");
    let answer = client.answer();
    assert_eq!((answer.kinds.as_str(), answer.code(), answer.status), ("EZ", "40001", 'I'));
    assert_eq!(client.value("select count(*) from things where rowkey = 'z'"), "0");
    // Who leaves before Sync has written nothing.
    client.send(&[run(&insert("late")), run(&insert("later")), message(b'X', &[])].concat()).expect("sent");
    while client.receive().is_some() {}
    assert_eq!(other.value("select count(*) from things where rowkey like 'late%'"), "0");
    // A statement by itself is committed as it always was.
    other.send(&[run(&insert("alone")), close(b'P', ""), sync()].concat()).expect("sent");
    assert_eq!(other.answer().kinds, "12C3Z");
    assert_eq!(other.value("select count(*) from things where rowkey = 'alone'"), "1");
    server.assert_well();
}

/// Answers of a pipeline go out while a later statement runs, and its errors as they come.
#[test]
fn the_first_answers_of_a_pipeline_do_not_wait_for_the_last() {
    let server = Server::empty();
    let mut other = server.connect();
    let question = |sql: &str| [parse("", sql, &[]), bind("", "", &[]), execute("", 0), sync()].concat();
    let simple = |sql: &str| query(sql);
    for ask in [&question as &dyn Fn(&str) -> Vec<u8>, &simple] {
        let mut client = server.connect();
        let messages = ["select 1", "select 1 / 0", "select pg_sleep(600)", "select 2"].map(ask).concat();
        client.send(&messages).expect("sent");
        assert_eq!(client.answer().rows, [[Some("1".to_owned())]]);
        assert_eq!(client.answer().code(), "22012");
        assert_eq!(other.value(&format!("select pg_cancel_backend({})", client.pid)), "t");
        assert_eq!(client.answer().code(), "57014");
        assert_eq!(client.answer().rows, [[Some("2".to_owned())]]);
    }
}

/// Clients whose messages have no answer and never end leave others their turns.
#[test]
fn messages_without_answers_do_not_starve_others() {
    let server = Server::empty();
    // More than there are threads that serve sockets.
    let floods = 3 * thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also where an assertion fails.
        let _stops = StopsOnDrop(&stop);
        for flood in [flush(), message(b'd', b"x")].iter().cycle().take(floods) {
            let (client, stop) = (server.connect(), &stop);
            let mut socket = client.socket.try_clone().expect("a socket");
            socket.set_write_timeout(Some(Duration::from_millis(200))).expect("a socket");
            let messages = flood.repeat(50_000);
            scope.spawn(move || {
                let _open = client;
                let mut sent = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Others may be served meanwhile; it goes on where it was.
                    sent = (sent + socket.write(&messages[sent..]).unwrap_or(0)) % messages.len();
                }
            });
        }
        let mut client = server.connect();
        for number in 0..100 {
            assert_eq!(client.value(&format!("select {number}")), number.to_string());
        }
        assert_eq!(client.ask("set statement_timeout = '100ms'; select pg_sleep(600)").code(), "57014");
    });
    server.assert_well_within(MIBIBYTES_MAX);
}

struct StopsOnDrop<'a>(&'a AtomicBool);

impl Drop for StopsOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
