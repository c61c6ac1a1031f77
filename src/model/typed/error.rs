//! Why an entity and a serde type do not fit.

use std::fmt;

use crate::value::EdmType;
use rowkey_base::Rejected;

/// Why an entity could not be read into, or written from, a value of a serde type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    /// The type asks for a property that the entity does not have; `Option` makes it optional.
    #[error("the entity has no property {property}, which the type requires")]
    Missing { property: String },
    /// A property of one type and a field of another.
    #[error("property {property} is {stored} and does not fit a field of type {wanted}{hint}")]
    Type { property: String, stored: EdmType, wanted: &'static str, hint: &'static str },
    /// A number outside the range of its field or property.
    #[error("property {property} is {value}, which does not fit {wanted}")]
    Range { property: String, value: String, wanted: &'static str },
    /// A field of a kind that no property type holds.
    #[error("field {property} is {kind}, which no property type holds{hint}")]
    Unsupported { property: String, kind: &'static str, hint: &'static str },
    /// A type without the field that every entity needs, or with `None` in it.
    #[error("the type has no field {property}, or nothing in it, and an entity needs one")]
    MissingKey { property: &'static str },
    /// A value that is no struct or map at all.
    #[error("an entity is a struct or a map, not {kind}")]
    NotAnEntity { kind: &'static str },
    /// A value that breaks a rule of the data model.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// What the type's own serde code said, with the property it was at, where there was one.
    #[error("{}{message}", At(.property))]
    Custom { property: Option<String>, message: String },
}

struct At<'a>(&'a Option<String>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |property| write!(f, "property {property}: "))
    }
}

impl TypedError {
    /// Adds the property to an error that came from code that did not know it.
    pub(super) fn at(self, at: &str) -> Self {
        match self {
            TypedError::Custom { property: None, message } => {
                TypedError::Custom { property: Some(at.to_owned()), message }
            }
            other => other,
        }
    }
}

impl serde::de::Error for TypedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        TypedError::Custom { property: None, message: message.to_string() }
    }

    fn missing_field(field: &'static str) -> Self {
        TypedError::Missing { property: field.to_owned() }
    }
}

impl serde::ser::Error for TypedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        TypedError::Custom { property: None, message: message.to_string() }
    }
}

impl From<TypedError> for rowkey_base::Error {
    fn from(error: TypedError) -> Self {
        Self::new(rowkey_base::SqlState::INVALID_STATEMENT, error.to_string()).with_source(error)
    }
}
