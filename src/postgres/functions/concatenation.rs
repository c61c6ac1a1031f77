//! `concat` and `concat_ws`: any values in PostgreSQL's output form.

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::built_texts::Texts;
use super::cast::to_text;
use super::kind::Kind;
use super::scalar::{Call, Function, stable};

pub(super) static FUNCTIONS: [Function; 2] = [
    stable("concat", 1..=usize::MAX, |_| Ok(DataType::Utf8View), |call| joined(call, None)),
    stable("concat_ws", 2..=usize::MAX, |_| Ok(DataType::Utf8View), |call| joined(call, Some(call.text(0)?))),
];

/// Values one after another, NULLs left out; between them the separator, without which there is
/// nothing.
fn joined(call: &Call, separators: Option<StringViewArray>) -> Result<ArrayRef> {
    let first = usize::from(separators.is_some());
    let values = (first..call.len()).map(|place| written(call, place)).collect::<Result<Vec<_>>>()?;
    let mut texts = Texts::of(call);
    for row in 0..call.rows {
        if separators.as_ref().is_some_and(|separators| separators.is_null(row)) {
            texts.built.append_null();
            continue;
        }
        let separator = separators.as_ref().map_or("", |separators| separators.value(row));
        let present: Vec<&str> =
            values.iter().filter(|values| values.is_valid(row)).map(|values| values.value(row)).collect();
        texts.reserve(present.iter().map(|text| text.len() + separator.len()).sum())?;
        texts.append(present.join(separator))?;
    }
    Ok(texts.finish())
}

/// Truth values are a letter here, where a cast writes a word.
fn written(call: &Call, place: usize) -> Result<StringViewArray> {
    let array = call.arg(place)?;
    if let Some(truths) = array.as_boolean_opt() {
        return Ok(truths.iter().map(|truth| truth.map(|truth| if truth { "t" } else { "f" })).collect());
    }
    match call.kind(place) {
        Kind::Text | Kind::Null => call.text(place),
        _ => Ok(to_text(array, &call.zone)?.as_string_view().clone()),
    }
}
