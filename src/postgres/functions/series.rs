//! `generate_series(start, stop [, step])` over integers, numerics and moments, made batch by
//! batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;

use super::cast;
use super::decimal::Decimal;
use super::error::{SqlState, fail};
use super::interval_math::{date_range, moved};
use super::kind::{Kind, interval, timestamp, timestamptz, unknown_text};
use super::resolution::Resolver;
use super::zone::Zone;

/// Name of the table function.
pub const NAME: &str = "generate_series";

/// The last argument where one of the others is a bigint, whatever its value.
pub(crate) const OF_BIGINT: &str = "\u{1}bigint";

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

/// What the text of a moment begins with, before its type.
const MARK: char = '\u{1}';

/// The type of a moment that is an argument as a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    Date,
    Timestamp,
    TimestampTz,
}

impl Moment {
    const ALL: [(Self, char); 3] = [(Self::Date, 'd'), (Self::Timestamp, 't'), (Self::TimestampTz, 'z')];

    /// The text with its type.
    pub(crate) fn marked(self, text: &str) -> String {
        let letter = Self::ALL.iter().find(|(moment, _)| *moment == self).map_or(' ', |(_, letter)| *letter);
        format!("{MARK}{letter}{text}")
    }

    /// The type and the text that [`Moment::marked`] has made one of.
    fn of(value: &ScalarValue) -> Option<(DataType, &str)> {
        let marked = value.try_as_str().flatten()?.strip_prefix(MARK)?;
        let (moment, letter) = Self::ALL.iter().find(|(_, letter)| marked.starts_with(*letter))?;
        let data_type = match moment {
            Self::Date => DataType::Date32,
            Self::Timestamp => timestamp(),
            Self::TimestampTz => timestamptz(),
        };
        Some((data_type, &marked[letter.len_utf8()..]))
    }
}

/// The function in FROM.
#[derive(Debug)]
pub(super) struct GenerateSeries;

impl TableFunctionImpl for GenerateSeries {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let zone = Zone::of(args.session().config_options())?;
        let series = Series::of(args.exprs(), zone)?;
        let schema = Arc::clone(&series.schema);
        Ok(Arc::new(StreamingTable::try_new(schema, vec![Arc::new(series)])?))
    }
}

/// From where, how far, in which steps.
#[derive(Debug, Clone)]
struct Series {
    schema: SchemaRef,
    /// `None`: one of the arguments is null, and there are no rows.
    bounds: Option<Bounds>,
    zone: Zone,
}

/// Integers and numerics count in units of their scale, moments in microseconds.
#[derive(Debug, Clone, Copy)]
enum Bounds {
    Numbers { next: i128, last: i128, step: i128 },
    Moments { next: i64, last: i64, step: IntervalMonthDayNano, zoned: bool },
}

impl Series {
    fn of(args: &[Expr], zone: Zone) -> Result<Self> {
        let (args, least) = match args {
            [others @ .., Expr::Literal(last, _)] if last.try_as_str() == Some(Some(OF_BIGINT)) => (others, Kind::Int8),
            args => (args, Kind::Null),
        };
        let constants = args.iter().map(|arg| constant(arg, &zone)).collect::<Result<Vec<_>>>()?;
        let (start, stop, step) = match constants.as_slice() {
            [start, stop] => (start, stop, None),
            [start, stop, step] => (start, stop, Some(step)),
            _ => return fail(SqlState::UNDEFINED_FUNCTION, format!("function {NAME} takes two or three arguments")),
        };
        let kinds: Vec<Kind> = constants
            .iter()
            .zip(args)
            .map(|(value, arg)| match unknown_text(arg) {
                Some(_) if value.data_type().is_string() => Kind::Null,
                _ => Kind::of(&value.data_type()),
            })
            .collect();
        let (Some(first), Some(second)) = (kinds.first(), kinds.get(1)) else {
            return fail(SqlState::UNDEFINED_FUNCTION, format!("function {NAME} takes two or three arguments"));
        };
        let Some(bound) = first.common(*second) else { return undefined(&kinds) };
        if bound.is_day() {
            let zoned = bound != Kind::Timestamp;
            let data_type = if zoned { timestamptz() } else { timestamp() };
            let Some(step) = step else { return undefined(&kinds) };
            let values = (moment(start, &data_type, &zone)?, moment(stop, &data_type, &zone)?, span(step, &zone)?);
            let bounds = match values {
                (Some(next), Some(last), Some(step)) => {
                    if step.months == 0 && step.days == 0 && step.nanoseconds == 0 {
                        return fail(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero");
                    }
                    Some(Bounds::Moments { next, last, step, zoned })
                }
                _ => None,
            };
            return Ok(Self { schema: schema(data_type), bounds, zone });
        }
        let kind = kinds.iter().try_fold(least, |common, kind| common.common(*kind));
        let Some(kind) = kind.filter(|kind| kind.is_integer() || matches!(kind, Kind::Numeric | Kind::Null)) else {
            return undefined(&kinds);
        };
        let data_type = match kind {
            Kind::Numeric => DataType::Decimal128(38, 10),
            Kind::Int8 => DataType::Int64,
            _ => DataType::Int32,
        };
        // A text among numerics has as many digits behind the point as it shows.
        let shown = |text: &str| Decimal::parse(text).filter(|_| kind == Kind::Numeric);
        let number = |value: &ScalarValue| match value.try_as_str() {
            Some(_) if kind == Kind::Null => undefined(&kinds),
            Some(text) => match text.and_then(shown) {
                Some(number) => Ok(Some(number)),
                None => {
                    let field = Field::new("", data_type.clone(), true);
                    Ok(Decimal::of_scalar(&cast::cast_value(value, &field, &zone, None)?))
                }
            },
            None => Ok(Decimal::of_scalar(value)),
        };
        let numbers = constants.iter().map(number).collect::<Result<Vec<Option<Decimal>>>>()?;
        let scale = numbers.iter().flatten().map(|number| number.scale()).max().unwrap_or(0);
        let unit = |number: Option<Decimal>| number.map(|number| number.unscaled(38, scale)).transpose();
        let one = Decimal::new(1, 0);
        let step = if step.is_some() { numbers.get(2).copied().flatten() } else { Some(one) };
        let (start, stop, step) =
            (unit(numbers.first().copied().flatten())?, unit(numbers.get(1).copied().flatten())?, unit(step)?);
        let bounds = match (start, stop, step) {
            (_, _, Some(0)) => return fail(SqlState::INVALID_PARAMETER_VALUE, "step size cannot equal zero"),
            (Some(next), Some(last), Some(step)) => Some(Bounds::Numbers { next, last, step }),
            _ => None,
        };
        let data_type = if kind == Kind::Numeric { DataType::Decimal128(38, scale) } else { data_type };
        Ok(Self { schema: schema(data_type), bounds, zone })
    }
}

fn schema(data_type: DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new(NAME, data_type, false)]))
}

fn undefined<T>(kinds: &[Kind]) -> Result<T> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    fail(SqlState::UNDEFINED_FUNCTION, format!("function {NAME}({}) does not exist", kinds.join(", ")))
}

/// An argument's value, with the type that PostgreSQL gives it.
fn constant(arg: &Expr, zone: &Zone) -> Result<ScalarValue> {
    let schema = DFSchema::empty();
    let resolver = Resolver::over(&schema, Some(zone));
    match resolver.resolve(arg.clone())? {
        Expr::Literal(value, _) => match Moment::of(&value) {
            Some((data_type, text)) => {
                let text = ScalarValue::Utf8View(Some(text.to_owned()));
                cast::cast_value(&text, &Field::new("", data_type, true), zone, None)
            }
            None => Ok(value),
        },
        _ => fail(SqlState::FEATURE_NOT_SUPPORTED, format!("arguments of {NAME} have to be constants")),
    }
}

fn moment(value: &ScalarValue, data_type: &DataType, zone: &Zone) -> Result<Option<i64>> {
    match cast::cast_value(value, &Field::new("", data_type.clone(), true), zone, None)? {
        ScalarValue::TimestampMicrosecond(at, _) => Ok(at),
        _ => Ok(None),
    }
}

fn span(value: &ScalarValue, zone: &Zone) -> Result<Option<IntervalMonthDayNano>> {
    match cast::cast_value(value, &Field::new("", interval(), true), zone, None)? {
        ScalarValue::IntervalMonthDayNano(span) => Ok(span),
        _ => Ok(None),
    }
}

impl PartitionStream for Series {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let batches = Batches { schema: Arc::clone(&schema), bounds: self.bounds, zone: self.zone.clone() };
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// The batches of a series, each made when it is asked for.
struct Batches {
    schema: SchemaRef,
    bounds: Option<Bounds>,
    zone: Zone,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, DataFusionError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bounds = self.bounds.take()?;
        let data_type = self.schema.field(0).data_type().clone();
        let made = match bounds {
            Bounds::Numbers { next, last, step } => {
                let mut values = Vec::with_capacity(64);
                let mut at = Some(next);
                while let Some(value) = at.filter(|at| if step > 0 { *at <= last } else { *at >= last }) {
                    values.push(value);
                    at = value.checked_add(step);
                    if values.len() == BATCH_ROWS {
                        break;
                    }
                }
                if values.len() == BATCH_ROWS {
                    self.bounds = at.map(|next| Bounds::Numbers { next, last, step });
                }
                numbers(values, &data_type)
            }
            Bounds::Moments { next, last, step, zoned } => {
                let zone = zoned.then_some(&self.zone);
                let forwards =
                    (i128::from(step.months), i128::from(step.days), i128::from(step.nanoseconds)) > (0, 0, 0);
                let mut values = Vec::with_capacity(64);
                let mut at = next;
                while if forwards { at <= last } else { at >= last } {
                    values.push(at);
                    match moved(at, step, 1, zone) {
                        Some(after) => at = after,
                        None => return Some(Err(date_range("timestamp"))),
                    }
                    if values.len() == BATCH_ROWS {
                        self.bounds = Some(Bounds::Moments { next: at, last, step, zoned });
                        break;
                    }
                }
                let values: ArrayRef = Arc::new(Int64Array::from(values));
                arrow::compute::cast(&values, &data_type).map_err(DataFusionError::from)
            }
        };
        let array = match made {
            Ok(array) if array.is_empty() => return None,
            Ok(array) => array,
            Err(error) => return Some(Err(error)),
        };
        Some(RecordBatch::try_new(Arc::clone(&self.schema), vec![array]).map_err(DataFusionError::from))
    }
}

fn numbers(values: Vec<i128>, data_type: &DataType) -> Result<ArrayRef> {
    if let DataType::Decimal128(precision, scale) = data_type {
        let decimals = arrow::array::Decimal128Array::from(values).with_precision_and_scale(*precision, *scale)?;
        return Ok(Arc::new(decimals));
    }
    let integers: Int64Array = values.into_iter().map(|value| i64::try_from(value).ok()).collect();
    Ok(arrow::compute::cast(&integers, data_type)?)
}
