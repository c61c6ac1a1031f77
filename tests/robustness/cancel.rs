//! Stopping what runs: every kind of work, in every way.

use std::thread;
use std::time::{Duration, Instant};

use crate::protocol::{bind, execute, flush, parse, query, sync};
use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use crate::robustness::{is_long, wait_for};

/// How soon a statement that was stopped has to be over, on a machine with other work.
const SOON: Duration = Duration::from_secs(20);
/// How long a statement runs before it is stopped.
const RUNS: Duration = Duration::from_millis(150);

/// Work without an end, or with a far one; one of each kind.
const ENDLESS: &[(&str, &str)] = &[
    ("counting", "select count(*) from generate_series(1, 1000000000000)"),
    ("streaming", "select g, repeat('x', 100) from generate_series(1, 1000000000000) g"),
    ("filtering", "select g from generate_series(1, 1000000000000) g where g < 0"),
    ("cross join", "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b"),
    (
        "nested loops, few pairs",
        "select count(*) from generate_series(1, 1000000) a(x) join generate_series(1, 1000000) b(y) on x + y < 0",
    ),
    (
        "nested loops, many pairs",
        "select count(*) from generate_series(1, 1000000) a(x) join generate_series(1, 1000000) b(y) on x < y",
    ),
    (
        "hash join, huge fan-out",
        "select count(*) from (select g % 2 k from generate_series(1, 1000000) g) a join \
         (select g % 2 k from generate_series(1, 1000000) g) b on a.k = b.k",
    ),
    (
        "hash join, huge fan-out, residual",
        "select count(*) from (select g, g % 2 k from generate_series(1, 1000000) g) a join \
         (select g, g % 2 k from generate_series(1, 1000000) g) b on a.k = b.k and a.g + b.g < 0",
    ),
    (
        "hash join, building",
        "select count(*) from generate_series(1, 300000000) a(x) join generate_series(1, 300000000) b(y) on x = y",
    ),
    (
        "anti join",
        "select count(*) from generate_series(1, 1000000) a(x) where not exists (select 1 from \
      generate_series(1, 1000000) b(y) where y < -x)",
    ),
    (
        "not in",
        "select count(*) from generate_series(1, 1000000) a(x) where x not in (select y from \
      generate_series(1, 1000000000) b(y))",
    ),
    ("sorting", "select g from generate_series(1, 100000000) g order by reverse(g::text)"),
    ("top", "select g from generate_series(1, 100000000000) g order by g % 1000, g desc limit 3"),
    ("grouping", "select reverse(g::text), count(*) from generate_series(1, 100000000) g group by 1"),
    ("distinct", "select count(distinct g) from generate_series(1, 1000000000) g"),
    ("window", "select row_number() over (partition by g % 10 order by g desc) from generate_series(1, 100000000) g"),
    (
        "window, wide frame",
        "select max(g) over (order by g rows between 100000 preceding and 100000 following) from \
         generate_series(1, 3000000) g",
    ),
    ("array_agg", "select array_agg(g) from generate_series(1, 200000000) g"),
    ("string_agg", "select length(string_agg(g::text, ',')) from generate_series(1, 200000000) g"),
    ("recursion", "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"),
    (
        "recursion that grows",
        "with recursive t(n) as (select 1 union all select n + k from t, (values (0), (1)) v(k)) \
      select n from t where n < 0",
    ),
    ("recursion, distinct", "with recursive t(n) as (select 1 union select n + 1 from t) select n from t where n < 0"),
    ("union", "select g from generate_series(1, 1000000000000) g union select 5"),
    ("except", "select g from generate_series(1, 1000000000000) g except select 5"),
    ("scalar sub-query", "select (select count(*) from generate_series(1, 1000000000000))"),
    ("unnest", "select count(*) from (select unnest(array[g, g, g, g]) from generate_series(1, 1000000000) g) x"),
    (
        "regular expressions",
        "select count(*) from generate_series(1, 1000000000) g where repeat('ab', 10000) || g ~ '(a|b|ab)*c$'",
    ),
    ("long texts", "select sum(length(repeat('a', 100000))) from generate_series(1, 100000000) g"),
    (
        "replacing",
        "select sum(length(replace(repeat('a', 100000 + g % 10), 'a', 'bb'))) from \
      generate_series(1, 10000000) g",
    ),
    ("sleeping", "select pg_sleep(100)"),
    ("sleeping for each row", "select pg_sleep(0.01) from generate_series(1, 1000000) g"),
    (
        "explain analyze",
        "explain analyze select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b",
    ),
    (
        "explain analyze of a sort",
        "explain analyze select g from generate_series(1, 100000000) g order by reverse(g::text)",
    ),
];

/// How it is stopped.
#[derive(Debug, Clone, Copy)]
enum Way {
    Timeout,
    CancelRequest,
    CancelBackend,
    ExtendedCancelRequest,
}

const WAYS: [Way; 4] = [Way::Timeout, Way::CancelRequest, Way::CancelBackend, Way::ExtendedCancelRequest];

#[track_caller]
fn stop(client: &mut Client, observer: &mut Client, name: &str, sql: &str, way: Way) {
    let began = Instant::now();
    let extended = [parse("", sql, &[]), bind("", "", &[]), execute("", 0), sync()].concat();
    if let Way::Timeout = way {
        client.ask(&format!("set statement_timeout = {}", RUNS.as_millis()));
    }
    client.send(&if let Way::ExtendedCancelRequest = way { extended } else { query(sql) }).expect("sent");
    let stopper = match way {
        Way::Timeout => None,
        Way::CancelRequest | Way::ExtendedCancelRequest => {
            let (port, pid, secret) = (client.port, client.pid, client.secret);
            Some(thread::spawn(move || {
                thread::sleep(RUNS);
                Client::cancel_for(port, pid, secret);
            }))
        }
        Way::CancelBackend => {
            // Rows are few until it is read again.
            thread::sleep(RUNS);
            assert_eq!(observer.value(&format!("select pg_cancel_backend({})", client.pid)), "t");
            None
        }
    };
    let answer = client.answer();
    let took = began.elapsed() - RUNS;
    stopper.into_iter().for_each(|stopper| stopper.join().expect("it cancels"));
    let place = format!("{name} by {way:?} took {took:?}: {:?}", answer.errors);
    assert_eq!((answer.code(), answer.status), ("57014", 'I'), "{place}");
    assert!(took < SOON, "{place}");
    let reason = if let Way::Timeout = way { "statement timeout" } else { "user request" };
    assert!(answer.text().contains(reason), "{place}");
    if let Way::Timeout = way {
        client.ask("set statement_timeout = 0");
    }
    assert_eq!(client.value("select 40 + 2"), "42", "{place}");
}

#[test]
fn every_kind_of_work_is_stopped() {
    let server = Server::empty();
    let (mut client, mut observer) = (server.connect(), server.connect());
    for (at, (name, sql)) in ENDLESS.iter().enumerate() {
        let ways = if is_long() { &WAYS[..] } else { &WAYS[at % WAYS.len()..][..1] };
        for way in ways {
            stop(&mut client, &mut observer, name, sql, *way);
            if is_long() {
                server.wait_until_quiet(SOON);
            }
        }
    }
    // Nothing goes on behind the clients' backs. A step that was under way may take a while longer
    // than its client waited.
    server.wait_until_quiet(Duration::from_secs(40));
    // Sorts and joins may take what the pool of memory has: half of the machine.
    server.assert_well_within(12 * 1024);
}

/// Parsing and planning are steps of their own that are not interrupted: they have to be short. The
/// error comes after them.
#[test]
fn planning_is_stopped() {
    let server = Server::empty();
    let mut client = server.connect();
    let list: Vec<String> =
        (0..if is_long() { 200_000 } else { 20_000 }).map(|number| format!("'k{number}'")).collect();
    let any: Vec<String> = (0..2_000).map(|number| format!("(g = {number} and g <> {})", number + 1)).collect();
    let tables: Vec<String> = (0..60).map(|number| format!("generate_series(1, 2) t{number}")).collect();
    for (name, sql) in [
        ("a long list", format!("select g from generate_series(1, 3) g where g::text in ({})", list.join(", "))),
        ("many alternatives", format!("select g from generate_series(1, 3) g where {}", any.join(" or "))),
        ("many tables", format!("select count(*) from {}", tables.join(", "))),
    ] {
        client.ask("set statement_timeout = 100");
        let began = Instant::now();
        let answer = client.ask(&sql);
        let took = began.elapsed();
        println!("{name}: {took:?}, {:?}", answer.errors.first().map(|(code, _)| code));
        assert_eq!(answer.status, 'I');
        assert!(took < Duration::from_secs(40), "{name} took {took:?}");
        client.ask("set statement_timeout = 0");
        assert_eq!(client.value("select 1"), "1");
    }
    server.wait_until_quiet(Duration::from_secs(40));
    server.assert_well();
}

#[test]
fn only_the_secret_cancels() {
    let server = Server::empty();
    let mut client = server.connect();
    client.send(&query("select pg_sleep(0.6), 'done'")).expect("sent");
    thread::sleep(Duration::from_millis(100));
    client.cancel(client.secret.wrapping_add(1));
    let other = server.connect();
    Client::cancel_for(server.port, client.pid, other.secret);
    let answer = client.answer();
    assert_eq!(answer.tags, ["SELECT 1"], "{answer:?}");
    // Nothing runs: nothing is cancelled, now or later.
    client.cancel(client.secret);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(client.value("select 'still here'"), "still here");
    assert_eq!(client.value("select pg_cancel_backend(2147483647)"), "f");
    server.assert_well();
}

/// Backends that are terminated say why, whatever they do.
#[test]
fn sessions_are_terminated() {
    let server = Server::empty();
    let mut observer = server.connect();
    let busy = "select count(*) from generate_series(1, 1000000000000)";
    let cases: [&[&str]; 4] = [&[], &["begin"], &["begin", "select 1 / 0"], &[busy]];
    for statements in cases {
        let mut client = server.connect();
        for sql in statements {
            client.send(&query(sql)).expect("sent");
            if *sql != busy {
                client.answer();
            }
        }
        thread::sleep(Duration::from_millis(50));
        let pid = client.pid;
        assert_eq!(observer.value(&format!("select pg_terminate_backend({pid})")), "t");
        let answer = client.answer();
        assert_eq!((answer.code(), answer.status), ("57P01", ' '), "{statements:?}: {answer:?}");
        let gone = format!("select count(*) from pg_stat_activity where pid = {pid}");
        wait_for("it is gone", SOON, || observer.value(&gone) == "0");
    }
    server.wait_until_quiet(SOON);
    server.assert_well();
}

/// A flood of cancels does not undo a termination, nor disturb others.
#[test]
fn cancels_may_be_many() {
    let server = Server::empty();
    let (mut client, mut observer) = (server.connect(), server.connect());
    client.send(&query("select pg_sleep(100)")).expect("sent");
    thread::sleep(Duration::from_millis(100));
    for _ in 0..300 {
        client.cancel(0);
    }
    assert_eq!(observer.value(&format!("select pg_terminate_backend({})", client.pid)), "t");
    for _ in 0..20 {
        client.cancel(client.secret);
    }
    assert_eq!((client.answer().code(), client.receive()), ("57P01", None));
    server.assert_well();
}

#[test]
fn idle_sessions_time_out() {
    let server = Server::empty();
    for (setting, before, wanted) in
        [("idle_session_timeout", None, "57P05"), ("idle_in_transaction_session_timeout", Some("begin"), "25P03")]
    {
        let mut client = server.connect();
        client.ask(&format!("set {setting} = '300ms'"));
        before.into_iter().for_each(|sql| drop(client.ask(sql)));
        // Work is not idleness.
        let slept = client.ask("select pg_sleep(0.5)");
        assert_eq!(slept.code(), "", "{slept:?}");
        let began = Instant::now();
        let answer = client.answer();
        assert_eq!((answer.code(), answer.status), (wanted, ' '), "{answer:?}");
        let took = began.elapsed();
        assert!(took > Duration::from_millis(250) && took < SOON, "{setting}: {took:?}");
    }
    // Nor is a request that has not ended: its client may take its time between Flush and Sync, or
    // before it.
    for begun in [
        [parse("", "select 1", &[]), bind("", "", &[]), execute("", 0), flush()].concat(),
        parse("", "select 1", &[]),
        [parse("", "nonsense", &[]), flush()].concat(),
    ] {
        for (setting, before) in
            [("idle_session_timeout", None), ("idle_in_transaction_session_timeout", Some("begin"))]
        {
            let mut client = server.connect();
            client.ask(&format!("set {setting} = '200ms'"));
            before.into_iter().for_each(|sql| drop(client.ask(sql)));
            client.send(&begun).expect("sent");
            thread::sleep(Duration::from_millis(500));
            client.send(&sync()).expect("sent");
            let answer = client.answer();
            assert!(answer.kinds.ends_with('Z'), "{setting}: {answer:?}");
            let wanted = if setting.contains("_in_") { "25P03" } else { "57P05" };
            assert_eq!(client.answer().code(), wanted, "then it is idle");
        }
    }
    // The other state's timeout does not act.
    let mut client = server.connect();
    client.ask("set idle_in_transaction_session_timeout = '100ms'");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.value("select 1"), "1");
    server.assert_well();
}
