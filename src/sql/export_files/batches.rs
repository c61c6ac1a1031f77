//! Entities of a file as batches of its columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringViewBuilder, TimestampMicrosecondBuilder};
use rowkey_base::{DateTime, Error, Result, SqlState};
use rowkey_model::columns::{BytesLayout, Capacity, PropertyBuilder};
use rowkey_model::rows::Rows;

use super::file::ExportFile;

impl ExportFile {
    /// By number of a property, the place of its column.
    pub(super) fn places(&self) -> Vec<Option<usize>> {
        let numbers = self.properties.iter().map(|property| property.id + 1).max().unwrap_or(0);
        let mut places = vec![None; numbers];
        for (place, property) in self.properties.iter().enumerate() {
            places[property.id] = Some(place);
        }
        places
    }

    /// # Errors
    /// A value that the file did not have when its columns were found.
    pub(super) fn batch(&self, rows: &Rows, places: &[Option<usize>]) -> Result<RecordBatch> {
        let count = rows.len();
        let mut partition_keys = StringViewBuilder::with_capacity(count);
        let mut row_keys = StringViewBuilder::with_capacity(count);
        let mut timestamps =
            TimestampMicrosecondBuilder::with_capacity(count).with_data_type(self.schema.field(2).data_type().clone());
        let capacity = Capacity { rows: count, bytes: 0 };
        let builder = |edm| PropertyBuilder::new(edm, BytesLayout::Views, capacity);
        let mut builders: Vec<_> = self.properties.iter().map(|property| builder(property.edm)).collect();
        let mut written = String::new();
        for (at, row) in rows.iter().enumerate() {
            let key = row.key();
            partition_keys.append_value(key.partition);
            row_keys.append_value(key.row);
            timestamps.append_option(row.timestamp().map(DateTime::micros));
            for (id, value) in row.properties() {
                let place = places.get(id.index()).copied().flatten().ok_or_else(|| self.changed())?;
                let value = match self.properties[place].widened {
                    Some(to) => to.widen(value, &mut written).ok_or_else(|| self.changed())?,
                    None => value,
                };
                if !builders[place].set(at, value) {
                    return Err(self.changed());
                }
            }
        }
        let keys: [ArrayRef; 3] =
            [Arc::new(partition_keys.finish()), Arc::new(row_keys.finish()), Arc::new(timestamps.finish())];
        let properties = builders.iter_mut().map(|builder| builder.finish(count).0);
        let columns = keys.into_iter().chain(properties).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
    }
}
