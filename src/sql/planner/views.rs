//! Views where they are read: their text is planned, and gives the columns they were made with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::ViewTable;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast;

use super::snapshot_catalog::{SnapshotCatalog, Views};
use super::statement_planner::{MakeFunctions, PlannedQuery, PlanningContext};
use super::statement_state::StatementSettings;
use crate::system_catalog::{Setting, SystemCatalog};
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::{Request, Statement, parse};
use rowkey_postgres::types::{DateOrder, DateStyle, IntervalStyle, TextStyle, Zone};
use rowkey_storage::{LiteralSettings, View};

/// Deepest nesting of views in views.
const DEPTH_MAX: usize = 32;
/// Most views planned for one statement: one that two views read is planned twice.
const VIEWS_MAX: usize = 1000;

/// Plans the views that one statement reads.
#[derive(Debug, Clone)]
pub(crate) struct ViewExpansion {
    /// Functions, rules and settings of the session.
    settings: StatementSettings,
    system: SystemCatalog,
    functions: MakeFunctions,
    depth: usize,
    planned: Arc<AtomicUsize>,
}

impl ViewExpansion {
    pub(crate) fn new(settings: StatementSettings, system: SystemCatalog, functions: MakeFunctions) -> Self {
        Self { settings, system, functions, depth: 0, planned: Arc::default() }
    }

    /// Plans the query of a view, within the limits that hold where it is read.
    async fn plan(&self, view: &View, tables: &SnapshotCatalog) -> Result<LogicalPlan> {
        let statement = parse(&view.sql)?;
        let Request::Query(query) = &statement.request else {
            return Err(Error::new(SqlState::INVALID_STATEMENT, "its text is not a query"));
        };
        let (settings, system) = (self.settings.clone(), self.system.clone());
        let context = PlanningContext::new(settings, tables.clone(), system, Vec::new(), self.functions);
        let literals = view.literals.as_ref().map(style_of).transpose()?;
        let planned = match literals.filter(|style| !reads_alike(style, &context.literal_style())) {
            Some(style) => {
                let context = context.with_literal_style(style);
                let planned = context.view_query(&statement, query).await?;
                PlannedQuery { plan: context.with_literals_read(&planned)?, ..planned }
            }
            None => context.view_query(&statement, query).await?,
        };
        frozen(planned, view)
    }
}

/// The settings that the literals of a view's query are read by, if others read them otherwise than
/// those that it was planned with.
pub(crate) async fn literal_settings(
    context: &PlanningContext,
    statement: &Statement,
    query: &ast::Statement,
    planned: &PlannedQuery,
) -> Result<Option<LiteralSettings>> {
    let own = context.literal_style();
    let settings = LiteralSettings {
        time_zone: own.zone.to_string(),
        date_style: own.date_style.to_string(),
        interval_style: own.interval_style.to_string(),
    };
    let plan = context.with_literals_read(planned)?;
    for style in unlike(&own) {
        let context = context.with_literal_style(style);
        let other = context.view_query(statement, query).await;
        if !other.and_then(|other| context.with_literals_read(&other)).is_ok_and(|other| other == plan) {
            return Ok(Some(settings));
        }
    }
    Ok(None)
}

/// Styles that together read each literal otherwise than `own` that any style reads otherwise.
fn unlike(own: &TextStyle) -> impl Iterator<Item = TextStyle> {
    // No zone of the world has this offset, and the sign of its summer time is no matter.
    let zone = Zone::fixed(3 * 3600 + 21 * 60 + 9);
    let interval_style = match own.interval_style {
        IntervalStyle::SqlStandard => IntervalStyle::Postgres,
        _ => IntervalStyle::SqlStandard,
    };
    let (own, orders) = (own.clone(), [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd]);
    orders.into_iter().filter(move |order| *order != own.date_style.order).map(move |order| TextStyle {
        zone: zone.clone(),
        date_style: DateStyle { order, ..own.date_style },
        interval_style,
        ..own.clone()
    })
}

fn style_of(settings: &LiteralSettings) -> Result<TextStyle> {
    let default = TextStyle::default();
    Ok(TextStyle {
        zone: Zone::parse(&settings.time_zone)?,
        date_style: DateStyle::parse(&settings.date_style, default.date_style)?,
        interval_style: settings.interval_style.parse::<IntervalStyle>()?,
        ..default
    })
}

fn reads_alike(one: &TextStyle, other: &TextStyle) -> bool {
    one.zone == other.zone
        && one.date_style.order == other.date_style.order
        && one.interval_style == other.interval_style
}

#[async_trait]
impl Views for ViewExpansion {
    fn settings(&self) -> [Setting; 2] {
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

    async fn expand(&self, view: &Arc<View>, tables: &SnapshotCatalog) -> Result<Arc<dyn TableProvider>> {
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

    fn nested(&self, tables: &SnapshotCatalog) -> SnapshotCatalog {
        SnapshotCatalog { views: Arc::new(Self { depth: self.depth + 1, ..self.clone() }), ..tables.clone() }
    }

    fn with_literal_style(&self, style: &TextStyle, tables: &SnapshotCatalog) -> SnapshotCatalog {
        let settings = self.settings.with_literal_style(style.clone());
        SnapshotCatalog { views: Arc::new(Self { settings, ..self.clone() }), ..tables.clone() }
    }
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
