//! Statements that were parsed and planned once, to be run with different values.

use std::sync::{Arc, Weak};

use datafusion::logical_expr::LogicalPlan;

use super::plan_memory::PlanMemory;
use super::read_columns::ReadColumns;
use crate::by_key::{KeyStatement, KeyWrite};
use crate::compute::ComputeRuntime;
use crate::planner::{Column, PlanningSettings};
use crate::statement_statistics::KnownEntry;
use rowkey_postgres::syntax::{Request, RowLocks, Statement};
use rowkey_postgres::types::{PostgresType, TextStyle};
use rowkey_storage::{Catalog, Snapshot};

/// As statements were measured to take, without their plans.
const STATEMENT_BYTES: usize = 8 << 10;
const TEXT_BYTES_EACH: usize = 4;
const COLUMN_BYTES: usize = 512;

/// A statement with the types of its parameters and columns. Shared and immutable.
#[derive(Debug)]
pub struct Prepared {
    pub statement: Arc<Statement>,
    pub parameters: Vec<&'static PostgresType>,
    /// None for statements without rows.
    pub columns: Option<Arc<[Column]>>,
    /// When it was prepared, in microseconds since 1970.
    pub prepared_micros: i64,
    /// By PREPARE, not by the protocol.
    pub from_sql: bool,
    /// What it was planned as. None for statements that are planned when they run.
    pub(crate) plan: Option<Arc<Planned>>,
    /// The session's style of texts when it was prepared, in which its literals are read.
    pub(crate) style: Option<Arc<TextStyle>>,
    /// Where it is counted.
    pub(crate) counted: KnownEntry,
}

impl Prepared {
    /// A text without a statement: it runs and gives nothing.
    pub fn empty(text: &str) -> Self {
        Self {
            statement: Arc::new(Statement::empty(text)),
            parameters: Vec::new(),
            columns: None,
            prepared_micros: 0,
            from_sql: false,
            plan: None,
            style: None,
            counted: KnownEntry::default(),
        }
    }

    /// Whether it is a read or a write by key, which runs without DataFusion as long as the columns
    /// of its table stay.
    pub fn is_by_key(&self) -> bool {
        let statement = self.plan.as_ref().and_then(|plan| plan.by_key.as_ref());
        matches!(statement, Some(KeyStatement::Read(_) | KeyStatement::Write(_)))
    }

    /// Whether it is a query of few rows, which is computed without a plan of DataFusion.
    #[cfg(test)]
    pub(crate) fn is_key_query(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| matches!(plan.by_key, Some(KeyStatement::Query(_))))
    }

    /// The write by key that it is.
    pub(crate) fn key_write(&self) -> Option<&KeyWrite> {
        match self.plan.as_ref()?.by_key.as_ref()? {
            KeyStatement::Write(write) => Some(write.as_ref()),
            KeyStatement::Read(_) | KeyStatement::Query(_) => None,
        }
    }

    /// What it says of rows that it reads FOR UPDATE or FOR SHARE.
    pub(crate) fn row_locks(&self) -> Option<&RowLocks> {
        self.plan.as_ref()?.row_locks.as_ref()
    }

    /// About as much memory as it takes, in bytes: syntax tree, plan, columns and text.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.as_ref().map_or(0, |columns| columns.len());
        let plan = self.plan.as_ref().map_or(0, |plan| plan.memory.bytes as usize);
        let text = self.statement.text().len() * TEXT_BYTES_EACH;
        STATEMENT_BYTES + text.max(self.statement.reserved_bytes()) + COLUMN_BYTES * columns + plan
    }

    pub fn is_empty(&self) -> bool {
        matches!(self.statement.request, Request::Nothing)
    }
}

/// What a statement was planned as, and what that depends on.
#[derive(Debug)]
pub(crate) struct Planned {
    /// Of a query; empty unless it lasts.
    pub plan: LogicalPlan,
    /// The statement by key that it is, if it is one.
    pub by_key: Option<KeyStatement>,
    /// The rows that it reads FOR UPDATE or FOR SHARE: their keys are the last columns of the plan.
    pub row_locks: Option<RowLocks>,
    /// What it was planned for. Statements may lie idle for long, so neither this nor the plan
    /// holds what a snapshot does.
    pub catalog: Weak<Catalog>,
    /// What it depends on in another catalog; None where that is more than columns.
    pub read: Option<ReadColumns>,
    pub planning: PlanningSettings,
    /// Whether the plan can run again. False where it holds something of the session that made it:
    /// the rows of the catalog are those that it sees.
    pub lasts: bool,
    pub(super) memory: PlanMemory,
    /// Drops the plan, where that takes long.
    pub disposer: Option<Arc<ComputeRuntime>>,
}

impl Drop for Planned {
    fn drop(&mut self) {
        if let Some(disposer) = self.disposer.take() {
            disposer.drop_apart((std::mem::take(&mut self.plan), std::mem::take(&mut self.memory)));
        }
    }
}

impl Planned {
    /// Whether it was planned for this very catalog. The address is not given to another one while
    /// this knows it.
    pub(crate) fn is_of(&self, catalog: &Arc<Catalog>) -> bool {
        self.catalog.as_ptr() == Arc::as_ptr(catalog)
    }

    /// Whether the plan can run over a snapshot with these settings.
    pub(crate) fn fits(&self, snapshot: &Snapshot, planning: &PlanningSettings) -> bool {
        let means_the_same =
            || self.is_of(&snapshot.catalog) || self.read.as_ref().is_some_and(|read| read.are_in(snapshot));
        self.lasts && self.planning == *planning && means_the_same()
    }
}
