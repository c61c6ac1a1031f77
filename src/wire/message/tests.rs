use bytes::BufMut;

use super::*;

pub(super) fn framed(kind: u8, body: &[u8]) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.put_u8(kind);
    buffer.put_i32(body.len() as i32 + 4);
    buffer.put_slice(body);
    buffer
}

pub(super) fn startup(body: &[u8]) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.put_i32(body.len() as i32 + 4);
    buffer.put_slice(body);
    buffer
}

#[test]
fn messages_are_read_when_they_are_whole() {
    let whole = framed(b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17");
    for cut in 0..whole.len() {
        let mut part = BytesMut::from(&whole[..cut]);
        assert_eq!(next(&mut part), Ok(Next::Part), "{cut} bytes");
    }
    let wanted = Message::Parse { name: "s".to_owned(), text: "SELECT $1".to_owned(), types: vec![23] };
    let mut two = whole.clone();
    two.extend_from_slice(&framed(b'S', b""));
    assert_eq!(next(&mut two), Ok(Next::Whole(wanted)));
    assert_eq!(next(&mut two), Ok(Next::Whole(Message::Sync)));
    assert!(two.is_empty());
}

#[test]
fn bind_takes_values_and_nulls() {
    let mut message = framed(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02hi\xff\xff\xff\xff\0\0");
    let Ok(Next::Whole(Message::Bind(bind))) = next(&mut message) else { panic!("no bind") };
    assert_eq!((bind.portal.as_str(), bind.statement.as_str()), ("p", "s"));
    assert_eq!(bind.formats, [1]);
    assert_eq!(bind.values, [Some(Bytes::from_static(b"hi")), None]);
}

#[test]
fn what_does_not_fit_its_length_is_malformed_and_the_next_message_is_read() {
    for body in [&b"s\0SELECT 1\0\xff\xff\0\0\0\x17"[..], b"no end", b"s\0SELECT 1\0\0\0 and more", b""] {
        let mut buffer = framed(b'P', body);
        buffer.extend_from_slice(&framed(b'S', b""));
        assert!(matches!(next(&mut buffer), Ok(Next::Whole(Message::Malformed(_)))), "{body:?}");
        assert_eq!(next(&mut buffer), Ok(Next::Whole(Message::Sync)));
    }
    assert_eq!(next(&mut framed(b'Q', b"\xc3\x28\0")), Ok(Next::Whole(Message::MalformedQuery(Malformed::NotUtf8))));
    let mut negative = framed(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xf0\0\0");
    assert!(matches!(next(&mut negative), Ok(Next::Whole(Message::Malformed(_)))));
}

#[test]
fn what_is_too_large_is_passed_over() {
    for (kind, length) in [(b'Q', MESSAGE_BYTES_MAX + 1), (b'd', PASSED_OVER_BYTES_MAX)] {
        let mut buffer = framed(kind, b"");
        buffer[1..5].copy_from_slice(&(length as u32).to_be_bytes());
        assert!(is_whole(&buffer));
        let Ok(Next::PassedOver(mut large)) = next(&mut buffer) else { panic!("it is taken") };
        assert_eq!(large.pass_over(5), 5);
        assert_eq!(large.pass_over(length - 5), length - 5);
        assert!(!large.is_over());
        assert_eq!(large.pass_over(17), 1, "what comes next stays");
        assert!(large.is_over());
        let wanted = match kind {
            b'Q' => Message::MalformedQuery(Malformed::TooLarge(length)),
            _ => Message::Malformed(Malformed::TooLarge(length)),
        };
        assert_eq!(large.message(), wanted);
    }
}

#[test]
fn what_is_no_message_ends_the_connection() {
    assert!(next(&mut BytesMut::from(&b"GET / HTTP/1.1\r\n"[..])).is_err());
    assert!(next(&mut BytesMut::from(&b"Q\0\0\0\x01"[..])).is_err());
    assert!(next(&mut BytesMut::from(&b"Q\xff\xff\xff\xff"[..])).is_err());
    assert!(next(&mut BytesMut::from(&b"Q\x40\0\0\0"[..])).is_err());
    assert!(first(&mut BytesMut::from(&b"GET / HTTP/1.1\r\n"[..])).is_err());
    assert!(first(&mut BytesMut::from(&b"\0\0\0\x04"[..])).is_err());
}

#[test]
fn the_first_message_is_one_of_four() {
    assert_eq!(first(&mut startup(&SSL_REQUEST.to_be_bytes())), Ok(Some(First::Ssl)));
    assert_eq!(first(&mut startup(&GSS_REQUEST.to_be_bytes())), Ok(Some(First::Gss)));
    let cancel: Vec<u8> = [CANCEL_REQUEST, 7, 9].iter().flat_map(|number| number.to_be_bytes()).collect();
    assert_eq!(first(&mut startup(&cancel)), Ok(Some(First::Cancel { pid: 7, secret: 9 })));
    assert!(first(&mut startup(&cancel[..8])).is_err());
    let wanted = First::Startup { major: 3, minor: 0, parameters: vec![("user".to_owned(), "me".to_owned())] };
    assert_eq!(first(&mut startup(b"\0\x03\0\0user\0me\0\0")), Ok(Some(wanted)));
    for body in [&b"\0\x03\0\0user\0me"[..], b"\0\x03\0\0"] {
        assert_eq!(first(&mut startup(body)), Ok(Some(First::Unreadable)));
    }
}

#[test]
fn every_kind_that_is_let_in_is_read_and_no_other() {
    for kind in 0..=u8::MAX {
        let read = Body(bytes::Bytes::from_static(&[0; 64])).message(kind);
        let is_unknown = read == Err(Malformed::Content(UNKNOWN_KIND));
        assert_eq!(KINDS.contains(&kind), !is_unknown, "{}", char::from(kind));
    }
}

#[test]
fn a_message_says_how_much_of_it_is_to_come() {
    let whole = framed(b'Q', b"SELECT 1\0");
    for cut in 0..=whole.len() {
        let missing = if cut < 5 { 0 } else { whole.len() - cut };
        assert_eq!(bytes_to_come(&BytesMut::from(&whole[..cut])), missing, "{cut} bytes");
    }
    let mut too_large = framed(b'Q', b"");
    too_large[1..5].copy_from_slice(&(MESSAGE_BYTES_MAX as i32 + 1).to_be_bytes());
    assert_eq!(bytes_to_come(&too_large), 0);
}
