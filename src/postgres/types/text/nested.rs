//! Quoting of the elements of arrays and the members of records.

use bytes::BytesMut;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Quotes the element that was written from `start` on, if it needs that.
pub(in crate::types) fn quote_element(start: usize, delimiter: char, out: &mut BytesMut) {
    let element = &out[start..];
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'{' | b'}') || *byte == delimiter as u8 || is_space(*byte);
    if !element.is_empty() && !element.eq_ignore_ascii_case(b"null") && !element.iter().any(special) {
        return;
    }
    quote(start, Some(b'\\'), out);
}

/// The element of an array of texts, in quotes if it needs them.
pub(crate) fn quoted_element(element: String) -> String {
    let mut out = BytesMut::from(element.as_bytes());
    quote_element(0, ',', &mut out);
    String::from_utf8(out.into()).unwrap_or(element)
}

/// Quotes the member of a record that was written from `start` on, if it needs that.
pub(in crate::types) fn quote_member(start: usize, out: &mut BytesMut) {
    let member = &out[start..];
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*byte);
    if !member.is_empty() && !member.iter().any(special) {
        return;
    }
    quote(start, None, out);
}

/// Escapes quotes and backslashes, or doubles them.
fn quote(start: usize, escape: Option<u8>, out: &mut BytesMut) {
    let element = out[start..].to_vec();
    out.truncate(start);
    out.extend_from_slice(b"\"");
    for &byte in &element {
        if matches!(byte, b'"' | b'\\') {
            out.extend_from_slice(&[escape.unwrap_or(byte)]);
        }
        out.extend_from_slice(&[byte]);
    }
    out.extend_from_slice(b"\"");
}
