use std::io::{self, Read};
use std::sync::Arc;

use super::batch::BatchDecoder;
use super::framer::Framer;
use super::{ObjectDecoder, PageKey};
use crate::assumed::Typing;
use crate::entity_json::{EntityJsonError, RowDecoder};
use crate::notes::Notes;
use crate::reading::Reading;
use crate::{DecodeOptions, Place, Progress};
use rowkey_model::rows::{PropertyNames, Rows};

/// Hands out at most `piece` bytes at a time.
pub(crate) struct Pieces {
    bytes: io::Cursor<Vec<u8>>,
    piece: usize,
}

impl Pieces {
    pub(crate) fn of(text: &[u8], piece: usize) -> Self {
        Self { bytes: io::Cursor::new(text.to_vec()), piece }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.piece.min(buffer.len());
        self.bytes.read(&mut buffer[..piece])
    }
}

/// A reader that reads nothing.
pub(crate) struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the cable is out"))
    }
}

struct Entities(RowDecoder);

impl ObjectDecoder for Entities {
    fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), EntityJsonError> {
        self.0.decode(text, rows).map(|_| ())
    }

    fn typing(&self) -> Typing {
        Typing::Exact
    }
}

#[test]
fn an_object_that_is_too_long_is_rejected_without_being_held() {
    let e = |n: u32, more: usize| format!(r#"{{"PartitionKey":"p","RowKey":"{n}","V":"}}{}"}}"#, "{".repeat(more));
    let pad = "x".repeat(70_000);
    let first = format!(r#"{{"PartitionKey":"p","RowKey":"0","odata.x":"{pad}"}}"#);
    for (open, separator, close, lines) in [
        ("", "\n", "\n", [2, 4]),
        ("[", ",\n", "]", [2, 4]),
        ("", " ", "", [1, 1]),
        ("{\"value\":[\n", ",\n", "]}", [3, 5]),
    ] {
        let text =
            open.to_owned() + &[first.clone(), e(1, 100_000), e(2, 5), e(3, 300_000), e(4, 5)].join(separator) + close;
        for piece in [100, usize::MAX] {
            let names = Arc::new(PropertyNames::new());
            let reader = Pieces::of(text.as_bytes(), piece);
            let page = PageKey::Value;
            let mut framer =
                Framer::new("x".into(), Box::new(reader), Place::Line(1), page, Arc::default(), 4000, 80_000);
            let (options, progress, notes) = (DecodeOptions::default(), Progress::new(), Notes::new("x".into()));
            let reading = Reading {
                names: &names,
                options: &options,
                progress: &progress,
                notes: &notes,
                types: Default::default(),
            };
            let entities = RowDecoder::for_exports(&names, Default::default());
            let mut decoder = BatchDecoder::new("x".into(), Box::new(Entities(entities)), &reading);
            let (mut rows, mut places) = (Vec::new(), Vec::new());
            while let Some(batch) = framer.next_batch(&reading).unwrap() {
                assert!(batch.text.len() < 150_000, "{} bytes held", batch.text.len());
                let chunk = decoder.decode(&batch).unwrap();
                rows.extend(chunk.rows.iter().map(|row| row.key().row.to_owned()));
                places.extend(chunk.rejects.iter().map(|reject| reject.place));
            }
            assert_eq!(rows, ["0", "2", "4"], "{open}");
            assert_eq!(places, lines.map(Place::Line), "{open}");
        }
    }
}
