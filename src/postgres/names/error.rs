//! What can be wrong with a name, in PostgreSQL's words.

use std::fmt;

use datafusion::sql::sqlparser::ast::{Ident, Spanned};
use datafusion::sql::sqlparser::tokenizer::{Location, Span};

use crate::plan_size::Excess;
use crate::syntax::Source;
use rowkey_base::Error;
pub(super) use rowkey_base::SqlState;

/// An unknown or ambiguous name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    pub sqlstate: SqlState,
    pub message: String,
    pub hint: Option<String>,
    /// Where the name stands: line and column, from 1, in characters.
    pub position: Option<Location>,
}

pub(super) type Result<T> = std::result::Result<T, NameError>;

/// Refuses what there is too much of to be planned.
pub(super) fn refuse(excess: Option<Excess>) -> Result<()> {
    match excess {
        None => Ok(()),
        Some((message, hint)) => Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint(hint)),
    }
}

impl NameError {
    pub(super) fn new(sqlstate: SqlState, message: impl Into<String>) -> Self {
        Self { sqlstate, message: message.into(), hint: None, position: None }
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, message)
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

    /// The public error, with its place in the text.
    pub fn located(self, source: &Source) -> Error {
        // PostgreSQL does not say where a name is given to a second table.
        let placed = self.sqlstate != SqlState::DUPLICATE_ALIAS || !self.message.starts_with("table name");
        let found = Error::new(self.sqlstate, self.message);
        let found = match self.hint {
            Some(hint) => found.with_hint(hint),
            None => found,
        };
        match self.position.filter(|_| placed) {
            Some(at) => found.at(source.position(at)),
            None => found,
        }
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
