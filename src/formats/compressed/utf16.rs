//! Text in UTF-16, as PowerShell and spreadsheets write it.

use std::io::{self, ErrorKind, Read};

const INPUT_BYTES: usize = 64 << 10;

/// The order of bytes in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Detects UTF-16 by the first bytes: by its byte order mark, or by the zeros beside two letters.
pub(crate) fn utf16_order(first: &[u8]) -> Option<ByteOrder> {
    match first {
        // UTF-32.
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => None,
        [0xff, 0xfe, ..] => Some(ByteOrder::Little),
        [0xfe, 0xff, ..] => Some(ByteOrder::Big),
        [letter, 0, other, 0, ..] if is_letter(*letter) && is_letter(*other) => Some(ByteOrder::Little),
        [0, letter, 0, other, ..] if is_letter(*letter) && is_letter(*other) => Some(ByteOrder::Big),
        _ => None,
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii() && byte != 0
}

/// UTF-16 as UTF-8. A lone surrogate, or half a unit at the end, is an error.
pub(crate) struct Utf16Reader<R> {
    reader: R,
    order: ByteOrder,
    input: Vec<u8>,
    text: Vec<u8>,
    at: usize,
    units_read: u64,
}

impl<R: Read> Utf16Reader<R> {
    pub(crate) fn new(reader: R, order: ByteOrder) -> Self {
        Self { reader, order, input: Vec::new(), text: Vec::new(), at: 0, units_read: 0 }
    }

    /// Reads the next piece; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.at = 0;
        let read = self.reader.by_ref().take(INPUT_BYTES as u64).read_to_end(&mut self.input)?;
        if self.input.is_empty() {
            return Ok(false);
        }
        let (units, rest) = self.input.as_chunks::<2>();
        let unit = |unit: &[u8; 2]| match self.order {
            ByteOrder::Little => u16::from_le_bytes(*unit),
            ByteOrder::Big => u16::from_be_bytes(*unit),
        };
        // A pair of surrogates is not cut.
        let cut = units.last().is_some_and(|last| (0xd800..0xdc00).contains(&unit(last)));
        let whole = if cut { &units[..units.len() - 1] } else { units };
        if read == 0 && (cut || !rest.is_empty()) {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the UTF-16 text ends within a character"));
        }
        let mut character = [0; 4];
        for decoded in char::decode_utf16(whole.iter().map(unit)) {
            let Ok(decoded) = decoded else {
                let reason = format!(
                    "the UTF-16 text has a lone surrogate before unit {}",
                    self.units_read + whole.len() as u64
                );
                return Err(io::Error::new(ErrorKind::InvalidData, reason));
            };
            self.text.extend_from_slice(decoded.encode_utf8(&mut character).as_bytes());
        }
        self.units_read += whole.len() as u64;
        let used = 2 * whole.len();
        self.input.drain(..used);
        Ok(true)
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            if buffer.is_empty() || !self.advance()? {
                return Ok(0);
            }
        }
        let bytes = buffer.len().min(self.text.len() - self.at);
        buffer[..bytes].copy_from_slice(&self.text[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}
