//! What can be wrong with a name, in PostgreSQL's words.

use std::fmt;

use datafusion::sql::sqlparser::ast::{Ident, Spanned};
use datafusion::sql::sqlparser::tokenizer::{Location, Span};

/// What kind of trouble a name is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NameErrorKind {
    UndefinedTable,
    UndefinedColumn,
    UndefinedFunction,
    AmbiguousColumn,
    AmbiguousAlias,
    DuplicateAlias,
    DuplicateColumn,
    /// A window that no WINDOW clause defines.
    UndefinedObject,
    /// A position or a column list that does not fit what it refers to.
    InvalidColumnReference,
    InvalidRecursion,
    Syntax,
    Unsupported,
    TooComplex,
}

impl NameErrorKind {
    /// The SQLSTATE.
    #[cfg(test)]
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::UndefinedTable => "42P01",
            Self::UndefinedColumn => "42703",
            Self::UndefinedFunction => "42883",
            Self::AmbiguousColumn => "42702",
            Self::AmbiguousAlias => "42P09",
            Self::DuplicateAlias => "42712",
            Self::DuplicateColumn => "42701",
            Self::UndefinedObject => "42704",
            Self::InvalidColumnReference => "42P10",
            Self::InvalidRecursion => "42P19",
            Self::Syntax => "42601",
            Self::Unsupported => "0A000",
            Self::TooComplex => "54001",
        }
    }
}

/// A name that means nothing, or too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameError {
    pub kind: NameErrorKind,
    pub message: String,
    pub hint: Option<String>,
    /// Where the name stands: line and column, from 1, in characters.
    pub position: Option<Location>,
}

pub(super) type Result<T> = std::result::Result<T, NameError>;

impl NameError {
    pub(super) fn new(kind: NameErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, position: None }
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(NameErrorKind::Unsupported, message)
    }

    pub(super) fn at(self, ident: &Ident) -> Self {
        self.at_span(ident.span)
    }

    pub(super) fn at_node(self, node: &impl Spanned) -> Self {
        self.at_span(node.span())
    }

    /// Nodes made here have an empty span, which starts at line 0.
    pub(super) fn at_span(mut self, span: Span) -> Self {
        if self.position.is_none() && span.start.line > 0 {
            self.position = Some(span.start);
        }
        self
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NameError {}
