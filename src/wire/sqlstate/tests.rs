use super::*;

/// Every kind, and the code that clients match.
const TABLE: &[(ErrorKind, &str)] = &[
    (ErrorKind::Syntax, "42601"),
    (ErrorKind::Invalid, "42000"),
    (ErrorKind::TypeMismatch, "42804"),
    (ErrorKind::Grouping, "42803"),
    (ErrorKind::Cardinality, "21000"),
    (ErrorKind::NotFound, "42704"),
    (ErrorKind::UnknownTable, "42P01"),
    (ErrorKind::UnknownSchema, "3F000"),
    (ErrorKind::UnknownDatabase, "3D000"),
    (ErrorKind::UnknownColumn, "42703"),
    (ErrorKind::AmbiguousColumn, "42702"),
    (ErrorKind::AmbiguousAlias, "42P09"),
    (ErrorKind::DuplicateAlias, "42712"),
    (ErrorKind::DuplicateColumn, "42701"),
    (ErrorKind::InvalidColumnReference, "42P10"),
    (ErrorKind::InvalidRecursion, "42P19"),
    (ErrorKind::TooComplex, "54001"),
    (ErrorKind::UnknownFunction, "42883"),
    (ErrorKind::UnknownObject, "42704"),
    (ErrorKind::UnknownCursor, "34000"),
    (ErrorKind::UnknownStatement, "26000"),
    (ErrorKind::UnknownSavepoint, "3B001"),
    (ErrorKind::UnknownParameter, "42P02"),
    (ErrorKind::DuplicateTable, "42P07"),
    (ErrorKind::DuplicateCursor, "42P03"),
    (ErrorKind::DuplicateStatement, "42P05"),
    (ErrorKind::DependentObjects, "2BP01"),
    (ErrorKind::Rejected, "23514"),
    (ErrorKind::InvalidText, "22P02"),
    (ErrorKind::InvalidBinary, "22P03"),
    (ErrorKind::InvalidEncoding, "22021"),
    (ErrorKind::InvalidDateTime, "22007"),
    (ErrorKind::DateTimeOutOfRange, "22008"),
    (ErrorKind::ZoneDisplacement, "22009"),
    (ErrorKind::IntervalOutOfRange, "22015"),
    (ErrorKind::OutOfRange, "22003"),
    (ErrorKind::DivisionByZero, "22012"),
    (ErrorKind::InvalidParameter, "22023"),
    (ErrorKind::AmbiguousFunction, "42725"),
    (ErrorKind::InvalidName, "42602"),
    (ErrorKind::InvalidRegex, "2201B"),
    (ErrorKind::InvalidEscape, "22019"),
    (ErrorKind::InvalidLogarithm, "2201E"),
    (ErrorKind::InvalidPower, "2201F"),
    (ErrorKind::NullNotAllowed, "22004"),
    (ErrorKind::BadCopy, "22P04"),
    (ErrorKind::NotNull, "23502"),
    (ErrorKind::GeneratedColumn, "428C9"),
    (ErrorKind::CannotCoerce, "42846"),
    (ErrorKind::CannotChange, "55P02"),
    (ErrorKind::Conflict, "40001"),
    (ErrorKind::FailedTransaction, "25P02"),
    (ErrorKind::ReadOnlyTransaction, "25006"),
    (ErrorKind::NoActiveTransaction, "25P01"),
    (ErrorKind::ActiveTransaction, "25001"),
    (ErrorKind::WrongState, "55000"),
    (ErrorKind::Unsupported, "0A000"),
    (ErrorKind::ResultChanged, "0A000"),
    (ErrorKind::Protocol, "08P01"),
    (ErrorKind::Cancelled, "57014"),
    (ErrorKind::ShuttingDown, "57P01"),
    (ErrorKind::TooManyConnections, "53300"),
    (ErrorKind::Exhausted, "53200"),
    (ErrorKind::Unavailable, "58030"),
    (ErrorKind::Corrupt, "XX001"),
    (ErrorKind::OutcomeUnknown, "08007"),
    (ErrorKind::Internal, "XX000"),
    (ErrorKind::Notice, "00000"),
];

#[test]
fn every_kind_has_its_code() {
    for (kind, code) in TABLE {
        assert_eq!(sqlstate(*kind), *code, "{kind:?}");
        assert_eq!(code.len(), 5);
    }
}

#[test]
fn an_error_carries_what_is_known_of_it() {
    let error = Error::new(ErrorKind::UnknownColumn, "column \"x\0\" does not exist").with_hint("try y").at(8);
    let fields = fields(&error, Severity::Error);
    let wanted = [
        (b'S', "ERROR"),
        (b'V', "ERROR"),
        (b'C', "42703"),
        (b'M', "column \"x\" does not exist"),
        (b'H', "try y"),
        (b'P', "8"),
    ];
    assert_eq!(fields, wanted.map(|(name, value)| (name, value.to_owned())));
}
