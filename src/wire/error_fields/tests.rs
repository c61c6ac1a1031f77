use super::*;

#[test]
fn an_error_carries_what_is_known_of_it() {
    let error = Error::new(SqlState::UNDEFINED_COLUMN, "column \"x\0\" does not exist").with_hint("try y").at(8);
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
