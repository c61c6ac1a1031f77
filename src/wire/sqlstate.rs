//! From kinds of errors to SQLSTATEs, as PostgreSQL assigns them.

use rowkey_sql::session::{Error, ErrorKind};

/// The code of a kind.
pub(crate) fn sqlstate(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Syntax => "42601",
        ErrorKind::Invalid => "42000",
        ErrorKind::TypeMismatch => "42804",
        ErrorKind::Grouping => "42803",
        ErrorKind::Cardinality => "21000",
        ErrorKind::NotFound | ErrorKind::UnknownObject => "42704",
        ErrorKind::UnknownTable => "42P01",
        ErrorKind::UnknownSchema => "3F000",
        ErrorKind::UnknownDatabase => "3D000",
        ErrorKind::UnknownColumn => "42703",
        ErrorKind::AmbiguousColumn => "42702",
        ErrorKind::AmbiguousAlias => "42P09",
        ErrorKind::DuplicateAlias => "42712",
        ErrorKind::DuplicateColumn => "42701",
        ErrorKind::InvalidColumnReference => "42P10",
        ErrorKind::InvalidRecursion => "42P19",
        ErrorKind::TooComplex => "54001",
        ErrorKind::UnknownFunction => "42883",
        ErrorKind::UnknownCursor => "34000",
        ErrorKind::UnknownStatement => "26000",
        ErrorKind::UnknownSavepoint => "3B001",
        ErrorKind::UnknownParameter => "42P02",
        ErrorKind::DuplicateTable => "42P07",
        ErrorKind::DuplicateCursor => "42P03",
        ErrorKind::DuplicateStatement => "42P05",
        ErrorKind::DependentObjects => "2BP01",
        ErrorKind::Rejected => "23514",
        ErrorKind::InvalidText => "22P02",
        ErrorKind::InvalidBinary => "22P03",
        ErrorKind::InvalidEncoding => "22021",
        ErrorKind::InvalidDateTime => "22007",
        ErrorKind::DateTimeOutOfRange => "22008",
        ErrorKind::ZoneDisplacement => "22009",
        ErrorKind::IntervalOutOfRange => "22015",
        ErrorKind::OutOfRange => "22003",
        ErrorKind::DivisionByZero => "22012",
        ErrorKind::InvalidParameter => "22023",
        ErrorKind::AmbiguousFunction => "42725",
        ErrorKind::InvalidName => "42602",
        ErrorKind::InvalidRegex => "2201B",
        ErrorKind::InvalidEscape => "22019",
        ErrorKind::InvalidLogarithm => "2201E",
        ErrorKind::InvalidPower => "2201F",
        ErrorKind::InvalidSubstring => "22011",
        ErrorKind::InvalidLimit => "2201W",
        ErrorKind::InvalidOffset => "2201X",
        ErrorKind::Untranslatable => "22P05",
        ErrorKind::SubscriptOutOfRange => "2202E",
        ErrorKind::WrongFunctionKind => "42809",
        ErrorKind::TooLarge => "54000",
        ErrorKind::NullNotAllowed => "22004",
        ErrorKind::BadCopy => "22P04",
        ErrorKind::NotNull => "23502",
        ErrorKind::GeneratedColumn => "428C9",
        ErrorKind::CannotCoerce => "42846",
        ErrorKind::CannotChange => "55P02",
        ErrorKind::DuplicateKey => "23505",
        ErrorKind::MissingEntity => "P0002",
        ErrorKind::ConditionFailed => "40001",
        ErrorKind::Conflict => "40001",
        ErrorKind::FailedTransaction => "25P02",
        ErrorKind::ReadOnlyTransaction => "25006",
        ErrorKind::NoActiveTransaction => "25P01",
        ErrorKind::ActiveTransaction => "25001",
        ErrorKind::WrongState => "55000",
        ErrorKind::Unsupported | ErrorKind::ResultChanged => "0A000",
        ErrorKind::NotAllowed => "42501",
        ErrorKind::Protocol => "08P01",
        ErrorKind::Cancelled => "57014",
        ErrorKind::ShuttingDown => "57P01",
        ErrorKind::IdleSession => "57P05",
        ErrorKind::IdleTransaction => "25P03",
        ErrorKind::TooManyConnections => "53300",
        ErrorKind::Exhausted => "53200",
        ErrorKind::DiskFull => "53100",
        ErrorKind::Unavailable => "58030",
        ErrorKind::Corrupt => "XX001",
        ErrorKind::OutcomeUnknown => "08007",
        ErrorKind::Internal => "XX000",
        ErrorKind::Notice => "00000",
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Warning,
    Error,
    /// The connection ends with it.
    Fatal,
}

/// The fields of an error or a notice.
pub(crate) fn fields(error: &Error, severity: Severity) -> Vec<(u8, String)> {
    let severity = match severity {
        Severity::Warning if error.kind() == ErrorKind::Notice => "NOTICE",
        Severity::Warning => "WARNING",
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', sqlstate(error.kind()).to_owned()),
        (b'M', error.to_string()),
    ];
    let text = |text: Option<&str>| text.map(str::to_owned);
    let more = [
        (b'D', text(error.detail())),
        (b'H', text(error.hint())),
        (b'P', error.position().map(|p| p.to_string())),
        (b'W', text(error.context())),
    ];
    fields.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
    // A NUL would end the field.
    for (_, value) in &mut fields {
        value.retain(|c| c != '\0');
    }
    fields
}

#[cfg(test)]
mod tests;
