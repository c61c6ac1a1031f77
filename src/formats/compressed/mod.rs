//! What lies around an export: gzip, and text in UTF-16.
//!
//! Both are told by the first bytes, whatever the name says, and are read as streams in bounded memory.

mod deflate;
mod gzip;
mod huffman;
mod utf16;

pub(super) use gzip::GzipReader;
pub(super) use utf16::{Utf16Reader, utf16_order};

/// The first two bytes of gzip.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[cfg(test)]
mod tests;
