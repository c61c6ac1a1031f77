//! Answers of both sides in one form, so that they can be compared.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use rowkey::model::{DateTime, Value};
use rowkey::{Answer, Database};
use tokio_postgres::{Client, SimpleQueryMessage};
use uuid::Uuid;

use crate::postgres::Outcome;

/// Rows as texts: values in PostgreSQL's output form, times as the service writes them, numbers in
/// one form.
pub(crate) type Rows = Vec<String>;

/// Rowkey's rows, and the types of the columns, which tell how to read the other side's.
pub(crate) async fn of_rowkey(
    database: &Database,
    statement: &str,
    parameters: Vec<Value>,
) -> Outcome<(Rows, Vec<DataType>)> {
    let mut answer: Answer = database.sql_with(statement, parameters).await?;
    let types = answer.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    let mut rows = Vec::new();
    while let Some(batch) = answer.next().await {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            rows.push(shown(&batch, row)?);
        }
    }
    Ok((rows, types))
}

/// PostgreSQL's rows, its values read as these types.
pub(crate) async fn of_postgres(client: &Client, statement: &str, types: Option<&[DataType]>) -> Outcome<Rows> {
    let mut rows = Vec::new();
    for message in client.simple_query(statement).await? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let values = (0..row.len()).map(|column| match (row.get(column), types.and_then(|types| types.get(column))) {
            (None, _) => Ok("NULL".to_owned()),
            (Some(text), Some(data_type)) => canonical(text, data_type),
            (Some(text), None) => Ok(text.to_owned()),
        });
        rows.push(values.collect::<Outcome<Vec<String>>>()?.join(" | "));
    }
    Ok(rows)
}

fn canonical(text: &str, data_type: &DataType) -> Outcome<String> {
    Ok(match data_type {
        DataType::Float64 => double(text.parse()?),
        DataType::Timestamp(..) => {
            let text = text.strip_suffix("+00").ok_or_else(|| format!("{text} is not in UTC"))?;
            DateTime::parse(&format!("{}Z", text.replace(' ', "T"))).map_err(|error| error.to_string())?.to_string()
        }
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => quoted(text),
        _ => text.to_owned(),
    })
}

/// `-0.0` and `0.0` are equal, and an engine may show either for both.
fn double(value: f64) -> String {
    format!("{:?}", if value == 0.0 { 0.0 } else { value })
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn shown(batch: &RecordBatch, row: usize) -> Outcome<String> {
    let values = batch.columns().iter().map(|column| value(column.as_ref(), row));
    Ok(values.collect::<Outcome<Vec<String>>>()?.join(" | "))
}

fn value(column: &dyn Array, row: usize) -> Outcome<String> {
    if column.is_null(row) {
        return Ok("NULL".to_owned());
    }
    Ok(match column.data_type() {
        DataType::Boolean => if column.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).to_string(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            DateTime::from_micros(column.as_primitive::<TimestampMicrosecondType>().value(row), 0).to_string()
        }
        DataType::Utf8 => quoted(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => quoted(column.as_string::<i64>().value(row)),
        DataType::Utf8View => quoted(column.as_string_view().value(row)),
        DataType::FixedSizeBinary(16) => Uuid::from_slice(column.as_fixed_size_binary().value(row))?.to_string(),
        DataType::Binary => bytes(column.as_binary::<i32>().value(row)),
        DataType::BinaryView => bytes(column.as_binary_view().value(row)),
        other => return Err(format!("an answer has a column of type {other}, which is compared with nothing").into()),
    })
}

fn bytes(value: &[u8]) -> String {
    format!("\\x{}", value.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
