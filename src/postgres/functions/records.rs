//! Whether a record is NULL: to PostgreSQL it is if all its fields are, and is not if none is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::scalar::{Call, Function, immutable};

pub(super) static IS_NULL: Function =
    immutable("record_is_null", 1..=1, |_| Ok(DataType::Boolean), |call| tested(call, true));
pub(super) static IS_NOT_NULL: Function =
    immutable("record_is_not_null", 1..=1, |_| Ok(DataType::Boolean), |call| tested(call, false));

fn tested(call: &Call, null: bool) -> Result<ArrayRef> {
    let records = call.arg(0)?.as_struct();
    let holds = |row: usize| match records.is_null(row) {
        true => null,
        false => records.columns().iter().all(|field| field.is_null(row) == null),
    };
    Ok(Arc::new((0..records.len()).map(|row| Some(holds(row))).collect::<BooleanArray>()))
}
