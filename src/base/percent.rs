//! Percent-encoding of URLs, decoded exactly once: a key may hold the text `%25`.

/// The text of a part of a path, in which `+` is a plus. `None` where an escape is cut off or the
/// bytes are not UTF-8.
pub fn decode_path(text: &str) -> Option<String> {
    decode(text, false)
}

/// The text of a name or a value in a query, in which `+` is a blank. `None` as for
/// [`decode_path`].
pub fn decode_query(text: &str) -> Option<String> {
    decode(text, true)
}

fn decode(text: &str, plus_is_blank: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            b'+' if plus_is_blank => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(decode_path("a%2525%C3%A9+'").as_deref(), Some("a%25é+'"));
        assert_eq!(decode_query("%24filter=a+eq+%27x%2B%27").as_deref(), Some("$filter=a eq 'x+'"));
        for bad in ["%", "%4", "%zz", "%ff", "%C3"] {
            assert_eq!((decode_path(bad), decode_query(bad)), (None, None), "{bad}");
        }
    }
}
