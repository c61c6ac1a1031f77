//! Results that the tests print.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Schema};

use super::{Form, ResultColumns, writer};
use rowkey_model::DateTime;
use rowkey_postgres::types::TextStyle;

/// The columns of a batch, under the settings of a new session.
pub(crate) fn columns_of(batch: &RecordBatch) -> ResultColumns {
    let fields = batch.schema_ref().fields().iter().map(Arc::clone);
    ResultColumns::new(fields, &Arc::new(TextStyle::default()))
}

pub(crate) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays: Vec<ArrayRef> = columns.into_iter().map(|(_, array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(arrays.first().map_or(0, |array| array.len())));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).unwrap()
}

/// Columns of text.
pub(crate) fn texts(columns: &[(&str, &[Option<&str>])]) -> RecordBatch {
    let columns = columns.iter().map(|(name, values)| {
        let array: ArrayRef = Arc::new(values.iter().copied().collect::<StringViewArray>());
        (*name, array)
    });
    batch(columns.collect())
}

/// Two entities with a property of every type.
pub(crate) fn entity() -> RecordBatch {
    let guid = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
    let guids = [Some(guid), None];
    batch(vec![
        ("PartitionKey", Arc::new(StringViewArray::from(vec!["a", "b"]))),
        ("Count", Arc::new(Int32Array::from(vec![Some(1), None]))),
        ("Big", Arc::new(Int64Array::from(vec![Some(i64::MAX), None]))),
        ("Ratio", Arc::new(Float64Array::from(vec![0.1, f64::NAN]))),
        ("On", Arc::new(BooleanArray::from(vec![true, false]))),
        ("At", Arc::new(timestamps())),
        ("Data", Arc::new(BinaryViewArray::from(vec![b"\x00\xff".as_slice(), b""]))),
        ("Id", Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(guids.into_iter(), 16).unwrap())),
    ])
}

/// The first and the last microsecond of the service's calendar.
pub(crate) fn timestamps() -> TimestampMicrosecondArray {
    let micros = vec![DateTime::MIN.micros(), DateTime::MAX.micros()];
    TimestampMicrosecondArray::from(micros).with_timezone("UTC")
}

/// What is printed for a result of these batches; its columns are those of the first.
pub(crate) fn printed(form: Form, batches: &[RecordBatch]) -> String {
    let mut out = Vec::new();
    let mut writer = writer(form, columns_of(&batches[0])).unwrap();
    for batch in batches {
        writer.batch(batch, &mut out).unwrap();
    }
    writer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
