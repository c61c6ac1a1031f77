//! The error of everything that Rowkey does for a caller.

use std::error::Error as StdError;
use std::fmt;

use crate::sqlstate::SqlState;
use crate::{ErrorKind, Rejected};

/// The result of everything public.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: what the caller can do ([`ErrorKind`]), PostgreSQL's code for it ([`SqlState`]), a
/// message that names the culprit, and perhaps a detail, a hint, a place in the statement.
#[derive(Debug)]
pub struct Error {
    sqlstate: SqlState,
    message: String,
    // Boxed, so that errors stay small.
    detail: Option<Box<str>>,
    hint: Option<Box<str>>,
    context: Option<Box<str>>,
    position: Option<u32>,
    operation: Option<u32>,
    violated: Option<Box<Violated>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What an error of a rule of a table is about, by its names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Violated {
    pub schema: String,
    pub table: String,
    pub column: Option<String>,
    pub constraint: Option<String>,
}

impl Error {
    /// An error with nothing but its code and its message.
    pub fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            operation: None,
            violated: None,
            source: None,
        }
    }

    /// Says what may help, as a sentence.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into());
        self
    }

    /// Says more about what happened, as a sentence.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into().into());
        self
    }

    /// Says what was being done, in the words of PostgreSQL's CONTEXT.
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into().into());
        self
    }

    /// Keeps the error that caused it.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says where in the statement the culprit is: a character, counted from 1.
    pub fn at(mut self, position: usize) -> Self {
        self.position = u32::try_from(position).ok();
        self
    }

    /// The same error in a longer text, with so many characters before.
    pub fn moved(mut self, characters: usize) -> Self {
        self.position = self.position.and_then(|position| u32::try_from(characters).ok()?.checked_add(position));
        self
    }

    /// Names the table whose rule is broken, and the column or the constraint.
    pub fn violating(mut self, violated: Violated) -> Self {
        self.violated = Some(Box::new(violated));
        self
    }

    /// Says which of several operations it is about, from 0.
    pub fn at_operation(mut self, index: usize) -> Self {
        self.operation = u32::try_from(index).ok();
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.sqlstate.kind()
    }

    /// Which error it is, finer than its kind.
    pub fn sqlstate(&self) -> SqlState {
        self.sqlstate
    }

    /// More about what happened, as a sentence.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What may help, as a sentence.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What was being done.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The character of the statement that it is about, counted from 1.
    pub fn position(&self) -> Option<usize> {
        self.position.map(|position| position as usize)
    }

    /// The table whose rule is broken, and the column or the constraint.
    pub fn violated(&self) -> Option<&Violated> {
        self.violated.as_deref()
    }

    /// Of an entity group transaction, the operation that failed, from 0.
    pub fn operation(&self) -> Option<usize> {
        self.operation.map(|index| index as usize)
    }

    /// A copy of an error that is shared: without its context, its operation and its source.
    pub fn copied(&self) -> Self {
        Self {
            detail: self.detail.clone(),
            hint: self.hint.clone(),
            position: self.position,
            violated: self.violated.clone(),
            ..Self::new(self.sqlstate, self.message.clone())
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<Rejected> for Error {
    fn from(error: Rejected) -> Self {
        Self::new(SqlState::CHECK_VIOLATION, error.to_string()).with_source(error)
    }
}
