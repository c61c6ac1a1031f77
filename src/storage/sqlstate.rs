//! The public error of each error of storage.

use rowkey_base::SqlState;
use rowkey_model::files;
use rowkey_model::rows;

use crate::error::Error;
use crate::log::Error as LogError;
use crate::operation::Refusal;

impl From<Error> for rowkey_base::Error {
    fn from(error: Error) -> Self {
        let sqlstate = match &error {
            Error::Files(error) => error.sqlstate(),
            Error::Rows(rows::Error::Files(error)) => error.sqlstate(),
            Error::Rows(rows::Error::Corrupt { .. }) | Error::Corrupt { .. } => SqlState::DATA_CORRUPTED,
            Error::Log(error) => log_sqlstate(error),
            Error::NoSuchTable(_) => SqlState::UNDEFINED_TABLE,
            Error::LogLost { .. } => SqlState::DATA_CORRUPTED,
            Error::NoDataFolder { .. } => SqlState::UNDEFINED_OBJECT,
            Error::InDataFolder { .. } => SqlState::INSUFFICIENT_PRIVILEGE,
            Error::Busy(_) | Error::Conflict(_) => SqlState::SERIALIZATION_FAILURE,
            Error::Rejected(_) | Error::RejectedAt { .. } => SqlState::CHECK_VIOLATION,
            Error::Refused { refusal, .. } => match refusal {
                Refusal::Exists => SqlState::UNIQUE_VIOLATION,
                Refusal::Missing => SqlState::NO_DATA_FOUND,
                Refusal::EtagDiffers { .. } => SqlState::PRECONDITION_FAILED,
                Refusal::Changed => SqlState::SERIALIZATION_FAILURE,
            },
            Error::TransactionTooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Error::FoldFails { no_space: true, .. } => SqlState::DISK_FULL,
            Error::FoldFails { .. } => SqlState::OUT_OF_MEMORY,
            Error::Closing => SqlState::ADMIN_SHUTDOWN,
            Error::ReadOnly => SqlState::READ_ONLY_SQL_TRANSACTION,
        };
        let operation = match &error {
            Error::Refused { index, .. } | Error::RejectedAt { index, .. } => Some(*index),
            _ => None,
        };
        let hint = match &error {
            Error::LogLost { location, table, folder, .. } => Some(format!(
                "the list of tables and files was in log/ and checkpoint/: put these back from a copy; without one, read the files of each \
                 table into a new data folder, rowkey import --data NEW --table {table} {location}/{folder}: writes that were in the log \
                 alone are lost then, and deleted entities may be back"
            )),
            Error::Log(LogError::CheckpointMissing { .. }) => Some(
                "nothing was changed, and a repair changes nothing either: the list of tables and files was in that checkpoint. Put \
                 checkpoint/ and log/ back from a copy of the data folder; without one, read the files of each table into a new data \
                 folder, rowkey import --data NEW --table TABLE tables/ACCOUNT/TABLE.NUMBER: writes that were in the log alone are \
                 lost then, and deleted entities may be back"
                    .to_owned(),
            ),
            Error::InDataFolder { .. } => Some("name a path outside the data folder".to_owned()),
            _ => None,
        };
        // What broke a rule of the data model is told to every door.
        let mut public = match error {
            Error::Rejected(rejected) | Error::RejectedAt { rejected, .. } => Self::from(rejected),
            // It knows how to ask the owner.
            Error::Files(owned @ files::Error::Owned { .. }) => Self::from(owned),
            error => Self::new(sqlstate, error.to_string()).with_source(error),
        };
        if let Some(index) = operation {
            public = public.at_operation(index);
        }
        match hint {
            Some(hint) => public.with_hint(hint),
            None => public,
        }
    }
}

fn log_sqlstate(error: &LogError) -> SqlState {
    match error {
        LogError::Files(error) => error.sqlstate(),
        LogError::Corrupt { .. } | LogError::CheckpointMissing { .. } => SqlState::DATA_CORRUPTED,
        LogError::OutcomeUnknown { .. } => SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
        LogError::Poisoned { .. } => SqlState::IO_ERROR,
        LogError::NoSegment { cause } => cause.sqlstate(),
        _ => SqlState::INTERNAL_ERROR,
    }
}
