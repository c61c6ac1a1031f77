//! Cutting a sorted stream of entities into files.
//!
//! Small partitions share a file, a large one has a file of its own, one larger than a file is
//! split by RowKey. The cutter holds the rows of the file to come, so it sees how large a partition
//! is before it decides where to cut.

use crate::manifest::RangeStart;
use rowkey_model::KeyRef;
use rowkey_model::rows::{RowRef, Rows};

/// Bytes of one batch of held rows: memory that never has to grow, which copies what is in it.
const BATCH_BYTES_MIN: usize = 64 << 10;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Bytes of a row, about.
const ROW_BYTES: usize = 128;

/// The rows of one file, and where its range partition begins.
#[derive(Debug)]
pub(crate) struct Cut {
    pub start: RangeStart,
    pub rows: Vec<Rows>,
}

/// Holds rows until it is clear that they make a file.
#[derive(Debug)]
pub(crate) struct Cutter {
    /// Encoded bytes at which a file is full.
    file_bytes: usize,
    held: Vec<Rows>,
    held_bytes: usize,
    held_rows: usize,
    /// Where the last held partition begins.
    partition_at: Position,
    /// The held rows begin inside a partition, whose first rows went into the file before.
    continues: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Position {
    rows: usize,
    bytes: usize,
}

impl Cutter {
    pub(crate) fn new(file_bytes: usize) -> Self {
        Self {
            file_bytes,
            held: Vec::new(),
            held_bytes: 0,
            held_rows: 0,
            partition_at: Position::default(),
            continues: false,
        }
    }

    /// The first rows may go on with a partition that began before them.
    pub(crate) fn continuing(mut self, continues: bool) -> Self {
        self.continues = continues;
        self
    }

    /// A partition of this many encoded bytes gets a file of its own.
    fn own_file_bytes(&self) -> usize {
        self.file_bytes / 4
    }

    /// Takes the next row; gives the files that are complete before it.
    pub(crate) fn push(&mut self, row: RowRef<'_>) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let same_partition = self.last().is_some_and(|last| last.partition_bytes() == row.partition_bytes());
        if !same_partition && self.held_rows > 0 {
            self.end_partition(&mut cuts);
        }
        if self.held_bytes >= self.file_bytes {
            if self.partition_at.rows > 0 && same_partition {
                // The partition goes on; what comes before it makes a file, and it has the next one
                // to itself.
                cuts.push(self.cut_before_partition());
            }
            if self.held_bytes >= self.file_bytes {
                cuts.push(self.cut_all());
                self.continues = same_partition;
            }
        }
        if !same_partition {
            self.partition_at = Position { rows: self.held_rows, bytes: self.held_bytes };
        }
        self.hold(row);
        cuts
    }

    /// The last files.
    pub(crate) fn finish(&mut self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        if self.held_rows > 0 {
            self.end_partition(&mut cuts);
        }
        if self.held_rows > 0 {
            cuts.push(self.cut_all());
        }
        self.continues = false;
        cuts
    }

    /// Drops what is held.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.file_bytes);
    }

    /// A large partition that ends is kept apart from both neighbours.
    fn end_partition(&mut self, cuts: &mut Vec<Cut>) {
        let partition_bytes = self.held_bytes - self.partition_at.bytes;
        let large = partition_bytes >= self.own_file_bytes();
        if large && self.partition_at.rows > 0 {
            cuts.push(self.cut_before_partition());
        }
        if large || (self.continues && self.partition_at.rows == 0) {
            cuts.push(self.cut_all());
            self.continues = false;
        }
    }

    fn last(&self) -> Option<RowRef<'_>> {
        self.held.last().and_then(Rows::last)
    }

    fn hold(&mut self, row: RowRef<'_>) {
        let bytes = row.entity_bytes();
        match self.held.last_mut() {
            Some(batch) if batch.bytes() + bytes <= batch.arena_bytes_max() => batch.push_without_origin(row),
            _ => {
                // As much as there is already: little is not given much memory.
                let batch_bytes = self.held_bytes.clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX).max(bytes);
                let mut batch = Rows::with_capacity(batch_bytes / ROW_BYTES, batch_bytes);
                batch.push_without_origin(row);
                self.held.push(batch);
            }
        }
        self.held_bytes += bytes;
        self.held_rows += 1;
    }

    fn cut_all(&mut self) -> Cut {
        let rows = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        self.held_rows = 0;
        self.partition_at = Position::default();
        Cut { start: start_of(&rows, self.continues), rows }
    }

    fn cut_before_partition(&mut self) -> Cut {
        let at = std::mem::take(&mut self.partition_at);
        let mut before = Vec::new();
        let mut behind = Vec::new();
        let mut position = 0;
        for batch in std::mem::take(&mut self.held) {
            let count = batch.len();
            if position + count <= at.rows {
                before.push(batch);
            } else if position >= at.rows {
                behind.push(batch);
            } else {
                let (mut head, mut tail) = (Rows::new(), Rows::new());
                for (i, row) in batch.iter().enumerate() {
                    if position + i < at.rows { head.push_ref(row) } else { tail.push_ref(row) }
                }
                before.push(head);
                behind.push(tail);
            }
            position += count;
        }
        self.held = behind;
        self.held_bytes -= at.bytes;
        self.held_rows -= at.rows;
        let cut = Cut { start: start_of(&before, self.continues), rows: before };
        self.continues = false;
        cut
    }
}

fn start_of(rows: &[Rows], continues: bool) -> RangeStart {
    match rows.first().and_then(Rows::first).map(|first| first.key()) {
        Some(KeyRef { partition, row }) if continues => RangeStart::Key(partition.to_owned(), row.to_owned()),
        Some(KeyRef { partition, .. }) => RangeStart::Partition(partition.to_owned()),
        None => RangeStart::Unbounded,
    }
}
