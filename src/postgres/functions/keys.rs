//! Doubles, arrays of them, and intervals as keys. To PostgreSQL the two zeros are equal and so are
//! all NaNs, and a month is as long as 30 days; DataFusion groups, joins, sorts and compares by
//! bits and by fields. Expressions that it does so with are brought to one zero and one NaN, and
//! intervals to their length.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, Decimal128Array, ListArray, StructArray, make_comparator,
};
use arrow::compute::SortOptions;
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Cast, Distinct, Expr, ExprSchemable, LogicalPlan, Operator, Projection, Sort, SortExpr,
    Volatility,
};

use super::calendar::MICROS_PER_DAY;
use super::error::{SqlState, fail};
use super::interval_math::{NANOS_PER_MICRO, intervals};
use super::json;
use super::kind::{Kind, NUMERIC_DIGITS_MAX};
use super::resolution::{call, is_comparison};
use super::scalar::{Call, Function, immutable, type_of};

/// A month's length where intervals are compared.
const DAYS_PER_MONTH: i128 = 30;

static KEY: Function = Function {
    name: "float_key",
    arity: 1..=1,
    volatility: Volatility::Immutable,
    returns: |arguments| match arguments.types.first() {
        Some(data_type) if has_doubles(data_type) => Ok((*data_type).clone()),
        _ => arguments.undefined(),
    },
    run,
};

/// An array of intervals.
pub(super) fn is_of_intervals(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(item) if matches!(item.data_type(), DataType::Interval(_)))
}

/// Doubles, or arrays of them.
fn has_doubles(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => item.data_type().is_floating(),
        data_type => data_type.is_floating(),
    }
}

/// Whether values of a type are compared, grouped and sorted by something else than themselves.
pub(super) fn has_key(data_type: &DataType) -> bool {
    has_doubles(data_type) || is_shown_apart(data_type)
}

/// Whether values of a type can be equal and not alike, so that their key is not what is shown.
pub(super) fn is_shown_apart(data_type: &DataType) -> bool {
    Kind::of(data_type).is_compared_by_key() || is_of_intervals(data_type)
}

static ONE_NAN: Function = Function {
    name: "one_nan",
    arity: 1..=1,
    volatility: Volatility::Immutable,
    returns: |arguments| match arguments.types.first() {
        Some(data_type) if data_type.is_floating() => Ok((*data_type).clone()),
        _ => arguments.undefined(),
    },
    run: |call| {
        let values = call.arg(0)?;
        Ok(match values.data_type() {
            DataType::Float32 => Arc::new(
                values
                    .as_primitive::<Float32Type>()
                    .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }),
            ),
            DataType::Float64 => Arc::new(
                values
                    .as_primitive::<Float64Type>()
                    .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }),
            ),
            _ => Arc::clone(values),
        })
    },
};

/// Doubles whose NaN is the greatest of all by its bits, too.
pub(super) fn with_one_nan(expr: Expr) -> Expr {
    let is_done = matches!(&expr, Expr::ScalarFunction(function) if function.func.name() == ONE_NAN.name);
    if is_done { expr } else { call(&ONE_NAN, vec![expr]) }
}

const LENGTH_TYPE: DataType = DataType::Decimal128(NUMERIC_DIGITS_MAX, 0);

static LENGTH: Function = Function {
    name: "interval_length",
    arity: 1..=1,
    volatility: Volatility::Immutable,
    returns: |arguments| match arguments.types.first() {
        Some(DataType::List(item)) if matches!(item.data_type(), DataType::Interval(_)) => {
            Ok(DataType::List(Arc::new(item.as_ref().clone().with_data_type(LENGTH_TYPE))))
        }
        _ if arguments.kind(0) == Kind::Interval => Ok(LENGTH_TYPE),
        _ => arguments.undefined(),
    },
    run: |call| match call.arg(0)? {
        arrays if is_of_intervals(arrays.data_type()) => of_array(arrays),
        _ => {
            let spans: ArrayRef = Arc::new(intervals(call, 0)?);
            of_array(&spans)
        }
    },
};

/// The microseconds by which intervals are compared.
pub(super) fn length(span: IntervalMonthDayNano) -> i128 {
    let days = i128::from(span.months) * DAYS_PER_MONTH + i128::from(span.days);
    days * i128::from(MICROS_PER_DAY) + i128::from(span.nanoseconds / NANOS_PER_MICRO)
}

fn run(call: &Call) -> Result<ArrayRef> {
    of_array(call.arg(0)?)
}

/// Values as what they are compared by.
pub(super) fn of_array(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(match values.data_type() {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let spans = values.as_primitive::<IntervalMonthDayNanoType>();
            let lengths: Decimal128Array = spans.iter().map(|span| span.map(length)).collect();
            Arc::new(lengths.with_precision_and_scale(NUMERIC_DIGITS_MAX, 0)?)
        }
        DataType::Float32 => Arc::new(
            values
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value + 0.0 }),
        ),
        DataType::Float64 => Arc::new(
            values
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value + 0.0 }),
        ),
        DataType::Struct(fields) => {
            let rows = values.as_struct();
            let columns = rows.columns().iter().map(of_array).collect::<Result<Vec<_>>>()?;
            let fields = fields
                .iter()
                .zip(&columns)
                .map(|(field, column)| Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone())));
            Arc::new(StructArray::try_new(fields.collect(), columns, rows.nulls().cloned())?)
        }
        DataType::List(item) if has_keys(item.data_type()) => {
            let lists = values.as_list::<i32>();
            let (items, nulls) = (of_array(lists.values())?, lists.nulls().cloned());
            let item = Arc::new(item.as_ref().clone().with_data_type(items.data_type().clone()));
            Arc::new(ListArray::try_new(item, lists.offsets().clone(), items, nulls)?)
        }
        _ => Arc::clone(values),
    })
}

/// Whether values, or what is in them, are compared by something else than themselves.
fn has_keys(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => has_keys(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_keys(field.data_type())),
        data_type => data_type.is_floating() || matches!(data_type, DataType::Interval(_)),
    }
}

/// The expression as a key by which rows are sorted, if it is one of doubles or intervals.
pub fn key(expr: Expr, schema: &DFSchema) -> Expr {
    match type_of(&expr, schema) {
        Ok(data_type)
            if (matches!(data_type, DataType::Interval(_)) || is_of_intervals(&data_type)) && !is_key(&expr) =>
        {
            call(&LENGTH, vec![expr])
        }
        Ok(DataType::LargeUtf8) if !is_key(&expr) => call(&json::KEY, vec![expr]),
        _ => group_key(expr, schema),
    }
}

static EQUALITY_KEY: Function = Function {
    name: "equality_key",
    arity: 1..=1,
    volatility: Volatility::Immutable,
    returns: |arguments| match arguments.types.first() {
        Some(data_type) if is_of_several(data_type) => Ok(DataType::Binary),
        _ => arguments.undefined(),
    },
    run: |call| {
        let values = of_array(call.arg(0)?)?;
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        let rows = converter.convert_columns(std::slice::from_ref(&values))?;
        let mut keys = BinaryBuilder::with_capacity(values.len(), rows.size());
        for (at, row) in rows.iter().enumerate() {
            match values.is_valid(at) {
                true => keys.append_value(row.data()),
                false => keys.append_null(),
            }
        }
        Ok(Arc::new(keys.finish()))
    },
};

/// Arrays and records, in which a NULL is equal to a NULL.
fn is_of_several(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::Struct(_))
}

/// The expression as a key by which rows are joined: DataFusion finds arrays and records equal to
/// nothing once one of them holds a NULL.
pub(super) fn equality_key(expr: Expr, schema: &DFSchema) -> Expr {
    match type_of(&expr, schema) {
        Ok(data_type) if is_of_several(&data_type) && !is_key(&expr) => call(&EQUALITY_KEY, vec![expr]),
        _ => key(expr, schema),
    }
}

/// The same of both sides of an equality, arrays and records in one type.
pub(super) fn equality_keys(left: Expr, right: Expr, schema: &DFSchema) -> (Expr, Expr) {
    let types = [&left, &right].map(|side| type_of(side, schema).unwrap_or(DataType::Null));
    let (left, right) = match in_one_type(&types[0], &types[1]) {
        Some(wanted) => (cast_to(left, &types[0], &wanted), cast_to(right, &types[1], &wanted)),
        None => (left, right),
    };
    (equality_key(left, schema), equality_key(right, schema))
}

/// The type in which arrays or records of two types are compared. `None`: of others, and of those
/// that the engine brings together.
pub(super) fn in_one_type(left: &DataType, right: &DataType) -> Option<DataType> {
    match (left, right) {
        (DataType::List(left), DataType::List(right)) => {
            let item = item_in_one_type(left.data_type(), right.data_type())?;
            Some(DataType::List(Arc::new(left.as_ref().clone().with_data_type(item))))
        }
        (DataType::Struct(left), DataType::Struct(right)) if left.len() == right.len() => {
            let fields = left.iter().zip(right.iter()).map(|(left, right)| {
                let data_type = item_in_one_type(left.data_type(), right.data_type())?;
                Some(Arc::new(left.as_ref().clone().with_data_type(data_type).with_nullable(true)))
            });
            Some(DataType::Struct(fields.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn item_in_one_type(left: &DataType, right: &DataType) -> Option<DataType> {
    if left == right || right.is_null() {
        return Some(left.clone());
    }
    if left.is_null() {
        return Some(right.clone());
    }
    if is_of_several(left) {
        return in_one_type(left, right);
    }
    Kind::of(left).common(Kind::of(right))?.arrow()
}

/// An array or record in another type.
pub(super) fn cast_to(expr: Expr, from: &DataType, wanted: &DataType) -> Expr {
    if from == wanted { expr } else { Expr::Cast(Cast::new(Box::new(expr), wanted.clone())) }
}

/// A comparison of what may be keys already.
pub fn comparison_of_keys(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Expr {
    comparison(left, op, right, schema, false)
}

/// The expression as a key by which rows are grouped, whose value is shown, if it is one of
/// doubles.
pub fn group_key(expr: Expr, schema: &DFSchema) -> Expr {
    match type_of(&expr, schema) {
        Ok(data_type) if has_doubles(&data_type) && !is_nonzero(&expr) && !is_key(&expr) => call(&KEY, vec![expr]),
        _ => expr,
    }
}

/// A comparison of doubles or of intervals.
///
/// A column beside a literal stays as it is, for the statistics of files: the literal becomes the
/// one of the two zeros that gives the answer. So it does only if it is stored: arithmetic makes
/// NaNs of either sign.
pub(super) fn comparison(left: Expr, op: Operator, right: Expr, schema: &DFSchema, stored: bool) -> Expr {
    let binary = |left: Expr, op, right: Expr| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    let types = [&left, &right].map(|side| type_of(side, schema).unwrap_or(DataType::Null));
    use Operator::{Eq, IsDistinctFrom, IsNotDistinctFrom, NotEq};
    if matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom) && in_one_type(&types[0], &types[1]).is_some() {
        let (left, right) = equality_keys(left, right, schema);
        return binary(left, op, right);
    }
    if let Some(function) = of_arrays(&types, op) {
        return call(function, vec![left, right]);
    }
    let of_keys = types.iter().any(has_key);
    if !of_keys || !is_comparison(op) {
        return binary(left, op, right);
    }
    let (left, op, right) = match (&left, op.swap(), &right) {
        (Expr::Literal(..), Some(swapped), Expr::Column(_)) if stored => (right, swapped, left),
        _ => (left, op, right),
    };
    if let (Expr::Column(_), Expr::Literal(value, _)) = (&left, &right)
        && stored
    {
        match zeros(value) {
            None if value.is_null() || is_nonzero(&right) => return binary(left, op, right),
            None => {}
            Some((below, above)) => match op {
                Operator::Lt | Operator::GtEq => return binary(left, op, below),
                Operator::Gt | Operator::LtEq => return binary(left, op, above),
                Operator::Eq => return left.clone().gt_eq(below).and(left.lt_eq(above)),
                Operator::NotEq => return left.clone().lt(below).or(left.gt(above)),
                _ => {}
            },
        }
    }
    binary(key(left, schema), op, key(right, schema))
}

/// NULL is the largest item of an array.
pub(super) const NULLS_LAST: SortOptions = SortOptions { descending: false, nulls_first: false };

/// Comparisons of arrays, for which DataFusion takes NULL for the smallest item, and intervals by
/// their bits. They are named as PostgreSQL names them.
static OF_ARRAYS: [(Operator, Function); 6] = [
    (Operator::Eq, immutable("array_eq", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_eq))),
    (Operator::NotEq, immutable("array_ne", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_ne))),
    (Operator::Lt, immutable("array_lt", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_lt))),
    (Operator::LtEq, immutable("array_le", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_le))),
    (Operator::Gt, immutable("array_gt", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_gt))),
    (Operator::GtEq, immutable("array_ge", 2..=2, |_| Ok(DataType::Boolean), |call| arrays(call, Ordering::is_ge))),
];

/// The function of a comparison of arrays, if it is not DataFusion's.
fn of_arrays(types: &[DataType; 2], op: Operator) -> Option<&'static Function> {
    let is_equality = matches!(op, Operator::Eq | Operator::NotEq);
    let is_concerned =
        |data_type: &DataType| matches!(data_type, DataType::List(_)) && (!is_equality || is_of_intervals(data_type));
    let (_, function) = OF_ARRAYS.iter().find(|(operator, _)| *operator == op)?;
    types.iter().all(is_concerned).then_some(function)
}

fn arrays(call: &Call, holds: fn(Ordering) -> bool) -> Result<ArrayRef> {
    let (left, right) = (of_array(call.arg(0)?)?, of_array(call.arg(1)?)?);
    let compare = make_comparator(&left, &right, NULLS_LAST)?;
    let held = (0..call.rows).map(|row| (left.is_valid(row) && right.is_valid(row)).then(|| holds(compare(row, row))));
    Ok(Arc::new(held.collect::<BooleanArray>()))
}

/// Both zeros, the negative one first, of a zero.
fn zeros(value: &ScalarValue) -> Option<(Expr, Expr)> {
    let literal = |value| Expr::Literal(value, None);
    match value {
        ScalarValue::Float64(Some(zero)) if *zero == 0.0 => {
            Some((literal(ScalarValue::Float64(Some(-0.0))), literal(ScalarValue::Float64(Some(0.0)))))
        }
        ScalarValue::Float32(Some(zero)) if *zero == 0.0 => {
            Some((literal(ScalarValue::Float32(Some(-0.0))), literal(ScalarValue::Float32(Some(0.0)))))
        }
        _ => None,
    }
}

/// A literal whose bits are those of its key.
fn is_nonzero(expr: &Expr) -> bool {
    let is_negative_nan = |value: &ScalarValue| match value {
        ScalarValue::Float64(Some(value)) => value.is_nan() && value.is_sign_negative(),
        ScalarValue::Float32(Some(value)) => value.is_nan() && value.is_sign_negative(),
        _ => false,
    };
    let is_key = |value| zeros(value).is_none() && !is_negative_nan(value);
    matches!(expr, Expr::Literal(value, _) if value.data_type().is_floating() && is_key(value))
}

fn is_key(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_key(&alias.expr),
        Expr::ScalarFunction(function) => {
            [KEY.name, LENGTH.name, EQUALITY_KEY.name, json::KEY.name].contains(&function.func.name())
        }
        _ => false,
    }
}

/// Whether a projection shows the columns of its input in their order, as keys or as they are.
pub(super) fn are_keys(projection: &Projection) -> bool {
    let columns = projection.input.schema().columns();
    let shows = |(expr, column): (&Expr, &Column)| match expr {
        Expr::Alias(alias) => match alias.expr.as_ref() {
            Expr::ScalarFunction(call) if is_key(expr) => {
                matches!(call.args.as_slice(), [Expr::Column(shown)] if shown == column)
            }
            _ => false,
        },
        Expr::Column(shown) => shown == column,
        _ => false,
    };
    projection.expr.len() == columns.len() && projection.expr.iter().zip(&columns).all(shows)
}

fn named(expr: Expr, schema: &DFSchema, key: fn(Expr, &DFSchema) -> Expr) -> Result<Expr> {
    let keyed = key(expr.clone(), schema);
    if keyed == expr {
        return Ok(expr);
    }
    let (relation, field) = expr.to_field(schema)?;
    Ok(keyed.alias_qualified(relation, field.name()))
}

pub(super) fn sorted(order: Vec<SortExpr>, schema: &DFSchema) -> Vec<SortExpr> {
    let mut keys = Vec::with_capacity(order.len());
    for by in order {
        // The engine places NULLs within arrays and rows as those that are NULL themselves; to
        // PostgreSQL they are the greatest, wherever these are.
        let is_nested = || type_of(&by.expr, schema).is_ok_and(|data_type| data_type.is_nested());
        if by.nulls_first == by.asc && is_nested() {
            keys.push(by.expr.clone().is_null().sort(!by.nulls_first, false));
            keys.push(SortExpr { expr: key(by.expr, schema), asc: by.asc, nulls_first: !by.asc });
        } else {
            keys.push(SortExpr { expr: key(by.expr, schema), ..by });
        }
    }
    keys
}

/// The same, of a row by those of its fields.
fn key_of_row(expr: Expr, schema: &DFSchema) -> Expr {
    match expr {
        Expr::ScalarFunction(mut row) if ["struct", "named_struct"].contains(&row.func.name()) => {
            row.args = row.args.into_iter().map(|field| key_of_row(field, schema)).collect();
            Expr::ScalarFunction(row)
        }
        expr => key(expr, schema),
    }
}

/// The expressions that the node groups, sorts or deduplicates by.
pub(super) fn of_node(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(Sort { expr, input, fetch }) => {
            expr.iter().try_for_each(|by| json::comparable(&by.expr, input.schema(), "ordering"))?;
            let expr = sorted(expr, input.schema());
            Ok(LogicalPlan::Sort(Sort { expr, input, fetch }))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let schema = Arc::clone(aggregate.input.schema());
            let group = aggregate.group_expr.clone().into_iter().map(|expr| named(expr, &schema, group_key));
            let group = group.collect::<Result<Vec<_>>>()?;
            let distinct = aggregate.aggr_expr.clone().into_iter().map(|expr| counted(expr, &schema));
            let distinct = distinct.collect::<Result<Vec<_>>>()?;
            if group == aggregate.group_expr && distinct == aggregate.aggr_expr {
                return Ok(LogicalPlan::Aggregate(aggregate));
            }
            Ok(LogicalPlan::Aggregate(Aggregate::try_new(aggregate.input, group, distinct)?))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            Ok(LogicalPlan::Distinct(Distinct::All(of_columns(input, group_key)?)))
        }
        LogicalPlan::Distinct(Distinct::On(mut on)) => {
            let schema = Arc::clone(on.input.schema());
            let by_key = |expr: &Expr| type_of(expr, &schema).is_ok_and(|data_type| has_key(&data_type));
            for expr in &mut on.on_expr {
                json::comparable(expr, &schema, "equality")?;
                if by_key(expr) {
                    *expr = key(expr.clone(), &schema);
                }
            }
            for by in on.sort_expr.iter_mut().flatten().filter(|by| by_key(&by.expr)) {
                by.expr = key(by.expr.clone(), &schema);
            }
            let mut known = HashSet::new();
            on.on_expr.retain(|expr| known.insert(expr.clone()));
            if let Some(sort_expr) = &mut on.sort_expr {
                sort_once(sort_expr);
            }
            Ok(LogicalPlan::Distinct(Distinct::On(on)))
        }
        plan => Ok(plan),
    }
}

/// A second time an expression sorts nothing, and aggregates count it among their keys.
pub(super) fn sort_once(order_by: &mut Vec<SortExpr>) {
    if order_by.len() < 2 {
        return;
    }
    let mut known = HashSet::new();
    order_by.retain(|by| known.insert(by.expr.clone()));
}

/// The plan with its columns as keys.
pub(super) fn of_columns(plan: Arc<LogicalPlan>, key: fn(Expr, &DFSchema) -> Expr) -> Result<Arc<LogicalPlan>> {
    let schema = Arc::clone(plan.schema());
    if !schema.fields().iter().any(|field| has_key(field.data_type()) || is_of_several(field.data_type())) {
        return Ok(plan);
    }
    let columns = schema.columns().into_iter().map(|column| named(Expr::Column(column), &schema, key));
    let keys = Projection::try_new(columns.collect::<Result<_>>()?, plan)?;
    Ok(Arc::new(LogicalPlan::Projection(keys)))
}

/// Aggregates whose values keep the order in which DISTINCT leaves them.
const SORTED_BY_DISTINCT: [&str; 2] = ["array_agg", "string_agg"];

/// `count(DISTINCT x)` and its like, and aggregates of rows in an order.
fn counted(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr {
        Expr::Alias(mut alias) => {
            *alias.expr = counted(*alias.expr, schema)?;
            Ok(Expr::Alias(alias))
        }
        Expr::AggregateFunction(AggregateFunction { func, mut params }) if params.distinct => {
            for arg in &params.args {
                json::comparable(arg, schema, "equality")?;
                let kind = type_of(arg, schema).map_or(Kind::Null, |data_type| Kind::of(&data_type));
                if func.name() != "count" && kind.is_compared_by_key() {
                    let message = format!("{}(DISTINCT ...) of {} is not supported", func.name(), kind.name());
                    return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
                }
            }
            let before = Expr::AggregateFunction(AggregateFunction { func: Arc::clone(&func), params: params.clone() });
            let keyed = |arg| match func.name() {
                "count" => key_of_row(arg, schema),
                _ => group_key(arg, schema),
            };
            let args: Vec<Expr> = params.args.iter().cloned().map(keyed).collect();
            for by in &mut params.order_by {
                if let Some(at) = params.args.iter().position(|arg| *arg == by.expr) {
                    by.expr = args[at].clone();
                }
            }
            // PostgreSQL finds them by sorting.
            if params.order_by.is_empty() && SORTED_BY_DISTINCT.contains(&func.name()) {
                params.order_by.extend(args.first().map(|value| value.clone().sort(true, false)));
            }
            params.args = args;
            Ok(named_as(&before, Expr::AggregateFunction(AggregateFunction { func, params })))
        }
        // Of an ordered-set aggregate it is the argument.
        Expr::AggregateFunction(AggregateFunction { func, mut params })
            if !params.order_by.is_empty() && !func.inner().supports_within_group_clause() =>
        {
            let before = Expr::AggregateFunction(AggregateFunction { func: Arc::clone(&func), params: params.clone() });
            params.order_by = sorted(params.order_by, schema);
            Ok(named_as(&before, Expr::AggregateFunction(AggregateFunction { func, params })))
        }
        expr => Ok(expr),
    }
}

/// `after` under the name of what it takes the place of.
fn named_as(before: &Expr, after: Expr) -> Expr {
    if after == *before { after } else { after.alias(before.schema_name().to_string()) }
}
