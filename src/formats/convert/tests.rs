use super::*;

fn read(edm_type: EdmType, text: &str) -> Result<Value, String> {
    from_text(edm_type, text).map_err(|rejected| rejected.to_string())
}

#[test]
fn text_is_read_as_tools_write_it() {
    let at = |text: &str| Value::DateTime(DateTime::parse(text).unwrap());
    let cases = [
        (EdmType::Boolean, " TRUE ", Value::Boolean(true)),
        (EdmType::Boolean, "False", Value::Boolean(false)),
        (EdmType::Boolean, "1", Value::Boolean(true)),
        (EdmType::Int32, "42.0", Value::Int32(42)),
        (EdmType::Int64, "1e3", Value::Int64(1000)),
        (EdmType::Int64, "9223372036854775807", Value::Int64(i64::MAX)),
        (EdmType::Double, "-inf", Value::Double(f64::NEG_INFINITY)),
        (EdmType::Double, "7", Value::Double(7.0)),
        (EdmType::DateTime, "2024-05-01", at("2024-05-01T00:00:00Z")),
        (EdmType::DateTime, "2024-05-01 08:00:00.5 Z", at("2024-05-01T08:00:00.5Z")),
        (EdmType::Binary, r"b'\x00a\'\n'", Value::Binary(b"\0a'\n".to_vec())),
        (EdmType::Binary, "AAH+", Value::Binary(vec![0, 1, 254])),
        (EdmType::String, " x ", Value::String(" x ".to_owned())),
    ];
    for (edm_type, text, value) in cases {
        assert_eq!(read(edm_type, text), Ok(value), "{text}");
    }
    let braced = read(EdmType::Guid, "{0F8FAD5B-d9cb-469f-a165-70867728950e}").unwrap();
    assert_eq!(braced.to_string(), "0f8fad5b-d9cb-469f-a165-70867728950e");
    for (edm_type, text) in [
        (EdmType::Int32, "2147483648"),
        (EdmType::Int32, "1.5"),
        (EdmType::Int64, "1e300"),
        (EdmType::Int64, ""),
        (EdmType::Boolean, "yes"),
        (EdmType::Binary, "b'a"),
        (EdmType::DateTime, "1.5.2024"),
    ] {
        assert!(read(edm_type, text).is_err(), "{text}");
    }
}

#[test]
fn a_named_type_takes_integers_that_a_double_holds() {
    let cases = [
        ("9007199254740992", Some(9_007_199_254_740_992.0)),
        ("9007199254740993", None),
        ("-9007199254740994", Some(-9_007_199_254_740_994.0)),
        ("18014398509481984", Some(2_f64.powi(54))),
        ("0018014398509481984", Some(2_f64.powi(54))),
        ("18446744073709551616", Some(2_f64.powi(64))),
        ("18446744073709551617", None),
        ("1e22", Some(1e22)),
        ("10000000000000000000000", Some(1e22)),
        ("1.5", Some(1.5)),
        ("0.1", Some(0.1)),
        ("9007199254740993.0", Some(9_007_199_254_740_992.0)),
        ("000", Some(0.0)),
        ("inf", Some(f64::INFINITY)),
    ];
    for (text, double) in cases {
        assert_eq!(wanted(EdmType::Double, text).ok(), double.map(Value::Double), "{text}");
    }
    let refused = wanted(EdmType::Double, "9007199254740993").expect_err("refused").to_string();
    assert!(refused.contains("no Double without loss; the nearest is 9007199254740992"), "{refused}");
    assert_eq!(wanted(EdmType::Int64, "9007199254740993"), Ok(Value::Int64(9_007_199_254_740_993)));
    // A number that the input itself declares as Double is rounded.
    assert_eq!(from_text(EdmType::Double, "9007199254740993"), Ok(Value::Double(9_007_199_254_740_992.0)));
}

#[test]
fn a_text_that_is_too_long_may_be_a_binary() {
    let refused = |text: &str| validate_untyped_text("B", text).expect_err("refused").to_string();
    let base64 = Value::Binary(vec![7; 60_000]).to_string();
    assert!(refused(&base64).contains("a Binary of 60000 bytes, which --types B=Edm.Binary"), "{}", refused(&base64));
    let beyond = Value::Binary(vec![7; 70_000]).to_string();
    assert!(!refused(&beyond).contains("Binary"));
    assert!(!refused(&"x y".repeat(20_000)).contains("Binary"));
    assert_eq!(validate_untyped_text("B", &Value::Binary(vec![7; 20_000]).to_string()), Ok(()));
}

#[test]
fn values_change_their_type_only_without_loss() {
    let cases = [
        (Value::Int32(5), EdmType::Int64, Some(Value::Int64(5))),
        (Value::Int32(5), EdmType::String, Some("5".into())),
        (Value::Int64(1 << 40), EdmType::Int32, None),
        (Value::Int64((1 << 53) + 1), EdmType::Double, None),
        (Value::Int64((1 << 53) + 2), EdmType::Double, Some(Value::Double(9_007_199_254_740_994.0))),
        (Value::Int64(-(1 << 54)), EdmType::Double, Some(Value::Double(-18_014_398_509_481_984.0))),
        (Value::Int64(i64::MIN), EdmType::Double, Some(Value::Double(i64::MIN as f64))),
        (Value::Int64(i64::MAX), EdmType::Double, None),
        // As JavaScript writes 2^60.
        (Value::Int64(1_152_921_504_606_847_000), EdmType::Double, Some(Value::Double(2_f64.powi(60)))),
        (Value::Int64(1_152_921_504_606_847_001), EdmType::Double, None),
        (Value::Int64(-4), EdmType::Double, Some(Value::Double(-4.0))),
        (Value::Double(42.0), EdmType::Int32, Some(Value::Int32(42))),
        (Value::Double(0.5), EdmType::Int64, None),
        (Value::Double(f64::NAN), EdmType::Int64, None),
        (Value::Boolean(true), EdmType::Int32, None),
        (Value::Binary(vec![7; 16]), EdmType::Guid, Some(Value::Guid(uuid::Uuid::from_bytes([7; 16])))),
        (Value::Binary(vec![7; 15]), EdmType::Guid, None),
        (Value::Binary(vec![0]), EdmType::String, Some("AA==".into())),
        (Value::Int32(1), EdmType::DateTime, None),
    ];
    for (value, wanted, expected) in cases {
        assert_eq!(convert(ValueRef::from(&value), wanted).ok(), expected, "{value:?} as {wanted}");
    }
}

#[test]
fn what_pandas_writes_of_an_entity_property() {
    let text = "EntityProperty(value=5000000000, edm_type=<EdmType.INT64: 'Edm.Int64'>)";
    assert_eq!(entity_property(text), Some((EdmType::Int64, "5000000000")));
    assert_eq!(
        entity_property("EntityProperty(value='a, b', edm_type=<EdmType.STRING: 'Edm.String'>)"),
        Some((EdmType::String, "a, b"))
    );
    for other in ["EntityProperty(value=5)", "5", "EntityProperty(value=5, edm_type=<EdmType.X: 'Edm.X'>)"] {
        assert_eq!(entity_property(other), None, "{other}");
    }
}
