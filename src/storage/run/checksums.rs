//! Checksums of a run file, block by block, so that what is read is verified and nothing else has
//! to be.
//!
//! Parquet pages could carry checksums, but the writer in use writes none, and a flipped bit would
//! otherwise be decoded into another value, or into a panic of the decoder.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};
use rowkey_model::files::ReadFile;

/// Bytes that share a checksum: a point read verifies one block of each column, a scan all of them,
/// each once.
pub(super) const CHECKSUM_BLOCK_BYTES: u64 = 64 * 1024;

/// CRC32C of every block of a file; the last block may be shorter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checksums(Vec<u32>);

impl Checksums {
    /// Enters the next bytes of a file of which `position` bytes came before.
    pub(super) fn append(&mut self, mut position: u64, mut content: &[u8]) {
        while !content.is_empty() {
            let into_block = position % CHECKSUM_BLOCK_BYTES;
            let take = content.len().min((CHECKSUM_BLOCK_BYTES - into_block) as usize);
            let (head, rest) = content.split_at(take);
            match self.0.last_mut() {
                Some(last) if into_block > 0 => *last = crc32c::crc32c_append(*last, head),
                _ => self.0.push(crc32c::crc32c(head)),
            }
            position += take as u64;
            content = rest;
        }
    }
}

/// In the manifest: Base64 of the little-endian numbers.
impl Serialize for Checksums {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|crc| crc.to_le_bytes()).collect();
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Checksums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let bytes = STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(D::Error::custom("checksums are numbers of four bytes"));
        }
        Ok(Self(numbers.iter().map(|number| u32::from_le_bytes(*number)).collect()))
    }
}

/// A file whose bytes are handed out only after their block was found as it was written. Each block
/// is verified once.
#[derive(Debug)]
pub(super) struct VerifiedFile {
    path: String,
    file: Arc<dyn ReadFile>,
    checksums: Checksums,
    verified: Vec<AtomicBool>,
}

impl VerifiedFile {
    pub(super) fn new(path: &str, file: Arc<dyn ReadFile>, checksums: Checksums) -> Result<Self> {
        let blocks = file.bytes().div_ceil(CHECKSUM_BLOCK_BYTES) as usize;
        if checksums.0.len() != blocks {
            return Err(Error::corrupt(path, format!("it has {blocks} blocks, the manifest {}", checksums.0.len())));
        }
        let verified = (0..blocks).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { path: path.to_owned(), file, checksums, verified })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Reads exactly `range`.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let blocks = (range.start / CHECKSUM_BLOCK_BYTES) as usize..range.end.div_ceil(CHECKSUM_BLOCK_BYTES) as usize;
        let known =
            self.verified.get(blocks.clone()).is_some_and(|blocks| blocks.iter().all(|b| b.load(Ordering::Relaxed)));
        if known || range.is_empty() {
            return Ok(self.file.read(range).await?);
        }
        let whole =
            blocks.start as u64 * CHECKSUM_BLOCK_BYTES..self.bytes().min(blocks.end as u64 * CHECKSUM_BLOCK_BYTES);
        if range.end > whole.end {
            return Err(Error::corrupt(&self.path, format!("bytes {}..{} lie behind its end", range.start, range.end)));
        }
        let content = self.file.read(whole.clone()).await?;
        for (block, bytes) in blocks.zip(content.chunks(CHECKSUM_BLOCK_BYTES as usize)) {
            let (Some(verified), Some(wanted)) = (self.verified.get(block), self.checksums.0.get(block)) else {
                continue;
            };
            if !verified.load(Ordering::Relaxed) {
                if crc32c::crc32c(bytes) != *wanted {
                    let from = block as u64 * CHECKSUM_BLOCK_BYTES;
                    let reason =
                        format!("bytes {from}..{} are not what was written (checksum)", from + bytes.len() as u64);
                    return Err(Error::corrupt(&self.path, reason));
                }
                verified.store(true, Ordering::Relaxed);
            }
        }
        Ok(content.slice((range.start - whole.start) as usize..(range.end - whole.start) as usize))
    }
}
