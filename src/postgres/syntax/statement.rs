//! A parsed statement, and what it asks for.

mod command;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::copy::CopyStatement;
use super::placeholders;
use super::source::Source;
pub use command::{Command, Direction, Discard, Isolation, Modes, TableName, Vacuum};
use rowkey_base::{Error, Result, SqlState};

/// A parsed statement, and where it stands in its text.
#[derive(Debug, Clone)]
pub struct Statement {
    pub source: Source,
    /// Bytes of the text.
    pub from: usize,
    pub to: usize,
    pub request: Request,
    pub(super) disposer: Option<Arc<dyn Disposer>>,
}

/// Frees large values in the background.
pub trait Disposer: Debug + Send + Sync {
    /// Drops a request.
    fn dispose(&self, request: Request);

    /// The memory that is reserved for them, in bytes.
    fn reserved_bytes(&self) -> usize;
}

impl Drop for Statement {
    fn drop(&mut self) {
        if let Some(disposer) = self.disposer.take() {
            disposer.dispose(std::mem::replace(&mut self.request, Request::Nothing));
        }
    }
}

/// What a statement asks for.
#[derive(Debug, Clone)]
pub enum Request {
    Query(Box<ast::Statement>),
    Explain {
        statement: Box<ast::Statement>,
        options: ExplainOptions,
    },
    /// INSERT, UPDATE, DELETE, MERGE.
    Write(Box<ast::Statement>),
    Copy(Box<CopyStatement>),
    Command(Command),
    /// CREATE VIEW, DROP VIEW, COMMENT ON and the like.
    Define(Box<ast::Statement>),
    /// Blanks and comments.
    Nothing,
}

/// What EXPLAIN is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Whether the statement is run.
    pub analyze: bool,
    pub verbose: bool,
    /// Estimates of costs, rows and widths.
    pub costs: bool,
    /// The time that each operator took, if the statement is run.
    pub timing: bool,
    /// How long planning and running took.
    pub summary: bool,
    /// Whether what a statement writes that is run stays, where it would be rolled back.
    pub keep: bool,
    pub format: ExplainFormat,
}

/// How EXPLAIN writes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Text,
    Json,
}

/// What a request changes that ROLLBACK undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    None,
    Some,
    /// Rows, which the client sends after it (COPY FROM).
    Rows,
}

impl Request {
    /// Whether it makes a table, so that there may be nothing before it.
    pub fn makes_table(&self) -> bool {
        matches!(self, Request::Define(definition) if matches!(**definition, ast::Statement::CreateTable(_)))
    }

    /// The query or write that it is, or explains.
    ///
    /// # Errors
    /// It is neither, which is a defect.
    pub fn statement(&self) -> Result<&ast::Statement> {
        match self {
            Request::Query(statement) | Request::Write(statement) | Request::Explain { statement, .. } => Ok(statement),
            _ => Err(Error::new(SqlState::INTERNAL_ERROR, "neither a query nor a write")),
        }
    }

    /// What it changes that ROLLBACK undoes.
    pub fn effect(&self) -> Effect {
        match self {
            Request::Write(_) | Request::Define(_) => Effect::Some,
            Request::Explain { options, .. } if options.keep => Effect::Some,
            Request::Copy(copy) if !copy.sends() => Effect::Rows,
            Request::Command(
                Command::Set { .. }
                | Command::Reset(_)
                | Command::SetTransaction(_)
                | Command::SetSessionTransaction(_)
                | Command::Execute { .. }
                | Command::Declare { hold: false, .. },
            ) => Effect::Some,
            Request::Query(_) | Request::Explain { .. } | Request::Nothing | Request::Copy(_) | Request::Command(_) => {
                Effect::None
            }
        }
    }
}

impl Statement {
    /// As it was written.
    pub fn text(&self) -> &str {
        self.source.slice(self.from, self.to)
    }

    /// A text without a statement.
    pub fn empty(text: &str) -> Self {
        Self { source: Source::new(text), from: 0, to: text.len(), request: Request::Nothing, disposer: None }
    }

    /// The same, dropped by `disposer`, also the statement that it prepares or declares.
    pub fn disposed_by(mut self, disposer: &Arc<dyn Disposer>) -> Self {
        if let Request::Command(Command::Prepare { statement, .. } | Command::Declare { statement, .. }) =
            &mut self.request
        {
            Arc::make_mut(statement).disposer = Some(Arc::clone(disposer));
        }
        self.disposer = Some(Arc::clone(disposer));
        self
    }

    /// The memory that is reserved for the statements of its text, in bytes.
    pub fn reserved_bytes(&self) -> usize {
        self.disposer.as_ref().map_or(0, |disposer| disposer.reserved_bytes())
    }

    /// EXPLAIN of the same; `None` where it is no query and no write.
    pub fn explained(&self, options: ExplainOptions) -> Option<Self> {
        let (Request::Query(statement) | Request::Write(statement)) = &self.request else { return None };
        let request = Request::Explain { statement: statement.clone(), options };
        Some(Self { source: self.source.clone(), from: self.from, to: self.to, request, disposer: None })
    }

    /// What it asks for, without its text.
    pub fn into_request(mut self) -> Request {
        std::mem::replace(&mut self.request, Request::Nothing)
    }

    /// The numbers of the parameters in it.
    pub fn parameters(&self) -> Result<BTreeSet<usize>> {
        match &self.request {
            Request::Query(query) | Request::Write(query) | Request::Explain { statement: query, .. } => {
                placeholders::used(query)
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    /// Whether it is a query and no EXPLAIN.
    pub fn is_query(&self) -> bool {
        matches!(self.request, Request::Query(_))
    }
}
