use std::io::{self, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::gzip::GzipReader;
use super::utf16::{ByteOrder, Utf16Reader, utf16_order};
use rowkey_model::rows::generated::Random;

// Made by Python's gzip module at levels 0 (stored), 1 and 9.
const STORED: &str = "H4sIAAAAAAAEAwEsAdP+eyJQYXJ0aXRpb25LZXkiOiJwMCIsIlJvd0tleSI6IjAiLCJOIjoyODg1NDUwMTh9CnsiUGFydGl0aW9uS2V5IjoicDEiLCJSb3dLZXkiOiIxIiwiTiI6MTM1NTIwODcyfQp7IlBhcnRpdGlvbktleSI6InAyIiwiUm93S2V5IjoiMiIsIk4iOjU0Nzc1NjU3NH0KeyJQYXJ0aXRpb25LZXkiOiJwMyIsIlJvd0tleSI6IjMiLCJOIjoyNTMyMjg0ODR9CnsiUGFydGl0aW9uS2V5IjoicDQiLCJSb3dLZXkiOiI0IiwiTiI6MTA2MzkzODc0OX0KeyJQYXJ0aXRpb25LZXkiOiJwNSIsIlJvd0tleSI6IjUiLCJOIjo5NjUyNzQ3MDV9CnsiUGFyXlcUuiwBAAA=";
const DYNAMIC: &str = "H4sIAAAAAAAEA23OMQoCQQyF4d5jpLaYSfImmb2CIOINLCy2cUUWRBbv7gQtBpzyLz7e2+h0eazzOi+3w/VFE90T7em8PL8VcaSJ3aFI2d+77Q/kHkQ0kAXg5MYjwD2IaABqhgLTEZAeRMQlCLOrD4H2ICIupSJV3LSOJtCLiCZqAZtawg98AF5XFLosAQAA";
const FIXED: &str = "H4sIAAAAAAACA0tMSqQ5BAAsL/RdZAAAAA==";

fn bytes(base64: &str) -> Vec<u8> {
    BASE64.decode(base64).unwrap()
}

fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // A bound, should a damaged stream ever unpack without end.
    GzipReader::new(packed).take(1 << 24).read_to_end(&mut text)?;
    Ok(text)
}

#[test]
fn every_kind_of_block_is_read() {
    let text = unpacked(&bytes(STORED)).unwrap();
    assert_eq!(text.len(), 300);
    assert!(text.starts_with(b"{\"PartitionKey\":\"p0\",\"RowKey\":\"0\",\"N\":288545018}\n"));
    assert_eq!(unpacked(&bytes(DYNAMIC)).unwrap(), text);
    assert_eq!(unpacked(&bytes(FIXED)).unwrap(), b"ab".repeat(50));
}

#[test]
fn members_one_behind_the_other_are_one_text() {
    let both = [bytes(FIXED), bytes(DYNAMIC), vec![0; 100]].concat();
    assert_eq!(unpacked(&both).unwrap().len(), 400);
    assert_eq!(unpacked(&[]).unwrap(), b"");
    let error = unpacked(&[bytes(FIXED), b"more".to_vec()].concat()).unwrap_err();
    assert!(error.to_string().contains("what follows"), "{error}");
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    for packed in [bytes(STORED), bytes(DYNAMIC), bytes(FIXED)] {
        let text = unpacked(&packed).unwrap();
        for end in 1..packed.len() {
            assert_eq!(unpacked(&packed[..end]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{end}");
        }
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut damaged = packed.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            if let Ok(other) = unpacked(&damaged) {
                // What the header says about the file, and bits that fill up a byte, may change
                // unnoticed.
                assert!(other == text, "seed {seed}: byte {at}");
            }
        }
    }
}

#[test]
fn utf_16_is_read_in_either_order() {
    let text = "PartitionKey,RowKey\r\nä,€\n\u{1f600},x\n".repeat(5000);
    for (order, mark) in [(ByteOrder::Little, true), (ByteOrder::Big, true), (ByteOrder::Little, false)] {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        let written: Vec<u8> = units
            .flat_map(|unit| match order {
                ByteOrder::Little => unit.to_le_bytes(),
                ByteOrder::Big => unit.to_be_bytes(),
            })
            .collect();
        assert_eq!(utf16_order(&written), Some(order));
        let mut read = String::new();
        Utf16Reader::new(&written[..], order).read_to_string(&mut read).unwrap();
        assert_eq!(read.strip_prefix('\u{feff}').unwrap_or(&read), text);

        let cut = Utf16Reader::new(&written[..written.len() - 1], order).read_to_string(&mut read).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }
    for first in [&b"Pa"[..], b"{\"a\"", b"", b"\xff\xfe\0\0a\0\0\0", b"\0\0"] {
        assert_eq!(utf16_order(first), None, "{first:?}");
    }
    let lone = Utf16Reader::new(&b"\x00\xdc"[..], ByteOrder::Little).read_to_string(&mut String::new()).unwrap_err();
    assert!(lone.to_string().contains("lone surrogate"), "{lone}");
}
