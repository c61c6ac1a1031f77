//! `left`, `right` and `reverse`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable_of};
use super::strings::returns_text;
use super::text::characters;

pub(super) static FUNCTIONS: [Function; 3] = [
    immutable_of("left", 2, returns_end, |call| end(call, left)),
    immutable_of("right", 2, returns_end, |call| end(call, right)),
    immutable_of("reverse", 1, returns_text, run_reverse),
];

fn returns_end(arguments: &Arguments) -> Result<DataType> {
    if arguments.may_be(1, Kind::is_integer) { returns_text(arguments) } else { arguments.undefined() }
}

fn end(call: &Call, of: fn(&str, i64) -> &str) -> Result<ArrayRef> {
    let (texts, counts) = (call.text(0)?, call.int8(1)?);
    let mut ends = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        let known = texts.is_valid(row) && counts.is_valid(row);
        ends.append_option(known.then(|| of(texts.value(row), counts.value(row))));
    }
    Ok(Arc::new(ends.finish()))
}

/// The first characters, or all but as many last ones.
fn left(text: &str, count: i64) -> &str {
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 { &text[..place_of_last(text, wanted)] } else { characters(text, 0, wanted) }
}

/// The last characters, or all but as many first ones.
fn right(text: &str, count: i64) -> &str {
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 { characters(text, wanted, usize::MAX) } else { &text[place_of_last(text, wanted)..] }
}

/// Where so many last characters of a text begin.
fn place_of_last(text: &str, characters: usize) -> usize {
    match characters.checked_sub(1) {
        None => text.len(),
        Some(before) => text.char_indices().rev().nth(before).map_or(0, |(place, _)| place),
    }
}

fn run_reverse(call: &Call) -> Result<ArrayRef> {
    let texts = call.text(0)?;
    let mut reversed = StringViewBuilder::with_capacity(call.rows);
    for text in texts.iter() {
        reversed.append_option(text.map(|text| text.chars().rev().collect::<String>()));
    }
    Ok(Arc::new(reversed.finish()))
}
