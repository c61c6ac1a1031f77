//! What is kept of the rows of a group, and what comes of it.

use std::fmt::Debug;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, Float32Array, Float64Array, Int64Array, PrimitiveArray,
};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};

use super::Statistic;

/// What is kept of rows, in so many bytes as a state.
pub(super) trait Moments: Debug + Copy + Send + Sync + 'static {
    const BYTES: usize;
    /// Whether rows can be taken away again, without a trace.
    const RETRACTS: bool;
    type Row: Copy;

    fn none() -> Self;
    /// Hands over the rows of arguments in their order, with their places; not those with a NULL.
    fn each_row(arguments: &[ArrayRef], taken: impl FnMut(usize, Self::Row) -> Result<()>) -> Result<()>;
    fn add(&mut self, row: Self::Row) -> Result<()>;
    fn retract(&mut self, row: Self::Row) -> Result<()>;
    fn combine(&mut self, other: &Self) -> Result<()>;
    fn write(&self, state: &mut [u8]);
    fn read(state: &[u8]) -> Self;
    fn result(&self, results: &Results) -> Result<Number>;
}

/// A result, or NULL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Float(Option<f64>),
    /// Of the digits of its type.
    Exact(Option<i128>),
    Count(i64),
}

/// What is wanted of moments.
#[derive(Debug, Clone)]
pub(super) struct Results {
    pub statistic: Statistic,
    pub returns: DataType,
    /// Digits behind the point of exact arguments.
    pub scale: i8,
}

impl Results {
    pub(super) fn new(statistic: Statistic, returns: DataType, scale: i8) -> Self {
        Self { statistic, returns, scale }
    }

    pub(super) fn scalar(&self, number: Number) -> Result<ScalarValue> {
        Ok(match (number, &self.returns) {
            (Number::Float(number), DataType::Float32) => ScalarValue::Float32(number.map(|number| number as f32)),
            (Number::Float(number), DataType::Float64) => ScalarValue::Float64(number),
            (Number::Exact(number), DataType::Decimal128(precision, scale)) => {
                ScalarValue::Decimal128(number, *precision, *scale)
            }
            (Number::Count(count), DataType::Int64) => ScalarValue::Int64(Some(count)),
            _ => return internal_err!("{number:?} as {}", self.returns),
        })
    }

    pub(super) fn array(&self, numbers: impl Iterator<Item = Result<Number>>) -> Result<ArrayRef> {
        macro_rules! collected {
            ($array:ty, $pattern:pat => $value:expr) => {{
                let values = numbers.map(|number| match number? {
                    $pattern => Ok($value),
                    other => internal_err!("{other:?} as {}", self.returns),
                });
                values.collect::<Result<$array>>()?
            }};
        }
        Ok(match &self.returns {
            DataType::Float32 => std::sync::Arc::new(
                collected!(Float32Array, Number::Float(number) => number.map(|number| number as f32)),
            ),
            DataType::Float64 => std::sync::Arc::new(collected!(Float64Array, Number::Float(number) => number)),
            DataType::Int64 => std::sync::Arc::new(collected!(Int64Array, Number::Count(count) => Some(count))),
            DataType::Decimal128(precision, scale) => {
                let values = collected!(Decimal128Array, Number::Exact(number) => number);
                std::sync::Arc::new(values.with_precision_and_scale(*precision, *scale)?)
            }
            other => return internal_err!("a statistic of type {other}"),
        })
    }
}

/// Hands over the values of an array that are not NULL, with their places.
pub(super) fn each_value<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    mut taken: impl FnMut(usize, T::Native) -> Result<()>,
) -> Result<()> {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => array.values().iter().enumerate().try_for_each(|(at, value)| taken(at, *value)),
        Some(nulls) => nulls.valid_indices().try_for_each(|at| taken(at, array.value(at))),
    }
}

/// Numbers one after the other in the bytes of a state.
pub(super) fn write_floats<const N: usize>(floats: [f64; N], state: &mut [u8]) {
    for (float, bytes) in floats.iter().zip(state.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&float.to_le_bytes());
    }
}

pub(super) fn read_floats<const N: usize>(state: &[u8]) -> [f64; N] {
    let mut floats = [0.0; N];
    for (float, bytes) in floats.iter_mut().zip(state.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(bytes);
        *float = f64::from_le_bytes(eight);
    }
    floats
}
