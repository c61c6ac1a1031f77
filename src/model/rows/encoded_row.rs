//! A row outside of its batch.

use std::sync::Arc;

use super::arena::Rows;
use super::row_ref::RowRef;

/// One encoded entity. Those of one batch share its memory.
#[derive(Debug, Clone)]
pub struct EncodedRow {
    arena: Arc<[u8]>,
    header_at: usize,
}

impl EncodedRow {
    /// The row, borrowed.
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef::at(&self.arena, self.header_at)
    }

    /// Bytes of memory held, as if it were alone.
    pub fn memory_bytes(&self) -> usize {
        self.as_ref().encoded_bytes().len() + size_of::<Self>()
    }
}

impl From<RowRef<'_>> for EncodedRow {
    fn from(row: RowRef<'_>) -> Self {
        Self { arena: Arc::from(row.encoded_bytes()), header_at: row.header_at() }
    }
}

impl Rows {
    /// Copies of all rows, in their order.
    pub fn to_encoded(&self) -> impl Iterator<Item = EncodedRow> + '_ {
        let arena: Arc<[u8]> = Arc::from(self.arena.as_slice());
        self.index.iter().map(move |&header_at| EncodedRow { arena: Arc::clone(&arena), header_at })
    }
}
