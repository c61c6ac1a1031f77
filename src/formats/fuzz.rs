//! Damaged and odd inputs of imports: an error, or entities that obey the rules, and the same in
//! any pieces and on any number of threads.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::json_objects::tests::Pieces;
use crate::{
    Compression, DecodeOptions, Destination, Error, ExportFormat, ExportTarget, Format, KeyColumns, KeyTemplate,
    Layout, Progress, Source, Survey, Written, decode, open_export,
};
use rowkey_base::testing::{Dice, Mutator, fuzz};
use rowkey_model::rows::generated::{self, Random};
use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_model::{Entity, EntityBuilder, ValueRef};

const AZURITE: &[u8] = include_bytes!("azurite/__azurite_db_table__.json");

/// What no writer of ours writes, and people bring.
const BROUGHT: [&[u8]; 9] = [
    br#"{"items":[{"At":"2024-02-29T12:34:56.789012+00:00","Bad":NaN,"Big":{"edm_type":"Edm.Int64","value":9007199254740993},"PartitionKey":"eu","Price":1.0,"RowKey":"0001","Timestamp":"2026-11-20T08:22:42.603928+00:00","etag":"W/\"x\""}],"nextMarker":{"nextpartitionkey":"a"}}"#,
    br#"[{"PartitionKey":"a","RowKey":"1","N":{"value":"5","type":"Int64"},"T":"2024-01-01T00:00:00Z","B":true},{"PartitionKey":"a","RowKey":"2","odata.etag":"W/\"y\"","G":{"type":"Guid","value":"0d1f5a3c-0000-4000-8000-000000000000"}}]"#,
    br#"[{"PartitionKey":{"$":"Edm.String","_":"a"},"RowKey":{"_":"1"},"N":{"$":"Edm.Double","_":1.5},".metadata":{"etag":"x"}}]"#,
    br#"{"odata.metadata":"https://x/$metadata#T","value":[{"PartitionKey":"p","RowKey":"r","V@odata.type":"Edm.Int64","V":"9007199254740993","B@odata.type":"Edm.Binary","B":"AAEC","D":1e300,"S":"\ud83d\ude00\u0000"}]}"#,
    b"{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2024-05-01T08:00:00.1234567Z\",\"V\":1}\n{\"PartitionKey\":\"p\",\"RowKey\":\"s\",\"V\":-0.0}\n",
    b"PartitionKey,RowKey,Timestamp,V,V@type,W,W@type\np,\"r \"\"1\"\"\",2024-05-01T08:00:00Z,5,Edm.Int64,\"a\nb\",Edm.String\np,s,,,,1.5,Edm.Double\n",
    b"\xef\xbb\xbfPartitionKey;RowKey;A\r\np;r;1\r\np;s;\r\n",
    b"City\tId\tN\nRome\t1\t2\nOslo\t2\t\n",
    br#"{"Entities":[{"PartitionKey":"p","RowKey":"r","Properties":{"A":{"PropertyType":0,"StringValue":"x"}}}],"$type":"a"}"#,
];

const TOKENS: [&[u8]; 24] = [
    b"\"PartitionKey\":",
    b"\"RowKey\":\"",
    b"\"@odata.type\":\"Edm.Guid\"",
    b"Edm.DateTime",
    b"Edm.Binary",
    b"{\"value\":[",
    b"]}",
    b"null",
    b"-1e999",
    b"1E+",
    b"\\ud83d",
    b"\\u0000",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\"\"",
    b",,\n",
    b"\r\n",
    b"PAR1",
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"9223372036854775808",
    b"0001-01-01T00:00:00Z",
    b"{\"$\":\"Edm.Int64\",\"_\":",
    b"[[[[[[[[",
];

/// A stream that a test keeps.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What our own writers make of some entities.
fn written(entities: &[Entity], format: ExportFormat, compression: Option<Compression>) -> Vec<u8> {
    let names = Arc::new(PropertyNames::new());
    let mut rows = Rows::new();
    for entity in entities {
        let properties = entity.properties().map(|(name, value)| (names.intern(name), ValueRef::from(value)));
        rows.push(&names, entity.key.as_ref(), None, properties).expect("an entity");
    }
    let mut survey = Survey::new(&names);
    survey.observe(&rows);
    let kept = Kept::default();
    let target = ExportTarget {
        destination: Destination::Stream("kept".into(), Box::new(kept.clone())),
        format,
        layout: Layout::OneFile,
        compression,
        overwrite: false,
        account: "acme".to_owned(),
        table: "Table".to_owned(),
        written: Arc::new(Written::default()),
    };
    let mut writer = open_export(target, &survey).expect("an export");
    writer.write(&rows).expect("written");
    writer.finish().expect("written");
    let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    bytes.clone()
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = BROUGHT.iter().map(|text| text.to_vec()).collect();
    seeds.push(AZURITE.to_vec());
    for (number, format) in (1..).zip(ExportFormat::ALL) {
        for (more, compression) in (0..).zip([None, Some(Compression::Gzip), Some(Compression::Zstd)]) {
            let mut entities = generated::entities(&mut Random::new(number * 10 + more));
            entities.truncate(12);
            seeds.push(written(&entities, format, compression));
        }
    }
    seeds
}

/// How an input is read.
#[derive(Debug, Clone)]
struct Manner {
    name: &'static str,
    /// None if it is detected.
    format: Option<Format>,
    keys: Option<Arc<KeyColumns>>,
    piece: usize,
    chunk_bytes: usize,
    threads: usize,
}

/// Entities in the order of their keys, and how many were rejected.
type Outcome = Result<(Vec<Entity>, u64), Error>;

fn read(bytes: &[u8], manner: &Manner) -> Outcome {
    let mut source = Source::stream(manner.name, Box::new(Pieces::of(bytes, manner.piece)));
    let keys = manner.keys.as_deref().cloned().unwrap_or_default();
    let detected = source.detect_with(&keys);
    let format = match manner.format {
        Some(format) => format,
        None => detected?,
    };
    if format == Format::AzuriteDatabase && manner.keys.is_none() {
        let mut all = (Vec::new(), 0);
        for table in source.tables()? {
            let (entities, rejected) = decoded(table.source, format, manner)?;
            all.0.extend(entities);
            all.1 += rejected;
        }
        return Ok(all);
    }
    decoded(source, format, manner)
}

fn decoded(source: Source, format: Format, manner: &Manner) -> Outcome {
    let names = Arc::new(PropertyNames::new());
    let options = DecodeOptions {
        threads: manner.threads,
        chunk_bytes: manner.chunk_bytes,
        keys: manner.keys.clone(),
        keep_rejects: true,
        ..DecodeOptions::default()
    };
    let mut entities = Vec::new();
    let counts = decode::<Error>(source, format, &names, &options, &Progress::new(), &mut |chunk| {
        assert!(chunk.rows.is_sorted());
        entities.extend(chunk.rows.iter().map(|row| row.to_entity(&names)));
        Ok(())
    })?;
    assert_eq!(counts.entities, entities.len() as u64);
    // Stable: entities of one key stay in the order of the input.
    entities.sort_by(|a, b| a.key.cmp(&b.key));
    Ok((entities, counts.rejected))
}

fn expect_rules(entity: &Entity) {
    let builder = EntityBuilder::new(entity.key.clone()).timestamp(entity.timestamp);
    let properties = entity.parts().iter().cloned();
    let built = properties.fold(builder, |builder, (name, value)| builder.property(name, value)).build();
    let shown = format!("{entity:?}");
    assert!(built.is_ok(), "{built:?} of {}", shown.chars().take(2000).collect::<String>());
}

fn manner(dice: &mut Dice) -> Manner {
    let template = |text: &str| KeyTemplate::parse(text).expect("a template");
    let keys = dice.chance(6).then(|| KeyColumns {
        partition: Some(template(dice.pick(&["City", "{City}-{Id}", "A", "PartitionKey"]))),
        row: dice.chance(2).then(|| template(dice.pick(&["Id", "{A}{B}", "RowKey"]))),
    });
    Manner {
        name: dice.pick(&["in", "in", "in.csv", "in.json", "in.parquet", "__azurite_db_table__.json"]),
        format: dice.chance(4).then(|| dice.pick(&Format::ALL)),
        keys: keys.map(Arc::new),
        piece: usize::MAX,
        chunk_bytes: 1 << 20,
        threads: 1,
    }
}

#[test]
fn fuzz_inputs_of_imports_are_refused_or_read_alike_in_any_pieces() {
    let seeds = seeds();
    let mutator = Mutator::new(&seeds, &TOKENS);
    let (mut refused, mut taken) = (0, 0);
    fuzz("inputs of imports", |dice| {
        let bytes = mutator.next(dice);
        let whole = manner(dice);
        let pieces = Manner {
            piece: dice.pick(&[1, 7, 4096, usize::MAX]),
            chunk_bytes: 1 + dice.below(600),
            threads: 1 + dice.below(3),
            ..whole.clone()
        };
        let shown = || format!("{whole:?}, {pieces:?}: {}", bytes.escape_ascii());
        match (read(&bytes, &whole), read(&bytes, &pieces)) {
            (Ok(one), Ok(other)) => {
                assert_eq!(one, other, "{}", shown());
                one.0.iter().for_each(expect_rules);
                taken += usize::from(!one.0.is_empty());
            }
            // Which of several errors comes first may depend on the pieces.
            (Err(one), Err(other)) => {
                assert!(!one.to_string().is_empty() && !other.to_string().is_empty());
                refused += 1;
            }
            (one, other) => panic!("{one:?}, {other:?}: {}", shown()),
        }
    });
    assert!(refused > 20 && taken > 20, "{refused} refused, {taken} taken");
}
