//! The log: records, durable when acknowledged, replayed in order when the data folder is opened.
//!
//! What a record means is the caller's business; here it is a kind and a payload. Records have
//! sequence numbers without gaps, from 1, and lie in segments, files that are filled with zeros
//! before use and named by their first record. Group commit ([`Log`]): one leader takes all appends
//! that wait, writes them with one write, syncs once, runs what each wanted done, in log order, and
//! answers. A segment is removed when the checkpoint before the newest covers all of it. Segments
//! are short at first and get longer with each; another thread makes the next one while the second
//! half of one is written.
//!
//! # After a failed write or sync
//!
//! The appends under way are answered [`Error::OutcomeUnknown`], all others [`Error::Poisoned`],
//! until the log is opened again. Nothing is retried: after a failed sync the operating system may
//! count as written what never was.
//!
//! # Torn tail or corruption
//!
//! A crash may leave a record half written; that one was never acknowledged, and is cut. A damaged
//! record that was durable must never be taken for that. What tells them apart: each record carries
//! a *stamp*, the highest sequence number known durable when it was written. Let record E be the
//! one that belongs where a bad one is found (its checksum, length or sequence number is wrong, or
//! there are bytes behind the end). It is **corruption** if E is attested as durable:
//!
//! - by an intact record anywhere behind it in the segment with a stamp of at least E, or
//! - by a following segment, which is created only when all before it is durable, or
//! - by a checkpoint that covers or knows of E.
//!
//! Then opening is refused with file and offset, and nothing is changed. Otherwise it is a **torn
//! tail**: a copy of it is kept (`.torn`), then the segment is replaced by one with zeros in its
//! place, durably, before anything is appended. A segment missing before another one, or below a
//! checkpoint, is corruption, and so is any damage to a segment's header or length, which were
//! durable before its first record was written. A log that begins behind the newest checkpoint has
//! lost a newer one.
//!
//! So that the last group of records is attested too, a record that is nothing but a stamp is
//! written when the log is closed and when it is opened after a crash. Every segment keeps room for
//! one.
//!
//! On opening, the records that no stamp attests are written again and synced before the first
//! append: they may have been read back from memory after a sync that failed. For the same reason
//! nothing in a segment is ever overwritten by anything else: were that sync to fail, the next
//! opening might read the new content from memory, and the one after a crash find the old.
//!
//! # Without a sync for every commit
//!
//! With [`Durability::Os`] records are answered when they are written, and synced on demand: with a
//! record that wants it, before a new segment, before a checkpoint, when the log is closed. The
//! stamp of a record then stays at what was really synced, so what a crash of the machine leaves of
//! the others is a torn tail, wherever in it the first damage lies: the records before it are kept,
//! in order and without a gap.
//!
//! # Limits of the rule
//!
//! - After a crash (no closing stamp), damage to the last acknowledged group is indistinguishable
//!   from a torn tail. The copy keeps what was there, and opening reports it ([`TornTail`]).
//! - The same if the closing stamp and the records just before it are damaged together; damage to
//!   the stamp alone cuts nothing but the stamp.
//! - The newest segments, removed whole, are missed only if a checkpoint knows of a record in them.
//! - A payload may contain bytes that look like a record with a fitting sequence number and stamp.
//!   Behind a torn record it makes opening refuse where it could have cut: the safe side.
//! - Segments whose records a checkpoint covers are not read.

mod ahead;
mod callers;
mod checkpoint;
mod commit;
mod error;
#[cfg(test)]
mod gather;
mod queue;
mod record;
mod recovery;
mod repair;
#[cfg(test)]
mod schedules;
mod segment;
mod threads;
mod writer;

pub(crate) use callers::Callers;
pub(crate) use checkpoint::{Checkpoint, newest_checkpoint};
pub use commit::Durability;
pub(crate) use commit::{Appended, Log};
pub use error::Error;
pub(crate) use record::PAYLOAD_BYTES_MAX;
pub(crate) use recovery::{Covered, Record, TornTail, replay};
pub(crate) use repair::{find_faults, find_start};
pub use segment::SegmentBytes;

#[cfg(test)]
mod tests;
