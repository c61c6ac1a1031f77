//! Reading values out of the columns of a batch.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type, TimeUnit, UInt64Type};
use arrow::error::ArrowError;

use super::layout::{KeySource, Layout};
use crate::convert;
use crate::error::Error;
use crate::key_columns::KeyTemplate;
use crate::reject_line::LineBuilder;
use rowkey_model::columns::{PropertyReader, is_text};
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, STRING_UTF16_UNITS_MAX, Value, ValueRef};

/// The columns of one batch in types that are read value by value, as [`BatchColumns`] does.
pub(super) struct ReadableColumns(Vec<ArrayRef>);

impl ReadableColumns {
    pub(super) fn of(input: &Arc<str>, batch: &RecordBatch) -> Result<Self, Error> {
        let readable = |column: &ArrayRef| match column.data_type() {
            DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => cast(column, &DataType::Int32),
            DataType::UInt32 => cast(column, &DataType::Int64),
            DataType::Float16 | DataType::Float32 => cast(column, &DataType::Float64),
            // Texts that share a dictionary may be longer in sum than small offsets reach.
            DataType::Dictionary(..) => cast(column, &DataType::LargeUtf8),
            _ => Ok(Arc::clone(column)),
        };
        let columns = batch.columns().iter().map(readable).collect::<Result<_, _>>();
        columns.map(Self).map_err(|source| Error::Arrow { input: Arc::clone(input), source })
    }
}

/// The columns of one batch, downcast once.
pub(super) struct BatchColumns<'a> {
    partition: Key<'a>,
    row: Key<'a>,
    timestamp: Option<Timestamps<'a>>,
    properties: Vec<Column<'a>>,
}

struct Column<'a> {
    id: PropertyId,
    name: &'a str,
    /// The type that the user wants.
    wanted: Option<EdmType>,
    values: Values<'a>,
}

enum Key<'a> {
    Texts(PropertyReader<'a>),
    Template(&'a KeyTemplate, Vec<(&'a str, Values<'a>)>),
}

impl Key<'_> {
    fn get(&self, i: usize, key: &str) -> Result<Cow<'_, str>, String> {
        let is_null = || format!("{key} is null");
        match self {
            Key::Texts(texts) => texts.text(i).map(Cow::Borrowed).ok_or_else(is_null),
            Key::Template(template, columns) => {
                let text = template.key(|column| {
                    let values = columns.iter().find(|(name, _)| *name == column).map(|(_, values)| values);
                    match values.map(|values| values.get(i)).transpose()?.flatten() {
                        Some(value) => Ok(Cow::Owned(value.to_value().to_string())),
                        None => Err(format!("{key} is made of \"{}\", which is null here", column.escape_debug())),
                    }
                })?;
                Ok(Cow::Owned(text))
            }
        }
    }
}

impl<'a> BatchColumns<'a> {
    pub(super) fn of(
        input: &Arc<str>,
        layout: &'a Layout,
        ReadableColumns(columns): &'a ReadableColumns,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Arrow { input: Arc::clone(input), source };
        let texts = |at: usize| reader(EdmType::String, &columns[at]).map_err(failed);
        let dates =
            |at: usize, tick: Option<usize>| Dates::of(&columns[at], tick.map(|tick| &columns[tick])).map_err(failed);
        let timestamp = match layout.timestamp {
            Some(dated) if is_text(columns[dated.column].data_type()) => Some(Timestamps::Texts(texts(dated.column)?)),
            Some(dated) => Some(Timestamps::Dates(dates(dated.column, dated.tick)?)),
            None => None,
        };
        let mut properties = Vec::with_capacity(layout.properties.len());
        for property in &layout.properties {
            let values = match property.edm_type {
                EdmType::DateTime => Values::Dates(dates(property.column, property.tick)?),
                edm_type => Values::of(&columns[property.column], edm_type).map_err(failed)?,
            };
            properties.push(Column { id: property.id, name: &property.name, wanted: property.wanted, values });
        }
        let key = |source: &'a KeySource| {
            Ok(match source {
                KeySource::Column(at) => Key::Texts(texts(*at)?),
                KeySource::Template(template, parts) => {
                    let part = |(name, at, edm_type): &'a (Arc<str>, usize, EdmType)| {
                        Values::of(&columns[*at], *edm_type).map(|values| (&**name, values)).map_err(failed)
                    };
                    Key::Template(template, parts.iter().map(part).collect::<Result<_, Error>>()?)
                }
            })
        };
        Ok(Self { partition: key(&layout.partition)?, row: key(&layout.row)?, timestamp, properties })
    }

    /// Columns with times between ticks of 100 ns, of which the rest is cut off.
    pub(super) fn cut(&self) -> impl Iterator<Item = &'a str> {
        let keys = [&self.partition, &self.row].into_iter().flat_map(|key| match key {
            Key::Texts(_) => &[],
            Key::Template(_, columns) => columns.as_slice(),
        });
        let keys = keys.map(|(name, values)| (*name, values));
        let properties = self.properties.iter().map(|column| (column.name, &column.values));
        let is_cut = |values: &Values| matches!(values, Values::Dates(dates) if dates.is_cut);
        let columns = properties.chain(keys).filter(move |(_, values)| is_cut(values)).map(|(name, _)| name);
        let timestamp = matches!(&self.timestamp, Some(Timestamps::Dates(dates)) if dates.is_cut);
        timestamp.then_some("Timestamp").into_iter().chain(columns)
    }

    /// Appends row `i` to `rows`, or says why not.
    pub(super) fn append(&self, i: usize, rows: &mut Rows, names: &PropertyNames) -> Result<(), String> {
        let mut builder = rows.builder(names);
        builder.begin();
        for Column { id, name, wanted, values } in &self.properties {
            if let (Some(EdmType::Double), Some(number)) = (wanted, values.beyond_int64(i)) {
                let double = convert::wanted(EdmType::Double, &number.to_string());
                let double = double.map_err(|rejected| rejected.named(format!("property {name}")).to_string())?;
                builder.set(*id, ValueRef::from(&double));
                continue;
            }
            let Some(value) = values.get(i).map_err(|reason| format!("property {name}: {reason}"))? else { continue };
            match wanted {
                Some(wanted) if *wanted != value.edm_type() => {
                    let converted = convert::convert(value, *wanted);
                    let converted =
                        converted.map_err(|rejected| rejected.named(format!("property {name}")).to_string())?;
                    check(name, ValueRef::from(&converted))?;
                    builder.set(*id, ValueRef::from(&converted));
                }
                _ => {
                    check(name, value)?;
                    builder.set(*id, value);
                }
            }
        }
        let partition = self.partition.get(i, "PartitionKey")?;
        let row = self.row.get(i, "RowKey")?;
        let timestamp = match &self.timestamp {
            Some(timestamps) => timestamps.get(i).map_err(|reason| format!("Timestamp: {reason}"))?,
            None => None,
        };
        if let Some(timestamp) = timestamp {
            timestamp.validate("Timestamp").map_err(|rejected| rejected.to_string())?;
        }
        builder.finish(&partition, &row, timestamp).map_err(|rejected| rejected.to_string())
    }

    /// Writes what can be read of row `i`.
    pub(super) fn write(&self, i: usize, line: &mut LineBuilder<'_>) {
        for (name, key) in [("PartitionKey", &self.partition), ("RowKey", &self.row)] {
            if let Ok(text) = key.get(i, name) {
                line.member(name, None, &text);
            }
        }
        if let Some(Ok(Some(at))) = self.timestamp.as_ref().map(|timestamps| timestamps.get(i)) {
            line.member("Timestamp", None, &at.to_string());
        }
        for column in &self.properties {
            if let Ok(Some(value)) = column.values.get(i) {
                line.value(column.name, &value.to_value());
            }
        }
    }
}

/// Refuses values over the service's limits; values surely within them are not copied.
fn check(property: &str, value: ValueRef<'_>) -> Result<(), String> {
    let checked = match value {
        ValueRef::String(text) if text.len() > STRING_UTF16_UNITS_MAX => value.to_value().validate(property),
        ValueRef::Binary(bytes) if bytes.len() > BINARY_BYTES_MAX => value.to_value().validate(property),
        ValueRef::DateTime(at) => Value::DateTime(at).validate(property),
        _ => Ok(()),
    };
    checked.map_err(|rejected| rejected.to_string())
}

type ArrowResult<T> = Result<T, ArrowError>;

fn reader(edm_type: EdmType, column: &ArrayRef) -> ArrowResult<PropertyReader<'_>> {
    PropertyReader::new(edm_type, column, None).ok_or_else(|| {
        ArrowError::SchemaError(format!("a column of {} does not hold {edm_type} values", column.data_type()))
    })
}

enum Values<'a> {
    Typed(PropertyReader<'a>),
    /// Numbers that Int64 may not hold.
    UInt64(&'a UInt64Array),
    Dates(Dates),
}

impl<'a> Values<'a> {
    fn of(column: &'a ArrayRef, edm_type: EdmType) -> ArrowResult<Self> {
        Ok(match (edm_type, column.as_primitive_opt::<UInt64Type>()) {
            (EdmType::Int64, Some(numbers)) => Values::UInt64(numbers),
            (EdmType::DateTime, _) => Values::Dates(Dates::of(column, None)?),
            _ => Values::Typed(reader(edm_type, column)?),
        })
    }

    /// A number that no Int64 holds.
    fn beyond_int64(&self, i: usize) -> Option<u64> {
        match self {
            Values::UInt64(values) if values.is_valid(i) => {
                Some(values.value(i)).filter(|&number| number > i64::MAX as u64)
            }
            _ => None,
        }
    }

    fn get(&self, i: usize) -> Result<Option<ValueRef<'_>>, String> {
        Ok(match self {
            Values::Typed(values) => values.get(i),
            Values::UInt64(values) if values.is_valid(i) => match i64::try_from(values.value(i)) {
                Ok(value) => Some(ValueRef::Int64(value)),
                Err(_) => return Err(format!("{} is beyond the range of Int64", values.value(i))),
            },
            Values::UInt64(_) => None,
            Values::Dates(values) => values.get(i)?.map(ValueRef::DateTime),
        })
    }
}

/// Timestamps as dates, or as the service writes them: pandas keeps those of its answers as texts.
enum Timestamps<'a> {
    Dates(Dates),
    Texts(PropertyReader<'a>),
}

impl Timestamps<'_> {
    fn get(&self, i: usize) -> Result<Option<DateTime>, String> {
        let text = match self {
            Timestamps::Dates(dates) => return dates.get(i),
            Timestamps::Texts(texts) => texts.text(i),
        };
        let Some(text) = text else { return Ok(None) };
        match convert::convert(ValueRef::String(text), EdmType::DateTime) {
            Ok(Value::DateTime(at)) => Ok(Some(at)),
            Ok(_) => Err(format!("\"{}\" is no time", text.escape_debug())),
            Err(rejected) => Err(rejected.to_string()),
        }
    }
}

const NANOS_OF_TICK: i64 = 100;

/// Dates as counts of a unit.
struct Dates {
    counts: Int64Array,
    unit: Unit,
    ticks: Option<Int32Array>,
    /// Some are between ticks.
    is_cut: bool,
}

enum Unit {
    /// So many ticks of 100 ns.
    Ticks(i64),
    Nanoseconds,
}

impl Dates {
    fn of(column: &ArrayRef, ticks: Option<&ArrayRef>) -> ArrowResult<Dates> {
        let unit = match column.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => Unit::Ticks(10_000_000),
            DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => Unit::Ticks(10_000),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Unit::Ticks(10),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Unit::Nanoseconds,
            _ => Unit::Ticks(86_400 * 10_000_000),
        };
        let counts = match column.data_type() {
            DataType::Date32 => cast(&cast(column, &DataType::Int32)?, &DataType::Int64)?,
            _ => cast(column, &DataType::Int64)?,
        };
        let ticks = match ticks {
            Some(ticks) => Some(cast(ticks, &DataType::Int32)?.as_primitive::<Int32Type>().clone()),
            None => None,
        };
        let counts = counts.as_primitive::<Int64Type>().clone();
        let is_cut =
            matches!(unit, Unit::Nanoseconds) && counts.iter().flatten().any(|count| count % NANOS_OF_TICK != 0);
        Ok(Dates { counts, unit, ticks, is_cut })
    }

    fn get(&self, i: usize) -> Result<Option<DateTime>, String> {
        if self.counts.is_null(i) {
            return Ok(None);
        }
        let count = self.counts.value(i);
        let tick = match &self.ticks {
            Some(ticks) if ticks.is_valid(i) => ticks.value(i),
            _ => 0,
        };
        if !(0..10).contains(&tick) {
            return Err(format!("{tick} ticks below a microsecond; there are 0 to 9"));
        }
        let whole = match self.unit {
            Unit::Ticks(unit) => count.checked_mul(unit),
            Unit::Nanoseconds => Some(count.div_euclid(NANOS_OF_TICK)),
        };
        match whole.and_then(|whole| whole.checked_add(i64::from(tick))) {
            Some(ticks) => Ok(Some(DateTime::from_ticks(ticks))),
            None => Err("a DateTime lies between 1601-01-01 and 9999-12-31, this is far outside".to_owned()),
        }
    }
}
