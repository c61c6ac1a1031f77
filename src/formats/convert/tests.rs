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
fn values_change_their_type_only_without_loss() {
    let cases = [
        (Value::Int32(5), EdmType::Int64, Some(Value::Int64(5))),
        (Value::Int32(5), EdmType::String, Some("5".into())),
        (Value::Int64(1 << 40), EdmType::Int32, None),
        (Value::Int64((1 << 53) + 1), EdmType::Double, None),
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
