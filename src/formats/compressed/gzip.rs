//! Reading gzip (RFC 1952).

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::GZIP_MAGIC;

/// The text of a gzip stream, of all its members one behind the other. Checksums and lengths are verified.
pub(in crate::formats) struct GzipReader<R> {
    /// None only while a member ends.
    member: Option<GzDecoder<BufReader<R>>>,
    begun: bool,
    /// Whether the end of the stream was seen.
    ended: bool,
}

impl<R: Read> GzipReader<R> {
    pub(in crate::formats) fn new(reader: R) -> Self {
        Self { member: Some(GzDecoder::new(BufReader::new(reader))), begun: false, ended: false }
    }

    /// Goes to the next member; false at the end.
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(member) = self.member.take() else { return Ok(false) };
        let mut rest = member.into_inner();
        loop {
            let next = rest.fill_buf()?;
            // Tapes and some tools fill up with zeros behind the last member.
            let zeros = next.iter().take_while(|byte| **byte == 0).count();
            if next.is_empty() {
                return Ok(false);
            }
            if zeros < next.len() {
                if next[zeros] != GZIP_MAGIC[0] {
                    let what = "the gzip stream is damaged: what follows the first part is no gzip";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                rest.consume(zeros);
                self.member = Some(GzDecoder::new(rest));
                return Ok(true);
            }
            rest.consume(zeros);
        }
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.ended {
            return Ok(0);
        }
        if !self.begun {
            self.begun = true;
            if let Some(member) = &mut self.member
                && member.get_mut().fill_buf()?.is_empty()
            {
                self.ended = true;
                return Ok(0);
            }
        }
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            self.next_member()?;
        }
        self.ended = true;
        Ok(0)
    }
}
