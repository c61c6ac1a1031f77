//! One file of the log.
//!
//! ```text
//! magic           8 bytes
//! version         u32
//! file's length   u64
//! first sequence  u64
//! crc32c          u32   over all of the above
//! records, then zeros up to the end of the file
//! ```
//! A segment is published durably, filled with zeros, before its first record is written: a record
//! then changes neither length nor allocation of the file, and whatever is found damaged in the
//! header was once right.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use super::error::{Error, Result};
use super::record::{FRAME_BYTES, u32_at, u64_at};
use rowkey_model::files::{self, FileStore, Publication, WriteFile, paths};

/// Where the first record lies.
pub(super) const HEADER_BYTES: usize = 32;
/// Kept free behind the records for a stamp.
pub(super) const RESERVED_BYTES: usize = FRAME_BYTES;

const MAGIC: &[u8; 8] = b"rowkeylg";
const VERSION: u32 = 1;
const VERSION_AT: usize = 8;
const LENGTH_AT: usize = 12;
const FIRST_AT: usize = 20;
const CRC_AT: usize = 28;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// How long segments are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentBytes {
    /// Of the first one. A record that needs more gets it.
    pub min: u64,
    /// Up to which each is twice as long as the one before.
    pub max: u64,
}

#[cfg(any(test, feature = "testing"))]
impl SegmentBytes {
    /// All have this length.
    pub fn each(bytes: u64) -> Self {
        Self { min: bytes, max: bytes }
    }
}

/// A segment of zeros, before its first record is known. Dropped unpublished, it removes its file.
#[derive(Debug)]
pub(super) struct Blank {
    store: Arc<dyn FileStore>,
    publication: Publication,
}

/// So much is synced at a time where others sync meanwhile: they wait for all that is on its way to
/// the disk.
const SYNC_BYTES: u64 = 2 << 20;

impl Blank {
    /// Writes one of so many bytes, under a temporary name beside this path.
    pub(super) fn make(store: &Arc<dyn FileStore>, path: &str, bytes: u64) -> Result<Self, files::Error> {
        let mut publication = Publication::start(Arc::clone(store), path)?;
        while publication.bytes() < bytes {
            append_zeros(&mut publication, bytes)?;
        }
        Ok(Self { store: Arc::clone(store), publication })
    }

    /// The same, synced piece by piece; none once it is given up.
    pub(super) fn make_synced(
        store: &Arc<dyn FileStore>,
        path: &str,
        bytes: u64,
        given_up: &AtomicBool,
    ) -> Result<Option<Self>, files::Error> {
        let mut publication = Publication::start(Arc::clone(store), path)?;
        while publication.bytes() < bytes {
            if given_up.load(Ordering::Relaxed) {
                return Ok(None);
            }
            append_zeros(&mut publication, bytes)?;
            if publication.bytes().is_multiple_of(SYNC_BYTES) || publication.bytes() == bytes {
                publication.sync()?;
            }
        }
        Ok(Some(Self { store: Arc::clone(store), publication }))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.publication.bytes()
    }

    /// Makes it the segment whose first record has this sequence number, durably, replacing an
    /// empty one of the same name, and opens it for its records.
    pub(super) fn publish(mut self, first_sequence: u64) -> Result<Box<dyn WriteFile>, files::Error> {
        let path = paths::log_segment(first_sequence);
        self.publication.overwrite(0, &header(first_sequence, self.publication.bytes()))?;
        self.publication.finish_as(&path)?;
        self.store.open_for_write(&path)
    }
}

/// Appends what is missing of so many bytes, or as much as is written at a time.
fn append_zeros(publication: &mut Publication, bytes: u64) -> Result<(), files::Error> {
    let rest = usize::try_from(bytes.saturating_sub(publication.bytes())).unwrap_or(usize::MAX);
    publication.append(&ZEROS[..rest.min(ZEROS.len())])
}

/// Creates a segment of so many bytes, durably, replacing an empty one of the same name, and opens
/// it for its records.
pub(super) fn create(
    store: &Arc<dyn FileStore>,
    first_sequence: u64,
    bytes: u64,
) -> Result<Box<dyn WriteFile>, files::Error> {
    Blank::make(store, &paths::log_segment(first_sequence), bytes)?.publish(first_sequence)
}

fn header(first_sequence: u64, bytes: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&bytes.to_le_bytes());
    header.extend_from_slice(&first_sequence.to_le_bytes());
    let crc = crc32c::crc32c(&header);
    header.extend_from_slice(&crc.to_le_bytes());
    header
}

/// Makes a segment, with a right header, of so many bytes and with these records; an old one is
/// replaced when all of it is on disk.
pub(super) fn rewrite(
    store: &Arc<dyn FileStore>,
    first_sequence: u64,
    records: &[u8],
    bytes: u64,
) -> Result<(), files::Error> {
    let mut publication = Publication::start(Arc::clone(store), &paths::log_segment(first_sequence))?;
    publication.append(&header(first_sequence, bytes))?;
    publication.append(records)?;
    while publication.bytes() < bytes {
        append_zeros(&mut publication, bytes)?;
    }
    publication.finish()
}

/// Reads a segment whole, whatever its header says.
pub(super) async fn read_unchecked(store: &dyn FileStore, first_sequence: u64) -> Result<Bytes> {
    let file = store.open(&paths::log_segment(first_sequence)).await?;
    Ok(file.read(0..file.bytes()).await?)
}

/// Reads a segment whole and checks its header against its name and length.
pub(super) async fn read(store: &dyn FileStore, first_sequence: u64) -> Result<Bytes> {
    let path = paths::log_segment(first_sequence);
    let file = store.open(&path).await?;
    let named = named(store, first_sequence);
    let header = file.read(0..file.bytes().min(HEADER_BYTES as u64)).await?;
    check_header(&header, first_sequence, file.bytes())
        .map_err(|(offset, reason)| Error::corrupt(named, offset, reason))?;
    Ok(file.read(0..file.bytes()).await?)
}

fn check_header(header: &[u8], first_sequence: u64, bytes: u64) -> Result<(), (u64, String)> {
    if header.len() < HEADER_BYTES {
        return Err((header.len() as u64, "the file ends within its header".to_owned()));
    }
    if !header.starts_with(MAGIC) {
        return Err((0, "the file does not begin as a log segment does".to_owned()));
    }
    if u32_at(header, CRC_AT) != Some(crc32c::crc32c(&header[..CRC_AT])) {
        return Err((0, "the header does not match its checksum".to_owned()));
    }
    let version = u32_at(header, VERSION_AT).unwrap_or(0);
    if version != VERSION {
        let reason = format!("its format has version {version}, and this program reads version {VERSION}");
        return Err((VERSION_AT as u64, reason));
    }
    let first = u64_at(header, FIRST_AT).unwrap_or(0);
    if first != first_sequence {
        return Err((FIRST_AT as u64, format!("it begins with record {first}, and not with the one in its name")));
    }
    let length = u64_at(header, LENGTH_AT).unwrap_or(0);
    if length != bytes {
        return Err((length.min(bytes), format!("the file has {bytes} bytes, and was made with {length}")));
    }
    Ok(())
}

/// A segment's path as the user would find it.
pub(super) fn named(store: &dyn FileStore, first_sequence: u64) -> String {
    format!("{}/{}", store.location(), paths::log_segment(first_sequence))
}
