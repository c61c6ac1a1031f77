//! Who is asking, what the server is, and its settings.

use datafusion::common::Result;

use super::datum::{Datum, Returns};
use super::function::{Call, Definition};
use crate::functions::error::{Error, SqlState, fail};

pub(super) static FUNCTIONS: &[Definition] =
    &[
        Definition::stable("version", (0, 0), Returns::Text, |call| Ok(call.context()?.version_text().into())),
        Definition::stable("current_database", (0, 0), NAME, |call| Ok(call.context()?.database().into())),
        Definition::stable("current_catalog", (0, 0), NAME, |call| Ok(call.context()?.database().into())),
        Definition::stable("current_user", (0, 0), NAME, |call| Ok(call.context()?.user().into())),
        Definition::stable("session_user", (0, 0), NAME, |call| Ok(call.context()?.user().into())),
        Definition::stable("user", (0, 0), NAME, |call| Ok(call.context()?.user().into())),
        Definition::stable("current_role", (0, 0), NAME, |call| Ok(call.context()?.user().into())),
        Definition::stable("current_schema", (0, 0), NAME, |call| {
            Ok(call.context()?.search_path(false).into_iter().next().into())
        }),
        Definition::stable("current_schemas", (1, 1), Returns::Texts("_name"), |call| {
            let schemas = call.context()?.search_path(call.flag(0)?);
            Ok(Datum::List(schemas.into_iter().map(Datum::from).collect()))
        }),
        // Not known before the statement runs: `set_config` may stand before it.
        Definition::volatile("current_setting", (1, 2), Returns::Text, current_setting),
        Definition::volatile("set_config", (3, 3), Returns::Text, set_config).with_nulls(),
        Definition::stable("pg_backend_pid", (0, 0), Returns::Int4, |call| {
            Ok(Datum::Int(call.context()?.backend_pid().into()))
        }),
        Definition::volatile("pg_cancel_backend", (1, 1), Returns::Bool, |call| {
            Ok(call.context()?.cancel_backend(pid(call)?).into())
        }),
        Definition::volatile("pg_terminate_backend", (1, 2), Returns::Bool, |call| {
            Ok(call.context()?.terminate_backend(pid(call)?).into())
        }),
        Definition::volatile("pg_stat_statements_reset", (0, 3), Returns::Void, reset_statements),
        Definition::stable("pg_blocking_pids", (1, 1), Returns::Int4s, |_| Ok(Datum::List(Vec::new()))),
        Definition::volatile("pg_is_in_recovery", (0, 0), Returns::Bool, |_| Ok(false.into())),
        Definition::volatile("pg_is_wal_replay_paused", (0, 0), Returns::Bool, |_| {
            let message = "recovery is not in progress";
            fail(SqlState::CANT_CHANGE_RUNTIME_PARAM, message)
        }),
        Definition::stable("pg_postmaster_start_time", (0, 0), Returns::Timestamptz, |call| {
            Ok(call.context()?.started_micros().into())
        }),
        Definition::stable("pg_conf_load_time", (0, 0), Returns::Timestamptz, |call| {
            Ok(call.context()?.configured_micros().into())
        }),
        Definition::stable("txid_current", (0, 0), Returns::Int8, transaction_id),
        Definition::stable("pg_current_xact_id", (0, 0), Returns::Int8, transaction_id),
        Definition::stable("txid_current_if_assigned", (0, 0), Returns::Int8, |_| Ok(Datum::Null)),
        Definition::stable("pg_my_temp_schema", (0, 0), Returns::Oid("oid"), |_| Ok(0u32.into())),
        Definition::stable("pg_is_other_temp_schema", (1, 1), Returns::Bool, |_| Ok(false.into())),
        Definition::volatile("pg_advisory_unlock_all", (0, 0), Returns::Void, |_| Ok("".into())),
        Definition::stable("inet_client_addr", (0, 0), Returns::Named("inet"), |_| Ok(Datum::Null)),
        Definition::stable("inet_server_addr", (0, 0), Returns::Named("inet"), |_| Ok(Datum::Null)),
        Definition::stable("getdatabaseencoding", (0, 0), NAME, |_| Ok("UTF8".into())),
        Definition::stable("pg_client_encoding", (0, 0), NAME, |_| Ok("UTF8".into())),
        Definition::stable("pg_encoding_to_char", (1, 1), NAME, |call| Ok(encoding_name(call.int(0)?).into())),
        Definition::stable("pg_char_to_encoding", (1, 1), Returns::Int4, |call| {
            Ok(encoding_number(&call.string(0)).into())
        }),
        Definition::stable("pg_encoding_max_length", (1, 1), Returns::Int4, |call| {
            Ok(if call.int(0)? == UTF8 { Datum::Int(4) } else { Datum::Null })
        }),
        Definition::stable("pg_jit_available", (0, 0), Returns::Bool, |_| Ok(false.into())),
    ];

const NAME: Returns = Returns::Named("name");

fn pid(call: &Call) -> Result<i32> {
    let pid = call.int(0)?;
    i32::try_from(pid).map_err(|_| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range").into())
}

fn reset_statements(call: &Call) -> Result<Datum> {
    for argument in 0..call.len() {
        if call.int(argument)? != 0 {
            return fail(
                SqlState::FEATURE_NOT_SUPPORTED,
                "pg_stat_statements_reset of one user, database or query is not supported",
            );
        }
    }
    call.context()?.reset_statements();
    Ok("".into())
}

fn transaction_id(call: &Call) -> Result<Datum> {
    Ok(Datum::Int(call.context()?.transaction_id().cast_signed()))
}

fn current_setting(call: &Call) -> Result<Datum> {
    let name = call.string(0);
    match call.context()?.setting(&name) {
        Some(value) => Ok(value.into()),
        None if call.flag(1)? => Ok(Datum::Null),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            fail(SqlState::UNDEFINED_OBJECT, message)
        }
    }
}

fn set_config(call: &Call) -> Result<Datum> {
    let Some(name) = call.text(0) else {
        return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name");
    };
    let value = call.text(1).unwrap_or_default();
    Ok(call.context()?.set_setting(&name, &value, call.flag(2)?)?.into())
}

const SQL_ASCII: i64 = 0;
const UTF8: i64 = 6;
const LATIN1: i64 = 8;

fn encoding_name(number: i64) -> &'static str {
    match number {
        SQL_ASCII => "SQL_ASCII",
        UTF8 => "UTF8",
        LATIN1 => "LATIN1",
        _ => "",
    }
}

fn encoding_number(name: &str) -> i64 {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match letters.to_ascii_lowercase().as_str() {
        "sqlascii" => SQL_ASCII,
        "utf8" | "unicode" => UTF8,
        "latin1" | "iso88591" => LATIN1,
        _ => -1,
    }
}
