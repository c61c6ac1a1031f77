use std::io::{self, Read};
use std::sync::Arc;

use super::batch::BatchDecoder;
use super::framer::Framer;
use super::{ObjectDecoder, PageKey};
use crate::assumed::Typing;
use crate::entity_json::{EntityJsonError, RowDecoder};
use crate::notes::Notes;
use crate::reading::Reading;
use crate::{DecodeOptions, Error, Format, Place, Progress, Reject, Source, decode};
use rowkey_model::Entity;
use rowkey_model::rows::generated::{Random, entities};
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

pub(crate) type Decoded = (Vec<Entity>, Vec<Reject>);

/// What is read of a source of so many bytes; entities of one key stay in the order of the input.
pub(crate) fn decode_source(
    source: Source,
    format: Format,
    bytes: usize,
    chunk_bytes: usize,
    threads: usize,
) -> Result<Decoded, Error> {
    let names = Arc::new(PropertyNames::new());
    let progress = Progress::new();
    let (mut entities, mut rejects) = (Vec::new(), Vec::new());
    let options = DecodeOptions { threads, chunk_bytes, ..DecodeOptions::default() };
    let counts = decode::<Error>(source, format, &names, &options, &progress, &mut |chunk| {
        assert!(chunk.rows.is_sorted());
        assert_eq!(chunk.rejected, chunk.rejects.len() as u64);
        entities.extend(chunk.rows.iter().map(|row| row.to_entity(&names)));
        rejects.extend(chunk.rejects);
        Ok(())
    })?;
    assert_eq!((counts.entities, counts.rejected), (entities.len() as u64, rejects.len() as u64));
    assert_eq!((progress.entities(), progress.bytes_read()), (counts.entities, bytes as u64));
    entities.sort_by(|a, b| a.key.cmp(&b.key));
    Ok((entities, rejects))
}

/// Through `write` and `decode_pieces`, which takes bytes of pieces and of chunks, and threads.
pub(crate) fn generated_entities_come_back(
    write: fn(&[Entity], &mut Random) -> String,
    decode_pieces: fn(&[u8], usize, usize, usize) -> Result<Decoded, Error>,
) {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let entities = entities(&mut random);
        let text = write(&entities, &mut random);
        let (chunk_bytes, threads) = (1 + random.below(3000), 1 + random.below(3));
        for piece in [usize::MAX, 1 + random.below(100), 1] {
            let (decoded, rejects) = decode_pieces(text.as_bytes(), piece, chunk_bytes, threads)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            assert!(rejects.is_empty(), "seed {seed}: {rejects:?}\n{text}");
            assert_eq!(decoded, entities, "seed {seed}\n{text}");
        }
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
