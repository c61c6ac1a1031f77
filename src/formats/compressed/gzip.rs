//! Reading gzip (RFC 1952).

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::GZIP_MAGIC;

/// The text of a gzip stream, of all its members one behind the other. Checksums and lengths are
/// verified.
pub(crate) struct GzipReader<R> {
    /// Until it is read: a decoder reads ahead at once.
    packed: Option<BufReader<R>>,
    /// None before the first and behind the last.
    member: Option<GzDecoder<BufReader<R>>>,
}

impl<R: Read> GzipReader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { packed: Some(BufReader::new(reader)), member: None }
    }

    /// Goes to the member behind what was read; there is none at the end.
    fn next_member(&mut self, mut rest: BufReader<R>) -> io::Result<()> {
        loop {
            let next = rest.fill_buf()?;
            // Tapes and some tools fill up with zeros behind the last member.
            let zeros = next.iter().take_while(|byte| **byte == 0).count();
            if next.is_empty() {
                return Ok(());
            }
            if zeros < next.len() {
                if next[zeros] != GZIP_MAGIC[0] {
                    let what = "the gzip stream is damaged: what follows the first part is no gzip";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                rest.consume(zeros);
                self.member = Some(GzDecoder::new(rest));
                return Ok(());
            }
            rest.consume(zeros);
        }
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Some(packed) = self.packed.take() {
            self.next_member(packed)?;
        }
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            if let Some(member) = self.member.take() {
                self.next_member(member.into_inner())?;
            }
        }
        Ok(0)
    }
}
