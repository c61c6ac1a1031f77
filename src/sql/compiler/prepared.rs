//! Statements that were parsed and planned once, to be run with different values.

use std::sync::{Arc, Weak};

use datafusion::logical_expr::LogicalPlan;

use crate::compiler::key_read::KeyRead;
use crate::planner::{Column, PlanningSettings};
use crate::writes::KeyWrite;
use rowkey_postgres::syntax::{Request, Statement};
use rowkey_postgres::types::PostgresType;
use rowkey_storage::{Catalog, Snapshot};

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
    /// The plan, as long as its snapshot and settings are those of the run.
    pub(crate) plan: Option<Arc<Planned>>,
    /// The same as a write of given keys, if it is one.
    pub(crate) key_write: Option<Arc<KeyWrite>>,
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
            key_write: None,
        }
    }

    /// Whether it is run without the query engine's planner, as long as its table stays as it is.
    pub fn is_key_read(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.key_read.is_some())
    }

    /// Whether it writes without the query engine, as long as its table stays as it is.
    pub fn is_key_write(&self) -> bool {
        self.key_write.is_some()
    }

    pub fn is_empty(&self) -> bool {
        matches!(self.statement.request, Request::Nothing)
    }
}

/// A logical plan, and what it depends on.
#[derive(Debug)]
pub(crate) struct Planned {
    pub plan: LogicalPlan,
    /// The same as a read of few keys, if it is one.
    pub key_read: Option<KeyRead>,
    /// What it was planned for. Statements may lie idle for long, so neither this nor the plan
    /// holds what a snapshot does.
    pub catalog: Weak<Catalog>,
    pub planning: PlanningSettings,
    /// False where the plan holds something of the session that made it: the rows of the catalog
    /// are those that it sees.
    pub lasts: bool,
}

impl Planned {
    /// Whether it was planned for this very catalog. The address is not given to another one while
    /// this knows it.
    pub(crate) fn is_of(&self, catalog: &Arc<Catalog>) -> bool {
        self.catalog.as_ptr() == Arc::as_ptr(catalog)
    }

    pub(crate) fn fits(&self, snapshot: &Snapshot, planning: &PlanningSettings) -> bool {
        self.lasts && self.is_of(&snapshot.catalog) && self.planning == *planning
    }
}
