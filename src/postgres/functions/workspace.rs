//! Memory that reading a text takes beside the text and the value: the items of an array or a
//! document, one by one. It is reserved before it is used, so that several statements at a time
//! take no more than there is.

use arrow::array::{ArrayRef, AsArray};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::memory_pool::MemoryReservation;

use super::frames::FrameLimits;

/// An item takes so many bytes while the others are read.
const ITEM_BYTES: usize = 64;
/// Shorter texts are not counted.
const COUNTED_BYTES_MIN: usize = 64 << 10;

/// Reserves what the items of texts take together; `None` where they are few.
///
/// # Errors
/// The statement's memory is used up.
pub(super) fn reserve(options: &ConfigOptions, texts: &ArrayRef) -> Result<Option<MemoryReservation>> {
    // Literals and parameters are of the other form.
    let items = match (texts.as_string_view_opt(), texts.as_string_opt::<i32>()) {
        (Some(texts), _) => texts.iter().flatten().map(items_of).sum(),
        (_, Some(texts)) => texts.iter().flatten().map(items_of).sum(),
        _ => 0_usize,
    };
    match options.extensions.get::<FrameLimits>() {
        Some(limits) if items > 0 => limits.reserve("items of a text", items.saturating_mul(ITEM_BYTES)).map(Some),
        _ => Ok(None),
    }
}

/// How many items a text has at most; none of a short one.
fn items_of(text: &str) -> usize {
    if text.len() < COUNTED_BYTES_MIN { 0 } else { memchr::memchr_iter(b',', text.as_bytes()).count() }
}
