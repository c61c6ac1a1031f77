//! Writing records at the end of the log, one caller at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ahead::Ahead;
use super::record::{self, FRAME_BYTES, Head, STAMP};
use super::segment::{Blank, HEADER_BYTES, RESERVED_BYTES, SegmentBytes};
use rowkey_model::files::{FileStore, Result, WriteFile, paths};

/// First sequence numbers and lengths of the segments there are, oldest first; the last one is
/// being written.
#[derive(Debug, Clone, Default)]
pub(super) struct Segments(Arc<Mutex<Vec<(u64, u64)>>>);

impl Segments {
    pub(super) fn new(segments: Vec<(u64, u64)>) -> Self {
        Self(Arc::new(Mutex::new(segments)))
    }

    /// Adds the newest, which may replace an empty one that began with the same record.
    fn add(&self, first: u64, bytes: u64) {
        let mut segments = self.segments();
        if segments.last().is_some_and(|(last, _)| *last == first) {
            segments.pop();
        }
        segments.push((first, bytes));
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> u64 {
        self.segments().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes of those that hold nothing above `sequence`.
    pub(super) fn bytes_up_to(&self, sequence: u64) -> u64 {
        let segments = self.segments();
        let free = segments.windows(2).take_while(|pair| pair[1].0 <= sequence.saturating_add(1));
        free.map(|pair| pair[0].1).sum()
    }

    /// Removes the segments that hold nothing above `sequence`, oldest first, but never the one
    /// being written.
    pub(super) fn retire(&self, store: &dyn FileStore, sequence: u64) -> Result<usize> {
        let mut segments = self.segments();
        let mut removed = 0;
        while segments.get(1).is_some_and(|(next, _)| *next <= sequence.saturating_add(1)) {
            store.remove(&paths::log_segment(segments[0].0))?;
            segments.remove(0);
            removed += 1;
        }
        if removed > 0 {
            store.sync_folder(paths::LOG)?;
        }
        Ok(removed)
    }

    fn segments(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of the log. After an error it must not be used again: what the file holds is unknown.
#[derive(Debug)]
pub(super) struct Writer {
    store: Arc<dyn FileStore>,
    segments: Segments,
    segment_bytes: SegmentBytes,
    ahead: Option<Ahead>,
    file: Box<dyn WriteFile>,
    /// Length of the segment being written.
    file_bytes: u64,
    /// Where its next record goes.
    offset: u64,
    /// Sequence number of the next record; all before are written.
    next: u64,
    /// All up to this one are durable.
    synced: u64,
    /// Whether a stamp attests every record before it.
    attested: bool,
    /// Whether the next record begins a segment, be there room or not: a failed attempt to make one
    /// may have left its file.
    rolls: bool,
    buffer: Vec<u8>,
}

/// Where a writer begins.
#[derive(Debug)]
pub(super) struct End {
    pub file: Box<dyn WriteFile>,
    pub file_bytes: u64,
    pub offset: u64,
    pub next: u64,
    pub attested: bool,
}

impl Writer {
    pub(super) fn new(store: Arc<dyn FileStore>, segments: Segments, segment_bytes: SegmentBytes, end: End) -> Self {
        let End { file, file_bytes, offset, next, attested } = end;
        Self {
            store,
            segments,
            segment_bytes,
            ahead: None,
            file,
            file_bytes,
            offset,
            next,
            attested,
            rolls: false,
            buffer: Vec::new(),
            synced: next - 1,
        }
    }

    /// Sequence number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The last record that is durable.
    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// An error if the folder or the segment has been moved, removed or replaced: what is written
    /// would not be found again.
    pub(super) fn confirm_owned(&self) -> Result<()> {
        self.store.confirm_owned()?;
        self.file.confirm_name()
    }

    /// Makes all that is written durable.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.synced + 1 < self.next {
            self.file.sync()?;
            self.synced = self.next - 1;
        }
        Ok(())
    }

    /// How many of these payloads the current segment takes.
    pub(super) fn fitting(&self, payload_bytes: impl Iterator<Item = usize>) -> usize {
        if self.rolls {
            return 0;
        }
        let mut room = self.file_bytes.saturating_sub(self.offset + RESERVED_BYTES as u64);
        payload_bytes
            .take_while(|bytes| {
                let left = room.checked_sub((FRAME_BYTES + bytes) as u64);
                room = left.unwrap_or(room);
                left.is_some()
            })
            .count()
    }

    /// Goes on in a new segment that takes at least this payload. What there is has been synced
    /// before: the successor attests it. After an error it can be tried again.
    pub(super) fn roll(&mut self, payload_bytes: usize) -> Result<()> {
        self.rolls = true;
        // One that holds nothing may have been replaced by an attempt that failed.
        if self.offset > HEADER_BYTES as u64 {
            self.file.confirm_name()?;
        }
        self.store.confirm_owned()?;
        let needed = (HEADER_BYTES + FRAME_BYTES + payload_bytes + RESERVED_BYTES) as u64;
        let made = self.ahead.take_if(|ahead| ahead.is_over()).and_then(Ahead::take);
        let blank = match made.filter(|blank| blank.bytes() >= needed) {
            Some(blank) => blank,
            None => {
                let path = paths::log_segment(self.next);
                Blank::make(&self.store, &path, needed.max(self.segment_bytes.min))?
            }
        };
        let bytes = blank.bytes();
        self.file = blank.publish(self.next)?;
        self.segments.add(self.next, bytes);
        self.file_bytes = bytes;
        self.offset = HEADER_BYTES as u64;
        self.attested = true;
        self.rolls = false;
        Ok(())
    }

    /// Writes records that fit, with one write, and if asked for it syncs them and all before.
    pub(super) fn write<'a>(&mut self, records: impl Iterator<Item = (u8, &'a [u8])>, synced: bool) -> Result<()> {
        self.buffer.clear();
        let durable = self.synced;
        let mut sequence = self.next;
        for (kind, payload) in records {
            record::encode(&mut self.buffer, Head { sequence, durable, kind }, payload);
            self.attested = kind == STAMP;
            sequence += 1;
        }
        self.file.write_at(self.offset, &self.buffer)?;
        self.offset += self.buffer.len() as u64;
        self.next = sequence;
        if synced {
            self.sync()?;
        }
        // One large batch should not hold its memory for ever.
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }

    /// Has the next segment made once half of this one is written. Only while appending: what
    /// opening finds under a temporary name is removed.
    pub(super) fn begin_next(&mut self) {
        let bytes = self.file_bytes.saturating_mul(2).min(self.segment_bytes.max);
        if self.ahead.is_none() && self.offset > self.file_bytes / 2 && bytes > self.segment_bytes.min {
            self.ahead = Ahead::begin(&self.store, bytes);
        }
    }

    /// The next segment is not needed any more.
    pub(super) fn give_up_next(&mut self) {
        self.ahead = None;
    }

    /// Waits until the next segment is there, if it is being made.
    #[cfg(test)]
    pub(super) fn await_next(&self) {
        while self.ahead.as_ref().is_some_and(|ahead| !ahead.is_over()) {
            std::thread::yield_now();
        }
    }

    /// Attests all records written so far, unless that has been done.
    pub(super) fn stamp(&mut self) -> Result<()> {
        if self.attested {
            return Ok(());
        }
        self.sync()?;
        if self.rolls {
            return Ok(());
        }
        self.write(std::iter::once((STAMP, &[][..])), true)
    }
}
