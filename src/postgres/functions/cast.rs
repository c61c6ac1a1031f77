//! Casts as PostgreSQL makes them.

mod function;
mod of_jsonb;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, PrimitiveArray, StringViewBuilder, TimestampMicrosecondArray, new_null_array,
};
use arrow::compute::kernels::cast::{CastOptions, cast as arrow_cast, cast_with_options};
use arrow::datatypes::{
    DataType, Decimal128Type, Field, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, UInt32Type,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ColumnarValue, Expr};

pub(crate) use function::PostgresCast;
pub use function::casts_number;

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::decimal::{Decimal, rescaled, too_large, too_small};
use super::error::{Error, SqlState, fail, out_of_range};
use super::frames::FrameLimits;
use super::interval_fields::{in_fields, interval_fields};
use super::interval_math::NANOS_PER_MICRO;
use super::kind::{Kind, NUMERIC_DIGITS_MAX, timestamp, timestamptz};
use super::type_names::{NUMERIC_SCALE_DEFAULT, TYPE_LENGTH, is_character};
use super::workspace::reserve_reading;
use super::zone::Zone;
use crate::types::{self, ColumnEncoder, Format, POSTGRES_EPOCH_MICROS, PostgresType, SqlValue, array_of, parse_text};

/// Whether PostgreSQL casts one to the other.
pub(super) fn exists(from: Kind, to: Kind) -> bool {
    use Kind::{Array, Bool, Bytea, Date, Float4, Float8, Int2, Int4, Int8, Interval, Null, Numeric, Oid, Other, Text};
    use Kind::{Json, Jsonb, Time, Timestamp, TimestampTz};
    if from == to || matches!(from, Null | Text | Other) || matches!(to, Text | Other) {
        return true;
    }
    matches!(
        (from, to),
        (Int2 | Int4 | Int8 | Numeric | Float4 | Float8, Int2 | Int4 | Int8 | Numeric | Float4 | Float8)
            | (Bool, Int4)
            | (Int4, Bool)
            | (Int2 | Int4 | Int8, Oid)
            | (Oid, Int4 | Int8)
            | (Date | Timestamp | TimestampTz, Date | Timestamp | TimestampTz)
            | (Timestamp | TimestampTz | Interval, Time)
            | (Time, Interval)
            | (Array, Array)
            | (Bytea, Bytea)
            | (Json, Jsonb)
            | (Jsonb, Json | Bool | Int2 | Int4 | Int8 | Numeric | Float4 | Float8)
    )
}

/// A value in another type. A text that is taken apart takes memory of the statement.
pub(super) fn cast_value(
    value: &ScalarValue,
    field: &Field,
    zone: &Zone,
    limits: Option<&FrameLimits>,
) -> Result<ScalarValue> {
    let array = value.to_array()?;
    let _items = reserve_reading(limits, &array, Kind::of(field.data_type()))?;
    ScalarValue::try_from_array(&cast_to_field(&array, field, zone)?, 0)
}

/// A column in another type.
pub fn cast_array(array: &ArrayRef, wanted: &DataType, zone: &Zone) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    cast_to_field(array, &Field::new("", wanted.clone(), true), zone)
}

/// A column in the type of a field, which may bear PostgreSQL's name and length of it.
pub(super) fn cast_to_field(array: &ArrayRef, field: &Field, zone: &Zone) -> Result<ArrayRef> {
    let wanted = field.data_type();
    if array.data_type() == &DataType::Null {
        return Ok(new_null_array(wanted, array.len()));
    }
    let (from, to) = (Kind::of(array.data_type()), Kind::of(wanted));
    let cast: Result<ArrayRef> = match (from, to) {
        (Kind::Text, Kind::Text) => Ok(arrow_cast(array, wanted)?),
        (_, Kind::Text) => Ok(arrow_cast(&to_text(array, zone)?, wanted)?),
        (Kind::Jsonb, to) if to.is_number() || to == Kind::Bool => of_jsonb::to_scalar(array, to, wanted, zone),
        (Kind::Json, Kind::Jsonb) => of_jsonb::of_json(array),
        (Kind::Jsonb, Kind::Json) => Ok(arrow_cast(array, wanted)?),
        (Kind::Text, Kind::Numeric) => text_to_numeric(array, wanted, zone),
        (Kind::Text, Kind::Interval) if interval_fields(field).is_some() => text_to_interval(array, field, zone),
        (Kind::Text, _) => from_text(array, field, zone),
        (from, to) if from.is_number() && to.is_integer() => to_integer(array, from, to),
        (from, Kind::Numeric) if from.is_number() => to_numeric(array, from, wanted),
        (Kind::Numeric, to) if to.is_float() => {
            let floats: Float64Array = decimals(array)?.into_iter().map(|value| value.map(Decimal::to_f64)).collect();
            Ok(arrow_cast(&floats, wanted)?)
        }
        (Kind::Float8, Kind::Float4) => to_float4(array),
        (from, to) if from.is_number() && to.is_float() => Ok(arrow_cast(array, wanted)?),
        (Kind::Bool, Kind::Int4) => Ok(arrow_cast(array, wanted)?),
        (Kind::Int4, Kind::Bool) => {
            let values = arrow_cast(array, &DataType::Int32)?;
            let truths: BooleanArray =
                values.as_primitive::<Int32Type>().iter().map(|value| value.map(|value| value != 0)).collect();
            Ok(Arc::new(truths))
        }
        (from, Kind::Oid) if from.is_integer() => to_oid(array),
        (Kind::Oid, to) if to.is_integer() => to_integer(&arrow_cast(array, &DataType::Int64)?, Kind::Int8, to),
        (from, to) if from.is_day() || from == Kind::Interval || from == Kind::Time => {
            days_and_times(array, from, to, wanted, zone)
        }
        (Kind::Array, Kind::Array) => lists(array, wanted, zone),
        (Kind::Bytea, Kind::Bytea) | (Kind::Other, _) | (_, Kind::Other) => Ok(arrow_cast(array, wanted)?),
        (from, to) if from == to => Ok(arrow_cast(array, wanted)?),
        (from, to) => cannot(from, to),
    };
    let cast = cast?;
    let cast = match interval_fields(field) {
        Some(fields) => in_fields(&cast, fields)?,
        None => cast,
    };
    let is_char = is_character(field);
    match field.metadata().get(TYPE_LENGTH).and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => {
            let short = shortened(&cast, length)?;
            Ok(if is_char { without_blanks(&short) } else { short })
        }
        // Nothing would say how many blanks it has where it goes out.
        None if is_char && ends_in_blank(&cast) => fail(
            SqlState::FEATURE_NOT_SUPPORTED,
            "a value of type character without a length that ends in blanks is not supported",
        ),
        None => Ok(cast),
    }
}

fn ends_in_blank(array: &ArrayRef) -> bool {
    array.as_string_view_opt().is_some_and(|texts| texts.iter().flatten().any(|text| text.ends_with(' ')))
}

/// `char(n)` without the blanks at the end, which are nothing to comparisons and functions; they
/// are written where values go out.
fn without_blanks(array: &ArrayRef) -> ArrayRef {
    match array.as_string_view_opt() {
        Some(texts) => {
            let texts = texts.iter().map(|text| text.map(|text| text.trim_end_matches(' ')));
            Arc::new(texts.collect::<arrow::array::StringViewArray>())
        }
        None => Arc::clone(array),
    }
}

fn cannot<T>(from: Kind, to: Kind) -> Result<T> {
    fail(SqlState::CANNOT_COERCE, format!("cannot cast type {} to {}", from.name(), to.name()))
}

/// The text form of every value; truth values as words, as a cast writes them.
pub(super) fn to_text(array: &ArrayRef, zone: &Zone) -> Result<ArrayRef> {
    if let Some(truths) = array.as_boolean_opt() {
        let mut texts = StringViewBuilder::with_capacity(array.len());
        truths.iter().for_each(|truth| texts.append_option(truth.map(|truth| if truth { "true" } else { "false" })));
        return Ok(Arc::new(texts.finish()));
    }
    let field = Field::new("", array.data_type().clone(), true);
    let encoder = ColumnEncoder::new(&field, array, Format::Text, zone.style())?;
    let mut texts = StringViewBuilder::with_capacity(array.len());
    let mut buffer = bytes::BytesMut::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            texts.append_null();
            continue;
        }
        buffer.clear();
        encoder.write(row, &mut buffer)?;
        match std::str::from_utf8(&buffer) {
            Ok(text) => texts.append_value(text),
            Err(_) => return fail(SqlState::INVALID_TEXT_REPRESENTATION, "the text form of a value is not UTF-8"),
        }
    }
    Ok(Arc::new(texts.finish()))
}

fn texts(array: &ArrayRef) -> Result<arrow::array::StringViewArray> {
    Ok(arrow_cast(array, &DataType::Utf8View)?.as_string_view().clone())
}

fn type_of(field: &Field) -> Result<&'static PostgresType> {
    match types::type_of(field) {
        Some(found) => Ok(found),
        None => fail(SqlState::CANNOT_COERCE, format!("cannot cast type text to {}", field.data_type())),
    }
}

fn from_text(array: &ArrayRef, field: &Field, zone: &Zone) -> Result<ArrayRef> {
    let wanted = match (field.data_type(), types::type_by_name("_text")) {
        // Read as texts, each of which becomes a numeric as any other does.
        (DataType::List(item), Some(texts)) if Kind::of(item.data_type()) == Kind::Numeric => {
            let lists_of_texts = parsed(array, texts, zone)?;
            return lists(&lists_of_texts, field.data_type(), zone);
        }
        _ => type_of(field)?,
    };
    let parsed = parsed(array, wanted, zone)?;
    refuse_deeper(parsed.data_type(), field.data_type())?;
    if matches!(field.data_type(), DataType::List(item) if item.metadata().contains_key(TYPE_LENGTH)) {
        return lists(&parsed, field.data_type(), zone);
    }
    if parsed.data_type() == field.data_type() { Ok(parsed) } else { Ok(arrow_cast(&parsed, field.data_type())?) }
}

fn parsed(array: &ArrayRef, wanted: &PostgresType, zone: &Zone) -> Result<ArrayRef> {
    let values = texts(array)?
        .iter()
        .map(|text| match text {
            Some(text) => parse_text(wanted, text, zone.style()),
            None => Ok(SqlValue::Null),
        })
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(array_of(wanted, &values)?)
}

fn text_to_numeric(array: &ArrayRef, wanted: &DataType, zone: &Zone) -> Result<ArrayRef> {
    let (precision, scale) = target(wanted)?;
    let numeric = types::type_by_oid(types::oid::NUMERIC);
    let mut built = Decimal128Array::builder(array.len());
    for text in texts(array)?.iter() {
        let Some(text) = text else {
            built.append_null();
            continue;
        };
        match Decimal::parse(text) {
            Some(number) => {
                refuse_more_digits(text, number, precision, scale)?;
                built.append_value(fitted(number, precision, scale)?);
            }
            None if is_special(text) => return special(text),
            None => {
                // It says what is wrong with the text, if it is none of ours.
                if let Some(numeric) = numeric {
                    parse_text(numeric, text, zone.style())?;
                }
                return fail(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("numeric \"{text}\" has more than 38 digits"),
                );
            }
        }
    }
    Ok(Arc::new(built.finish().with_precision_and_scale(precision, scale)?))
}

/// Numbers without a unit count the smallest field.
fn text_to_interval(array: &ArrayRef, field: &Field, zone: &Zone) -> Result<ArrayRef> {
    let Some(fields) = interval_fields(field) else { return from_text(array, field, zone) };
    let mut built = IntervalMonthDayNanoArray::builder(array.len());
    for text in texts(array)?.iter() {
        let Some(text) = text else {
            built.append_null();
            continue;
        };
        built.append_value(types::parse_interval_of(fields, text, zone.style())?.in_arrow()?);
    }
    Ok(Arc::new(built.finish()))
}

fn target(wanted: &DataType) -> Result<(u8, i8)> {
    match wanted {
        DataType::Decimal128(precision, scale) => Ok((*precision, *scale)),
        other => fail(SqlState::FEATURE_NOT_SUPPORTED, format!("numbers as {other} are not supported")),
    }
}

/// Of a precision that a statement names, or of the digits that there are.
fn overflow<T>(precision: u8) -> Result<T> {
    match precision {
        NUMERIC_DIGITS_MAX => Err(too_large()),
        _ => fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow"),
    }
}

fn fitted(number: Decimal, precision: u8, scale: i8) -> Result<i128> {
    let fitted = number.unscaled(precision, scale).or_else(|_| overflow(precision))?;
    // A scale that a statement names rounds to zero, the one of ours does not.
    if fitted == 0 && number.value() != 0 && (precision, scale) == (NUMERIC_DIGITS_MAX, NUMERIC_SCALE_DEFAULT) {
        return Err(too_small());
    }
    Ok(fitted)
}

/// Refuses a text of more digits than the scale has that a column gets where a statement names
/// none.
fn refuse_more_digits(text: &str, number: Decimal, precision: u8, scale: i8) -> Result<()> {
    let is_named = (precision, scale) != (NUMERIC_DIGITS_MAX, NUMERIC_SCALE_DEFAULT);
    if is_named || number.scale() <= scale || number.ends_in_zeros(number.scale() - scale) {
        return Ok(());
    }
    let message = format!(
        "numeric \"{}\" has more than {scale} digits behind the point, which a column has where no other number is \
         named, as in numeric(38, 20)",
        text.trim()
    );
    fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Values of PostgreSQL's numerics that decimals do not have.
fn is_special(text: &str) -> bool {
    let word = text.trim().trim_start_matches(['+', '-']);
    ["nan", "inf", "infinity"].iter().any(|special| word.eq_ignore_ascii_case(special))
}

fn special<T>(text: &str) -> Result<T> {
    fail(SqlState::FEATURE_NOT_SUPPORTED, format!("numeric {} is not supported", text.trim()))
}

/// Decimals of any width in 128 bits.
fn narrow(array: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, &DataType::Decimal128(precision, scale), &options).map_err(|_| too_large())
}

/// Decimals of any width, one by one.
fn decimals(array: &ArrayRef) -> Result<Vec<Option<Decimal>>> {
    let scale = match array.data_type() {
        DataType::Decimal128(_, scale)
        | DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let array = narrow(array, NUMERIC_DIGITS_MAX, scale)?;
    Ok(array
        .as_primitive::<Decimal128Type>()
        .iter()
        .map(|value| value.map(|value| Decimal::new(value, scale)))
        .collect())
}

/// Doubles are rounded half to even, numerics half away from zero.
fn to_integer(array: &ArrayRef, from: Kind, to: Kind) -> Result<ArrayRef> {
    let name = to.name();
    let wide: Int64Array = match from {
        Kind::Numeric => decimals(array)?
            .into_iter()
            .map(|value| match value {
                Some(value) => {
                    let whole = value.round(0)?.value();
                    i64::try_from(whole).map(Some).map_err(|_| out_of_range(name))
                }
                None => Ok(None),
            })
            .collect::<Result<_>>()?,
        from if from.is_float() => {
            let floats = arrow_cast(array, &DataType::Float64)?;
            floats
                .as_primitive::<Float64Type>()
                .iter()
                .map(|value| match value {
                    Some(value) => {
                        let rounded = value.round_ties_even();
                        // 2^63 itself is no bigint.
                        if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                            Ok(Some(rounded as i64))
                        } else {
                            Err(out_of_range(name))
                        }
                    }
                    None => Ok(None),
                })
                .collect::<Result<_>>()?
        }
        _ => arrow_cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
    };
    match to {
        Kind::Int2 => narrowed::<Int16Type>(&wide, name),
        Kind::Int4 => narrowed::<Int32Type>(&wide, name),
        _ => Ok(Arc::new(wide)),
    }
}

fn narrowed<T: ArrowPrimitiveType>(wide: &Int64Array, name: &str) -> Result<ArrayRef>
where
    T::Native: TryFrom<i64>,
{
    let narrow: PrimitiveArray<T> = wide
        .iter()
        .map(|value| match value {
            Some(value) => T::Native::try_from(value).map(Some).map_err(|_| out_of_range(name)),
            None => Ok(None),
        })
        .collect::<Result<_>>()?;
    Ok(Arc::new(narrow))
}

fn to_oid(array: &ArrayRef) -> Result<ArrayRef> {
    let wide = arrow_cast(array, &DataType::Int64)?;
    let oids: PrimitiveArray<UInt32Type> = wide
        .as_primitive::<Int64Type>()
        .iter()
        .map(|value| match value {
            // Negative integers are oids beyond the middle.
            Some(value) if (i64::from(i32::MIN)..0).contains(&value) => Ok(Some(value as i32 as u32)),
            Some(value) => u32::try_from(value).map(Some).map_err(|_| out_of_range("OID")),
            None => Ok(None),
        })
        .collect::<Result<_>>()?;
    Ok(Arc::new(oids))
}

fn to_float4(array: &ArrayRef) -> Result<ArrayRef> {
    let narrow: PrimitiveArray<Float32Type> = array
        .as_primitive::<Float64Type>()
        .iter()
        .map(|value| match value {
            Some(value) if value.is_finite() && (value as f32).is_infinite() => {
                fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
            }
            Some(value) if value != 0.0 && value as f32 == 0.0 => {
                fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
            }
            value => Ok(value.map(|value| value as f32)),
        })
        .collect::<Result<_>>()?;
    Ok(Arc::new(narrow))
}

fn to_numeric(array: &ArrayRef, from: Kind, wanted: &DataType) -> Result<ArrayRef> {
    let (precision, scale) = match wanted {
        DataType::Decimal128(precision, scale) => (*precision, *scale),
        _ => return Ok(arrow_cast(array, wanted)?),
    };
    let mut built = Decimal128Array::builder(array.len());
    if from.is_float() {
        let single = from == Kind::Float4;
        let floats = arrow_cast(array, &DataType::Float64)?;
        for value in floats.as_primitive::<Float64Type>() {
            let Some(value) = value else {
                built.append_null();
                continue;
            };
            if !value.is_finite() {
                return special(&value.to_string());
            }
            let digits = if single { float4_digits(value as f32) } else { float8_digits(value) };
            match Decimal::parse(&digits) {
                Some(number) => built.append_value(fitted(number, precision, scale)?),
                // Rounded to digits that a statement says.
                None if value.abs() < 1.0 && precision < NUMERIC_DIGITS_MAX => built.append_value(0),
                None if value.abs() < 1.0 => return Err(too_small()),
                None => {
                    let message = format!("numeric {value:e} has more than 38 digits");
                    return fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
                }
            }
        }
        return Ok(Arc::new(built.finish().with_precision_and_scale(precision, scale)?));
    }
    if from == Kind::Numeric && matches!(array.data_type(), DataType::Decimal128(..)) {
        let rounded = rescaled(array, precision, scale);
        return match rounded {
            Ok(rounded) => Ok(Arc::new(rounded)),
            Err(_) => overflow(precision),
        };
    }
    if from == Kind::Numeric {
        return narrow(array, precision, scale);
    }
    for value in arrow_cast(array, &DataType::Int64)?.as_primitive::<Int64Type>() {
        match value {
            Some(value) => built.append_value(fitted(Decimal::new(i128::from(value), 0), precision, scale)?),
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish().with_precision_and_scale(precision, scale)?))
}

/// The 15 digits that PostgreSQL takes of a double for a numeric.
pub(super) fn float8_digits(value: f64) -> String {
    significant(format!("{value:.14e}"))
}

fn float4_digits(value: f32) -> String {
    significant(format!("{value:.5e}"))
}

fn significant(scientific: String) -> String {
    match scientific.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => {
            format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => scientific,
    }
}

fn days_and_times(array: &ArrayRef, from: Kind, to: Kind, wanted: &DataType, zone: &Zone) -> Result<ArrayRef> {
    if from == Kind::Interval && to == Kind::Time {
        let spans = array.as_primitive::<IntervalMonthDayNanoType>();
        let times: Int64Array = spans
            .iter()
            .map(|span| span.map(|span| (span.nanoseconds / NANOS_PER_MICRO).rem_euclid(MICROS_PER_DAY)))
            .collect();
        return Ok(arrow_cast(&times, wanted)?);
    }
    if from == Kind::Time && to == Kind::Interval {
        let times = arrow_cast(
            &arrow_cast(array, &DataType::Time64(arrow::datatypes::TimeUnit::Microsecond))?,
            &DataType::Int64,
        )?;
        let spans: PrimitiveArray<IntervalMonthDayNanoType> = times
            .as_primitive::<Int64Type>()
            .iter()
            .map(|time| time.map(|time| IntervalMonthDayNano::new(0, 0, time * NANOS_PER_MICRO)))
            .collect();
        return Ok(Arc::new(spans));
    }
    if from == to {
        return Ok(arrow_cast(array, wanted)?);
    }
    if !exists(from, to) {
        return cannot(from, to);
    }
    // Microseconds of what clocks show.
    let local: Int64Array = match from {
        Kind::Date => {
            let days = arrow_cast(&arrow_cast(array, &DataType::Date32)?, &DataType::Int32)?;
            let midnight = |days: i32| match i64::from(days).checked_mul(MICROS_PER_DAY) {
                Some(midnight) => Ok(midnight),
                None => fail(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"),
            };
            let days = days.as_primitive::<Int32Type>().iter();
            days.map(|days| days.map(midnight).transpose()).collect::<Result<_>>()?
        }
        Kind::TimestampTz => {
            let moments = arrow_cast(&arrow_cast(array, &timestamptz())?, &DataType::Int64)?;
            moments.as_primitive::<Int64Type>().iter().map(|at| at.map(|at| zone.local(at))).collect()
        }
        _ => arrow_cast(&arrow_cast(array, &timestamp())?, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
    };
    let cast: ArrayRef = match to {
        Kind::Date => {
            let days = local.iter().map(|at| at.and_then(|at| i32::try_from(at.div_euclid(MICROS_PER_DAY)).ok()));
            Arc::new(days.collect::<arrow::array::Date32Array>())
        }
        Kind::Time => {
            let times = local.iter().map(|at| at.map(|at| at.rem_euclid(MICROS_PER_DAY)));
            Arc::new(times.collect::<arrow::array::Time64MicrosecondArray>())
        }
        Kind::TimestampTz => {
            let moments = local.iter().map(|at| at.map(|at| zone.moment(at)));
            Arc::new(moments.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        _ => Arc::new(local.iter().collect::<TimestampMicrosecondArray>()),
    };
    if cast.data_type() == wanted { Ok(cast) } else { Ok(arrow_cast(&cast, wanted)?) }
}

fn lists(array: &ArrayRef, wanted: &DataType, zone: &Zone) -> Result<ArrayRef> {
    let (Some(list), DataType::List(item)) = (array.as_list_opt::<i32>(), wanted) else {
        return Ok(arrow_cast(array, wanted)?);
    };
    refuse_deeper(array.data_type(), wanted)?;
    if is_character(item) && item.metadata().contains_key(TYPE_LENGTH) {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of character(n) are not supported");
    }
    let values = cast_to_field(list.values(), item, zone)?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned())?))
}

/// Refuses an array of more dimensions than the one that it shall be.
fn refuse_deeper(given: &DataType, wanted: &DataType) -> Result<()> {
    let item = |data_type: &DataType| match data_type {
        DataType::List(item) => Some(item.data_type().clone()),
        _ => None,
    };
    match (item(given), item(wanted)) {
        (Some(DataType::List(_)), Some(wanted)) if !matches!(wanted, DataType::List(_)) => {
            fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of more than one dimension are not supported")
        }
        _ => Ok(()),
    }
}

/// Texts of at most `length` characters, moments with at most `length` digits of a second.
fn shortened(array: &ArrayRef, length: usize) -> Result<ArrayRef> {
    if let Some(texts) = array.as_string_view_opt() {
        let mut short = StringViewBuilder::with_capacity(texts.len());
        for text in texts {
            short.append_option(text.map(|text| match text.char_indices().nth(length) {
                Some((end, _)) => &text[..end],
                None => text,
            }));
        }
        return Ok(Arc::new(short.finish()));
    }
    let digits = u32::try_from(length.min(6)).unwrap_or(6);
    let unit = MICROS_PER_SECOND / 10_i64.pow(digits);
    let kind = Kind::of(array.data_type());
    if unit <= 1 || !kind.is_temporal() {
        return Ok(Arc::clone(array));
    }
    if let Some(spans) = array.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let rounded = spans.iter().map(|span| {
            let span = span?;
            let micros = half_away(span.nanoseconds / NANOS_PER_MICRO, unit);
            Some(IntervalMonthDayNano::new(span.months, span.days, micros.saturating_mul(NANOS_PER_MICRO)))
        });
        return Ok(Arc::new(rounded.collect::<IntervalMonthDayNanoArray>()));
    }
    // Moments count from 2000.
    let origin = if kind == Kind::Time { 0 } else { POSTGRES_EPOCH_MICROS };
    let micros = arrow_cast(array, &DataType::Int64)?;
    let rounded: Int64Array = micros
        .as_primitive::<Int64Type>()
        .iter()
        .map(|at| at.map(|at| half_away(at.saturating_sub(origin), unit).saturating_add(origin)))
        .collect();
    Ok(arrow_cast(&rounded, array.data_type())?)
}

/// A multiple of a unit, halves away from zero.
fn half_away(value: i64, unit: i64) -> i64 {
    let size = i64::try_from(value.unsigned_abs()).unwrap_or(i64::MAX).saturating_add(unit / 2) / unit * unit;
    if value < 0 { -size } else { size }
}

/// A constant of just this type: a bare literal is taken for one of the statement's text, as narrow
/// as its value.
pub fn typed_constant(value: ScalarValue) -> Expr {
    match value {
        ScalarValue::Int64(Some(_)) => {
            let target = Arc::new(Field::new("", DataType::Int64, true));
            Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(target), vec![Expr::Literal(value, None)]))
        }
        value => Expr::Literal(value, None),
    }
}

/// Elements of arrays may have a type of PostgreSQL's, which their values do not tell.
pub(super) fn with_elements_of(value: ColumnarValue, wanted: &DataType) -> Result<ColumnarValue> {
    let DataType::List(element) = wanted else { return Ok(value) };
    let typed = |list: &ListArray| {
        let (_, offsets, values, nulls) = list.clone().into_parts();
        Ok::<_, DataFusionError>(Arc::new(ListArray::try_new(Arc::clone(element), offsets, values, nulls)?))
    };
    Ok(match value {
        ColumnarValue::Scalar(ScalarValue::List(list)) => ColumnarValue::Scalar(ScalarValue::List(typed(&list)?)),
        ColumnarValue::Array(array) => match array.as_list_opt::<i32>() {
            Some(list) => ColumnarValue::Array(typed(list)?),
            None => ColumnarValue::Array(array),
        },
        value => value,
    })
}
