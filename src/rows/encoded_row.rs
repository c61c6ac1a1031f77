//! A row outside of its batch.

use std::sync::Arc;

use super::arena::Rows;
use super::row_ref::{HEADER_BYTES, RowRef};

/// One encoded entity. Those of one batch share its memory.
#[derive(Debug, Clone)]
pub struct EncodedRow {
    arena: Arc<[u8]>,
    header_at: usize,
}

impl EncodedRow {
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef::at(&self.arena, self.header_at)
    }

    /// The key, without the rest of the row.
    pub fn encoded_key(&self) -> EncodedKey {
        let from = self.header_at + HEADER_BYTES;
        EncodedKey { arena: Arc::clone(&self.arena), from, to: from + self.as_ref().key_bytes().len() }
    }

    /// Bytes of memory held, as if it were alone.
    pub fn memory_bytes(&self) -> usize {
        self.as_ref().encoded_bytes().len() + size_of::<Self>()
    }
}

/// The key of an [`EncodedRow`], whose memory it shares.
#[derive(Debug, Clone)]
pub struct EncodedKey {
    arena: Arc<[u8]>,
    from: usize,
    to: usize,
}

impl EncodedKey {
    /// As bytes that compare like it.
    pub fn bytes(&self) -> &[u8] {
        &self.arena[self.from..self.to]
    }
}

impl Rows {
    /// Copies of all rows, in their order.
    pub fn to_encoded(&self) -> impl Iterator<Item = EncodedRow> + '_ {
        let arena: Arc<[u8]> = Arc::from(self.arena.as_slice());
        self.index.iter().map(move |&header_at| EncodedRow { arena: Arc::clone(&arena), header_at })
    }
}
