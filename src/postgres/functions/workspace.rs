//! Memory that reading a text takes beside the text and the value: the items of an array or a
//! document, one by one. It is reserved before it is used, so that several statements at a time
//! take no more than there is.

use arrow::array::{ArrayRef, AsArray, LargeStringArray};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use memchr::{memchr_iter, memchr3_iter};

use super::frames::FrameLimits;
use super::kind::Kind;

/// An item takes so many bytes while the others are read.
const ITEM_BYTES: usize = 64;
/// Shorter texts are not counted.
const COUNTED_BYTES_MIN: usize = 64 << 10;

/// Reserves what it takes to read texts as values of a type; `None` where that is little.
///
/// # Errors
/// The statement's memory is used up.
pub(super) fn reserve_reading(
    limits: Option<&FrameLimits>,
    texts: &ArrayRef,
    kind: Kind,
) -> Result<Option<MemoryReservation>> {
    if !matches!(kind, Kind::Array | Kind::Jsonb) {
        return Ok(None);
    }
    // Literals and parameters are of the other form.
    let texts: Vec<&str> = match (texts.as_string_view_opt(), texts.as_string_opt::<i32>()) {
        (Some(texts), _) => counted(texts.iter()).collect(),
        (_, Some(texts)) => counted(texts.iter()).collect(),
        _ => return Ok(None),
    };
    let number_of = |byte| texts.iter().map(move |text| memchr_iter(byte, text.as_bytes()).count());
    let items = match kind {
        // All arrays are there together.
        Kind::Array => number_of(b',').sum(),
        // One by one, and no more than the members of objects.
        _ => number_of(b':').max().unwrap_or(0),
    };
    reserve_items(limits, items)
}

/// Reserves what the largest of some documents takes while it is taken apart.
///
/// # Errors
/// The statement's memory is used up.
pub(super) fn reserve_tree(
    limits: Option<&FrameLimits>,
    documents: &LargeStringArray,
) -> Result<Option<MemoryReservation>> {
    let parts = counted(documents.iter()).map(|text| memchr3_iter(b',', b'[', b'{', text.as_bytes()).count());
    reserve_items(limits, parts.max().unwrap_or(0))
}

fn reserve_items(limits: Option<&FrameLimits>, items: usize) -> Result<Option<MemoryReservation>> {
    match limits {
        Some(limits) if items > 0 => limits.reserve("items of a text", items.saturating_mul(ITEM_BYTES)).map(Some),
        _ => Ok(None),
    }
}

fn counted<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> impl Iterator<Item = &'a str> {
    texts.flatten().filter(|text| text.len() >= COUNTED_BYTES_MIN)
}
