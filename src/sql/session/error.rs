//! The public error.

use std::fmt;

use datafusion::common::{DataFusionError, SchemaError};

use super::engine_words::reworded;
use super::names::{NameError, NameErrorKind};
use super::position::Source;
use rowkey_model::files;
use rowkey_model::{Rejected, TypedError};
use rowkey_postgres::functions;
use rowkey_postgres::functions::system::{FunctionError, FunctionErrorKind};
use rowkey_postgres::types;

/// Result of everything public.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of trouble it is, by what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    // Correct the statement.
    /// The text is not a statement.
    Syntax,
    /// The statement or an argument is wrong.
    Invalid,
    /// Operands or columns have types that do not go together.
    TypeMismatch,
    /// A column is neither grouped nor aggregated.
    Grouping,
    /// A subquery that stands for one value has several rows.
    Cardinality,

    // Correct a name.
    /// Something named does not exist; the kinds below say what.
    NotFound,
    UnknownTable,
    UnknownSchema,
    UnknownDatabase,
    UnknownColumn,
    AmbiguousColumn,
    AmbiguousAlias,
    DuplicateAlias,
    DuplicateColumn,
    /// A position or a list of columns that does not fit what it refers to.
    InvalidColumnReference,
    InvalidRecursion,
    /// Too deep or too long to be planned.
    TooComplex,
    UnknownFunction,
    AmbiguousFunction,
    /// A function of windows where there is none.
    WrongFunctionKind,
    InvalidName,
    /// A type, a setting or a role.
    UnknownObject,
    UnknownCursor,
    UnknownStatement,
    UnknownSavepoint,
    UnknownParameter,
    DuplicateTable,
    DuplicateCursor,
    DuplicateStatement,
    /// Other objects are built on it.
    DependentObjects,

    // Change a value.
    /// A value breaks a rule or a limit of the data model.
    Rejected,
    /// A text that is no value of the type.
    InvalidText,
    InvalidBinary,
    InvalidEncoding,
    InvalidDateTime,
    DateTimeOutOfRange,
    ZoneDisplacement,
    IntervalOutOfRange,
    OutOfRange,
    DivisionByZero,
    InvalidRegex,
    InvalidEscape,
    InvalidLogarithm,
    InvalidPower,
    InvalidSubstring,
    /// LIMIT or OFFSET is negative.
    InvalidLimit,
    InvalidOffset,
    /// A character that another encoding does not have.
    Untranslatable,
    SubscriptOutOfRange,
    /// A value that would be too long.
    TooLarge,
    NullNotAllowed,
    /// What comes in by COPY is not in its format.
    BadCopy,
    /// A key column without a value.
    NotNull,
    /// A column that the server keeps is given a value.
    GeneratedColumn,
    /// There is no such cast.
    CannotCoerce,
    InvalidParameter,

    // Look at the entity again.
    /// An entity of this key is there already.
    DuplicateKey,
    /// There is no entity of this key.
    MissingEntity,
    /// The entity has another ETag than the caller named.
    ConditionFailed,

    // Mind the transaction.
    /// Somebody else was first: look again and retry.
    Conflict,
    FailedTransaction,
    ReadOnlyTransaction,
    NoActiveTransaction,
    ActiveTransaction,
    /// A cursor cannot go that way, a statement not there.
    WrongState,
    /// The setting tells a fact.
    CannotChange,

    /// This version does not do that: ask in another way.
    Unsupported,
    /// The result of a prepared statement would have other columns now: prepare it again.
    ResultChanged,
    /// The client broke the rules of the protocol.
    Protocol,
    /// The session may not do that.
    NotAllowed,
    /// Stopped because somebody asked for it, or by `statement_timeout`.
    Cancelled,
    ShuttingDown,
    /// A session did nothing for too long.
    IdleSession,
    IdleTransaction,
    TooManyConnections,
    /// Memory ran out, or a limit was met: ask for less, or allow more.
    Exhausted,
    /// The disk, or a quota of it, is full: make room and try again.
    DiskFull,
    /// The data cannot be reached now: mend the cause and retry.
    Unavailable,
    /// A file is damaged: restore it. What does not need it still works.
    Corrupt,
    /// A write may or may not have happened: reopen to find out.
    OutcomeUnknown,
    /// A fault of this program: report it.
    Internal,
    /// No trouble: something worth knowing.
    Notice,
}

/// An error with its kind, a message that names the culprit, and perhaps a hint.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    // Short forms, so that errors stay small.
    detail: Option<Box<str>>,
    hint: Option<Box<str>>,
    context: Option<Box<str>>,
    position: Option<usize>,
    /// Few, so that errors stay small.
    operation: Option<u32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            operation: None,
            source: None,
        }
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into());
        self
    }

    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into().into());
        self
    }

    /// Says what was being done, in the words of PostgreSQL's CONTEXT.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into().into());
        self
    }

    /// Says where in the statement the trouble is: a character, counted from 1.
    pub fn at(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same in a longer text, with so many characters before.
    pub fn moved(mut self, characters: usize) -> Self {
        self.position = self.position.map(|position| position + characters);
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// More about what happened, as a sentence.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What was being done.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The character of the statement that it is about, counted from 1.
    pub fn position(&self) -> Option<usize> {
        self.position
    }

    /// Says which of several operations it is about, from 0.
    pub fn at_operation(mut self, index: usize) -> Self {
        self.operation = u32::try_from(index).ok();
        self
    }

    /// Of an entity group transaction, the operation that failed, from 0.
    pub fn operation(&self) -> Option<usize> {
        self.operation.map(|index| index as usize)
    }

    /// What may help, as a sentence.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<rowkey_storage::Error> for Error {
    fn from(error: rowkey_storage::Error) -> Self {
        let kind = match &error {
            rowkey_storage::Error::Files(error) => files_kind(error),
            rowkey_storage::Error::Rows(rowkey_model::rows::Error::Files(error)) => files_kind(error),
            rowkey_storage::Error::Rows(rowkey_model::rows::Error::Corrupt { .. })
            | rowkey_storage::Error::Corrupt { .. } => ErrorKind::Corrupt,
            rowkey_storage::Error::Log(error) => log_kind(error),
            rowkey_storage::Error::NoSuchTable(_) => ErrorKind::UnknownTable,
            rowkey_storage::Error::LogLost { .. } => ErrorKind::Corrupt,
            rowkey_storage::Error::NoDataFolder { .. } => ErrorKind::NotFound,
            rowkey_storage::Error::InDataFolder { .. } => ErrorKind::NotAllowed,
            rowkey_storage::Error::TableExists(_)
            | rowkey_storage::Error::Busy(_)
            | rowkey_storage::Error::Conflict(_) => ErrorKind::Conflict,
            rowkey_storage::Error::Rejected(_) | rowkey_storage::Error::RejectedAt { .. } => ErrorKind::Rejected,
            rowkey_storage::Error::Refused { refusal, .. } => match refusal {
                rowkey_storage::Refusal::Exists => ErrorKind::DuplicateKey,
                rowkey_storage::Refusal::Missing => ErrorKind::MissingEntity,
                rowkey_storage::Refusal::EtagDiffers { .. } => ErrorKind::ConditionFailed,
                rowkey_storage::Refusal::Changed => ErrorKind::Conflict,
            },
            rowkey_storage::Error::TransactionTooLarge { .. } => ErrorKind::TooLarge,
            rowkey_storage::Error::FoldFails { no_space: true, .. } => ErrorKind::DiskFull,
            rowkey_storage::Error::FoldFails { .. } => ErrorKind::Exhausted,
            rowkey_storage::Error::Closing => ErrorKind::ShuttingDown,
            rowkey_storage::Error::ReadOnly { .. } => ErrorKind::Unsupported,
        };
        let operation = match &error {
            rowkey_storage::Error::Refused { index, .. } | rowkey_storage::Error::RejectedAt { index, .. } => {
                u32::try_from(*index).ok()
            }
            _ => None,
        };
        let hint = match &error {
            rowkey_storage::Error::LogLost { location, table, folder, .. } => Some(format!(
                "the list of tables and files was in log/ and checkpoint/: put these back from a copy; without one, read the files of each \
                 table into a new data folder, rowkey import --data NEW --table {table} {location}/{folder}: writes that were in the log \
                 alone are lost then, and deleted entities may be back"
            )),
            rowkey_storage::Error::Log(rowkey_storage::LogError::CheckpointMissing { .. }) => Some(
                "nothing was changed, and a repair changes nothing either: the list of tables and files was in that checkpoint. Put \
                 checkpoint/ and log/ back from a copy of the data folder; without one, read the files of each table into a new data \
                 folder, rowkey import --data NEW --table TABLE tables/ACCOUNT/TABLE.NUMBER: writes that were in the log alone are \
                 lost then, and deleted entities may be back"
                    .to_owned(),
            ),
            rowkey_storage::Error::InDataFolder { .. } => Some("name a path outside the data folder".to_owned()),
            _ => None,
        };
        let told = Self { operation, ..Self::new(kind, error.to_string()).with_source(error) };
        match hint {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}

fn log_kind(error: &rowkey_storage::LogError) -> ErrorKind {
    match error {
        rowkey_storage::LogError::Files(error) => files_kind(error),
        rowkey_storage::LogError::Corrupt { .. } | rowkey_storage::LogError::CheckpointMissing { .. } => {
            ErrorKind::Corrupt
        }
        rowkey_storage::LogError::OutcomeUnknown { .. } => ErrorKind::OutcomeUnknown,
        rowkey_storage::LogError::Poisoned { .. } => ErrorKind::Unavailable,
        rowkey_storage::LogError::NoSegment { cause } => files_kind(cause),
        _ => ErrorKind::Internal,
    }
}

fn files_kind(error: &files::Error) -> ErrorKind {
    match error {
        files::Error::NoSpace { .. } => ErrorKind::DiskFull,
        files::Error::ShortRead { .. } => ErrorKind::Corrupt,
        files::Error::Unsupported { .. } => ErrorKind::Unsupported,
        files::Error::BadPath { .. } => ErrorKind::Invalid,
        files::Error::NotFound { .. }
        | files::Error::AlreadyExists { .. }
        | files::Error::Owned { .. }
        | files::Error::Replaced { .. }
        | files::Error::ReadOnly { .. }
        | files::Error::Io { .. }
        | files::Error::Stopped { .. } => ErrorKind::Unavailable,
    }
}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        Self::from_type(&error)
    }
}

impl Error {
    fn from_type(error: &types::Error) -> Self {
        let kind = match error.kind {
            types::ErrorKind::InvalidText => ErrorKind::InvalidText,
            types::ErrorKind::ZoneDisplacement => ErrorKind::ZoneDisplacement,
            types::ErrorKind::IntervalOverflow => ErrorKind::IntervalOutOfRange,
            types::ErrorKind::InvalidEncoding => ErrorKind::InvalidEncoding,
            types::ErrorKind::InvalidDateTime => ErrorKind::InvalidDateTime,
            types::ErrorKind::DateTimeOverflow => ErrorKind::DateTimeOutOfRange,
            types::ErrorKind::OutOfRange => ErrorKind::OutOfRange,
            types::ErrorKind::InvalidBinary => ErrorKind::InvalidBinary,
            types::ErrorKind::InvalidParameter => ErrorKind::InvalidParameter,
            types::ErrorKind::Unsupported => ErrorKind::Unsupported,
            types::ErrorKind::Internal => ErrorKind::Internal,
        };
        Self::new(kind, error.message.clone())
    }
}

impl From<files::Error> for Error {
    fn from(error: files::Error) -> Self {
        Self::new(files_kind(&error), error.to_string()).with_source(error)
    }
}

impl From<Rejected> for Error {
    fn from(error: Rejected) -> Self {
        Self::new(ErrorKind::Rejected, error.to_string()).with_source(error)
    }
}

impl From<TypedError> for Error {
    fn from(error: TypedError) -> Self {
        Self::new(ErrorKind::Invalid, error.to_string()).with_source(error)
    }
}

/// What comes back from the query engine. Our own errors travel through it as external ones and are unwrapped here, once.
impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        if let Some(error) = of_filter(&error.to_string()) {
            return error;
        }
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => Self::from(*inner),
            DataFusionError::Shared(shared) => match shared.as_ref() {
                DataFusionError::External(inner) => match own(inner.as_ref()) {
                    Some(own) => own,
                    None => reworded(&inner.to_string())
                        .unwrap_or_else(|| Self::new(ErrorKind::Internal, inner.to_string())),
                },
                DataFusionError::ResourcesExhausted(message) => exhausted(message),
                other => Self::of_engine(other),
            },
            DataFusionError::Collection(errors) => match errors.into_iter().next() {
                Some(first) => Self::from(first),
                None => Self::new(ErrorKind::Internal, "an error without a message"),
            },
            DataFusionError::External(inner) => match inner.downcast::<Error>() {
                Ok(error) => *error,
                Err(inner) => match own(inner.as_ref()) {
                    Some(own) => own,
                    None => reworded(&inner.to_string())
                        .unwrap_or_else(|| Self::new(ErrorKind::Internal, inner.to_string())),
                },
            },
            DataFusionError::ParquetError(inner) => match *inner {
                parquet::errors::ParquetError::External(inner) => Self::from(DataFusionError::External(inner)),
                inner => Self::new(ErrorKind::Corrupt, format!("a run file cannot be read: {inner}")),
            },
            DataFusionError::ArrowError(inner, trace) => match *inner {
                arrow::error::ArrowError::ExternalError(inner) => Self::from(DataFusionError::External(inner)),
                inner => Self::of_engine(&DataFusionError::ArrowError(Box::new(inner), trace)),
            },
            DataFusionError::SchemaError(error, _) => Self::from_schema(*error),
            DataFusionError::ResourcesExhausted(message) => exhausted(&message),
            error => Self::of_engine(&error),
        }
    }
}

fn exhausted(message: &str) -> Error {
    Error::new(ErrorKind::Exhausted, format!("out of memory for queries: {message}"))
        .with_hint("ask for fewer rows or columns, or allow more memory")
}

/// One of our errors inside another one.
fn own(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(files) = error.downcast_ref::<files::Error>() {
            return Some(Error::new(files_kind(files), files.to_string()));
        }
        if let Some(rowkey_storage::Error::Corrupt { .. }) = error.downcast_ref::<rowkey_storage::Error>() {
            return Some(Error::new(ErrorKind::Corrupt, error.to_string()));
        }
        if let Some(value) = error.downcast_ref::<types::Error>() {
            return Some(Error::from_type(value));
        }
        if let Some(function) = error.downcast_ref::<functions::Error>() {
            return Some(Error::new(of_function(function.kind), function.to_string()).with_usual_hint());
        }
        if let Some(function) = error.downcast_ref::<FunctionError>() {
            return Some(Error::new(of_system_function(function.kind), function.to_string()).with_usual_hint());
        }
        if let Some(regex) = error.downcast_ref::<regex::Error>() {
            let reason = regex.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            return Some(Error::new(ErrorKind::InvalidRegex, format!("invalid regular expression: {reason}")));
        }
        if let Some(own) = error.downcast_ref::<Error>() {
            return Some(Error {
                detail: own.detail.clone(),
                hint: own.hint.clone(),
                position: own.position,
                ..Error::new(own.kind, own.message.clone())
            });
        }
        next = error.source();
    }
    None
}

fn of_function(kind: functions::ErrorKind) -> ErrorKind {
    use functions::ErrorKind as Kind;
    match kind {
        Kind::InvalidText => ErrorKind::InvalidText,
        Kind::InvalidDateTime => ErrorKind::InvalidDateTime,
        Kind::DateTimeOutOfRange => ErrorKind::DateTimeOutOfRange,
        Kind::IntervalOverflow => ErrorKind::IntervalOutOfRange,
        Kind::OutOfRange => ErrorKind::OutOfRange,
        Kind::DivisionByZero => ErrorKind::DivisionByZero,
        Kind::InvalidParameter => ErrorKind::InvalidParameter,
        Kind::InvalidRegex => ErrorKind::InvalidRegex,
        Kind::InvalidLogarithm => ErrorKind::InvalidLogarithm,
        Kind::InvalidPower => ErrorKind::InvalidPower,
        Kind::InvalidSubstring => ErrorKind::InvalidSubstring,
        Kind::InvalidEncoding => ErrorKind::InvalidEncoding,
        Kind::Untranslatable => ErrorKind::Untranslatable,
        Kind::SubscriptOutOfRange => ErrorKind::SubscriptOutOfRange,
        Kind::NullNotAllowed => ErrorKind::NullNotAllowed,
        Kind::Syntax => ErrorKind::Syntax,
        Kind::TooLarge | Kind::BatchTooLarge => ErrorKind::TooLarge,
        Kind::CannotCoerce => ErrorKind::CannotCoerce,
        Kind::UndefinedFunction => ErrorKind::UnknownFunction,
        Kind::DatatypeMismatch => ErrorKind::TypeMismatch,
        Kind::UndefinedType => ErrorKind::UnknownObject,
        Kind::Unsupported => ErrorKind::Unsupported,
    }
}

fn of_system_function(kind: FunctionErrorKind) -> ErrorKind {
    use FunctionErrorKind as Kind;
    match kind {
        Kind::UndefinedTable => ErrorKind::UnknownTable,
        Kind::UndefinedColumn => ErrorKind::UnknownColumn,
        Kind::UndefinedObject => ErrorKind::UnknownObject,
        Kind::UndefinedFunction => ErrorKind::UnknownFunction,
        Kind::AmbiguousFunction => ErrorKind::AmbiguousFunction,
        Kind::InvalidName => ErrorKind::InvalidName,
        Kind::InvalidParameter => ErrorKind::InvalidParameter,
        Kind::InvalidText => ErrorKind::InvalidText,
        Kind::OutOfRange => ErrorKind::OutOfRange,
        Kind::NullNotAllowed => ErrorKind::NullNotAllowed,
        Kind::InvalidRegularExpression => ErrorKind::InvalidRegex,
        Kind::InvalidEscape => ErrorKind::InvalidEscape,
        Kind::MoreThanOneRow => ErrorKind::Cardinality,
        Kind::NotSupported => ErrorKind::Unsupported,
        Kind::CannotChange => ErrorKind::CannotChange,
        Kind::InvalidSchema => ErrorKind::UnknownSchema,
        Kind::UndefinedDatabase => ErrorKind::UnknownDatabase,
    }
}

fn kind_of(error: &DataFusionError) -> ErrorKind {
    match error {
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::Internal(_) => ErrorKind::Internal,
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => ErrorKind::Unavailable,
        DataFusionError::ResourcesExhausted(_) => ErrorKind::Exhausted,
        _ => ErrorKind::Invalid,
    }
}

/// A filter that fails inside a scan comes back as the debug form of its error, in a text.
fn of_filter(message: &str) -> Option<Error> {
    let (_, debug) = message.split_once("Error evaluating filter predicate: ")?;
    if let Some(text) = debug.strip_prefix("Execution(\"") {
        // One of the query engine's own.
        let text = text.rsplit_once("\")").map_or(text, |(text, _)| text).replace("\\\"", "\"");
        return Some(Error::new(ErrorKind::Invalid, text));
    }
    let (_, debug) = debug.split_once("kind: ")?;
    let (kind, debug) = debug.split_once(", message: \"")?;
    let text = debug.rsplit_once("\" }").map_or(debug, |(text, _)| text).replace("\\\"", "\"");
    if let Some(kind) = functions::ErrorKind::named(kind) {
        return Some(Error::new(of_function(kind), text));
    }
    let kind = match kind {
        "DateTimeOverflow" => ErrorKind::DateTimeOutOfRange,
        "InvalidRegularExpression" => ErrorKind::InvalidRegex,
        "InvalidEscape" => ErrorKind::InvalidEscape,
        "Cancelled" => ErrorKind::Cancelled,
        "ShuttingDown" => ErrorKind::ShuttingDown,
        "Corrupt" => ErrorKind::Corrupt,
        _ => ErrorKind::InvalidParameter,
    };
    Some(Error::new(kind, text))
}

/// The message without the query engine's own prefixes.
fn message_of(error: &DataFusionError) -> String {
    let message = error.message();
    let line = message.lines().next().unwrap_or_default().trim();
    line.strip_prefix("External: ").unwrap_or(line).to_owned()
}

impl Error {
    fn of_engine(error: &DataFusionError) -> Self {
        reworded(&error.to_string()).unwrap_or_else(|| Self::new(kind_of(error), message_of(error)))
    }

    /// What PostgreSQL says to those who call a function or an operator that there is not.
    pub(super) fn with_usual_hint(self) -> Self {
        if self.kind != ErrorKind::UnknownFunction || self.hint.is_some() {
            return self;
        }
        let what = if self.message.starts_with("operator") { "operator" } else { "function" };
        if !self.message.ends_with(" does not exist") && !self.message.starts_with("operator") {
            return self;
        }
        self.with_hint(format!(
            "No {what} matches the given name and argument types. You might need to add explicit type casts."
        ))
    }

    fn from_schema(error: SchemaError) -> Self {
        match error {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let candidates: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
                let error = Self::new(ErrorKind::UnknownColumn, format!("column \"{}\" does not exist", field.name));
                match suggestion(&field.name, &candidates) {
                    Some(found) => error
                        .with_hint(format!("there is a column \"{found}\" (names with capitals need double quotes)")),
                    None => error,
                }
            }
            SchemaError::AmbiguousReference { field } => {
                Self::new(ErrorKind::AmbiguousColumn, format!("column reference \"{}\" is ambiguous", field.name))
            }
            other => Self::new(ErrorKind::Invalid, other.to_string()),
        }
    }

    /// What the pass over names found, with its place in the text.
    pub(super) fn from_names(error: NameError, source: &Source) -> Self {
        let kind = match error.kind {
            NameErrorKind::UndefinedTable => ErrorKind::UnknownTable,
            NameErrorKind::UndefinedColumn => ErrorKind::UnknownColumn,
            NameErrorKind::AmbiguousColumn => ErrorKind::AmbiguousColumn,
            NameErrorKind::UndefinedFunction => ErrorKind::UnknownFunction,
            NameErrorKind::UndefinedObject => ErrorKind::UnknownObject,
            NameErrorKind::AmbiguousAlias => ErrorKind::AmbiguousAlias,
            NameErrorKind::DuplicateAlias => ErrorKind::DuplicateAlias,
            NameErrorKind::DuplicateColumn => ErrorKind::DuplicateColumn,
            NameErrorKind::InvalidColumnReference => ErrorKind::InvalidColumnReference,
            NameErrorKind::InvalidRecursion => ErrorKind::InvalidRecursion,
            NameErrorKind::TooComplex => ErrorKind::TooComplex,
            NameErrorKind::Syntax => ErrorKind::Syntax,
            NameErrorKind::Unsupported => ErrorKind::Unsupported,
        };
        let mut found = Self::new(kind, error.message);
        found.hint = error.hint.map(Into::into);
        // PostgreSQL does not say where a name is given to a second table.
        let placed = kind != ErrorKind::DuplicateAlias || !found.message.starts_with("table name");
        found.position = error.position.filter(|_| placed).map(|at| source.position(at));
        found
    }

    /// An unknown table, with the nearest name there is.
    pub fn no_such_table(name: &str, candidates: &[&str]) -> Self {
        let error = Self::new(ErrorKind::UnknownTable, format!("relation \"{name}\" does not exist"));
        match suggestion(name, candidates) {
            Some(found) => error.with_hint(format!("there is a table \"{found}\"")),
            None => error,
        }
    }
}

/// The candidate most like `name`, if any is like it at all: the same letters in another case, or a few typing errors away.
pub(crate) fn suggestion<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let folded = name.to_lowercase();
    let distance = |candidate: &&&str| strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
    let nearest = candidates.iter().min_by_key(distance)?;
    (distance(&nearest) * 3 <= folded.chars().count().max(3)).then_some(*nearest)
}
