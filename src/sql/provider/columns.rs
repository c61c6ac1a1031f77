//! The columns of a table in SQL, and how each comes from the columns of a file.
//!
//! A property seen in one type is a column of that type. Seen in several numeric types it is shown
//! in the widest of them (Int32 < Int64 < Double), seen in types that do not mix it is shown as
//! text; in both cases every type also has a column of its own beside it, `"Age:Int64"`, which
//! holds exactly the values of that type. A column that was declared never changes its type:
//! numbers of narrower types are shown in it, and values of other types have columns beside it.
//!
//! Behind them lie hidden columns, which `*` leaves out: the ticks of every DateTime, whose 100 ns
//! digit its column does not have, and the ETag.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use quick_cache::sync::Cache;

use rowkey_model::EdmType;
use rowkey_model::columns::{BytesLayout, PARTITION_KEY, ROW_KEY, TIMESTAMP, data_type, field, typed_name, utc_micros};
use rowkey_storage::Table;
use rowkey_storage::run::OTHER_COLUMN;

/// Where a column's values come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnSource {
    /// PartitionKey, RowKey or Timestamp: the column of that name in every file.
    Key,
    /// Values of one type of a property.
    Typed { property: Arc<str>, edm: EdmType },
    /// Values of several types of a property, brought to one type, which is what is written as well
    /// if it was declared.
    Widened { property: Arc<str>, types: Vec<EdmType>, to: WidenedType, is_declared: bool },
    /// All properties without a column.
    Other,
    /// The ticks of a DateTime property, or of the Timestamp.
    Ticks { property: Arc<str> },
    /// The ETag, which is the Timestamp in another form.
    Etag,
}

/// The hidden column with the service's ETag; none where a property has the name.
const ETAG: &str = "etag";

/// The hidden column with the ticks of a DateTime property, or of the Timestamp: 100 ns since the
/// year 1. No property's name has a colon.
pub(crate) fn ticks_name(property: &str) -> String {
    format!("{property}:ticks")
}

/// The one type that the values of a property of several types are brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WidenedType {
    Int64,
    Double,
    Text,
}

impl WidenedType {
    pub(crate) fn of(types: &[EdmType]) -> Self {
        if !types.iter().all(|edm| edm.is_numeric()) {
            WidenedType::Text
        } else if types.contains(&EdmType::Double) {
            WidenedType::Double
        } else {
            WidenedType::Int64
        }
    }

    /// The one that has this type in SQL.
    pub(crate) fn of_data_type(wanted: &DataType) -> Option<Self> {
        [WidenedType::Int64, WidenedType::Double, WidenedType::Text].into_iter().find(|to| to.data_type() == *wanted)
    }

    pub(crate) fn data_type(self) -> DataType {
        data_type(self.edm(), BytesLayout::Views)
    }

    /// The property type of the widened values.
    pub(crate) fn edm(self) -> EdmType {
        match self {
            WidenedType::Int64 => EdmType::Int64,
            WidenedType::Double => EdmType::Double,
            WidenedType::Text => EdmType::String,
        }
    }
}

/// A table's schema in SQL.
#[derive(Debug, Clone)]
pub(crate) struct TableColumns {
    schema: SchemaRef,
    sources: Arc<HashMap<String, ColumnSource>>,
    /// How many of the last columns are hidden.
    hidden: usize,
}

impl TableColumns {
    pub(crate) fn of(table: &Table) -> Self {
        let mut columns = vec![
            (Field::new(PARTITION_KEY, DataType::Utf8View, false), ColumnSource::Key),
            (Field::new(ROW_KEY, DataType::Utf8View, false), ColumnSource::Key),
            (Field::new(TIMESTAMP, utc_micros(), false), ColumnSource::Key),
        ];
        for column in &table.columns {
            let property = &column.name;
            let typed = |name: String, edm: EdmType| {
                (field(name, edm, BytesLayout::Views), ColumnSource::Typed { property: Arc::clone(property), edm })
            };
            let widened = |property: &Arc<str>, types: &[EdmType], is_declared: bool| {
                let (to, types) = (WidenedType::of(types), types.to_vec());
                let source = ColumnSource::Widened { property: Arc::clone(property), types, to, is_declared };
                (Field::new(property.to_string(), to.data_type(), true), source)
            };
            if let Some(declared) = column.declared {
                let shown = column.types.iter().copied().filter(|edm| edm.widens_to(declared)).collect::<Vec<_>>();
                columns.push(match shown.len() {
                    0 | 1 => typed(property.to_string(), declared),
                    _ => widened(property, &shown, true),
                });
                let others = column.types.iter().filter(|edm| **edm != declared);
                columns.extend(others.map(|&edm| typed(typed_name(property, edm), edm)));
                continue;
            }
            match column.types.as_slice() {
                [] => {}
                [edm] => columns.push(typed(property.to_string(), *edm)),
                types => {
                    columns.push(widened(property, types, false));
                    columns.extend(types.iter().map(|&edm| typed(typed_name(property, edm), edm)));
                }
            }
        }
        if table.has_other() {
            columns.push((Field::new(OTHER_COLUMN, DataType::BinaryView, true), ColumnSource::Other));
        }
        let hidden = hidden_columns(&columns);
        let hidden_count = hidden.len();
        columns.extend(hidden);
        let sources = columns.iter().map(|(field, source)| (field.name().clone(), source.clone())).collect();
        let fields: Vec<Field> = columns.into_iter().map(|(field, _)| field).collect();
        Self { schema: Arc::new(Schema::new(fields)), sources: Arc::new(sources), hidden: hidden_count }
    }

    /// All columns, the hidden ones last.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns that `*` means.
    pub(crate) fn visible(&self) -> &[FieldRef] {
        let fields = self.schema.fields();
        fields.get(..fields.len() - self.hidden).unwrap_or_default()
    }

    /// The columns that `*` leaves out.
    pub(crate) fn hidden(&self) -> &[FieldRef] {
        &self.schema.fields()[self.visible().len()..]
    }

    pub(crate) fn hidden_count(&self) -> usize {
        self.hidden
    }

    pub(crate) fn source(&self, column: &str) -> Option<&ColumnSource> {
        self.sources.get(column)
    }
}

fn hidden_columns(columns: &[(Field, ColumnSource)]) -> Vec<(Field, ColumnSource)> {
    let times = columns.iter().filter_map(|(field, source)| match source {
        ColumnSource::Key if field.name() == TIMESTAMP => Some((Arc::from(TIMESTAMP), false)),
        ColumnSource::Typed { property, edm: EdmType::DateTime } => Some((Arc::clone(property), true)),
        _ => None,
    });
    let ticks = |(property, nullable): (Arc<str>, bool)| {
        (Field::new(ticks_name(&property), DataType::Int64, nullable), ColumnSource::Ticks { property })
    };
    let mut hidden: Vec<_> = times.map(ticks).collect();
    if !columns.iter().any(|(field, _)| field.name().eq_ignore_ascii_case(ETAG)) {
        hidden.push((Field::new(ETAG, DataType::Utf8View, false), ColumnSource::Etag));
    }
    hidden
}

/// Tables whose columns are kept; of others they are made again.
const TABLES_MAX: usize = 1000;

/// The columns of tables, made once for each version of a table: a statement asks for them several
/// times, and there may be hundreds.
#[derive(Debug)]
pub(crate) struct ColumnsCache {
    /// By the table's number. The address of a version is not given to another one while it is
    /// known here.
    tables: Cache<u64, (Weak<Table>, TableColumns)>,
}

impl ColumnsCache {
    pub(crate) fn new() -> Self {
        Self { tables: Cache::new(TABLES_MAX) }
    }

    pub(crate) fn of(&self, table: &Arc<Table>) -> TableColumns {
        if let Some((version, columns)) = self.tables.get(&table.id)
            && version.as_ptr() == Arc::as_ptr(table)
        {
            return columns;
        }
        let columns = TableColumns::of(table);
        self.tables.insert(table.id, (Arc::downgrade(table), columns.clone()));
        columns
    }
}
