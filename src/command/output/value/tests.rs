use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::*;

use super::super::samples::timestamps;
use super::*;

/// Text and JSON of every value.
fn shown(array: impl Array + 'static) -> Vec<(String, String)> {
    let array = decoded(&(Arc::new(array) as ArrayRef)).unwrap();
    let column = Column::new(array.as_ref()).unwrap();
    let rows = (0..array.len()).map(|row| {
        let (mut text, mut json) = (String::new(), String::new());
        column.write_text(row, &mut text).unwrap();
        column.write_json(row, &mut json).unwrap();
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
        (text, json)
    });
    rows.collect()
}

fn check(array: impl Array + 'static, expected: &[(&str, &str)]) {
    let shown = shown(array);
    let shown: Vec<(&str, &str)> = shown.iter().map(|(text, json)| (text.as_str(), json.as_str())).collect();
    assert_eq!(shown, expected);
}

#[test]
fn numbers() {
    check(Int32Array::from(vec![Some(i32::MIN), None]), &[("-2147483648", "-2147483648"), ("", "null")]);
    check(Int64Array::from(vec![i64::MAX]), &[("9223372036854775807", "9223372036854775807")]);
    check(UInt64Array::from(vec![u64::MAX]), &[("18446744073709551615", "18446744073709551615")]);
    check(Int8Array::from(vec![-1]), &[("-1", "-1")]);
    check(
        Float64Array::from(vec![0.1, -0.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        &[
            ("0.1", "0.1"),
            ("-0", "-0"),
            ("1e+300", "1e+300"),
            ("NaN", "\"NaN\""),
            ("Infinity", "\"Infinity\""),
            ("-Infinity", "\"-Infinity\""),
        ],
    );
    check(Float32Array::from(vec![0.1]), &[("0.1", "0.1")]);
    let decimals = Decimal128Array::from(vec![Some(-5), Some(12345), None]).with_precision_and_scale(10, 2).unwrap();
    check(decimals, &[("-0.05", "-0.05"), ("123.45", "123.45"), ("", "null")]);
}

#[test]
fn truth_bytes_and_guids() {
    check(BooleanArray::from(vec![Some(true), Some(false), None]), &[("t", "true"), ("f", "false"), ("", "null")]);
    let bytes = vec![Some(b"\x00\xab".as_slice()), Some(b""), None];
    let expected = [("\\x00ab", "\"AKs=\""), ("\\x", "\"\""), ("", "null")];
    check(BinaryArray::from(bytes.clone()), &expected);
    check(LargeBinaryArray::from(bytes.clone()), &expected);
    check(BinaryViewArray::from(bytes), &expected);
    let short = FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).unwrap();
    check(short, &[("\\x0102", "\"AQI=\"")]);
    let guid = FixedSizeBinaryArray::try_from_iter(
        [*b"\xc9\xda\x64\x55\x21\x3d\x42\xc9\x9a\x79\x3e\x91\x49\xa5\x78\x33"].into_iter(),
    );
    let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
    check(guid.unwrap(), &[(text, &format!("\"{text}\""))]);
}

#[test]
fn text_of_every_kind() {
    let values = vec![Some("a\"\n"), Some(""), None];
    let expected = [("a\"\n", "\"a\\\"\\n\""), ("", "\"\""), ("", "null")];
    check(StringArray::from(values.clone()), &expected);
    check(LargeStringArray::from(values.clone()), &expected);
    check(StringViewArray::from(values.clone()), &expected);
    check(values.into_iter().collect::<DictionaryArray<Int32Type>>(), &expected);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec![Some("x"), None]));
    check(runs.unwrap(), &[("x", "\"x\""), ("x", "\"x\""), ("", "null")]);
    check(vec![None::<&str>; 2].into_iter().collect::<DictionaryArray<Int8Type>>(), &[("", "null"), ("", "null")]);
    check(NullArray::new(1), &[("", "null")]);
}

#[test]
fn times() {
    check(
        timestamps(),
        &[
            ("1601-01-01 00:00:00+00", "\"1601-01-01T00:00:00Z\""),
            ("9999-12-31 23:59:59.999999+00", "\"9999-12-31T23:59:59.999999Z\""),
        ],
    );
    let plain = TimestampSecondArray::from(vec![Some(0), None]);
    check(plain, &[("1970-01-01 00:00:00", "\"1970-01-01T00:00:00\""), ("", "null")]);
    let nanos = TimestampNanosecondArray::from(vec![1]).with_timezone("+02:00");
    check(nanos, &[("1970-01-01 00:00:00.000000001+00", "\"1970-01-01T00:00:00.000000001Z\"")]);
    // 1601-01-01 and 9999-12-31.
    check(
        Date32Array::from(vec![-134_774, 2_932_896]),
        &[("1601-01-01", "\"1601-01-01\""), ("9999-12-31", "\"9999-12-31\"")],
    );
    check(Time64MicrosecondArray::from(vec![28_800_000_001]), &[("08:00:00.000001", "\"08:00:00.000001\"")]);
    let interval = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(14, 3, 1_000_000_000)]);
    check(interval, &[("14 mons 3 days 1.000000000 secs", "\"14 mons 3 days 1.000000000 secs\"")]);
}

#[test]
fn nested_values() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![]), None]);
    check(lists.clone(), &[("[1, NULL]", "[1,null]"), ("[]", "[]"), ("", "null")]);
    check(lists.slice(1, 2), &[("[]", "[]"), ("", "null")]);
    let item = Arc::new(Field::new_list_field(DataType::Boolean, true));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, false]));
    let large = LargeListArray::new(item.clone(), OffsetBuffer::new(vec![0_i64, 1, 3].into()), flags.clone(), None);
    check(large, &[("[t]", "[true]"), ("[f, f]", "[false,false]")]);
    check(FixedSizeListArray::new(item, 3, flags, None), &[("[t, f, f]", "[true,false,false]")]);
    let fields = vec![
        (Arc::new(Field::new("n", DataType::Int32, true)), Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        (Arc::new(Field::new("s", DataType::Utf8, true)), Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef),
    ];
    let at = StructArray::from(vec![(
        Arc::new(Field::new("at", timestamps().data_type().clone(), true)),
        Arc::new(timestamps()) as ArrayRef,
    )]);
    assert_eq!(shown(at)[1].0, "{at: 9999-12-31 23:59:59.999999+00}");
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.append(true).unwrap();
    map.append(false).unwrap();
    check(map.finish(), &[("{a: 1}", "{\"a\":1}"), ("", "null")]);
    check(StructArray::from(fields), &[("{n: 1, s: NULL}", "{\"n\":1,\"s\":null}")]);
}

#[test]
fn numbers_stand_on_the_right() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Int64));
    for number in [DataType::Int32, DataType::Float64, DataType::Decimal128(10, 2), dictionary] {
        assert!(is_number(&number), "{number}");
    }
    for other in [DataType::Utf8View, DataType::Boolean, DataType::Date32] {
        assert!(!is_number(&other), "{other}");
    }
}
