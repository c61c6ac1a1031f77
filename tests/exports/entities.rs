//! Entities that hold every edge of the data model, from a seed.

use std::sync::Arc;

use rowkey::model::{DateTime, EdmType, Entity, EntityBuilder, Key, Value};
use rowkey_base::testing::Dice;

pub(crate) struct Random(pub Dice);

impl Random {
    fn text(&mut self) -> String {
        let whole = [
            "",
            " ",
            "\r",
            "\n",
            "\r\n",
            "\"",
            "\"\"",
            ",",
            ";",
            "\t",
            "|",
            "\u{0}",
            "\u{feff}bom",
            "'",
            "\\",
            "\\N",
            "\\.",
            "NULL",
            "null",
            "true",
            "False",
            "12",
            "-0",
            "1e5",
            "NaN",
            "Infinity",
            "2024-05-01T08:00:00Z",
            "AAH+/w==",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "Edm.Int64",
            "lone\rreturn",
            "ends in \r",
            " spaced ",
            "=1+1",
            "😀",
            "\u{e000}",
            "{\"a\":1}",
            "[1]",
            "a,b\"c\nd\re",
            "\u{7f}\u{85}\u{2028}",
        ];
        if self.0.chance(2) {
            return self.0.pick(&whole).to_owned();
        }
        let letters =
            ['a', 'Z', '0', ' ', '"', '\\', '\n', '\r', '\u{1}', '{', '}', ',', ';', 'é', '中', '😀', '\u{ffff}', '@'];
        (0..self.0.below(20)).map(|_| self.0.pick(&letters)).collect()
    }

    fn key(&mut self) -> String {
        let letters = ['a', 'b', 'B', ' ', '~', 'é', '\u{e000}', '😀', '\'', '"', ',', '%', '='];
        (0..self.0.below(5)).map(|_| self.0.pick(&letters)).collect()
    }

    fn ticks(&mut self) -> DateTime {
        let span = (DateTime::MAX.ticks() - DateTime::MIN.ticks()) as u64;
        let any = DateTime::from_ticks(DateTime::MIN.ticks() + (self.0.next_u64() % (span + 1)) as i64);
        self.0.pick(&[DateTime::MIN, DateTime::MAX, DateTime::from_ticks(0), DateTime::from_ticks(-1), any, any, any])
    }

    pub(crate) fn value(&mut self, edm: EdmType) -> Value {
        match edm {
            EdmType::Binary => {
                let bytes = self.0.pick(&[0, 0, 1, 2, 3, 16, 40]);
                Value::Binary((0..bytes).map(|_| self.0.next_u64() as u8).collect())
            }
            EdmType::Boolean => Value::Boolean(self.0.chance(2)),
            EdmType::DateTime => Value::DateTime(self.ticks()),
            EdmType::Double => {
                let any = f64::from_bits(self.0.next_u64());
                let any = if any.is_nan() { f64::NAN } else { any };
                let edges = [
                    0.0,
                    -0.0,
                    1.0,
                    12.0,
                    1e300,
                    -5e-324,
                    1e15,
                    1e-5,
                    f64::MAX,
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                ];
                Value::Double(if self.0.chance(2) { any } else { self.0.pick(&edges) })
            }
            EdmType::Guid => Value::Guid(uuid::Uuid::from_u64_pair(self.0.next_u64(), self.0.next_u64())),
            EdmType::Int32 => Value::Int32(self.0.pick(&[0, -1, i32::MIN, i32::MAX, self.0.0 as i32])),
            EdmType::Int64 => {
                Value::Int64(self.0.pick(&[0, 1, i64::MIN, i64::MAX, (1 << 53) + 1, -(1 << 53) - 1, self.0.0 as i64]))
            }
            EdmType::String => Value::String(self.text()),
        }
    }

    pub(crate) fn edm(&mut self) -> EdmType {
        self.0.pick(&EdmType::ALL)
    }

    /// Entities of different keys, in key order. Some properties have one type, some any.
    pub(crate) fn entities(&mut self, count: usize, properties: usize) -> Vec<Entity> {
        let mut entities = Vec::with_capacity(count);
        for number in 0..count {
            let key = if self.0.chance(4) {
                Key::new(self.key(), self.key())
            } else {
                Key::new(format!("p{}", number % 7), format!("{number:05}"))
            };
            let mut entity = EntityBuilder::new(key).timestamp(self.ticks());
            for (place, edm) in EdmType::ALL.into_iter().enumerate() {
                if !self.0.chance(3) {
                    entity = entity.property(format!("Of{edm}"), self.value(edm));
                }
                // Names that differ by case alone.
                if place < 2 && !self.0.chance(3) {
                    let edm = self.edm();
                    entity = entity.property(if place == 0 { "id" } else { "ID" }, self.value(edm));
                }
            }
            if self.0.chance(2) {
                let edm = self.edm();
                entity = entity.property("Mixed", self.value(edm));
            }
            if number + 5 > count {
                entity = entity.property("ÉlanLate", self.value(EdmType::String));
            }
            for name in ["value", "items", "type", "odata", "Properties", "tick"] {
                if self.0.chance(6) {
                    let edm = self.edm();
                    entity = entity.property(name, self.value(edm));
                }
            }
            for _ in 0..if properties > 0 { 3 } else { 0 } {
                let at = self.0.below(properties);
                let edm = EdmType::ALL[at % EdmType::ALL.len()];
                let (name, value) = (format!("W{at:04}"), self.value(edm));
                let before = entity.clone();
                entity = entity.property(Arc::<str>::from(name), value);
                if entity.clone().build().is_err() {
                    // The same one twice.
                    entity = before;
                }
            }
            entities.push(entity.build().expect("an entity"));
        }
        entities.sort_by(|a: &Entity, b| a.key.cmp(&b.key));
        entities.dedup_by(|a, b| a.key == b.key);
        entities
    }
}

/// Entities as lines of the service's JSON, written here and not by the product.
pub(crate) fn lines(entities: &[Entity]) -> String {
    let mut text = String::new();
    for entity in entities {
        let mut object = serde_json::Map::new();
        object.insert("PartitionKey".to_owned(), entity.key.partition.clone().into());
        object.insert("RowKey".to_owned(), entity.key.row.clone().into());
        object.insert("Timestamp".to_owned(), entity.timestamp.to_string().into());
        for (name, value) in entity.properties() {
            object.insert(format!("{name}@odata.type"), format!("Edm.{}", value.edm_type()).into());
            object.insert(name.to_owned(), value.to_string().into());
        }
        text.push_str(&serde_json::Value::Object(object).to_string());
        text.push('\n');
    }
    text
}
