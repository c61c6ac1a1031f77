//! Templates of dates and moments, as `YYYY-MM-DD HH24:MI`, read into their parts.
//!
//! Keywords are of one case, but for the names of months and days, which may begin with a capital;
//! `FM` and `TM` hold for the keyword behind them, `TH` and `SP` for the one before.

use datafusion::common::Result;

use super::error::{SqlState, fail};

/// Keywords, the longer before the shorter that begins them.
const KEYWORDS: [&str; 54] = [
    "A.D.", "A.M.", "B.C.", "P.M.", "MONTH", "Y,YYY", "HH24", "HH12", "IYYY", "IDDD", "SSSSS", "SSSS", "YYYY", "DAY",
    "DDD", "IYY", "MON", "YYY", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "TZH", "TZM", "AD", "AM", "BC", "CC", "DD",
    "DY", "FX", "HH", "ID", "IW", "IY", "MI", "MM", "MS", "OF", "PM", "RM", "SS", "TZ", "US", "WW", "YY", "Y", "D",
    "I", "J", "Q", "W",
];
/// Keywords of words, whose first letter may be the only capital.
const WORDS: [&str; 4] = ["MONTH", "MON", "DAY", "DY"];

/// The longest template.
const TEMPLATE_BYTES_MAX: usize = 64 << 10;

/// One part of a template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    Field(Field),
    Character { character: char, is_quoted: bool },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Field {
    /// The keyword in capitals.
    pub(super) name: &'static str,
    pub(super) case: Case,
    /// `FM`: no blanks and zeros fill it up.
    pub(super) is_unfilled: bool,
    /// `TM`: in the words of the locale, which is C.
    pub(super) is_translated: bool,
    /// `TH`: the ending of an ordinal number, in this case.
    pub(super) ordinal: Option<Case>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
    Capitalized,
}

/// A template that is not too long: what it is read into takes some fifty times its bytes.
pub(super) fn short(template: &str) -> Result<&str> {
    if template.len() <= TEMPLATE_BYTES_MAX {
        return Ok(template);
    }
    let message = format!("a format pattern of {} bytes, it has at most {TEMPLATE_BYTES_MAX}", template.len());
    fail(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// The parts of a template.
pub(super) fn parts(template: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = short(template)?;
    while !rest.is_empty() {
        let prefix = ["FM", "TM"].into_iter().find(|prefix| case_of(prefix, rest).is_some());
        if prefix.is_some() {
            rest = &rest[2..];
        }
        if let Some((name, case)) = keyword(rest) {
            rest = &rest[name.len()..];
            let ordinal = case_of("TH", rest);
            if ordinal.is_some() || case_of("SP", rest) == Some(Case::Upper) {
                rest = &rest[2..];
            }
            let (is_unfilled, is_translated) = (prefix == Some("FM"), prefix == Some("TM"));
            parts.push(Part::Field(Field { name, case, is_unfilled, is_translated, ordinal }));
            continue;
        }
        if let Some(inside) = rest.strip_prefix('"') {
            let (text, after) = quoted(inside);
            parts.extend(text.chars().map(|character| Part::Character { character, is_quoted: true }));
            rest = after;
            continue;
        }
        if rest.starts_with("\\\"") {
            rest = &rest[1..];
        }
        let mut characters = rest.chars();
        parts.extend(characters.next().map(|character| Part::Character { character, is_quoted: false }));
        rest = characters.as_str();
    }
    Ok(parts)
}

fn keyword(rest: &str) -> Option<(&'static str, Case)> {
    KEYWORDS.iter().find_map(|name| case_of(name, rest).map(|case| (*name, case)))
}

/// In which case the text begins with the keyword, if it does.
pub(super) fn case_of(keyword: &str, text: &str) -> Option<Case> {
    let start = text.get(..keyword.len()).filter(|start| start.eq_ignore_ascii_case(keyword))?;
    if start == keyword {
        Some(Case::Upper)
    } else if !start.contains(|letter: char| letter.is_ascii_uppercase()) {
        Some(Case::Lower)
    } else {
        let is_capitalized = start[..1] == keyword[..1] && start[1..] == keyword[1..].to_ascii_lowercase();
        (is_capitalized && WORDS.contains(&keyword)).then_some(Case::Capitalized)
    }
}

/// The text up to a quote, and what follows it.
pub(super) fn quoted(text: &str) -> (String, &str) {
    let mut inside = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return (inside, &text[place + 1..]),
            '\\' => inside.extend(characters.next().map(|(_, character)| character)),
            other => inside.push(other),
        }
    }
    (inside, "")
}
