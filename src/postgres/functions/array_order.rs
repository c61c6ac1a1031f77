//! Comparisons of arrays, for which DataFusion takes NULL for the smallest item, and intervals by
//! their bits.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, Operator};

use super::keys;
use super::scalar::{Call, Function, immutable, type_of};

/// NULL is the largest item of an array.
pub(super) const NULLS_LAST: SortOptions = SortOptions { descending: false, nulls_first: false };

/// Named as PostgreSQL names them.
static OF_ARRAYS: [(Operator, Function); 6] = [
    (Operator::Eq, immutable("array_eq", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_eq))),
    (Operator::NotEq, immutable("array_ne", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_ne))),
    (Operator::Lt, immutable("array_lt", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_lt))),
    (Operator::LtEq, immutable("array_le", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_le))),
    (Operator::Gt, immutable("array_gt", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_gt))),
    (Operator::GtEq, immutable("array_ge", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_ge))),
];

/// The function of a comparison of arrays, if it is not DataFusion's.
pub(super) fn of_operator(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<&'static Function> {
    let is_equality = matches!(op, Operator::Eq | Operator::NotEq);
    let is_concerned = |side: &Expr| {
        type_of(side, schema).is_ok_and(|data_type| match &data_type {
            DataType::List(_) => !is_equality || keys::is_of_intervals(&data_type),
            _ => false,
        })
    };
    let (_, function) = OF_ARRAYS.iter().find(|(operator, _)| *operator == op)?;
    (is_concerned(left) && is_concerned(right)).then_some(function)
}

fn arrays(call: &Call, holds: fn(Ordering) -> bool) -> Result<ArrayRef> {
    let (left, right) = (keys::of_array(call.arg(0)?)?, keys::of_array(call.arg(1)?)?);
    let compare = make_comparator(&left, &right, NULLS_LAST)?;
    let held = (0..call.rows).map(|row| (left.is_valid(row) && right.is_valid(row)).then(|| holds(compare(row, row))));
    Ok(Arc::new(held.collect::<BooleanArray>()))
}
