//! Errors in the middle of an answer leave the connection usable and the protocol in step.

use crate::protocol::{bind, describe, execute, parse, query, sync};
use crate::robustness::server::Server;

/// Fails after so many rows.
fn failing_after(rows: u32) -> String {
    format!("select 10 / (g - {}) as q, repeat('z', 50) as z from generate_series(1, 1000000) g", rows + 1)
}

#[test]
fn errors_after_many_rows() {
    let server = Server::empty();
    let mut client = server.connect();
    for rows in [0, 1, 8_191, 8_192, 100_000] {
        let sql = failing_after(rows);
        let answer = client.ask(&sql);
        assert_eq!((answer.code(), answer.status), ("22012", 'I'), "{rows}: {answer:?}");
        assert!(answer.tags.is_empty());
        let answer = client.ask_extended(&sql, &[]);
        assert_eq!((answer.code(), answer.status), ("22012", 'I'), "{rows}");
        assert!(answer.kinds.starts_with("12T") && answer.kinds.ends_with("EZ"), "{}", answer.kinds);
        assert_eq!(client.value("select 'fine'"), "fine");
    }
    server.assert_well();
}

#[test]
fn an_error_skips_to_the_next_sync() {
    let server = Server::empty();
    let mut client = server.connect();
    let one = |sql: &str| [parse("", sql, &[]), bind("", "", &[]), describe(b'P', ""), execute("", 0)].concat();
    let failing = failing_after(20_000);
    client
        .send(&[one("select 1"), one(&failing), one("select 2"), sync(), one("select 3"), sync()].concat())
        .expect("sent");
    let first = client.answer();
    assert_eq!(first.code(), "22012");
    assert!(first.kinds.starts_with("12TDC12T") && first.kinds.ends_with("EZ"), "{}", first.kinds);
    assert_eq!(first.tags, ["SELECT 1"]);
    let second = client.answer();
    assert_eq!((second.kinds.as_str(), second.rows.len()), ("12TDCZ", 1));

    // In a transaction it is only rolled back from.
    assert_eq!(client.ask("begin").status, 'T');
    assert_eq!(client.ask(&failing).status, 'E');
    assert_eq!(client.ask("select 1").code(), "25P02");
    assert_eq!(client.ask("rollback").status, 'I');
    assert_eq!(client.value("select 4"), "4");

    // The rest of a simple text is not run; the next text is.
    client.send(&[query(&format!("select 5; {failing}; select 6")), query("select 7")].concat()).expect("sent");
    let first = client.answer();
    assert_eq!((first.tags.len(), first.code(), first.status), (1, "22012", 'I'));
    assert_eq!(client.answer().rows, [[Some("7".to_owned())]]);
    server.assert_well();
}

/// Portals fetched bit by bit, several at once, one of which fails.
#[test]
fn portals_interleave() {
    let server = Server::empty();
    let mut client = server.connect();
    assert_eq!(client.ask("begin").status, 'T');
    let numbers = "select g from generate_series(1, 50000) g";
    let mut setup = vec![parse("numbers", numbers, &[]), parse("failing", &failing_after(9_000), &[])];
    setup.extend((0..5).map(|portal| bind(&format!("p{portal}"), "numbers", &[])));
    setup.push(sync());
    client.send(&setup.concat()).expect("sent");
    assert_eq!(client.answer().errors, []);
    for round in 0..30 {
        for portal in 0..5 {
            let rows_max = 1 + (round * 7 + portal) % 100;
            client.send(&[execute(&format!("p{portal}"), rows_max), sync()].concat()).expect("sent");
            let answer = client.answer();
            assert_eq!((answer.kinds.as_str(), answer.row_count), ("DsZ", rows_max as u64), "{answer:?}");
            let before: i32 = (0..round).map(|round| 1 + (round * 7 + portal) % 100).sum();
            assert_eq!(answer.rows[0][0].as_deref(), Some((before + 1).to_string().as_str()));
        }
    }
    client.send(&[execute("p0", 0), bind("f", "failing", &[]), execute("f", 0), sync()].concat()).expect("sent");
    let answer = client.answer();
    assert_eq!((answer.code(), answer.status, answer.tags.len()), ("22012", 'E', 1), "{}", answer.kinds);
    assert_eq!(client.ask("rollback").status, 'I');
    client.send(&[execute("p1", 1), sync()].concat()).expect("sent");
    assert_eq!(client.answer().code(), "34000");
    assert_eq!(client.value("select 1"), "1");
    server.assert_well();
}
