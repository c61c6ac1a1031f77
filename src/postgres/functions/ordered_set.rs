//! `percentile_disc` and `mode`: values of a group that are picked by their place in order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, make_comparator, new_empty_array};
use arrow::compute::{SortOptions, cast, concat, sort_to_indices, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility};
use datafusion::physical_expr::PhysicalExpr;

use super::error::{SqlState, fail};
use super::keys;
use super::kind::Kind;
use crate::types::POSTGRES_TYPE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Picked {
    /// The first value at or behind a share of all.
    Percentile,
    /// The most frequent value, the first in order of several.
    Mode,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OrderedSet {
    picked: Picked,
    signature: Signature,
}

impl OrderedSet {
    pub(super) fn all() -> [AggregateUDF; 2] {
        [Picked::Percentile, Picked::Mode].map(|picked| {
            AggregateUDF::new_from_impl(Self { picked, signature: Signature::user_defined(Volatility::Immutable) })
        })
    }

    fn undefined<T>(&self, types: &[DataType]) -> Result<T> {
        // The value that is ordered comes first, and is no argument to PostgreSQL.
        super::scalar::undefined(self.name(), types.iter().skip(1))
    }
}

impl AggregateUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        match self.picked {
            Picked::Percentile => "percentile_disc",
            Picked::Mode => "mode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.picked, types) {
            (Picked::Mode, [_]) => Ok(types.to_vec()),
            (Picked::Percentile, [value, share]) => match share {
                DataType::List(_) => {
                    let shares = DataType::new_list(DataType::Float64, true);
                    Ok(vec![value.clone(), shares])
                }
                share if Kind::of(share).is_number() || Kind::of(share) == Kind::Null => {
                    Ok(vec![value.clone(), DataType::Float64])
                }
                _ => self.undefined(types),
            },
            _ => self.undefined(types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.picked, types) {
            (Picked::Percentile, [value, DataType::List(_)]) => Ok(DataType::new_list(value.clone(), true)),
            (_, [value, ..]) => Ok(value.clone()),
            _ => self.undefined(types),
        }
    }

    /// Texts stay those of their type: `varchar`.
    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<_> = arguments.iter().map(|field| field.data_type().clone()).collect();
        let data_type = self.return_type(&types)?;
        let name = arguments.first().and_then(|value| value.metadata().get(POSTGRES_TYPE));
        let name = name.map(|name| match (self.picked, types.get(1)) {
            (Picked::Percentile, Some(DataType::List(_))) => format!("_{name}"),
            _ => name.clone(),
        });
        let field = Field::new(self.name(), data_type, self.is_nullable());
        Ok(Arc::new(match name {
            Some(name) => field.with_metadata([(POSTGRES_TYPE.to_owned(), name)].into()),
            None => field,
        }))
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = args.input_fields.first().map_or(DataType::Null, |field| of_state(field.data_type()));
        let values = DataType::new_list(value, true);
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, self.name()), values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        let shares = match (self.picked, args.exprs.get(1)) {
            (Picked::Percentile, Some(expr)) => Some(shares(expr)?),
            _ => None,
        };
        let value_type = args.expr_fields.first().map_or(DataType::Null, |field| field.data_type().clone());
        let as_list =
            matches!(args.return_field.data_type(), DataType::List(_)) && !matches!(value_type, DataType::List(_));
        Ok(Box::new(Collected { value_type, values: Vec::new(), descending, shares, as_list }))
    }
}

/// Constant shares of all values, from 0 to 1; nothing for a NULL.
pub(super) fn shares(expr: &Arc<dyn PhysicalExpr>) -> Result<Vec<Option<f64>>> {
    let empty = arrow::array::RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
    let constant = match expr.evaluate(&empty) {
        Ok(ColumnarValue::Scalar(value)) => value,
        _ => return fail(SqlState::FEATURE_NOT_SUPPORTED, "a percentile that is no constant is not supported"),
    };
    let constants = match &constant {
        ScalarValue::List(list) => list.values().clone(),
        value => value.to_array()?,
    };
    let constants = arrow::compute::cast(&constants, &DataType::Float64)?;
    let constants = constants.as_primitive::<arrow::datatypes::Float64Type>();
    constants
        .iter()
        .map(|share| match share {
            Some(share) if !(0.0..=1.0).contains(&share) => {
                fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("percentile value {share} is not between 0 and 1"))
            }
            share => Ok(share),
        })
        .collect()
}

/// What values are in a state. The states of all groups are one column: of views, that would have
/// as many buffers as there are groups.
fn of_state(value: &DataType) -> DataType {
    match value {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        value => value.clone(),
    }
}

/// The values but NULLs, in memory of their own: those of a group are a slice of a batch, and would
/// keep all of it.
fn copied(values: &ArrayRef) -> Result<ArrayRef> {
    let valid: UInt32Array = (0..values.len()).filter(|at| values.is_valid(*at)).map(|at| at as u32).collect();
    let values = take(values, &valid, None)?;
    Ok(match values.data_type() {
        DataType::Utf8View => Arc::new(values.as_string_view().gc()),
        DataType::BinaryView => Arc::new(values.as_binary_view().gc()),
        _ => values,
    })
}

/// All values of a group but NULLs.
#[derive(Debug)]
struct Collected {
    value_type: DataType,
    values: Vec<ArrayRef>,
    descending: bool,
    /// Percentiles; without, the mode is meant.
    shares: Option<Vec<Option<f64>>>,
    as_list: bool,
}

impl Collected {
    fn all(&self) -> Result<ArrayRef> {
        if self.values.is_empty() {
            return Ok(new_empty_array(&self.value_type));
        }
        let values: Vec<&dyn Array> = self.values.iter().map(AsRef::as_ref).collect();
        Ok(concat(&values)?)
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        if self.value_type == DataType::Null {
            return Ok(());
        }
        let values = copied(values)?;
        if !values.is_empty() {
            self.values.push(values);
        }
        Ok(())
    }

    fn one(&self, values: &ArrayRef, place: Option<u32>) -> Result<ScalarValue> {
        match place {
            Some(place) => ScalarValue::try_from_array(&take(values, &UInt32Array::from(vec![place]), None)?, 0),
            None => ScalarValue::try_from(&self.value_type),
        }
    }

    /// The first of the longest run of equal values.
    fn most_frequent(compared: &ArrayRef, order: &UInt32Array) -> Result<Option<u32>> {
        let compare = make_comparator(compared, compared, SortOptions::default())?;
        let (mut best, mut best_length) = (None, 0);
        let mut from = 0;
        let places = order.values();
        for (at, place) in places.iter().enumerate() {
            if compare(places[from] as usize, *place as usize).is_ne() {
                from = at;
            }
            if at + 1 - from > best_length {
                (best, best_length) = (Some(places[from]), at + 1 - from);
            }
        }
        Ok(best)
    }
}

impl Accumulator for Collected {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values.first() {
            Some(values) => self.add(values),
            None => Ok(()),
        }
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else { return Ok(()) };
        for list in lists.iter().flatten() {
            self.add(&cast(&list, &self.value_type)?)?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = cast(&self.all()?, &of_state(&self.value_type))?;
        let list = datafusion::common::utils::SingleRowListArrayBuilder::new(values).build_list_scalar();
        Ok(vec![list])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.all()?;
        let compared = keys::of_array(&values)?;
        let options = SortOptions { descending: self.descending, nulls_first: false };
        let order = sort_to_indices(&compared, Some(options), None)?;
        let Some(shares) = &self.shares else {
            return self.one(&values, Self::most_frequent(&compared, &order)?);
        };
        let count = order.len();
        let place = |share: f64| {
            let nth = (share * count as f64).ceil().max(1.0) as usize;
            (count > 0).then(|| order.value(nth.min(count) - 1))
        };
        let found = shares.iter().map(|share| self.one(&values, share.and_then(place)));
        let found = found.collect::<Result<Vec<_>>>()?;
        if !self.as_list {
            return match found.into_iter().next() {
                Some(value) => Ok(value),
                None => ScalarValue::try_from(&self.value_type),
            };
        }
        if count == 0 {
            return ScalarValue::try_from(&DataType::new_list(self.value_type.clone(), true));
        }
        Ok(ScalarValue::List(ScalarValue::new_list(&found, &self.value_type, true)))
    }

    fn size(&self) -> usize {
        let values_bytes: usize = self.values.iter().map(|values| values.get_array_memory_size()).sum();
        // At the end they are copied side by side, and their order is computed.
        size_of::<Self>() + values_bytes.saturating_mul(3)
    }
}
