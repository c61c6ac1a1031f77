//! Arrays as texts. They are written item by item, as far as a value may be long: an array of
//! millions of items is not held as so many values beside the text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewBuilder};
use arrow::datatypes::Field;
use bytes::BytesMut;
use datafusion::common::Result;
use datafusion::logical_expr::Volatility;

use super::datum::Returns;
use super::function::{Body, Columns, Definition};
use crate::functions::value_budget::Reserved;
use crate::types::{ColumnEncoder, Format};

/// Items between two checks for cancellation.
const ITEMS_CHECKED: usize = 4096;

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::of("array_to_string", (2, 3), Returns::Text, Volatility::Stable, Body::Columns(array_to_string)),
    Definition::of("array_out", (1, 1), Returns::Text, Volatility::Stable, Body::Columns(array_out)),
];

fn array_to_string(columns: &Columns) -> Result<ArrayRef> {
    fn text(texts: Option<&ArrayRef>, row: usize) -> Option<&str> {
        let texts = texts.filter(|texts| !texts.is_null(row))?;
        Some(texts.as_string_view().value(row))
    }
    let (separators, nulls) = (columns.texts(1)?, columns.texts(2)?);
    each_array(columns, |row, items, writer| {
        let Some(separator) = text(separators.as_ref(), row) else { return Ok(false) };
        writer.joined(items, separator, text(nulls.as_ref(), row))?;
        Ok(true)
    })
}

/// `{a,NULL,"b c"}`, and `1 2` for a vector.
fn array_out(columns: &Columns) -> Result<ArrayRef> {
    if columns.is_vector(0) {
        return each_array(columns, |_, items, writer| writer.joined(items, " ", None).map(|()| true));
    }
    let array = columns.array(0);
    let field = Field::new("", array.data_type().clone(), true);
    let encoder = ColumnEncoder::new(&field, array, Format::Text, columns.style())?;
    let (mut texts, mut buffer) = (StringViewBuilder::with_capacity(columns.rows()), BytesMut::new());
    let mut reserved = columns.reserve();
    for row in 0..columns.rows() {
        columns.check()?;
        if encoder.is_null(row) {
            texts.append_null();
            continue;
        }
        buffer.clear();
        let text = encoder.text(row, &mut buffer)?;
        reserved.value(text.len())?;
        texts.append_value(text);
    }
    Ok(Arc::new(texts.finish()))
}

/// Writes the text of each array that is none of NULL; `write` says whether there is one.
fn each_array(
    columns: &Columns,
    mut write: impl FnMut(usize, &ArrayRef, &mut Writer) -> Result<bool>,
) -> Result<ArrayRef> {
    let lists: Option<&ListArray> = columns.array(0).as_list_opt();
    let mut writer = Writer { columns, text: String::new(), buffer: BytesMut::new(), reserved: columns.reserve() };
    let mut texts = StringViewBuilder::with_capacity(columns.rows());
    for row in 0..columns.rows() {
        columns.check()?;
        writer.text.clear();
        let items = lists.filter(|lists| !lists.is_null(row)).map(|lists| lists.value(row));
        let is_written = match items {
            Some(items) => write(row, &items, &mut writer)?,
            None => false,
        };
        if is_written {
            writer.reserved.value(writer.text.len())?;
            texts.append_value(&writer.text);
        } else {
            texts.append_null();
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// The text of one array.
struct Writer<'a> {
    columns: &'a Columns<'a>,
    text: String,
    buffer: BytesMut,
    reserved: Reserved,
}

impl Writer<'_> {
    /// The items with a separator between them, without those that are NULL unless `null` stands
    /// for them.
    fn joined(&mut self, items: &ArrayRef, separator: &str, null: Option<&str>) -> Result<()> {
        let field = Field::new("", items.data_type().clone(), true);
        let encoder = ColumnEncoder::new(&field, items, Format::Text, self.columns.style())?;
        let mut is_first = true;
        for item in 0..items.len() {
            if item % ITEMS_CHECKED == 0 {
                self.columns.check()?;
            }
            self.buffer.clear();
            let text = match (encoder.is_null(item), null) {
                (true, None) => continue,
                (true, Some(null)) => null,
                (false, _) => encoder.text(item, &mut self.buffer)?,
            };
            if !std::mem::take(&mut is_first) {
                self.text.push_str(separator);
            }
            self.text.push_str(text);
            self.columns.value(self.text.len())?;
        }
        Ok(())
    }
}
