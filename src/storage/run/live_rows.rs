//! Which rows of a file are live, bit by bit.

use std::sync::{Arc, OnceLock};

use arrow::buffer::{BooleanBuffer, MutableBuffer};
use roaring::RoaringBitmap;

/// The bits of one mask, worked out when they are first asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LiveRows(Arc<OnceLock<(Arc<RoaringBitmap>, BooleanBuffer)>>);

impl LiveRows {
    /// A bit for each of a file's rows, set where the mask leaves the row live.
    pub(super) fn under(&self, mask: &Arc<RoaringBitmap>, rows: u64) -> BooleanBuffer {
        let (of, bits) = self.0.get_or_init(|| (Arc::clone(mask), bits(mask, rows)));
        // A description that was copied and given another mask.
        if Arc::ptr_eq(of, mask) { bits.clone() } else { self::bits(mask, rows) }
    }
}

/// It says nothing that the mask does not.
impl PartialEq for LiveRows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn bits(mask: &RoaringBitmap, rows: u64) -> BooleanBuffer {
    let mut bits = MutableBuffer::new_null(rows as usize);
    bits.as_slice_mut().fill(0xff);
    for masked in mask {
        if let Some(byte) = bits.as_slice_mut().get_mut(masked as usize / 8) {
            *byte &= !(1 << (masked % 8));
        }
    }
    BooleanBuffer::new(bits.into(), 0, rows as usize)
}
