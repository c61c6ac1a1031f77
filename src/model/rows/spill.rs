//! Sorted runs of rows in temporary files.
//!
//! A run is a sequence of blocks: length of the body, number of rows, CRC32C of number and body
//! (u32 each, little-endian), then the body: where each row's header begins in the arena (u32
//! each), and the arena.

use std::sync::Arc;

use futures::executor::block_on;

use super::arena::Rows;
use super::error::{Error, Result};
use crate::files::{FileStore, ReadFile, WriteFile};

const BLOCK_HEADER_BYTES: usize = 12;

/// A run being written.
#[derive(Debug)]
pub(super) struct RunWriter {
    file: Box<dyn WriteFile>,
    run: RunFile,
    block: Rows,
    block_bytes: usize,
    encoded: Vec<u8>,
}

impl RunWriter {
    pub(super) fn create(store: &Arc<dyn FileStore>, path: String, block_bytes: usize) -> Result<Self> {
        let file = store.create(&path)?;
        let run = RunFile {
            store: Arc::clone(store),
            path,
            bytes: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
            removed: false,
        };
        Ok(Self { file, run, block: Rows::new(), block_bytes, encoded: Vec::new() })
    }

    /// True if rows beginning with `key` can be appended, so that the run stays ascending.
    pub(super) fn accepts(&self, key: &[u8]) -> bool {
        self.run.last_key.as_slice() <= key
    }

    /// Appends rows in ascending order, none before those that are there.
    pub(super) fn push(&mut self, rows: &Rows) -> Result<()> {
        for row in rows.iter() {
            if self.block.bytes() >= self.block_bytes {
                self.flush()?;
            }
            self.block.push_ref(row);
        }
        if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
            if self.run.first_key.is_empty() {
                self.run.first_key.extend_from_slice(first.key_bytes());
            }
            self.run.last_key.clear();
            self.run.last_key.extend_from_slice(last.key_bytes());
        }
        Ok(())
    }

    /// Writes what is left; the file needs no sync, since a crash ends the import that it belongs
    /// to.
    pub(super) fn finish(mut self) -> Result<RunFile> {
        self.flush()?;
        Ok(self.run)
    }

    fn flush(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.encoded.clear();
        self.block.encode_block(&mut self.encoded);
        self.file.write_at(self.run.bytes, &self.encoded)?;
        self.run.bytes += self.encoded.len() as u64;
        self.block.clear();
        Ok(())
    }
}

/// A complete run; its file is removed when it is dropped.
#[derive(Debug)]
pub(super) struct RunFile {
    store: Arc<dyn FileStore>,
    path: String,
    bytes: u64,
    /// Keys as bytes have at least their separator, so that empty means none.
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    removed: bool,
}

impl RunFile {
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn read(self) -> Result<RunReader> {
        let file = block_on(self.store.open(&self.path))?;
        Ok(RunReader { file, run: self, at: 0 })
    }

    fn remove(&mut self) -> Result<()> {
        self.removed = true;
        Ok(self.store.remove(&self.path)?)
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        if !self.removed {
            // Sorting has failed and returns its own error; opening the store removes what is
            // left here.
            let _ = self.store.remove(&self.path);
        }
    }
}

/// A run being read, block by block.
#[derive(Debug)]
pub(super) struct RunReader {
    file: Arc<dyn ReadFile>,
    run: RunFile,
    at: u64,
}

impl RunReader {
    /// The first and the last key.
    pub(super) fn bounds(&self) -> [&[u8]; 2] {
        [&self.run.first_key, &self.run.last_key]
    }

    /// The next block; at the end of the run its file is removed.
    pub(super) fn next_block(&mut self) -> Result<Option<Rows>> {
        if self.at == self.run.bytes {
            if !self.run.removed {
                self.run.remove()?;
            }
            return Ok(None);
        }
        let offset = self.at;
        let corrupt = |reason| Error::Corrupt { path: self.run.path.clone(), offset, reason };
        let body_at = offset + BLOCK_HEADER_BYTES as u64;
        if body_at > self.run.bytes {
            return Err(corrupt("it ends inside a block"));
        }
        let header = block_on(self.file.read(offset..body_at))?;
        let word = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let end = body_at + u64::from(word(0));
        if end > self.run.bytes {
            return Err(corrupt("a block reaches beyond its end"));
        }
        let body = block_on(self.file.read(body_at..end))?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[4..8]), &body);
        if crc != word(8) {
            return Err(corrupt("the checksum of a block differs"));
        }
        self.at = end;
        Rows::decode_block(&body, word(4) as usize)
            .map(Some)
            .ok_or_else(|| corrupt("a block has no room for its index"))
    }
}

impl Rows {
    fn encode_block(&self, to: &mut Vec<u8>) {
        let body_bytes = self.index.len() * 4 + self.arena.len();
        to.extend_from_slice(&(body_bytes as u32).to_le_bytes());
        to.extend_from_slice(&(self.index.len() as u32).to_le_bytes());
        to.extend_from_slice(&[0; 4]);
        to.extend(self.index.iter().flat_map(|&at| (at as u32).to_le_bytes()));
        to.extend_from_slice(&self.arena);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&to[4..8]), &to[BLOCK_HEADER_BYTES..]);
        to[8..12].copy_from_slice(&crc.to_le_bytes());
    }

    /// The rows of a block whose checksum was right; they are ascending.
    fn decode_block(body: &[u8], rows: usize) -> Option<Rows> {
        let (index, arena) = body.split_at_checked(rows.checked_mul(4)?)?;
        let index = index.as_chunks::<4>().0.iter().map(|at| u32::from_le_bytes(*at) as usize).collect();
        Some(Rows::from_sorted(arena.to_vec(), index))
    }
}
