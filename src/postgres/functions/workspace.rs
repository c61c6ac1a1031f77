//! Memory that reading a text takes beside the text and the value: the items of an array or a
//! document, one by one. It is reserved before it is used, so that several statements at a time
//! take no more than there is.

use arrow::array::StringViewArray;
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
pub(super) fn reserve(options: &ConfigOptions, texts: &StringViewArray) -> Result<Option<MemoryReservation>> {
    let long = texts.iter().flatten().filter(|text| text.len() >= COUNTED_BYTES_MIN);
    let items: usize = long.map(|text| memchr::memchr_iter(b',', text.as_bytes()).count()).sum();
    let bytes = items.saturating_mul(ITEM_BYTES);
    match options.extensions.get::<FrameLimits>() {
        Some(limits) if bytes > 0 => limits.reserve("items of a text", bytes).map(Some),
        _ => Ok(None),
    }
}
