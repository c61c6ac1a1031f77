//! What is wrong with a JSON text.

/// Why a token cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonError {
    /// The text is not JSON from byte `at` on.
    Syntax { at: usize, reason: String },
    /// A string with an escape of half a surrogate pair: JSON, and not Unicode.
    LoneSurrogate(u32),
}
