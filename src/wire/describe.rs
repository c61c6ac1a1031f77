//! Columns as the protocol describes them.

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FieldDescription, RowDescription};

use rowkey_postgres::types::{Format, type_of};
use rowkey_sql::session::{Column, Error, Result, SqlState};

/// The description of an answer.
pub(crate) fn row_description(columns: &[Column], formats: &[Format]) -> Result<PgWireBackendMessage> {
    let fields = columns.iter().zip(formats).map(|(column, format)| {
        let ty = type_of(&column.field).ok_or_else(|| {
            let (name, ty) = (column.field.name(), column.field.data_type());
            Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("column \"{name}\" has a type that cannot be sent: {ty}"),
            )
        })?;
        let (table, number) = column.origin.unwrap_or_default();
        let format = match format {
            Format::Text => 0,
            Format::Binary => 1,
        };
        // Oids are unsigned; the crate's field is not.
        Ok(FieldDescription::new(
            column.field.name().clone(),
            table as i32,
            number,
            ty.oid,
            ty.len,
            column.modifier,
            format,
        ))
    });
    Ok(PgWireBackendMessage::RowDescription(RowDescription::new(fields.collect::<Result<_>>()?)))
}
