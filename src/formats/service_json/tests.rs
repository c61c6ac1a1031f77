use std::sync::Arc;

use crate::json_objects::tests::{Decoded, Failing, Pieces, decode_source, generated_entities_come_back};
use crate::{DecodeOptions, Error, Format, Place, Progress, Source, decode};
use rowkey_model::rows::PropertyNames;
use rowkey_model::rows::generated::{Random, entities};
use rowkey_model::{DateTime, EdmType, Entity, Key, Value};

fn decode_pieces(text: &[u8], piece: usize, chunk_bytes: usize, threads: usize) -> Result<Decoded, Error> {
    let mut source = Source::stream("in.json", Box::new(Pieces::of(text, piece)));
    // Damage may make it look like a tool's.
    assert!(matches!(source.detect()?, Format::ServiceJson | Format::Tool(_)));
    decode_source(source, Format::ServiceJson, text.len(), chunk_bytes, threads)
}

fn decode_text(text: &str) -> Result<Decoded, Error> {
    decode_pieces(text.as_bytes(), usize::MAX, 1 << 20, 2)
}

/// The property `V` of one entity with these members beside its keys, or the reason of its
/// rejection.
fn value_of(members: &str) -> Result<Option<Value>, String> {
    let text = format!(r#"[{{"PartitionKey":"p","RowKey":"r",{members}}}]"#);
    let (entities, rejects) = decode_text(&text).map_err(|error| error.to_string())?;
    match (&entities[..], &rejects[..]) {
        ([entity], []) => Ok(entity.get("V").cloned()),
        ([], [reject]) => Err(reject.reason.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unannotated_values_are_typed_by_their_form() {
    let cases = [
        ("1", Value::Int32(1)),
        ("-0", Value::Int32(0)),
        ("2147483647", Value::Int32(i32::MAX)),
        ("-2147483648", Value::Int32(i32::MIN)),
        ("2147483648", Value::Int64(2147483648)),
        ("-2147483649", Value::Int64(-2147483649)),
        ("9223372036854775807", Value::Int64(i64::MAX)),
        ("9223372036854775808", Value::Double(9223372036854775808.0)),
        ("12.0", Value::Double(12.0)),
        ("-0.0", Value::Double(-0.0)),
        ("1e3", Value::Double(1000.0)),
        ("1.2E+300", Value::Double(1.2e300)),
        ("0.1", Value::Double(0.1)),
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        (r#""""#, Value::String(String::new())),
        (r#""2024-05-01T08:00:00Z""#, Value::String("2024-05-01T08:00:00Z".into())),
        (r#""NaN""#, Value::String("NaN".into())),
        (r#""a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00z""#, Value::String("a\"\\/\u{8}\u{c}\n\r\té😀z".into())),
    ];
    for (json, expected) in cases {
        assert_eq!(value_of(&format!("\"V\":{json}")), Ok(Some(expected)), "{json}");
    }
    assert_eq!(value_of(r#""V":null"#), Ok(None));
}

#[test]
fn annotated_values_are_read_from_native_and_text_forms_wherever_the_annotation_is() {
    let at = DateTime::parse("2024-02-29T12:34:56.7890123Z").unwrap();
    let guid = Value::from_text(EdmType::Guid, "0f8fad5b-d9cb-469f-a165-70867728950e").unwrap();
    let cases = [
        ("Edm.Int64", r#""9007199254740993""#, Value::Int64(9007199254740993)),
        ("Edm.Int64", "9007199254740993", Value::Int64(9007199254740993)),
        ("Edm.Int32", r#""-7""#, Value::Int32(-7)),
        ("Edm.Int32", "7", Value::Int32(7)),
        ("Edm.Double", r#""1""#, Value::Double(1.0)),
        ("Edm.Double", "4", Value::Double(4.0)),
        ("Edm.Double", r#""NaN""#, Value::Double(f64::NAN)),
        ("Edm.Double", r#""-Infinity""#, Value::Double(f64::NEG_INFINITY)),
        ("Edm.Boolean", r#""true""#, Value::Boolean(true)),
        ("Edm.Boolean", "false", Value::Boolean(false)),
        ("Edm.String", r#""x""#, Value::String("x".into())),
        ("Edm.DateTime", r#""2024-02-29T12:34:56.7890123Z""#, Value::DateTime(at)),
        ("Edm.DateTime", r#""2024-02-29T14:34:56.7890123+02:00""#, Value::DateTime(at)),
        ("Edm.DateTime", r#""1601-01-01T00:00:00Z""#, Value::DateTime(DateTime::MIN)),
        ("Edm.DateTime", r#""9999-12-31T23:59:59.9999999Z""#, Value::DateTime(DateTime::MAX)),
        ("Edm.Guid", r#""0F8FAD5B-D9CB-469F-A165-70867728950E""#, guid),
        ("Edm.Binary", r#""AAH+\/w==""#, Value::Binary(vec![0, 1, 0xfe, 0xff])),
        ("Edm.Binary", r#""""#, Value::Binary(vec![])),
        ("Int64", r#""5""#, Value::Int64(5)),
    ];
    for (edm_type, json, expected) in cases {
        let (value, annotation) = (format!("\"V\":{json}"), format!("\"V@odata.type\":\"{edm_type}\""));
        for members in [
            format!("{annotation},{value}"),
            format!("{value},{annotation}"),
            format!("{annotation},\"A\":1,\"B@odata.type\":\"Edm.Int64\",\"B\":\"2\",{value}"),
            format!("{value},\"B\":\"2\",\"B@odata.type\":\"Edm.Int64\",{annotation}"),
        ] {
            assert_eq!(value_of(&members), Ok(Some(expected.clone())), "{members}");
        }
        assert_eq!(value_of(&format!("{annotation},\"V\":null")), Ok(None));
        assert_eq!(value_of(&annotation), Ok(None));
    }
    assert_eq!(value_of(r#""V@odata.type":"Edm.Decimal","V":null"#), Ok(None));
}

#[test]
fn annotations_may_stand_elsewhere_in_every_entity() {
    let members = [
        r#""V":"5","V@odata.type":"Edm.Int64","W":"x""#,
        r#""V":"5" , "V@odata.type" : "Edm.Int64" ,"W":"x""#,
        r#""V@odata.type":"Edm.Int64","V":"5","W":"x""#,
        r#""V":"5","W":"x","V@odata.type":"Edm.Int64""#,
        r#""V":"5","W":"x","W@odata.type":"Edm.String","V@odata.type":"Edm.Int64""#,
        r#""X":null,"X@odata.type":"Edm.Null","V":5,"V@odata.type":"Edm.Int64","W":"x""#,
    ];
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let picked: Vec<&str> = (0..12).map(|_| *random.pick(&members)).collect();
        let entity =
            |(n, members): (usize, &&str)| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{n:02}\",{members}}}");
        let text = picked.iter().enumerate().map(entity).collect::<Vec<_>>().join("\n");
        let (entities, rejects) = decode_text(&text).unwrap();
        assert_eq!((entities.len(), rejects.len()), (12, 0), "seed {seed}\n{text}");
        for entity in &entities {
            assert_eq!(entity.get("V"), Some(&Value::Int64(5)), "seed {seed}\n{text}");
            assert_eq!(entity.get("W"), Some(&Value::String("x".into())), "seed {seed}\n{text}");
            assert_eq!(entity.properties().len(), 2, "seed {seed}\n{text}");
        }
    }
    let twice = r#"{"PartitionKey":"p","RowKey":"1","V":"5","V@odata.type":"Edm.Int64","V@odata.type":"Edm.Int64"}"#;
    let (_, rejects) = decode_text(&format!("[{twice},{twice}]")).unwrap();
    assert!(rejects.len() == 2 && rejects[1].reason.contains("occurs twice"), "{rejects:?}");
}

#[test]
fn a_binary_whose_text_is_longer_than_a_string_may_be_may_be_annotated_behind() {
    let base64 = "AAAA".repeat(20_000);
    let read = value_of(&format!(r#""V":"{base64}","V@odata.type":"Edm.Binary""#));
    assert_eq!(read, Ok(Some(Value::Binary(vec![0; 60_000]))));
}

#[test]
fn what_breaks_a_rule_is_rejected_with_the_property_and_the_reason() {
    let long = "x".repeat(32 * 1024 + 1);
    let binary = "AAAA".repeat(22_000);
    let name = "n".repeat(256);
    let cases = [
        (r#""V":[1]"#.into(), "property V has an array"),
        (r#""V":{"a":1}"#.into(), "property V has an object"),
        (r#""V":1,"V":2"#.into(), "\"V\""),
        (r#""V":1e999"#.into(), "property V"),
        (r#""V@odata.type":"Edm.Int32","V":"2147483648""#.into(), "property V"),
        (r#""V@odata.type":"Edm.Int32","V":1.5"#.into(), "property V"),
        (r#""V@odata.type":"Edm.Int64","V":"9223372036854775808""#.into(), "property V"),
        (r#""V@odata.type":"Edm.Int64","V":true"#.into(), "property V is annotated as Edm.Int64 and has a boolean"),
        (r#""V@odata.type":"Edm.Binary","V":1234"#.into(), "property V is annotated as Edm.Binary and has a number"),
        (r#""V@odata.type":"Edm.String","V":12"#.into(), "property V is annotated as Edm.String and has a number"),
        (r#""V@odata.type":"Edm.Guid","V":"x""#.into(), "property V"),
        (r#""V@odata.type":"Edm.DateTime","V":"1600-12-31T23:59:59Z""#.into(), "property V"),
        (r#""V":"x","V@odata.type":"Edm.DateTime""#.into(), "property V"),
        (r#""V@odata.type":"Edm.Decimal","V":"1""#.into(), "property V has the type \"Edm.Decimal\""),
        (r#""V@odata.type":5,"V":"1""#.into(), "the type of property V"),
        (
            r#""V@odata.type":"Edm.Guid","V@odata.type":"Edm.Guid","V":"1""#.into(),
            "the type of property V occurs twice",
        ),
        (
            r#""V@odata.type":"Edm.Int64","V":"1","V@odata.type":"Edm.Int64""#.into(),
            "the type of property V occurs twice",
        ),
        (r#""V":"\ud800""#.into(), "lone surrogate"),
        (r#""V":"\ud800\u0041""#.into(), "lone surrogate"),
        (r#""V":"\udc00x""#.into(), "lone surrogate"),
        (r#""Timestamp":5"#.into(), "Timestamp"),
        (r#""Timestamp":"yesterday""#.into(), "Timestamp"),
        (r#""Timestamp":null,"Timestamp":null"#.into(), "Timestamp occurs twice"),
        (r#""RowKey":"r""#.into(), "RowKey occurs twice"),
        (r#""a-b":1"#.into(), "a-b"),
        (format!(r#""{name}":1"#), "255"),
        (format!(r#""V":"{long}""#), "property V"),
        (format!(r#""V@odata.type":"Edm.Binary","V":"{binary}""#), "property V"),
        ((0..253).map(|i| format!("\"P{i}\":1")).collect::<Vec<_>>().join(","), "252"),
        ((0..17).map(|i| format!("\"P{i}\":\"{}\"", &long[1..])).collect::<Vec<_>>().join(","), "1048576"),
    ];
    for (members, expected) in cases {
        let shown = &members[..members.len().min(80)];
        match value_of(&members) {
            Err(reason) => assert!(reason.contains(expected), "{shown}: {reason}"),
            Ok(value) => panic!("{shown} was taken as {value:?}"),
        }
    }
}

#[test]
fn keys_are_required_strings_and_may_be_empty() {
    let cases = [
        (r#"{"RowKey":"r"}"#, "the entity has no PartitionKey"),
        (r#"{"PartitionKey":"p"}"#, "the entity has no RowKey"),
        (r#"{"PartitionKey":null,"RowKey":"r"}"#, "PartitionKey is a string"),
        (r#"{"PartitionKey":"p","RowKey":7}"#, "RowKey is a string"),
        (r#"{"PartitionKey":"a/b","RowKey":""}"#, "PartitionKey \"a/b\""),
        (r#"{"PartitionKey":"","RowKey":"a\u0000b"}"#, "RowKey"),
        (r#"{}"#, "the entity has no PartitionKey"),
    ];
    for (entity, expected) in cases {
        let (entities, rejects) = decode_text(&format!("[{entity}]")).unwrap();
        assert!(entities.is_empty() && rejects[0].reason.contains(expected), "{entity}: {rejects:?}");
    }
    let (entities, _) = decode_text(
        r#"{"PartitionKey@odata.type":"Edm.String","PartitionKey":"","RowKey@odata.type":"Edm.String","RowKey":"\u0041'"}"#,
    )
    .unwrap();
    assert_eq!(entities[0].key, Key::new("", "A'"));
}

#[test]
fn metadata_is_skipped_and_timestamp_kept_in_every_level() {
    let full = r#"{"odata.metadata":"m","value":[{"odata.type":"a.T","odata.id":"https://x/T(PartitionKey='p',RowKey='r')",
        "odata.etag":"W/\"datetime'2024-01-01T00%3A00%3A00.1234567Z'\"","odata.editLink":"T('}')","odata.x":[{"]":1}],
        "PartitionKey":"p","RowKey":"r","Timestamp@odata.type":"Edm.DateTime","Timestamp":"2024-01-01T00:00:00.1234567Z",
        "N@odata.type":"Edm.Int64","N":"5","N@odata.other":"x"}]}"#;
    let plain = r#"{"value":[{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-01T00:00:00.1234567Z","N":5}]}"#;
    let (full, rejects) = decode_text(full).unwrap();
    assert_eq!(rejects, []);
    assert_eq!(full[0].timestamp.to_string(), "2024-01-01T00:00:00.1234567Z");
    assert_eq!(full[0].properties().collect::<Vec<_>>(), [("N", &Value::Int64(5))]);
    let (plain, _) = decode_text(plain).unwrap();
    assert_eq!(plain[0].timestamp, full[0].timestamp);
    assert_eq!(plain[0].get("N"), Some(&Value::Int32(5)));
}

#[test]
fn every_shape_of_input_is_read() {
    let e = |n: u32| format!(r#"{{"PartitionKey":"p","RowKey":"{n}","V":"}},{{[\"{n}\\"}}"#);
    let (a, b, c) = (e(1), e(2), e(3));
    let pretty = c.replace(",\"", ",\r\n  \"").replacen('{', "{\r\n  ", 1);
    let cases = [
        ("", 0),
        (" \n ", 0),
        ("[]", 0),
        (r#"{"odata.metadata":"m","value":[]}"#, 0),
        (&a, 1),
        (&format!("{a}\n{b}\n{c}"), 3),
        (&format!("{a}\r\n\r\n{b}\r\n{c}\r\n"), 3),
        (&format!("{a},\n{b},\n{c}\n"), 3),
        (&format!("{a} {b}{c}"), 3),
        (&format!("{a},{b},{c}"), 3),
        (&format!("[{a},{b},{c}]"), 3),
        (&format!("[\n{a}\n,\n{b},\n{c}\n]\n"), 3),
        (&format!("[{a}]\n[{b},{c}]"), 3),
        (&format!(r#"{{"value":[{a},{b}],"x":{{"value":[1]}},"odata.nextLink":"]}}"}} {{"value" : [ {c} ]}}"#), 3),
        (&format!(r#"{{"value":[{a}],"value":[{b},{c}]}}"#), 3),
        (&format!("{{\"value\":[\n{a},\n{b},\n{c}\n]}}"), 3),
        (&format!("{{\"value\":[{a}]}}\n{{\"value\":[{b},{c}]}}\n"), 3),
        (&format!("{{\"value\":[{a}]}}\n{b}\n[{c}]"), 3),
        (&format!("{pretty}\n"), 1),
        (&format!("{a}\n{b}\n{pretty}\n}}").replace("}\n}", "\n}"), 3),
    ];
    for (text, count) in cases {
        for text in [text.to_owned(), format!("\u{feff}{text}")] {
            let (entities, rejects) = decode_text(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((entities.len(), rejects.len()), (count, 0), "{text} {rejects:?}");
            for (n, entity) in entities.iter().enumerate() {
                if count == 3 {
                    assert_eq!(entity.get("V"), Some(&Value::String(format!("}},{{[\"{}\\", n + 1))), "{text}");
                }
            }
        }
    }
}

#[test]
fn broken_json_ends_the_input_with_its_line() {
    let e = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let cases = [
        (format!("[{e},\n{e}\n{e}]"), 3, "a comma or the end of the array"),
        (format!("[{e},\n1]"), 2, "an entity was expected"),
        (format!("[{e},\n]"), 2, "an entity was expected"),
        (format!("[\n\n{e},\n{e}"), 4, "incomplete"),
        (format!("{{\"value\":[{e}\n"), 2, "incomplete"),
        (format!("[{e},\n{{\"a"), 2, "incomplete"),
        (format!("[\n{e},\n{{\"PartitionKey\":\n\"p\",\"V\":tru}}]"), 4, "a value was expected"),
        (format!("[\n{e},\n{{\"PartitionKey\" \"p\"}}]"), 3, "\":\""),
        (format!("[\n{e},\n{{\"V\":01}}]"), 3, "\",\" or \"}\""),
        (format!("[\n{e},\n{{\"V\":NaN}}]"), 3, "a value was expected"),
        (format!("[\n{e},\n{{\"V\":-}}]"), 3, "a digit"),
        (format!("[\n{e},\n{{\"V\":\"\\x\"}}]"), 3, "an escape"),
        (format!("[\n{e},\n{{\"V\":\"\\u12g4\"}}]"), 3, "four hexadecimal digits"),
        (format!("[\n{e},\n{{\"V\":\"a\tb\"}}]"), 3, "control character"),
        (format!("[\n{e},\n{{\"V\":1,}}]"), 3, "was expected"),
        (format!("[{e}]\n]"), 2, "an entity, a page or an array"),
    ];
    for (text, line, expected) in cases {
        match decode_text(&text) {
            Err(Error::Syntax { input, place, reason }) => {
                assert!(reason.contains(expected), "{text}: {reason}");
                assert_eq!((&*input, place), ("in.json", Place::Line(line)), "{text}: {reason}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_bad_line_is_rejected_alone() {
    let e = |n: u32| format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#);
    let lines = [
        e(1),
        r#"{"PartitionKey":"p","RowKey":"x"#.into(),
        String::new(),
        "garbage".into(),
        e(2),
        format!("{}{}", e(8), e(9)),
        r#"{"PartitionKey":"p","RowKey":"y","V":"\ud800"}"#.into(),
        r#"["PartitionKey"]"#.into(),
        e(3),
    ];
    let (entities, rejects) = decode_text(&lines.join("\n")).unwrap();
    assert_eq!(entities.iter().map(|e| e.key.row.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
    let places: Vec<_> = rejects.iter().map(|reject| reject.place).collect();
    assert_eq!(places, [2, 4, 6, 7, 8].map(Place::Line));
    assert!(rejects[0].to_string().starts_with("in.json:2: "), "{}", rejects[0]);
}

#[test]
fn text_that_is_not_utf8_rejects_its_entity() {
    let e = |n: u32| format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#).into_bytes();
    let bad = b"{\"PartitionKey\":\"p\",\"RowKey\":\"\xff\"}".to_vec();
    for (open, separator, close) in [("", "\n", "\n"), ("[", ",\n", "]")] {
        let text = [open.as_bytes(), &[e(1), bad.clone(), e(2)].join(separator.as_bytes()), close.as_bytes()].concat();
        let (entities, rejects) = decode_pieces(&text, usize::MAX, 1 << 20, 2).unwrap();
        assert_eq!((entities.len(), rejects.len()), (2, 1));
        assert_eq!(rejects[0].place, Place::Line(2));
        assert!(rejects[0].reason.contains("not UTF-8"));
    }
}

/// Writes entities in a random shape and spelling.
fn write_entities(entities: &[Entity], random: &mut Random) -> String {
    let (open, separator, close) = *random.pick(&[
        ("", "\n", "\n"),
        ("", ",\n", ""),
        ("", "  ", ""),
        ("[", ",", "]"),
        ("[\n", " ,\r\n", "\n]"),
        ("{\"odata.metadata\":\"x\",\"value\":[", ",", "]}"),
        ("{ \"value\" : [\n", ",\n", "\n], \"odata.nextLink\" : \"y\"}\n{\"value\":[]}"),
    ]);
    let texts: Vec<String> = entities.iter().map(|entity| write_entity(entity, separator != "\n", random)).collect();
    open.to_owned() + &texts.join(separator) + close
}

fn write_entity(entity: &Entity, may_break: bool, random: &mut Random) -> String {
    let mut members = vec![
        format!("\"PartitionKey\":{}", write_string(&entity.key.partition, random)),
        format!("\"RowKey\":{}", write_string(&entity.key.row, random)),
        format!("\"Timestamp\":\"{}\"", entity.timestamp),
    ];
    for (name, value) in entity.properties() {
        let text = value.to_string();
        let (annotated, native) = match value {
            Value::String(_) | Value::Boolean(_) | Value::Int32(_) => {
                (random.chance(4), !matches!(value, Value::String(_)))
            }
            Value::Double(double) if double.is_finite() => (random.chance(4), true),
            _ => (true, false),
        };
        let native = native && !(annotated && random.chance(2));
        let json = if native { text } else { write_string(&text, random) };
        members.push(format!("\"{name}\":{json}"));
        if annotated {
            members.push(format!("\"{name}@odata.type\":\"Edm.{}\"", value.edm_type()));
        }
    }
    if random.chance(3) {
        members.push("\"odata.etag\":\"W/\\\"x}\\\"\"".to_owned());
    }
    if random.chance(2) {
        let n = members.len();
        (0..n).for_each(|i| members.swap(i, i + random.below(n - i)));
    }
    let blank = if may_break { *random.pick(&["", " ", "\n\t"]) } else { *random.pick(&["", " "]) };
    format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},{blank}")))
}

fn write_string(text: &str, random: &mut Random) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        if c == '"' || c == '\\' {
            json.push('\\');
            json.push(c);
        } else if c < ' ' || random.chance(20) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
        } else {
            json.push(c);
        }
    }
    json + "\""
}

#[test]
fn generated_entities_come_back_whatever_the_spelling_and_the_pieces() {
    generated_entities_come_back(write_entities, decode_pieces);
}

#[test]
fn damaged_input_is_refused_alike_in_any_pieces_and_never_panics() {
    let (mut errors, mut rejected) = (0, 0);
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let entities = entities(&mut random);
        let mut text = write_entities(&entities, &mut random).into_bytes();
        for _ in 0..1 + random.below(3) {
            if text.is_empty() {
                continue;
            }
            let at = random.below(text.len());
            match random.below(4) {
                0 => text[at] = *random.pick(b"\"\\{}[],:\n 0eE-.tnu\xff\x01"),
                1 => drop(text.remove(at)),
                2 => text.insert(at, *random.pick(b"\"\\{}[],:\n 0\xc3")),
                _ => text.truncate(at),
            }
        }
        if Format::detect(&text[..text.len().min(512)], "x").is_err() {
            continue;
        }
        let chunk_bytes = 1 + random.below(3000);
        let whole = decode_pieces(&text, usize::MAX, 1 << 20, 1).map_err(|error| error.to_string());
        let pieces = decode_pieces(&text, 1 + random.below(30), chunk_bytes, 2).map_err(|error| error.to_string());
        let shown = String::from_utf8_lossy(&text);
        match (&whole, &pieces) {
            (Ok(whole), Ok(pieces)) => {
                assert_eq!(whole, pieces, "seed {seed}\n{shown}");
                rejected += usize::from(!whole.1.is_empty());
            }
            // Which of several errors comes first may depend on the pieces.
            (Err(_), Err(_)) => errors += 1,
            _ => panic!("seed {seed}: {whole:?} against {pieces:?}\n{shown}"),
        }
    }
    assert!(errors > 200 && rejected > 100, "{errors} errors, {rejected} with rejects");
}

#[test]
fn long_lines_are_cut_at_line_ends_only() {
    // More than the text that the shape is told from, so that batches of a few bytes are cut.
    let mut expected = Vec::new();
    let mut text = String::new();
    for n in 0..3000 {
        let bad = n % 7 == 3;
        text += &if bad {
            "{\"PartitionKey\":\n".to_owned()
        } else {
            format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{n:05}\"}}\r\n")
        };
        if !bad {
            expected.push(format!("{n:05}"));
        }
    }
    for (piece, chunk_bytes) in [(usize::MAX, 1 << 20), (1000, 1), (7, 100)] {
        let (entities, rejects) = decode_pieces(text.as_bytes(), piece, chunk_bytes, 2).unwrap();
        assert_eq!(entities.iter().map(|e| e.key.row.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(rejects.len() + expected.len(), 3000);
        assert!(rejects.iter().enumerate().all(|(i, reject)| reject.place == Place::Line(7 * i as u64 + 4)));
    }
}

#[test]
fn a_reader_that_fails_is_named() {
    let names = Arc::new(PropertyNames::new());
    let source = Source::stream("-", Box::new(Failing));
    let options = DecodeOptions::default();
    let error: Error =
        decode(source, Format::ServiceJson, &names, &options, &Progress::new(), &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "-: cannot read it: the cable is out");
}
