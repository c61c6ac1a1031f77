//! Reading the log back, and mending what a crash has left at its end.

use std::sync::Arc;

use bytes::Bytes;

use super::checkpoint;
use super::error::{Error, Result};
use super::record::{self, Decoded, Head, STAMP};
use super::segment::{self, HEADER_BYTES, SegmentBytes};
use super::writer::{End, Segments, Writer};
use rowkey_model::files::{self, FileStore, paths};

/// A record read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub sequence: u64,
    pub kind: u8,
    pub payload: Bytes,
}

/// Where an unfinished write was found at the end of the log, or where one had its only trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// The segment, as the user would find it.
    pub path: String,
    pub offset: u64,
    /// Bytes up to the last one that is not zero.
    pub bytes: u64,
    /// What is wrong at `offset`.
    pub reason: String,
    /// Where a copy was kept when the tail was cut; none if it was only read.
    pub copy: Option<String>,
}

/// What replaying has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replayed {
    /// The last sequence number in the log, stamps included; 0 for an empty one.
    pub last_sequence: u64,
    /// Records handed out.
    pub records: u64,
    pub torn_tail: Option<TornTail>,
}

/// Takes one record in their order; its error ends the replay.
pub(super) type Apply<'a> = dyn FnMut(Record) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + 'a;

/// What the newest checkpoint says of the log; the default is that there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Covered {
    /// Records up to this one are in the checkpoint.
    pub from: u64,
    /// It knows of records up to this one, which were durable before it was made; not less.
    pub known: u64,
}

impl Covered {
    /// Of a checkpoint that knows of nothing behind what it covers.
    #[cfg(test)]
    pub(crate) fn up_to(from: u64) -> Self {
        Self { from, known: from }
    }

    /// Why a log must not end with this record; none if it may.
    pub(super) fn forbids_end(self, last: u64) -> Option<String> {
        let Self { from, known } = self;
        match last {
            last if last < from => Some(format!("it ends with record {last}, and a checkpoint covers record {from}")),
            last if last < known => {
                Some(format!("it ends with record {last}, and the checkpoint knows of record {known}"))
            }
            _ => None,
        }
    }
}

/// Reads all records that the newest checkpoint does not cover, changing nothing.
pub(crate) async fn replay(store: &dyn FileStore, covered: Covered, apply: &mut Apply<'_>) -> Result<Replayed> {
    Ok(scan(store, covered, apply).await?.replayed)
}

/// The last segment after a scan.
struct Last {
    first: u64,
    content: Bytes,
    /// Where its intact records end.
    end: usize,
    /// Where the records begin that no stamp attests.
    unattested: usize,
}

struct Scan {
    /// None if there is no log yet.
    last: Option<Last>,
    replayed: Replayed,
}

async fn scan(store: &dyn FileStore, covered: Covered, apply: &mut Apply<'_>) -> Result<Scan> {
    let Covered { from, known } = covered;
    let entries = store.list(paths::LOG).await?;
    let firsts: Vec<u64> = entries.iter().filter_map(|entry| paths::parse_log_segment(&entry.path)).collect();
    let mut replayed = Replayed { last_sequence: 0, records: 0, torn_tail: None };
    if firsts.is_empty() && known == 0 {
        return Ok(Scan { last: None, replayed });
    }
    // Segments wholly at or below the checkpoint are leftovers of an interrupted removal and need
    // not be whole.
    let wanted = from.saturating_add(1);
    let Some(start) = firsts.partition_point(|first| *first <= wanted).checked_sub(1) else {
        return Err(missing_before(store, from, firsts.first().copied()));
    };
    let mut last = None;
    let mut expected = firsts[start];
    for (number, first) in firsts.iter().copied().enumerate().skip(start) {
        if first > expected {
            let reason = format!("records {expected} to {} are missing before this segment", first - 1);
            return Err(Error::corrupt(segment::named(store, first), 0, reason));
        }
        if first < expected {
            let reason = format!("it begins with record {first}, and the segment before it ends with {}", expected - 1);
            return Err(Error::corrupt(segment::named(store, first), 0, reason));
        }
        let content = segment::read(store, first).await?;
        let walked = walk(store, first, content, from, apply, &mut replayed.records)?;
        if let Some(reason) = walked.bad {
            let path = segment::named(store, first);
            let offset = walked.end as u64;
            let attested = if let Some(next) = firsts.get(number + 1) {
                Some(format!("record {} must be there, because segment {next} follows", walked.next))
            } else if walked.next <= from {
                Some(format!("record {} must be there, because a checkpoint covers it", walked.next))
            } else if walked.next <= known {
                Some(format!("record {} must be there, because the checkpoint knows of it", walked.next))
            } else {
                let by = record::find_attesting(&walked.content, walked.end, walked.next);
                by.map(|at| format!("record {} was durable, as byte {at} says", walked.next))
            };
            if let Some(attested) = attested {
                return Err(Error::corrupt(path, offset, format!("{reason}; {attested}")));
            }
            let bytes = (written_end(&walked.content) - walked.end) as u64;
            replayed.torn_tail = Some(TornTail { path, offset, bytes, reason, copy: None });
        }
        expected = walked.next;
        last = Some(Last { first, content: walked.content, end: walked.end, unattested: walked.unattested });
    }
    if let (Some(last), Some(reason)) = (&last, covered.forbids_end(expected - 1)) {
        return Err(Error::corrupt(segment::named(store, last.first), last.end as u64, reason));
    }
    replayed.last_sequence = expected - 1;
    Ok(Scan { last, replayed })
}

pub(super) struct Walked {
    content: Bytes,
    pub(super) end: usize,
    unattested: usize,
    /// The sequence number that belongs at `end`.
    pub(super) next: u64,
    pub(super) bad: Option<String>,
}

/// Goes through the records of one segment up to its end or the first that is bad.
pub(super) fn walk(
    store: &dyn FileStore,
    first: u64,
    content: Bytes,
    from: u64,
    apply: &mut Apply<'_>,
    records: &mut u64,
) -> Result<Walked> {
    let mut walked = Walked { content, end: HEADER_BYTES, unattested: HEADER_BYTES, next: first, bad: None };
    loop {
        let (head, payload, bytes) = match record::decode(&walked.content, walked.end) {
            Decoded::Record { head, payload, bytes } => (head, payload, bytes),
            Decoded::End => return Ok(walked),
            Decoded::Bad { reason } => {
                walked.bad = Some(reason);
                return Ok(walked);
            }
        };
        let Head { sequence, durable, kind } = head;
        if sequence != walked.next || durable >= sequence {
            let stands =
                format!("record {sequence} (durable up to {durable}) stands where record {} belongs", walked.next);
            walked.bad = Some(stands);
            return Ok(walked);
        }
        if kind != STAMP && sequence > from {
            let applied = apply(Record { sequence, kind, payload });
            let path = || segment::named(store, first);
            applied.map_err(|source| Error::Apply { path: path(), offset: walked.end as u64, sequence, source })?;
            *records += 1;
        }
        if durable + 1 == sequence {
            walked.unattested = walked.end;
        }
        walked.end += bytes;
        walked.next += 1;
    }
}

/// No segment has the record behind the newest checkpoint, which is that of record `from`. Segments
/// go only when a checkpoint covers them, so where the log begins behind it, a newer checkpoint is
/// gone.
pub(super) fn missing_before(store: &dyn FileStore, from: u64, first: Option<u64>) -> Error {
    let log = format!("{}/{}", store.location(), paths::LOG);
    match first {
        Some(first) => {
            let path = format!("{}/{}", store.location(), paths::checkpoint(first - 1));
            Error::CheckpointMissing { path, log, first, newest: from }
        }
        None => Error::corrupt(log, 0, format!("there is no segment, and record {} must be in one", from + 1)),
    }
}

/// The end of what is not zero.
fn written_end(content: &[u8]) -> usize {
    content.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1)
}

/// Reads the log, mends its end, and makes all of it durable and attested. Everything is read and
/// verified before anything is written: an opening that is refused leaves the folder as it was.
pub(super) async fn recover(
    store: Arc<dyn FileStore>,
    segment_bytes: SegmentBytes,
    covered: Covered,
    apply: &mut Apply<'_>,
) -> Result<(Writer, Segments, Replayed)> {
    let Scan { last, mut replayed } = scan(store.as_ref(), covered, apply).await?;
    let entries = store.list(paths::LOG).await?;
    let freed = checkpoint::freed_up_to(store.as_ref()).await?;
    let next = replayed.last_sequence + 1;
    let (end, segments): (End, Vec<(u64, u64)>) = match last {
        None => {
            let file_bytes = segment_bytes.min;
            let file = segment::create(&store, next, file_bytes)?;
            let firsts = vec![(next, file_bytes)];
            let end = End { file, file_bytes, offset: HEADER_BYTES as u64, next, attested: true };
            (end, firsts)
        }
        Some(last) => {
            if let Some(torn) = &mut replayed.torn_tail {
                torn.copy = Some(keep_copy(store.as_ref(), &entries, &last)?);
            }
            let segment = |entry: &files::FileEntry| Some((paths::parse_log_segment(&entry.path)?, entry.bytes));
            (mend(&store, &last, next)?, entries.iter().filter_map(segment).collect())
        }
    };
    let segments = Segments::new(segments);
    if covered.from > 0 {
        // The checkpoint was found, but its name may not be durable; what it replaces must not go
        // before it is.
        store.sync_folder(paths::CHECKPOINT)?;
    }
    if let Some(sequence) = freed {
        segments.retire(store.as_ref(), sequence)?;
    }
    let mut writer = Writer::new(store, segments.clone(), segment_bytes, end);
    writer.stamp()?;
    Ok((writer, segments, replayed))
}

/// Makes everything before the end durable and everything behind it zero.
fn mend(store: &Arc<dyn FileStore>, last: &Last, next: u64) -> Result<End, files::Error> {
    let path = paths::log_segment(last.first);
    let (start, end, file_bytes) = (last.unattested, last.end, last.content.len() as u64);
    let file = if written_end(&last.content) > end {
        // Not overwritten: after a failed sync the zeros might be read back from memory, with the
        // tail still on the disk, and no further opening would find it.
        segment::rewrite(store, last.first, &last.content[HEADER_BYTES..end], file_bytes)?;
        store.open_for_write(&path)?
    } else {
        let mut file = store.open_for_write(&path)?;
        if end > start {
            // Written again rather than only synced: after a sync has failed, what is read back may
            // be in memory alone, and a further sync would not write it.
            file.write_at(start as u64, &last.content[start..end])?;
        }
        file.sync()?;
        store.sync_folder(paths::LOG)?;
        file
    };
    let ends_with_stamp = start < end && is_stamp(&last.content, start, end);
    let attested = end == HEADER_BYTES || ends_with_stamp;
    Ok(End { file, file_bytes, offset: end as u64, next, attested })
}

/// Whether a single record that is a stamp lies between.
fn is_stamp(content: &Bytes, start: usize, end: usize) -> bool {
    match record::decode(content, start) {
        Decoded::Record { head, bytes, .. } => head.kind == STAMP && start + bytes == end,
        Decoded::End | Decoded::Bad { .. } => false,
    }
}

fn keep_copy(store: &dyn FileStore, entries: &[files::FileEntry], last: &Last) -> Result<String> {
    let copies = entries.iter().filter_map(|entry| paths::parse_torn_tail(&entry.path));
    let number = copies.filter(|(first, _)| *first == last.first).map(|(_, copy)| copy + 1).max().unwrap_or(1);
    let path = paths::torn_tail(last.first, number);
    files::publish(store, &path, &last.content[last.end..written_end(&last.content)])?;
    Ok(format!("{}/{path}", store.location()))
}
