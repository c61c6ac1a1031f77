use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::*;
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::{DecodeOptions, Error, Format, KeyColumns, KeyTemplate, Place, Progress, Reject, Source, decode};
use rowkey_model::rows::PropertyNames;
use rowkey_model::rows::generated::Random;
use rowkey_model::{DateTime, Entity, Key, Value};

type Decoded = (Vec<Entity>, Vec<Reject>);

/// A file that is removed with this.
struct TestFile(std::path::PathBuf);

impl TestFile {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("rowkey-parquet-{}-{}.parquet", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn decode_file(path: &std::path::Path, chunk_bytes: usize) -> Result<Decoded, Error> {
    let names = Arc::new(PropertyNames::new());
    let mut source = Source::file(path)?;
    assert_eq!(source.detect()?, Format::Parquet);
    let (mut entities, mut rejects) = (Vec::new(), Vec::new());
    let progress = Progress::new();
    let options = DecodeOptions { threads: 2, chunk_bytes, ..DecodeOptions::default() };
    decode::<Error>(source, Format::Parquet, &names, &options, &progress, &mut |chunk| {
        entities.extend(chunk.rows.iter().map(|row| row.to_entity(&names)));
        rejects.extend(chunk.rejects);
        Ok(())
    })?;
    assert!(progress.bytes_read() > 0 || entities.is_empty());
    Ok((entities, rejects))
}

fn write(file: &TestFile, batch: &RecordBatch, group_rows: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(File::create(&file.0).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

fn decode_batch(batch: &RecordBatch) -> Result<Decoded, Error> {
    let file = TestFile::new();
    write(&file, batch, 1000);
    decode_file(&file.0, 1 << 20)
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// A column of this name whose first value is `V`'s, beside keys.
fn with_keys(name: &str, array: ArrayRef) -> RecordBatch {
    with_key_columns(vec![(Field::new(name, array.data_type().clone(), true), array)])
}

fn with_key_columns(mut columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let rows: Vec<String> = (0..columns[0].1.len()).map(|i| format!("r{i}")).collect();
    let partition: ArrayRef = Arc::new(StringArray::from(vec!["p"; rows.len()]));
    columns.insert(0, (Field::new("PartitionKey", DataType::Utf8, false), partition));
    columns.insert(0, (Field::new("RowKey", DataType::Utf8, false), Arc::new(StringArray::from(rows))));
    batch(columns)
}

fn ticks(ticks: i64) -> Value {
    Value::DateTime(DateTime::from_ticks(ticks))
}

#[test]
fn every_column_type_becomes_its_property_type() {
    let dictionary: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    let cases: Vec<(ArrayRef, Value)> = vec![
        (Arc::new(BooleanArray::from(vec![true])), Value::Boolean(true)),
        (Arc::new(Int8Array::from(vec![-5])), Value::Int32(-5)),
        (Arc::new(Int16Array::from(vec![-5])), Value::Int32(-5)),
        (Arc::new(Int32Array::from(vec![i32::MIN])), Value::Int32(i32::MIN)),
        (Arc::new(UInt8Array::from(vec![255])), Value::Int32(255)),
        (Arc::new(UInt16Array::from(vec![65535])), Value::Int32(65535)),
        (Arc::new(UInt32Array::from(vec![u32::MAX])), Value::Int64(4294967295)),
        (Arc::new(Int64Array::from(vec![i64::MIN])), Value::Int64(i64::MIN)),
        (Arc::new(UInt64Array::from(vec![i64::MAX as u64])), Value::Int64(i64::MAX)),
        (Arc::new(Float32Array::from(vec![1.5])), Value::Double(1.5)),
        (Arc::new(Float64Array::from(vec![-0.0])), Value::Double(-0.0)),
        (Arc::new(StringArray::from(vec![""])), Value::String(String::new())),
        (Arc::new(LargeStringArray::from(vec!["é"])), Value::String("é".into())),
        (
            Arc::new(StringViewArray::from(vec!["a long text that is not inline"])),
            Value::String("a long text that is not inline".into()),
        ),
        (Arc::new(dictionary.slice(1, 1)), Value::String("b".into())),
        (Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])), Value::Binary(vec![0, 255])),
        (Arc::new(LargeBinaryArray::from(vec![&b"x"[..]])), Value::Binary(b"x".to_vec())),
        (Arc::new(BinaryViewArray::from(vec![&b"x"[..]])), Value::Binary(b"x".to_vec())),
        (Arc::new(FixedSizeBinaryArray::try_from_iter([[7u8; 16]].iter()).unwrap()), Value::Binary(vec![7; 16])),
        (Arc::new(TimestampSecondArray::from(vec![-1])), ticks(-10_000_000)),
        (Arc::new(TimestampMillisecondArray::from(vec![-1]).with_timezone("UTC")), ticks(-10_000)),
        (Arc::new(TimestampMicrosecondArray::from(vec![-11_644_473_600_000_000])), Value::DateTime(DateTime::MIN)),
        (Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("+02:00")), ticks(10)),
        (Arc::new(TimestampNanosecondArray::from(vec![1234])), ticks(12)),
        (Arc::new(TimestampNanosecondArray::from(vec![-1])), ticks(-1)),
        (Arc::new(Date32Array::from(vec![-1])), ticks(-864_000_000_000)),
    ];
    for (array, expected) in cases {
        let data_type = array.data_type().clone();
        let (entities, rejects) =
            decode_batch(&with_keys("V", array)).unwrap_or_else(|error| panic!("{data_type}: {error}"));
        assert_eq!(rejects, [], "{data_type}");
        assert_eq!(entities[0].get("V"), Some(&expected), "{data_type}");
    }
    let nulls: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(1)]));
    let (entities, _) = decode_batch(&with_keys("V", nulls)).unwrap();
    assert_eq!((entities[0].get("V"), entities[1].get("V")), (None, Some(&Value::Int32(1))));
}

#[test]
fn a_guid_needs_its_logical_type_or_its_name() {
    let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[7u8; 16]].iter()).unwrap());
    let guid = Value::Guid(uuid::Uuid::from_bytes([7; 16]));
    let extension = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into();
    let typed = Field::new("V", DataType::FixedSizeBinary(16), true).with_metadata(extension);
    let (entities, _) = decode_batch(&with_key_columns(vec![(typed, Arc::clone(&array))])).unwrap();
    assert_eq!(entities[0].get("V"), Some(&guid));
    let (entities, _) = decode_batch(&with_keys("V:Guid", array)).unwrap();
    assert_eq!(entities[0].get("V"), Some(&guid));
}

#[test]
fn typed_columns_and_ticks_of_our_own_files_are_put_together() {
    let column = |name: &str, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let micros = |values: Vec<Option<i64>>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC"))
    };
    let (entities, rejects) = decode_batch(&with_key_columns(vec![
        column("Timestamp", micros(vec![Some(-1), Some(5), Some(0), None])),
        column("Timestamp:tick", Arc::new(Int8Array::from(vec![Some(9), None, Some(10), Some(3)]))),
        column("A:Int64", Arc::new(Int64Array::from(vec![Some(1), None, None, None]))),
        column("A:DateTime", micros(vec![None, Some(7), None, None])),
        column("A:tick", Arc::new(Int8Array::from(vec![None, Some(3), None, None]))),
        column("B", micros(vec![None, None, None, Some(2)])),
        column("B:tick", Arc::new(Int8Array::from(vec![0, 0, 0, 4]))),
        column("odata.etag", Arc::new(StringArray::from(vec!["x"; 4]))),
    ]))
    .unwrap();
    let values: Vec<_> =
        entities.iter().map(|e| (e.timestamp.ticks(), e.get("A").cloned(), e.get("B").cloned())).collect();
    assert_eq!(values[0], (-1, Some(Value::Int64(1)), None));
    assert_eq!(values[1], (50, Some(ticks(73)), None));
    assert_eq!(values[2], (DateTime::MIN.ticks(), None, Some(ticks(24))));
    assert_eq!((rejects.len(), rejects[0].place), (1, Place::Row(3)));
    assert!(rejects[0].reason.contains("10 ticks"), "{}", rejects[0]);
}

#[test]
fn rows_that_break_a_rule_are_rejected_by_number() {
    let column = |name: &str, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let long = "x".repeat(32 * 1024 + 1);
    let (entities, rejects) = decode_batch(&batch(vec![
        column(
            "PartitionKey",
            Arc::new(StringArray::from(vec![Some("p"), None, Some("a/b"), Some("p"), Some("p"), Some("p")])),
        ),
        column("RowKey", Arc::new(LargeStringArray::from(vec!["1", "2", "3", "4", "5", "6"]))),
        column("U", Arc::new(UInt64Array::from(vec![None, None, None, Some(u64::MAX), None, None]))),
        column("S", Arc::new(StringArray::from(vec!["", "", "", "", &long, ""]))),
        column("D", Arc::new(TimestampSecondArray::from(vec![0, 0, 0, 0, 0, i64::MAX]))),
        column("Timestamp", Arc::new(Date32Array::from(vec![0; 6]))),
    ]))
    .unwrap();
    assert_eq!(entities.len(), 1);
    let expected = ["PartitionKey is null", "PartitionKey \"a/b\"", "property U", "property S", "property D"];
    for ((reject, expected), row) in rejects.iter().zip(expected).zip(2..) {
        assert_eq!(reject.place, Place::Row(row));
        assert!(reject.reason.contains(expected), "{reject}");
    }
    assert_eq!(rejects.len(), expected.len());
}

#[test]
fn a_property_in_two_columns_at_once_is_rejected() {
    let column = |name: &str, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let (entities, rejects) = decode_batch(&with_key_columns(vec![
        column("A", Arc::new(Int32Array::from(vec![Some(1), Some(1)]))),
        column("A:String", Arc::new(StringArray::from(vec![None, Some("x")]))),
    ]))
    .unwrap();
    assert_eq!((entities.len(), rejects.len()), (1, 1));
    assert!(rejects[0].reason.contains("\"A\""), "{}", rejects[0]);
}

#[test]
fn columns_that_do_not_fit_are_refused_by_name() {
    let int: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]));
    let decimal: ArrayRef = Arc::new(Decimal128Array::from(vec![1]));
    let structs: ArrayRef =
        Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int32, true)), Arc::clone(&int))]));
    let time: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![1]));
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![&b"x"[..]]));
    let cases = [
        with_keys("V", list),
        with_keys("V", decimal),
        with_keys("V", structs),
        with_keys("V", time),
        with_keys("V:Int64", Arc::clone(&int)),
        with_keys("V:int", Arc::clone(&int)),
        with_keys("V:tick", Arc::clone(&int)),
        with_keys("a-b", Arc::clone(&int)),
        with_keys("(other)", binary),
        with_keys("Timestamp", Arc::clone(&int)),
        batch(vec![(Field::new("RowKey", DataType::Int32, true), Arc::clone(&int))]),
        batch(vec![(Field::new("PartitionKey", DataType::Int32, true), Arc::clone(&int))]),
    ];
    for batch in cases {
        let wanted = batch
            .schema()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .rfind(|n| n != "RowKey")
            .unwrap_or("RowKey".into());
        match decode_batch(&batch) {
            Err(Error::Column { column, .. }) => assert_eq!(column, wanted),
            other => panic!("{wanted}: {other:?}"),
        }
    }
    let no_row_key = batch(vec![(
        Field::new("PartitionKey", DataType::Utf8, true),
        Arc::new(StringArray::from(vec!["p"])) as ArrayRef,
    )]);
    let error = decode_batch(&no_row_key).unwrap_err();
    assert!(matches!(&error, Error::Column { column, .. } if column == "RowKey"), "{error}");
}

/// Keys, rejects and warnings of a file whose keys are made of columns.
fn decode_with_keys(batch: &RecordBatch, partition: Option<&str>, row: Option<&str>) -> Result<Keyed, Error> {
    let file = TestFile::new();
    write(&file, batch, 1000);
    let names = Arc::new(PropertyNames::new());
    let template = |text: Option<&str>| text.map(|text| KeyTemplate::parse(text).unwrap());
    let keys = KeyColumns { partition: template(partition), row: template(row) };
    let options = DecodeOptions { keys: Some(Arc::new(keys)), ..DecodeOptions::default() };
    let (mut keys, mut rejects) = (Vec::new(), Vec::new());
    let source = Source::file(&file.0)?;
    let counts = decode::<Error>(source, Format::Parquet, &names, &options, &Progress::new(), &mut |chunk| {
        keys.extend(chunk.rows.iter().map(|row| row.to_entity(&names).key));
        rejects.extend(chunk.rejects.into_iter().map(|reject| reject.reason));
        Ok(())
    })?;
    Ok((keys, rejects, counts.warnings.into_iter().map(|warning| warning.reason).collect()))
}

type Keyed = (Vec<Key>, Vec<String>, Vec<String>);

#[test]
fn keys_of_numbers_are_their_decimal_text() {
    let column = |name: &str, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let columns = batch(vec![
        column("Small", Arc::new(Int16Array::from(vec![Some(-7), Some(8), None]))),
        column("Big", Arc::new(UInt64Array::from(vec![9_007_199_254_740_993, 12, 1]))),
        column("RowKey", Arc::new(Int64Array::from(vec![10, 9, 8]))),
    ]);
    let (keys, rejects, _) = decode_with_keys(&columns, Some("Small"), Some("RowKey")).unwrap();
    assert_eq!(keys, [Key::new("-7", "10"), Key::new("8", "9")]);
    assert_eq!(rejects, ["PartitionKey is made of \"Small\", which is null here"]);
    let (keys, rejects, _) = decode_with_keys(&columns, Some("{Small}-x"), Some("Big")).unwrap();
    assert_eq!(keys, [Key::new("-7-x", "9007199254740993"), Key::new("8-x", "12")]);
    assert_eq!(rejects.len(), 1, "{rejects:?}");
    for (partition, row, expected) in [
        (
            Some("Small"),
            None,
            "it holds Int64; --rk-column RowKey, or a text with columns in it such as --rk-column '{RowKey}'",
        ),
        (
            None,
            Some("Big"),
            "is missing; a key is made of others with --pk-column Country, or --pk-column '{Country}-{City}'",
        ),
    ] {
        let message = decode_with_keys(&columns, partition, row).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn times_between_ticks_are_told() {
    let nanos = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(values)) };
    let column = |name: &str, array: ArrayRef| (Field::new(name, array.data_type().clone(), true), array);
    let columns = with_key_columns(vec![
        column("Fine", nanos(vec![Some(1_200), Some(1_234), None])),
        column("Whole", nanos(vec![Some(1_200), Some(-100), None])),
        column("Timestamp", nanos(vec![Some(0), Some(0), Some(1)])),
        column("At", nanos(vec![Some(7), Some(8), Some(9)])),
    ]);
    let (_, _, warnings) = decode_with_keys(&columns, Some("At"), None).unwrap();
    let columns: Vec<&str> = warnings.iter().filter_map(|warning| warning.split('"').nth(1)).collect();
    assert_eq!(columns, ["Timestamp", "Fine", "At"], "{warnings:?}");
    assert!(warnings[1].contains("finer than 100 ns"), "{}", warnings[1]);
}

#[test]
fn generated_tables_come_back_whatever_the_batches() {
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let rows = random.below(300);
        let mut expected: Vec<Entity> = Vec::new();
        let mut ints = Vec::new();
        let mut strings = Vec::new();
        let mut dates = Vec::new();
        let mut digits = Vec::new();
        for i in 0..rows {
            let int = (!random.chance(3)).then(|| random.next_u64() as i64);
            let string = (!random.chance(3)).then(|| random.text(20));
            let date = (!random.chance(3)).then(|| DateTime::from_ticks(random.next_u64() as i64 >> 8));
            let mut properties = Vec::new();
            properties.extend(int.map(|v| (Arc::from("I"), Value::Int64(v))));
            properties.extend(string.clone().map(|v| (Arc::from("S"), Value::String(v))));
            properties.extend(date.map(|v| (Arc::from("D"), Value::DateTime(v))));
            expected.push(Entity::from_parts(Key::new("p", format!("r{i}")), DateTime::MIN, properties));
            ints.push(int);
            strings.push(string);
            dates.push(date.map(DateTime::micros));
            digits.push(date.map(DateTime::tick));
        }
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("D:tick", Arc::new(Int8Array::from(digits))),
            ("D", Arc::new(TimestampMicrosecondArray::from(dates))),
            ("S", Arc::new(StringArray::from(strings))),
            ("I", Arc::new(Int64Array::from(ints))),
        ];
        let columns = columns.into_iter().map(|(n, a)| (Field::new(n, a.data_type().clone(), true), a)).collect();
        let file = TestFile::new();
        write(&file, &with_key_columns(columns), 1 + random.below(200));
        let (mut entities, rejects) = decode_file(&file.0, 1 + random.below(3000)).unwrap();
        assert_eq!(rejects, [], "seed {seed}");
        entities.sort_by(|a, b| a.key.cmp(&b.key));
        expected.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(entities, expected, "seed {seed}");
    }
}

#[test]
fn damaged_files_are_named_and_streams_are_read() {
    let file = TestFile::new();
    write(&file, &with_keys("V", Arc::new(Int32Array::from(vec![1; 100]))), 1000);
    let whole = std::fs::read(&file.0).unwrap();
    let name = file.0.display().to_string();
    for cut in [8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file.0, &whole[..cut]).unwrap();
        let error = decode_file(&file.0, 1 << 20).unwrap_err();
        assert!(matches!(error, Error::Parquet { .. }) && error.to_string().starts_with(&name), "{error}");
    }
    let names = Arc::new(PropertyNames::new());
    let mut source = Source::stream("-", Box::new(std::io::Cursor::new(whole)));
    assert_eq!(source.detect().unwrap(), Format::Parquet);
    let options = DecodeOptions::default();
    let counts = decode::<Error>(source, Format::Parquet, &names, &options, &Progress::new(), &mut |_| Ok(())).unwrap();
    assert_eq!((counts.entities, counts.rejected), (100, 0));
}

#[test]
fn flipped_bytes_never_panic() {
    let file = TestFile::new();
    let strings: ArrayRef = Arc::new(StringArray::from((0..500).map(|i| format!("text {i}")).collect::<Vec<_>>()));
    write(&file, &with_keys("V", strings), 200);
    let whole = std::fs::read(&file.0).unwrap();
    let mut refused = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut damaged = whole.clone();
        let at = random.below(damaged.len());
        damaged[at] ^= 1 << random.below(8);
        std::fs::write(&file.0, &damaged).unwrap();
        let mut source = Source::file(&file.0).unwrap();
        if source.detect().is_ok() {
            eprintln!("seed {seed}: byte {at}");
            refused += usize::from(decode_file(&file.0, 1 << 20).is_err());
        }
    }
    assert!(refused > 50, "{refused} of 400 refused");
}

#[test]
fn int96_timestamps_reach_beyond_the_range_of_nanoseconds() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let message =
        "message m { required binary PartitionKey (UTF8); required binary RowKey (UTF8); optional int96 At; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let file = TestFile::new();
    let mut writer = SerializedFileWriter::new(File::create(&file.0).unwrap(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for key in ["p", "r"] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(key)], None, None).unwrap();
        column.close().unwrap();
    }
    // Julian day 2305814 is 1601-01-01; the first two words are the nanoseconds of the day.
    let at = Int96::from(vec![1_000, 0, 2_305_814]);
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&[at], Some(&[1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let (entities, rejects) = decode_file(&file.0, 1 << 20).unwrap();
    assert_eq!(rejects, []);
    assert_eq!(entities[0].get("At"), Some(&ticks(DateTime::MIN.ticks() + 10)));
}

#[test]
fn timestamps_may_be_texts_and_columns_of_nothing_are_no_properties() {
    let texts = vec![Some("2024-05-01T08:00:00.1234567Z"), Some("2024-05-01 08:00:00+00:00"), None, Some("yesterday")];
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    let nothing: ArrayRef = Arc::new(arrow::array::NullArray::new(4));
    let columns = vec![
        (Field::new("Timestamp", DataType::Utf8, true), texts),
        (Field::new("Nothing", DataType::Null, true), nothing),
    ];
    let (entities, rejects) = decode_batch(&with_key_columns(columns)).unwrap();
    let found: Vec<String> = entities.iter().map(|entity| entity.timestamp.to_string()).collect();
    assert_eq!(found[..2], ["2024-05-01T08:00:00.1234567Z", "2024-05-01T08:00:00Z"]);
    assert!(entities.len() == 3 && entities.iter().all(|entity| entity.properties().len() == 0));
    assert!(rejects.len() == 1 && rejects[0].reason.contains("yesterday"), "{rejects:?}");
}

/// A value of a dictionary stands in the file once, and in each row of what is made of it.
#[test]
fn what_rows_share_is_handed_on_in_bounded_chunks() {
    const ROWS: usize = 5000;
    let text = "é".repeat(16_000);
    let texts = || DictionaryArray::<Int32Type>::from_iter(std::iter::repeat_n(text.as_str(), ROWS));
    let keys = StringArray::from_iter_values((0..ROWS).map(|row| format!("{row:06}")));
    let columns: [(&str, ArrayRef); 5] = [
        ("PartitionKey", Arc::new(StringArray::from_iter_values(std::iter::repeat_n("p", ROWS)))),
        ("RowKey", Arc::new(keys)),
        ("Plain", Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text.as_str(), ROWS)))),
        ("Category", Arc::new(texts())),
        ("Bytes", Arc::new(BinaryArray::from_iter_values(std::iter::repeat_n(text.as_bytes(), ROWS)))),
    ];
    let file = TestFile::new();
    write(&file, &RecordBatch::try_from_iter(columns).unwrap(), ROWS);
    let file_bytes = std::fs::metadata(&file.0).unwrap().len();
    assert!(file_bytes < 1 << 20, "{file_bytes} bytes");
    let row_bytes = 3 * text.len();
    let names = Arc::new(PropertyNames::new());
    let mut source = Source::file(&file.0).unwrap();
    assert_eq!(source.detect().unwrap(), Format::Parquet);
    let options = DecodeOptions { threads: 2, chunk_bytes: 1 << 20, ..DecodeOptions::default() };
    let mut rows = 0;
    let counts = decode::<Error>(source, Format::Parquet, &names, &options, &Progress::new(), &mut |chunk| {
        assert!(chunk.rows.bytes() <= options.chunk_bytes + row_bytes, "{} bytes", chunk.rows.bytes());
        for row in chunk.rows.iter() {
            let entity = row.to_entity(&names);
            assert_eq!(entity.key, Key { partition: "p".to_owned(), row: format!("{rows:06}") });
            assert_eq!(entity.get("Plain"), Some(&Value::String(text.clone())));
            assert_eq!(entity.get("Category"), Some(&Value::String(text.clone())));
            assert_eq!(entity.get("Bytes"), Some(&Value::Binary(text.clone().into_bytes())));
            rows += 1;
        }
        Ok(())
    });
    assert_eq!((counts.unwrap().entities, rows), (ROWS as u64, ROWS));
}
