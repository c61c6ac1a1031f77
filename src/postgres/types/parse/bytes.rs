//! Byte strings, uuids, and the texts that have rules.

use crate::types::{Error, SqlState};

/// `\x` and hexadecimal pairs, or the escape form: `\\` and `\ooo` among plain characters.
pub(super) fn parse_bytea(text: &str) -> Result<Vec<u8>, Error> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text.as_bytes()),
    }
}

fn parse_hex(hex: &str) -> Result<Vec<u8>, Error> {
    let mut value = Vec::with_capacity(hex.len() / 2);
    let mut digits = hex.chars();
    while let Some(c) = digits.next() {
        // Blanks may stand between pairs.
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = hex_digit(c)?;
        let odd = || Error::new(SqlState::INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits");
        let low = hex_digit(digits.next().ok_or_else(odd)?)?;
        value.push(high << 4 | low);
    }
    Ok(value)
}

fn hex_digit(c: char) -> Result<u8, Error> {
    let invalid = || Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid hexadecimal digit: \"{c}\""));
    c.to_digit(16).map(|digit| digit as u8).ok_or_else(invalid)
}

fn parse_escaped(mut text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut value = Vec::with_capacity(text.len());
    loop {
        match text {
            [] => return Ok(value),
            [b'\\', b'\\', rest @ ..] => {
                value.push(b'\\');
                text = rest;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                value.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                text = rest;
            }
            [b'\\', ..] => {
                return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea"));
            }
            [byte, rest @ ..] => {
                value.push(*byte);
                text = rest;
            }
        }
    }
}

/// 32 hexadecimal digits, in braces or not, with dashes after any groups of four.
pub(super) fn parse_uuid(text: &str) -> Result<[u8; 16], Error> {
    let invalid = || Error::invalid_text("uuid", text);
    let mut rest = text.as_bytes();
    if let Some(inner) = rest.strip_prefix(b"{") {
        rest = inner.strip_suffix(b"}").ok_or_else(invalid)?;
    }
    let mut value = [0; 16];
    for (at, byte) in value.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else { return Err(invalid()) };
        let digit = |c: u8| char::from(c).to_digit(16).map(|digit| digit as u8).ok_or_else(invalid);
        *byte = digit(*high)? << 4 | digit(*low)?;
        rest = match after {
            [b'-', after @ ..] if at % 2 == 1 && at < 15 => after,
            after => after,
        };
    }
    if rest.is_empty() { Ok(value) } else { Err(invalid()) }
}

/// PostgreSQL's NAMEDATALEN, without its end.
pub(crate) const NAME_BYTES_MAX: usize = 63;

/// Blanks at the end of a `bpchar` are nothing to what it is compared with.
pub(super) fn without_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}

/// Longer names are cut between characters.
pub(super) fn truncate_name(text: &str) -> String {
    let mut end = text.len().min(NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// The first byte of a text, which must be ASCII to be held as text.
pub(super) fn parse_char(text: &str) -> Result<String, Error> {
    match text.chars().next() {
        None => Ok(String::new()),
        Some(c) if c.is_ascii() => Ok(c.to_string()),
        Some(_) => {
            Err(Error::unsupported(format!("value \"{text}\" of type \"char\" is not ASCII, which is not supported")))
        }
    }
}
