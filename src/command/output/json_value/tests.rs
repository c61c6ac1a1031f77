use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::*;

use super::super::samples::timestamps;
use super::*;

/// JSON of every value, which has to read back.
fn written(array: impl Array + 'static) -> Vec<String> {
    let array: ArrayRef = Arc::new(array);
    let column = JsonColumn::new(&Field::new("a", array.data_type().clone(), true), &array).unwrap();
    let mut buffer = BytesMut::new();
    let values = (0..array.len()).map(|row| {
        let mut json = String::new();
        column.write(row, &mut buffer, &mut json).unwrap();
        serde_json::from_str::<serde_json::Value>(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
        json
    });
    values.collect()
}

#[test]
fn numbers() {
    assert_eq!(written(Int32Array::from(vec![Some(i32::MIN), None])), ["-2147483648", "null"]);
    assert_eq!(written(Int64Array::from(vec![i64::MAX])), ["9223372036854775807"]);
    assert_eq!(written(Int8Array::from(vec![-1])), ["-1"]);
    assert_eq!(
        written(Float64Array::from(vec![0.1, -0.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])),
        ["0.1", "-0", "1e+300", "\"NaN\"", "\"Infinity\"", "\"-Infinity\""]
    );
    assert_eq!(written(Float32Array::from(vec![0.1])), ["0.1"]);
    let decimals = Decimal128Array::from(vec![Some(-5), Some(12345), None]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(written(decimals), ["-0.05", "123.45", "null"]);
    let dictionary: DictionaryArray<Int8Type> =
        DictionaryArray::new(Int8Array::from(vec![0, 0]), Arc::new(Int32Array::from(vec![7])));
    assert_eq!(written(dictionary), ["7", "7"]);
}

#[test]
fn booleans_bytes_and_uuids() {
    assert_eq!(written(BooleanArray::from(vec![Some(true), Some(false), None])), ["true", "false", "null"]);
    let bytes = vec![Some(b"\x00\xab".as_slice()), Some(b""), None];
    let expected = ["\"AKs=\"", "\"\"", "null"];
    assert_eq!(written(BinaryArray::from(bytes.clone())), expected);
    assert_eq!(written(BinaryViewArray::from(bytes)), expected);
    assert_eq!(written(FixedSizeBinaryArray::try_from_iter([[1_u8, 2]].into_iter()).unwrap()), ["\"AQI=\""]);
    let uuid = *b"\xc9\xda\x64\x55\x21\x3d\x42\xc9\x9a\x79\x3e\x91\x49\xa5\x78\x33";
    let uuids = FixedSizeBinaryArray::try_from_iter([uuid].into_iter()).unwrap();
    assert_eq!(written(uuids), ["\"c9da6455-213d-42c9-9a79-3e9149a57833\""]);
}

#[test]
fn json_is_a_text() {
    assert_eq!(written(LargeBinaryArray::from(vec![b"[1, 2]".as_slice()])), ["\"[1, 2]\""]);
    assert_eq!(written(LargeStringArray::from(vec!["{}"])), ["\"{}\""]);
}

#[test]
fn text_of_every_arrow_type() {
    let values = vec![Some("a\"\n"), Some(""), None];
    let expected = ["\"a\\\"\\n\"", "\"\"", "null"];
    assert_eq!(written(StringArray::from(values.clone())), expected);
    assert_eq!(written(LargeStringArray::from(values.clone())), expected);
    assert_eq!(written(StringViewArray::from(values.clone())), expected);
    assert_eq!(written(values.into_iter().collect::<DictionaryArray<Int32Type>>()), expected);
    assert_eq!(written(NullArray::new(1)), ["null"]);
}

#[test]
fn times_are_iso_8601_in_utc() {
    assert_eq!(written(timestamps()), ["\"1601-01-01T00:00:00Z\"", "\"9999-12-31T23:59:59.999999Z\""]);
    let plain = TimestampSecondArray::from(vec![Some(0), None]);
    assert_eq!(written(plain), ["\"1970-01-01T00:00:00\"", "null"]);
    let zoned = TimestampMillisecondArray::from(vec![1]).with_timezone("+02:00");
    assert_eq!(written(zoned), ["\"1970-01-01T00:00:00.001Z\""]);
    assert_eq!(written(Date32Array::from(vec![-134_774])), ["\"1601-01-01\""]);
    assert_eq!(written(Time64MicrosecondArray::from(vec![28_800_000_001])), ["\"08:00:00.000001\""]);
    let interval = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(14, 3, 1_000_000_000)]);
    assert_eq!(written(interval), ["\"P1Y2M3DT1S\""]);
}

#[test]
fn arrays_and_objects() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![]), None]);
    assert_eq!(written(lists.clone()), ["[1,null]", "[]", "null"]);
    assert_eq!(written(lists.slice(1, 2)), ["[]", "null"]);
    let item = Arc::new(Field::new_list_field(DataType::Boolean, true));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, false]));
    let large = LargeListArray::new(item.clone(), OffsetBuffer::new(vec![0_i64, 1, 3].into()), flags.clone(), None);
    assert_eq!(written(large), ["[true]", "[false,false]"]);
    assert_eq!(written(FixedSizeListArray::new(item, 3, flags, None)), ["[true,false,false]"]);
    let object = StructArray::from(vec![
        (Arc::new(Field::new("n", DataType::Int32, true)), Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        (Arc::new(Field::new("s", DataType::Utf8, true)), Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef),
    ]);
    assert_eq!(written(object), ["{\"n\":1,\"s\":null}"]);
}
