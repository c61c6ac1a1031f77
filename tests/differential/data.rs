//! Two tables: the same rows for Rowkey's import and for PostgreSQL.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, json};

use rowkey_base::testing::Dice;

/// A column, its type in PostgreSQL, and the texts of values that it may hold.
#[derive(Debug)]
pub(crate) struct Column {
    pub name: &'static str,
    pub sql_type: &'static str,
    edm: &'static str,
    pub pool: &'static [&'static str],
}

const fn column(
    name: &'static str,
    sql_type: &'static str,
    edm: &'static str,
    pool: &'static [&'static str],
) -> Column {
    Column { name, sql_type, edm, pool }
}

/// Properties of both tables. Lower case, so that PostgreSQL finds them without quotes as well.
pub(crate) const COLUMNS: &[Column] = &[
    column("flag", "boolean", "Boolean", &["true", "false"]),
    column("small", "int4", "Int32", &["0", "1", "2", "3", "7", "-1", "-7", "100", "2147483647", "-2147483648"]),
    column(
        "big",
        "int8",
        "Int64",
        &["0", "1", "5", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "20", "3"],
    ),
    column(
        "num",
        "float8",
        "Double",
        &[
            "0",
            "-0",
            "1",
            "0.1",
            "-2.5",
            "1e300",
            "1e-300",
            "NaN",
            "Infinity",
            "-Infinity",
            "123456789.125",
            "3",
            "7.25",
        ],
    ),
    column(
        "txt",
        "text",
        "String",
        &[
            "",
            "a",
            "ab",
            "Abc",
            "ABC",
            "42",
            " x ",
            "é",
            "日本",
            "\u{10000}b",
            "a%b",
            "a_b",
            "it's",
            "2024-01-31",
            "3.50",
            "a,b,c",
        ],
    ),
    column(
        "at",
        "timestamptz",
        "DateTime",
        &[
            "1601-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:00Z",
            "2024-02-29T12:30:45.123456Z",
            "2024-03-31T00:59:59Z",
            "2024-03-31T01:00:00Z",
            "1969-12-31T23:59:59.5Z",
            "2023-11-05T06:30:00Z",
            "1900-06-15T12:00:00Z",
        ],
    ),
    column(
        "guid",
        "uuid",
        "Guid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "01234567-89ab-cdef-0123-456789abcdef",
            "80000000-0000-0000-0000-000000000001",
        ],
    ),
    column("raw", "bytea", "Binary", &["", "00", "61", "6162", "ff00ff", "7f80"]),
];

/// Both, by name, with how many entities.
pub(crate) const TABLES: &[(&str, usize)] = &[("items", 120), ("parts", 25)];

/// Keys are counted: k0, k1, ... in partitions p0 to p4.
pub(crate) fn rows(dice: &mut Dice, entities: usize) -> Vec<Vec<Option<&'static str>>> {
    let row = |at: usize, dice: &mut Dice| {
        COLUMNS
            .iter()
            // The first has every property, so that each has its type.
            .map(|column| (at == 0 || !dice.chance(5)).then(|| dice.pick(column.pool)))
            .collect()
    };
    (0..entities).map(|at| row(at, dice)).collect()
}

fn keys(at: usize) -> (String, String) {
    (format!("p{}", at % 5), format!("k{}", at / 5))
}

const STAMP: &str = "2024-05-05T05:05:05.05";

pub(crate) fn ndjson(rows: &[Vec<Option<&'static str>>]) -> String {
    let mut text = String::new();
    for (at, row) in rows.iter().enumerate() {
        let (partition, key) = keys(at);
        let mut entity = Map::new();
        entity.insert("PartitionKey".into(), json!(partition));
        entity.insert("RowKey".into(), json!(key));
        entity.insert("Timestamp".into(), json!(format!("{STAMP}Z")));
        for (column, value) in COLUMNS.iter().zip(row) {
            let Some(value) = value else { continue };
            let written = match column.edm {
                "Boolean" => json!(*value == "true"),
                "Int32" => json!(value.parse::<i32>().expect("an integer")),
                "Double" if value.parse::<f64>().is_ok_and(f64::is_finite) => {
                    json!(value.parse::<f64>().expect("a number"))
                }
                "Binary" => json!(BASE64.encode(bytes(value))),
                _ => json!(value),
            };
            entity.insert(format!("{}@odata.type", column.name), json!(format!("Edm.{}", column.edm)));
            entity.insert(column.name.to_owned(), written);
        }
        writeln!(text, "{}", serde_json::Value::Object(entity)).expect("a String takes everything");
    }
    text
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("digits"))
        .collect()
}

pub(crate) fn postgres(name: &str, rows: &[Vec<Option<&'static str>>]) -> String {
    // Rowkey's order of columns is that of their names.
    let mut named: Vec<(&str, &str)> = COLUMNS.iter().map(|column| (column.name, column.sql_type)).collect();
    named.sort_unstable();
    let columns: Vec<String> = named.iter().map(|(name, sql_type)| format!("{name} {sql_type}")).collect();
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = format!(
        "CREATE TABLE {name} (\"PartitionKey\" text NOT NULL, \"RowKey\" text NOT NULL, \
         \"Timestamp\" timestamptz NOT NULL, {}, PRIMARY KEY (\"PartitionKey\", \"RowKey\"));",
        columns.join(", ")
    );
    for (at, row) in rows.iter().enumerate() {
        let (partition, key) = keys(at);
        let values: Vec<String> = COLUMNS
            .iter()
            .zip(row)
            .map(|(column, value)| match value {
                None => "NULL".to_owned(),
                Some(value) if column.edm == "Binary" => format!("'\\x{value}'"),
                Some(value) => format!("'{}'", value.replace('\'', "''")),
            })
            .collect();
        write!(text, "INSERT INTO {name} (\"PartitionKey\", \"RowKey\", \"Timestamp\", {}) VALUES ('{partition}', '{key}', '{STAMP}Z', {});", names.join(", "), values.join(", "))
            .expect("a String takes everything");
    }
    text
}
