//! Asking in process.

use bytes::BytesMut;
use rowkey::Database;
use rowkey_postgres::types::{ColumnEncoder, Format, TextStyle, type_of};

use crate::answer::{Answer, AnswerBuilder, Refused};
use crate::script::Ask;

pub(crate) fn ask(database: &Database) -> Ask {
    let database = database.clone();
    Box::new(move |sql| {
        let database = database.clone();
        Box::pin(async move { answer(&database, &sql).await })
    })
}

async fn answer(database: &Database, sql: &str) -> Result<Answer, Refused> {
    let answer = database.sql(sql).await.map_err(refused)?;
    let schema = answer.schema();
    let mut columns = Vec::new();
    for field in schema.fields() {
        let ty = type_of(field).ok_or_else(|| Refused::fault(format!("{field} has no type of PostgreSQL")))?;
        columns.push((field.name().as_str(), ty.oid));
    }
    let mut rows = AnswerBuilder::new(columns);
    let style = TextStyle::default();
    for batch in answer.collect().await.map_err(refused)? {
        // Without columns there are no rows either, but a count of none.
        if batch.num_columns() == 0 {
            continue;
        }
        let encoders: Result<Vec<_>, _> = batch
            .columns()
            .iter()
            .zip(schema.fields())
            .map(|(array, field)| ColumnEncoder::new(field, array, Format::Text, &style))
            .collect();
        let encoders = encoders.map_err(Refused::fault)?;
        for row in 0..batch.num_rows() {
            let texts: Result<Vec<_>, _> = encoders.iter().map(|encoder| text(encoder, row)).collect();
            rows.push(texts?.iter().map(Option::as_deref));
        }
    }
    Ok(rows.finish())
}

/// A value as the wire sends it.
fn text(encoder: &ColumnEncoder<'_>, row: usize) -> Result<Option<String>, Refused> {
    if encoder.is_null(row) {
        return Ok(None);
    }
    let mut text = BytesMut::new();
    encoder.write(row, &mut text).map_err(Refused::fault)?;
    String::from_utf8(text.to_vec()).map(Some).map_err(Refused::fault)
}

fn refused(error: rowkey::Error) -> Refused {
    Refused { message: error.to_string(), sqlstate: Some(error.sqlstate().code().to_owned()) }
}
