//! VALUES whose items may be large.
//!
//! DataFusion computes VALUES while it plans, and the plan holds all of their rows, which are in no
//! memory pool. VALUES with an item that is not to be computed before there are rows are computed
//! while they are read, as many rows at a time as a batch may have bytes.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, Statistics, internal_err, plan_err};
use datafusion::execution::context::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore, Values,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::stream;

use crate::cancellation::with_counted_arguments;
use crate::carried::Stop;
use crate::functions::{ValueBudget, is_deferred, shown_bytes};
use crate::rules::Rules;

/// Rows of a batch at most.
const ROWS_MAX: usize = 8192;

/// Adds the rule behind all others, which have simplified the items, and the planner of its node.
pub(crate) fn install(state: SessionState) -> SessionState {
    let mut rules = Rules::of(&state);
    rules.optimizer.last(Arc::new(DeferValues));
    rules.extension_planners.push(Arc::new(PlanDeferredValues));
    rules.put_into(state)
}

#[derive(Debug)]
struct DeferValues;

impl OptimizerRule for DeferValues {
    fn name(&self) -> &str {
        "defer_values"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Values(values) if has_deferred(&values)? => {
                let node = Arc::new(DeferredValues { values });
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn has_deferred(values: &Values) -> Result<bool> {
    for item in values.values.iter().flatten() {
        if is_deferred(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// VALUES that DataFusion's physical planner leaves to the one of this node.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DeferredValues {
    values: Values,
}

impl PartialOrd for DeferredValues {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.values.partial_cmp(&other.values)
    }
}

impl UserDefinedLogicalNodeCore for DeferredValues {
    fn name(&self) -> &str {
        "DeferredValues"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.values.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.values.values.iter().flatten().cloned().collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "DeferredValues: {} rows", self.values.values.len())
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, _inputs: Vec<LogicalPlan>) -> Result<Self> {
        let width = self.values.schema.fields().len();
        if width == 0 || exprs.len() != width * self.values.values.len() {
            return plan_err!("VALUES have as many items as before");
        }
        let values = exprs.chunks(width).map(<[Expr]>::to_vec).collect();
        Ok(Self { values: Values { schema: Arc::clone(&self.values.schema), values } })
    }
}

struct PlanDeferredValues;

#[async_trait]
impl ExtensionPlanner for PlanDeferredValues {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical: &[&LogicalPlan],
        _physical: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(DeferredValues { values }) = node.as_any().downcast_ref() else { return Ok(None) };
        let item = |item: &Expr| planner.create_physical_expr(item, &values.schema, session, context);
        let row = |row: &Vec<Expr>| row.iter().map(item).collect::<Result<Vec<_>>>();
        let rows = values.values.iter().map(row).collect::<Result<Vec<_>>>()?;
        Ok(Some(Arc::new(DeferredValuesExec::new(rows, Arc::clone(values.schema.inner())))))
    }
}

/// Computes the rows of VALUES while they are read.
#[derive(Debug)]
pub(crate) struct DeferredValuesExec {
    rows: Arc<Vec<Vec<Arc<dyn PhysicalExpr>>>>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl DeferredValuesExec {
    fn new(rows: Vec<Vec<Arc<dyn PhysicalExpr>>>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { rows: Arc::new(rows), schema, properties: Arc::new(properties) }
    }
}

impl DisplayAs for DeferredValuesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeferredValuesExec: {} rows", self.rows.len())
    }
}

impl ExecutionPlan for DeferredValuesExec {
    fn name(&self) -> &str {
        "DeferredValuesExec"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("VALUES have no inputs") }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("VALUES have no inputs") }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("VALUES have one partition, not {partition}");
        }
        let options = context.session_config().options();
        let computing = Computing {
            rows: Arc::clone(&self.rows),
            next: 0,
            schema: self.schema(),
            budget: ValueBudget::of(options),
            stop: Stop::of(options),
        };
        let batches = stream::try_unfold(computing, |mut computing| async move {
            Ok(computing.next_batch()?.map(|batch| (batch, computing)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let num_rows = Precision::Exact(self.rows.len());
        Ok(Arc::new(Statistics { num_rows, ..Statistics::new_unknown(&self.schema) }))
    }
}

/// VALUES that are read.
struct Computing {
    rows: Arc<Vec<Vec<Arc<dyn PhysicalExpr>>>>,
    /// The row to compute next.
    next: usize,
    schema: SchemaRef,
    budget: ValueBudget,
    stop: Stop,
}

impl Computing {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let no_columns = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.schema.fields().len()];
        let (mut rows, mut bytes) = (0, 0);
        while let Some(row) = self.rows.get(self.next)
            && rows < ROWS_MAX
            && bytes < self.budget.batch_bytes()
        {
            self.stop.check()?;
            let mut row_bytes = 0;
            for (item, column) in row.iter().zip(&mut columns) {
                let item = with_counted_arguments(Arc::clone(item), self.budget)?;
                let value = item.evaluate(&no_columns)?.into_array(1)?;
                row_bytes += shown_bytes(&value);
                self.budget.row(row_bytes)?;
                column.push(value);
            }
            (rows, bytes) = (rows + 1, bytes + row_bytes);
            self.next += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let column = |parts: &Vec<ArrayRef>| concat(&parts.iter().map(|part| part as &dyn Array).collect::<Vec<_>>());
        let columns = columns.iter().map(column).collect::<std::result::Result<_, _>>()?;
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }
}
