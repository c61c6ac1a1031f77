//! `rowkey sql --server`: statements that a server runs.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow::datatypes::{FieldRef, Schema};
use futures::TryStreamExt;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage, Statement};

use super::super::failure::Failure;
use super::super::output::{Form, ResultColumns, ResultWriter};
use super::super::remote;
use super::{BATCH_ROWS_MAX, Printer};
use rowkey_postgres::syntax::verb;
use rowkey_postgres::types::{
    PostgresType, SqlValue, TextStyle, array_of, oid, parse_binary, type_by_oid, typed_field,
};
use rowkey_sql::session::{Request, parse_all, write_tag};

/// Has the statements run in order, by one session, and prints each result before the next one
/// runs. The first error ends it.
pub(super) async fn execute(url: &str, statements: &[String], printer: &mut Printer<'_>) -> Result<(), Failure> {
    let client = remote::connect(url).await?;
    for text in statements {
        run_statement(&client, text, printer).await.map_err(|failure| failure.in_statement(text))?;
    }
    Ok(())
}

async fn run_statement(client: &Client, text: &str, printer: &mut Printer<'_>) -> Result<(), Failure> {
    // What this version cannot read the server may.
    let request = parse_all(text).ok().and_then(|mut statements| Some(statements.pop()?.into_request()));
    if matches!(request, Some(Request::Copy(_))) {
        return Err(Failure::usage(
            "COPY has no input or output of its own here",
            "use rowkey import or export --server, or psql's \\copy",
        ));
    }
    let statement = client.prepare(text).await.map_err(remote::refused)?;
    let rows = match (statement.columns().is_empty(), printer.form) {
        (false, Form::Json | Form::Ndjson) => typed_rows(client, &statement, printer).await?,
        _ => text_rows(client, text, &statement, printer).await?,
    };
    let written = match &request {
        Some(Request::Query(statement) | Request::Write(statement)) => verb(statement),
        _ => None,
    };
    written.map_or(Ok(()), |verb| printer.tag(&write_tag(verb, rows)))
}

/// Prints rows as the texts that the server makes of them, which follow its session's settings.
/// Returns how many rows it told of.
async fn text_rows(
    client: &Client,
    text: &str,
    statement: &Statement,
    printer: &mut Printer<'_>,
) -> Result<u64, Failure> {
    let columns = statement.columns();
    let text_type = type_by_oid(oid::TEXT).ok_or_else(|| unknown("text"))?;
    let fields = columns.iter().map(|column| field_of(column.name(), text_type)).collect::<Result<Vec<_>, _>>()?;
    let types = columns.iter().map(|column| type_by_oid(column.type_().oid()));
    let shown = ResultColumns::of_texts(fields.clone(), types);
    let mut rows = Rows { writer: printer.writer(shown)?, fields, values: vec![Vec::new(); columns.len()], printer };
    let mut messages = pin!(client.simple_query_raw(text).await.map_err(remote::refused)?);
    let mut told = 0;
    loop {
        let next = match messages.try_next().await {
            Ok(next) => next,
            Err(error) => return rows.abandoned(remote::refused(error)),
        };
        match next {
            None => break,
            Some(SimpleQueryMessage::Row(row)) => {
                for (at, values) in rows.values.iter_mut().enumerate() {
                    values.push(row.get(at).map(str::to_owned));
                }
                rows.print_if_many(texts)?;
            }
            Some(SimpleQueryMessage::CommandComplete(count)) => told = count,
            // Of what is there already.
            Some(_) => {}
        }
    }
    rows.finished(texts)?;
    Ok(told)
}

fn texts(_: usize, values: &[Option<String>]) -> Result<ArrayRef, Failure> {
    Ok(Arc::new(values.iter().map(Option::as_deref).collect::<StringViewArray>()))
}

/// Prints rows as values of their types, for forms that do not follow settings.
async fn typed_rows(client: &Client, statement: &Statement, printer: &mut Printer<'_>) -> Result<u64, Failure> {
    let columns = statement.columns();
    let of = |ty: &Type| type_by_oid(ty.oid()).ok_or_else(|| unknown(ty.name()));
    let types = columns.iter().map(|column| of(column.type_())).collect::<Result<Vec<_>, _>>()?;
    let fields = columns.iter().zip(&types).map(|(column, ty)| field_of(column.name(), ty));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let shown = ResultColumns::new(fields.clone(), &Arc::new(TextStyle::default()));
    let mut rows = Rows { writer: printer.writer(shown)?, fields, values: vec![Vec::new(); columns.len()], printer };
    let array = |column: usize, values: &[SqlValue]| array_of(types[column], values).map_err(unfit);
    let none: [&str; 0] = [];
    let mut stream = pin!(client.query_raw(statement, none).await.map_err(remote::refused)?);
    loop {
        let row = match stream.try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) => return rows.abandoned(remote::refused(error)),
        };
        for (at, values) in rows.values.iter_mut().enumerate() {
            let Binary(bytes) = row.try_get(at).map_err(remote::refused)?;
            let value = bytes.map_or(Ok(SqlValue::Null), |bytes| parse_binary(types[at], bytes));
            values.push(value.map_err(unfit)?);
        }
        rows.print_if_many(array)?;
    }
    rows.finished(array)?;
    Ok(stream.rows_affected().unwrap_or_default())
}

/// Rows on their way to the printer.
struct Rows<'p, 'w, T> {
    printer: &'p mut Printer<'w>,
    writer: Option<Box<dyn ResultWriter>>,
    fields: Vec<FieldRef>,
    /// By columns.
    values: Vec<Vec<T>>,
}

impl<T> Rows<'_, '_, T> {
    fn print_if_many(&mut self, array: impl Fn(usize, &[T]) -> Result<ArrayRef, Failure>) -> Result<(), Failure> {
        match self.values.first() {
            Some(values) if values.len() >= BATCH_ROWS_MAX => self.print(array),
            _ => Ok(()),
        }
    }

    fn print(&mut self, array: impl Fn(usize, &[T]) -> Result<ArrayRef, Failure>) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let count = self.values.first().map_or(0, Vec::len);
        let arrays = self.values.iter().enumerate().map(|(column, values)| array(column, values));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        // Numerics have the scale of their batch.
        let typed = self
            .fields
            .iter()
            .zip(&arrays)
            .map(|(field, array)| Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())));
        let schema = Arc::new(Schema::new(typed.collect::<Vec<FieldRef>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|error| Failure::defect(format!("rows of other types than their columns: {error}")))?;
        self.values.iter_mut().for_each(Vec::clear);
        Ok(writer.batch(&batch, self.printer.out)?)
    }

    fn finished(&mut self, array: impl Fn(usize, &[T]) -> Result<ArrayRef, Failure>) -> Result<(), Failure> {
        self.print(array)?;
        if let Some(writer) = &mut self.writer {
            writer.finish(self.printer.out)?;
        }
        Ok(self.printer.out.flush()?)
    }

    /// The result ended in an error.
    fn abandoned<R>(&mut self, failure: Failure) -> Result<R, Failure> {
        if let Some(writer) = &mut self.writer {
            writer.abandon(self.printer.out)?;
        }
        Err(failure)
    }
}

/// A value as it is sent, of any type.
struct Binary<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Binary<'a> {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Some(bytes)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn field_of(name: &str, ty: &PostgresType) -> Result<FieldRef, Failure> {
    typed_field(name, ty, true).map(Arc::new).ok_or_else(|| unknown(ty.sql_name))
}

fn unknown(type_name: &str) -> Failure {
    Failure::plain(
        format!("values of type {type_name} have no JSON of their own here"),
        "cast them to text, or use --output csv",
    )
}

fn unfit(error: rowkey_postgres::types::Error) -> Failure {
    Failure::plain(format!("the server sent a value that cannot be shown: {error}"), "use --output csv")
}
