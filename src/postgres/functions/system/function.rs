//! A function defined by a row of a table: its name, its arguments, what it returns, and a body
//! over one row of values.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::context::{FunctionContext, FunctionContextExtension};
use super::datum::{Datum, Returns, scalar};
use crate::carried::Stop;
use crate::functions::error::{Error, SqlState, fail};
use crate::functions::kind::Kind;
use crate::functions::scalar::undefined;
use crate::functions::value_budget::{Reserved, ValueBudget};
use crate::functions::{ENLARGING, Zone, cast_array, held_bytes, shown_bytes};
use crate::types::{POSTGRES_TYPE, TextStyle};

/// The arguments of one call, and the session it runs in.
pub(super) struct Call<'a> {
    pub arguments: &'a [Datum],
    /// The types of the arguments, with their names where Arrow does not tell.
    pub fields: &'a [FieldRef],
    pub context: Option<&'a dyn FunctionContext>,
    pub budget: ValueBudget,
}

impl Call<'_> {
    pub(super) fn context(&self) -> Result<&dyn FunctionContext> {
        match self.context {
            Some(context) => Ok(context),
            None => exec_err!("functions about the database need a session"),
        }
    }

    /// How many arguments there are.
    pub(super) fn len(&self) -> usize {
        self.arguments.len()
    }

    /// An error where a value would have more bytes than one may have.
    pub(super) fn reserve(&self, bytes: usize) -> Result<()> {
        self.budget.reserve(1, 0).value(bytes)
    }

    pub(super) fn get(&self, index: usize) -> &Datum {
        self.arguments.get(index).unwrap_or(&Datum::Null)
    }

    /// An argument as text; NULL reads as none.
    pub(super) fn text(&self, index: usize) -> Option<String> {
        self.get(index).text()
    }

    /// An argument that is a text; NULL reads as an empty one, which strict functions never see.
    pub(super) fn string(&self, index: usize) -> String {
        self.text(index).unwrap_or_default()
    }

    fn refuse<T>(&self, index: usize, wanted: &str) -> Result<T> {
        refused(self.fields, index, wanted)
    }

    /// An oid: a number, or the text of one.
    pub(super) fn oid(&self, index: usize) -> Result<u32> {
        match self.get(index) {
            Datum::Int(value) => match u32::try_from(*value).or_else(|_| i32::try_from(*value).map(i32::cast_unsigned))
            {
                Ok(oid) => Ok(oid),
                Err(_) => fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"),
            },
            Datum::Text(text) => Ok(read_oid(text)?),
            _ => self.refuse(index, "oid"),
        }
    }

    /// Whether an argument is an `int2vector` or `oidvector`, whose subscripts start at 0.
    pub(super) fn is_vector(&self, index: usize) -> bool {
        self.fields.get(index).is_some_and(|field| is_vector(field))
    }

    pub(super) fn int(&self, index: usize) -> Result<i64> {
        match self.get(index) {
            Datum::Int(value) => Ok(*value),
            Datum::Text(text) => text.trim().parse().map_err(|_| {
                let message = format!("invalid input syntax for type integer: \"{text}\"");
                Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).into()
            }),
            _ => self.refuse(index, "integer"),
        }
    }

    pub(super) fn flag(&self, index: usize) -> Result<bool> {
        match self.get(index) {
            Datum::Bool(value) => Ok(*value),
            Datum::Null => Ok(false),
            Datum::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "t" | "true" | "y" | "yes" | "on" | "1" => Ok(true),
                "f" | "false" | "n" | "no" | "off" | "0" => Ok(false),
                _ => {
                    let message = format!("invalid input syntax for type boolean: \"{text}\"");
                    fail(SqlState::INVALID_TEXT_REPRESENTATION, message)
                }
            },
            _ => self.refuse(index, "boolean"),
        }
    }
}

/// An argument of a type that it may not have.
fn refused<T>(fields: &[FieldRef], index: usize, wanted: &str) -> Result<T> {
    let given = fields.get(index).map_or_else(String::new, |field| sql_type_name(field.data_type()));
    let message = format!("argument {} is of type {given}, and has to be of type {wanted}", index + 1);
    fail(SqlState::DATATYPE_MISMATCH, message)
}

/// The text form of an oid: PostgreSQL takes negative numbers, as 32 bits.
pub(super) fn read_oid(text: &str) -> std::result::Result<u32, Error> {
    let trimmed = text.trim();
    match trimmed.parse::<i64>() {
        Ok(value) => u32::try_from(value).or_else(|_| i32::try_from(value).map(i32::cast_unsigned)).map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type oid");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        }),
        Err(_) => {
            let message = format!("invalid input syntax for type oid: \"{text}\"");
            Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message))
        }
    }
}

/// Whether a field is an `int2vector` or `oidvector`, whose subscripts start at 0.
pub fn is_vector(field: &Field) -> bool {
    matches!(field.metadata().get(POSTGRES_TYPE).map(String::as_str), Some("int2vector" | "oidvector"))
}

/// One function.
#[derive(Debug)]
pub(super) struct Definition {
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arguments: (usize, usize),
    pub returns: Returns,
    pub volatility: Volatility,
    /// NULL if any argument is.
    pub strict: bool,
    /// Takes texts, and nothing that would have to be cast to one.
    pub of_texts: bool,
    pub body: Body,
}

/// What makes the values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Row(OfRow),
    Columns(OfColumns),
}

/// The arguments of a call in all rows.
pub(super) struct Columns<'a> {
    arrays: &'a [ArrayRef],
    fields: &'a [FieldRef],
    rows: usize,
    zone: &'a Zone,
    budget: ValueBudget,
    stop: &'a Stop,
}

impl<'a> Columns<'a> {
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn style(&self) -> &'a TextStyle {
        self.zone.style()
    }

    pub(super) fn zone(&self) -> &'a Zone {
        self.zone
    }

    /// An argument that there is.
    pub(super) fn array(&self, index: usize) -> &'a ArrayRef {
        &self.arrays[index]
    }

    /// An argument as texts, if it is given.
    pub(super) fn texts(&self, index: usize) -> Result<Option<ArrayRef>> {
        self.arrays.get(index).map(|array| cast_array(array, &DataType::Utf8View, self.zone)).transpose()
    }

    /// An argument as integers, if it is given.
    pub(super) fn integers(&self, index: usize) -> Result<Option<Int32Array>> {
        let Some(array) = self.arrays.get(index) else { return Ok(None) };
        if array.data_type().is_nested() {
            return refused(self.fields, index, "integer");
        }
        Ok(Some(cast_array(array, &DataType::Int32, self.zone)?.as_primitive().clone()))
    }

    /// Whether an argument is an `int2vector` or `oidvector`.
    pub(super) fn is_vector(&self, index: usize) -> bool {
        self.fields.get(index).is_some_and(|field| is_vector(field))
    }

    /// # Errors
    /// The statement is to stop.
    pub(super) fn check(&self) -> Result<()> {
        self.stop.check()
    }

    /// # Errors
    /// One value has more bytes than it may have.
    pub(super) fn value(&self, bytes: usize) -> Result<()> {
        if bytes < self.budget.value_bytes() { Ok(()) } else { self.budget.reserve(1, 0).value(bytes) }
    }

    /// The budget of all values.
    pub(super) fn reserve(&self) -> Reserved {
        self.budget.reserve(self.rows, self.arrays.iter().map(held_bytes).sum())
    }
}

/// As many arguments as one likes.
pub(super) const ANY: usize = usize::MAX;

impl Definition {
    pub(super) const fn stable(name: &'static str, arguments: (usize, usize), returns: Returns, body: OfRow) -> Self {
        Self::of(name, arguments, returns, Volatility::Stable, Body::Row(body))
    }

    pub(super) const fn immutable(
        name: &'static str,
        arguments: (usize, usize),
        returns: Returns,
        body: OfRow,
    ) -> Self {
        Self::of(name, arguments, returns, Volatility::Immutable, Body::Row(body))
    }

    pub(super) const fn volatile(name: &'static str, arguments: (usize, usize), returns: Returns, body: OfRow) -> Self {
        Self::of(name, arguments, returns, Volatility::Volatile, Body::Row(body))
    }

    /// The body of [`Body::Columns`] sees to NULLs itself.
    pub(super) const fn of(
        name: &'static str,
        arguments: (usize, usize),
        returns: Returns,
        volatility: Volatility,
        body: Body,
    ) -> Self {
        Self { name, arguments, returns, volatility, strict: true, of_texts: false, body }
    }

    /// Takes texts alone.
    pub(super) const fn of_texts(mut self) -> Self {
        self.of_texts = true;
        self
    }

    /// Called with NULLs as well.
    pub(super) const fn with_nulls(mut self) -> Self {
        self.strict = false;
        self
    }
}

type OfRow = fn(&Call) -> Result<Datum>;
type OfColumns = fn(&Columns) -> Result<ArrayRef>;

/// A [`Definition`] as DataFusion wants it.
#[derive(Debug)]
pub(super) struct SystemFunction {
    definition: &'static Definition,
    signature: Signature,
}

impl SystemFunction {
    pub(super) fn udf(definition: &'static Definition) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(definition.volatility);
        Arc::new(ScalarUDF::new_from_impl(Self { definition, signature }))
    }
}

impl PartialEq for SystemFunction {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for SystemFunction {}

impl Hash for SystemFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for SystemFunction {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.definition.returns.field(self.definition.name).data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        arity(self.definition.name, self.definition.arguments, args.arg_fields)?;
        let is_text = |field: &FieldRef| matches!(Kind::of(field.data_type()), Kind::Text | Kind::Null);
        if self.definition.of_texts && !args.arg_fields.iter().all(is_text) {
            return undefined(self.definition.name, args.arg_fields.iter().map(|field| field.data_type()));
        }
        Ok(Arc::new(self.definition.returns.field(self.definition.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let context = FunctionContextExtension::of(&args.config_options).ok();
        let budget = ValueBudget::of(&args.config_options);
        let zone = Zone::of(&args.config_options)?;
        let stop = Stop::of(&args.config_options);
        let every_row_alike = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)))
            && (self.definition.volatility != Volatility::Volatile || args.args.is_empty());
        let rows = if every_row_alike { 1 } else { args.number_rows };
        let arrays: Vec<ArrayRef> = args.args.into_iter().map(|value| value.into_array(rows)).collect::<Result<_>>()?;
        let body = match self.definition.body {
            Body::Row(body) => body,
            Body::Columns(body) => {
                let (arrays, fields) = (&arrays, &args.arg_fields);
                let results = body(&Columns { arrays, fields, rows, zone: &zone, budget, stop: &stop })?;
                return Ok(match every_row_alike {
                    true => ColumnarValue::Scalar(scalar(&results)?),
                    false => ColumnarValue::Array(results),
                });
            }
        };
        let reserve = || budget.reserve(rows, arrays.iter().map(held_bytes).sum());
        let mut enlarged = ENLARGING.contains(&self.definition.name).then(reserve);
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            stop.check()?;
            for array in arrays.iter().filter(|array| matches!(array.data_type(), DataType::List(_))) {
                // A list is copied, item by item.
                budget.reserve(1, 0).value(shown_bytes(&array.slice(row, 1)))?;
            }
            let arguments =
                arrays.iter().map(|array| Datum::read(array, row, zone.style())).collect::<Result<Vec<_>>>()?;
            let result = if self.definition.strict && arguments.iter().any(Datum::is_null) {
                Datum::Null
            } else {
                body(&Call { arguments: &arguments, fields: &args.arg_fields, context, budget })?
            };
            if let Some(enlarged) = &mut enlarged {
                enlarged.value(result.bytes())?;
            }
            results.push(result);
        }
        let results = self.definition.returns.array(&results)?;
        Ok(if every_row_alike { ColumnarValue::Scalar(scalar(&results)?) } else { ColumnarValue::Array(results) })
    }
}

/// Refuses a wrong number of arguments as PostgreSQL does: there is no such function.
///
/// To be asked with the return type: what the coercion of types refuses comes out in the query
/// engine's words.
pub(super) fn arity(name: &str, (fewest, most): (usize, usize), arguments: &[FieldRef]) -> Result<()> {
    if (fewest..=most).contains(&arguments.len()) {
        return Ok(());
    }
    let types: Vec<_> = arguments.iter().map(|field| sql_type_name(field.data_type())).collect();
    let message = format!("function {name}({}) does not exist", types.join(", "));
    fail(SqlState::UNDEFINED_FUNCTION, message)
}

fn sql_type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => format!("{}[]", sql_type_name(item.data_type())),
        other => Kind::of(other).name().to_owned(),
    }
}
