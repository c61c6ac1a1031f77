//! From a statement to a running plan.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::ParamValues;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::execution::context::SessionState;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::OptimizerRule;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::Statement;

use super::answer::Answer;
use super::error::{Error, ErrorKind, Result};
use super::explain::{self, AccessPaths};
use super::functions::{guid_text, other_property};
use super::memory::memory_bytes_available;
use super::snapshot_catalog::{ACCESS_PATHS, PUBLIC, SnapshotCatalog};
use super::statement::{Request, parse};
use crate::clock::{Clock, SystemClock};
use crate::functions;
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
        let mut state = SessionStateBuilder::new()
            .with_config(functions::configure(config))
            .with_runtime_env(runtime)
            .with_default_features()
            .build();
        let mut physical = state.physical_optimizers().to_vec();
        // Before requirements are enforced: there a sort still stands right over the scan it sorts.
        let place = physical.iter().position(|rule| rule.name() == "EnsureRequirements").unwrap_or(physical.len());
        physical.insert(place, Arc::new(ScanInKeyOrder));
        let mut logical: Vec<Arc<dyn OptimizerRule + Send + Sync>> = state.optimizers().to_vec();
        logical.push(Arc::new(AggregateFromSnapshot));
        state = SessionStateBuilder::new_from_existing(state)
            .with_physical_optimizer_rules(physical)
            .with_optimizer_rules(logical)
            .build();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        state = functions::register(state, &clock, functions::ObjectNames::default())?;
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
    pub async fn physical_plan(&self, mut query: Statement, parameters: &[Value]) -> Result<Arc<dyn ExecutionPlan>> {
        functions::rewrite_syntax(&mut query);
        let plan = self.state.statement_to_plan(ParsedStatement::Statement(Box::new(query))).await?;
        let plan = with_parameters(plan, parameters)?;
        Ok(self.state.create_physical_plan(&plan).await?)
    }

    fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Answer> {
        Ok(Answer::new(execute_stream(plan, self.state.task_ctx())?))
    }
}

fn with_parameters(plan: LogicalPlan, parameters: &[Value]) -> Result<LogicalPlan> {
    let wanted = plan.get_parameter_names()?;
    let given = |name: &String| {
        let number = name.trim_start_matches('$').parse::<usize>();
        number.is_ok_and(|number| (1..=parameters.len()).contains(&number))
    };
    if let Some(missing) = wanted.iter().find(|name| !given(name)) {
        let message = format!("parameter {missing} has no value: {} given, numbered from $1", parameters.len());
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if wanted.len() < parameters.len() {
        let message = format!("{} parameters given, the statement has {}", parameters.len(), wanted.len());
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if wanted.is_empty() {
        return Ok(plan);
    }
    let values = parameters.iter().map(|value| ScalarAndMetadata::from(scalar(value))).collect();
    Ok(plan.with_param_values(ParamValues::List(values))?)
}

fn scalar(value: &Value) -> ScalarValue {
    match value {
        Value::Binary(v) => ScalarValue::BinaryView(Some(v.clone())),
        Value::Boolean(v) => ScalarValue::Boolean(Some(*v)),
        Value::DateTime(v) => ScalarValue::TimestampMicrosecond(Some(v.micros()), Some("UTC".into())),
        Value::Double(v) => ScalarValue::Float64(Some(*v)),
        Value::Guid(v) => ScalarValue::FixedSizeBinary(16, Some(v.as_bytes().to_vec())),
        Value::Int32(v) => ScalarValue::Int32(Some(*v)),
        Value::Int64(v) => ScalarValue::Int64(Some(*v)),
        Value::String(v) => ScalarValue::Utf8View(Some(v.clone())),
    }
}
