//! Writing strings of JSON.

use std::io::Write;

/// Appends a text as a JSON string.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    // Most texts have nothing to escape, which is found without a branch for each byte.
    let is_plain = |plain: bool, byte: u8| plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\');
    if text.bytes().fold(true, is_plain) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
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
            byte => {
                // A vector takes everything.
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        let mut out = Vec::new();
        push_string(&mut out, "é😀 plain\u{7f}");
        assert_eq!(String::from_utf8(std::mem::take(&mut out)).unwrap(), "\"é😀 plain\u{7f}\"");
        push_string(&mut out, "a\"b\\c\n\r\t\u{0}\u{1f}é😀");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u001fé😀\"");
    }
}
