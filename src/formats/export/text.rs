//! Values as text.

use std::io::Write;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;

use rowkey_model::DateTime;
use rowkey_model::rows::ValueRef;

/// Appends the service's text of a value, which its importer reads back as the same value beside
/// the name of its type.
pub(crate) fn push_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Binary(bytes) => push_shown(out, Base64Display::new(bytes, &BASE64)),
        // Those have no memory of their own.
        value => push_shown(out, value.to_value()),
    }
}

/// Appends a time with seven digits behind the seconds, as Storage Explorer writes it.
pub(crate) fn push_ticks(out: &mut Vec<u8>, at: DateTime) {
    let start = out.len();
    push_shown(out, at);
    // The zone.
    out.pop();
    let mut digits = match out[start..].iter().position(|byte| *byte == b'.') {
        Some(point) => out.len() - start - point - 1,
        None => {
            out.push(b'.');
            0
        }
    };
    while digits < 7 {
        out.push(b'0');
        digits += 1;
    }
    out.push(b'Z');
}

pub(crate) fn push_shown(out: &mut Vec<u8>, shown: impl std::fmt::Display) {
    // A vector takes everything.
    let _ = write!(out, "{shown}");
}

/// Appends a text as a JSON string.
pub(crate) fn push_json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => push_shown(out, format_args!("\\u{byte:04x}")),
        }
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}

/// Appends a cell of CSV, in quotes where it would not be read back without.
pub(crate) fn push_cell(out: &mut Vec<u8>, text: &[u8]) {
    let special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    let is_spaced =
        text.first().is_some_and(u8::is_ascii_whitespace) || text.last().is_some_and(u8::is_ascii_whitespace);
    if !is_spaced && !text.iter().any(special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for piece in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(piece);
        if piece.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_have_seven_digits() {
        for (ticks, shown) in [
            (0, "1970-01-01T00:00:00.0000000Z"),
            (1, "1970-01-01T00:00:00.0000001Z"),
            (1_200_000, "1970-01-01T00:00:00.1200000Z"),
            (DateTime::MAX.ticks(), "9999-12-31T23:59:59.9999999Z"),
            (DateTime::MIN.ticks(), "1601-01-01T00:00:00.0000000Z"),
        ] {
            assert_eq!(written(|out| push_ticks(out, DateTime::from_ticks(ticks))), shown);
        }
    }

    #[test]
    fn strings_and_cells_are_quoted() {
        let json = written(|out| push_json_string(out, "a\"b\\c\n\r\t\u{0}\u{1f}é😀"));
        assert_eq!(json, "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u001fé😀\"");
        for (text, cell) in [
            ("", ""),
            ("a", "a"),
            ("a,b", "\"a,b\""),
            ("\"", "\"\"\"\""),
            ("a\"\"b", "\"a\"\"\"\"b\""),
            ("\r", "\"\r\""),
            (" a", "\" a\""),
            ("a\n", "\"a\n\""),
        ] {
            assert_eq!(written(|out| push_cell(out, text.as_bytes())), cell, "{text:?}");
        }
    }
}
