//! Reads the rows of a WITH query that is computed once.

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};

use super::spool::CteSpool;

/// The columns by which rows of a WITH query come, and how.
pub(super) type RowOrder = Vec<(usize, SortOptions)>;

/// `CTE Scan on name`.
#[derive(Debug, Clone)]
pub struct CteScanExec {
    spool: Arc<CteSpool>,
    schema: SchemaRef,
    projection: Option<Vec<usize>>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl CteScanExec {
    pub(super) fn try_new(
        spool: Arc<CteSpool>,
        schema: SchemaRef,
        projection: Option<Vec<usize>>,
        limit: Option<usize>,
        order: &RowOrder,
    ) -> Result<Self> {
        let schema = match &projection {
            Some(columns) => Arc::new(schema.project(columns)?),
            None => schema,
        };
        let place = |column: usize| match &projection {
            Some(columns) => columns.iter().position(|&projected| projected == column),
            None => Some(column),
        };
        // As far as the columns are there.
        let known = order.iter().map_while(|&(column, options)| {
            let place = place(column)?;
            let column = Column::new(schema.field(place).name(), place);
            Some(PhysicalSortExpr::new(Arc::new(column), options))
        });
        let known: Vec<_> = known.collect();
        let equivalences = match known.is_empty() {
            true => EquivalenceProperties::new(Arc::clone(&schema)),
            false => EquivalenceProperties::new_with_orderings(Arc::clone(&schema), [known]),
        };
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { spool, schema, projection, limit, properties: Arc::new(properties) })
    }

    /// Of the WITH query.
    pub fn cte_name(&self) -> &str {
        self.spool.name()
    }
}

impl DisplayAs for CteScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CTE Scan on {}", self.cte_name())?;
        self.limit.map_or(Ok(()), |limit| write!(f, ", at most {limit} rows"))
    }
}

impl ExecutionPlan for CteScanExec {
    fn name(&self) -> &str {
        "CteScanExec"
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

    /// So for `reset_state`: each step of a recursion reads the same rows.
    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("a scan has no inputs"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("a scan has no inputs"),
        }
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a scan of a WITH query has one partition, not {partition}");
        }
        let projection = self.projection.clone();
        Ok(Box::pin(self.spool.reader(Arc::clone(&self.schema), projection, self.limit)))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema)))
    }
}
