//! Byte strings and uuids.

use bytes::BytesMut;

use crate::types::ByteaOutput;

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(in crate::types) fn write_bytea(value: &[u8], style: ByteaOutput, out: &mut BytesMut) {
    match style {
        ByteaOutput::Hex => {
            out.reserve(2 + 2 * value.len());
            out.extend_from_slice(b"\\x");
            for chunk in value.chunks(32) {
                let mut hex = [0; 64];
                for (pair, byte) in hex.chunks_exact_mut(2).zip(chunk) {
                    pair[0] = HEX[usize::from(byte >> 4)];
                    pair[1] = HEX[usize::from(byte & 15)];
                }
                out.extend_from_slice(&hex[..2 * chunk.len()]);
            }
        }
        ByteaOutput::Escape => {
            for &byte in value {
                match byte {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x20..=0x7e => out.extend_from_slice(&[byte]),
                    _ => out.extend_from_slice(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
                }
            }
        }
    }
}

pub(in crate::types) fn write_uuid(value: &[u8; 16], out: &mut BytesMut) {
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in value.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out.extend_from_slice(&text);
}
