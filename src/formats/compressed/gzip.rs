//! Reading gzip (RFC 1952).

use std::io::{self, Read};

use super::GZIP_MAGIC;
use super::deflate::{Bits, Deflate, damaged};

const FLAG_HEADER_CRC: u8 = 1 << 1;
const FLAG_EXTRA: u8 = 1 << 2;
const FLAG_NAME: u8 = 1 << 3;
const FLAG_COMMENT: u8 = 1 << 4;

/// The text of a gzip stream, of all its members one behind the other. Checksums and lengths are verified.
pub(in crate::formats) struct GzipReader<R> {
    bits: Bits<R>,
    member: Option<Member>,
    members_read: u64,
    piece: Vec<u8>,
    at: usize,
}

struct Member {
    deflate: Deflate,
    crc: u32,
    bytes: u32,
}

impl<R: Read> GzipReader<R> {
    pub(in crate::formats) fn new(reader: R) -> Self {
        Self { bits: Bits::new(reader), member: None, members_read: 0, piece: Vec::new(), at: 0 }
    }

    /// Makes the next piece; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.piece.clear();
        self.at = 0;
        loop {
            let Some(member) = &mut self.member else {
                if !self.begin_member()? {
                    return Ok(false);
                }
                continue;
            };
            let piece = member.deflate.next_piece(&mut self.bits)?;
            if !piece.is_empty() {
                member.crc = crc32(member.crc, piece);
                member.bytes = member.bytes.wrapping_add(piece.len() as u32);
                self.piece.extend_from_slice(piece);
                return Ok(true);
            }
            self.bits.align();
            if self.bits.take(32)? != member.crc {
                return Err(damaged("the checksum does not match"));
            }
            if self.bits.take(32)? != member.bytes {
                return Err(damaged("the length does not match"));
            }
            self.member = None;
            self.members_read += 1;
        }
    }

    fn begin_member(&mut self) -> io::Result<bool> {
        // Tapes and some tools fill up with zeros behind the last member.
        let first = loop {
            if self.bits.is_at_end()? {
                return Ok(false);
            }
            let byte = self.bits.byte()?;
            if byte != 0 || self.members_read == 0 {
                break byte;
            }
        };
        if [first, self.bits.byte()?] != GZIP_MAGIC {
            return Err(damaged("what follows the first part is no gzip"));
        }
        if self.bits.byte()? != 8 {
            return Err(damaged("a method of compression that does not exist"));
        }
        let flags = self.bits.byte()?;
        for _ in 0..6 {
            self.bits.byte()?;
        }
        if flags & FLAG_EXTRA != 0 {
            for _ in 0..self.bits.take(16)? {
                self.bits.byte()?;
            }
        }
        for flag in [FLAG_NAME, FLAG_COMMENT] {
            while flags & flag != 0 && self.bits.byte()? != 0 {}
        }
        if flags & FLAG_HEADER_CRC != 0 {
            self.bits.take(16)?;
        }
        self.member = Some(Member { deflate: Deflate::new(), crc: 0, bytes: 0 });
        Ok(true)
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() && (buffer.is_empty() || !self.advance()?) {
            return Ok(0);
        }
        let bytes = buffer.len().min(self.piece.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.piece[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

/// The checksum of gzip (CRC-32 of ISO 3309) of what had the checksum `crc` and these bytes behind it.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!crc, |crc, &byte| CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}
