//! Generated tables: the same rows for the import of Rowkey and for PostgreSQL.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rowkey::model::{DateTime, EdmType, Value};
use serde_json::{Map, json};
use uuid::Uuid;

use rowkey_base::testing::Dice;

/// What texts are made of: shared beginnings, wildcards, quotes, and characters on both sides of
/// the surrogates, where UTF-16 order differs from the order of UTF-8 bytes.
const PIECES: &[&str] = &[
    "",
    "",
    "0",
    "00",
    "1",
    "a",
    "ab",
    "abc",
    "b",
    "Z",
    "é",
    "\u{d7ff}",
    "\u{e000}",
    "\u{fffd}",
    "\u{10000}",
    "\u{10ffff}",
    "%",
    "_",
    "a%b",
    "'",
    "\"",
    " ",
    "NULL",
];
const TIMES: &[&str] = &[
    "1601-01-01T00:00:00Z",
    "1601-01-01T00:00:00.000001Z",
    "1677-09-21T00:12:43.145224Z",
    "1969-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T12:30:00.1234567Z",
    "2024-02-29T12:30:00.123456Z",
    "2024-03-01T00:00:00Z",
    "2262-04-11T23:47:16.854776Z",
    "9999-12-31T23:59:59.9999999Z",
];
const LONGS: &[i64] = &[
    0,
    1,
    -1,
    20,
    i32::MAX as i64,
    i32::MAX as i64 + 1,
    i32::MIN as i64 - 1,
    (1 << 53) - 1,
    1 << 53,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    i64::MAX - 1,
    i64::MAX,
    i64::MIN + 1,
    i64::MIN,
];

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    One(EdmType),
    /// Int32 in some entities and Int64 in others: a column of Int64.
    Integers,
    /// Int32 in some entities and Double in others: a column of Double.
    Numbers,
}

impl Kind {
    const PROPERTIES: [Kind; 10] = [
        Kind::One(EdmType::Binary),
        Kind::One(EdmType::Boolean),
        Kind::One(EdmType::DateTime),
        Kind::One(EdmType::Double),
        Kind::One(EdmType::Guid),
        Kind::One(EdmType::Int32),
        Kind::One(EdmType::Int64),
        Kind::One(EdmType::String),
        Kind::Integers,
        Kind::Numbers,
    ];

    /// The type that the column has in SQL.
    pub(crate) fn shown(self) -> EdmType {
        match self {
            Kind::One(edm_type) => edm_type,
            Kind::Integers => EdmType::Int64,
            Kind::Numbers => EdmType::Double,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
    /// Values that the column holds, and some more; predicates are made of them as well.
    pub pool: Vec<Value>,
}

impl Column {
    /// Quoted, as a statement names it.
    pub(crate) fn sql(&self) -> String {
        format!("\"{}\"", self.name)
    }

    fn postgres_type(&self) -> &'static str {
        match self.kind.shown() {
            EdmType::Binary => "bytea",
            EdmType::Boolean => "boolean",
            EdmType::DateTime => "timestamptz",
            EdmType::Double => "float8",
            EdmType::Guid => "uuid",
            EdmType::Int32 => "int4",
            EdmType::Int64 => "int8",
            EdmType::String => "text COLLATE \"C\"",
        }
    }
}

/// A table: PartitionKey, RowKey, Timestamp, and properties that entities may lack.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    rows: Vec<Vec<Option<Value>>>,
}

impl Table {
    /// About `entities` of them, with keys from small pools, so that predicates meet them.
    pub(crate) fn generated(name: &str, dice: &mut Dice, entities: usize) -> Self {
        let prefixes = ["".to_owned(), "a".to_owned(), format!("tenant-{}-", "0123456789".repeat(3 + dice.below(12)))];
        let texts = |dice: &mut Dice, count: usize| -> Vec<Value> {
            let some = (0..count).map(|_| {
                let prefix = &prefixes[dice.below(prefixes.len())];
                format!("{prefix}{}{}", dice.pick(PIECES), dice.pick(PIECES))
            });
            std::iter::once(String::new()).chain(some).map(Value::String).collect()
        };
        let (partitions, row_keys) = (8 + dice.below(12), 20 + entities / 8);
        let partitions = texts(dice, partitions);
        let mut row_keys = texts(dice, row_keys.min(200));
        // Counted keys under every beginning: neighbours in one page.
        for at in 0..entities / 4 {
            row_keys.push(Value::String(format!("{}{at:05}", prefixes[at % prefixes.len()])));
        }
        let fixed = |name: &str, kind, pool| Column { name: name.to_owned(), kind, nullable: false, pool };
        let mut columns = vec![
            fixed("PartitionKey", Kind::One(EdmType::String), partitions),
            fixed("RowKey", Kind::One(EdmType::String), row_keys),
            fixed("Timestamp", Kind::One(EdmType::DateTime), pool(EdmType::DateTime, dice, &[])),
        ];
        for kind in Kind::PROPERTIES {
            for _ in 0..1 + dice.below(2) {
                let name = format!("{}{}", dice.pick(&["A", "b", "_c", "Größe", "PartitionKey", "名"]), columns.len());
                let some = texts(dice, 12);
                let pool = pool(kind.shown(), dice, &some);
                columns.push(Column { name, kind, nullable: true, pool });
            }
        }
        let mut rows = BTreeMap::new();
        for at in 0..entities {
            let row: Vec<Option<Value>> = columns.iter().map(|column| value(column, dice, at == 0)).collect();
            rows.insert(format!("{:?}", &row[..2]), row);
        }
        // Import takes them in any order.
        let mut rows: Vec<_> = rows.into_values().collect();
        for at in (1..rows.len()).rev() {
            rows.swap(at, dice.below(at + 1));
        }
        Self { name: name.to_owned(), columns, rows }
    }

    pub(crate) fn entities(&self) -> usize {
        self.rows.len()
    }

    /// As service JSON, an entity a line.
    pub(crate) fn ndjson(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let mut entity = Map::new();
            for (column, value) in self.columns.iter().zip(row) {
                let Some(value) = value else { continue };
                let written = match value {
                    Value::Binary(bytes) => json!(BASE64.encode(bytes)),
                    Value::Boolean(boolean) => json!(boolean),
                    Value::DateTime(at) => json!(at.to_string()),
                    Value::Double(double) if double.is_infinite() => {
                        json!(if *double > 0.0 { "Infinity" } else { "-Infinity" })
                    }
                    Value::Double(double) => json!(double),
                    Value::Guid(guid) => json!(guid.to_string()),
                    Value::Int32(integer) => json!(integer),
                    Value::Int64(integer) => json!(integer.to_string()),
                    Value::String(text) => json!(text),
                };
                if column.nullable {
                    entity.insert(
                        format!("{}@odata.type", column.name),
                        json!(format!("Edm.{}", value.edm_type().name())),
                    );
                }
                entity.insert(column.name.clone(), written);
            }
            writeln!(text, "{}", serde_json::Value::Object(entity)).expect("a String takes everything");
        }
        text
    }

    /// As statements of PostgreSQL.
    pub(crate) fn postgres(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} {}", column.sql(), column.postgres_type())).collect();
        let mut text = format!(
            "CREATE TABLE {} ({}, PRIMARY KEY (\"PartitionKey\", \"RowKey\"));\n",
            self.name,
            columns.join(", ")
        );
        for rows in self.rows.chunks(200) {
            let rows: Vec<String> = rows
                .iter()
                .map(|row| {
                    let values: Vec<String> =
                        row.iter().map(|value| value.as_ref().map_or("NULL".to_owned(), plain)).collect();
                    format!("({})", values.join(", "))
                })
                .collect();
            writeln!(text, "INSERT INTO {} VALUES {};", self.name, rows.join(",\n"))
                .expect("a String takes everything");
        }
        text
    }
}

/// A value as a literal that needs no cast beside a column of its type.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Binary(bytes) => {
            format!("'\\x{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        Value::Boolean(boolean) => boolean.to_string(),
        // What SQL sees of a time: whole microseconds.
        Value::DateTime(at) => format!("'{}'", DateTime::from_micros(at.micros(), 0)),
        Value::Double(double) if double.is_finite() && *double != 0.0 => format!("{double:?}"),
        Value::Double(double) if double.is_infinite() => {
            format!("'{}'::float8", if *double > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Value::Double(double) => format!("'{double:?}'::float8"),
        Value::Guid(guid) => format!("'{guid}'"),
        Value::Int32(integer) => integer.to_string(),
        Value::Int64(integer) => integer.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

fn pool(edm_type: EdmType, dice: &mut Dice, texts: &[Value]) -> Vec<Value> {
    match edm_type {
        EdmType::Binary => [&b""[..], b"\0", b"\0\0", b"\0\x01", b"a", b"ab", b"\x7f", b"\x80", b"\xff\xff"]
            .map(|bytes| Value::Binary(bytes.into()))
            .into(),
        EdmType::Boolean => vec![Value::Boolean(false), Value::Boolean(true)],
        EdmType::DateTime => {
            let times = TIMES.iter().map(|text| DateTime::parse(text).expect("a time"));
            let others = (0..6).map(|_| DateTime::from_micros(1_700_000_000_000_000 + dice.below(1 << 40) as i64, 0));
            times.chain(others).map(Value::DateTime).collect()
        }
        // Quarters, so that sums are exact in any order.
        EdmType::Double => [0.0, 0.25, -0.25, 1.5, 2.0, 7.0, 7.25, -1000.75, 4096.0, f64::INFINITY, f64::NEG_INFINITY]
            .map(Value::Double)
            .into(),
        EdmType::Guid => {
            let fixed = [0, 1, 1 << 127, u128::MAX, 0x0123_4567_89ab_cdef << 64];
            let others =
                (0..4).map(|_| u128::from(dice.next_u64()) << 64 | u128::from(dice.next_u64())).collect::<Vec<_>>();
            fixed.into_iter().chain(others).map(|bits| Value::Guid(Uuid::from_u128(bits))).collect()
        }
        EdmType::Int32 => [i32::MIN, i32::MAX, -7, -1].into_iter().chain(0..20).map(Value::Int32).collect(),
        EdmType::Int64 => LONGS.iter().copied().chain(2..9).map(Value::Int64).collect(),
        EdmType::String => texts.to_vec(),
    }
}

/// A value of the column; none where the entity lacks it.
fn value(column: &Column, dice: &mut Dice, needed: bool) -> Option<Value> {
    if column.nullable && !needed && dice.chance(4) {
        return None;
    }
    let value = column.pool[dice.below(column.pool.len())].clone();
    Some(match (column.kind, value) {
        (Kind::Integers, Value::Int64(integer)) if dice.chance(2) => {
            i32::try_from(integer).map_or(Value::Int64(integer), Value::Int32)
        }
        (Kind::Numbers, Value::Double(double)) if double.fract() == 0.0 && double != 0.0 && dice.chance(2) => {
            Value::Int32(double as i32)
        }
        (_, value) => value,
    })
}
