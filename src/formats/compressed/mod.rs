//! What lies around an export: gzip, zstd, and text in UTF-16.
//!
//! All are detected by the first bytes, whatever the name says, and are read as streams in bounded
//! memory.

mod gzip;
mod utf16;

pub(super) use gzip::GzipReader;
pub(super) use utf16::{Utf16Reader, utf16_order};

/// The first two bytes of gzip.
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first four bytes of zstd (RFC 8878).
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

#[cfg(test)]
mod tests;
