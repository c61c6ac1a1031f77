//! `btrim`, `ltrim` and `rtrim`. DataFusion's look for each character of the text in all of those
//! that are taken off; here a text takes as long as it is, and so does its set.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewBuilder};
use datafusion::common::Result;

use super::scalar::{Call, Function, immutable};
use super::strings::returns_text_of_texts;
use super::text::LONG_TEXT_BYTES;
use crate::carried::Stop;

pub(super) static FUNCTIONS: [Function; 4] = [
    // What DataFusion plans for `trim(BOTH .. FROM ..)`.
    immutable("trim", 1..=2, returns_text_of_texts, |call| trimmed(call, Ends::BOTH)),
    immutable("btrim", 1..=2, returns_text_of_texts, |call| trimmed(call, Ends::BOTH)),
    immutable("ltrim", 1..=2, returns_text_of_texts, |call| trimmed(call, Ends::FIRST)),
    immutable("rtrim", 1..=2, returns_text_of_texts, |call| trimmed(call, Ends::LAST)),
];

#[derive(Clone, Copy)]
struct Ends {
    first: bool,
    last: bool,
}

impl Ends {
    const BOTH: Self = Self { first: true, last: true };
    const FIRST: Self = Self { first: true, last: false };
    const LAST: Self = Self { first: false, last: true };
}

fn trimmed(call: &Call, ends: Ends) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let sets = if call.args.len() > 1 { Some(call.text(1)?) } else { None };
    let mut built = StringViewBuilder::with_capacity(call.rows);
    let mut set = CharacterSet::of(" ");
    let mut set_text = None;
    let stop = Stop::of(call.options);
    for row in 0..call.rows {
        if texts.is_null(row) || sets.as_ref().is_some_and(|sets| sets.is_null(row)) {
            built.append_null();
            continue;
        }
        if let Some(sets) = &sets
            && set_text != Some(sets.value(row))
        {
            set = CharacterSet::of(sets.value(row));
            set_text = Some(sets.value(row));
        }
        let mut text = texts.value(row);
        if text.len() >= LONG_TEXT_BYTES {
            stop.check()?;
        }
        if ends.first {
            text = text.trim_start_matches(|character| set.has(character));
        }
        if ends.last {
            text = text.trim_end_matches(|character| set.has(character));
        }
        built.append_value(text);
    }
    Ok(Arc::new(built.finish()))
}

/// Characters, found at once.
struct CharacterSet {
    /// Of ASCII, a bit each.
    ascii: u128,
    others: HashSet<char>,
}

impl CharacterSet {
    fn of(text: &str) -> Self {
        let ascii = text.bytes().filter(u8::is_ascii).fold(0, |bits, byte| bits | 1 << byte);
        Self { ascii, others: text.chars().filter(|character| !character.is_ascii()).collect() }
    }

    fn has(&self, character: char) -> bool {
        match character.is_ascii() {
            true => self.ascii >> u32::from(character) & 1 == 1,
            false => self.others.contains(&character),
        }
    }
}
