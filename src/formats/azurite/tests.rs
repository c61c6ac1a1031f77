use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use super::outline::{Collection, outline};
use crate::json_objects::tests::Pieces;
use crate::{DecodeOptions, Error, Format, Place, Progress, Reject, Source, decode};
use rowkey_base::testing::Scratch;
use rowkey_model::rows::PropertyNames;
use rowkey_model::rows::generated::{Random, entities};
use rowkey_model::{DateTime, EdmType, Entity, Key, Value};

/// Written by Azurite 3.35.0 after the official SDK filled it.
const DATABASE: &[u8] = include_bytes!("__azurite_db_table__.json");

fn outline_of(text: &[u8], piece: usize) -> Result<Vec<Collection>, Error> {
    outline("db".into(), Pieces::of(text, piece))
}

type Decoded = (Vec<Entity>, Vec<Reject>);

/// The entities of a table's documents, in key order.
fn documents(text: &[u8], start: Place, chunk_bytes: usize, threads: usize) -> Result<Decoded, Error> {
    let names = Arc::new(PropertyNames::new());
    let (mut entities, mut rejects) = (Vec::new(), Vec::new());
    let options = DecodeOptions { threads, chunk_bytes, ..DecodeOptions::default() };
    let reader = Box::new(Cursor::new(text.to_vec()));
    let mut sink = |chunk: crate::Chunk| {
        assert!(chunk.rows.is_sorted());
        entities.extend(chunk.rows.iter().map(|row| row.to_entity(&names)));
        rejects.extend(chunk.rejects);
        Ok(())
    };
    let (progress, notes) = (Progress::new(), crate::notes::Notes::new("db".into()));
    let reading = crate::reading::Reading {
        names: &names,
        options: &options,
        progress: &progress,
        notes: &notes,
        types: Default::default(),
    };
    super::decode_documents("db".into(), reader, start, &reading, &mut sink)?;
    entities.sort_by(|a, b| a.key.cmp(&b.key));
    Ok((entities, rejects))
}

fn value(edm_type: EdmType, text: &str) -> Value {
    Value::from_text(edm_type, text).unwrap()
}

#[test]
fn a_database_of_azurite_comes_back_with_every_type() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("azurite/__azurite_db_table__.json");
    let mut source = Source::file(&path).unwrap();
    assert_eq!(source.detect().unwrap(), Format::AzuriteDatabase);
    let tables = source.tables().unwrap();
    let names: Vec<(&str, &str)> = tables.iter().map(|t| (t.account.as_str(), t.table.as_str())).collect();
    let first = "devstoreaccount1";
    assert_eq!(names, [(first, "EightTypes"), (first, "Empty"), (first, "MixedCase"), ("second", "EightTypes")]);

    let mut found: Vec<Vec<Entity>> = Vec::new();
    for stored in tables {
        let mut source = stored.source;
        assert!(source.is_one_table());
        assert_eq!(source.detect().unwrap(), Format::AzuriteDatabase);
        assert!(source.name().ends_with(&format!("table {} of account {}", stored.table, stored.account)));
        let names = Arc::new(PropertyNames::new());
        let mut entities = Vec::new();
        let mut sink = |chunk: crate::Chunk| {
            assert_eq!(chunk.rejects, []);
            entities.extend(chunk.rows.iter().map(|row| row.to_entity(&names)));
            Ok::<(), Error>(())
        };
        let format = Format::AzuriteDatabase;
        decode(source, format, &names, &DecodeOptions::default(), &Progress::new(), &mut sink).unwrap();
        entities.sort_by(|a, b| a.key.cmp(&b.key));
        found.push(entities);
    }
    let keys: Vec<Vec<(&str, &str)>> = found
        .iter()
        .map(|table| table.iter().map(|e| (e.key.partition.as_str(), e.key.row.as_str())).collect())
        .collect();
    let eight = vec![("", ""), ("a", "all"), ("a", "changed"), ("b", "later key first")];
    assert_eq!(keys, [eight, vec![], vec![("p", "r")], vec![("other", "account")]]);

    let all = &found[0][1];
    let expected = [
        ("At", value(EdmType::DateTime, "2024-02-29T12:34:56.7890123Z")),
        ("Bad", Value::Double(f64::NAN)),
        ("Big", Value::Int64(9_007_199_254_740_993)),
        ("Blank", Value::String(String::new())),
        ("First", Value::DateTime(DateTime::MIN)),
        ("Flag", Value::Boolean(true)),
        ("Half", Value::Double(0.5)),
        ("Huge", Value::Double(1e300)),
        ("Last", Value::DateTime(DateTime::MAX)),
        ("Lowest", Value::Int64(i64::MIN)),
        ("Minus", Value::Double(f64::NEG_INFINITY)),
        ("None", Value::Binary(vec![])),
        ("Raw", Value::Binary(vec![0, 1, 0xfe, 0xff])),
        ("Ref", value(EdmType::Guid, "0f8fad5b-d9cb-469f-a165-70867728950e")),
        ("Small", Value::Int32(i32::MIN)),
        ("Text", Value::String("quotes \" backslash \\ 日本語 😀\r\n".to_owned())),
        ("Whole", Value::Double(1.0)),
    ];
    let mut properties: Vec<(&str, Value)> = all.properties().map(|(name, value)| (name, value.clone())).collect();
    properties.sort_by_key(|(name, _)| *name);
    assert_eq!(properties, expected);
    assert_eq!(all.timestamp, DateTime::parse("2026-11-20T13:55:39.8187745Z").unwrap());
    let changed = &found[0][2];
    assert_eq!(changed.get("More"), Some(&Value::Int64(5)));
    assert_eq!(changed.get("Text"), Some(&Value::String("after".to_owned())));
}

#[test]
fn tables_are_found_in_any_pieces() {
    let whole = outline_of(DATABASE, usize::MAX).unwrap();
    assert_eq!(whole.len(), 4);
    for piece in [1, 7, 100] {
        assert_eq!(outline_of(DATABASE, piece).unwrap(), whole);
    }
    for collection in whole {
        let text = &DATABASE[collection.bytes.start as usize..collection.bytes.end as usize];
        assert!(text.starts_with(b"[") && text.ends_with(b"]"), "{collection:?}");
    }
}

#[test]
fn a_table_has_the_name_with_which_it_was_created() {
    let text = r#"{"filename":"x","databaseVersion":1.5,"other":[{"name":"z$Zzz","data":[]}],"collections":[
        {"name":"$TABLES_COLLECTION$","data":[{"account":"acc","table":"MyTable","tableAcl":[{"a":"]"}]},{"account":"acc"}]},
        {"name":"acc$mytable","dirty":true,"data":[ {"a":"]"} ],"idIndex":[1]},
        {"name":"acc$Unlisted","data":[]},{"name":"other$mytable","data":[]},
        {"name":"$SERVICES_COLLECTION$","data":[{}]},{"name":"nodollar","data":[]}]} "#;
    let tables = outline_of(text.as_bytes(), 5).unwrap();
    let names: Vec<(&str, &str)> = tables.iter().map(|t| (t.account.as_str(), t.table.as_str())).collect();
    assert_eq!(names, [("acc", "MyTable"), ("acc", "Unlisted"), ("other", "mytable")]);
}

#[test]
fn a_damaged_database_is_refused_with_the_byte_and_the_reason() {
    let long = format!(r#"{{"collections":[{{"name":"{}""#, "x".repeat(2000));
    let cases = [
        ("", 1, "\"{\" was expected, the input ends"),
        ("[]", 1, "\"{\" was expected, this is \"[]\""),
        ("{}", 3, "no database of Azurite"),
        (r#"{"a":1}"#, 8, "no \"collections\""),
        (r#"{"a":x}"#, 6, "a value was expected, this is \"x}\""),
        (r#"{"a":1 "b":2}"#, 8, "\",\" or \"}\" was expected"),
        (r#"{"a":"b"#, 8, "incomplete"),
        (r#"{"a":["#, 7, "incomplete"),
        (r#"{"collections":{}}"#, 16, "\"[\" was expected"),
        (r#"{"collections":[1]}"#, 17, "\"{\" was expected"),
        (r#"{"collections":[{"name":1}]}"#, 25, "a string was expected"),
        (r#"{"collections":[{"data":[]}]}"#, 24, "before its name"),
        (r#"{"collections":[{"name":"a","name":"b"}]}"#, 36, "two names"),
        (r#"{"collections":[{"name":"a$b","data":{}}]}"#, 38, "the array of a collection's documents"),
        (r#"{"collections":[{"name":"a$b","data":[],"data":[]}]}"#, 48, "its data twice"),
        (r#"{"collections":[{"name":"a$b","data":[{]"#, 41, "incomplete"),
        (r#"{"collections":[{"name":"a\q"}]}"#, 30, "a string cannot be read"),
        (r#"{"collections":[{"name":"$TABLES_COLLECTION$","data":[1]}]}"#, 55, "\"{\" was expected"),
        (r#"{"collections":[],}"#, 19, "a string was expected"),
        (r#"{"collections":[]}]"#, 19, "the end of the database"),
        (&long, 1050, "at most 1024 bytes"),
    ];
    for (text, byte, expected) in cases {
        let shown = &text[..text.len().min(60)];
        for piece in [1, usize::MAX] {
            match outline_of(text.as_bytes(), piece) {
                Err(Error::Syntax { input, place, reason }) => {
                    assert!(reason.contains(expected), "{shown}: {reason}");
                    assert!(matches!(place, Place::Byte(at) if at.abs_diff(byte) <= 1), "{shown}: {place:?}: {reason}");
                    assert_eq!(&*input, "db");
                }
                other => panic!("{shown}: {other:?}"),
            }
        }
    }
    // Wherever the file is cut off, it is noticed before anything is imported.
    for end in 0..DATABASE.len() {
        let error = outline_of(&DATABASE[..end], usize::MAX).unwrap_err().to_string();
        assert!(error.starts_with("db: byte ") && error.contains("incomplete"), "{end}: {error}");
    }
}

/// One document with these members beside its keys.
fn document(members: &str) -> String {
    format!(r#"[{{"PartitionKey":"p","RowKey":"r","meta":{{"a":[1,"}}"]}},"$loki":1{members}}}]"#)
}

#[test]
fn what_stands_beside_the_properties_goes_before_what_is_in_them() {
    let read = |members: &str| {
        let (entities, rejects) = documents(document(members).as_bytes(), Place::Byte(1), 1 << 20, 1).unwrap();
        assert_eq!(rejects, [], "{members}");
        entities.into_iter().next().unwrap()
    };
    let (older, newer) = ("2024-01-01T00:00:00.1234567Z", "2024-01-02T00:00:00Z");
    let inside = format!(r#""Timestamp":"{older}","Timestamp@odata.type":"Edm.DateTime""#);
    let time = |text: &str| DateTime::parse(text).unwrap();
    let entity =
        read(&format!(r#","lastModifiedTime":"{newer}","properties":{{"PartitionKey":"x","RowKey":"y",{inside}}}"#));
    assert_eq!((entity.key, entity.timestamp), (Key::new("p", "r"), time(newer)));
    for none in ["", r#","lastModifiedTime":"""#, r#","lastModifiedTime":null"#] {
        assert_eq!(read(&format!(r#"{none},"properties":{{{inside}}}"#)).timestamp, time(older));
    }
    // Older releases store a Guid as it is, newer ones as base64 of it.
    let guid = Some(value(EdmType::Guid, "0f8fad5b-d9cb-469f-a165-70867728950e"));
    for text in ["0f8fad5b-d9cb-469f-a165-70867728950e", "MGY4ZmFkNWItZDljYi00NjlmLWExNjUtNzA4Njc3Mjg5NTBl"] {
        let entity = read(&format!(
            r#","properties":{{"G":"{text}","G@odata.type":"Edm.Guid","N":null,"N@odata.type":"Edm.Null"}}"#
        ));
        assert_eq!((entity.get("G").cloned(), entity.get("N")), (guid.clone(), None));
    }
    // Nowhere else is base64 looked for.
    let entity = read(r#","properties":{"G":"MGY4ZmFkNWItZDljYi00NjlmLWExNjUtNzA4Njc3Mjg5NTBl"}"#);
    assert_eq!(entity.get("G").map(Value::edm_type), Some(EdmType::String));
}

#[test]
fn documents_that_break_a_rule_are_rejected_with_byte_and_reason() {
    let cases = [
        (r#""#, "the document has no properties"),
        (r#","properties":[]"#, "the properties of the document are no object"),
        (r#","properties":null"#, "the properties of the document are no object"),
        (r#","properties":{},"properties":{}"#, "properties occurs twice"),
        (r#","properties":{},"RowKey":"s""#, "RowKey occurs twice"),
        (r#","properties":{},"lastModifiedTime":5"#, "lastModifiedTime is written as a string"),
        (r#","properties":{},"lastModifiedTime":"today""#, "lastModifiedTime"),
        (r#","properties":{"V":"x","V@odata.type":"Edm.Int64"}"#, "property V"),
        (r#","properties":{"V":"AAAA","V@odata.type":"Edm.Guid"}"#, "property V \"AAAA\""),
        (r#","properties":{"V":"//79","V@odata.type":"Edm.Guid"}"#, "property V"),
        (r#","properties":{"V":[1]}"#, "property V has an array"),
        (r#","properties":{"a-b":1}"#, "a-b"),
    ];
    for (members, expected) in cases {
        let good = document(r#","properties":{"A":1}"#);
        let text = format!("{}, {}", &good[..good.len() - 1], &document(members)[1..]);
        let (entities, rejects) = documents(text.as_bytes(), Place::Byte(1001), 1 << 20, 1).unwrap();
        let [reject] = &rejects[..] else { panic!("{members}: {rejects:?}") };
        assert_eq!((entities.len(), reject.place), (1, Place::Byte(1001 + good.len() as u64 + 1)), "{members}");
        assert!(reject.reason.contains(expected), "{members}: {reject}");
    }
    for text in [
        r#"[{"properties":{"a":tru}}]"#,
        r#"[{"properties":{"a" 1}}]"#,
        "[1]",
        "[{} {}]",
        "[{]",
        "[{\"properties\":{]}]",
    ] {
        let error = documents(text.as_bytes(), Place::Byte(1), 1 << 20, 1).unwrap_err();
        assert!(matches!(error, Error::Syntax { place: Place::Byte(_), .. }), "{text}: {error}");
    }
}

/// A database of two tables, as Azurite writes it.
fn write_database(tables: &[(&str, &[Entity])], random: &mut Random) -> String {
    let string = |text: &str| serde_json::to_string(text).unwrap();
    let mut collections = vec![r#"{"name":"$TABLES_COLLECTION$","data":[],"idIndex":null}"#.to_owned()];
    for (name, entities) in tables {
        let documents: Vec<String> = entities
            .iter()
            .enumerate()
            .map(|(n, entity)| {
                let mut members = Vec::new();
                for (name, value) in entity.properties() {
                    let text = value.to_string();
                    let json = match value {
                        Value::Boolean(_) | Value::Int32(_) => text,
                        Value::Double(double) if double.is_finite() => text,
                        Value::Guid(_) if random.chance(2) => string(&Value::Binary(text.into_bytes()).to_string()),
                        _ => string(&text),
                    };
                    members.push(format!("\"{name}\":{json}"));
                    if !matches!(value, Value::Boolean(_) | Value::Int32(_) | Value::String(_)) {
                        members.push(format!("\"{name}@odata.type\":\"Edm.{}\"", value.edm_type()));
                    }
                }
                let (partition, row) = (string(&entity.key.partition), string(&entity.key.row));
                format!(
                    "{{\"PartitionKey\":{partition},\"RowKey\":{row},\"properties\":{{{}}},\
                     \"lastModifiedTime\":\"{}\",\"eTag\":\"W/\\\"x\\\"\",\"meta\":{{}},\"$loki\":{n}}}",
                    members.join(","),
                    entity.timestamp
                )
            })
            .collect();
        collections.push(format!("{{\"name\":\"{name}\",\"data\":[{}],\"dirty\":false}}", documents.join(",")));
    }
    format!("{{\"filename\":\"x\",\"collections\":[{}],\"databaseVersion\":1.5}}", collections.join(","))
}

#[test]
fn generated_databases_come_back_in_any_pieces() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let (one, two) = (entities(&mut random), entities(&mut random));
        let text = write_database(&[("a$One", &one), ("b$Two", &two)], &mut random);
        let piece = 1 + random.below(300);
        let tables = outline_of(text.as_bytes(), piece).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(tables.len(), 2, "seed {seed}\n{text}");
        for (table, expected) in tables.iter().zip([&one, &two]) {
            let bytes = &text.as_bytes()[table.bytes.start as usize..table.bytes.end as usize];
            let (chunk_bytes, threads) = (1 + random.below(3000), 1 + random.below(3));
            let start = Place::Byte(table.bytes.start + 1);
            let (found, rejects) = documents(bytes, start, chunk_bytes, threads)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            assert_eq!(rejects, [], "seed {seed}\n{text}");
            assert_eq!(&found, expected, "seed {seed}\n{text}");
        }
    }
}

#[test]
fn mutated_databases_are_read_alike_in_any_pieces_and_never_panic() {
    let (mut refused, mut damaged, mut rejected) = (0, 0, 0);
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let mut text = if random.chance(4) {
            DATABASE.to_vec()
        } else {
            let (one, two) = (entities(&mut random), entities(&mut random));
            write_database(&[("a$One", &one), ("b$Two", &two)], &mut random).into_bytes()
        };
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len().max(1)).min(text.len().saturating_sub(1));
            let ways = if random.chance(6) { 5 } else { 3 };
            match random.below(ways) {
                _ if text.is_empty() => {}
                0 => text[at] = *random.pick(b"\"\\{}[],:\n 0eE-.tnu$\xff\x01"),
                1 => drop(text.remove(at)),
                2 => text.insert(at, *random.pick(b"\"\\{}[],:\n 0\xc3")),
                3 => text.truncate(at),
                _ => {
                    let end = (at + random.below(200)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
            }
        }
        let shown = String::from_utf8_lossy(&text);
        let whole = outline_of(&text, usize::MAX);
        let pieces = outline_of(&text, 1 + random.below(50));
        let tables = match (whole, pieces) {
            (Ok(whole), Ok(pieces)) => {
                assert_eq!(whole, pieces, "seed {seed}\n{shown}");
                whole
            }
            (Err(whole), Err(pieces)) => {
                assert_eq!(whole.to_string(), pieces.to_string(), "seed {seed}\n{shown}");
                refused += 1;
                continue;
            }
            other => panic!("seed {seed}: {other:?}\n{shown}"),
        };
        for table in tables {
            let bytes = &text[table.bytes.start as usize..table.bytes.end as usize];
            let start = Place::Byte(table.bytes.start + 1);
            let one = documents(bytes, start, 1 << 20, 1).map_err(|error| error.to_string());
            let other = documents(bytes, start, 1 + random.below(3000), 2).map_err(|error| error.to_string());
            match (&one, &other) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one, other, "seed {seed}\n{shown}");
                    rejected += usize::from(!one.1.is_empty());
                }
                // Which of several errors comes first may depend on the pieces.
                (Err(_), Err(_)) => damaged += 1,
                _ => panic!("seed {seed}: {one:?} against {other:?}\n{shown}"),
            }
        }
    }
    assert!(
        refused > 200 && damaged > 50 && rejected > 50,
        "{refused} refused, {damaged} damaged, {rejected} with rejects"
    );
}

#[test]
fn tables_of_one_file_may_be_read_at_the_same_time() {
    let mut random = Random::new(7);
    let (one, two) = (entities(&mut random), entities(&mut random));
    let scratch = Scratch::new("azurite").unwrap();
    let file = scratch.path().join("both.json");
    fs::write(&file, write_database(&[("a$One", &one), ("a$Two", &two)], &mut random)).unwrap();
    let tables = super::tables("db".into(), File::open(&file).unwrap()).unwrap();
    let mut readers: Vec<_> = tables.into_iter().map(|table| table.source.into_read().unwrap().1).collect();
    let mut texts = vec![Vec::new(); readers.len()];
    loop {
        let mut any = false;
        for (reader, text) in readers.iter_mut().zip(&mut texts) {
            let mut buffer = [0; 13];
            let read = reader.read(&mut buffer).unwrap();
            text.extend_from_slice(&buffer[..read]);
            any |= read > 0;
        }
        if !any {
            break;
        }
    }
    for (text, expected) in texts.iter().zip([&one, &two]) {
        assert_eq!(&documents(text, Place::Byte(1), 1 << 20, 1).unwrap().0, expected);
    }
}

#[test]
fn a_stream_is_taken_apart_and_a_whole_database_is_no_table() {
    let stream = Source::stream("-", Box::new(DATABASE));
    assert!(!stream.tables().unwrap().is_empty());
    let stream = Source::stream("-", Box::new(DATABASE));
    let names = Arc::new(PropertyNames::new());
    let options = DecodeOptions::default();
    let error: Error =
        decode(stream, Format::AzuriteDatabase, &names, &options, &Progress::new(), &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("several tables"), "{error}");
}
