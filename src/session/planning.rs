//! From a statement to a running plan.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::execution::context::SessionState;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::optimizer::OptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement;

use super::answer::Answer;
use super::error::Result;
use super::explain::{self, AccessPaths};
use super::functions::{guid_text, other_property};
use super::memory::memory_bytes_available;
use super::parameters::with_parameters;
use super::snapshot_catalog::{ACCESS_PATHS, PUBLIC, SnapshotCatalog};
use super::statement::{Request, parse};
use super::typed_literals::TypedLiterals;
use crate::model::{AccountName, Value};
use crate::provider::{AggregateFromSnapshot, ScanInKeyOrder, ScanOptions};
use crate::storage::Store;

/// Memory for queries where the machine does not tell how much it has.
const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;
/// Join keys up to this many are pushed into the other side's scan as a list; beyond, as bounds.
const JOIN_KEYS_PUSHED_MAX: usize = 1000;
/// Consumers named when memory runs out.
const CONSUMERS_NAMED: usize = 3;

/// How statements run.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Memory that sorts, joins and aggregates may use together before they spill, in bytes; by default half of what this process
    /// may have.
    pub memory_bytes: Option<u64>,
    /// Where they spill to; by default the system's folder for temporary files.
    pub spill_folder: Option<PathBuf>,
    /// Threads of one query; by default the machine's.
    pub target_partitions: Option<usize>,
    pub scan: ScanOptions,
}

/// Runs statements of one caller against one account.
#[derive(Clone)]
pub struct Session {
    store: Arc<Store>,
    account: AccountName,
    options: SessionOptions,
    /// Functions, rules and settings; the tables come with every statement.
    state: SessionState,
}

impl Session {
    pub fn new(store: Arc<Store>, account: AccountName, options: SessionOptions) -> Result<Self> {
        let memory_bytes = options.memory_bytes.or_else(|| memory_bytes_available().map(|bytes| bytes / 2));
        let pool = FairSpillPool::new(memory_bytes.unwrap_or(MEMORY_BYTES_DEFAULT) as usize);
        let named = std::num::NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(std::num::NonZeroUsize::MIN);
        let spill = match &options.spill_folder {
            Some(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
            None => DiskManagerMode::OsTmpDirectory,
        };
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, named)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
            .build_arc()?;
        let mut config = SessionConfig::new()
            .with_default_catalog_and_schema(account.as_str(), PUBLIC)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(true)
            .set_bool("datafusion.execution.parquet.pushdown_filters", options.scan.filter_pushdown)
            .set_str("datafusion.sql_parser.dialect", "postgres")
            .set_usize("datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values", JOIN_KEYS_PUSHED_MAX);
        if let Some(partitions) = options.target_partitions {
            config = config.with_target_partitions(partitions.max(1));
        }
        let mut state =
            SessionStateBuilder::new().with_config(config).with_runtime_env(runtime).with_default_features().build();
        let mut physical = state.physical_optimizers().to_vec();
        // Before requirements are enforced: there a sort still stands right over the scan it sorts.
        let place = physical.iter().position(|rule| rule.name() == "EnsureRequirements").unwrap_or(physical.len());
        physical.insert(place, Arc::new(ScanInKeyOrder));
        let mut logical: Vec<Arc<dyn OptimizerRule + Send + Sync>> = state.optimizers().to_vec();
        logical.push(Arc::new(AggregateFromSnapshot));
        let mut analyzer: Vec<_> = state.analyzer().rules.clone();
        // Before types are coerced: afterwards a Guid would be compared with the bytes of a text, and a time in nanoseconds.
        let place = analyzer.iter().position(|rule| rule.name() == "type_coercion").unwrap_or(0);
        analyzer.insert(place, Arc::new(TypedLiterals));
        let mut operators = state.expr_planners().to_vec();
        operators.insert(0, Arc::new(TypedLiterals));
        state = SessionStateBuilder::new_from_existing(state)
            .with_physical_optimizer_rules(physical)
            .with_optimizer_rules(logical)
            .with_analyzer_rules(analyzer)
            .with_expr_planners(operators)
            .build();
        for function in [guid_text(), other_property()] {
            datafusion::execution::FunctionRegistry::register_udf(&mut state, function)?;
        }
        Ok(Self { store, account, options, state })
    }

    /// Runs one statement.
    pub async fn sql(&self, text: &str, parameters: &[Value]) -> Result<Answer> {
        let statement = self.statement();
        match parse(text)? {
            Request::Query(query) => {
                let plan = statement.physical_plan(*query, parameters).await?;
                statement.run(plan)
            }
            Request::Explain { statement: query, analyze, verbose, format } => {
                let plan = statement.physical_plan(*query, parameters).await?;
                let explained = explain::explain(&plan, statement.state.task_ctx(), analyze, verbose, format).await?;
                Ok(Answer::new(explained))
            }
        }
    }

    /// The planner for one statement, on the newest snapshot.
    fn statement(&self) -> PlannedStatement {
        let mut state = self.state.clone();
        let tables = SnapshotCatalog {
            snapshot: self.store.snapshot(),
            account: self.account.clone(),
            files: Arc::clone(self.store.files()),
            scan: self.options.scan,
        };
        state.register_catalog_list(Arc::new(tables));
        let inner = state.clone();
        state.register_udtf(ACCESS_PATHS, Arc::new(AccessPaths::new(PlannedStatement { state: inner })));
        PlannedStatement { state }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("account", &self.account)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A statement being planned: the session's state with the tables of one snapshot.
#[derive(Debug, Clone)]
pub(super) struct PlannedStatement {
    state: SessionState,
}

impl PlannedStatement {
    /// Plans a query.
    pub async fn physical_plan(&self, query: Statement, parameters: &[Value]) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.state.statement_to_plan(ParsedStatement::Statement(Box::new(query))).await?;
        let plan = with_parameters(plan, parameters)?;
        Ok(self.state.create_physical_plan(&plan).await?)
    }

    fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Answer> {
        Ok(Answer::new(execute_stream(plan, self.state.task_ctx())?))
    }
}
