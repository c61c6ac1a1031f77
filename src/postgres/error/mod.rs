//! Errors of DataFusion as the public error.
//!
//! Errors of DataFusion, Arrow, Parquet and the SQL parser enter here and nowhere else: the orphan
//! rule allows no `From` for them. Our own travel through DataFusion as external ones.

mod postgres_messages;
mod unsupported_messages;

use std::io::ErrorKind;

use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use datafusion::parquet::errors::ParquetError;

use crate::suggestion::suggestion;
use crate::types;
pub use postgres_messages::at_function;
use postgres_messages::{reworded, with_usual_hint};
use rowkey_base::{Error, SqlState};
use unsupported_messages::unsupported;

/// Our own error, to travel through DataFusion.
pub fn external(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

/// The public error of one of DataFusion. Our own errors, which travel through it as external ones,
/// are unwrapped; known messages become PostgreSQL's.
pub fn from_datafusion(error: DataFusionError) -> Error {
    if let Some(error) = of_filter(&error.to_string()) {
        return error;
    }
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => from_datafusion(*inner),
        // Joins share the errors of what they build, each that of the one below it.
        DataFusionError::Shared(shared) => match shared.find_root() {
            DataFusionError::External(inner) => of_foreign(inner.as_ref()),
            DataFusionError::ResourcesExhausted(message) => exhausted(message),
            DataFusionError::IoError(error) => spilling(error),
            other => own(other).unwrap_or_else(|| of_message(other)),
        },
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => from_datafusion(first),
            None => Error::new(SqlState::INTERNAL_ERROR, "an error without a message"),
        },
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => match inner.downcast::<DataFusionError>() {
                Ok(inner) => from_datafusion(*inner),
                Err(inner) => of_foreign(inner.as_ref()),
            },
        },
        DataFusionError::ParquetError(inner) => match *inner {
            ParquetError::External(inner) => from_datafusion(DataFusionError::External(inner)),
            inner => Error::new(SqlState::DATA_CORRUPTED, format!("a Parquet file cannot be read: {inner}")),
        },
        DataFusionError::ArrowError(inner, trace) => match *inner {
            ArrowError::ExternalError(inner) => from_datafusion(DataFusionError::External(inner)),
            ArrowError::IoError(_, error) => spilling(&error),
            inner => of_message(&DataFusionError::ArrowError(Box::new(inner), trace)),
        },
        DataFusionError::IoError(error) => spilling(&error),
        DataFusionError::SchemaError(error, _) => from_schema(*error),
        DataFusionError::ResourcesExhausted(message) => exhausted(&message),
        error => of_message(&error),
    }
}

/// Of what is no error of DataFusion.
fn of_foreign(error: &(dyn std::error::Error + 'static)) -> Error {
    let reworded = || reworded(&error.to_string());
    own(error).or_else(reworded).unwrap_or_else(|| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))
}

/// DataFusion tells which operators of all statements have how much of the memory. That is not for
/// clients.
fn exhausted(message: &str) -> Error {
    let wanted = message.rsplit_once("Failed to allocate additional ").map(|(_, wanted)| wanted);
    let wanted = wanted.and_then(|wanted| wanted.split_once(" for ")).map(|(size, _)| size);
    let message = match wanted {
        Some(size) => format!("out of memory for queries: {size} more are not available"),
        None if message.contains("consumers") => "out of memory for queries".to_owned(),
        None => format!("out of memory for queries: {message}"),
    };
    Error::new(SqlState::OUT_OF_MEMORY, message).with_hint("ask for fewer rows or columns, or allow more memory")
}

/// DataFusion itself opens no files but those that it spills to. Where they lie is not for clients,
/// and the texts of what is no plain error of the system may tell it.
fn spilling(error: &std::io::Error) -> Error {
    let sqlstate = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    };
    let reason = match error.raw_os_error() {
        Some(_) => error.to_string(),
        None => error.kind().to_string(),
    };
    Error::new(sqlstate, format!("rows that exceed the memory of queries cannot be kept in temporary files: {reason}"))
}

/// The first error of ours in a chain of sources.
fn own(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(value) = error.downcast_ref::<types::Error>() {
            return Some(with_usual_hint(value.clone().into()));
        }
        if let Some(regex) = error.downcast_ref::<regex::Error>() {
            let reason = regex.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            return Some(Error::new(
                SqlState::INVALID_REGULAR_EXPRESSION,
                format!("invalid regular expression: {reason}"),
            ));
        }
        if let Some(own) = error.downcast_ref::<Error>() {
            return Some(own.copied());
        }
        next = error.source();
    }
    None
}

fn sqlstate_of(error: &DataFusionError) -> SqlState {
    match error {
        DataFusionError::NotImplemented(_) => SqlState::FEATURE_NOT_SUPPORTED,
        DataFusionError::Internal(_) => SqlState::INTERNAL_ERROR,
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => SqlState::IO_ERROR,
        DataFusionError::ResourcesExhausted(_) => SqlState::OUT_OF_MEMORY,
        _ => SqlState::INVALID_STATEMENT,
    }
}

/// A filter that fails inside a scan comes back as the debug form of its error, in a text.
fn of_filter(message: &str) -> Option<Error> {
    let (_, debug) = message.split_once("Error evaluating filter predicate: ")?;
    if let Some(text) = debug.strip_prefix("Execution(\"") {
        // An error of DataFusion itself.
        let text = text.rsplit_once("\")").map_or(text, |(text, _)| text).replace("\\\"", "\"");
        return Some(Error::new(SqlState::INVALID_STATEMENT, text));
    }
    let (_, debug) = debug.split_once("SqlState(")?;
    let (code, debug) = debug.split_once("), message: \"")?;
    let text = debug.rsplit_once("\" }").map_or(debug, |(text, _)| text);
    // The fields after the message are empty in such errors.
    let text = text.split_once("\", detail: ").map_or(text, |(text, _)| text).replace("\\\"", "\"");
    Some(Error::new(SqlState::from_code(code).unwrap_or(SqlState::INTERNAL_ERROR), text))
}

/// The message without DataFusion's own prefixes.
fn message_of(error: &DataFusionError) -> String {
    let message = error.message();
    let line = message.lines().next().unwrap_or_default().trim();
    line.strip_prefix("External: ").unwrap_or(line).to_owned()
}

fn of_message(error: &DataFusionError) -> Error {
    let message = error.to_string();
    reworded(&message)
        .or_else(|| unsupported(&message))
        .unwrap_or_else(|| Error::new(sqlstate_of(error), message_of(error)))
}

fn from_schema(error: SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let candidates: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
            let error = Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{}\" does not exist", field.name));
            match suggestion(&field.name, &candidates) {
                Some(found) => {
                    error.with_hint(format!("there is a column \"{found}\" (names with capitals need double quotes)"))
                }
                None => error,
            }
        }
        SchemaError::AmbiguousReference { field } => {
            Error::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{}\" is ambiguous", field.name))
        }
        other => Error::new(SqlState::INVALID_STATEMENT, other.to_string()),
    }
}

/// `42P01`, with the most similar of the candidates as a hint.
pub fn no_such_table(name: &str, candidates: &[&str]) -> Error {
    let error = Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"));
    match suggestion(name, candidates) {
        Some(found) => error.with_hint(format!("there is a table \"{found}\"")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_temporary_files_do_not_tell_where_they_lie() {
        let named = std::io::Error::new(ErrorKind::StorageFull, "no space left at path \"/secret/tmp\"");
        let system = || std::io::Error::from_raw_os_error(13);
        let arrow = ArrowError::IoError("cannot write /secret/tmp".to_owned(), system());
        for (error, sqlstate) in [
            (DataFusionError::IoError(named), SqlState::DISK_FULL),
            (DataFusionError::IoError(system()).context("/secret/tmp"), SqlState::IO_ERROR),
            (DataFusionError::Shared(DataFusionError::IoError(system()).into()), SqlState::IO_ERROR),
            (DataFusionError::ArrowError(Box::new(arrow), None), SqlState::IO_ERROR),
        ] {
            let error = from_datafusion(error);
            assert_eq!(error.sqlstate(), sqlstate, "{error}");
            assert!(error.to_string().contains("temporary files") && !error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn errors_of_memory_name_no_consumers() {
        let told = "Additional allocation failed for AggregateStream[0] with top memory consumers (across reservations) \
                    as:\n  AggregateStream[0]#383(can spill: false) consumed 1.0 MB, peak 2.0 MB.\nError: Failed to \
                    allocate additional 12.5 MB for AggregateStream[0] with 1.0 MB already allocated for this \
                    reservation - 3.0 MB remain available for the total memory pool: greedy(used: 1.0 MB)";
        let plain = || DataFusionError::ResourcesExhausted(told.to_owned());
        let shared = || DataFusionError::Shared(plain().into());
        for error in [
            plain(),
            shared(),
            DataFusionError::Shared(shared().into()),
            DataFusionError::Shared(shared().context("a build side").into()),
            DataFusionError::External(Box::new(shared())),
            DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(shared()))), None),
        ] {
            let error = from_datafusion(error);
            assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY);
            assert_eq!(error.to_string(), "out of memory for queries: 12.5 MB more are not available");
        }
    }

    #[test]
    fn errors_that_are_shared_are_ours_still() {
        let ours = || Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range");
        let arrow = DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(ours()))), None);
        let error = from_datafusion(DataFusionError::Shared(arrow.into()));
        assert_eq!((error.sqlstate(), error.to_string()), (ours().sqlstate(), ours().to_string()));
    }

    #[test]
    fn errors_of_filters_are_read_from_their_debug_form() {
        let told = |debug: &str| {
            let error =
                from_datafusion(DataFusionError::Execution(format!("Error evaluating filter predicate: {debug}")));
            (error.sqlstate(), error.to_string())
        };
        let external = |error: &dyn std::fmt::Debug| told(&format!("External({error:?})"));
        let message = "invalid input syntax for type integer: \"a\"";
        let state = SqlState::INVALID_TEXT_REPRESENTATION;
        let expected = (state, message.to_owned());
        assert_eq!(external(&types::Error::new(state, message)), expected);
        let stopped = Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request");
        assert_eq!(external(&stopped), (SqlState::QUERY_CANCELED, stopped.to_string()));
        let hinted = Error::new(state, message).with_hint("a hint");
        assert_eq!(external(&hinted), expected);
        let own = "Execution(\"a \\\"quoted\\\" text\")";
        assert_eq!(told(own), (SqlState::INVALID_STATEMENT, "a \"quoted\" text".to_owned()));
    }
}
