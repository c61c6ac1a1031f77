//! `ARRAY[...]`: its items are brought to one type as the branches of CASE are.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions_nested::make_array::make_array_udf;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::common_type::common_type;
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, MAKE_ARRAY, immutable, type_of};

/// In place of DataFusion's function until types are settled: that one refuses items of several
/// types, of which literals in quotes and NULLs have none.
pub(super) static FUNCTIONS: [Function; 1] = [immutable(MAKE_ARRAY, 0..=usize::MAX, returns, run)];

fn returns(arguments: &Arguments) -> Result<DataType> {
    let types: Vec<DataType> = arguments.types.iter().map(|data_type| (*data_type).clone()).collect();
    let unknown: Vec<bool> = (0..types.len()).map(|place| arguments.is_unknown(place)).collect();
    let item = match common_type(&types, &unknown) {
        Ok(Some(common)) => common,
        _ => types.into_iter().find(|data_type| *data_type != DataType::Null).unwrap_or(DataType::Null),
    };
    Ok(DataType::new_list(item, true))
}

fn run(call: &Call) -> Result<ArrayRef> {
    let DataType::List(item) = call.returns else { return super::scalar::undefined(MAKE_ARRAY, std::iter::empty()) };
    let items = (0..call.len()).map(|place| call.as_type(place, item.data_type())).collect::<Result<Vec<_>>>()?;
    let places: Vec<(usize, usize)> =
        (0..call.rows).flat_map(|row| (0..items.len()).map(move |place| (place, row))).collect();
    let values = match items.is_empty() {
        true => arrow::array::new_empty_array(item.data_type()),
        false => interleave(&items.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &places)?,
    };
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(items.len(), call.rows));
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, None)?))
}

/// DataFusion's function, once all items have one type.
pub(super) fn settled(items: Vec<Expr>, schema: &DFSchema) -> Result<Expr> {
    let is_null = |item: &Expr| type_of(item, schema).is_ok_and(|data_type| Kind::of(&data_type) == Kind::Null);
    let typed = items.iter().find(|item| !is_null(item)).map(|item| item.get_type(schema)).transpose()?;
    let items = items.into_iter().map(|item| match &typed {
        Some(data_type) if is_null(&item) => Ok(Expr::Literal(ScalarValue::try_from(data_type)?, None)),
        _ => Ok(item),
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(make_array_udf(), items)))
}
