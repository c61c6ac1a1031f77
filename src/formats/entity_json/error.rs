//! Why the JSON of an entity is not taken.

use crate::json::JsonError;
use rowkey_base::SqlState;
use rowkey_model::Rejected;

/// Why the JSON of an entity is not taken. Each message names the property or key and the rule; the
/// service's codes for them are in its specification, section 6.2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntityJsonError {
    /// A key, a name, a value or the entity breaks a rule of the data model, or a text cannot be
    /// read as its type. [`Rejected::rule`] says which (`PropertyValueTooLarge`,
    /// `OutOfRangeInput`, `TooManyProperties` and so on).
    #[error("{0}")]
    Rejected(Box<Rejected>),

    /// There is no PartitionKey or no RowKey (`PropertiesNeedValue`).
    #[error("the entity has no {0}")]
    KeyMissing(&'static str),

    /// A key is null (`PropertiesNeedValue`), or another value that is neither text nor number.
    #[error("{0} is a string and never null")]
    KeyNotText(String),

    /// A key is a number (`InvalidInput`).
    #[error("{0} is a string, and this is a number")]
    KeyIsNumber(String),

    /// A system property or an annotation occurs twice (`DuplicatePropertiesSpecified`). That a
    /// property does is a [`rowkey_model::Rule::PropertyTwice`].
    #[error("{0} occurs twice")]
    Twice(String),

    /// A value or an annotation has a form that the service does not read (`InvalidInput`).
    #[error("{0}")]
    Refused(String),

    /// The value of a property is an array or an object (`InvalidInput`).
    #[error("{0}")]
    Nested(String),

    /// The text is not JSON from byte `at` on, counted from 0 (`InvalidInput`).
    #[error("{reason} (at byte {at})")]
    Syntax { at: usize, reason: String },
}

impl EntityJsonError {
    /// Whether the text is none that the service writes, rather than an entity that breaks a rule:
    /// another tool may have written it.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, EntityJsonError::Nested(_) | EntityJsonError::Syntax { .. })
    }
}

impl From<Rejected> for EntityJsonError {
    fn from(rejected: Rejected) -> Self {
        EntityJsonError::Rejected(Box::new(rejected))
    }
}

impl From<JsonError> for EntityJsonError {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::Syntax { at, reason } => EntityJsonError::Syntax { at, reason },
            JsonError::LoneSurrogate(code) => EntityJsonError::Refused(format!(
                "a text holds the lone surrogate \\u{code:04x}, which is no character"
            )),
        }
    }
}

/// A rule of the data model that is broken is a check violation; everything else is invalid input.
impl From<EntityJsonError> for rowkey_base::Error {
    fn from(error: EntityJsonError) -> Self {
        match error {
            EntityJsonError::Rejected(rejected) => (*rejected).into(),
            error => Self::new(SqlState::INVALID_STATEMENT, error.to_string()).with_source(error),
        }
    }
}

pub(crate) fn twice(what: &str) -> EntityJsonError {
    EntityJsonError::Twice(what.to_owned())
}

/// Of a key that is no text.
pub(crate) fn no_key_text(key: &str, is_number: bool) -> EntityJsonError {
    if is_number { EntityJsonError::KeyIsNumber(key.to_owned()) } else { EntityJsonError::KeyNotText(key.to_owned()) }
}
