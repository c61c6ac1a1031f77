//! What the values of a column are like, gathered in one pass before a file is written.

use std::collections::HashSet;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use rowkey_model::{DateTime, EdmType, Value, ValueRef};

/// The same for every file, so that equal rows make equal files.
pub(super) type ValueHasher = FixedState;

/// Rows looked at to guess how many different values a column has.
const SAMPLE_ROWS_MAX: u64 = 16 * 1024;
/// Most different values of a column with a dictionary.
const SAMPLE_VALUES_MAX: usize = 4096;
/// Longest minimum or maximum text kept, in bytes.
const BOUND_BYTES_MAX: usize = 64;

/// Count, bounds and variety of one property in one type over the rows of a file.
#[derive(Debug)]
pub(super) struct ColumnStatistics {
    pub entities: u64,
    /// Some DateTime has a 100 ns digit.
    pub tick: bool,
    /// Some Double is not a number.
    pub nan: bool,
    pub value_bytes: u64,
    bounds: Bounds,
    sample: HashSet<u64, ValueHasher>,
    sampled: u64,
}

#[derive(Debug)]
enum Bounds {
    None,
    Boolean(bool, bool),
    DateTime(DateTime, DateTime),
    Double(f64, f64),
    Guid(uuid::Uuid, uuid::Uuid),
    Int(i64, i64),
    String(String, String),
}

impl ColumnStatistics {
    pub(super) fn new() -> Self {
        Self {
            entities: 0,
            tick: false,
            nan: false,
            value_bytes: 0,
            bounds: Bounds::None,
            sample: HashSet::default(),
            sampled: 0,
        }
    }

    /// `hasher` is one for all columns of a file.
    pub(super) fn add(&mut self, value: ValueRef<'_>, hasher: &ValueHasher) {
        self.entities += 1;
        match value {
            ValueRef::Binary(bytes) => self.value_bytes += bytes.len() as u64,
            ValueRef::Boolean(v) => widen(&mut self.bounds, v, Bounds::Boolean, |b| match b {
                Bounds::Boolean(min, max) => Some((min, max)),
                _ => None,
            }),
            ValueRef::DateTime(v) => {
                self.tick |= v.tick() != 0;
                widen(&mut self.bounds, v, Bounds::DateTime, |b| match b {
                    Bounds::DateTime(min, max) => Some((min, max)),
                    _ => None,
                });
            }
            ValueRef::Double(v) if v.is_nan() => self.nan = true,
            ValueRef::Double(v) => widen(&mut self.bounds, v, Bounds::Double, |b| match b {
                Bounds::Double(min, max) => Some((min, max)),
                _ => None,
            }),
            ValueRef::Guid(v) => widen(&mut self.bounds, v, Bounds::Guid, |b| match b {
                Bounds::Guid(min, max) => Some((min, max)),
                _ => None,
            }),
            ValueRef::Int32(v) => self.add_int(i64::from(v)),
            ValueRef::Int64(v) => self.add_int(v),
            ValueRef::String(v) => {
                self.value_bytes += v.len() as u64;
                match &mut self.bounds {
                    Bounds::String(min, max) => {
                        if v < min.as_str() {
                            v.clone_into(min);
                        } else if v > max.as_str() {
                            v.clone_into(max);
                        }
                    }
                    other => *other = Bounds::String(v.to_owned(), v.to_owned()),
                }
            }
        }
        // Once there are too many different ones, more of them change nothing.
        if self.sampled < SAMPLE_ROWS_MAX && self.sample.len() <= SAMPLE_VALUES_MAX {
            self.sampled += 1;
            self.sample.insert(hash(value, hasher));
        }
    }

    fn add_int(&mut self, v: i64) {
        widen(&mut self.bounds, v, Bounds::Int, |b| match b {
            Bounds::Int(min, max) => Some((min, max)),
            _ => None,
        });
    }

    /// Values repeat often enough for a dictionary to be worth its page, which every point read has
    /// to decode.
    pub(super) fn repeats(&self) -> bool {
        self.sampled > 0 && (self.sample.len() as u64) * 4 <= self.sampled && self.sample.len() <= SAMPLE_VALUES_MAX
    }

    /// Average bytes of a string or binary.
    pub(super) fn value_bytes_mean(&self) -> u64 {
        self.value_bytes / self.entities.max(1)
    }

    /// Least and greatest value as canonical text.
    pub(super) fn bounds(&self, edm: EdmType) -> Option<(String, String)> {
        let pair = |min: Value, max: Value| Some((min.to_string(), max.to_string()));
        match &self.bounds {
            Bounds::None => None,
            Bounds::Boolean(min, max) => pair(Value::Boolean(*min), Value::Boolean(*max)),
            Bounds::DateTime(min, max) => pair(Value::DateTime(*min), Value::DateTime(*max)),
            Bounds::Double(min, max) => pair(Value::Double(*min), Value::Double(*max)),
            Bounds::Guid(min, max) => pair(Value::Guid(*min), Value::Guid(*max)),
            Bounds::Int(min, max) => {
                debug_assert!(matches!(edm, EdmType::Int32 | EdmType::Int64));
                pair(Value::Int64(*min), Value::Int64(*max))
            }
            Bounds::String(min, max) => Some((cut(min), cut(max))),
        }
    }
}

fn widen<T: Copy + PartialOrd>(
    bounds: &mut Bounds,
    value: T,
    make: impl Fn(T, T) -> Bounds,
    get: impl Fn(&mut Bounds) -> Option<(&mut T, &mut T)>,
) {
    match get(bounds) {
        Some((min, max)) => {
            if value < *min {
                *min = value;
            }
            if value > *max {
                *max = value;
            }
        }
        None => *bounds = make(value, value),
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(BOUND_BYTES_MAX)].to_owned()
}

fn hash(value: ValueRef<'_>, hasher: &ValueHasher) -> u64 {
    match value {
        ValueRef::Binary(v) => hasher.hash_one(v),
        ValueRef::Boolean(v) => u64::from(v),
        ValueRef::DateTime(v) => v.ticks() as u64,
        ValueRef::Double(v) => v.to_bits(),
        ValueRef::Guid(v) => hasher.hash_one(v),
        ValueRef::Int32(v) => v as u64,
        ValueRef::Int64(v) => v as u64,
        ValueRef::String(v) => hasher.hash_one(v),
    }
}
