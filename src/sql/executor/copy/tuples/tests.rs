use super::*;
use rowkey_base::testing::Dice;

type Fields = Vec<Option<Vec<u8>>>;

/// A file as PostgreSQL writes it.
fn file(tuples: &[Fields], end: bool) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    for fields in tuples {
        bytes.extend((fields.len() as i16).to_be_bytes());
        for field in fields {
            bytes.extend(field.as_ref().map_or(-1, |field| field.len() as i32).to_be_bytes());
            bytes.extend(field.iter().flatten());
        }
    }
    if end {
        bytes.extend(END_OF_TUPLES);
    }
    bytes
}

fn read_in(bytes: &[u8], width: usize, mut piece: impl FnMut() -> usize) -> Result<Vec<Fields>> {
    let (mut tuples, mut read, mut at) = (Tuples::new(width), Vec::new(), 0);
    while at < bytes.len() {
        let to = bytes.len().min(at + piece());
        tuples.push(&bytes[at..to]);
        at = to;
        while tuples.next()? {
            read.push((0..width).map(|place| tuples.field(place).map(<[u8]>::to_vec)).collect());
            assert_eq!(tuples.count(), read.len() as u64);
        }
    }
    tuples.finish().map(|()| read)
}

/// The same however the bytes are cut.
fn read(bytes: &[u8], width: usize) -> std::result::Result<Vec<Fields>, String> {
    let read = |piece: usize| read_in(bytes, width, || piece).map_err(|error| error.to_string());
    let whole = read(bytes.len().max(1));
    for piece in [1, 2, 3, 7] {
        assert_eq!(read(piece), whole, "in pieces of {piece}");
    }
    whole
}

#[test]
fn tuples_come_back_and_need_no_end() {
    let tuples = vec![vec![Some(b"p".to_vec()), None], vec![Some(Vec::new()), Some(vec![0; 300])]];
    for end in [true, false] {
        assert_eq!(read(&file(&tuples, end), 2), Ok(tuples.clone()));
    }
    assert_eq!(read(&file(&[], true), 3), Ok(Vec::new()));
    let mut extended = HEADER.to_vec();
    extended[14] = 7;
    extended[18] = 5;
    extended.extend(b"12345");
    extended.extend(END_OF_TUPLES);
    assert_eq!(read(&extended, 1), Ok(Vec::new()), "flags that are not critical, and an extension");
}

#[test]
fn wrong_input_has_the_words_of_postgres() {
    let header = |at: usize, bytes: &[u8]| {
        let mut header = HEADER.to_vec();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        header
    };
    let after = |bytes: &[u8]| [&HEADER[..], bytes].concat();
    for (bytes, expected) in [
        (Vec::new(), "COPY file signature not recognized"),
        (HEADER[..10].to_vec(), "COPY file signature not recognized"),
        (b"a\tb\n".to_vec(), "COPY file signature not recognized"),
        (HEADER[..13].to_vec(), "invalid COPY file header (missing flags)"),
        (HEADER[..18].to_vec(), "invalid COPY file header (missing length)"),
        (header(11, &[0, 1]), "invalid COPY file header (WITH OIDS)"),
        (header(11, &[0, 2]), "unrecognized critical flags in COPY file header"),
        (header(11, &[0x80, 0]), "unrecognized critical flags in COPY file header"),
        (header(15, &[255]), "invalid COPY file header (missing length)"),
        (header(18, &[1]), "invalid COPY file header (wrong length)"),
        (after(&[0, 1]), "row field count is 1, expected 2"),
        (after(&[255, 254]), "row field count is -2, expected 2"),
        (after(&[0, 2]), "unexpected EOF in COPY data"),
        (after(&[0, 2, 0, 0, 0, 1]), "unexpected EOF in COPY data"),
        (after(&[0, 2, 0, 0, 0, 0, 0]), "unexpected EOF in COPY data"),
        (after(&[0, 2, 255, 255, 255, 254]), "invalid field size"),
        (after(&[255, 255, 0]), "received copy data after EOF marker"),
    ] {
        assert_eq!(read(&bytes, 2), Err(expected.to_owned()), "{bytes:?}");
    }
    assert_eq!(read(&after(&[0]), 2), Ok(Vec::new()), "half a number of fields is the end");
}

#[test]
fn a_field_that_is_too_long_is_refused_before_it_comes() {
    let mut tuples = Tuples::new(2);
    tuples.push(&HEADER);
    tuples.push(&[0, 2, 0x7f, 0xff, 0xff, 0xff]);
    let error = tuples.next().unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    assert_eq!(tuples.at(), At::Field(0));
}

/// Bytes that were changed, cut off or put in anywhere, cut into messages anywhere: an error, or
/// whole tuples, and the same however they are cut.
#[test]
fn damaged_input_is_an_error_or_rows() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..4000 {
        let mut dice = Dice(seed);
        let width = 1 + dice.below(3);
        let field = |dice: &mut Dice| (!dice.chance(4)).then(|| vec![dice.below(256) as u8; dice.below(12)]);
        let tuples: Vec<Fields> = (0..dice.below(5)).map(|_| (0..width).map(|_| field(&mut dice)).collect()).collect();
        let mut bytes = file(&tuples, dice.chance(2));
        for _ in 0..dice.below(3) {
            let at = dice.below(bytes.len());
            match dice.below(4) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, dice.below(256) as u8),
                _ => drop(bytes.remove(at)),
            }
        }
        let whole = read_in(&bytes, width, || bytes.len().max(1)).map_err(|error| error.to_string());
        let pieces = read_in(&bytes, width, || 1 + dice.below(9)).map_err(|error| error.to_string());
        assert_eq!(whole, pieces, "seed {seed}");
        match whole {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > 500 && bad > 500, "{good} {bad}");
}
