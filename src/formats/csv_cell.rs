//! Text as a cell of CSV.

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

    #[test]
    fn cells_are_quoted() {
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
            let mut out = Vec::new();
            push_cell(&mut out, text.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), cell, "{text:?}");
        }
    }
}
