use super::*;

fn read(edm_type: EdmType, text: &str) -> Value {
    Value::from_text(edm_type, text).unwrap_or_else(|rejected| panic!("{rejected}"))
}

#[track_caller]
fn assert_refused(edm_type: EdmType, texts: &[&str]) {
    for text in texts {
        let rejected = Value::from_text(edm_type, text).expect_err(text);
        assert_eq!((rejected.rule, &*rejected.what, &*rejected.value), (Rule::Unreadable, edm_type.name(), *text));
    }
}

#[test]
fn types_are_named_and_ordered_by_name() {
    for edm_type in EdmType::ALL {
        assert_eq!(EdmType::parse(edm_type.name()), Some(edm_type));
        assert_eq!(EdmType::parse(&format!("Edm.{edm_type}")), Some(edm_type));
        assert_eq!(EdmType::of_tag(edm_type.tag()), Some(edm_type));
    }
    assert!(EdmType::ALL.windows(2).all(|pair| pair[0] < pair[1] && pair[0].name() < pair[1].name()));
    for text in ["", "int32", "Edm.Edm.Int32", "Edm.", "Int", "edm.Int32"] {
        assert_eq!(EdmType::parse(text), None, "{text}");
    }
    let tags: Vec<u8> = EdmType::ALL.map(EdmType::tag).into();
    assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6, 7], "data folders hold these");
    assert_eq!(EdmType::of_tag(8), None);
    let numeric: Vec<_> = EdmType::ALL.into_iter().filter(|t| t.is_numeric()).collect();
    assert_eq!(numeric, [EdmType::Double, EdmType::Int32, EdmType::Int64]);
}

#[test]
fn canonical_texts_read_back_as_they_were() {
    for (edm_type, texts) in [
        (EdmType::Binary, &["", "AAH+/w==", "AQID"][..]),
        (EdmType::Boolean, &["true", "false"]),
        (EdmType::DateTime, &["1601-01-01T00:00:00Z", "2020-06-22T15:16:13.377335Z", "9999-12-31T23:59:59.9999999Z"]),
        (
            EdmType::Double,
            &[
                "0.0",
                "-0.0",
                "1.0",
                "3.0",
                "-1.5",
                "0.1",
                "0.0001",
                "1E-05",
                "1.5E-07",
                "5E-324",
                "2.2250738585072014E-308",
                "100000000000000.0",
                "999999999999999.9",
                "1E+15",
                "1.23456789012346E+24",
                "1.7976931348623157E+308",
                "-1E+300",
                "NaN",
                "Infinity",
                "-Infinity",
            ],
        ),
        (EdmType::Guid, &["0f8fad5b-d9cb-469f-a165-70867728950e", "00000000-0000-0000-0000-000000000000"]),
        (EdmType::Int32, &["0", "-2147483648", "2147483647"]),
        (EdmType::Int64, &["0", "-9223372036854775808", "9223372036854775807", "9007199254740993"]),
        (EdmType::String, &["", "text", "日本 😀\r\n\"quoted\""]),
    ] {
        for text in texts {
            let value = read(edm_type, text);
            assert_eq!(value.edm_type(), edm_type);
            assert_eq!(value.to_string(), *text, "{edm_type}");
        }
    }
}

#[test]
fn other_texts_of_a_value() {
    for (edm_type, text, canonical) in [
        (EdmType::Double, "1", "1.0"),
        (EdmType::Double, "1e300", "1E+300"),
        (EdmType::Double, "1E+300", "1E+300"),
        (EdmType::Double, "0.1e-3", "0.0001"),
        (EdmType::Double, "-0", "-0.0"),
        (EdmType::Double, "9007199254740993", "9.007199254740992E+15"),
        (EdmType::Boolean, "True", "true"),
        (EdmType::Double, "1e-400", "0.0"),
        (EdmType::Guid, "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        (EdmType::Int32, "+5", "5"),
        (EdmType::Int32, "007", "7"),
        (EdmType::DateTime, "2024-05-01 10:00:00.500+02:00", "2024-05-01T08:00:00.5Z"),
    ] {
        assert_eq!(read(edm_type, text).to_string(), canonical, "{edm_type} {text}");
    }
}

#[test]
fn unreadable_texts() {
    assert_refused(EdmType::Binary, &["AAH+/w", "AAH+/w=", "AAH-_w==", "AAH+/x==", "A A=", "=", "b'x'"]);
    assert_refused(EdmType::Boolean, &["", "1", "yes", " true"]);
    assert_refused(EdmType::DateTime, &["", "2024-05-01", "now"]);
    assert_refused(
        EdmType::Double,
        &["", "inf", "-inf", "+Infinity", "infinity", "nan", "NAN", "1,5", "1.5 ", "0x10", "1e", "--1", "."],
    );
    assert_refused(
        EdmType::Guid,
        &[
            "",
            "0f8fad5bd9cb469fa16570867728950e",
            "{0f8fad5b-d9cb-469f-a165-70867728950e}",
            "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
            "0f8fad5b-d9cb-469f-a165-70867728950g",
            "0f8fad5bd-9cb-469f-a165-70867728950e",
            "MGY4ZmFkNWItZDljYi00NjlmLWExNjUtNzA4",
        ],
    );
    assert_refused(EdmType::Int32, &["", "1.0", "1e3", "abc", "-", " 1", "2147483648", "-2147483649"]);
    assert_refused(EdmType::Int64, &["", "5L", "9223372036854775808", "-9223372036854775809"]);
}

#[test]
fn messages_name_the_value_and_the_rule() {
    for (edm_type, text, message) in [
        (EdmType::Int32, "x", "Int32 \"x\" is not allowed: an integer is written in decimal digits"),
        (
            EdmType::Int32,
            "2147483648",
            "Int32 \"2147483648\" is not allowed: an Int32 lies between -2147483648 and 2147483647",
        ),
        (EdmType::Boolean, "yes", "Boolean \"yes\" is not allowed: a Boolean is written as true or false"),
        (
            EdmType::Double,
            "13e7705",
            "Double \"13e7705\" is not allowed: \
             a Double lies between -1.7976931348623157E+308 and 1.7976931348623157E+308",
        ),
        (EdmType::Guid, "x", "Guid \"x\" is not allowed: a Guid is written as 8-4-4-4-12 hexadecimal digits"),
        (
            EdmType::Binary,
            "A*==",
            "Binary \"A*==\" is not allowed: \
             a Binary is written in standard base64 with padding (Invalid symbol 42, offset 1.)",
        ),
    ] {
        assert_eq!(Value::from_text(edm_type, text).expect_err(text).to_string(), message);
    }
}

#[test]
fn doubles_read_back_to_the_bit() {
    let seed = 0x5eed_0005_u64;
    let mut state = seed;
    let mut finite = 0;
    for round in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state ^ (state >> 29);
        // Half of them of everyday size: a random bit pattern hardly ever is.
        let value = if round % 2 == 0 { f64::from_bits(bits) } else { (bits as i64 >> 20) as f64 / 1000.0 };
        if value.is_nan() {
            continue;
        }
        finite += 1;
        let text = Value::Double(value).to_string();
        assert_eq!(read(EdmType::Double, &text), Value::Double(value), "seed {seed:#x}, round {round}: {text}");
        assert!(text.contains(['.', 'E', 'I']), "seed {seed:#x}, round {round}: {text} would read as an integer");
    }
    assert!(finite > 90_000);
}

#[test]
fn equality_is_that_of_versions() {
    assert_eq!(Value::Double(f64::NAN), Value::Double(f64::NAN));
    assert_ne!(Value::Double(0.0), Value::Double(-0.0));
    assert_ne!(Value::Int32(1), Value::Int64(1));
    assert_ne!(Value::Int32(1), Value::Double(1.0));
    assert_ne!(Value::String("true".into()), Value::Boolean(true));
    assert_eq!(Value::Binary(vec![1]), Value::Binary(vec![1]));
}

#[test]
fn rust_values_are_values() {
    let guid = uuid::Uuid::from_u128(7);
    assert_eq!(Value::from(vec![1_u8, 2]), Value::Binary(vec![1, 2]));
    assert_eq!(Value::from(true), Value::Boolean(true));
    assert_eq!(Value::from(DateTime::MIN), Value::DateTime(DateTime::MIN));
    assert_eq!(Value::from(1.5), Value::Double(1.5));
    assert_eq!(Value::from(guid), Value::Guid(guid));
    assert_eq!(Value::from(1_i32), Value::Int32(1));
    assert_eq!(Value::from(1_i64), Value::Int64(1));
    assert_eq!(Value::from("a"), Value::String("a".into()));
    assert_eq!(Value::from("a".to_owned()), Value::String("a".into()));
}

#[test]
fn strings_hold_32_ki_utf16_units() {
    for (text, units) in [("x", 1), ("é", 1), ("日", 1), ("😀", 2)] {
        let longest = text.repeat(STRING_UTF16_UNITS_MAX / units);
        assert_eq!(Value::String(longest.clone()).validate("Note"), Ok(()), "{text}");
        let rejected = Value::String(longest + "x").validate("Note").expect_err("too long");
        assert_eq!((rejected.rule, &*rejected.what), (Rule::StringLength, "property Note"));
        assert_eq!(rejected.limit, "a String holds at most 32768 UTF-16 units, this has 32769", "{text}");
        assert!(rejected.value.starts_with(text));
    }
}

#[test]
fn binaries_hold_64_kib() {
    assert_eq!(Value::Binary(vec![0; BINARY_BYTES_MAX]).validate("Raw"), Ok(()));
    let rejected = Value::Binary(vec![0; BINARY_BYTES_MAX + 1]).validate("Raw").expect_err("too long");
    assert_eq!((rejected.rule, &*rejected.what), (Rule::BinaryLength, "property Raw"));
    assert_eq!(rejected.limit, "a Binary holds at most 65536 bytes, this has 65537");
}

#[test]
fn dates_out_of_range_are_refused() {
    assert_eq!(Value::DateTime(DateTime::MAX).validate("Born"), Ok(()));
    let rejected =
        Value::DateTime(DateTime::from_ticks(DateTime::MAX.ticks() + 1)).validate("Born").expect_err("too late");
    assert_eq!((rejected.rule, &*rejected.what), (Rule::DateTimeRange, "property Born"));
}
