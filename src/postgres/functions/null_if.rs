//! What `nullif(a, b)` gives where the two differ: `a` as the operator `=` takes it.

use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::common_type::common_type;
use super::kind::Kind;
use super::scalar::{Arguments, Function, NULLIF_OPERAND, immutable};

pub(super) static FUNCTIONS: [Function; 1] =
    [immutable(NULLIF_OPERAND, 2..=2, returns, |call| call.as_type(0, call.returns))];

/// `integer = numeric` compares numerics, and `integer = bigint` what there is.
fn returns(arguments: &Arguments) -> Result<DataType> {
    let [value, other] = arguments.types.as_slice() else { return arguments.undefined() };
    let (left, right) = (Kind::of(value), Kind::of(other));
    if arguments.is_unknown(0) && (arguments.is_unknown(1) || right == Kind::Null) {
        return Ok(DataType::Utf8View);
    }
    if (arguments.is_unknown(0) && left == Kind::Text) || left == Kind::Null {
        return Ok(if right == Kind::Null { (*value).clone() } else { (*other).clone() });
    }
    Ok(match (left, right) {
        (Kind::Numeric, right) if right.is_float() => DataType::Float64,
        (left, right) if left.is_integer() && right.is_float() => DataType::Float64,
        (left, Kind::Numeric) if left.is_integer() => {
            let common = common_type(&[(*value).clone(), (*other).clone()], &[false, false]);
            common.ok().flatten().unwrap_or_else(|| (*value).clone())
        }
        _ => (*value).clone(),
    })
}
