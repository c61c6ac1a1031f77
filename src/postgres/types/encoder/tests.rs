use std::sync::Arc;

use arrow::array::{
    DictionaryArray, Int32Array, NullArray, StructArray, TimestampNanosecondArray, UInt32Array, UInt64Array,
};
use arrow::datatypes::Int8Type;

use super::*;
use crate::types::field;

fn texts(field: &Field, array: ArrayRef) -> Vec<Option<String>> {
    let style = TextStyle::default();
    (0..array.len()).map(|row| text_value(field, &array, row, &style).unwrap()).collect()
}

fn plain(array: &dyn Array) -> Field {
    Field::new("a", array.data_type().clone(), true)
}

#[test]
fn rows_have_their_length_before_them() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(-12), None]));
    let style = TextStyle::default();
    let encoder = ColumnEncoder::new(&plain(&array), &array, Format::Text, &style).unwrap();
    let mut out = BytesMut::new();
    encoder.encode(0, &mut out).unwrap();
    encoder.encode(1, &mut out).unwrap();
    assert_eq!(&out[..], b"\0\0\0\x03-12\xff\xff\xff\xff");
}

#[test]
fn columns_that_are_not_of_the_usual_arrow_types() {
    let some = |text: &str| Some(text.to_owned());
    let words: DictionaryArray<Int8Type> = vec![Some("b"), None, Some("a"), Some("b")].into_iter().collect();
    assert_eq!(texts(&plain(&words), Arc::new(words.clone())), [some("b"), None, some("a"), some("b")]);
    let nothing = NullArray::new(1);
    assert_eq!(texts(&plain(&nothing), Arc::new(nothing.clone())), [None]);
    let nanos = TimestampNanosecondArray::from(vec![1_500_000_000]);
    assert_eq!(texts(&plain(&nanos), Arc::new(nanos.clone())), [some("1970-01-01 00:00:01.5")]);
    let oids: ArrayRef = Arc::new(UInt32Array::from(vec![0, 4_294_967_295]));
    assert_eq!(texts(&field("a", "oid", false), Arc::clone(&oids)), [some("0"), some("4294967295")]);
    assert_eq!(texts(&field("a", "regclass", false), oids), [some("-"), some("4294967295")]);
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let style = TextStyle::default();
    let error = ColumnEncoder::new(&plain(&large), &large, Format::Text, &style).err().unwrap();
    assert_eq!(error.sqlstate, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
}

#[test]
fn records() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["abc", "a \"b\\"]));
    let record: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("n", DataType::Int32, true)), numbers),
        (Arc::new(Field::new("w", DataType::Utf8, true)), words),
    ]));
    assert_eq!(texts(&plain(&record), Arc::clone(&record)), [Some("(1,abc)".into()), Some(r#"(,"a ""b\\")"#.into())]);
    let style = TextStyle::default();
    let mut out = BytesMut::new();
    ColumnEncoder::new(&plain(&record), &record, Format::Binary, &style).unwrap().write(0, &mut out).unwrap();
    assert_eq!(&out[..], b"\0\0\0\x02\0\0\0\x17\0\0\0\x04\0\0\0\x01\0\0\0\x19\0\0\0\x03abc");
}

/// A client reads eight bytes of a column that is bigint in RowDescription.
#[test]
fn values_of_another_type_than_the_one_described_are_refused() {
    let style = TextStyle::default();
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![5]));
    let list: ArrayRef = Arc::new(arrow::array::ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(5)])]));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]));
    for (name, array) in
        [("int8", &numbers), ("text", &numbers), ("oid", &numbers), ("_int8", &list), ("timestamptz", &times)]
    {
        for format in [Format::Text, Format::Binary] {
            let ty = crate::types::type_by_name(name).unwrap();
            let error = ColumnEncoder::with_type(ty, array, format, &style).err().unwrap();
            assert_eq!((error.sqlstate, error.sqlstate.code()), (SqlState::INTERNAL_ERROR, "XX000"), "{name}");
        }
    }
    let nothing: ArrayRef = Arc::new(NullArray::new(1));
    assert!(ColumnEncoder::new(&field("a", "int8", true), &nothing, Format::Binary, &style).is_ok());
}
