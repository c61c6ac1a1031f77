//! Views where they are read: their text is planned, and gives the columns they were made with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::ViewTable;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast;

use crate::session::snapshot_catalog::SnapshotCatalog;
use crate::session::statement_planner::{PlannedQuery, StatementPlanner};
use crate::session::statement_state::StatementSettings;
use crate::system_catalog::{Setting, SystemCatalog};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::{Request, Statement, parse};
use rowkey_storage::View;

/// Deepest nesting of views in views.
const DEPTH_MAX: usize = 32;
/// Most views planned for one statement: one that two views read is planned twice.
const VIEWS_MAX: usize = 1000;
/// Most nodes of the plan of a view, those of the views it reads included. Views that read another
/// one twice, again and again, would otherwise double the plan each time.
const NODES_MAX: usize = 2000;

/// Plans the views that one statement reads.
#[derive(Debug, Clone)]
pub(crate) struct ViewExpansion {
    /// Functions, rules and settings of the session.
    settings: StatementSettings,
    system: SystemCatalog,
    depth: usize,
    planned: Arc<AtomicUsize>,
}

impl ViewExpansion {
    pub(crate) fn new(settings: StatementSettings, system: SystemCatalog) -> Self {
        Self { settings, system, depth: 0, planned: Arc::default() }
    }

    /// How statements of this session run, for `rowkey.settings`.
    pub(crate) fn settings(&self) -> [Setting; 2] {
        let memory = match self.settings.base().runtime_env().memory_pool.memory_limit() {
            MemoryLimit::Finite(bytes) => Some(bytes.to_string()),
            _ => None,
        };
        let threads = self.settings.config().target_partitions().to_string();
        [
            Setting::new("memory_bytes", memory, "memory that sorts, joins and aggregates share before they spill"),
            Setting::new("target_partitions", Some(threads), "threads of one query"),
        ]
    }

    /// A view as a table, which the planner puts into the plan of what reads it. `tables` are those
    /// of the statement.
    pub(crate) async fn expand(&self, view: &Arc<View>, tables: &SnapshotCatalog) -> Result<Arc<dyn TableProvider>> {
        if self.depth >= DEPTH_MAX {
            let message = format!("view \"{}\" is nested in more than {DEPTH_MAX} views", view.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if self.planned.fetch_add(1, Ordering::Relaxed) >= VIEWS_MAX {
            let message =
                format!("the statement reads more than {VIEWS_MAX} views, the last of them \"{}\"", view.name);
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        // A task of its own: planning on this stack, views in views would exhaust it.
        let (expansion, planned_view, tables) = (self.clone(), Arc::clone(view), tables.clone());
        let planning = async move { expansion.plan(&planned_view, &tables).await };
        let planned = SpawnedTask::spawn(planning).join_unwind().await;
        let planned = planned.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
        let plan = planned.map_err(|error| {
            let outer = Error::new(error.sqlstate(), format!("view \"{}\" cannot be read: {error}", view.name));
            match error.hint() {
                Some(hint) => outer.with_hint(hint.to_owned()),
                None => outer,
            }
        })?;
        Ok(Arc::new(ViewTable::new(plan, Some(view.sql.clone()))))
    }

    async fn plan(&self, view: &View, tables: &SnapshotCatalog) -> Result<LogicalPlan> {
        let statement = parse(&view.sql)?;
        match &statement.request {
            Request::Query(query) => frozen(self.query(&statement, query, tables).await?, view),
            _ => Err(Error::new(SqlState::INVALID_STATEMENT, "its text is not a query")),
        }
    }

    /// Plans the query of a view, within the limits that hold where it is read.
    pub(in crate::session) async fn query(
        &self,
        statement: &Statement,
        query: &ast::Statement,
        tables: &SnapshotCatalog,
    ) -> Result<PlannedQuery> {
        let deeper = Self { depth: self.depth + 1, ..self.clone() };
        let tables = SnapshotCatalog { views: deeper, ..tables.clone() };
        let planner = StatementPlanner::new(self.settings.clone(), tables, self.system.clone(), Vec::new()).for_views();
        let planned = planner.query(statement, query, &[]).await?;
        refuse_large(&planned.plan)?;
        Ok(planned)
    }
}

fn refuse_large(plan: &LogicalPlan) -> Result<()> {
    let mut nodes = 0_usize;
    plan.apply_with_subqueries(|_| {
        nodes += 1;
        Ok(if nodes > NODES_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .map_err(from_datafusion)?;
    if nodes <= NODES_MAX {
        return Ok(());
    }
    let message = format!("with the views that it reads, it is planned in more than {NODES_MAX} steps");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// The columns a view was made with, out of those its query has now: a table that `*` stands for
/// may have more since.
fn frozen(planned: PlannedQuery, view: &View) -> Result<LogicalPlan> {
    let plan = planned.plan;
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, column) in planned.columns.iter().enumerate().rev() {
        places.entry(column.field.name()).or_default().push(place);
    }
    let mut columns = Vec::with_capacity(view.columns.len());
    for column in &view.columns {
        // Of several columns with one name, which differ in their table, each has its turn.
        let Some(place) = places.get_mut(column.query_name()).and_then(Vec::pop) else {
            let message = format!("its query has no column \"{}\" any more", column.query_name());
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        columns.push(Expr::Column(Column::from(plan.schema().qualified_field(place))).alias(&column.name));
    }
    LogicalPlanBuilder::from(plan).project(columns).map_err(from_datafusion)?.build().map_err(from_datafusion)
}
