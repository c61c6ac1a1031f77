//! From a statement to a running plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::ast;

use super::facts::{Changes, Facts, FunctionNames};
use super::forms::Forms;
use super::functions::{guid_text, other_property};
use super::key_read::KeyRead;
use super::memory::memory_bytes_available;
use super::plan_cache::PlanCache;
use super::prepared::{Planned, Prepared};
use crate::answer::Answer;
use crate::definitions::{self, Definition, EntityTypes};
use crate::explain::AccessPaths;
use crate::planner::{
    ACCESS_PATHS, BaseState, Column, ENTITY_TYPES, MakeFunctions, PUBLIC, PlanningContext, PlanningSettings,
    SnapshotCatalog, StatementPlanner, ViewExpansion,
};
use crate::provider::{AggregateFromSnapshot, EntityTable, ScanInKeyOrder, ScanOptions};
use crate::registry::Registry;
use crate::system_catalog::CatalogContext;
use crate::system_catalog::{CursorRow, SystemCatalog};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::files::SpillFolder;
use rowkey_model::{AccountName, DateTime};
use rowkey_postgres::cancellation::{Signals, StatementWatch, WatchedRows, watched};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::functions;
use rowkey_postgres::functions::system::StatementContext;
use rowkey_postgres::parameters;
use rowkey_postgres::rules::Rules;
use rowkey_postgres::settings::Settings;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::syntax::located;
use rowkey_postgres::types::{PostgresType, SqlValue};
use rowkey_storage::{Catalog, Edit, Snapshot, Store, TableHold};

/// Memory for queries where the machine does not tell how much it has.
const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;
/// Join keys up to this many are pushed into the other side's scan as a list; beyond, as bounds.
const JOIN_KEYS_PUSHED_MAX: usize = 1000;
/// Consumers named when memory runs out.
const CONSUMERS_NAMED: usize = 3;

/// How statements run.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Memory that sorts, joins and aggregates may use together before they spill, in bytes; by
    /// default half of what this process may have.
    pub memory_bytes: Option<u64>,
    /// Where they spill to; else to a folder of their own among the system's temporary files.
    pub spill: Option<Arc<SpillFolder>>,
    /// Threads of one query; by default the machine's.
    pub target_partitions: Option<usize>,
    pub scan: ScanOptions,
}

/// The table functions of schema `rowkey`.
const OWN_FUNCTIONS: MakeFunctions = &[
    (ACCESS_PATHS, |context| Arc::new(AccessPaths::new(context))),
    (ENTITY_TYPES, |context| Arc::new(EntityTypes::new(context))),
];

/// Plans and runs queries of all sessions of one account.
#[derive(Clone)]
pub struct Planner {
    /// First, so that what is spilled goes while the folder is still owned.
    options: SessionOptions,
    store: Arc<Store>,
    account: AccountName,
    /// Functions, rules and settings; the tables come with every statement.
    state: Arc<BaseState>,
    plans: Arc<PlanCache>,
    forms: Arc<Forms>,
    functions: Arc<FunctionNames>,
    started: DateTime,
}

impl Planner {
    pub fn new(store: Arc<Store>, account: AccountName, options: SessionOptions) -> Result<Self> {
        let memory_bytes = options.memory_bytes.or_else(|| memory_bytes_available().map(|bytes| bytes / 2));
        let pool = FairSpillPool::new(memory_bytes.unwrap_or(MEMORY_BYTES_DEFAULT) as usize);
        let named = std::num::NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(std::num::NonZeroUsize::MIN);
        let spill = match &options.spill {
            Some(folder) => DiskManagerMode::Directories(vec![folder.path().to_owned()]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, named)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
            .build_arc()
            .map_err(from_datafusion)?;
        if let Some(folder) = &options.spill {
            for made in runtime.disk_manager.temp_dir_paths() {
                folder.make_private(&made)?;
            }
        }
        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(account.as_str(), PUBLIC)
            .with_create_default_catalog_and_schema(false)
            .set_bool("datafusion.execution.parquet.pushdown_filters", options.scan.filter_pushdown)
            .set_str("datafusion.sql_parser.dialect", "postgres")
            .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false)
            .set_usize("datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values", JOIN_KEYS_PUSHED_MAX);
        if let Some(partitions) = options.target_partitions {
            config = config.with_target_partitions(partitions.max(1));
        }
        let mut state = SessionStateBuilder::new()
            .with_config(functions::configure(config))
            .with_runtime_env(runtime)
            .with_default_features()
            .build();
        state = rowkey_postgres::install(state, store.clock())?;
        let mut rules = Rules::of(&state);
        // Before requirements are enforced: there a sort still stands right over the scan it sorts.
        rules.physical.before("EnsureRequirements", Arc::new(ScanInKeyOrder)).map_err(from_datafusion)?;
        rules.optimizer.last(Arc::new(AggregateFromSnapshot));
        state = rules.put_into(state);
        for function in [guid_text(), other_property()] {
            datafusion::execution::FunctionRegistry::register_udf(&mut state, function).map_err(from_datafusion)?;
        }
        let functions = Arc::new(FunctionNames::of(&state));
        let started = store.clock().now();
        Ok(Self {
            store,
            account,
            options,
            state: BaseState::new(state),
            plans: Arc::new(PlanCache::new()),
            forms: Arc::new(Forms::new()),
            functions,
            started,
        })
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn account(&self) -> &AccountName {
        &self.account
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    /// Returns when what others have committed, and is on its way to the disk, can be seen.
    pub async fn settled(&self) -> Result<()> {
        Ok(self.store.settled().await?)
    }

    /// Holds a table: others' writes to it wait. What was on its way before can be seen.
    pub async fn hold_table(&self, table: u64) -> Result<TableHold> {
        let hold = self.store.hold_table(table).await;
        self.settled().await?;
        Ok(hold)
    }

    /// Takes a turn at a table that somebody holds, beside other writers: what is read and written
    /// with it, no holder comes between.
    pub async fn turn_at_held_table(&self, table: u64) -> Result<Option<TableHold>> {
        let turn = self.store.turn_at_held_table(table).await;
        self.settled().await?;
        Ok(turn)
    }

    /// The time of day.
    pub fn now(&self) -> DateTime {
        self.store.clock().now()
    }

    /// Names of the functions that statements may call, in their order.
    pub fn function_names(&self) -> Vec<String> {
        let state = self.state.state();
        let all = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        let mut names: Vec<String> = all.chain(state.window_functions().keys()).cloned().collect();
        names.retain(|name| name.starts_with(|first: char| first.is_ascii_lowercase()));
        names.sort();
        names.dedup();
        names
    }

    /// What a text was planned as before, for a session that sees the same.
    pub fn planned_before(
        &self,
        text: &str,
        types: &[Option<&'static PostgresType>],
        snapshot: &Snapshot,
        settings: &Settings,
    ) -> Option<Prepared> {
        let before = self.plans.get(text, types, snapshot, &PlanningSettings::of(settings))?;
        Some(Prepared {
            statement: Arc::clone(&before.statement),
            parameters: before.parameters.clone(),
            columns: before.columns.clone(),
            prepared_micros: self.now().micros(),
            from_sql: false,
            plan: before.plan.clone(),
            key_write: before.key_write.clone(),
        })
    }

    /// What is known of statements, but for their literals.
    pub(crate) fn forms(&self) -> &Arc<Forms> {
        &self.forms
    }

    /// Keeps the plan of the only statement of a text.
    pub fn keep_plan(&self, text: &str, types: &[Option<&'static PostgresType>], prepared: &Arc<Prepared>) {
        self.plans.keep(text, types, prepared);
    }

    /// Resolves the names of a query, types its parameters and columns, and plans it. `declared`
    /// are the types of parameters that the client knows, by number.
    pub async fn plan(
        &self,
        view: &View,
        statement: &Arc<Statement>,
        query: &ast::Statement,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let planned = self.statement(view).query(statement, query, declared).await;
        let planned = planned.map_err(|error| located(error, statement))?;
        let key_read = KeyRead::of(&planned.plan, &planned.parameters);
        let lasts = reads_tables_only(&planned.plan)?;
        let plan = if lasts { without_content(planned.plan)? } else { LogicalPlan::default() };
        let (catalog, planning) = (Arc::downgrade(&view.snapshot.catalog), view.planning());
        let plan = Arc::new(Planned { plan, key_read, catalog, planning, lasts });
        Ok(Prepared {
            statement: Arc::clone(statement),
            parameters: planned.parameters,
            columns: Some(planned.columns.into()),
            prepared_micros: self.now().micros(),
            from_sql: false,
            plan: Some(plan),
            key_write: None,
        })
    }

    /// The physical plan of a prepared query with its values, planned again where the tables or the
    /// settings changed.
    pub async fn physical(
        &self,
        view: &View,
        prepared: &Prepared,
        query: &ast::Statement,
        values: &[SqlValue],
    ) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        let session = self.statement(view);
        let kept = prepared.plan.as_ref().filter(|kept| kept.fits(&view.snapshot, &view.planning()));
        let plan = match kept {
            Some(kept) => seen_in(kept.plan.clone(), &view.snapshot)?,
            None => {
                let declared: Vec<_> = prepared.parameters.iter().map(|ty| Some(*ty)).collect();
                let planned = session.query(&prepared.statement, query, &declared).await?;
                let explains = !prepared.statement.is_query();
                let changed = |before| !same_columns(before, &planned.columns);
                if !explains && prepared.columns.as_deref().is_some_and(changed) {
                    return Err(Error::new(SqlState::CACHED_PLAN_CHANGED, "cached plan must not change result type"));
                }
                planned.plan
            }
        };
        let plan = parameters::with_values(plan, &prepared.parameters, values)?;
        let plan = session.state.create_physical_plan(&plan).await;
        let plan = plan.map_err(|error| located(from_datafusion(error), &prepared.statement))?;
        Ok((plan, session.settings.task_context()))
    }

    pub async fn run(
        &self,
        view: &View,
        prepared: &Prepared,
        query: &ast::Statement,
        values: &[SqlValue],
    ) -> Result<Answer> {
        if let Some(rows) = self.key_rows(view, prepared, values).await? {
            return Ok(Answer::of(rows));
        }
        let (plan, context) = Box::pin(self.physical(view, prepared, query, values)).await?;
        let watch = StatementWatch::new(Arc::clone(&view.signals));
        let rows = Box::pin(WatchedRows::new(
            execute_stream(watched(plan, &watch).map_err(from_datafusion)?, context).map_err(from_datafusion)?,
            watch,
        ));
        let fields: Vec<_> = prepared
            .columns
            .iter()
            .flat_map(|columns| columns.iter())
            .map(|column| Arc::clone(&column.field))
            .collect();
        Ok(Answer::labelled(rows, &fields))
    }

    /// The rows of a query that is a read of few keys.
    async fn key_rows(&self, view: &View, prepared: &Prepared, values: &[SqlValue]) -> Result<Option<RecordBatch>> {
        let Some((planned, columns)) = prepared.plan.as_ref().zip(prepared.columns.as_deref()) else { return Ok(None) };
        let Some(read) = &planned.key_read else { return Ok(None) };
        if planned.planning != view.planning() {
            return Ok(None);
        }
        view.signals.check()?;
        read.rows(self.store.files(), &view.snapshot, values, columns).await
    }

    /// The value of an expression without columns, as EXECUTE takes them.
    pub async fn value_of(&self, view: &View, expr: &ast::Expr, ty: &'static PostgresType) -> Result<SqlValue> {
        parameters::value_of(&self.statement(view).state, expr, ty, view.settings.style()).await
    }

    /// What the catalog and functions may ask in a statement of this view.
    fn facts(&self, view: &View) -> Arc<Facts> {
        Arc::new(Facts {
            database: self.account.as_str().to_owned(),
            user: view.user.clone(),
            pid: view.pid,
            settings: view.settings.clone(),
            prepared: Arc::clone(&view.prepared),
            cursors: view.cursors.clone(),
            registry: Arc::clone(&view.registry),
            started_micros: self.started.micros(),
            now_micros: view.now.micros(),
            transaction: view.snapshot.sequence,
            changes: view.changes.clone(),
            functions: Arc::clone(&self.functions),
        })
    }

    /// The planner for one statement.
    pub(crate) fn statement(&self, view: &View) -> StatementPlanner {
        let facts = self.facts(view);
        let system = SystemCatalog::new(view.snapshot.clone(), self.account.clone(), Arc::clone(&facts) as _);
        let context = CatalogContext { oids: system.oids(), facts: Arc::clone(&facts) as _, control: facts };
        let mut config = self.state.state().config().clone();
        let options = config.options_mut();
        options.execution.time_zone = Some(view.settings.get("TimeZone").unwrap_or("UTC").to_owned());
        options.extensions.insert(StatementContext(Arc::new(context)));
        options.extensions.insert(functions::SessionStyle(Arc::clone(view.settings.style())));
        let settings = self.state.settings(config, view.now);
        let tables = SnapshotCatalog {
            snapshot: view.snapshot.clone(),
            account: self.account.clone(),
            files: Arc::clone(self.store.files()),
            store: Arc::clone(&self.store),
            scan: self.options.scan,
            system: system.clone(),
            views: Arc::new(ViewExpansion::new(settings.clone(), system.clone(), OWN_FUNCTIONS)),
            rows: None,
        };
        PlanningContext::new(settings, tables, system, view.settings.search_path(), OWN_FUNCTIONS).planner()
    }

    /// What a statement that defines something is to change.
    pub async fn definition(
        &self,
        view: &View,
        statement: &Statement,
        definition: &ast::Statement,
    ) -> Result<Definition> {
        let planner = self.statement(view);
        let defined = definitions::define(definition.clone(), statement.text(), self.now(), &planner).await;
        // Places in the statement, which may not be the first of its text.
        let before = statement.source.slice(0, statement.from).chars().count();
        defined.map_err(|error| error.moved(before))
    }

    /// Commits what a single statement defines.
    pub async fn commit_edits(&self, edits: Vec<Edit>, base: Arc<Catalog>) -> Result<()> {
        let store = Arc::clone(&self.store);
        let committed = tokio::task::spawn_blocking(move || store.commit_definition(edits, &base)).await;
        committed.map_err(|error| Error::new(SqlState::INTERNAL_ERROR, error.to_string()))??;
        Ok(())
    }
}

/// What a statement sees of its session.
#[derive(Debug, Clone)]
pub struct View {
    pub snapshot: Snapshot,
    pub settings: Settings,
    pub user: String,
    pub pid: i32,
    pub prepared: Arc<BTreeMap<String, Arc<Prepared>>>,
    pub cursors: Vec<CursorRow>,
    pub registry: Arc<Registry>,
    /// What stops it.
    pub signals: Arc<Signals>,
    pub changes: Changes,
    /// What `now()` is: when the transaction began.
    pub now: DateTime,
}

impl View {
    fn planning(&self) -> PlanningSettings {
        PlanningSettings::of(&self.settings)
    }
}

/// Whether everything that a plan reads are tables of the snapshot. Relations of the catalog and
/// functions that plan statements hold what they know of the session and of the moment.
fn reads_tables_only(plan: &LogicalPlan) -> Result<bool> {
    let mut only = true;
    plan.apply_with_subqueries(|node| {
        only &= match node {
            LogicalPlan::TableScan(scan) => source_as_provider(&scan.source)?.is::<EntityTable>(),
            LogicalPlan::Extension(_) | LogicalPlan::DescribeTable(_) | LogicalPlan::Statement(_) => false,
            _ => true,
        };
        Ok(if only { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })
    .map_err(from_datafusion)?;
    Ok(only)
}

/// A plan to be kept, which holds nothing of the moment that it was made for.
fn without_content(plan: LogicalPlan) -> Result<LogicalPlan> {
    let kept = plan
        .transform_down_with_subqueries(|node| {
            let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
            let provider = source_as_provider(&scan.source)?;
            let Some(table) = provider.downcast_ref::<EntityTable>() else {
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            scan.source = provider_as_source(Arc::new(table.in_snapshot(table.snapshot().without_content())));
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        })
        .map_err(from_datafusion)?;
    Ok(kept.data)
}

/// A plan that was made for another moment, with what its tables hold in this snapshot; their
/// columns are the same.
fn seen_in(plan: LogicalPlan, snapshot: &Snapshot) -> Result<LogicalPlan> {
    let seen = plan
        .transform_down_with_subqueries(|node| {
            let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
            let provider = source_as_provider(&scan.source)?;
            let Some(table) = provider.downcast_ref::<EntityTable>() else {
                return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
            };
            let Some(now) = snapshot.table(table.table().id) else {
                return plan_err!("table \"{}\" was dropped", table.table().name);
            };
            scan.source = provider_as_source(Arc::new(table.in_snapshot(snapshot.table_snapshot(now))));
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        })
        .map_err(from_datafusion)?;
    Ok(seen.data)
}

/// Whether columns have the same names and types.
pub(crate) fn same_columns(before: &[Column], now: &[Column]) -> bool {
    before.len() == now.len()
        && before
            .iter()
            .zip(now)
            .all(|(a, b)| a.field.name() == b.field.name() && a.field.data_type() == b.field.data_type())
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner")
            .field("account", &self.account)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
