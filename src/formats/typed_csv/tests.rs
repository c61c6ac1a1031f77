use std::io::{self, Read};
use std::sync::Arc;

use super::batch::BatchDecoder;
use super::framer::Framer;
use crate::json_objects::tests::{Decoded, Failing, Pieces, decode_source, generated_entities_come_back};
use crate::notes::Notes;
use crate::reading::Reading;
use crate::{DecodeOptions, Error, Format, Place, Progress, Source, decode};
use rowkey_model::rows::PropertyNames;
use rowkey_model::rows::generated::{Random, entities};
use rowkey_model::{DateTime, EdmType, Entity, Key, Value};

fn decode_pieces(text: &[u8], piece: usize, chunk_bytes: usize, threads: usize) -> Result<Decoded, Error> {
    let source = Source::stream("in.csv", Box::new(Pieces::of(text, piece)));
    decode_source(source, Format::TypedCsv, text.len(), chunk_bytes, threads)
}

/// The same result whatever the pieces.
fn decode_text(text: &str) -> Result<Decoded, Error> {
    let whole = decode_pieces(text.as_bytes(), usize::MAX, 1 << 20, 1);
    for (piece, chunk_bytes, threads) in [(1, 1, 2), (7, 40, 3)] {
        match (&whole, &decode_pieces(text.as_bytes(), piece, chunk_bytes, threads)) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "{text}"),
            (Err(whole), Err(pieces)) => assert_eq!(whole.to_string(), pieces.to_string(), "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    whole
}

fn taken(text: &str) -> Vec<Entity> {
    let (entities, rejects) = decode_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(rejects, [], "{text}");
    entities
}

/// The values of `V` by RowKey order, from rows `RowKey,V,V@type`.
fn values(rows: &str) -> Vec<Option<Value>> {
    taken(&format!("PartitionKey,RowKey,V,V@type\n{rows}")).iter().map(|entity| entity.get("V").cloned()).collect()
}

fn text(value: &str) -> Option<Value> {
    Some(Value::String(value.to_owned()))
}

fn at(text: &str) -> DateTime {
    DateTime::parse(text).unwrap()
}

#[test]
fn every_generation_of_storage_explorer_is_read() {
    let first = "PartitionKey,RowKey,Timestamp,At,At@type,Big,Big@type,Note,Note@type\n\
                 eu,0001,2020-06-22T15:16:05.333Z,2020-01-01T01:01:01Z,Edm.DateTime,5000000000,Edm.Int64,\"say \"\"hi\"\", ok\",Edm.String\n\
                 eu,0002,2020-06-22T15:16:17.104Z,,,,,,Edm.String\n";
    let entities = taken(first);
    assert_eq!(entities[0].key, Key::new("eu", "0001"));
    assert_eq!(entities[0].timestamp, at("2020-06-22T15:16:05.333Z"));
    assert_eq!(entities[0].get("At"), Some(&Value::DateTime(at("2020-01-01T01:01:01Z"))));
    assert_eq!(entities[0].get("Big"), Some(&Value::Int64(5_000_000_000)));
    assert_eq!(entities[0].get("Note").cloned(), text("say \"hi\", ok"));
    assert_eq!(entities[1].properties().map(|(name, _)| name).collect::<Vec<_>>(), ["Note"]);
    assert_eq!(entities[1].get("Note").cloned(), text(""));

    // All columns in alphabetical order.
    let second = "\u{feff}HLA,HLA@type,PartitionKey,RowKey,Timestamp,isX,isX@type\r\n\
                  7,Edm.Int32,p,r,2020-06-22T15:16:05.333Z,true,Edm.Boolean\r\n";
    let entities = taken(second);
    assert_eq!(entities[0].key, Key::new("p", "r"));
    assert_eq!(entities[0].get("HLA"), Some(&Value::Int32(7)));
    assert_eq!(entities[0].get("isX"), Some(&Value::Boolean(true)));

    // Types without prefix, in the first record only, and another delimiter.
    let newest = "PartitionKey;RowKey;Timestamp;Qty;Qty@type;Note;Note@type\n\
                  eu;0001;2025-10-07T09:45:35.2743359Z;2;Int32;;String\n\
                  eu;0002;2025-10-07T09:45:36.0000000Z;4;;ACK;\n";
    let entities = taken(newest);
    assert_eq!(entities[0].timestamp, at("2025-10-07T09:45:35.2743359Z"));
    assert_eq!(entities[1].get("Qty"), Some(&Value::Int32(4)));
    assert_eq!(entities[1].get("Note").cloned(), text("ACK"));

    // Untyped; types of system properties; no Timestamp; metadata.
    let untyped = "RowKey,PartitionKey,PartitionKey@type,odata.etag,N\nr,p,String,W/x,42\n";
    let entities = taken(untyped);
    assert_eq!((&entities[0].key, entities[0].get("N").cloned()), (&Key::new("p", "r"), text("42")));
    assert_eq!(entities[0].properties().len(), 1);
}

#[test]
fn every_type_is_read_as_it_is_written() {
    let guid = Value::from_text(EdmType::Guid, "0f8fad5b-d9cb-469f-a165-70867728950e").unwrap();
    let cases = [
        ("9007199254740993,Edm.Int64", Value::Int64(9_007_199_254_740_993)),
        ("-2147483648,Int32", Value::Int32(i32::MIN)),
        ("1,Double", Value::Double(1.0)),
        ("1E+300,Edm.Double", Value::Double(1e300)),
        ("-0,Double", Value::Double(-0.0)),
        ("NaN,Double", Value::Double(f64::NAN)),
        ("-Infinity,Double", Value::Double(f64::NEG_INFINITY)),
        ("true,Boolean", Value::Boolean(true)),
        ("FALSE,Edm.Boolean", Value::Boolean(false)),
        ("1601-01-01T00:00:00Z,DateTime", Value::DateTime(DateTime::MIN)),
        ("9999-12-31T23:59:59.9999999Z,Edm.DateTime", Value::DateTime(DateTime::MAX)),
        ("2020-06-22T15:16:05.333 Z,DateTime", Value::DateTime(at("2020-06-22T15:16:05.333Z"))),
        ("0F8FAD5B-D9CB-469F-A165-70867728950E,Guid", guid.clone()),
        ("0f8fad5b-d9cb-469f-a165-70867728950e,GUID", guid),
        ("AAH+/w==,Edm.Binary", Value::Binary(vec![0, 1, 0xfe, 0xff])),
        ("00123,Edm.String", Value::String("00123".into())),
        ("POINT (1 2),Edm.GeographyPoint", Value::String("POINT (1 2)".into())),
        ("00123,", Value::String("00123".into())),
    ];
    for (cells, expected) in cases {
        assert_eq!(values(&format!("p,r,{cells}\n")), [Some(expected)], "{cells}");
    }
}

#[test]
fn an_empty_value_is_absent_unless_its_own_type_is_a_text_or_a_binary() {
    let empty = Some(Value::Binary(vec![]));
    assert_eq!(values("p,1,,\np,2,,String\np,3,,Edm.String\np,4,\"\",String\n"), [None, text(""), text(""), text("")]);
    assert_eq!(values("p,1,,Int32\np,2,,Edm.Binary\np,3,,Guid\np,4,,Edm.Nonsense\n"), [None, empty, None, None]);
    // The type of an earlier record says nothing about whether a property is there.
    assert_eq!(values("p,1,a,String\np,2,,\np,3,\"\",\n"), [text("a"), None, None]);
}

#[test]
fn a_value_without_type_has_the_first_one_of_its_column_before_it() {
    let rows = "p,1,7,\np,2,,\np,3,8,Int32\np,4,9,\np,5,10,Int64\np,6,11,\n";
    let numbers = [Value::Int32(8), Value::Int32(9), Value::Int64(10), Value::Int32(11)].map(Some);
    assert_eq!(values(rows), [&[text("7"), None][..], &numbers].concat());
    // The type counts where the value is missing, or the record is rejected for its value.
    let (entities, rejects) =
        decode_text("PartitionKey,RowKey,V,V@type,W,W@type\np,1,,Int32,x,Int64\np,2,5,,6,\np,3,7\np,4,,,\"\",\r\n")
            .unwrap();
    assert_eq!(rejects.len(), 2, "{rejects:?}");
    assert_eq!(entities[0].get("V"), Some(&Value::Int32(5)));
    assert_eq!(entities[0].get("W"), Some(&Value::Int64(6)));
    // In order however many records there are between.
    let mut rows = String::new();
    for n in 0..2000 {
        rows += &format!("p,{n:04},{n},{}\n", if n == 1000 { "Int32" } else { "" });
    }
    let found = values(&rows);
    assert!(found[..1000].iter().all(|value| matches!(value, Some(Value::String(_)))));
    assert!(found[1000..].iter().all(|value| matches!(value, Some(Value::Int32(_)))));
}

#[test]
fn quotes_line_ends_and_delimiters_are_part_of_quoted_values() {
    let cases = [
        ("\"a,b\"", "a,b"),
        ("\"a\nb\"", "a\nb"),
        ("\"a\r\nb\r\"", "a\r\nb\r"),
        ("\"\"\"\"", "\""),
        ("\"\"\"a\"\"b\"\"\"", "\"a\"b\""),
        ("a\rb", "a\rb"),
        ("a\"b\"", "a\"b\""),
        (" \"a\"", " \"a\""),
        ("é中😀\u{e000}", "é中😀\u{e000}"),
        ("a;b\tc|d", "a;b\tc|d"),
    ];
    for (written, expected) in cases {
        for end in ["\n", "\r\n"] {
            let rows = format!("\"p\",\"1\",{written},String{end}p,2,x,\"String\"");
            assert_eq!(values(&rows), [text(expected), text("x")], "{written:?}");
        }
    }
    // A last line without an end, and blank lines.
    for end in ["", "\n", "\r\n", "\r", "\n\n\r\n"] {
        assert_eq!(values(&format!("\np,1,x,String{end}")).len(), 1, "{end:?}");
    }
    for delimiter in [",", ";", "\t", "|"] {
        let text = "PartitionKey\tRowKey\tV\tV@type\r\np\tr\t\"a,b;c|d\"\tString\r\n".replace('\t', delimiter);
        assert_eq!(taken(&text)[0].get("V"), Some(&Value::String("a,b;c|d".into())), "{delimiter}");
    }
    assert_eq!(taken("PartitionKey,RowKey\n\"\",\"\"\n")[0].key, Key::new("", ""));
    assert_eq!(taken("PartitionKey,RowKey\n").len() + taken("PartitionKey,RowKey").len(), 0);
}

#[test]
fn records_that_break_a_rule_are_rejected_with_line_and_reason() {
    let long = "x".repeat(32 * 1024 + 1);
    let binary = "AAAA".repeat(22_000);
    let cases = [
        ("p,r,1".to_owned(), "the record has 3 values, the first line 4 columns"),
        ("p,r,1,Int32,x".to_owned(), "the record has 5 values"),
        ("p,r,\"a\"b,String".to_owned(), "behind the quotes of a value stands \"b,String\""),
        ("p,r,\"a\"\"\"b,String".to_owned(), "behind the quotes"),
        ("p,r,x,Int32".to_owned(), "property V \"x\""),
        ("p,r,2147483648,Edm.Int32".to_owned(), "property V"),
        ("p,r,1.5,Int64".to_owned(), "property V"),
        ("p,r,yes,Boolean".to_owned(), "property V"),
        ("p,r,01/02/2020,DateTime".to_owned(), "property V"),
        ("p,r,x,Edm.Decimal".to_owned(), "property V has the type \"Edm.Decimal\", which is none of the service's"),
        ("p,r,AAA,Binary".to_owned(), "property V"),
        ("a/b,r,,".to_owned(), "PartitionKey \"a/b\""),
        ("p,\"a\nb\",,".to_owned(), "RowKey"),
        (format!("p,r,{long},String"), "property V"),
        (format!("p,r,{binary},Binary"), "property V"),
    ];
    for (record, expected) in cases {
        let shown = &record[..record.len().min(60)];
        let text = format!("PartitionKey,RowKey,V,V@type\nq,1,\"a\nb\",String\n{record}\nq,2,c,String\n");
        let (entities, rejects) = decode_text(&text).unwrap();
        let [reject] = &rejects[..] else { panic!("{shown}: {rejects:?}") };
        assert_eq!((entities.len(), reject.place, &*reject.input), (2, Place::Line(4), "in.csv"), "{shown}");
        assert!(reject.reason.contains(expected), "{shown}: {}", reject.reason);
    }
    let (_, rejects) = decode_text("PartitionKey,RowKey,Timestamp\np,r,yesterday\np,s,\n").unwrap();
    assert!(
        rejects.len() == 1 && rejects[0].to_string().starts_with("in.csv:2: Timestamp \"yesterday\""),
        "{rejects:?}"
    );
}

#[test]
fn text_that_is_not_utf_8_is_rejected_record_by_record() {
    let mut text = b"PartitionKey,RowKey,V\np,1,a\np,2,M\xfcller\np,3,\xc3\xa9\n".to_vec();
    text.extend_from_slice(b"p,4,\"\xff\n\"\np,5,b\n");
    for (piece, chunk_bytes) in [(usize::MAX, 1 << 20), (1, 1)] {
        let (entities, rejects) = decode_pieces(&text, piece, chunk_bytes, 2).unwrap();
        assert_eq!(entities.iter().map(|e| e.key.row.as_str()).collect::<Vec<_>>(), ["1", "3", "5"]);
        let shown: Vec<String> = rejects.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0], "in.csv:3: the text is not UTF-8 from byte 6 of the record on");
        assert!(shown[1].starts_with("in.csv:5: "), "{shown:?}");
    }
    let error = decode_pieces(b"PartitionKey,RowKey,M\xfc\n", 5, 5, 1).unwrap_err().to_string();
    assert_eq!(error, "in.csv:1: the first line is not UTF-8 from byte 22 on");
}

#[test]
fn a_first_line_that_fits_no_table_is_refused_with_its_column() {
    let cases = [
        (
            "PartitionKey,Row,V\n",
            "in.csv:1: the first line names no column RowKey: \"PartitionKey,Row,V\\n\"; keys are made of others with",
        ),
        ("a;b;RowKey;c,d\n", "in.csv:1: the first line names no column PartitionKey: "),
        ("partitionkey,rowkey\n", "in.csv:1: the first line names no columns PartitionKey and RowKey: "),
        ("PartitionKey:RowKey\n", "in.csv:1: the first line names no columns PartitionKey and RowKey: "),
        ("", "in.csv:1: the first line is empty"),
        ("\r\np,r\n", "in.csv:1: the first line is empty"),
        ("PartitionKey,RowKey,V,V\n", "in.csv: column \"V\": the first line names it twice"),
        ("PartitionKey,RowKey,RowKey\n", "in.csv: column \"RowKey\": the first line names it twice"),
        ("PartitionKey,RowKey,V@type\n", "in.csv: column \"V@type\": there is no column \"V\""),
        ("PartitionKey,RowKey,a-b\n", "in.csv: column \"a-b\": "),
        ("PartitionKey,RowKey,\n", "in.csv: column \"\": "),
        ("PartitionKey,RowKey,\"a\n", "in.csv:1: the first line names no columns"),
    ];
    for (text, expected) in cases {
        let error = decode_text(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    // The keys may stand anywhere in a line longer than what the format is told from.
    let many: Vec<String> = (0..10_000).map(|n| format!("Property{n},Property{n}@type")).collect();
    let wide = format!("{},PartitionKey,RowKey\n{}p,r\n", many.join(","), ",".repeat(20_000));
    assert_eq!(taken(&wide)[0].key, Key::new("p", "r"));
}

#[test]
fn lines_may_end_in_a_carriage_return_alone() {
    let entities = taken("PartitionKey,RowKey,V\rp,1,a\rp,2,\"b\nc\rd\"\r\rp,3,e");
    let read: Vec<_> = entities.iter().map(|entity| (entity.key.row.as_str(), entity.get("V").cloned())).collect();
    assert_eq!(read, [("1", text("a")), ("2", text("b\nc\rd")), ("3", text("e"))]);
    let (_, rejects) = decode_text("PartitionKey,RowKey,V\rp,1,a\rp,2\r").unwrap();
    assert_eq!(rejects[0].place, Place::Line(3));
}

fn reading<'a>(
    names: &'a Arc<PropertyNames>,
    options: &'a DecodeOptions,
    progress: &'a Progress,
    notes: &'a Notes,
) -> Reading<'a> {
    Reading { names, options, progress, notes, types: Default::default() }
}

#[test]
fn a_quoted_value_without_end_is_refused_with_the_line_of_its_record() {
    for rest in ["\"", "\"x\n\n\n", "\"a\"\"", "\"a\"\"\np,2,b\n"] {
        let error = decode_text(&format!("PartitionKey,RowKey,V\np,\"1\n\",a\np,2,{rest}")).unwrap_err().to_string();
        assert!(error.starts_with("in.csv:4: the input ends inside a quoted value"), "{rest:?}: {error}");
    }
}

#[test]
fn a_record_that_is_too_long_is_rejected_without_being_held() {
    let (long, longer) = ("x".repeat(30_000), "y\n".repeat(50_000));
    let text = format!(
        "PartitionKey,RowKey,V,V@type\np,1,5,\np,2,{long},String\np,3,\"{longer}\",Int32\np,4,{long}{long},\np,5,6,\n"
    );
    for piece in [100, usize::MAX] {
        let names = Arc::new(PropertyNames::new());
        let reader = Pieces::of(text.as_bytes(), piece);
        let (options, progress, notes) = (DecodeOptions::default(), Progress::new(), Notes::new("x".into()));
        let reading = reading(&names, &options, &progress, &notes);
        let mut framer = Framer::new("x".into(), Box::new(reader), Arc::default(), 4000, 40_000);
        let header = Arc::new(framer.read_header(None, &reading).unwrap());
        let mut decoder = BatchDecoder::new("x".into(), Arc::clone(&header), &reading);
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        while let Some(batch) = framer.next_batch(&header, &reading).unwrap() {
            assert!(batch.text.len() < 100_000, "{} bytes held", batch.text.len());
            let chunk = decoder.decode(&batch);
            rows.extend(
                chunk.rows.iter().map(|row| (row.key().row.to_owned(), row.to_entity(&names).get("V").cloned())),
            );
            places.extend(chunk.rejects.iter().map(|reject| reject.place));
        }
        let keys: Vec<&str> = rows.iter().map(|(row, _)| row.as_str()).collect();
        assert_eq!(keys, ["1", "2", "5"], "{piece}");
        assert_eq!(rows[2].1, self::text("6"), "the type that stands in a record never held says nothing");
        assert_eq!(places, [Place::Line(4), Place::Line(50_005)], "{piece}");
    }
    // One that never ends.
    let endless = format!("PartitionKey,RowKey\np,\"{longer}");
    let names = Arc::new(PropertyNames::new());
    let (options, progress, notes) = (DecodeOptions::default(), Progress::new(), Notes::new("x".into()));
    let reading = reading(&names, &options, &progress, &notes);
    let mut framer = Framer::new("x".into(), Box::new(io::Cursor::new(endless)), Arc::default(), 4000, 40_000);
    let header = framer.read_header(None, &reading).unwrap();
    let error = loop {
        match framer.next_batch(&header, &reading) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.starts_with("x:2: the input ends inside a quoted value"), "{error}");
    let mut framer = Framer::new("x".into(), Box::new(io::repeat(b'x')), Arc::default(), 4000, 40_000);
    let error = framer.read_header(None, &reading).unwrap_err().to_string();
    assert_eq!(error, "x:1: the first line has at most 40000 bytes, this has more");
}

/// Writes entities in a random layout.
fn write_entities(entities: &[Entity], random: &mut Random) -> String {
    let delimiter = *random.pick(&[',', ';', '\t', '|']);
    let end = *random.pick(&["\n", "\r\n"]);
    let prefix = *random.pick(&["", "Edm."]);
    let mut names: Vec<&str> = entities.iter().flat_map(|e| e.properties().map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    let mut columns: Vec<String> = ["PartitionKey", "RowKey", "Timestamp"].map(str::to_owned).to_vec();
    for name in names {
        columns.extend([name.to_owned(), format!("{name}@type")]);
    }
    let n = columns.len();
    if random.chance(2) {
        (0..n).for_each(|i| columns.swap(i, i + random.below(n - i)));
    }
    let mut text = if random.chance(2) { "\u{feff}".to_owned() } else { String::new() };
    let mut write_record = |cells: Vec<String>, random: &mut Random, end: &str| {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| {
                let needs_quotes = cell.contains([delimiter, '"', '\n', '\r']);
                let quoted = needs_quotes || random.chance(10);
                if quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() }
            })
            .collect();
        text += &cells.join(&delimiter.to_string());
        text += end;
    };
    write_record(columns.clone(), random, end);
    for (at, entity) in entities.iter().enumerate() {
        let cells = columns.iter().map(|column| match (column.as_str(), column.strip_suffix("@type")) {
            ("PartitionKey", _) => entity.key.partition.clone(),
            ("RowKey", _) => entity.key.row.clone(),
            ("Timestamp", _) => entity.timestamp.to_string(),
            (_, Some(name)) => entity.get(name).map_or(String::new(), |v| format!("{prefix}{}", v.edm_type())),
            (name, None) => entity.get(name).map_or(String::new(), Value::to_string),
        });
        let last = at + 1 == entities.len() && random.chance(2);
        write_record(cells.collect(), random, if last { "" } else { end });
    }
    text
}

#[test]
fn generated_entities_come_back_whatever_the_layout_and_the_pieces() {
    generated_entities_come_back(write_entities, decode_pieces);
}

#[test]
fn mutated_input_is_read_alike_in_any_pieces_and_never_panics() {
    let (mut errors, mut rejected, mut taken) = (0, 0, 0);
    for seed in 0..2500 {
        let mut random = Random::new(seed);
        let entities = entities(&mut random);
        let mut text = write_entities(&entities, &mut random).into_bytes();
        for _ in 0..1 + random.below(4) {
            if text.is_empty() {
                continue;
            }
            let at = random.below(text.len());
            let ways = if random.chance(5) { 5 } else { 3 };
            match random.below(ways) {
                0 => text[at] = *random.pick(b"\"\",;\t|\n\r@ 0eE-.Z\xff\x01"),
                1 => drop(text.remove(at)),
                2 => text.insert(at, *random.pick(b"\"\",;\t|\n\r@ 0\xc3")),
                3 => text.truncate(at),
                _ => {
                    let end = (at + random.below(100)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
            }
        }
        let whole = decode_pieces(&text, usize::MAX, 1 << 20, 1).map_err(|error| error.to_string());
        let (piece, chunk_bytes) = (1 + random.below(30), 1 + random.below(3000));
        let pieces = decode_pieces(&text, piece, chunk_bytes, 2).map_err(|error| error.to_string());
        assert_eq!(whole, pieces, "seed {seed}\n{}", String::from_utf8_lossy(&text));
        match whole {
            Ok((entities, rejects)) => {
                taken += usize::from(!entities.is_empty());
                rejected += usize::from(!rejects.is_empty());
            }
            Err(_) => errors += 1,
        }
    }
    assert!(errors > 300 && rejected > 300 && taken > 1000, "{errors} errors, {rejected} with rejects, {taken} taken");
}

#[test]
fn a_reader_that_fails_is_named() {
    let source = Source::stream("-", Box::new(io::Cursor::new("PartitionKey,RowKey\np,r\n").chain(Failing)));
    let names = Arc::new(PropertyNames::new());
    let options = DecodeOptions::default();
    let error: Error =
        decode(source, Format::TypedCsv, &names, &options, &Progress::new(), &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "-: cannot read it: the cable is out");
}
