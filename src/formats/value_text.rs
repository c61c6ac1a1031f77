//! Values as text, as the service writes them.

use std::io::Write;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;

use rowkey_model::{DateTime, ValueRef};

/// Appends the service's text of a value, which its importer reads back as the same value beside
/// the name of its type.
pub(crate) fn push_value(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Binary(bytes) => push_shown(out, Base64Display::new(bytes, &BASE64)),
        ValueRef::Boolean(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        ValueRef::DateTime(at) => push_time(out, at),
        ValueRef::Int32(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        ValueRef::Int64(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        // These are copied without an allocation.
        value => push_shown(out, value.to_value()),
    }
}

/// Appends a time with seven digits behind the seconds, as Storage Explorer writes it.
pub(crate) fn push_ticks(out: &mut Vec<u8>, at: DateTime) {
    let start = out.len();
    push_time(out, at);
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

/// Appends a time as the service writes it.
pub(crate) fn push_time(out: &mut Vec<u8>, at: DateTime) {
    out.extend_from_slice(at.text().as_str().as_bytes());
}

fn push_shown(out: &mut Vec<u8>, shown: impl std::fmt::Display) {
    // A vector takes everything.
    let _ = write!(out, "{shown}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_seven_digits() {
        for (ticks, shown) in [
            (0, "1970-01-01T00:00:00.0000000Z"),
            (1, "1970-01-01T00:00:00.0000001Z"),
            (1_200_000, "1970-01-01T00:00:00.1200000Z"),
            (DateTime::MAX.ticks(), "9999-12-31T23:59:59.9999999Z"),
            (DateTime::MIN.ticks(), "1601-01-01T00:00:00.0000000Z"),
        ] {
            let mut out = Vec::new();
            push_ticks(&mut out, DateTime::from_ticks(ticks));
            assert_eq!(String::from_utf8(out).unwrap(), shown);
        }
    }
}
