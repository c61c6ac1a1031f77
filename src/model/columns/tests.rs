use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeBinaryArray, Int8Array, LargeBinaryArray, LargeStringArray, RecordBatch,
};
use arrow::datatypes::{DataType, FieldRef, Schema, TimeUnit};

use super::{
    BytesLayout, Capacity, KeyBuilder, KeyReader, PropertyBuilder, PropertyReader, data_type, field, key_fields,
    property_array, property_type, tick_name, typed_name, view_batch, view_field,
};
use crate::rows::generated::Random;
use crate::{DateTime, EdmType, KeyRef, Value, ValueRef};

const LAYOUTS: [BytesLayout; 2] = [BytesLayout::Offsets, BytesLayout::Views];

/// The least, the greatest and the odd values of a type.
fn extremes(edm: EdmType) -> Vec<Value> {
    let guid = uuid::Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    match edm {
        EdmType::Binary => [vec![], vec![0], vec![0xff; 12], vec![7; 70_000]].map(Value::Binary).to_vec(),
        EdmType::Boolean => [true, false].map(Value::Boolean).to_vec(),
        EdmType::DateTime => {
            let ticks = [-1, 0, 1, 9, 10, -10, -11];
            let near = ticks.map(|ticks| Value::DateTime(DateTime::from_ticks(ticks)));
            [Value::DateTime(DateTime::MIN), Value::DateTime(DateTime::MAX)].into_iter().chain(near).collect()
        }
        EdmType::Double => {
            let odd = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN, 5e-324];
            odd.map(Value::Double).to_vec()
        }
        EdmType::Guid => [uuid::Uuid::nil(), uuid::Uuid::max(), guid].map(Value::Guid).to_vec(),
        EdmType::Int32 => [i32::MIN, -1, 0, i32::MAX].map(Value::Int32).to_vec(),
        EdmType::Int64 => [i64::MIN, -1, 0, i64::MAX].map(Value::Int64).to_vec(),
        EdmType::String => {
            ["", "a", "twelve bytes", "thirteen byte", "\0", "é😀"].map(|text| Value::String(text.to_owned())).to_vec()
        }
    }
}

fn built(edm: EdmType, layout: BytesLayout, values: &[Option<Value>]) -> (ArrayRef, Option<ArrayRef>) {
    let capacity = Capacity { rows: values.len(), bytes: 10 };
    let mut builder = PropertyBuilder::new(edm, layout, capacity);
    if edm == EdmType::DateTime {
        builder = builder.with_ticks(capacity);
    }
    for (row, value) in values.iter().enumerate() {
        if let Some(value) = value {
            assert!(builder.set(row, ValueRef::from(value)));
        }
    }
    builder.finish(values.len())
}

fn read(edm: EdmType, values: &ArrayRef, ticks: Option<&ArrayRef>) -> Vec<Option<Value>> {
    let reader = PropertyReader::new(edm, values, ticks).expect("a column of this type");
    (0..values.len()).map(|row| reader.get(row).map(ValueRef::to_value)).collect()
}

#[test]
fn extremes_come_back_in_every_type_and_layout() {
    for edm in EdmType::ALL {
        let mut values = vec![None, None];
        values.extend(extremes(edm).into_iter().flat_map(|value| [Some(value), None]));
        for layout in LAYOUTS {
            let (array, ticks) = built(edm, layout, &values);
            assert_eq!(array.data_type(), &data_type(edm, layout));
            assert_eq!(read(edm, &array, ticks.as_ref()), values, "{edm} {layout:?}");
            // A part of a column is read from its own beginning.
            let (array, ticks) = (array.slice(1, 3), ticks.map(|ticks| ticks.slice(1, 3)));
            assert_eq!(read(edm, &array, ticks.as_ref()), values[1..4], "{edm} {layout:?}");
        }
    }
}

#[test]
fn random_columns_come_back() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        for edm in EdmType::ALL {
            let rows = random.below(40);
            let mut next = || loop {
                if random.chance(4) {
                    return None;
                }
                let value = random.value();
                if value.edm_type() == edm {
                    return Some(value);
                }
            };
            let values: Vec<Option<Value>> = (0..rows).map(|_| next()).collect();
            for layout in LAYOUTS {
                let (array, ticks) = built(edm, layout, &values);
                assert_eq!(read(edm, &array, ticks.as_ref()), values, "seed {seed}, {edm} {layout:?}");
            }
        }
    }
}

#[test]
fn values_of_other_types_are_left_out() {
    for edm in EdmType::ALL {
        for layout in LAYOUTS {
            let values: Vec<Value> = EdmType::ALL.into_iter().map(|other| extremes(other).remove(1)).collect();
            let array = property_array(edm, layout, values.iter().map(|value| Some(ValueRef::from(value))));
            let expected: Vec<Option<Value>> = values
                .into_iter()
                .map(|value| Some(value).filter(|value| value.edm_type() == edm))
                .map(|value| match value {
                    Some(Value::DateTime(at)) => Some(Value::DateTime(DateTime::from_micros(at.micros(), 0))),
                    value => value,
                })
                .collect();
            assert_eq!(read(edm, &array, None), expected, "{edm} {layout:?}");
            let fits = EdmType::ALL.map(|other| {
                let mut builder = PropertyBuilder::new(edm, layout, Capacity::default());
                builder.set(0, ValueRef::from(&extremes(other)[0]))
            });
            assert_eq!(fits, EdmType::ALL.map(|other| other == edm));
        }
    }
}

#[test]
fn a_builder_begins_anew() {
    for edm in EdmType::ALL {
        for layout in LAYOUTS {
            let mut builder = PropertyBuilder::new(edm, layout, Capacity::default()).with_ticks(Capacity::default());
            let value = &extremes(edm)[0];
            let (array, ticks) = builder.finish(3);
            assert_eq!((array.null_count(), ticks.map(|ticks| ticks.null_count())), (3, Some(3)));
            assert!(builder.set(1, ValueRef::from(value)));
            let (array, ticks) = builder.finish(2);
            assert_eq!(array.data_type(), &data_type(edm, layout));
            assert_eq!(read(edm, &array, ticks.as_ref()), [None, Some(value.clone())]);
        }
    }
}

#[test]
fn digits_that_are_null_are_zero() {
    let at = Value::DateTime(DateTime::from_ticks(12));
    let (array, ticks) = built(EdmType::DateTime, BytesLayout::Offsets, &[Some(at)]);
    assert_eq!(ticks.expect("ticks").as_primitive::<arrow::datatypes::Int8Type>().value(0), 2);
    let floored = [Some(Value::DateTime(DateTime::from_ticks(10)))];
    let null: ArrayRef = Arc::new(Int8Array::from(vec![None]));
    assert_eq!(read(EdmType::DateTime, &array, Some(&null)), floored);
    assert_eq!(read(EdmType::DateTime, &array, None), floored);
}

#[test]
fn large_and_fixed_layouts_are_read() {
    let array: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("a"), None]));
    assert_eq!(read(EdmType::String, &array, None), [Some(Value::String("a".to_owned())), None]);
    let array: ArrayRef = Arc::new(LargeBinaryArray::from(vec![Some(&b"a"[..]), None]));
    assert_eq!(read(EdmType::Binary, &array, None), [Some(Value::Binary(b"a".to_vec())), None]);
    let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([b"abc"].into_iter()).expect("of one size"));
    assert_eq!(read(EdmType::Binary, &array, None), [Some(Value::Binary(b"abc".to_vec()))]);
    assert!(PropertyReader::new(EdmType::Guid, &array, None).is_none());
}

#[test]
fn columns_of_other_types_are_refused() {
    for edm in EdmType::ALL {
        for layout in LAYOUTS {
            let (array, _) = built(edm, layout, &[None]);
            let read_as = EdmType::ALL.map(|other| PropertyReader::new(other, &array, None).is_some());
            // The bytes of a Guid are a Binary too.
            let expected = EdmType::ALL.map(|other| other == edm || (edm, other) == (EdmType::Guid, EdmType::Binary));
            assert_eq!(read_as, expected, "{edm} {layout:?}");
            let ticks = PropertyReader::new(EdmType::DateTime, &array, Some(&array));
            assert!(ticks.is_none(), "{edm} as ticks");
        }
    }
}

#[test]
fn types_have_one_form_in_each_layout() {
    for edm in EdmType::ALL {
        for layout in LAYOUTS {
            assert_eq!(property_type(&data_type(edm, layout)), Some(edm));
            let field = field("P", edm, layout);
            assert!(field.is_nullable());
            assert_eq!(field.extension_type_name(), (edm == EdmType::Guid).then_some("arrow.uuid"));
            assert_eq!(view_field(&Arc::new(field)).as_ref(), &super::field("P", edm, BytesLayout::Views));
        }
    }
    for other in [DataType::Null, DataType::Int8, DataType::Float32, DataType::FixedSizeBinary(15), DataType::Date32] {
        assert_eq!(property_type(&other), None);
    }
    let of_another_zone = DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into()));
    assert_eq!(property_type(&of_another_zone), Some(EdmType::DateTime));
    assert_eq!((typed_name("Age", EdmType::Int64), tick_name("At")), ("Age:Int64".to_owned(), "At:tick".to_owned()));
}

#[test]
fn keys_have_the_types_of_their_fields() {
    let mut builder = KeyBuilder::new([Capacity { rows: 2, bytes: 9 }; 2]);
    let rows = [("p", "", Some(DateTime::MAX)), ("é", "r", Some(DateTime::MIN)), ("", "", None)];
    // Begins anew after each batch.
    for _ in 0..2 {
        for (partition, row, timestamp) in rows {
            builder.push(KeyRef { partition, row }, timestamp);
        }
        let arrays = builder.finish();
        for (array, field) in arrays.iter().zip(key_fields(true)) {
            assert_eq!(array.data_type(), field.data_type());
        }
        let [partitions, _, timestamps, ticks] = &arrays;
        assert!(KeyReader::new(&arrays[2..]).is_none() && KeyReader::new(&arrays[..1]).is_none());
        let keys = KeyReader::new(&arrays).expect("keys");
        assert_eq!((keys.len(), keys.is_empty()), (rows.len(), false));
        let partitions = PropertyReader::new(EdmType::String, partitions, None).expect("texts");
        let times = PropertyReader::new(EdmType::DateTime, timestamps, Some(ticks)).expect("times");
        for (at, (partition, row, timestamp)) in rows.into_iter().enumerate() {
            assert_eq!((keys.get(at), partitions.text(at)), (KeyRef { partition, row }, Some(partition)));
            assert_eq!(times.get(at), timestamp.map(ValueRef::DateTime));
        }
    }
}

#[test]
fn views_hold_the_same_values() {
    let columns = EdmType::ALL.map(|edm| {
        let values: Vec<Option<Value>> = [None, Some(extremes(edm).remove(1)), Some(extremes(edm).remove(0))].into();
        let (array, _) = built(edm, BytesLayout::Offsets, &values);
        (Arc::new(field(edm.name(), edm, BytesLayout::Offsets)), array)
    });
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch");
    let views = view_batch(&batch).expect("views");
    for (edm, (array, view)) in EdmType::ALL.into_iter().zip(batch.columns().iter().zip(views.columns())) {
        assert_eq!(view.data_type(), &data_type(edm, BytesLayout::Views));
        assert_eq!(read(edm, view, None), read(edm, array, None));
    }
    assert_eq!(views.schema().field(4).extension_type_name(), Some("arrow.uuid"));
}
