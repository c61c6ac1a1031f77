//! A stretch of a file, as an input of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads a stretch of a file that others read as well.
#[derive(Debug)]
pub(crate) struct Section {
    file: Arc<Mutex<File>>,
    /// Bytes of the file left to be read.
    bytes: Range<u64>,
}

impl Section {
    pub(super) fn new(file: Arc<Mutex<File>>, bytes: Range<u64>) -> Self {
        Self { file, bytes }
    }

    /// The byte of the file that is read next.
    pub(super) fn start(&self) -> u64 {
        self.bytes.start
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.end - self.bytes.start).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.bytes.start))?;
        let read = file.read(&mut buffer[..wanted])?;
        self.bytes.start += read as u64;
        Ok(read)
    }
}
