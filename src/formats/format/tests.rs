use super::Format;

#[test]
fn formats_are_told_by_their_first_bytes() {
    let json =
        [&b"{\"value\":[]}"[..], b"[", b" \r\n\t[{", b"\xef\xbb\xbf{", b"", b"  ", b"{\"filename\":\"a\",\"b\":1}"];
    for first in json {
        assert_eq!(Format::detect(first, "x"), Ok(Format::ServiceJson), "{first:?}");
    }
    assert_eq!(Format::detect(b"PAR1\x15\x04", "x"), Ok(Format::Parquet));
    let csv = [
        (&b"PartitionKey,RowKey\n"[..], "x"),
        (b"\xef\xbb\xbfPartitionKey;RowKey;Timestamp\r\n", "x"),
        (b"\"A\",\"A@type\",\"PartitionKey\",\"RowKey\"", "x.txt"),
        (b"RowKey\tPartitionKey\n1\t2", "x"),
        (b"A,A@type,B", "x.csv"),
        (b"", "x.csv"),
    ];
    for (first, name) in csv {
        assert_eq!(Format::detect(first, name), Ok(Format::TypedCsv), "{first:?} {name}");
    }
    let azurite = [
        (&b"{\"filename\":\"w/__azurite_db_table__.json\",\"collections\":[{"[..], "x"),
        (b"\n{ \"filename\" : \"renamed \\\" , \" , \"collections\" : [", "x.json"),
        (b"{\"collections\":[", "w/__azurite_db_table__.json"),
    ];
    for (first, name) in azurite {
        assert_eq!(Format::detect(first, name), Ok(Format::AzuriteDatabase), "{first:?} {name}");
    }
    let refused = [
        (&b"Name,Age\n"[..], "x", "\"Name,Age"),
        (b"\x1f\x8b\x08", "x.json.gz", "compressed"),
        (b"PK\x03\x04", "x.zip", "compressed"),
        (b"\xff\xfe{\0", "x.json", "UTF-16"),
        (b"\xfe\xff\0{", "x.json", "UTF-16"),
        (b"\xff\xfe\0\0{\0\0\0", "x.json", "UTF-32"),
        (b"P\0a\0r\0t\0", "x.csv", "UTF-16 without a byte order mark"),
        (b"\0P\0a\0r\0t", "x.csv", "UTF-16 without a byte order mark"),
        (b"PARE", "x.parquet", "encrypted"),
        (b"{", "x.parquet", "not Parquet"),
        (b"\x00\x01", "x", "neither"),
        (b"{\"filename\":\"w/__azurite_db_blob__.json\",\"collections\":[{", "x", "without tables"),
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
