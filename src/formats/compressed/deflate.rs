//! Reading DEFLATE (RFC 1951).

use std::io::{self, ErrorKind, Read};

use super::huffman::{CODE_BITS_MAX, Code};

/// How far back a copy may reach.
const WINDOW_BYTES: usize = 32 << 10;
/// Text made at once, beside the window.
const PIECE_BYTES: usize = 64 << 10;
const INPUT_BYTES: usize = 64 << 10;

const LENGTH_BASES: [u16; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS: [u8; 29] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASES: [u16; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
];
const DISTANCE_BITS: [u8; 30] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
/// The order in which the lengths of the code of lengths are written.
const LENGTHS_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

pub(super) fn damaged(reason: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the compressed data are damaged: {reason}"))
}

fn incomplete() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the compressed data end early; they are incomplete")
}

/// Bits of a stream, from the least significant one of each byte on.
pub(super) struct Bits<R> {
    reader: R,
    input: Vec<u8>,
    at: usize,
    bits: u64,
    count: u32,
}

impl<R: Read> Bits<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, input: Vec::new(), at: 0, bits: 0, count: 0 }
    }

    /// Holds more than 48 bits, or all that are left.
    #[inline]
    fn fill(&mut self) -> io::Result<()> {
        while self.count <= 56 {
            if self.at == self.input.len() {
                self.input.clear();
                self.at = 0;
                self.reader.by_ref().take(INPUT_BYTES as u64).read_to_end(&mut self.input)?;
                if self.input.is_empty() {
                    return Ok(());
                }
            }
            self.bits |= u64::from(self.input[self.at]) << self.count;
            self.at += 1;
            self.count += 8;
        }
        Ok(())
    }

    fn drop_bits(&mut self, count: u32) {
        self.bits >>= count;
        self.count -= count;
    }

    /// The next bits, at most 32.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> io::Result<u32> {
        if self.count < count {
            self.fill()?;
            if self.count < count {
                return Err(incomplete());
            }
        }
        let taken = self.bits & ((1 << count) - 1);
        self.drop_bits(count);
        Ok(taken as u32)
    }

    pub(super) fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(8)? as u8)
    }

    /// Drops the rest of a byte that was begun.
    pub(super) fn align(&mut self) {
        self.drop_bits(self.count % 8);
    }

    /// True at the end of the input, at the beginning of a byte.
    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        self.fill()?;
        Ok(self.count == 0)
    }

    #[inline]
    fn symbol(&mut self, code: &Code) -> io::Result<u16> {
        if self.count < CODE_BITS_MAX {
            self.fill()?;
        }
        match code.look_up(self.bits) {
            Some((symbol, bits)) if bits <= self.count => {
                self.drop_bits(bits);
                Ok(symbol)
            }
            Some(_) => Err(incomplete()),
            None if self.count < CODE_BITS_MAX => Err(incomplete()),
            None => Err(damaged("a code that is none")),
        }
    }
}

/// What comes next.
enum Block {
    /// The head of a block.
    Head,
    Stored {
        bytes_left: usize,
    },
    Coded {
        literals: Code,
        distances: Code,
    },
    End,
}

/// One DEFLATE stream: gives its text in pieces.
pub(super) struct Deflate {
    block: Block,
    is_last: bool,
    /// The window, and behind it the piece being made.
    text: Vec<u8>,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self { block: Block::Head, is_last: false, text: Vec::with_capacity(WINDOW_BYTES + PIECE_BYTES + 512) }
    }

    /// The next piece of text; empty at the end.
    pub(super) fn next_piece<R: Read>(&mut self, bits: &mut Bits<R>) -> io::Result<&[u8]> {
        if self.text.len() > WINDOW_BYTES {
            self.text.drain(..self.text.len() - WINDOW_BYTES);
        }
        let from = self.text.len();
        while self.text.len() < from + PIECE_BYTES && !matches!(self.block, Block::End) {
            self.advance(bits, from + PIECE_BYTES)?;
        }
        Ok(&self.text[from..])
    }

    fn advance<R: Read>(&mut self, bits: &mut Bits<R>, until: usize) -> io::Result<()> {
        match &mut self.block {
            Block::End => {}
            Block::Head if self.is_last => self.block = Block::End,
            Block::Head => {
                self.is_last = bits.take(1)? == 1;
                self.block = match bits.take(2)? {
                    0 => stored(bits)?,
                    1 => fixed()?,
                    2 => dynamic(bits)?,
                    _ => return Err(damaged("a block of a kind that does not exist")),
                };
            }
            Block::Stored { bytes_left: 0 } => self.block = Block::Head,
            Block::Stored { bytes_left } => {
                self.text.push(bits.byte()?);
                *bytes_left -= 1;
            }
            Block::Coded { literals, distances } => {
                while self.text.len() < until {
                    let symbol = bits.symbol(literals)?;
                    match symbol {
                        0..256 => self.text.push(symbol as u8),
                        256 => {
                            self.block = Block::Head;
                            return Ok(());
                        }
                        _ => copy(&mut self.text, bits, usize::from(symbol) - 257, distances)?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Repeats a stretch of the text before.
fn copy<R: Read>(text: &mut Vec<u8>, bits: &mut Bits<R>, length_code: usize, distances: &Code) -> io::Result<()> {
    let (Some(&base), Some(&extra)) = (LENGTH_BASES.get(length_code), LENGTH_BITS.get(length_code)) else {
        return Err(damaged("a length that does not exist"));
    };
    let length = usize::from(base) + bits.take(u32::from(extra))? as usize;
    let code = usize::from(bits.symbol(distances)?);
    let (Some(&base), Some(&extra)) = (DISTANCE_BASES.get(code), DISTANCE_BITS.get(code)) else {
        return Err(damaged("a distance that does not exist"));
    };
    let distance = usize::from(base) + bits.take(u32::from(extra))? as usize;
    let Some(from) = text.len().checked_sub(distance) else {
        return Err(damaged("a copy from before the beginning"));
    };
    for at in from..from + length {
        // The copy may reach into what it writes.
        text.push(text[at]);
    }
    Ok(())
}

fn stored<R: Read>(bits: &mut Bits<R>) -> io::Result<Block> {
    bits.align();
    let (length, complement) = (bits.take(16)?, bits.take(16)?);
    if length != !complement & 0xffff {
        return Err(damaged("a length and its complement differ"));
    }
    Ok(Block::Stored { bytes_left: length as usize })
}

fn code(lengths: &[u8]) -> io::Result<Code> {
    Code::of_lengths(lengths).ok_or_else(|| damaged("more codes of a length than there are"))
}

fn fixed() -> io::Result<Block> {
    let mut lengths = [8u8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    Ok(Block::Coded { literals: code(&lengths)?, distances: code(&[5; 30])? })
}

fn dynamic<R: Read>(bits: &mut Bits<R>) -> io::Result<Block> {
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let written = bits.take(4)? as usize + 4;
    let mut lengths = [0u8; 19];
    for &at in &LENGTHS_ORDER[..written] {
        lengths[at] = bits.take(3)? as u8;
    }
    let lengths_code = code(&lengths)?;
    let mut lengths = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (length, times) = match bits.symbol(&lengths_code)? {
            16 => {
                let Some(&last) = lengths.last() else { return Err(damaged("a length repeats none")) };
                (last, bits.take(2)? + 3)
            }
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            length => (length as u8, 1),
        };
        lengths.extend(std::iter::repeat_n(length, times as usize));
    }
    if lengths.len() > literals + distances {
        return Err(damaged("lengths for more symbols than there are"));
    }
    let (literals, distances) = lengths.split_at(literals);
    Ok(Block::Coded { literals: code(literals)?, distances: code(distances)? })
}
