//! The values of a result as text, by the encoder that the wire protocol uses.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use bytes::BytesMut;

use super::super::text::visible;
use super::Error;
use rowkey_postgres::types::{ColumnEncoder, Format, PostgresType, TextStyle, oid, type_of};
use rowkey_sql::session::Rows;

/// The columns of a result, and the session's settings that the text of values follows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultColumns {
    fields: Arc<[FieldRef]>,
    style: Arc<TextStyle>,
    /// Of values that come as texts, whether they are numbers.
    numbers: Option<Arc<[bool]>>,
}

impl ResultColumns {
    pub(crate) fn new(fields: impl IntoIterator<Item = FieldRef>, style: &Arc<TextStyle>) -> Self {
        Self { fields: fields.into_iter().collect(), style: Arc::clone(style), numbers: None }
    }

    /// Columns of texts, which stand for values of `types`.
    pub(crate) fn of_texts(
        fields: impl IntoIterator<Item = FieldRef>,
        types: impl IntoIterator<Item = Option<&'static PostgresType>>,
    ) -> Self {
        let numbers = types.into_iter().map(|ty| ty.is_some_and(is_number)).collect();
        Self { numbers: Some(numbers), ..Self::new(fields, &Arc::default()) }
    }

    pub(crate) fn of(rows: &Rows, style: &Arc<TextStyle>) -> Self {
        Self::new(rows.columns.iter().map(|column| Arc::clone(&column.field)), style)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The labels, which need not be unique.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name().as_str())
    }

    /// For each column, whether psql aligns it on the right.
    pub(super) fn are_numbers(&self) -> Vec<bool> {
        match &self.numbers {
            Some(numbers) => numbers.to_vec(),
            None => self.fields.iter().map(|field| type_of(field).is_some_and(is_number)).collect(),
        }
    }

    /// The text of a batch of the result.
    pub(crate) fn text(&self, batch: &RecordBatch) -> Result<BatchText<'_>, Error> {
        let encoders = self.fields.iter().zip(batch.columns()).map(|(field, array)| {
            let encoder = ColumnEncoder::new(field, array, Format::Text, &self.style);
            encoder.map_err(|source| Error::value(field.name(), source))
        });
        Ok(BatchText {
            fields: &self.fields,
            encoders: encoders.collect::<Result<_, _>>()?,
            buffer: BytesMut::new(),
            rows: batch.num_rows(),
        })
    }
}

/// The types that psql aligns on the right; names of objects (`regclass`) are not among them.
fn is_number(ty: &PostgresType) -> bool {
    let numbers = [
        oid::INT2,
        oid::INT4,
        oid::INT8,
        oid::FLOAT4,
        oid::FLOAT8,
        oid::NUMERIC,
        oid::OID,
        oid::XID,
        oid::XID8,
        oid::CID,
    ];
    numbers.contains(&ty.oid)
}

/// The values of a batch as text, one at a time.
pub(crate) struct BatchText<'a> {
    fields: &'a [FieldRef],
    encoders: Vec<ColumnEncoder<'a>>,
    buffer: BytesMut,
    rows: usize,
}

impl BatchText<'_> {
    pub(super) fn columns(&self) -> usize {
        self.encoders.len()
    }

    /// The text of a value; `None` for NULL.
    pub(super) fn value(&mut self, row: usize, column: usize) -> Result<Option<&str>, Error> {
        let encoder = &self.encoders[column];
        if encoder.is_null(row) {
            return Ok(None);
        }
        let text = encoder.text(row, &mut self.buffer);
        text.map(Some).map_err(|source| Error::value(self.fields[column].name(), source))
    }

    /// A row to be shown at a terminal, which no value can change; `null` stands for NULL.
    pub(super) fn cells(&mut self, row: usize, null: &str) -> Result<Vec<String>, Error> {
        let columns = 0..self.encoders.len();
        columns.map(|column| Ok(self.value(row, column)?.map_or_else(|| null.to_owned(), visible))).collect()
    }

    /// All rows, for results that fit in memory; `None` for NULL.
    pub(crate) fn rows(mut self) -> Result<Vec<Vec<Option<String>>>, Error> {
        let mut rows = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            let columns = 0..self.encoders.len();
            let values = columns.map(|column| Ok(self.value(row, column)?.map(str::to_owned)));
            rows.push(values.collect::<Result<_, Error>>()?);
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests;
