//! The values of a column by their types, as they are stored.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Int64Type;

use rowkey_model::columns::PropertyReader;
use rowkey_model::{DateTime, EdmType, Value};

/// By type, the values of a column that are of it; DateTimes as ticks.
#[derive(Debug)]
pub(super) struct ExactValues(pub Vec<(EdmType, ArrayRef)>);

impl ExactValues {
    pub(super) fn value(&self, row: usize) -> Option<Value> {
        self.0.iter().find_map(|(edm, values)| match edm {
            EdmType::DateTime => {
                let ticks = values.as_primitive_opt::<Int64Type>().filter(|ticks| ticks.is_valid(row))?;
                Some(Value::DateTime(DateTime::from_dot_net_ticks(ticks.value(row))))
            }
            edm => Some(PropertyReader::new(*edm, values, None)?.get(row)?.to_value()),
        })
    }
}
