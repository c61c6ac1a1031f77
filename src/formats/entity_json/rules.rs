//! By which rules JSON is read.

/// What values without an annotation stand for, and what becomes of Timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// The body of a request (Table service specification, section 1.5): Timestamp is not read, and
    /// an integer beyond Int32 is a Double.
    Request,
    /// What the service answers, and exports of it: Timestamp is kept. An integer beyond Int32 is
    /// an Int64 if it fits, since a Double would lose digits.
    Answer,
}
