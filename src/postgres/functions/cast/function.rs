//! A cast as a function that plans call.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::super::collecting::shown_bytes;
use super::super::error::{SqlState, fail};
use super::super::frames::FrameLimits;
use super::super::kind::Kind;
use super::super::type_names::{ANY_NUMERIC, INTERVAL_FIELDS, TYPE_LENGTH, is_character};
use super::super::workspace;
use super::super::zone::Zone;
use super::{cast_to_field, with_elements_of};
use crate::carried::Stop;
use crate::types::POSTGRES_TYPE;

/// Values of so many bytes are cast at once.
const PART_BYTES: usize = 1 << 20;

/// The cast to one type, as a function.
#[derive(Debug)]
pub(crate) struct PostgresCast {
    /// With PostgreSQL's name and length of the type, if it has them.
    target: FieldRef,
    /// Another one for each type: DataFusion takes calls for common subexpressions by the names of
    /// their functions, whose hashes do not tell `x::date::timestamp` from `x::timestamp::date`.
    name: String,
    signature: Signature,
}

impl PostgresCast {
    /// Long values are cast a few rows at a time: between them the statement may be cancelled.
    fn cast_in_parts(&self, array: &ArrayRef, zone: &Zone, options: &ConfigOptions) -> Result<ArrayRef> {
        let stop = Stop::of(options);
        stop.check()?;
        let rows_at_once = (array.len() * PART_BYTES / shown_bytes(array).max(1)).max(1);
        if rows_at_once >= array.len() {
            return self.cast_part(array, zone, options);
        }
        let parts = (0..array.len()).step_by(rows_at_once).map(|from| {
            stop.check()?;
            let part = array.slice(from, rows_at_once.min(array.len() - from));
            self.cast_part(&part, zone, options)
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<&dyn Array>>())?)
    }

    /// Texts are taken apart in memory of the statement.
    fn cast_part(&self, array: &ArrayRef, zone: &Zone, options: &ConfigOptions) -> Result<ArrayRef> {
        let limits = options.extensions.get::<FrameLimits>();
        let _items = workspace::reserve_reading(limits, array, Kind::of(self.target.data_type()))?;
        cast_to_field(array, &self.target, zone)
    }

    pub(in crate::functions) fn udf(target: FieldRef) -> Arc<ScalarUDF> {
        let data_type = target.data_type().to_string();
        let mut name = format!("cast_to_{}", data_type.replace(['(', ')', ',', ' '], "_").trim_end_matches('_'));
        for (_, value) in target.metadata().iter().collect::<BTreeMap<_, _>>() {
            name.push('_');
            name.push_str(value);
        }
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Self { target, name, signature }))
    }

    /// The type that a call of a cast gives.
    pub(in crate::functions) fn target_of(function: &ScalarFunction) -> Option<FieldRef> {
        function.func.inner().downcast_ref::<Self>().map(|cast| Arc::clone(&cast.target))
    }

    fn shown(&self, argument: &str) -> String {
        let name = self.target.metadata().get(POSTGRES_TYPE).map(String::as_str);
        format!("{argument}::{}", name.unwrap_or_else(|| Kind::of(self.target.data_type()).name()))
    }
}

/// Whether a call is a cast from a number to a number, which costs little.
pub fn casts_number(call: &ScalarFunction, schema: &DFSchema) -> bool {
    let is_number = |data_type: &DataType| Kind::of(data_type).is_number();
    let target = PostgresCast::target_of(call).is_some_and(|target| is_number(target.data_type()));
    target && call.args.iter().all(|arg| arg.get_type(schema).is_ok_and(|data_type| is_number(&data_type)))
}

impl PartialEq for PostgresCast {
    fn eq(&self, other: &Self) -> bool {
        self.target == other.target
    }
}

impl Eq for PostgresCast {}

impl Hash for PostgresCast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target.hash(state);
    }
}

impl ScalarUDFImpl for PostgresCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.shown(&args.first().map(ToString::to_string).unwrap_or_default()))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        // Two numerics of different digits are two casts.
        let argument = args.first().map(|arg| arg.schema_name().to_string()).unwrap_or_default();
        Ok(format!("{} {}", self.shown(&argument), self.target.data_type()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let mut metadata = self.target.metadata().clone();
        if !is_character(&self.target) {
            metadata.remove(TYPE_LENGTH);
        }
        metadata.remove(INTERVAL_FIELDS);
        metadata.retain(|key, value| key != POSTGRES_TYPE || value != ANY_NUMERIC);
        let field = Field::new(self.name(), self.target.data_type().clone(), nullable);
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = Zone::of(&args.config_options)?;
        let value = match args.args.as_slice() {
            [ColumnarValue::Scalar(value)] => {
                let array = self.cast_part(&value.to_array()?, &zone, &args.config_options)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)
            }
            [ColumnarValue::Array(array)] => {
                ColumnarValue::Array(self.cast_in_parts(array, &zone, &args.config_options)?)
            }
            _ => return fail(SqlState::UNDEFINED_FUNCTION, "a cast takes one value"),
        };
        with_elements_of(value, args.return_field.data_type())
    }
}
