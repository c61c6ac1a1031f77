//! Merging sorted sequences of rows.

use std::cmp::Ordering;

use super::arena::{Rows, common_beginning, key_prefix};
use super::cursor_heap::CursorHeap;
use super::error::Result;
use super::row_ref::RowRef;
use super::spill::RunReader;

/// A k-way merge into batches of ascending keys. Sequences are given in the order of the input, so
/// that rows with one key stay in it.
#[derive(Debug)]
pub(super) struct Merge {
    cursors: Vec<Cursor>,
    /// The one with the least key, among equal ones the earliest, is next.
    heap: CursorHeap,
    batch: Rows,
    batch_bytes: usize,
}

impl Merge {
    pub(super) fn start(sequences: Vec<Sequence>, batch_bytes: usize) -> Result<Self> {
        // All keys lie between the first and the last of some sequence, so what those have in
        // common all keys have.
        let common_bytes = common_beginning(sequences.iter().flat_map(Sequence::bounds).flatten());
        let mut cursors = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            cursors.extend(Cursor::start(sequence, common_bytes)?);
        }
        let heap = CursorHeap::new(0..cursors.len(), |a, b| precedes(&cursors, a, b));
        Ok(Self { cursors, heap, batch: Rows::new(), batch_bytes })
    }

    /// The least key of all.
    pub(super) fn peek_key(&self) -> Option<&[u8]> {
        self.heap.top().map(|top| self.cursors[top].key_bytes())
    }

    pub(super) fn next_batch(&mut self) -> Result<Option<Rows>> {
        while let Some(top) = self.heap.top() {
            if self.top_block_is_next(top) {
                // Sorted stretches of the input pass without being copied.
                if !self.batch.is_empty() {
                    break;
                }
                let (block, more) = self.cursors[top].take_block()?;
                self.settle(more);
                return Ok(Some(block));
            }
            if !self.batch.is_empty() && self.batch.bytes() >= self.batch_bytes {
                break;
            }
            self.batch.push_ref(self.cursors[top].row());
            let more = self.cursors[top].advance()?;
            self.settle(more);
        }
        if self.batch.is_empty() {
            return Ok(None);
        }
        let memory = Rows::with_capacity(self.batch.len(), self.batch.bytes());
        Ok(Some(std::mem::replace(&mut self.batch, memory)))
    }

    /// True if the whole block under the top cursor lies before all other sequences.
    fn top_block_is_next(&self, top: usize) -> bool {
        let Some(last) = self.cursors[top].whole_block().and_then(Rows::last) else { return false };
        self.heap.below_top().iter().all(|&other| last.key_bytes() < self.cursors[other].key_bytes())
    }

    /// Restores the heap after the top cursor moved, or ended.
    fn settle(&mut self, more: bool) {
        let cursors = &self.cursors;
        self.heap.settle(!more, |a, b| precedes(cursors, a, b));
    }
}

fn precedes(cursors: &[Cursor], a: usize, b: usize) -> bool {
    let (first, second) = (&cursors[a], &cursors[b]);
    match first.prefix.cmp(&second.prefix) {
        Ordering::Less => true,
        Ordering::Greater => false,
        Ordering::Equal => (first.key_bytes(), a) < (second.key_bytes(), b),
    }
}

/// Rows behind one another in ascending order: chunks in memory, or a spilled run.
#[derive(Debug)]
pub(super) enum Sequence {
    Chunks(std::vec::IntoIter<Rows>),
    Run(RunReader),
}

impl Sequence {
    /// The first and the last key.
    fn bounds(&self) -> [Option<&[u8]>; 2] {
        match self {
            Sequence::Chunks(chunks) => {
                let mut filled = chunks.as_slice().iter().filter(|rows| !rows.is_empty());
                let first = filled.next();
                let last = filled.next_back().or(first);
                [first.and_then(Rows::first), last.and_then(Rows::last)].map(|row| row.map(|row| row.key_bytes()))
            }
            Sequence::Run(run) => run.bounds().map(Some),
        }
    }

    fn next_block(&mut self) -> Result<Option<Rows>> {
        match self {
            Sequence::Chunks(chunks) => Ok(chunks.next()),
            Sequence::Run(run) => run.next_block(),
        }
    }
}

/// A place in a sequence, always on a row.
#[derive(Debug)]
struct Cursor {
    sequence: Sequence,
    block: Rows,
    at: usize,
    /// How many bytes all keys of the merge begin with in common, and the eight bytes behind them
    /// in this row's key, which decide nearly all comparisons.
    common_bytes: usize,
    prefix: u64,
}

impl Cursor {
    /// On the first row; `None` if there is none.
    fn start(mut sequence: Sequence, common_bytes: usize) -> Result<Option<Cursor>> {
        let Some(block) = next_filled(&mut sequence)? else { return Ok(None) };
        let mut cursor = Cursor { sequence, block, at: 0, common_bytes, prefix: 0 };
        cursor.read_prefix();
        Ok(Some(cursor))
    }

    fn read_prefix(&mut self) {
        self.prefix = key_prefix(&self.key_bytes()[self.common_bytes..]);
    }

    fn row(&self) -> RowRef<'_> {
        self.block.get(self.at)
    }

    fn key_bytes(&self) -> &[u8] {
        self.row().key_bytes()
    }

    /// The block, if the cursor stands on its first row.
    fn whole_block(&self) -> Option<&Rows> {
        (self.at == 0).then_some(&self.block)
    }

    /// Moves to the next row; false at the end.
    fn advance(&mut self) -> Result<bool> {
        self.at += 1;
        if self.at < self.block.len() {
            self.read_prefix();
            return Ok(true);
        }
        self.next_block()
    }

    /// Hands out the block and moves to the next one; `None` beside it at the end.
    fn take_block(&mut self) -> Result<(Rows, bool)> {
        let block = std::mem::take(&mut self.block);
        Ok((block, self.next_block()?))
    }

    fn next_block(&mut self) -> Result<bool> {
        self.at = 0;
        let Some(block) = next_filled(&mut self.sequence)? else { return Ok(false) };
        self.block = block;
        self.read_prefix();
        Ok(true)
    }
}

fn next_filled(sequence: &mut Sequence) -> Result<Option<Rows>> {
    while let Some(block) = sequence.next_block()? {
        if !block.is_empty() {
            return Ok(Some(block));
        }
    }
    Ok(None)
}
