//! How much there is, and how to print it.

use datafusion::common::Result;

use super::datum::{Datum, Returns};
use super::function::{Call, Definition};
use super::registered::class;
use crate::functions::error::{SqlState, fail};

pub(super) static FUNCTIONS: &[Definition] = &[
    Definition::volatile("pg_relation_size", (1, 2), Returns::Int8, main_size),
    Definition::volatile("pg_table_size", (1, 1), Returns::Int8, relation_size),
    Definition::volatile("pg_total_relation_size", (1, 1), Returns::Int8, relation_size),
    // The key has no files of its own: tables are in its order.
    Definition::volatile("pg_indexes_size", (1, 1), Returns::Int8, |_| Ok(Datum::Int(0))),
    Definition::volatile("pg_database_size", (1, 1), Returns::Int8, database_size),
    Definition::volatile("pg_tablespace_size", (1, 1), Returns::Int8, |call| {
        Ok(call.context()?.database_bytes(None).map_or(Datum::Null, |bytes| Datum::Int(bytes.cast_signed())))
    }),
    Definition::stable("pg_tablespace_location", (1, 1), Returns::Text, |_| Ok("".into())),
    Definition::stable("pg_relation_filenode", (1, 1), Returns::Oid("oid"), |_| Ok(Datum::Null)),
    Definition::stable("pg_relation_filepath", (1, 1), Returns::Text, |_| Ok(Datum::Null)),
    Definition::immutable("pg_size_pretty", (1, 1), Returns::Text, |call| Ok(pretty(call.int(0)?).into())),
    Definition::stable("pg_stat_get_numscans", (1, 1), Returns::Int8, |_| Ok(Datum::Int(0))),
    Definition::stable("pg_stat_get_live_tuples", (1, 1), Returns::Int8, |_| Ok(Datum::Int(0))),
    Definition::stable("pg_stat_get_dead_tuples", (1, 1), Returns::Int8, |_| Ok(Datum::Int(0))),
];

fn relation_size(call: &Call) -> Result<Datum> {
    let context = call.context()?;
    let oid = match call.get(0) {
        Datum::Text(name) if !name.bytes().all(|byte| byte.is_ascii_digit()) => class(context, name)?,
        _ => call.oid(0)?,
    };
    Ok(context.relation(oid).map_or(Datum::Null, |relation| Datum::Int(relation.bytes.cast_signed())))
}

/// Only the main fork has bytes.
fn main_size(call: &Call) -> Result<Datum> {
    match call.text(1).as_deref() {
        None | Some("main") => relation_size(call),
        Some("fsm" | "vm" | "init") => Ok(Datum::Int(0)),
        Some(_) => fail(SqlState::INVALID_PARAMETER_VALUE, "invalid fork name"),
    }
}

fn database_size(call: &Call) -> Result<Datum> {
    let context = call.context()?;
    let name = match call.get(0) {
        Datum::Text(name) => Some(name.clone()),
        _ => context.database_name(call.oid(0)?),
    };
    let Some(name) = name else { return Ok(Datum::Null) };
    match context.database_bytes(Some(&name)) {
        Some(bytes) => Ok(Datum::Int(bytes.cast_signed())),
        None => {
            let message = format!("database \"{name}\" does not exist");
            fail(SqlState::UNDEFINED_DATABASE, message)
        }
    }
}

/// Each unit up to 10 times 1024 of the one before, halves rounded away from zero.
fn pretty(bytes: i64) -> String {
    const UNITS: &[&str] = &["bytes", "kB", "MB", "GB", "TB", "PB"];
    const SWITCH: i128 = 10 * 1024;
    let mut value = i128::from(bytes);
    let mut unit = 0;
    let mut halves = false;
    // From the second unit on one bit more is kept, for rounding.
    while unit + 1 < UNITS.len() {
        let limit = if halves { 2 * SWITCH - 1 } else { SWITCH };
        if value.abs() < limit {
            break;
        }
        value /= if halves { 1024 } else { 512 };
        halves = true;
        unit += 1;
    }
    if halves {
        value = (value + value.signum()) / 2;
    }
    format!("{value} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::pretty;

    /// As PostgreSQL 15 answers.
    #[test]
    fn sizes_are_printed_as_postgresql_prints_them() {
        for (bytes, text) in RECORDED {
            assert_eq!(pretty(*bytes), *text, "{bytes}");
        }
    }

    const RECORDED: &[(i64, &str)] = &[
        (0, "0 bytes"),
        (1, "1 bytes"),
        (10239, "10239 bytes"),
        (10240, "10 kB"),
        (10241, "10 kB"),
        (10751, "10 kB"),
        (10752, "11 kB"),
        (20000, "20 kB"),
        (1048575, "1024 kB"),
        (1048576, "1024 kB"),
        (10485759, "10 MB"),
        (10485760, "10 MB"),
        (10485247, "10239 kB"),
        (10485248, "10 MB"),
        (10737418239, "10 GB"),
        (10737418240, "10 GB"),
        (-1, "-1 bytes"),
        (-10240, "-10 kB"),
        (-10752, "-11 kB"),
        (-20000, "-20 kB"),
        (123456789012, "115 GB"),
        (9223372036854775807, "8192 PB"),
        (-9223372036854775807, "-8192 PB"),
    ];
}
