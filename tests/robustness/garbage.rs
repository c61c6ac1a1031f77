//! Bytes that are not the protocol, or not quite.

use std::io::Read;
use std::time::Duration;

use crate::protocol::{bind, describe, execute, message, parse, query, startup, sync};
use crate::robustness::server::Server;
use crate::robustness::wire::Client;

/// What a stranger gets for its first bytes: all that the server says before it closes.
fn said_to(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut client = Client::dial(server.port);
    // The server may close before all is sent.
    let _ = client.send(bytes);
    let _ = client.socket.shutdown(std::net::Shutdown::Write);
    let mut said = Vec::new();
    // A reset is an end as well.
    let _ = client.socket.read_to_end(&mut said);
    said
}

#[test]
fn strangers_speak_other_protocols() {
    let server = Server::empty();
    let hello = [&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..], &[7; 194]].concat();
    let mut random = 88_172_645_463_325_252_u64;
    let mut noise = |length: usize| -> Vec<u8> {
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 24) as u8
        };
        (0..length).map(|_| next()).collect()
    };
    let mut all: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        hello,
        b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
        Vec::new(),
        vec![0],
        vec![0, 0, 0],
        vec![0, 0, 0, 8],
        vec![0; 10_000],
        vec![255; 10_000],
    ];
    // Startup packets of absurd lengths, too short for what they say, and half.
    for length in [i32::MIN, -1, 0, 1, 4, 7, 8, 9, 10_001, 1 << 30, i32::MAX] {
        all.push([&length.to_be_bytes()[..], &[0, 3, 0, 0], b"user\0x\0\0"].concat());
    }
    let whole = startup([("user", "rowkey"), ("database", crate::robustness::wire::DATABASE)].iter());
    all.extend((1..whole.len()).map(|length| whole[..length].to_vec()));
    all.extend((0..50).map(|at| noise(1 + at * 37)));
    for bytes in &all {
        let said = said_to(&server, bytes);
        assert!(said.is_empty() || said[0] == b'E', "{bytes:?} was told {said:?}");
    }
    // An old protocol is told so.
    let said = said_to(&server, &[&8_i32.to_be_bytes()[..], &[0, 2, 0, 0]].concat());
    assert!(String::from_utf8_lossy(&said).contains("unsupported frontend protocol 2.0"), "{said:?}");
    server.assert_well();
}

#[test]
fn ssl_requests_are_declined_again_and_again() {
    let server = Server::empty();
    let request = |code: i32| [8_i32.to_be_bytes(), code.to_be_bytes()].concat();
    let mut client = Client::dial(server.port);
    for code in [80_877_103, 80_877_104].repeat(5) {
        client.send(&request(code)).expect("sent");
        let mut answer = [0];
        client.socket.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"N");
    }
    let pairs = [("user", "rowkey"), ("database", crate::robustness::wire::DATABASE)];
    client.send(&startup(pairs.iter())).expect("sent");
    assert_eq!(client.answer().status, 'I');
    assert_eq!(client.value("select 1"), "1");
    // And then silence.
    let mut silent = Client::dial(server.port);
    silent.send(&request(80_877_103)).expect("sent");
    server.assert_well();
}

#[test]
fn who_has_no_right_to_come_in_is_told() {
    let server = Server::empty();
    for (settings, code) in [
        (&[("database", "other")][..], "3D000"),
        (&[("options", "-c nonsense")][..], "42601"),
        (&[("client_encoding", "klingon")][..], "22023"),
        (&[("replication", "true")][..], "0A000"),
    ] {
        let answer = Client::try_connect(server.port, settings).err().expect("refused");
        assert_eq!((answer.code(), answer.status), (code, ' '), "{settings:?}: {answer:?}");
    }
    server.assert_well();
}

/// Messages after which nothing can be told apart: the connection ends, after it was told why.
#[test]
fn lost_connections_are_told() {
    let server = Server::empty();
    let with_length = |kind: u8, length: i32| [&[kind][..], &length.to_be_bytes(), b"select 1\0"].concat();
    for bytes in [
        with_length(b'Q', -1),
        with_length(b'Q', 0),
        with_length(b'Q', 3),
        with_length(b'Q', i32::MIN),
        with_length(b'Q', i32::MAX),
        with_length(b'Q', 1 << 30),
        with_length(b'B', i32::MAX),
        with_length(b'\0', 12),
        with_length(b'z', 12),
        with_length(b'p', -5),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let mut client = server.connect();
        let _ = client.send(&bytes);
        let answer = client.answer();
        assert_eq!((answer.code(), answer.status), ("08P01", ' '), "{bytes:?}: {answer:?}");
    }
    // Half a message, then nothing; half a message, then the end.
    for bytes in [&b"Q"[..], b"Q\0\0", b"Q\0\0\0\x20select", b"P\0\0\0\x09a\0"] {
        let mut silent = server.connect();
        silent.send(bytes).expect("sent");
        let mut gone = server.connect();
        gone.send(bytes).expect("sent");
        drop(gone);
        server.assert_well();
    }
}

/// Messages that are read to their end and wrong within: an error, and the session goes on.
#[test]
fn malformed_messages_are_errors() {
    let server = Server::empty();
    let mut client = server.connect();
    client.send(&[parse("s", "select $1::int4, $2::text", &[23, 25]), sync()].concat()).expect("sent");
    assert_eq!(client.answer().kinds, "1Z");
    let body = |parts: &[&[u8]]| parts.concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("too few values", bind("", "s", &["1"])),
        ("too many values", bind("", "s", &["1", "2", "3"])),
        ("a count without values", message(b'B', &body(&[b"\0s\0", &[0, 0], &[0, 2], &[0, 0]]))),
        ("65535 values that are not there", message(b'B', &body(&[b"\0s\0", &[0, 0], &[255, 255], &[0, 0]]))),
        ("a value longer than the message", message(b'B', &body(&[b"\0s\0", &[0, 0, 0, 2, 0, 0, 1, 0], b"1"]))),
        ("a value of length -2", message(b'B', &body(&[b"\0s\0", &[0, 0, 0, 2, 255, 255, 255, 254], &[0; 6]]))),
        (
            "three formats for two",
            message(b'B', &body(&[b"\0s\0", &[0, 3, 0, 0, 0, 0, 0, 0], &[0, 2], &[255; 8], &[0, 0]])),
        ),
        (
            "format 7",
            message(b'B', &body(&[b"\0s\0", &[0, 1, 0, 7], &[0, 2], &[0, 0, 0, 1], b"1", &[255; 4], &[0, 0]])),
        ),
        (
            "three result formats",
            message(b'B', &body(&[b"\0s\0", &[0, 0, 0, 2], &[255; 8], &[0, 3, 0, 0, 0, 0, 0, 0]])),
        ),
        (
            "a binary value too short",
            message(b'B', &body(&[b"\0s\0", &[0, 1, 0, 1, 0, 2, 0, 0, 0, 1, 9], &[255; 4], &[0, 0]])),
        ),
        ("no such statement", bind("", "none", &[])),
        ("no end of the name", message(b'P', b"name")),
        ("a type that does not exist", parse("", "select $1", &[4_000_000_000])),
        ("more types than there are", message(b'P', b"\0select 1\0\0\x09")),
        ("not UTF-8", message(b'P', b"\0select '\xff\xfe'\0\0\0")),
        ("describing neither", message(b'D', b"xname\0")),
        ("describing nothing", message(b'D', b"")),
        ("describing the unknown", describe(b'P', "none")),
        ("executing the unknown", execute("none", 0)),
        ("executing without a limit", message(b'E', b"\0")),
        ("closing neither", message(b'C', b"qname\0")),
        ("bytes after the end", message(b'H', b"more")),
    ];
    for (name, bytes) in cases {
        client.send(&[bytes, sync()].concat()).expect("sent");
        let answer = client.answer();
        assert_eq!((answer.kinds.as_str(), answer.status), ("EZ", 'I'), "{name}: {answer:?}");
        assert!(
            ["08P01", "22021", "22P03", "22023", "26000", "34000", "42704"].contains(&answer.code()),
            "{name}: {answer:?}"
        );
    }
    for bytes in [&b"select '\xff'\0"[..], b"select 1", b"select 1\0more\0", b""] {
        client.send(&message(b'Q', bytes)).expect("sent");
        let answer = client.answer();
        assert_eq!((answer.kinds.as_str(), answer.status), ("EZ", 'I'), "{bytes:?}: {answer:?}");
    }
    // Messages of a copy that is not under way mean nothing; function calls are an error with an
    // answer of their own.
    client.send(&[message(b'd', b"1\t2\n"), message(b'c', b""), message(b'f', b"no\0")].concat()).expect("sent");
    assert_eq!(client.value("select 1"), "1");
    client.send(&message(b'F', &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0])).expect("sent");
    let answer = client.answer();
    assert_eq!((answer.kinds.as_str(), answer.code()), ("EZ", "0A000"));
    assert_eq!(client.value("select 1"), "1");
    server.assert_well();
}

/// Texts that are large, deep or odd.
#[test]
fn hostile_texts() {
    let server = Server::empty();
    let mut client = server.connect();
    let parentheses = format!("select {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let open = format!("select {}", "(".repeat(100_000));
    let nots = format!("select {}true", "not ".repeat(50_000));
    let minus = format!("select {}1", "- ".repeat(50_000));
    let sum = format!("select 1{}", " + 1".repeat(50_000));
    let cases = format!("select {} 1 {}", "case when true then".repeat(5_000), "end ".repeat(5_000));
    let arrays = format!("select {}1{}", "array[".repeat(20_000), "]".repeat(20_000));
    let queries = format!("select * from {}select 1{}", "(select * from (".repeat(5_000), ") x) y".repeat(5_000));
    let unions = format!("select 1{}", " union all select 1".repeat(5_000));
    let casts = format!("select 1{}", "::int4".repeat(20_000));
    let functions = format!("select {}1{}", "abs(".repeat(20_000), ")".repeat(20_000));
    let concatenated = format!("select 'a'{}", " || 'a'".repeat(20_000));
    let comment = format!("select 1 {}", "/*".repeat(50_000));
    let quotes = format!("select {}", "'".repeat(100_001));
    let dollar = "select $1$2$3$$$a$".to_owned();
    let semicolons = ";".repeat(100_000);
    let columns = format!("select {}", vec!["1"; 5_000].join(", "));
    for (name, sql) in [
        ("parentheses", parentheses),
        ("open parentheses", open),
        ("nots", nots),
        ("minus", minus),
        ("sum", sum),
        ("cases", cases),
        ("arrays", arrays),
        ("queries", queries),
        ("unions", unions),
        ("casts", casts),
        ("functions", functions),
        ("concatenated", concatenated),
        ("comment", comment),
        ("quotes", quotes),
        ("dollar", dollar),
        ("semicolons", semicolons),
        ("columns", columns),
        ("control characters", "select \u{1}\u{7f}\u{feff}\u{202e}".to_owned()),
    ] {
        let began = std::time::Instant::now();
        client.ask("set statement_timeout = '5s'");
        let answer = client.ask(&sql);
        println!(
            "{name}: {:?}, {:?}",
            began.elapsed(),
            answer.errors.first().map(|(code, text)| (code, text.chars().take(90).collect::<String>()))
        );
        assert_eq!(answer.status, 'I', "{name}: {answer:?}");
        assert!(!["XX000", "57P01"].contains(&answer.code()), "{name}: {:?}", answer.errors);
        client.send(&[parse("", &sql, &[]), sync()].concat()).expect("sent");
        let answer = client.answer();
        assert_eq!(answer.status, 'I', "{name}: {answer:?}");
        client.ask("set statement_timeout = 0");
        assert_eq!(client.value("select 1"), "1", "{name}");
    }
    server.assert_well_within(2048);
}

#[test]
fn large_messages() {
    let server = Server::empty();
    let mut client = server.connect();
    let mibibytes = 50;
    let text = "x".repeat(mibibytes << 20);
    assert_eq!(client.value(&format!("select length('{text}')")), text.len().to_string());
    let answer = client.ask_extended("select length($1::text)", &[&text]);
    assert_eq!(answer.rows, [[Some(text.len().to_string())]]);
    server.assert_well_within(2048);
    // Larger than any that is taken: it is an error, and the session goes on.
    let text = "x".repeat(100 << 20);
    let answer = client.ask(&format!("select length('{text}')"));
    assert_eq!((answer.code(), answer.status), ("54000", 'I'), "{}", answer.text());
    assert!(answer.text().contains("104857"), "{}", answer.text());
    assert_eq!(client.value("select 1"), "1");
    let answer = client.ask_extended("select length($1::text)", &[&text]);
    assert_eq!((answer.code(), answer.status), ("54000", 'I'), "{}", answer.text());
    client.ask("create table Copied (t text)");
    client.send(&query("copy copied (partitionkey, rowkey, t) from stdin")).expect("sent");
    assert_eq!(client.receive().map(|message| message.kind), Some(b'G'));
    client.send(&[message(b'd', text.as_bytes()), message(b'c', &[])].concat()).expect("sent");
    assert_eq!(client.answer().code(), "54000");
    assert_eq!(client.value("select count(*) from copied"), "0");
    // Nothing is set aside for it.
    let mut other = server.connect();
    other.send(&[&b"Q"[..], &(1_000_000_000_i32).to_be_bytes()].concat()).expect("sent");
    server.assert_well_within(2048);
    drop(other);
    server.wait_until_quiet(Duration::from_secs(40));
}

#[test]
fn parameters_by_the_thousand() {
    let server = Server::empty();
    let mut client = server.connect();
    let list = |count: usize| (1..=count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    let count = 5_000;
    let values: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let sql = format!("select count(*) from generate_series(1, 10) g where g in ({})", list(count));
    let answer = client.ask_extended(&sql, &values);
    assert_eq!(answer.rows, [[Some("10".to_owned())]], "{:?}", answer.errors);
    client.ask("set statement_timeout = '10s'");
    let most = 65_535;
    let sql = format!("select g from generate_series(1, 3) g where g in ({})", list(most));
    let answer = client.ask_extended(&sql, &vec!["2"; most]);
    assert_eq!(answer.status, 'I');
    println!("{most} parameters: {:?} {:?}", answer.rows, answer.errors);
    let sql = "select $65536::int4";
    client.send(&[parse("", sql, &[]), sync()].concat()).expect("sent");
    assert_eq!(client.answer().kinds, "EZ");
    let sql = "select $999999999999999999999::int4, $0";
    client.send(&[parse("", sql, &[]), sync(), query("select 1")].concat()).expect("sent");
    assert_eq!(client.answer().kinds, "EZ");
    assert_eq!(client.answer().status, 'I');
    server.assert_well_within(2048);
}
