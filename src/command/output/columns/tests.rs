use arrow::array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Int32Array, IntervalMonthDayNanoArray, ListArray,
    RunArray, StringArray, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Int8Type, Int32Type, IntervalMonthDayNano};
use rowkey_postgres::types::{ByteaOutput, IntervalStyle, Zone, field};

use super::super::samples::{batch, columns_of, entity, timestamps};
use super::*;

fn texts(style: TextStyle, batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let fields = batch.schema_ref().fields().iter().map(Arc::clone);
    ResultColumns::new(fields, &Arc::new(style)).text(batch).unwrap().rows().unwrap()
}

fn one_column(style: TextStyle, array: impl Array + 'static) -> Vec<String> {
    let rows = texts(style, &batch(vec![("a", Arc::new(array))]));
    rows.into_iter().map(|row| row[0].clone().unwrap_or_else(|| "NULL".to_owned())).collect()
}

#[test]
fn values_are_written_as_by_psql() {
    let plain = TextStyle::default;
    assert_eq!(one_column(plain(), BooleanArray::from(vec![Some(true), Some(false), None])), ["t", "f", "NULL"]);
    let decimals = Decimal128Array::from(vec![-5, 12345]).with_precision_and_scale(10, 2).unwrap();
    assert_eq!(one_column(plain(), decimals), ["-0.05", "123.45"]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![]), None]);
    assert_eq!(one_column(plain(), lists), ["{1,NULL}", "{}", "NULL"]);
    let words: DictionaryArray<Int8Type> = vec![Some("x"), None].into_iter().collect();
    assert_eq!(one_column(plain(), words), ["x", "NULL"]);
    let intervals = vec![
        IntervalMonthDayNano::new(0, 1, 7_200_000_000_000),
        IntervalMonthDayNano::new(1, 0, 0),
        IntervalMonthDayNano::new(14, 3, 1_500_000_000),
    ];
    let intervals = IntervalMonthDayNanoArray::from(intervals);
    let expected = ["1 day 02:00:00", "1 mon", "1 year 2 mons 3 days 00:00:01.5"];
    assert_eq!(one_column(plain(), intervals), expected);
}

#[test]
fn settings_shape_the_text() {
    let berlin = TextStyle { zone: Zone::parse("Europe/Berlin").unwrap(), ..TextStyle::default() };
    let times = one_column(berlin, timestamps());
    assert_eq!(times, ["1601-01-01 00:53:28+00:53:28", "10000-01-01 00:59:59.999999+01"]);
    let style = TextStyle {
        bytea_output: ByteaOutput::Escape,
        interval_style: IntervalStyle::Iso8601,
        extra_float_digits: 0,
        now: None,
        ..TextStyle::default()
    };
    let row = &texts(style.clone(), &entity())[0];
    assert_eq!(row[6].as_deref(), Some("\\000\\377"));
    let interval = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(14, 3, 0)]);
    assert_eq!(one_column(style.clone(), interval), ["P1Y2M3D"]);
    assert_eq!(one_column(style, arrow::array::Float64Array::from(vec![0.1 + 0.2])), ["0.3"]);
}

#[test]
fn what_psql_aligns_on_the_right() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Int64));
    let plain = |data_type: DataType| Field::new("a", data_type, true);
    let fields = [
        plain(DataType::Int32),
        plain(DataType::Float64),
        plain(DataType::Decimal128(10, 2)),
        plain(dictionary),
        field("a", "oid", true),
        plain(DataType::Utf8View),
        plain(DataType::Boolean),
        plain(DataType::Date32),
        field("a", "regclass", true),
    ];
    let columns = ResultColumns::new(fields.map(Arc::new), &Arc::default());
    assert_eq!(columns.are_numbers(), [true, true, true, true, true, false, false, false, false]);
}

#[test]
fn cells_cannot_change_the_terminal() {
    let rows = batch(vec![("a", Arc::new(StringArray::from(vec![Some("\u{1b}[31m"), None])))]);
    let columns = columns_of(&rows);
    let mut text = columns.text(&rows).unwrap();
    assert_eq!(text.cells(0, "-").unwrap(), ["\\x1B[31m"]);
    assert_eq!(text.cells(1, "-").unwrap(), ["-"]);
}

#[test]
fn a_type_that_the_wire_does_not_know_is_an_error() {
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1]), &UInt32Array::from(vec![1])).unwrap();
    let rows = batch(vec![("runs", Arc::new(runs) as ArrayRef)]);
    let error = columns_of(&rows).text(&rows).err().unwrap();
    assert!(error.to_string().starts_with("column \"runs\": values of Arrow type RunEndEncoded"), "{error}");
}
