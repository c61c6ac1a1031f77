//! Statements that are not queries: transactions, settings, cursors, prepared statements.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Expr;

use super::{ExplainOptions, Statement};

/// A statement that is not a query.
#[derive(Debug, Clone)]
pub enum Command {
    Begin {
        modes: Modes,
        /// Written as START TRANSACTION.
        started: bool,
    },
    /// With AND CHAIN the next transaction begins at once.
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    SetTransaction(Modes),
    SetSessionTransaction(Modes),
    Set {
        name: String,
        /// `None` is DEFAULT.
        value: Option<String>,
        local: bool,
    },
    /// `None` is ALL.
    Reset(Option<String>),
    Show(String),
    ShowAll,
    Discard(Discard),
    Listen,
    Unlisten,
    Prepare {
        name: String,
        types: Vec<String>,
        statement: Arc<Statement>,
    },
    Execute {
        name: String,
        arguments: Vec<Expr>,
    },
    /// EXPLAIN of a prepared statement.
    ExplainExecute {
        name: String,
        arguments: Vec<Expr>,
        options: ExplainOptions,
    },
    /// `None` is ALL.
    Deallocate(Option<String>),
    Declare {
        name: String,
        hold: bool,
        /// It goes back as well.
        scroll: bool,
        statement: Arc<Statement>,
    },
    Fetch {
        cursor: String,
        direction: Direction,
        /// MOVE returns no rows.
        rows: bool,
    },
    /// `None` is ALL.
    CloseCursor(Option<String>),
    Vacuum(Vacuum),
    /// The tables, none for all.
    Analyze(Vec<TableName>),
}

/// What DISCARD throws away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    All,
    Plans,
    Temporary,
    Sequences,
}

/// How a transaction is to run; `None` where the statement does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
    pub deferrable: Option<bool>,
}

/// Isolation levels by their names. All of them read one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// The name, as SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// The level of a name, in any case of letters.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable]
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Which rows of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// That many next rows; `None` is all of them.
    Forward(Option<u64>),
    /// The row at this place, counted from 1; negative ones from the end.
    Absolute(i64),
    /// That many rows on from here, and only the last of them.
    Relative(i64),
    /// That many rows before; `None` is all of them.
    Backward(Option<u64>),
}

impl Command {
    /// Tag of the answer; None where it depends on what was done.
    pub fn tag(&self) -> &'static str {
        match self {
            Command::Begin { started: false, .. } => "BEGIN",
            Command::Begin { started: true, .. } => "START TRANSACTION",
            Command::Commit { .. } => "COMMIT",
            Command::Rollback { .. } | Command::RollbackTo(_) => "ROLLBACK",
            Command::Savepoint(_) => "SAVEPOINT",
            Command::Release(_) => "RELEASE",
            Command::SetTransaction(_) | Command::SetSessionTransaction(_) | Command::Set { .. } => "SET",
            Command::Reset(_) => "RESET",
            Command::Show(_) | Command::ShowAll => "SHOW",
            Command::Discard(Discard::All) => "DISCARD ALL",
            Command::Discard(Discard::Plans) => "DISCARD PLANS",
            Command::Discard(Discard::Temporary) => "DISCARD TEMP",
            Command::Discard(Discard::Sequences) => "DISCARD SEQUENCES",
            Command::Listen => "LISTEN",
            Command::Unlisten => "UNLISTEN",
            Command::Prepare { .. } => "PREPARE",
            Command::Execute { .. } => "EXECUTE",
            Command::ExplainExecute { .. } => "EXPLAIN",
            Command::Deallocate(Some(_)) => "DEALLOCATE",
            Command::Deallocate(None) => "DEALLOCATE ALL",
            Command::Declare { .. } => "DECLARE CURSOR",
            Command::Fetch { rows: true, .. } => "FETCH",
            Command::Fetch { rows: false, .. } => "MOVE",
            Command::CloseCursor(Some(_)) => "CLOSE CURSOR",
            Command::CloseCursor(None) => "CLOSE CURSOR ALL",
            Command::Vacuum(_) => "VACUUM",
            Command::Analyze(_) => "ANALYZE",
        }
    }

    /// Whether it is let through while a transaction has failed: what ends the transaction, or goes
    /// back in it.
    pub fn ends_failure(&self) -> bool {
        matches!(self, Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_))
    }
}

/// What VACUUM is to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vacuum {
    pub full: bool,
    /// Says what was done.
    pub verbose: bool,
    /// None for all tables.
    pub tables: Vec<TableName>,
}

/// The name of a table behind that of its schema, if one is given.
pub type TableName = (Option<String>, String);
