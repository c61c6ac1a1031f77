//! From texts to prepared statements.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{
    GreedyMemoryPool, MemoryConsumer, MemoryPool, MemoryReservation, TrackConsumersPool,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::ast;
use tokio::sync::SemaphorePermit;

use super::catalog_session::{CatalogSession, FunctionNames};
use super::entity_json::entity_json;
use super::functions::{guid_text, other_property};
use super::memory::query_memory_bytes;
use super::parameterized::ParameterizedStatements;
use super::plan_cache::PlanCache;
use super::plan_memory::PlanMemory;
use super::planning_queue::PlanningQueue;
use super::prepared::{Planned, Prepared};
use super::read_columns::ReadColumns;
use super::row_locks;
use super::statement_context::StatementContext;
use super::ticks_functions::ticks_functions;
use crate::by_key::{self, Analyzed};
use crate::compute::ComputeRuntime;
use crate::definitions::{self, Definition, EntityTypes};
use crate::explain::AccessPaths;
use crate::export_files::StatementExports;
use crate::planner::{
    ACCESS_PATHS, BaseState, Column, ENTITY_TYPES, MakeFunctions, PUBLIC, PlanningContext, PlanningSettings,
    SnapshotCatalog, StatementPlanner, ViewExpansion,
};
use crate::provider::{AggregateFromSnapshot, ColumnsCache, EntityTable, ScanInKeyOrder, ScanOptions, with_tables};
use crate::row_budget::RowBudget;
use crate::scan_queue::ScanQueue;
use crate::statement_statistics::{KnownEntry, StatementStatistics};
use crate::system_catalog::CatalogContext;
use crate::system_catalog::SystemCatalog;
use crate::writes::Write;
use rowkey_base::Result;
use rowkey_model::files::SpillFolder;
use rowkey_model::{AccountName, DateTime};
use rowkey_postgres::cancellation::{PlanningSignals, Stop, check_between};
use rowkey_postgres::ctes;
use rowkey_postgres::error::{external, from_datafusion};
use rowkey_postgres::functions;
use rowkey_postgres::functions::system::FunctionContextExtension;
use rowkey_postgres::memory_pool::FairPool;
use rowkey_postgres::parameters;
use rowkey_postgres::rules::Rules;
use rowkey_postgres::settings::{NEW_PROPERTIES, Settings};
use rowkey_postgres::syntax::located;
use rowkey_postgres::syntax::{RowLocks, Statement};
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle};
use rowkey_storage::{Edit, Snapshot, Store};

/// Plans of longer texts are dropped on a compute thread.
const PLANS_DROPPED_HERE_BYTES_MAX: usize = 16 << 10;

/// Join keys up to this many are pushed into the other side's scan as a list; beyond, as bounds.
const JOIN_KEYS_PUSHED_MAX: usize = 1000;
/// Of the memory of queries, operators reserve one part of so many for what they hold: they copy it
/// (a join its build side, a sort its last batches, a spill its groups) before they let go of it.
const POOL_PARTS: u64 = 2;
/// But as much as this, if there is as much: a sort needs ten mebibytes a thread to merge what it
/// has spilled.
const POOL_BYTES_MIN: u64 = 64 << 20;
/// Prepared statements have one part of so many beside.
const PREPARED_PARTS: u64 = 4;
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

/// From texts to prepared statements, for all sessions of one account.
#[derive(Clone)]
pub struct Compiler {
    /// First, so that what is spilled goes while the folder is still owned.
    options: SessionOptions,
    store: Arc<Store>,
    account: AccountName,
    /// The account that exists without tables too.
    default_account: Arc<AccountName>,
    /// Functions, rules and settings; the tables come with every statement.
    state: Arc<BaseState>,
    plans: Arc<PlanCache>,
    parameterized: Arc<ParameterizedStatements>,
    functions: Arc<FunctionNames>,
    columns: Arc<ColumnsCache>,
    compute: Arc<ComputeRuntime>,
    row_budget: Arc<RowBudget>,
    plan_budget: Arc<RowBudget>,
    scan_queue: Arc<ScanQueue>,
    /// Of prepared statements of all sessions.
    prepared_pool: Arc<dyn MemoryPool>,
    planning_queue: Arc<PlanningQueue>,
    /// Of the statements of all accounts.
    statistics: Arc<StatementStatistics>,
    started: DateTime,
}

impl Compiler {
    pub fn new(store: Arc<Store>, account: AccountName, options: SessionOptions) -> Result<Self> {
        let memory_bytes = query_memory_bytes(options.memory_bytes);
        let pool_bytes = (memory_bytes / POOL_PARTS).max(memory_bytes.min(POOL_BYTES_MIN)) as usize;
        let pool = FairPool::new(pool_bytes);
        let named = std::num::NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(std::num::NonZeroUsize::MIN);
        let spill = match &options.spill {
            Some(folder) => DiskManagerMode::Directories(vec![folder.path().to_owned()]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(account.as_str(), PUBLIC)
            .with_create_default_catalog_and_schema(false)
            .set_bool("datafusion.execution.parquet.pushdown_filters", options.scan.filter_pushdown)
            .set_str("datafusion.sql_parser.dialect", "postgres")
            // `physical_plan` takes more where there may be more to do.
            .set_usize("datafusion.optimizer.max_passes", 1)
            .set_bool("datafusion.sql_parser.enable_subquery_sort_elimination", false)
            // What stands in a union's place where its inputs are partitioned alike fails as soon
            // as a later rule partitions one of them otherwise.
            .set_bool("datafusion.optimizer.prefer_existing_union", true)
            // A CASE whose condition tells that its value is there has other nullability in a plan
            // than in what it becomes.
            .set_bool("datafusion.execution.skip_physical_aggregate_schema_check", true)
            .set_usize("datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values", JOIN_KEYS_PUSHED_MAX);
        let compute = Arc::new(ComputeRuntime::start()?);
        if let Some(threads) = compute.large_value_threads() {
            config = config.with_extension(Arc::new(threads));
        }
        let values = functions::ValueBudget::of_memory(memory_bytes);
        config.options_mut().extensions.insert(values);
        if let Some(partitions) = options.target_partitions {
            config = config.with_target_partitions(partitions.max(1));
        }
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, named)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
            .with_max_spill_merge_fan_in(values.merge_fan_in(pool_bytes, config.target_partitions()))
            .build_arc()
            .map_err(from_datafusion)?;
        if let Some(folder) = &options.spill {
            for made in runtime.disk_manager.temp_dir_paths() {
                folder.make_private(&made)?;
            }
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
        check_between(&mut rules);
        state = rules.put_into(state);
        for function in [guid_text(), other_property(), entity_json()].into_iter().chain(ticks_functions()) {
            datafusion::execution::FunctionRegistry::register_udf(&mut state, function).map_err(from_datafusion)?;
        }
        let functions = Arc::new(FunctionNames::of(&state));
        let started = store.clock().now();
        Ok(Self {
            store,
            default_account: Arc::new(account.clone()),
            account,
            options,
            state: BaseState::new(state),
            plans: Arc::new(PlanCache::new()),
            parameterized: Arc::new(ParameterizedStatements::new()),
            functions,
            columns: Arc::new(ColumnsCache::new()),
            compute,
            row_budget: RowBudget::beside(memory_bytes),
            plan_budget: RowBudget::of_plans(memory_bytes),
            scan_queue: Arc::new(ScanQueue::beside(memory_bytes)),
            prepared_pool: Arc::new(GreedyMemoryPool::new((memory_bytes / PREPARED_PARTS) as usize)),
            planning_queue: Arc::new(PlanningQueue::beside(memory_bytes)),
            statistics: Arc::new(StatementStatistics::default()),
            started,
        })
    }

    /// The same for another account. Functions, rules, memory and the folder to spill to are
    /// shared; plans are not.
    pub(crate) fn in_account(&self, account: AccountName) -> Self {
        let mut state = self.state.state().clone();
        state.config_mut().options_mut().catalog.default_catalog = account.as_str().to_owned();
        Self {
            account,
            state: BaseState::new(state),
            plans: Arc::new(PlanCache::new()),
            parameterized: Arc::new(ParameterizedStatements::new()),
            ..self.clone()
        }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Memory of queries, of which nothing is taken yet.
    pub(crate) fn memory(&self, consumer: &str) -> MemoryReservation {
        MemoryConsumer::new(consumer).register(self.memory_pool())
    }

    /// Where statements spill to, if it is a folder of its own.
    pub(crate) fn spill(&self) -> Option<&Arc<SpillFolder>> {
        self.options.spill.as_ref()
    }

    pub(crate) fn memory_pool(&self) -> &Arc<dyn MemoryPool> {
        &self.state.state().runtime_env().memory_pool
    }

    /// Memory for the prepared statements of a session, of which nothing is taken yet.
    pub(crate) fn memory_of_prepared(&self) -> MemoryReservation {
        MemoryConsumer::new("prepared statements").register(&self.prepared_pool)
    }

    /// Waits until there is room for the plan of a long text, until the permit is dropped.
    async fn room_for_plan(&self, text: &str) -> Option<SemaphorePermit<'_>> {
        self.planning_queue.enter(text, 0).await
    }

    /// The same for the physical plan of a statement.
    pub(crate) async fn room_for_physical_plan(&self, prepared: &Prepared) -> Option<SemaphorePermit<'_>> {
        let logical_bytes = prepared.plan.as_ref().map_or(0, |plan| plan.memory.bytes);
        self.planning_queue.enter(prepared.statement.text(), logical_bytes).await
    }

    /// Memory of plans that wait for their clients.
    pub(crate) fn plan_budget(&self) -> &Arc<RowBudget> {
        &self.plan_budget
    }

    /// Memory of scans that run.
    pub(crate) fn scan_queue(&self) -> &Arc<ScanQueue> {
        &self.scan_queue
    }

    /// Memory of rows that clients have not taken yet.
    pub(crate) fn row_budget(&self) -> &Arc<RowBudget> {
        &self.row_budget
    }

    /// What statements have cost.
    pub(crate) fn statistics(&self) -> &Arc<StatementStatistics> {
        &self.statistics
    }

    /// Where statements are planned and run.
    pub(crate) fn compute(&self) -> &Arc<ComputeRuntime> {
        &self.compute
    }

    pub(crate) fn account(&self) -> &AccountName {
        &self.account
    }

    /// The newest snapshot.
    pub fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
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
            style: before.style.clone(),
            counted: before.counted.clone(),
        })
    }

    /// What is known of statements whose literals were replaced by parameters.
    pub(crate) fn parameterized(&self) -> &Arc<ParameterizedStatements> {
        &self.parameterized
    }

    /// Keeps the plan of the only statement of a text.
    pub fn keep_plan(&self, text: &str, types: &[Option<&'static PostgresType>], prepared: &Arc<Prepared>) {
        self.plans.keep(text, types, prepared);
    }

    /// Resolves the names of a query, types its parameters and columns, and plans it. `declared`
    /// are the types of parameters that the client knows, by number; `query` is planned in place of
    /// the statement's own.
    pub(crate) async fn plan(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        query: Option<ast::Statement>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let (compiler, planned_statement, declared) = (self.clone(), Arc::clone(statement), declared.to_vec());
        let (signals, context) = (&context.signals, context.clone());
        let planned =
            async move { Box::pin(compiler.plan_query(&context, &planned_statement, query, &declared)).await };
        self.compute.plan(statement.text(), signals, planned).await
    }

    /// [`Self::plan`], on the thread that polls it.
    async fn plan_query(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        query: Option<ast::Statement>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let _room = self.room_for_plan(statement.text()).await;
        let query = query.map_or_else(|| statement.request.statement().cloned(), Ok)?;
        let row_locks = RowLocks::of(&query)?;
        let rowless = RowLocks::without_rows(&query);
        let planner = self.planner(context);
        let planned = match &row_locks {
            Some(locks) => row_locks::query(&planner, statement, query, declared, locks).await,
            None => planner.query(statement, query, declared).await,
        };
        let planned = planned.map_err(|error| located(error, statement))?;
        if let Some(words) = rowless {
            row_locks::refuse_without_rows(&planned.plan, words)?;
        }
        let by_key = match &row_locks {
            None => by_key::recognize(&Analyzed::Query {
                plan: &planned.plan,
                analyze: &|| {
                    let analyzed = planned.analyzed.clone();
                    let analyzed = analyzed.or_else(|| ctes::analyzed(&planner.state, &planned.plan).ok())?;
                    functions::conditional(analyzed).ok()
                },
                parameters: &planned.parameters,
                config: &|| self.lasting_config(context),
            }),
            Some(_) => None,
        };
        let lasts = reads_tables_only(&planned.plan)?;
        let plan = if lasts { without_content(planned.plan)? } else { LogicalPlan::default() };
        let read = if lasts { ReadColumns::of(&plan, statement.text(), &context.snapshot)? } else { None };
        let (catalog, planning) = (Arc::downgrade(&context.snapshot.catalog), context.planning());
        let is_large = statement.text().len() > PLANS_DROPPED_HERE_BYTES_MAX;
        let disposer = is_large.then(|| Arc::clone(&self.compute));
        let memory = PlanMemory::reserve(&plan, self.memory_pool())?;
        let plan = Arc::new(Planned { plan, by_key, row_locks, catalog, read, planning, lasts, memory, disposer });
        Ok(Prepared {
            statement: Arc::clone(statement),
            parameters: planned.parameters,
            columns: Some(planned.columns.into()),
            prepared_micros: self.now().micros(),
            from_sql: false,
            plan: Some(plan),
            style: Some(Arc::clone(context.session.settings.style())),
            counted: KnownEntry::default(),
        })
    }

    /// Types the parameters of a statement that writes and the columns of RETURNING. Unless it is a
    /// write by key, it is planned when it runs.
    pub(crate) async fn prepare_write(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let (compiler, write, declared) = (self.clone(), Arc::clone(statement), declared.to_vec());
        let (signals, context) = (&context.signals, context.clone());
        let prepared = async move { Box::pin(compiler.type_write(&context, &write, &declared)).await };
        self.compute.plan(statement.text(), signals, prepared).await
    }

    async fn type_write(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Prepared> {
        let _room = self.room_for_plan(statement.text()).await;
        let written = statement.request.statement()?;
        let context = &self.with_new_properties(context, statement, declared).await?;
        let planner = self.planner(context);
        let write = Write::read(&planner, statement, written)?;
        let types = write.infer_types(&planner, statement, written, declared, context.session.settings.style()).await?;
        let settings = &context.session.settings;
        let by_key = by_key::recognize(&Analyzed::Write { write: &write, parameters: &types.parameters, settings });
        let plan = by_key.map(|by_key| {
            let (catalog, planning) = (Arc::downgrade(&context.snapshot.catalog), context.planning());
            let plan = LogicalPlan::default();
            let by_key = Some(by_key);
            Planned {
                plan,
                by_key,
                row_locks: None,
                catalog,
                read: None,
                planning,
                lasts: false,
                memory: PlanMemory::default(),
                disposer: None,
            }
        });
        Ok(Prepared {
            statement: Arc::clone(statement),
            parameters: types.parameters,
            columns: types.columns.map(Arc::from),
            prepared_micros: self.now().micros(),
            from_sql: false,
            plan: plan.map(Arc::new),
            style: Some(Arc::clone(context.session.settings.style())),
            counted: KnownEntry::default(),
        })
    }

    /// The edit that adds the columns which an INSERT names and its table does not have, if the
    /// session has such columns added.
    pub(crate) async fn new_properties(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Option<Edit>> {
        let (compiler, statement, declared) = (self.clone(), Arc::clone(statement), declared.to_vec());
        let (signals, context) = (&context.signals, context.clone());
        let edit = async move { compiler.edit_of_properties(&context, &statement, &declared).await };
        self.compute.run(signals, edit).await
    }

    async fn edit_of_properties(
        &self,
        context: &StatementContext,
        statement: &Statement,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<Option<Edit>> {
        if !context.session.settings.is_on(NEW_PROPERTIES) {
            return Ok(None);
        }
        let written = statement.request.statement()?;
        definitions::new_properties(&self.planner(context), statement, written, declared).await
    }

    /// A context with the columns that a statement would add, to plan it without running it.
    pub(crate) async fn with_new_properties(
        &self,
        context: &StatementContext,
        statement: &Statement,
        declared: &[Option<&'static PostgresType>],
    ) -> Result<StatementContext> {
        let snapshot = match self.edit_of_properties(context, statement, declared).await? {
            Some(edit) => context.snapshot.with_edits(&[edit])?,
            None => context.snapshot.clone(),
        };
        Ok(StatementContext { snapshot, ..context.clone() })
    }

    /// The value of an expression without columns, as EXECUTE takes them.
    pub(crate) async fn value_of(
        &self,
        context: &StatementContext,
        expr: &ast::Expr,
        ty: &'static PostgresType,
    ) -> Result<SqlValue> {
        let (compiler, expr) = (self.clone(), expr.clone());
        let (signals, context) = (&context.signals, context.clone());
        let value = async move {
            let style = context.session.settings.style().at(context.now.micros());
            parameters::value_of(&compiler.planner(&context).state, &expr, ty, &style).await
        };
        self.compute.run(signals, value).await
    }

    /// What functions may ask that depend on settings alone, and on no statement.
    fn lasting_config(&self, context: &StatementContext) -> Arc<ConfigOptions> {
        let mut options = self.state.state().config().options().as_ref().clone();
        options.execution.time_zone = Some(context.session.settings.get("TimeZone").unwrap_or("UTC").to_owned());
        Arc::new(options)
    }

    /// What the catalog and functions may ask in a statement.
    fn catalog_session(&self, context: &StatementContext) -> Arc<CatalogSession> {
        Arc::new(CatalogSession {
            session: Arc::clone(&context.session),
            database: self.account.as_str().to_owned(),
            default_account: Arc::clone(&self.default_account),
            catalog: Arc::clone(&context.snapshot.catalog),
            started_micros: self.started.micros(),
            now_micros: context.now.micros(),
            transaction: context.snapshot.sequence,
            functions: Arc::clone(&self.functions),
            statistics: Arc::clone(&self.statistics),
        })
    }

    /// What stops the frames of a statement, and where their memory is counted.
    fn frame_limits(&self, context: &StatementContext) -> functions::FrameLimits {
        let signals = Arc::clone(&context.signals);
        let check = move || signals.check().map_err(external);
        functions::FrameLimits::new(Arc::new(check), Arc::clone(&self.state.state().runtime_env().memory_pool))
    }

    /// The planner for one statement.
    pub(crate) fn planner(&self, context: &StatementContext) -> StatementPlanner {
        self.planner_with_literals(context, None)
    }

    /// The same for a statement that was prepared before.
    pub(crate) fn planner_of(&self, context: &StatementContext, prepared: &Prepared) -> StatementPlanner {
        let now = context.session.settings.style();
        let literals = prepared.style.as_ref().filter(|style| !Arc::ptr_eq(style, now) && *style != now);
        self.planner_with_literals(context, literals)
    }

    fn planner_with_literals(&self, context: &StatementContext, literals: Option<&Arc<TextStyle>>) -> StatementPlanner {
        let session = self.catalog_session(context);
        let system = SystemCatalog::new(context.snapshot.clone(), self.account.clone(), Arc::clone(&session) as _);
        let catalog = CatalogContext { oids: system.oids(), session: Arc::clone(&session) as _, control: session };
        let mut config = self.state.state().config().clone();
        let options = config.options_mut();
        options.execution.time_zone = Some(context.session.settings.get("TimeZone").unwrap_or("UTC").to_owned());
        options.extensions.insert(FunctionContextExtension(Arc::new(catalog)));
        options.extensions.insert(PlanningSignals(Arc::clone(&context.signals)));
        options.extensions.insert(self.frame_limits(context));
        options.extensions.insert(Stop::asking(Arc::clone(&context.signals) as _));
        let style = context.session.settings.style().at(context.now.micros());
        options.extensions.insert(functions::SessionStyle(Arc::new(style)));
        let settings = self.state.settings(config, context.now);
        let settings = match literals {
            Some(style) => settings.with_literal_style(style.as_ref().clone()),
            None => settings,
        };
        let tables = SnapshotCatalog {
            snapshot: context.snapshot.clone(),
            account: self.account.clone(),
            files: Arc::clone(self.store.files()),
            store: Arc::clone(&self.store),
            scan: self.options.scan,
            columns: Arc::clone(&self.columns),
            system: system.clone(),
            views: Arc::new(ViewExpansion::new(settings.clone(), system.clone(), OWN_FUNCTIONS)),
            rows: None,
            exports: context.session.exports.as_ref().map(|files| StatementExports::new(files, &context.signals)),
        };
        PlanningContext::new(settings, tables, system, context.session.settings.search_path(), OWN_FUNCTIONS).planner()
    }

    /// What a statement that defines something is to change.
    pub(crate) async fn definition(
        &self,
        context: &StatementContext,
        statement: &Arc<Statement>,
        definition: &ast::Statement,
    ) -> Result<Definition> {
        let (compiler, statement, definition) = (self.clone(), Arc::clone(statement), definition.clone());
        let (signals, context) = (&context.signals, context.clone());
        let defined = async move {
            let planner = compiler.planner(&context);
            let defined = definitions::define(definition, statement.text(), compiler.now(), &planner).await;
            // Places in the statement, which may not be the first of its text.
            let before = statement.source.slice(0, statement.from).chars().count();
            defined.map_err(|error| error.moved(before))
        };
        self.compute.run(signals, defined).await
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
    with_tables(plan, |table| Ok(table.in_snapshot(table.snapshot().without_content()))).map_err(from_datafusion)
}

/// Whether columns have the same names and types.
pub(crate) fn same_columns(before: &[Column], now: &[Column]) -> bool {
    before.len() == now.len()
        && before
            .iter()
            .zip(now)
            .all(|(a, b)| a.field.name() == b.field.name() && a.field.data_type() == b.field.data_type())
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler")
            .field("account", &self.account)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
