//! The value of a subquery that may have one row at most.

use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::functions::error::{SqlState, fail};

/// Name of the aggregate.
pub(super) const SINGLE_VALUE: &str = "single_value";

#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleValue {
    signature: Signature,
}

/// The value of the only row, NULL without one, an error with more.
pub fn single_value() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(SingleValue { signature: Signature::any(1, Volatility::Immutable) }))
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        SINGLE_VALUE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => internal_err!("{SINGLE_VALUE} takes one argument"),
        }
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        match fields {
            [field] => Ok(Arc::new(field.as_ref().clone().with_name(self.name()).with_nullable(true))),
            _ => internal_err!("{SINGLE_VALUE} takes one argument"),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let value = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Single { value, seen: false }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = Field::new(format!("{}[value]", args.name), args.return_field.data_type().clone(), true);
        let seen = Field::new(format!("{}[seen]", args.name), DataType::Boolean, false);
        Ok(vec![Arc::new(value), Arc::new(seen)])
    }
}

#[derive(Debug)]
struct Single {
    value: ScalarValue,
    seen: bool,
}

impl Single {
    fn take(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.seen {
            let message = "more than one row returned by a subquery used as an expression";
            return fail(SqlState::CARDINALITY_VIOLATION, message);
        }
        self.seen = true;
        self.value = ScalarValue::try_from_array(values, row)?;
        Ok(())
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("{SINGLE_VALUE} takes one argument") };
        (0..values.len()).try_for_each(|row| self.take(values, row))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size() - size_of_val(&self.value)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::from(self.seen)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, seen] = states else { return internal_err!("{SINGLE_VALUE} has two states") };
        let seen = seen.as_boolean();
        (0..values.len()).filter(|row| seen.value(*row)).try_for_each(|row| self.take(values, row))
    }
}
