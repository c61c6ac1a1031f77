//! One record as bytes.
//!
//! ```text
//! bytes     u32   of the whole record; 0: nothing was written here or behind
//! sequence  u64
//! durable   u64   the highest sequence number known durable when this was written
//! kind      u8    0 for a stamp, which has no payload; otherwise the writer's business
//! payload
//! crc32c    u32   over all of the above
//! ```
//! All numbers are little-endian.

use bytes::Bytes;

/// Bytes of a record around its payload.
pub(super) const FRAME_BYTES: usize = PAYLOAD_AT + CRC_BYTES;
/// Longest payload, so that no length read back leads to an unbounded allocation.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 256 << 20;
/// The kind of a record that exists for its `durable` alone.
pub(super) const STAMP: u8 = 0;

const SEQUENCE_AT: usize = 4;
const DURABLE_AT: usize = 12;
const KIND_AT: usize = 20;
const PAYLOAD_AT: usize = 21;
const CRC_BYTES: usize = 4;

/// A record's fields before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub sequence: u64,
    pub durable: u64,
    pub kind: u8,
}

/// What lies at an offset of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A whole record of so many bytes.
    Record { head: Head, payload: Bytes, bytes: usize },
    /// Zeros up to the end.
    End,
    /// Neither.
    Bad { reason: String },
}

/// Appends a record to `buffer`; the payload is at most [`PAYLOAD_BYTES_MAX`].
pub(super) fn encode(buffer: &mut Vec<u8>, head: Head, payload: &[u8]) {
    let start = buffer.len();
    buffer.extend_from_slice(&((FRAME_BYTES + payload.len()) as u32).to_le_bytes());
    buffer.extend_from_slice(&head.sequence.to_le_bytes());
    buffer.extend_from_slice(&head.durable.to_le_bytes());
    buffer.push(head.kind);
    buffer.extend_from_slice(payload);
    let crc = crc32c::crc32c(&buffer[start..]);
    buffer.extend_from_slice(&crc.to_le_bytes());
}

/// Reads the record at `offset`, which is at most the length of `content`.
pub(super) fn decode(content: &Bytes, offset: usize) -> Decoded {
    let rest = &content[offset..];
    let bytes = u32_at(rest, 0).unwrap_or(0) as usize;
    if bytes == 0 {
        return match rest.iter().position(|byte| *byte != 0) {
            None => Decoded::End,
            Some(at) => Decoded::Bad { reason: format!("the log ends here, and yet byte {} is not zero", offset + at) },
        };
    }
    let Some((head, body)) = frame(rest) else {
        let reason =
            format!("a record of {bytes} bytes cannot be here, with {} bytes to the end of the file", rest.len());
        return Decoded::Bad { reason };
    };
    if !is_intact(rest, bytes) {
        return Decoded::Bad { reason: "the record does not match its checksum".to_owned() };
    }
    let payload = content.slice(offset + body.start..offset + body.end);
    Decoded::Record { head, payload, bytes }
}

/// Whether anywhere from `offset` on lies an intact record that attests `sequence` as durable; its
/// place, if so.
///
/// Every byte may be the start of a record: what lies before may have lost its length.
pub(super) fn find_attesting(content: &Bytes, offset: usize, sequence: u64) -> Option<usize> {
    let sequence_max = sequence.saturating_add(((content.len() - offset) / FRAME_BYTES) as u64);
    (offset..content.len()).find(|start| {
        let rest = &content[*start..];
        // The checksum last: a plausible head is rare, and a length in garbage may be long.
        frame(rest).is_some_and(|(head, body)| {
            head.durable >= sequence
                && head.durable < head.sequence
                && head.sequence <= sequence_max
                && is_intact(rest, body.end + CRC_BYTES)
        })
    })
}

/// The head and the place of the payload, if the length is a possible one.
fn frame(rest: &[u8]) -> Option<(Head, std::ops::Range<usize>)> {
    let bytes = u32_at(rest, 0)? as usize;
    if bytes < FRAME_BYTES || bytes > rest.len() || bytes > FRAME_BYTES + PAYLOAD_BYTES_MAX {
        return None;
    }
    let head =
        Head { sequence: u64_at(rest, SEQUENCE_AT)?, durable: u64_at(rest, DURABLE_AT)?, kind: *rest.get(KIND_AT)? };
    Some((head, PAYLOAD_AT..bytes - CRC_BYTES))
}

fn is_intact(rest: &[u8], bytes: usize) -> bool {
    let end = bytes - CRC_BYTES;
    u32_at(rest, end) == Some(crc32c::crc32c(&rest[..end]))
}

pub(super) fn u32_at(content: &[u8], offset: usize) -> Option<u32> {
    content.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

pub(super) fn u64_at(content: &[u8], offset: usize) -> Option<u64> {
    content.get(offset..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Head = Head { sequence: 7, durable: 5, kind: 3 };

    fn encoded(head: Head, payload: &[u8]) -> Vec<u8> {
        let mut buffer = Vec::new();
        encode(&mut buffer, head, payload);
        buffer
    }

    #[test]
    fn records_read_back() {
        for payload in [&b""[..], b"payload"] {
            let mut content = vec![9; 3];
            encode(&mut content, HEAD, payload);
            let bytes = content.len() - 3;
            assert_eq!(bytes, FRAME_BYTES + payload.len());
            content.extend([0; 50]);
            let content = Bytes::from(content);
            let payload = Bytes::copy_from_slice(payload);
            assert_eq!(decode(&content, 3), Decoded::Record { head: HEAD, payload, bytes });
            assert_eq!(decode(&content, 3 + bytes), Decoded::End);
            assert_eq!(decode(&content, content.len()), Decoded::End);
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let whole = encoded(HEAD, b"payload");
        for bit in 0..whole.len() * 8 {
            let mut content = whole.clone();
            content[bit / 8] ^= 1 << (bit % 8);
            let decoded = decode(&content.into(), 0);
            assert!(matches!(decoded, Decoded::Bad { .. }), "bit {bit}: {decoded:?}");
        }
        for bytes in 1..whole.len() {
            let mut content = whole[..bytes].to_vec();
            content.resize(whole.len() + 40, 0);
            let decoded = decode(&content.into(), 0);
            assert!(matches!(decoded, Decoded::Bad { .. }), "cut to {bytes}: {decoded:?}");
        }
    }

    #[test]
    fn a_later_record_attests_what_lies_before_it() {
        let mut content = vec![0xff; 40];
        encode(&mut content, Head { sequence: 9, durable: 7, kind: STAMP }, b"");
        content.resize(400, 0);
        let content = Bytes::from(content);
        assert_eq!(find_attesting(&content, 1, 7), Some(40));
        assert_eq!(find_attesting(&content, 1, 6), Some(40));
        assert_eq!(find_attesting(&content, 1, 8), None, "it attests up to 7 only");
        assert_eq!(find_attesting(&content, 41, 7), None);
    }

    #[test]
    fn impossible_stamps_attest_nothing() {
        for head in [Head { sequence: 9, durable: 9, kind: STAMP }, Head { sequence: 90, durable: 7, kind: STAMP }] {
            let mut content = encoded(head, b"");
            content.resize(100, 0);
            assert_eq!(find_attesting(&content.into(), 0, 7), None, "{head:?}");
        }
    }
}
