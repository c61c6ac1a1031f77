//! Random entities for tests, from a seed that failing tests print.

use std::sync::Arc;

use rowkey_base::testing::Dice;

use super::{PropertyId, PropertyNames, Rows};
use crate::{DateTime, EdmType, Entity, Key, Value, ValueRef};

/// Choices of keys, texts and values.
pub struct Random(Dice);

impl Random {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self(Dice(seed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number less than `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// True once in so many times.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.0.chance(one_in)
    }

    /// One of the choices, of which there must be some.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Text with quotes, escapes, line ends, and characters of one to four bytes.
    pub fn text(&mut self, chars_max: usize) -> String {
        let alphabet =
            ['a', 'b', 'Z', '0', ' ', '"', '\\', '\n', '\r', '\u{1}', '{', '}', '[', ',', 'é', '中', '😀', '\u{e000}'];
        let chars = self.below(chars_max + 1);
        (0..chars).map(|_| *self.pick(&alphabet)).collect()
    }

    /// A key part of few letters, so that equal ones and common beginnings are frequent.
    pub fn key(&mut self, chars_max: usize) -> String {
        let alphabet = ['a', 'b', 'B', ' ', '~', 'é', '\u{e000}', '😀'];
        let chars = self.below(chars_max + 1);
        (0..chars).map(|_| *self.pick(&alphabet)).collect()
    }

    /// A value of any type, often at the limits of the type.
    pub fn value(&mut self) -> Value {
        match *self.pick(&EdmType::ALL) {
            EdmType::Binary => {
                let bytes = self.below(40);
                Value::Binary((0..bytes).map(|_| self.next_u64() as u8).collect())
            }
            EdmType::Boolean => Value::Boolean(self.chance(2)),
            EdmType::DateTime => {
                let span = (DateTime::MAX.ticks() - DateTime::MIN.ticks()) as u64;
                let ticks = DateTime::MIN.ticks() + (self.next_u64() % (span + 1)) as i64;
                Value::DateTime(*self.pick(&[DateTime::MIN, DateTime::MAX, DateTime::from_ticks(ticks)]))
            }
            EdmType::Double => {
                let any = f64::from_bits(self.next_u64());
                Value::Double(*self.pick(&[
                    0.0,
                    -0.0,
                    12.0,
                    1e300,
                    -5e-324,
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    any,
                ]))
            }
            EdmType::Guid => Value::Guid(uuid::Uuid::from_u64_pair(self.next_u64(), self.next_u64())),
            EdmType::Int32 => {
                let any = self.next_u64() as i32;
                Value::Int32(*self.pick(&[0, -1, i32::MIN, i32::MAX, any]))
            }
            EdmType::Int64 => {
                let any = self.next_u64() as i64;
                Value::Int64(*self.pick(&[0, i64::MIN, i64::MAX, (1 << 53) + 1, any]))
            }
            EdmType::String => Value::String(self.text(30)),
        }
    }
}

/// Appends an entity of one property `N`, by which entities of one key differ.
pub fn push(rows: &mut Rows, names: &PropertyNames, key: (&str, &str), timestamp: Option<DateTime>, n: i64) {
    let id: PropertyId = names.intern("N");
    let mut builder = rows.builder(names);
    builder.begin();
    builder.set(id, ValueRef::Int64(n));
    builder.finish(key.0, key.1, timestamp).unwrap();
}

/// Entities of different keys, in key order.
pub fn entities(random: &mut Random) -> Vec<Entity> {
    let names = ["A", "B", "b", "Élan", "value", "a_very_long_name_of_a_property", "Z9"];
    let mut entities: Vec<Entity> = (0..random.below(30))
        .map(|_| {
            let key = Key::new(random.key(5), random.key(30));
            let timestamp = DateTime::from_ticks(random.next_u64() as i64 >> 10);
            let mut properties = Vec::new();
            for name in names {
                // NaNs come back as the one that parsing makes.
                match random.value() {
                    Value::Double(double) if double.is_nan() => {
                        properties.push((Arc::from(name), Value::Double(f64::NAN)));
                    }
                    _ if random.chance(2) => {}
                    value => properties.push((Arc::from(name), value)),
                }
            }
            Entity::from_parts(key, timestamp, properties)
        })
        .collect();
    entities.sort_by(|a, b| a.key.cmp(&b.key));
    entities.dedup_by(|a, b| a.key == b.key);
    entities
}
