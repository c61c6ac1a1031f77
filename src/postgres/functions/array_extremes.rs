//! The greatest and the least item of an array, which `x < ANY (array)` and its like are about.
//! DataFusion compares intervals by their months first.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array, make_comparator};
use arrow::compute::take;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::keys::{NULLS_LAST, is_of_intervals, of_array};
use super::resolution::Resolver;
use super::scalar::{Arguments, Call, Function, Scalar, immutable, type_of};

static OF_INTERVALS: [Function; 2] = [
    immutable("array_max", 1..=1, item_type, |call| extreme(call, Ordering::Greater)),
    immutable("array_min", 1..=1, item_type, |call| extreme(call, Ordering::Less)),
];

/// DataFusion's function, or of intervals ours.
pub(super) fn extreme_by_key(function: ScalarFunction, resolver: &Resolver) -> ScalarFunction {
    let Some(ours) = OF_INTERVALS.iter().find(|ours| ours.name == function.func.name()) else { return function };
    let is_concerned = |arg: &Expr| type_of(arg, resolver.schema).is_ok_and(|data_type| is_of_intervals(&data_type));
    match function.args.iter().all(is_concerned) {
        true => ScalarFunction::new_udf(Scalar::udf(ours), function.args),
        false => function,
    }
}

fn item_type(asked: &Arguments) -> Result<DataType> {
    match asked.types.first() {
        Some(DataType::List(item)) => Ok(item.data_type().clone()),
        _ => asked.undefined(),
    }
}

/// NULL of an array without items other than NULL.
fn extreme(call: &Call, wanted: Ordering) -> Result<ArrayRef> {
    let lists = call.arg(0)?.as_list::<i32>();
    let keys = of_array(lists.values())?;
    let compare = make_comparator(&keys, &keys, NULLS_LAST)?;
    let places = (0..lists.len()).map(|row| {
        let span = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
        let items = span.filter(|place| lists.is_valid(row) && keys.is_valid(*place));
        let best = items.reduce(|best, place| if compare(place, best) == wanted { place } else { best });
        best.map(|place| place as u64)
    });
    Ok(take(lists.values(), &places.collect::<UInt64Array>(), None)?)
}
