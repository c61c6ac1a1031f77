use super::*;
use rowkey_base::testing::Dice;
use rowkey_model::rows::generated::{Random, entities};
use rowkey_model::{DateTime, EdmType, Entity, EntityBuilder, Key, KeyRef, Rule, Value};

fn encoded(entity: &Entity, level: MetadataLevel) -> String {
    let mut json = Vec::new();
    EntityEncoder::new(level, &TableAddress::in_azure("acct", "Orders")).encode(entity, &entity.etag(), &mut json);
    String::from_utf8(json).unwrap()
}

/// The property `V` of a request's body with these members beside its keys.
fn value_of(members: &str) -> Result<Option<Value>, EntityJsonError> {
    let text = format!(r#"{{"PartitionKey":"p","RowKey":"r",{members}}}"#);
    Ok(EntityDecoder::for_requests().decode(&text, None)?.get("V").cloned())
}

/// The specification's example, section 2.5.
fn example() -> Entity {
    let at = DateTime::parse("2024-01-01T00:00:00.1234567Z").unwrap();
    let order = EntityBuilder::new(Key::new("p", "r")).timestamp(at).property("N", 5_i64).property("D", 1.5);
    order.build().unwrap()
}

#[test]
fn entities_are_written_as_the_specification_has_them() {
    let none = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-01T00:00:00.1234567Z","D":1.5,"N":"5"}"#;
    let minimal = concat!(
        r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#Orders/@Element","#,
        r#""odata.etag":"W/\"datetime'2024-01-01T00%3A00%3A00.1234567Z'\"","#,
        r#""PartitionKey":"p","RowKey":"r","Timestamp":"2024-01-01T00:00:00.1234567Z","#,
        r#""D":1.5,"N@odata.type":"Edm.Int64","N":"5"}"#,
    );
    let full = concat!(
        r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#Orders/@Element","#,
        r#""odata.type":"acct.Orders","#,
        r#""odata.id":"https://acct.table.core.windows.net/Orders(PartitionKey='p',RowKey='r')","#,
        r#""odata.etag":"W/\"datetime'2024-01-01T00%3A00%3A00.1234567Z'\"","#,
        r#""odata.editLink":"Orders(PartitionKey='p',RowKey='r')","#,
        r#""PartitionKey":"p","RowKey":"r","#,
        r#""Timestamp@odata.type":"Edm.DateTime","Timestamp":"2024-01-01T00:00:00.1234567Z","#,
        r#""D":1.5,"N@odata.type":"Edm.Int64","N":"5"}"#,
    );
    for (level, expected) in MetadataLevel::ALL.into_iter().zip([none, minimal, full]) {
        assert_eq!(encoded(&example(), level), expected, "{level:?}");
    }
}

#[test]
fn elements_of_a_feed_have_no_context_of_their_own() {
    let table = TableAddress::new("acct", "http://127.0.0.1:10002/acct/", "Orders");
    assert_eq!(table.feed_context(), "http://127.0.0.1:10002/acct/$metadata#Orders");
    for (level, expected) in MetadataLevel::ALL.into_iter().zip([
        r#"{"PartitionKey":"p","#,
        r#"{"odata.etag":"x","PartitionKey":"p","#,
        r#"{"odata.type":"acct.Orders","odata.id":"http://127.0.0.1:10002/acct/Orders(PartitionKey='p',RowKey='r')","odata.etag":"x","#,
    ]) {
        let mut json = Vec::new();
        EntityEncoder::new(level, &table).encode_in_feed(&example(), &mut json);
        let etag = serde_json::Value::from(example().etag()).to_string();
        let (json, expected) = (String::from_utf8(json).unwrap(), expected.replace("\"x\"", &etag));
        assert!(json.starts_with(&expected), "{level:?}: {json}");
    }
}

#[test]
fn links_double_quotes_and_escape_what_a_url_does_not_take() {
    let table = TableAddress::in_azure("acct", "Orders");
    let key = KeyRef { partition: "O'Brien & Söhne", row: "" };
    let path = "Orders(PartitionKey='O''Brien%20%26%20S%C3%B6hne',RowKey='')";
    assert_eq!(table.entity_url(key), format!("https://acct.table.core.windows.net/{path}"));
}

#[test]
fn values_are_written_as_the_service_does() {
    let guid = Value::from_text(EdmType::Guid, "0F8FAD5B-D9CB-469F-A165-70867728950E").unwrap();
    let cases = [
        (Value::Double(3.0), "3.0", None),
        (Value::Double(1.23456789012346e24), "1.23456789012346E+24", None),
        (Value::Double(-0.0), "-0.0", None),
        (Value::Double(f64::NAN), "\"NaN\"", Some("Double")),
        (Value::Double(f64::INFINITY), "\"Infinity\"", Some("Double")),
        (Value::Double(f64::NEG_INFINITY), "\"-Infinity\"", Some("Double")),
        (Value::Int32(-5), "-5", None),
        (Value::Int64(i64::MIN), "\"-9223372036854775808\"", Some("Int64")),
        (Value::Boolean(true), "true", None),
        (Value::String("a\"b\n".into()), r#""a\"b\n""#, None),
        (Value::Binary(vec![0, 0xfe, 0xff]), "\"AP7/\"", Some("Binary")),
        (guid, "\"0f8fad5b-d9cb-469f-a165-70867728950e\"", Some("Guid")),
        (
            Value::DateTime(DateTime::parse("2020-01-01T01:02:13.3773350Z").unwrap()),
            "\"2020-01-01T01:02:13.377335Z\"",
            Some("DateTime"),
        ),
    ];
    for (value, json, annotated) in cases {
        let entity = EntityBuilder::new(Key::new("p", "r")).property("V", value).build().unwrap();
        let annotation = annotated.map(|name| format!("\"V@odata.type\":\"Edm.{name}\",")).unwrap_or_default();
        assert!(encoded(&entity, MetadataLevel::None).ends_with(&format!("Z\",\"V\":{json}}}")), "{json}");
        for level in [MetadataLevel::Minimal, MetadataLevel::Full] {
            let text = encoded(&entity, level);
            assert!(text.ends_with(&format!("Z\",{annotation}\"V\":{json}}}")), "{text}");
        }
    }
}

#[test]
fn bodies_for_requests_are_typed_by_annotation_or_form() {
    let cases = [
        // As the SDKs of Python, .NET and JavaScript send them.
        (r#""V":"5","V@odata.type":"Edm.Int64""#, Value::Int64(5)),
        (r#""V@odata.type":"Edm.Double","V":4"#, Value::Double(4.0)),
        (r#""V":"1","V@odata.type":"Edm.Double""#, Value::Double(1.0)),
        (r#""V":"true","V@odata.type":"Edm.Boolean""#, Value::Boolean(true)),
        (r#""V@odata.type":"Edm.Int64","V":5"#, Value::Int64(5)),
        (r#""V":1"#, Value::Int32(1)),
        (r#""V":1.0"#, Value::Double(1.0)),
        (r#""V":2147483647"#, Value::Int32(i32::MAX)),
        (r#""V":2147483648"#, Value::Double(2147483648.0)),
        (r#""V":"2024-05-01T08:00:00Z""#, Value::String("2024-05-01T08:00:00Z".into())),
        (r#""V":false"#, Value::Boolean(false)),
    ];
    for (members, expected) in cases {
        assert_eq!(value_of(members), Ok(Some(expected)), "{members}");
    }
    assert_eq!(value_of(r#""V":null"#), Ok(None));
    assert_eq!(value_of(r#""V":null,"V@odata.type":"Edm.Guid""#), Ok(None));
    let answered = r#"{"PartitionKey":"p","RowKey":"r","V":2147483648}"#;
    let answered = EntityDecoder::for_answers().decode(answered, None).unwrap();
    assert_eq!(answered.get("V"), Some(&Value::Int64(2147483648)));
}

#[test]
fn what_a_request_says_of_system_properties_is_not_taken() {
    for members in [
        r#""Timestamp":null"#,
        r#""Timestamp":"yesterday""#,
        r#""Timestamp@odata.type":"Edm.DateTime","Timestamp":"2024-01-01T00:00:00Z""#,
        r#""odata.etag":"W/\"x\"","odata.metadata":"m","odata.id":7,"odata.error":{"a":[1]}"#,
        r#""PartitionKey@odata.type":"Edm.String""#,
    ] {
        let text = format!(r#"{{"PartitionKey":"p","RowKey":"r","V":1,{members}}}"#);
        let entity = EntityDecoder::for_requests().decode(&text, None).unwrap();
        assert_eq!(entity.timestamp, DateTime::MIN, "{members}");
        assert_eq!(entity.properties().collect::<Vec<_>>(), [("V", &Value::Int32(1))], "{members}");
    }
    let answer = r#"{"PartitionKey":"p","RowKey":"r","Timestamp":"yesterday"}"#;
    let error = EntityDecoder::for_answers().decode(answer, None).unwrap_err();
    assert!(error.to_string().starts_with("Timestamp \"yesterday\" is not allowed: "), "{error}");
}

#[test]
fn the_key_of_a_url_stands_for_that_of_the_body() {
    let mut decoder = EntityDecoder::for_requests();
    let key = KeyRef { partition: "p", row: "r" };
    for body in [
        r#"{"V":1}"#,
        r#"{"PartitionKey":"x","RowKey":"y","V":1}"#,
        r#"{"RowKey":"y","V":1}"#,
        r#"{"PartitionKey":null,"V":1,"RowKey":null}"#,
    ] {
        assert_eq!(decoder.decode(body, Some(key)).unwrap().key, Key::new("p", "r"), "{body}");
    }
    assert_eq!(decoder.decode("{}", Some(key)).unwrap().properties().len(), 0);
    let bad = KeyRef { partition: "a/b", row: "r" };
    let error = decoder.decode("{}", Some(bad)).unwrap_err();
    assert!(matches!(&error, EntityJsonError::Rejected(rejected) if rejected.rule == Rule::KeyCharacter), "{error}");
}

#[test]
fn keys_of_a_body_are_required_texts() {
    use EntityJsonError::{KeyIsNumber, KeyMissing, KeyNotText, Twice};
    let cases = [
        ("{}", KeyMissing("PartitionKey")),
        (r#"{"V":1,"odata.etag":"x"}"#, KeyMissing("PartitionKey")),
        (r#"{"RowKey":"r"}"#, KeyMissing("PartitionKey")),
        (r#"{"PartitionKey":"p"}"#, KeyMissing("RowKey")),
        (r#"{"PartitionKey":"p","RowKey":null}"#, KeyNotText("RowKey".to_owned())),
        (r#"{"PartitionKey":7,"RowKey":"r"}"#, KeyIsNumber("PartitionKey".to_owned())),
        (r#"{"PartitionKey":"p","PartitionKey":"p","RowKey":"r"}"#, Twice("PartitionKey".to_owned())),
    ];
    for (body, expected) in cases {
        assert_eq!(EntityDecoder::for_requests().decode(body, None), Err(expected), "{body}");
    }
    let empty = r#"{"PartitionKey":"","RowKey":""}"#;
    assert_eq!(EntityDecoder::for_requests().decode(empty, None).unwrap().key, Key::new("", ""));
}

#[test]
fn a_body_names_each_property_once() {
    let key = KeyRef { partition: "p", row: "r" };
    for (body, what) in [
        (r#"{"V":1,"V":null}"#, "property V"),
        (r#"{"V":null,"V":1}"#, "property V"),
        (r#"{"W":1,"V":null,"U":true,"V":null}"#, "property V"),
        (r#"{"V":null,"V":"5","V@odata.type":"Edm.Int64"}"#, "property V"),
        (r#"{"V@odata.type":"Edm.Other","V":null,"V":null}"#, "property V"),
        (r#"{"V@odata.type":"Edm.Int64","V@odata.type":"Edm.Int64","V":null}"#, "the type of property V"),
        (r#"{"Timestamp":null,"Timestamp":null}"#, "Timestamp"),
        (r#"{"RowKey":null,"RowKey":"r"}"#, "RowKey"),
    ] {
        let decoded = EntityDecoder::for_requests().decode(body, Some(key));
        assert_eq!(decoded, Err(EntityJsonError::Twice(what.to_owned())), "{body}");
    }
    // Names that differ in their case are different ones.
    let both = EntityDecoder::for_requests().decode(r#"{"V":null,"v":1}"#, Some(key)).unwrap();
    assert_eq!(both.properties().collect::<Vec<_>>(), [("v", &Value::Int32(1))]);
}

#[test]
fn what_breaks_a_rule_is_refused_with_the_property_and_the_rule() {
    let long = "x".repeat(32 * 1024 + 1);
    let binary = "AAAA".repeat(22_000);
    let name = "n".repeat(256);
    let many = (0..253).map(|n| format!("\"P{n}\":1")).collect::<Vec<_>>().join(",");
    let large = (0..17).map(|n| format!("\"P{n}\":\"{}\"", &long[1..])).collect::<Vec<_>>().join(",");
    let cases = [
        (r#""V":1,"V":2"#.to_owned(), Rule::PropertyTwice),
        (r#""a-b":1"#.to_owned(), Rule::PropertyName),
        (format!(r#""{name}":1"#), Rule::PropertyNameLength),
        (format!(r#""V":"{long}""#), Rule::StringLength),
        (format!(r#""V":"{binary}""#), Rule::StringLength),
        (format!(r#""V":"{binary}","V@odata.type":"Edm.Binary""#), Rule::BinaryLength),
        (r#""V":"1600-12-31T23:59:59Z","V@odata.type":"Edm.DateTime""#.to_owned(), Rule::DateTimeRange),
        (r#""V":"2024-01-01T00:00:00.12345678Z","V@odata.type":"Edm.DateTime""#.to_owned(), Rule::Unreadable),
        (r#""V":13e7705"#.to_owned(), Rule::Unreadable),
        (r#""V":"2147483648","V@odata.type":"Edm.Int32""#.to_owned(), Rule::Unreadable),
        (many, Rule::PropertyCount),
        (large, Rule::EntitySize),
    ];
    for (members, rule) in cases {
        let shown = &members[..members.len().min(60)];
        match value_of(&members) {
            Err(EntityJsonError::Rejected(rejected)) => {
                assert_eq!(rejected.rule, rule, "{shown}: {rejected}");
                // What an import offers is none of a request's.
                assert!(!rejected.limit.contains("--types"), "{shown}: {rejected}");
            }
            other => panic!("{shown}: {other:?}"),
        }
    }
    let cases = [
        (r#""V@odata.type":"Edm.Decimal","V":"1""#, "property V has the type \"Edm.Decimal\", which is none of the"),
        (r#""V@odata.type":"Edm.Int64","V":true"#, "property V is annotated as Edm.Int64 and has a boolean"),
        (r#""V":[1]"#, "property V has an array; values of entities are not nested"),
        (r#""V":"\ud800""#, "a text holds the lone surrogate \\ud800"),
        (r#""V":01"#, "\",\" or \"}\" was expected, this is \"1}\" (at byte 38)"),
    ];
    for (members, expected) in cases {
        let error = value_of(members).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{members}: {error}");
    }
    for text in ["", "[]", "{", r#"{"PartitionKey":"p","RowKey":"r"} {}"#] {
        let error = EntityDecoder::for_requests().decode(text, None).unwrap_err();
        assert!(matches!(error, EntityJsonError::Syntax { .. }), "{text}: {error}");
    }
}

#[test]
fn levels_are_told_by_name() {
    for level in MetadataLevel::ALL {
        assert_eq!(MetadataLevel::parse(level.name()), Some(level));
        assert_eq!(MetadataLevel::parse(&level.name().to_uppercase()), Some(level));
    }
    assert_eq!(MetadataLevel::parse("verbose"), None);
}

#[test]
fn a_decoder_forgets_names_and_goes_on() {
    let mut decoder = EntityDecoder::for_requests();
    for n in 0..10_000 {
        let body = format!(r#"{{"PartitionKey":"p","RowKey":"r","P{n}":{n}}}"#);
        assert_eq!(decoder.decode(&body, None).unwrap().get(&format!("P{n}")), Some(&Value::Int32(n)));
    }
}

/// What is left of a value where its annotation is.
fn without_annotation(value: &Value) -> Value {
    match value {
        Value::Boolean(_) | Value::Int32(_) | Value::String(_) => value.clone(),
        Value::Double(number) if number.is_finite() => value.clone(),
        Value::Binary(_) | Value::DateTime(_) | Value::Double(_) | Value::Guid(_) | Value::Int64(_) => {
            Value::String(value.to_string())
        }
    }
}

#[test]
fn generated_entities_come_back_at_every_level() {
    let mut answers = EntityDecoder::for_answers();
    let mut requests = EntityDecoder::for_requests();
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let generated = entities(&mut Random::new(dice.next_u64()));
        for (entity, level) in generated.iter().flat_map(|entity| MetadataLevel::ALL.map(|level| (entity, level))) {
            let expected = match level {
                MetadataLevel::Minimal | MetadataLevel::Full => entity.clone(),
                MetadataLevel::None => {
                    let parts = entity.parts().iter();
                    let parts = parts.map(|(name, value)| (name.clone(), without_annotation(value))).collect();
                    Entity::from_parts(entity.key.clone(), entity.timestamp, parts)
                }
            };
            let json = encoded(entity, level);
            let shown = format!("seed {seed}, {level:?}: {json}");
            assert_eq!(answers.decode(&json, None).as_ref(), Ok(&expected), "{shown}");
            let mut requested = expected;
            requested.timestamp = DateTime::MIN;
            assert_eq!(requests.decode(&json, dice.chance(2).then(|| entity.key.as_ref())), Ok(requested), "{shown}");
        }
    }
}

#[test]
fn a_selection_is_written_in_its_order_with_nulls() {
    let orders = TableAddress::in_azure("acct", "Orders");
    let order = EntityBuilder::new(Key::new("p", "r")).property("N", 5_i64).property("D", 1.5).build().unwrap();
    let select = ["D", "xyz", "RowKey", "N"].map(str::to_owned);
    let written = |level| {
        let mut json = Vec::new();
        let encoder = EntityEncoder::selecting(level, &orders, &select, "&$select=D,xyz,RowKey,N");
        encoder.encode(&order, "W/\"e\"", &mut json);
        String::from_utf8(json).unwrap()
    };
    assert_eq!(written(MetadataLevel::None), r#"{"D":1.5,"xyz":null,"RowKey":"r","N":"5"}"#);
    assert_eq!(
        written(MetadataLevel::Minimal),
        r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#Orders/@Element&$select=D,xyz,RowKey,N","odata.etag":"W/\"e\"","D":1.5,"xyz":null,"RowKey":"r","N@odata.type":"Edm.Int64","N":"5"}"#
    );
}
