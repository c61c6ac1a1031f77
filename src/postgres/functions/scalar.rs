//! Functions as rows of tables: a name, the type of the result, and the work on arrays.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::abbreviated::{in_full, known_type};
use super::cast;
use super::collecting::{held_bytes, shown_bytes, slice_bytes};
use super::error::{SqlState, fail};
use super::item_comparison_names::is_item_comparison;
use super::kind::Kind;
use super::type_names::is_character;
use super::value_budget::{Reserved, ValueBudget};
use super::zone::Zone;
use crate::carried::Stop;
use crate::types::POSTGRES_TYPE;

/// What `||` of texts becomes: PostgreSQL's name for it.
pub(super) const CONCATENATED: &str = "textcat";

/// What `nullif` gives where its arguments differ.
pub(super) const NULLIF_OPERAND: &str = "nullif_operand";

/// Those of `LIKE` and `ILIKE` with a pattern of each row, or one that is long.
pub(crate) const LIKE: &str = "textlike";
pub(crate) const ILIKE: &str = "texticlike";

/// What `ARRAY[...]` becomes: DataFusion's name for it.
pub(super) const MAKE_ARRAY: &str = "make_array";

/// What `array[i]` and `array[i:j]` become.
pub(super) const SUBSCRIPT: &str = "array_subscript";
pub(super) const SLICE: &str = "array_slice_get_range";

/// A function of PostgreSQL over arrays of arguments. Arguments come in whatever type they have:
/// functions look at their types and bring them into the one they want, since DataFusion
/// would bring times to nanoseconds.
pub(super) struct Function {
    pub name: &'static str,
    pub arity: RangeInclusive<usize>,
    pub volatility: Volatility,
    /// The type of the result for these arguments.
    pub returns: fn(&Arguments) -> Result<DataType>,
    pub run: fn(&Call) -> Result<ArrayRef>,
}

pub(super) const fn immutable(
    name: &'static str,
    arity: RangeInclusive<usize>,
    returns: fn(&Arguments) -> Result<DataType>,
    run: fn(&Call) -> Result<ArrayRef>,
) -> Function {
    Function { name, arity, volatility: Volatility::Immutable, returns, run }
}

/// Of so many arguments.
pub(super) const fn immutable_of(
    name: &'static str,
    arguments: usize,
    returns: fn(&Arguments) -> Result<DataType>,
    run: fn(&Call) -> Result<ArrayRef>,
) -> Function {
    immutable(name, arguments..=arguments, returns, run)
}

/// Of the session's settings, too.
pub(super) const fn stable(
    name: &'static str,
    arity: RangeInclusive<usize>,
    returns: fn(&Arguments) -> Result<DataType>,
    run: fn(&Call) -> Result<ArrayRef>,
) -> Function {
    Function { name, arity, volatility: Volatility::Stable, returns, run }
}

/// What is known of the arguments before there are rows.
pub(super) struct Arguments<'a> {
    pub function: &'static str,
    pub types: Vec<&'a DataType>,
    /// Values of those that are constant.
    pub constants: Vec<Option<&'a ScalarValue>>,
}

impl Arguments<'_> {
    pub(super) fn kind(&self, place: usize) -> Kind {
        self.types.get(place).map_or(Kind::Null, |data_type| Kind::of(data_type))
    }

    /// A constant text.
    pub(super) fn text(&self, place: usize) -> Option<&str> {
        self.constants.get(place).copied().flatten().and_then(|value| value.try_as_str()).flatten()
    }

    /// Whether an argument is a literal in quotes that has no type yet: those alone are in this
    /// form of text.
    pub(super) fn is_unknown(&self, place: usize) -> bool {
        self.types.get(place).is_some_and(|data_type| **data_type == DataType::Utf8)
            && self.constants.get(place).is_none_or(|constant| constant.is_some())
    }

    /// Whether an argument is of such a type, or may become one: a NULL, or a literal in quotes.
    pub(super) fn may_be(&self, place: usize, is_wanted: impl Fn(Kind) -> bool) -> bool {
        let kind = self.kind(place);
        is_wanted(kind) || kind == Kind::Null || self.is_unknown(place)
    }

    /// There is no function of this name for these types.
    pub(super) fn undefined<T>(&self) -> Result<T> {
        let narrow = |(data_type, constant): (&&'_ DataType, &Option<&ScalarValue>)| match constant {
            // A number that was read a moment ago has no type yet but the widest.
            Some(ScalarValue::Int64(Some(number))) if i32::try_from(*number).is_ok() => DataType::Int32,
            _ => (*data_type).clone(),
        };
        let types: Vec<DataType> = self.types.iter().zip(&self.constants).map(narrow).collect();
        undefined(self.function, types.iter())
    }
}

pub(super) fn undefined<'a, T>(name: &str, types: impl Iterator<Item = &'a DataType>) -> Result<T> {
    let types: Vec<&str> = types.map(|data_type| Kind::of(data_type).name()).collect();
    fail(SqlState::UNDEFINED_FUNCTION, format!("function {name}({}) does not exist", types.join(", ")))
}

/// One call over a batch.
pub(super) struct Call<'a> {
    pub function: &'static str,
    pub args: Vec<ArrayRef>,
    pub rows: usize,
    pub zone: Zone,
    pub budget: ValueBudget,
    pub options: &'a ConfigOptions,
    pub returns: &'a DataType,
}

impl Call<'_> {
    pub(super) fn len(&self) -> usize {
        self.args.len()
    }

    pub(super) fn kind(&self, place: usize) -> Kind {
        self.args.get(place).map_or(Kind::Null, |array| Kind::of(array.data_type()))
    }

    pub(super) fn arg(&self, place: usize) -> Result<&ArrayRef> {
        match self.args.get(place) {
            Some(array) => Ok(array),
            None => self.undefined(),
        }
    }

    /// There is no function of this name for the types of the arguments.
    pub(super) fn undefined<T>(&self) -> Result<T> {
        undefined(self.function, self.args.iter().map(|array| array.data_type()))
    }

    /// An argument brought to a type by PostgreSQL's casts.
    pub(super) fn as_type(&self, place: usize, wanted: &DataType) -> Result<ArrayRef> {
        cast::cast_array(self.arg(place)?, wanted, &self.zone)
    }

    pub(super) fn text(&self, place: usize) -> Result<StringViewArray> {
        Ok(self.as_type(place, &DataType::Utf8View)?.as_string_view().clone())
    }

    pub(super) fn int8(&self, place: usize) -> Result<Int64Array> {
        Ok(self.as_type(place, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    pub(super) fn float8(&self, place: usize) -> Result<Float64Array> {
        Ok(self.as_type(place, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
    }

    /// Microseconds of a date, timestamp or timestamptz argument as the type `kind` has them.
    pub(super) fn micros(&self, place: usize, kind: Kind) -> Result<Int64Array> {
        let Some(wanted) = kind.arrow() else {
            return self.undefined();
        };
        let array = self.as_type(place, &wanted)?;
        Ok(cast(&array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    /// A value for each row in which nothing is NULL, and NULL for the others.
    pub(super) fn each<T, A: FromIterator<Option<T>>, const N: usize>(
        &self,
        nulls: [Option<&NullBuffer>; N],
        mut value: impl FnMut(usize) -> Result<T>,
    ) -> Result<A> {
        let nulls = NullBuffer::union_many(nulls);
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        (0..self.rows).map(|row| if is_null(row) { Ok(None) } else { value(row).map(Some) }).collect()
    }

    /// What the values of this call may take.
    pub(super) fn reserve(&self) -> Reserved {
        self.budget.reserve(self.rows, self.args.iter().map(held_bytes).sum())
    }

    /// The result in the announced type.
    pub(super) fn done(&self, array: ArrayRef) -> Result<ArrayRef> {
        if array.data_type() == self.returns { Ok(array) } else { Ok(cast(&array, self.returns)?) }
    }
}

/// A [`Function`] as DataFusion wants it.
pub(super) struct Scalar {
    function: &'static Function,
    signature: Signature,
    /// Constant or not, its values are made while rows are: they are large.
    deferred: bool,
}

/// What is strict beside the functions of these tables: DataFusion's own under PostgreSQL's names
/// that take several arguments, and quoting.
const STRICT_BESIDE: [&str; 3] = ["quote_ident", "quote_literal", "starts_with"];

/// Functions that answer beside a NULL.
const NOT_STRICT: [&str; 25] = [
    "array_append",
    "array_cat",
    "array_fill",
    "array_positions",
    "array_prepend",
    "array_remove",
    "array_replace",
    "coalesce",
    "concat",
    "concat_ws",
    "greatest",
    MAKE_ARRAY,
    "least",
    "num_nulls",
    "num_nonnulls",
    "overlaps",
    NULLIF_OPERAND,
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "jsonb_set_lax",
    "json_of_array",
    "jsonb_of_array",
    "jsonb_sort_key",
];

impl Scalar {
    /// Whether this is one of PostgreSQL's functions, and NULL if any argument is.
    pub(super) fn is_strict(function: &ScalarUDF) -> bool {
        // No item of an empty array differs from NULL, and none is alike.
        let compares_items = |name: &str| name.ends_with("_any") || name.ends_with("_all") || is_item_comparison(name);
        let is_strict = |name: &str| !NOT_STRICT.contains(&name) && !compares_items(name);
        match function.inner().downcast_ref::<Self>().map(|scalar| scalar.function) {
            Some(function) => function.volatility != Volatility::Volatile && is_strict(function.name),
            None => STRICT_BESIDE.contains(&function.name()),
        }
    }

    pub(super) fn udf(function: &'static Function) -> Arc<ScalarUDF> {
        Self::made(function, false)
    }

    /// The same function, never evaluated before there are rows: for constants that are too large
    /// to be held by plans, which are copied about.
    pub(super) fn deferred(function: &ScalarUDF) -> Option<Arc<ScalarUDF>> {
        function.inner().downcast_ref::<Self>().map(|scalar| Self::made(scalar.function, true))
    }

    pub(super) fn is_deferred(function: &ScalarUDF) -> bool {
        function.inner().downcast_ref::<Self>().is_some_and(|scalar| scalar.deferred)
    }

    fn made(function: &'static Function, deferred: bool) -> Arc<ScalarUDF> {
        let volatility = if deferred { Volatility::Volatile } else { function.volatility };
        let signature = if *function.arity.end() == 0 {
            Signature::nullary(volatility)
        } else if *function.arity.start() == 0 {
            let any = datafusion::logical_expr::TypeSignature::VariadicAny;
            Signature::one_of(vec![datafusion::logical_expr::TypeSignature::Nullary, any], volatility)
        } else {
            Signature::variadic_any(volatility)
        };
        Arc::new(ScalarUDF::new_from_impl(Scalar { function, signature, deferred }))
    }
}

impl std::fmt::Debug for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.function.name)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.function, other.function) && self.deferred == other.deferred
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl ScalarUDFImpl for Scalar {
    fn name(&self) -> &str {
        self.function.name
    }

    /// The text of the default, written once: that one copies the name of each call within a call
    /// into the next.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let mut name = String::new();
        write_name(&mut name, self.name(), args)?;
        Ok(name)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let constants = vec![None; types.len()];
        self.returns(Arguments { function: self.function.name, types: types.iter().collect(), constants })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = args.arg_fields.iter().map(|field| field.data_type()).collect();
        let constants = args.scalar_arguments.to_vec();
        let data_type = self.returns(Arguments { function: self.function.name, types, constants })?;
        let field = Field::new(self.function.name, data_type, true);
        if let (NULLIF_OPERAND, Some(first)) = (self.function.name, args.arg_fields.first())
            && (is_character(first) || first.metadata().get(POSTGRES_TYPE).is_some_and(|name| name == "name"))
        {
            return Ok(Arc::new(field.with_metadata(first.metadata().clone())));
        }
        Ok(Arc::new(match type_from_array(self.function.name, args.arg_fields) {
            Some(name) => field.with_metadata([(POSTGRES_TYPE.to_owned(), name.to_owned())].into()),
            None => field,
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        run(self.function, &args)
    }
}

impl Scalar {
    fn returns(&self, arguments: Arguments) -> Result<DataType> {
        if !self.function.arity.contains(&arguments.types.len()) {
            return arguments.undefined();
        }
        (self.function.returns)(&arguments)
    }
}

/// The PostgreSQL type of what a function takes out of an array of a type that Arrow cannot tell
/// from another: an item of `varchar[]` is `varchar`, a part of it `varchar[]`.
fn type_from_array<'f>(function: &str, arguments: &'f [FieldRef]) -> Option<&'f str> {
    let array = || arguments.first()?.metadata().get(POSTGRES_TYPE);
    match function {
        SUBSCRIPT => array()?.strip_prefix('_'),
        SLICE | "trim_array" => array().map(String::as_str),
        _ => None,
    }
}

fn write_name(name: &mut String, function: &str, args: &[Expr]) -> std::fmt::Result {
    write!(name, "{function}(")?;
    for (place, arg) in args.iter().enumerate() {
        if place > 0 {
            name.push(',');
        }
        match arg {
            Expr::ScalarFunction(call) if call.func.inner().is::<Scalar>() => {
                write_name(name, call.func.name(), &call.args)?;
            }
            // As it is shown, without the way through formats: most of a chain is columns.
            Expr::Column(Column { relation: Some(TableReference::Bare { table }), name: column, .. }) => {
                name.push_str(table);
                name.push('.');
                name.push_str(column);
            }
            other => write!(name, "{}", other.schema_name())?,
        }
    }
    name.push(')');
    Ok(())
}

/// The type of an expression. For calls of functions here it makes no names, as DataFusion does at
/// every level of a deep expression, and so costs as much as the expression is large; a chain of
/// `||` costs what its last operand does.
pub(super) fn type_of(expr: &Expr, schema: &DFSchema) -> Result<DataType> {
    if let Some(known) = known_type(expr) {
        return Ok(known.clone());
    }
    if let Expr::ScalarFunction(call) = in_full(expr)
        && let Some(scalar) = call.func.inner().downcast_ref::<Scalar>()
    {
        // Its operands were texts when it was made.
        if scalar.function.name == CONCATENATED {
            return Ok(DataType::Utf8View);
        }
        let types = call.args.iter().map(|arg| type_of(arg, schema)).collect::<Result<Vec<_>>>()?;
        let constants = call.args.iter().map(Expr::as_literal).collect();
        return scalar.returns(Arguments { function: scalar.function.name, types: types.iter().collect(), constants });
    }
    // As DataFusion does, but no further than to operands of known types.
    if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr
        && !op.is_logic_operator()
    {
        let (left, right) = (type_of(left, schema)?, type_of(right, schema)?);
        return BinaryTypeCoercer::new(&left, op, &right).get_result_type();
    }
    expr.get_type(schema)
}

/// Whether a call of the function waits for rows although its value is the same in all of them.
pub(crate) fn is_deferred_call(function: &ScalarUDF) -> bool {
    Scalar::is_deferred(function)
}

/// Whether a function counts its arguments and values before it makes these.
pub(crate) fn counts_values(function: &ScalarUDF) -> bool {
    function.inner().is::<Scalar>()
}

/// Runs a function: once where all arguments are constant, and over few rows at a time where arrays
/// that are constant are to stand in every row. Checks for cancellation first: within an expression
/// only its calls can.
pub(super) fn run(function: &'static Function, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let stop = Stop::of(&args.config_options);
    stop.check()?;
    let constant = function.volatility != Volatility::Volatile
        && args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if constant { 1 } else { args.number_rows };
    let zone = Zone::of(&args.config_options)?;
    let budget = ValueBudget::of(&args.config_options);
    let over = |from: usize, rows: usize| {
        let array = |(place, arg): (usize, &ColumnarValue)| match arg {
            ColumnarValue::Array(array) if rows == array.len() => Ok(Arc::clone(array)),
            ColumnarValue::Array(array) => Ok(array.slice(from, rows)),
            ColumnarValue::Scalar(value) if takes_once(function, place) => value.to_array_of_size(1),
            ColumnarValue::Scalar(value) => value.to_array_of_size(rows),
        };
        let call = Call {
            function: function.name,
            args: args.args.iter().enumerate().map(array).collect::<Result<_>>()?,
            rows,
            zone: zone.clone(),
            budget,
            options: &args.config_options,
            returns: args.return_field.data_type(),
        };
        call.done((function.run)(&call)?)
    };
    let rows_at_once = (budget.batch_bytes() / repeated_bytes(function, args).max(1)).max(1);
    if rows > rows_at_once {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        for from in (0..rows).step_by(rows_at_once) {
            stop.check()?;
            let part = over(from, (rows - from).min(rows_at_once))?;
            // Lists are made of their items, however short these are.
            bytes += if part.data_type().is_nested() { slice_bytes(&part) } else { shown_bytes(&part) };
            budget.rows(rows, bytes)?;
            parts.push(part);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        return Ok(ColumnarValue::Array(concat(&parts)?));
    }
    let array = over(0, rows)?;
    if constant {
        let value = ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?);
        return cast::with_elements_of(value, args.return_field.data_type());
    }
    Ok(ColumnarValue::Array(array))
}

/// Constants that are shorter are worked on in all rows of a batch at once.
const LONG_BYTES_MIN: usize = 1 << 16;

/// Whether a constant argument is given once, not in each row.
fn takes_once(function: &Function, place: usize) -> bool {
    (is_item_comparison(function.name) && place == 0) || ([LIKE, ILIKE].contains(&function.name) && place == 1)
}

/// What constants that are arrays or long texts take in each row, in bytes: so much is worked on.
fn repeated_bytes(function: &Function, args: &ScalarFunctionArgs) -> usize {
    let bytes = args.args.iter().enumerate().map(|(place, arg)| match arg {
        ColumnarValue::Scalar(_) if takes_once(function, place) => 0,
        ColumnarValue::Scalar(value @ ScalarValue::List(_)) => value.size(),
        ColumnarValue::Scalar(value) if value.size() >= LONG_BYTES_MIN => value.size(),
        _ => 0,
    });
    bytes.sum()
}
