//! Columns and rows as text.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema, TimeUnit, TimestampMicrosecondType};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use rowkey::model::DateTime;

/// What EXPLAIN and EXPLAIN ANALYZE say about sizes and times: they change with the Parquet library
/// and the machine.
const VOLATILE: [&str; 5] = ["bytes~", "bytes=", "bytes ", "time=", "elapsed="];

/// The column of a plan.
const PLAN_COLUMN: &str = "QUERY PLAN";

/// The types of the columns, as letters behind `query`.
pub(crate) fn column_types(schema: &Schema) -> String {
    let letter = |data_type: &DataType| match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Float16 | DataType::Float32 | DataType::Float64 => 'R',
        DataType::Decimal128(..) | DataType::Decimal256(..) => 'R',
        DataType::Boolean => 'B',
        DataType::Timestamp(_, _) => 'D',
        DataType::FixedSizeBinary(16) => 'G',
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => 'X',
        other if other.is_integer() => 'I',
        _ => '?',
    };
    schema.fields().iter().map(|field| letter(field.data_type())).collect()
}

/// The rows of a batch, each value as one line of text.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Vec<String>>, ArrowError> {
    let plan = matches!(&batch.schema().fields()[..], [column] if column.name() == PLAN_COLUMN);
    let columns = batch.columns().iter().map(values).collect::<Result<Vec<_>, _>>()?;
    let line = |row: usize| {
        let values = columns.iter().map(|column| column[row].clone());
        if plan { values.map(|text| without_volatile(&text)).collect() } else { values.collect() }
    };
    Ok((0..batch.num_rows()).map(line).collect())
}

fn values(column: &ArrayRef) -> Result<Vec<String>, ArrowError> {
    let value: Box<dyn Fn(usize) -> String> = match column.data_type() {
        DataType::Boolean => {
            let array = column.as_boolean();
            Box::new(|row| if array.value(row) { "t" } else { "f" }.to_owned())
        }
        DataType::Float64 => {
            let array = column.as_primitive::<Float64Type>();
            Box::new(|row| float(array.value(row)))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let array = column.as_primitive::<TimestampMicrosecondType>();
            let zone = if zone.is_some() { "+00" } else { "" };
            Box::new(move |row| {
                let text = DateTime::from_micros(array.value(row), 0).to_string();
                format!("{}{zone}", text.replace('T', " ").trim_end_matches('Z'))
            })
        }
        DataType::FixedSizeBinary(16) => {
            let array = column.as_fixed_size_binary();
            Box::new(|row| {
                let hex = hex(array.value(row));
                [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
            })
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            let array = cast(column, &DataType::Binary)?;
            Box::new(move |row| format!("\\x{}", hex(array.as_binary::<i32>().value(row))))
        }
        _ => {
            let options = FormatOptions::new().with_null("NULL").with_display_error(false);
            let format = ArrayFormatter::try_new(column, &options)?;
            return (0..column.len())
                .map(|row| {
                    if column.is_null(row) {
                        return Ok("NULL".to_owned());
                    }
                    format.value(row).try_to_string().map(|text| visible(&text))
                })
                .collect();
        }
    };
    Ok((0..column.len()).map(|row| if column.is_null(row) { "NULL".to_owned() } else { value(row) }).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The shortest text that reads back as the same number.
fn float(value: f64) -> String {
    match value.abs() {
        plain if plain == 0.0 || !plain.is_finite() || (1e-4..1e15).contains(&plain) => {
            value.to_string().replace("inf", "Infinity")
        }
        _ => format!("{value:e}"),
    }
}

/// Text on one line that can be seen.
fn visible(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

/// The line with `#` for numbers that are not the same everywhere.
fn without_volatile(line: &str) -> String {
    let mut line = line.to_owned();
    for label in VOLATILE {
        let mut from = 0;
        while let Some(at) = line[from..].find(label) {
            let begin = from + at + label.len();
            let rest = &line[begin..];
            let number = rest.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_')).count();
            let number = rest[..number].trim_end_matches([',', '.']).len();
            let mut end = begin + number;
            for unit in [" KiB", " MiB", " GiB", " bytes", " B", "ms", "µs", "us", "ns", "s"] {
                if number > 0 && line[end..].starts_with(unit) {
                    end += unit.len();
                    break;
                }
            }
            if number > 0 {
                line.replace_range(begin..end, "#");
            }
            from = begin;
        }
    }
    line
}

/// What has to hold for the other tests to mean something.
pub(crate) fn check() {
    let masked = without_volatile("files 1/4, rows<=5, bytes~1,234, time=1.5ms, bytes~2 KiB");
    assert_eq!(masked, "files 1/4, rows<=5, bytes~#, time=#, bytes~#", "sizes are masked");
    assert!(visible("") == "(empty)" && visible("a\nb\\") == "a\\nb\\\\", "values stay on their line");
    assert!(float(0.1) == "0.1" && float(-3.0) == "-3" && float(1e300) == "1e300", "numbers are short");
    assert!(float(f64::NAN) == "NaN" && float(f64::NEG_INFINITY) == "-Infinity", "and some are none");
}
