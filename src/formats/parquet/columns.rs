//! Reading values out of the columns of a batch.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, Float64Array,
    Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimeUnit, UInt64Type};

use super::layout::{KeySource, Layout, is_text};
use crate::convert;
use crate::error::Error;
use crate::key_columns::KeyTemplate;
use crate::reject_line::LineBuilder;
use rowkey_model::rows::{PropertyId, PropertyNames, Rows, ValueRef};
use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, STRING_UTF16_UNITS_MAX, Value};

/// The columns of one batch, downcast once.
pub(super) struct BatchColumns<'a> {
    partition: Key<'a>,
    row: Key<'a>,
    timestamp: Option<Timestamps>,
    properties: Vec<Column<'a>>,
}

struct Column<'a> {
    id: PropertyId,
    name: &'a str,
    /// The type that the user wants.
    wanted: Option<EdmType>,
    values: Values,
}

enum Key<'a> {
    Texts(Texts),
    Template(&'a KeyTemplate, Vec<(&'a str, Values)>),
}

impl Key<'_> {
    fn get(&self, i: usize, key: &str) -> Result<Cow<'_, str>, String> {
        let is_null = || format!("{key} is null");
        match self {
            Key::Texts(texts) => texts.get(i).map(Cow::Borrowed).ok_or_else(is_null),
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
    pub(super) fn of(input: &Arc<str>, layout: &'a Layout, batch: &RecordBatch) -> Result<Self, Error> {
        let failed = |source| Error::Arrow { input: Arc::clone(input), source };
        let texts = |at: usize| Texts::of(batch.column(at)).map_err(failed);
        let dates = |at: usize, tick: Option<usize>| {
            Dates::of(batch.column(at), tick.map(|tick| batch.column(tick))).map_err(failed)
        };
        let timestamp = match layout.timestamp {
            Some(dated) if is_text(batch.column(dated.column).data_type()) => {
                Some(Timestamps::Texts(texts(dated.column)?))
            }
            Some(dated) => Some(Timestamps::Dates(dates(dated.column, dated.tick)?)),
            None => None,
        };
        let mut properties = Vec::with_capacity(layout.properties.len());
        for property in &layout.properties {
            let values = match property.edm_type {
                EdmType::DateTime => Values::Dates(dates(property.column, property.tick)?),
                edm_type => Values::of(batch.column(property.column), edm_type).map_err(failed)?,
            };
            properties.push(Column { id: property.id, name: &property.name, wanted: property.wanted, values });
        }
        let key = |source: &'a KeySource| {
            Ok(match source {
                KeySource::Column(at) => Key::Texts(texts(*at)?),
                KeySource::Template(template, columns) => {
                    let column = |(name, at, edm_type): &'a (Arc<str>, usize, EdmType)| {
                        Values::of(batch.column(*at), *edm_type).map(|values| (&**name, values)).map_err(failed)
                    };
                    Key::Template(template, columns.iter().map(column).collect::<Result<_, Error>>()?)
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

type ArrowResult<T> = Result<T, arrow::error::ArrowError>;

enum Values {
    Boolean(BooleanArray),
    Int32(Int32Array),
    Int64(Int64Array),
    UInt64(UInt64Array),
    Double(Float64Array),
    Texts(Texts),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    FixedBinary(FixedSizeBinaryArray),
    Guid(FixedSizeBinaryArray),
    Dates(Dates),
}

impl Values {
    fn of(column: &ArrayRef, edm_type: EdmType) -> ArrowResult<Values> {
        Ok(match (edm_type, column.data_type()) {
            (EdmType::Boolean, _) => Values::Boolean(column.as_boolean().clone()),
            (EdmType::Int32, _) => Values::Int32(cast(column, &DataType::Int32)?.as_primitive::<Int32Type>().clone()),
            (EdmType::Int64, DataType::UInt64) => Values::UInt64(column.as_primitive::<UInt64Type>().clone()),
            (EdmType::Int64, _) => Values::Int64(cast(column, &DataType::Int64)?.as_primitive::<Int64Type>().clone()),
            (EdmType::Double, _) => {
                Values::Double(cast(column, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            (EdmType::Guid, _) => Values::Guid(column.as_fixed_size_binary().clone()),
            (EdmType::Binary, DataType::FixedSizeBinary(_)) => {
                Values::FixedBinary(column.as_fixed_size_binary().clone())
            }
            (EdmType::Binary, DataType::LargeBinary) => Values::LargeBinary(column.as_binary::<i64>().clone()),
            (EdmType::Binary, DataType::BinaryView) => Values::BinaryView(column.as_binary_view().clone()),
            (EdmType::Binary, _) => Values::Binary(column.as_binary::<i32>().clone()),
            (EdmType::DateTime, _) => Values::Dates(Dates::of(column, None)?),
            (EdmType::String, _) => Values::Texts(Texts::of(column)?),
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
            Values::Boolean(values) => values.is_valid(i).then(|| ValueRef::Boolean(values.value(i))),
            Values::Int32(values) => values.is_valid(i).then(|| ValueRef::Int32(values.value(i))),
            Values::Int64(values) => values.is_valid(i).then(|| ValueRef::Int64(values.value(i))),
            Values::UInt64(values) if values.is_valid(i) => match i64::try_from(values.value(i)) {
                Ok(value) => Some(ValueRef::Int64(value)),
                Err(_) => return Err(format!("{} is beyond the range of Int64", values.value(i))),
            },
            Values::UInt64(_) => None,
            Values::Double(values) => values.is_valid(i).then(|| ValueRef::Double(values.value(i))),
            Values::Texts(values) => values.get(i).map(ValueRef::String),
            Values::Binary(values) => values.is_valid(i).then(|| ValueRef::Binary(values.value(i))),
            Values::LargeBinary(values) => values.is_valid(i).then(|| ValueRef::Binary(values.value(i))),
            Values::BinaryView(values) => values.is_valid(i).then(|| ValueRef::Binary(values.value(i))),
            Values::FixedBinary(values) => values.is_valid(i).then(|| ValueRef::Binary(values.value(i))),
            Values::Guid(values) if values.is_valid(i) => {
                Some(ValueRef::Guid(uuid::Uuid::from_slice(values.value(i)).map_err(|error| error.to_string())?))
            }
            Values::Guid(_) => None,
            Values::Dates(values) => values.get(i)?.map(ValueRef::DateTime),
        })
    }
}

enum Texts {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

impl Texts {
    fn of(column: &ArrayRef) -> ArrowResult<Texts> {
        Ok(match column.data_type() {
            DataType::LargeUtf8 => Texts::Large(column.as_string::<i64>().clone()),
            DataType::Utf8View => Texts::View(column.as_string_view().clone()),
            DataType::Utf8 => Texts::Small(column.as_string::<i32>().clone()),
            // Dictionaries; texts that share a dictionary may be longer in sum than small offsets
            // reach.
            _ => Texts::Large(cast(column, &DataType::LargeUtf8)?.as_string::<i64>().clone()),
        })
    }

    fn get(&self, i: usize) -> Option<&str> {
        match self {
            Texts::Small(texts) => texts.is_valid(i).then(|| texts.value(i)),
            Texts::Large(texts) => texts.is_valid(i).then(|| texts.value(i)),
            Texts::View(texts) => texts.is_valid(i).then(|| texts.value(i)),
        }
    }
}

/// Timestamps as dates, or as the service writes them: pandas keeps those of its answers as texts.
enum Timestamps {
    Dates(Dates),
    Texts(Texts),
}

impl Timestamps {
    fn get(&self, i: usize) -> Result<Option<DateTime>, String> {
        let text = match self {
            Timestamps::Dates(dates) => return dates.get(i),
            Timestamps::Texts(texts) => texts.get(i),
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
