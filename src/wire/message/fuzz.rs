//! Bytes of clients, almost right: no panic, the same messages in any pieces, and nothing that is
//! set aside beyond what has come.

use bytes::BytesMut;

use super::tests::{framed, startup};
use super::*;
use rowkey_base::testing::{Dice, Mutator, fuzz};

/// What a client may send before a session, and in one: each of it one or more messages.
fn seeds() -> Vec<Vec<u8>> {
    let session: [&[(u8, &[u8])]; 8] = [
        &[(b'Q', b"select 1\0")],
        &[(b'P', b"s\0select $1::int4, $2\0\0\x02\0\0\0\x17\0\0\0\x19"), (b'H', b"")],
        &[(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x01\0\0"), (b'S', b"")],
        &[(b'D', b"Ss\0"), (b'D', b"Pp\0"), (b'E', b"p\0\0\0\0\x0a"), (b'S', b"")],
        &[(b'C', b"Ss\0"), (b'C', b"Pp\0"), (b'X', b"")],
        &[(b'd', b"a\tb\n"), (b'd', b""), (b'c', b""), (b'f', b"no\0")],
        &[(b'F', b"\0\0\0\x01\0\0\0\0\0\0")],
        &[(b'p', b"secret\0"), (b'Q', "select 'é'\0".as_bytes())],
    ];
    let mut seeds: Vec<Vec<u8>> = session
        .iter()
        .map(|messages| messages.iter().flat_map(|(kind, body)| framed(*kind, body).to_vec()).collect())
        .collect();
    for body in [
        &b"\0\x03\0\0user\0rowkey\0database\0devstoreaccount1\0options\0-c a=b\0\0"[..],
        &SSL_REQUEST.to_be_bytes(),
        &GSS_REQUEST.to_be_bytes(),
        b"\x04\xd2\x16\x2e\0\0\0\x07\0\0\0\x09",
    ] {
        seeds.push(startup(body).to_vec());
    }
    seeds
}

/// What a connection reads of bytes that come in such pieces: each message, or why it ends.
fn read(bytes: &[u8], mut piece: impl FnMut() -> usize) -> (Vec<Message>, Option<Lost>) {
    let (mut buffer, mut rest, mut messages) = (BytesMut::new(), bytes, Vec::new());
    let mut passed_over: Option<PassedOver> = None;
    loop {
        if let Some(mut large) = passed_over.take() {
            let passed = large.pass_over(buffer.len());
            buffer.advance(passed);
            if large.is_over() {
                messages.push(large.message());
                continue;
            }
            passed_over = Some(large);
        } else {
            let (whole, before) = (is_whole(&buffer), buffer.len());
            match next(&mut buffer) {
                Ok(Next::Whole(message)) => {
                    assert!(whole && buffer.len() < before, "{message:?}");
                    messages.push(message);
                    continue;
                }
                Ok(Next::PassedOver(large)) => {
                    assert!(whole);
                    passed_over = Some(large);
                    continue;
                }
                Ok(Next::Part) => assert!(!whole, "{buffer:?}"),
                Err(lost) => return (messages, Some(lost)),
            }
        }
        if rest.is_empty() {
            return (messages, None);
        }
        let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
        buffer.extend_from_slice(now);
        rest = later;
    }
}

/// The first message of a connection that comes in such pieces.
fn read_first(bytes: &[u8], mut piece: impl FnMut() -> usize) -> Result<Option<First>, Lost> {
    let (mut buffer, mut rest) = (BytesMut::new(), bytes);
    loop {
        match first(&mut buffer) {
            Ok(None) if !rest.is_empty() => {
                let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
                buffer.extend_from_slice(now);
                rest = later;
            }
            read => return read,
        }
    }
}

#[test]
fn fuzz_messages_are_read_alike_in_any_pieces() {
    let seeds = seeds();
    let tokens: [&[u8]; 8] =
        [b"Q\0\0\0\x08abc\0", b"S\0\0\0\x04", b"P\0\0\0", b"B", b"\0\0", b"\x40\0\0\0", b"\x04\0\0\0", b"\xc3\x28"];
    let mutator = Mutator::new(&seeds, &tokens);
    let (mut whole, mut malformed, mut lost) = (0, 0, 0);
    fuzz("messages", |dice: &mut Dice| {
        let mut bytes = mutator.next(dice);
        if dice.chance(2) {
            bytes.extend(mutator.next(dice));
        }
        let at_once = read(&bytes, || usize::MAX);
        let pieces = read(&bytes, || 1 + dice.below(9));
        assert_eq!(at_once, pieces, "{}", bytes.escape_ascii());
        for message in &at_once.0 {
            match message {
                Message::Malformed(_) | Message::MalformedQuery(_) => malformed += 1,
                _ => whole += 1,
            }
        }
        lost += usize::from(at_once.1.is_some());
        assert_eq!(
            read_first(&bytes, || usize::MAX),
            read_first(&bytes, || 1 + dice.below(5)),
            "{}",
            bytes.escape_ascii()
        );
    });
    assert!(whole > 20 && malformed > 20 && lost > 20, "{whole} whole, {malformed} malformed, {lost} lost");
}
