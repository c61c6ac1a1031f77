//! Which rows of a file are live, bit by bit.

use std::sync::{Arc, OnceLock};

use arrow::buffer::{BooleanBuffer, MutableBuffer};
use roaring::RoaringBitmap;

use super::run_file::RunFile;

/// The bits of one mask, worked out when they are first asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LiveRows(Arc<OnceLock<(Arc<RoaringBitmap>, BooleanBuffer)>>);

impl RunFile {
    /// A bit for each row of the file, set where the row is live; `None` if all are.
    pub fn live_bits(&self) -> Option<BooleanBuffer> {
        let mask = self.mask.as_ref()?;
        let (of, bits) = self.live.0.get_or_init(|| (Arc::clone(mask), bits(mask, self.rows)));
        // A description that was copied and given another mask.
        Some(if Arc::ptr_eq(of, mask) { bits.clone() } else { self::bits(mask, self.rows) })
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
