use super::Format;

#[test]
fn formats_are_told_by_their_first_bytes() {
    let json = [&b"{\"value\":[]}"[..], b"[", b" \r\n\t[{", b"\xef\xbb\xbf{", b"", b"  "];
    for first in json {
        assert_eq!(Format::detect(first, "x"), Ok(Format::ServiceJson), "{first:?}");
    }
    assert_eq!(Format::detect(b"PAR1\x15\x04", "x"), Ok(Format::Parquet));
    let refused = [
        (&b"PartitionKey,RowKey\n"[..], "x.csv", "\"PartitionKey,RowKey"),
        (b"\x1f\x8b\x08", "x.json.gz", "compressed"),
        (b"PK\x03\x04", "x.zip", "compressed"),
        (b"\xff\xfe{\0", "x.json", "UTF-16"),
        (b"PARE", "x.parquet", "encrypted"),
        (b"{", "x.parquet", "not Parquet"),
        (b"\x00\x01", "x", "neither"),
    ];
    for (first, name, expected) in refused {
        let reason = Format::detect(first, name).unwrap_err();
        assert!(reason.contains(expected), "{name}: {reason}");
    }
}

#[test]
fn names_read_back() {
    for format in Format::ALL {
        assert_eq!(Format::parse(format.name()), Some(format));
    }
    assert_eq!(Format::parse("xml"), None);
}
