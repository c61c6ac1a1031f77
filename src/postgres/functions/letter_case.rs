//! `upper`, `lower` and `initcap`: every character becomes one character, as in PostgreSQL's
//! default locale. `ß`, whose capital is two letters, stays.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::common::Result;

use super::scalar::{Call, Function, immutable_of};
use super::strings::returns_text;

pub(super) static FUNCTIONS: [Function; 3] = [
    immutable_of("upper", 1, returns_text, |call| each(call, upper_text)),
    immutable_of("lower", 1, returns_text, |call| each(call, lower_text)),
    immutable_of("initcap", 1, returns_text, |call| each(call, capitals)),
];

fn each(call: &Call, of: fn(&str) -> String) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut built = StringViewBuilder::with_capacity(call.rows);
    for text in texts.iter() {
        built.append_option(text.map(of));
    }
    Ok(Arc::new(built.finish()))
}

fn upper_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_uppercase() } else { text.chars().map(upper).collect() }
}

fn lower_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(lower).collect() }
}

/// The first character of every word as a capital; words are letters and digits.
fn capitals(text: &str) -> String {
    let mut in_word = false;
    let capital = |character: char| {
        let changed = if in_word { lower(character) } else { upper(character) };
        in_word = character.is_alphanumeric();
        changed
    };
    text.chars().map(capital).collect()
}

fn upper(character: char) -> char {
    // Greek letters with an iota below have capitals of their own, beside those of two letters.
    let single = match u32::from(character) {
        code @ (0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7) => char::from_u32(code + 8),
        code @ (0x1FB3 | 0x1FC3 | 0x1FF3) => char::from_u32(code + 9),
        _ => None,
    };
    let mut capitals = character.to_uppercase();
    match (single, capitals.next(), capitals.next()) {
        (Some(single), ..) | (None, Some(single), None) => single,
        _ => character,
    }
}

/// `İ` alone has more than one character for its small letter, of which the first is it.
fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL 15 answers in C.UTF-8.
    #[test]
    fn characters_stay_as_many_as_they_are() {
        assert_eq!(upper_text("straße ÿ ǆ ŉ ﬁ İı"), "STRAßE Ÿ Ǆ ŉ ﬁ İI");
        assert_eq!(lower_text("İIẞΣΑΣ"), "iißσασ");
        assert_eq!(upper_text("ά ᾳ"), "Ά ᾼ");
        assert_eq!(lower_text("ᾼ"), "ᾳ");
        assert_eq!(capitals("straße éa ßa ǆa ŉa o'neil x2y 2AB"), "Straße Éa ßa Ǆa ŉa O'Neil X2y 2ab");
    }
}
