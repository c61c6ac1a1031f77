//! Cutting the log where it is damaged.

use std::sync::Arc;

use bytes::Bytes;

use super::checkpoint::{self, Checkpoint};
use super::error::{Error, Result};
use super::record::{self, Decoded, FRAME_BYTES, Head, STAMP};
use super::recovery::{Apply, Covered, Record, missing_before, walk};
use super::segment::{self, HEADER_BYTES, RESERVED_BYTES};
use rowkey_model::files::{self, FileStore, paths};

/// Takes what a cut takes away: a file by its path, or where it stays, its content.
pub(super) type Keep<'a> = dyn FnMut(&str, Option<&[u8]>) -> files::Result<()> + Send + 'a;

/// Where the log cannot be read any further.
#[derive(Debug)]
pub(crate) struct Fault {
    /// First sequence number of the segment, and its path as the user would find it.
    segment: u64,
    pub path: String,
    pub offset: u64,
    pub reason: String,
    /// The record that belongs there.
    pub next: u64,
    /// The segment, if there is one that may hold the record.
    content: Option<Bytes>,
    /// Whether its header is wrong as well.
    wrong_header: bool,
}

/// A segment whose header or length is wrong, and whose records are all there.
#[derive(Debug)]
pub(crate) struct Mend {
    segment: u64,
    pub path: String,
    pub offset: u64,
    pub reason: String,
    content: Bytes,
    /// Where its records end.
    end: usize,
}

/// What is wrong with a log.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub mends: Vec<Mend>,
    /// Where it cannot be read any further.
    pub fault: Option<Fault>,
    /// Without a fault, the last record.
    pub last: u64,
}

/// Reads the log behind what a checkpoint covers until it cannot be read or applied any further.
/// Changes nothing.
pub(crate) async fn find_faults(store: &dyn FileStore, covered: Covered, apply: &mut Apply<'_>) -> Result<Faults> {
    let mut mends = Vec::new();
    let mut last = covered.from;
    let fault = find_fault(store, covered, apply, &mut mends, &mut last).await?;
    Ok(Faults { mends, fault, last })
}

async fn find_fault(
    store: &dyn FileStore,
    covered: Covered,
    apply: &mut Apply<'_>,
    mends: &mut Vec<Mend>,
    last: &mut u64,
) -> Result<Option<Fault>> {
    let from = covered.from;
    let firsts = segments(store).await?;
    let wanted = from.saturating_add(1);
    let start = match firsts.partition_point(|first| *first <= wanted) {
        0 if !firsts.is_empty() => return Err(missing_before(store, from, firsts.first().copied())),
        behind => behind.saturating_sub(1),
    };
    let mut expected = firsts.get(start).copied().unwrap_or(wanted);
    let mut records = 0;
    for (number, first) in firsts.iter().copied().enumerate().skip(start) {
        let fault = |offset: usize, reason: String, next: u64, content: Option<Bytes>| Fault {
            segment: first,
            path: segment::named(store, first),
            offset: offset as u64,
            reason,
            next,
            content,
            wrong_header: false,
        };
        if first != expected {
            let reason = format!("record {expected} belongs here, and the segment begins with record {first}");
            return Ok(Some(fault(0, reason, expected, None)));
        }
        let (content, wrong) = match segment::read(store, first).await {
            Ok(content) => (content, None),
            Err(Error::Corrupt { offset, reason, .. }) => {
                let content = segment::read_unchecked(store, first).await?;
                if content.len() <= HEADER_BYTES {
                    return Ok(Some(fault(offset as usize, reason, expected, None)));
                }
                (content, Some((offset, reason)))
            }
            Err(error) => return Err(error),
        };
        let wrong_header = wrong.is_some();
        let walked = match walk(store, first, content.clone(), from, apply, &mut records) {
            Ok(walked) => walked,
            Err(Error::Apply { offset, sequence, source, .. }) => {
                let reason = format!("record {sequence} cannot be applied: {source}");
                return Ok(Some(Fault { wrong_header, ..fault(offset as usize, reason, sequence, Some(content)) }));
            }
            Err(error) => return Err(error),
        };
        if let Some(bad) = walked.bad {
            let reason = wrong.map_or(bad.clone(), |(_, reason)| format!("{reason}; {bad}"));
            return Ok(Some(Fault { wrong_header, ..fault(walked.end, reason, walked.next, Some(content)) }));
        }
        expected = walked.next;
        *last = expected - 1;
        if let Some((offset, reason)) = wrong {
            // Zeros behind the records say that there were no more of them, and so does the segment
            // that follows.
            let follows = firsts.get(number + 1);
            let ends = match follows {
                Some(next) => *next == expected,
                None => content.len() >= walked.end + FRAME_BYTES,
            };
            if !ends {
                let reason = format!("{reason}; behind record {} there may have been more", expected - 1);
                return Ok(Some(Fault { wrong_header, ..fault(walked.end, reason, expected, Some(content)) }));
            }
            let path = segment::named(store, first);
            mends.push(Mend { segment: first, path, offset, reason, content: content.clone(), end: walked.end });
        }
        if let Some(reason) = covered.forbids_end(expected - 1).filter(|_| number + 1 == firsts.len()) {
            return Ok(Some(fault(walked.end, reason, expected, Some(content))));
        }
    }
    if firsts.is_empty() && from > 0 {
        let path = format!("{}/{}", store.location(), paths::LOG);
        let reason = format!("there is no segment, and record {wanted} must be in one");
        let (content, wrong_header) = (None, false);
        return Ok(Some(Fault { segment: wanted, path, offset: 0, reason, next: wanted, content, wrong_header }));
    }
    Ok(None)
}

impl Fault {
    /// Whether its segment is whole and has nothing there but zeros.
    fn is_end(&self, content: &Bytes) -> bool {
        !self.wrong_header && content[self.offset as usize..].iter().all(|byte| *byte == 0)
    }

    /// Hands out the records behind the fault that are intact, as far as they can be found.
    pub(crate) async fn records_behind(
        &self,
        store: &dyn FileStore,
        tell: &mut (dyn FnMut(Record) + Send),
    ) -> Result<()> {
        if let Some(content) = &self.content {
            intact_records(content, self.offset as usize, self.next, tell);
        }
        let is_behind = |first: &u64| *first > self.segment || (self.content.is_none() && *first == self.segment);
        for first in segments(store).await?.into_iter().filter(is_behind) {
            let content = segment::read_unchecked(store, first).await?;
            intact_records(&content, HEADER_BYTES, self.next, tell);
        }
        Ok(())
    }

    /// Ends the log before the fault. `keep` gets what is taken away: whole segments by their
    /// paths, and of the segment with the fault its content. Records up to `known`, which a
    /// checkpoint knows of, are made up by ones without content.
    pub(crate) async fn cut(
        &self,
        store: &Arc<dyn FileStore>,
        known: u64,
        segment_bytes: u64,
        keep: &mut Keep<'_>,
    ) -> Result<()> {
        let mut behind: Vec<u64> = segments(store.as_ref()).await?;
        behind.retain(|first| *first > self.segment);
        // From the last one on: whenever this is interrupted, the fault is still there to be found.
        for first in behind.into_iter().rev() {
            keep(&paths::log_segment(first), None)?;
        }
        let path = paths::log_segment(self.segment);
        match &self.content {
            // It only ends too early: there is nothing behind that could be cut.
            Some(content) if self.offset > HEADER_BYTES as u64 && self.is_end(content) => {}
            Some(content) if self.offset > HEADER_BYTES as u64 => {
                keep(&path, Some(content))?;
                mend(store, self.segment, content, self.offset as usize)?;
            }
            _ => keep(&path, None)?,
        }
        let mut stamps = Vec::new();
        for sequence in self.next..=known {
            record::encode(&mut stamps, Head { sequence, durable: sequence - 1, kind: STAMP }, &[]);
        }
        let bytes = segment_bytes.max((HEADER_BYTES + stamps.len() + RESERVED_BYTES + FRAME_BYTES) as u64);
        segment::rewrite(store, self.next, &stamps, bytes)?;
        Ok(())
    }
}

impl Mend {
    /// Writes the segment anew. `keep` gets it as it was.
    pub(crate) fn apply(&self, store: &Arc<dyn FileStore>, keep: &mut Keep<'_>) -> Result<()> {
        keep(&paths::log_segment(self.segment), Some(&self.content))?;
        mend(store, self.segment, &self.content, self.end)
    }
}

/// Writes a segment anew with the records that end at a byte of it. It is not overwritten: after a
/// failed sync it might be read back right from memory, and be as damaged as before on the disk.
fn mend(store: &Arc<dyn FileStore>, first: u64, content: &Bytes, end: usize) -> Result<()> {
    let bytes = content.len().max(end + RESERVED_BYTES + FRAME_BYTES) as u64;
    segment::rewrite(store, first, &content[HEADER_BYTES..end], bytes)?;
    Ok(())
}

/// Where a repair begins.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// The newest checkpoint that is whole; none where the log is followed from its beginning.
    pub checkpoint: Option<Checkpoint>,
    /// Newer ones, which are damaged: the path in the data folder and the record of each, and what
    /// is wrong with it.
    pub damaged: Vec<(String, u64, Error)>,
}

/// The newest checkpoint that is whole, if the log leads on from there. Damage to the newest is an
/// error where it does not.
pub(crate) async fn find_start(store: &dyn FileStore) -> Result<Start> {
    let first = segments(store).await?.first().copied();
    let mut start = Start::default();
    let mut sequences = checkpoint::sequences(store).await?;
    while let Some(sequence) = sequences.pop() {
        match checkpoint::read(store, sequence).await {
            Ok(checkpoint) => {
                start.checkpoint = Some(checkpoint);
                break;
            }
            Err(error @ Error::Corrupt { .. }) => {
                start.damaged.push((paths::checkpoint(sequence), sequence, error));
            }
            Err(error) => return Err(error),
        }
    }
    let from = start.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
    let reaches = first.is_some_and(|first| first <= from + 1);
    match start.damaged.is_empty() || reaches {
        true => Ok(start),
        false => Err(start.damaged.swap_remove(0).2),
    }
}

async fn segments(store: &dyn FileStore) -> Result<Vec<u64>> {
    let entries = store.list(paths::LOG).await?;
    Ok(entries.iter().filter_map(|entry| paths::parse_log_segment(&entry.path)).collect())
}

/// Looks for whole records at every byte, with sequence numbers that ascend from `from` on.
fn intact_records(content: &Bytes, mut at: usize, from: u64, tell: &mut (dyn FnMut(Record) + Send)) {
    let mut least = from;
    while at + FRAME_BYTES <= content.len() {
        match record::decode(content, at) {
            Decoded::End => return,
            Decoded::Record { head, payload, bytes } if head.sequence >= least && head.durable < head.sequence => {
                if head.kind != STAMP {
                    tell(Record { sequence: head.sequence, kind: head.kind, payload });
                }
                least = head.sequence + 1;
                at += bytes;
            }
            // A record begins at most three bytes before the first that is not zero.
            Decoded::Bad { .. } if record::u32_at(content, at) == Some(0) => {
                at += content[at..].iter().take_while(|byte| **byte == 0).count() - 3;
            }
            Decoded::Record { .. } | Decoded::Bad { .. } => at += 1,
        }
    }
}
