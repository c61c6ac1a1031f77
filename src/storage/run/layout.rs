//! Which columns a run file has.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use rowkey_model::EdmType;
use rowkey_model::columns::{
    BytesLayout, KEY_COLUMNS, field, key_fields, tick_field, tick_name, typed_name, view_field,
};

/// Rows of a data page; see the crate's documentation for the measurements behind it.
pub const PAGE_ROWS: usize = 1024;
/// Properties without a column of their own, encoded together.
pub const OTHER_COLUMN: &str = "(other)";

/// One property in one type, as it lies in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RunColumn {
    pub property: Arc<str>,
    #[serde(rename = "type")]
    pub edm: EdmType,
    /// The file holds the property in several types, so the column's name carries this one:
    /// `Age:Int64`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub typed_name: bool,
    /// DateTimes with a 100 ns digit have it in a column of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tick: bool,
}

impl RunColumn {
    /// Name of the column in the file; see [`super::binary_names`].
    pub fn name(&self) -> String {
        match self.typed_name || self.edm == EdmType::Binary {
            true => typed_name(&self.property, self.edm),
            false => self.property.to_string(),
        }
    }

    /// Name of the column with the 100 ns digits, if there is one.
    pub fn tick_name(&self) -> Option<String> {
        self.tick.then(|| tick_name(&self.property))
    }

    fn fields(&self) -> impl Iterator<Item = Field> {
        let value = field(self.name(), self.edm, BytesLayout::Offsets);
        std::iter::once(value).chain(self.tick_name().map(tick_field))
    }
}

/// The property columns of a file, in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLayout {
    pub columns: Vec<RunColumn>,
    /// The file has an [`OTHER_COLUMN`].
    pub other: bool,
}

impl RunLayout {
    /// The file's Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        let mut fields = Vec::from(key_fields(false));
        fields.extend(self.columns.iter().flat_map(RunColumn::fields));
        if self.other {
            fields.push(Field::new(OTHER_COLUMN, DataType::Binary, true));
        }
        Arc::new(Schema::new(fields))
    }

    /// The schema as scans read it: strings and binaries as views, which is how SQL sees them.
    pub fn view_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.schema().fields().iter().map(view_field).collect::<Vec<_>>()))
    }

    /// Position of each property column (and of its tick) in the file's schema.
    pub fn positions(&self) -> Vec<ColumnPosition> {
        let mut next = KEY_COLUMNS;
        let position = |column: &RunColumn| {
            let value = next;
            next += 1 + usize::from(column.tick);
            ColumnPosition { value, tick: column.tick.then_some(value + 1) }
        };
        self.columns.iter().map(position).collect()
    }

    /// Position of [`OTHER_COLUMN`], behind all others.
    pub fn other_position(&self) -> Option<usize> {
        self.other.then(|| KEY_COLUMNS + self.columns.iter().map(|c| 1 + usize::from(c.tick)).sum::<usize>())
    }
}

/// Where a property column lies in the file's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnPosition {
    pub value: usize,
    pub tick: Option<usize>,
}
