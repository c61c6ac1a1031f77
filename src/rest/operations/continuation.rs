//! Where the next page begins, as clients hand it back (specification, section 2.7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rowkey_model::Key;

use crate::address::QueryOptions;
use crate::errors::Failure;

/// The service's form: `1!8!U21pdGg-`. What it writes for `+` and `/` is unconfirmed.
pub(super) fn encode(text: &str) -> String {
    let encoded: String = BASE64.encode(text).chars().map(|c| exchanged(c, FROM, TO)).collect();
    format!("1!{}!{encoded}", encoded.len())
}

/// The text of a token, which only we write.
pub(super) fn decode(token: &str) -> Result<String, Failure> {
    let read = || {
        let (length, encoded) = token.strip_prefix("1!")?.split_once('!')?;
        if length.parse() != Ok(encoded.len()) {
            return None;
        }
        let encoded: String = encoded.chars().map(|c| exchanged(c, TO, FROM)).collect();
        String::from_utf8(BASE64.decode(encoded).ok()?).ok()
    };
    read().ok_or_else(Failure::not_valid)
}

/// Characters of base64 that mean something in a URL, and those that stand for them.
const FROM: [char; 3] = ['=', '+', '/'];
const TO: [char; 3] = ['-', '*', '_'];

fn exchanged(c: char, from: [char; 3], to: [char; 3]) -> char {
    from.iter().zip(to).find(|(from, _)| **from == c).map_or(c, |(_, to)| to)
}

/// The first key of the page that is asked for; without a RowKey the partition's first.
pub(super) fn entity_continuation(options: &QueryOptions) -> Result<Option<Key>, Failure> {
    let row = options.given("NextRowKey").map(decode).transpose()?;
    match (options.given("NextPartitionKey"), row) {
        (Some(partition), row) => Ok(Some(Key::new(decode(partition)?, row.unwrap_or_default()))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::not_valid()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back() {
        assert_eq!(encode("Smith"), "1!8!U21pdGg-");
        for text in ["", "p", "a+b/c?", "名前", "\u{fffd}\u{10ffff}~~~>>>???"] {
            let token = encode(text);
            assert_eq!(decode(&token).as_deref(), Ok(text));
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!-*_".contains(&byte)), "{token}");
        }
        for bad in ["", "x", "1!8!", "1!7!U21pdGg-", "2!8!U21pdGg-", "1!4!####", "1!4!__8-"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_of_tokens() {
        let key = |query: &str| entity_continuation(&QueryOptions::parse(query).unwrap());
        assert_eq!(key("NextPartitionKey=1!4!cA--&NextRowKey=1!4!cjM-"), Ok(Some(Key::new("p", "r3"))));
        assert_eq!(key("NextPartitionKey=1!4!cA--"), Ok(Some(Key::new("p", ""))));
        assert_eq!(key(""), Ok(None));
        assert!(key("NextRowKey=1!4!cA--").is_err());
    }
}
