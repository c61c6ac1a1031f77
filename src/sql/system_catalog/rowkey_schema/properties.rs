//! `rowkey.properties`: one row a property and type.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::{Result, exec_err};

use super::Source;
use super::bounds::{Bounds, bound_type};
use super::cells::{Cell, Column, Kind, Row};
use super::other_properties::other_properties;
use super::scan::TABLE_NAME;
use rowkey_model::{EdmType, Value};
use rowkey_storage::Table;

pub(super) static COLUMNS: [Column; 9] = [
    Column::new(TABLE_NAME, Kind::Text),
    Column::new("property", Kind::Text),
    // In the service: Int32, String ...
    Column::new("type", Kind::Text),
    // In SQL: int4, text ...
    Column::new("sql_type", Kind::Text),
    // Whether it has a column of its own, or lies in "(other)".
    Column::new("has_column", Kind::Boolean),
    // Entities that have it in this type.
    Column::new("entities", Kind::Int8),
    // In canonical text, cut to 64 bytes; NaN and Binary values have no place in them.
    Column::nullable("min", Kind::Text),
    Column::nullable("max", Kind::Text),
    // False where masked rows, recent writes or cut texts make the count and the bounds no more
    // than that.
    Column::new("exact", Kind::Boolean),
];

/// What is known of a property in one type.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    pub entities: u64,
    pub bounds: Bounds,
    /// Some of the rows counted are masked, or may be replaced by recent writes.
    pub masked: bool,
}

pub(super) async fn rows(table: &Arc<Table>, source: &Source) -> Result<Vec<Row>> {
    let mut columns: HashMap<(&str, EdmType), Statistics> = HashMap::new();
    for file in table.manifest.files() {
        for summary in &file.columns {
            let edm = summary.column.edm;
            let statistics = columns.entry((&summary.column.property, edm)).or_default();
            statistics.entities += summary.entities;
            statistics.masked |= file.mask.is_some();
            for bound in [&summary.min, &summary.max].into_iter().flatten() {
                match Value::from_text(bound_type(edm), bound) {
                    Ok(value) => statistics.bounds.add(value),
                    Err(error) => return exec_err!("{}: a bound in the manifest: {error}", file.path),
                }
            }
        }
    }
    let mut rows = Vec::new();
    let unsettled = source.delta(table).versions > 0;
    for column in &table.columns {
        for &edm in &column.types {
            let mut statistics = columns.remove(&(&*column.name, edm)).unwrap_or_default();
            statistics.masked |= unsettled;
            rows.push(row(table, &column.name, edm, true, &statistics));
        }
    }
    for ((name, edm), mut statistics) in other_properties(table, &source.files).await? {
        statistics.masked |= unsettled;
        rows.push(row(table, &name, edm, false, &statistics));
    }
    Ok(rows)
}

fn row(table: &Table, property: &str, edm: EdmType, has_column: bool, statistics: &Statistics) -> Row {
    let Statistics { entities, bounds, masked } = statistics;
    vec![
        table.name.as_str().into(),
        property.into(),
        edm.name().into(),
        sql_type(edm).into(),
        has_column.into(),
        Cell::from(*entities),
        bounds.min().into(),
        bounds.max().into(),
        (!masked && bounds.are_whole()).into(),
    ]
}

fn sql_type(edm: EdmType) -> &'static str {
    match edm {
        EdmType::Binary => "bytea",
        EdmType::Boolean => "boolean",
        EdmType::DateTime => "timestamptz",
        EdmType::Double => "float8",
        EdmType::Guid => "uuid",
        EdmType::Int32 => "int4",
        EdmType::Int64 => "int8",
        EdmType::String => "text",
    }
}
