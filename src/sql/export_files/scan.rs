//! A file as a table that is read from its beginning to its end.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use rowkey_base::{Error, SqlState};
use rowkey_postgres::error::external;

use super::file::ExportFile;

/// Batches that wait for what reads them.
const BATCHES_AHEAD: usize = 2;

/// A file as a table.
#[derive(Debug)]
pub(super) struct ExportTable(pub Arc<ExportFile>);

#[async_trait]
impl TableProvider for ExportTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ExportScanExec::try_new(Arc::clone(&self.0), projection.cloned(), limit)?))
    }
}

/// Gives the entities of a file, in one partition.
#[derive(Debug)]
pub(crate) struct ExportScanExec {
    file: Arc<ExportFile>,
    projection: Option<Vec<usize>>,
    limit: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ExportScanExec {
    fn try_new(file: Arc<ExportFile>, projection: Option<Vec<usize>>, limit: Option<usize>) -> Result<Self> {
        let schema = match &projection {
            Some(columns) => Arc::new(file.schema.project(columns)?),
            None => Arc::clone(&file.schema),
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { file, projection, limit, schema, properties: Arc::new(properties), metrics })
    }

    /// The path of the file, and its size in bytes.
    pub(crate) fn file(&self) -> (String, u64) {
        (self.file.name(), self.file.bytes())
    }
}

impl DisplayAs for ExportScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File Scan on {}", self.file.name())
    }
}

impl ExecutionPlan for ExportScanExec {
    fn name(&self) -> &str {
        "ExportScanExec"
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

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a scan of a file has one partition, not {partition}");
        }
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), BATCHES_AHEAD);
        let (file, batches, projection) = (Arc::clone(&self.file), stream.tx(), self.projection.clone());
        let (mut left, metrics) = (self.limit.unwrap_or(usize::MAX), BaselineMetrics::new(&self.metrics, partition));
        stream.spawn_blocking(move || {
            let read = file.read(&mut |batch| {
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                let batch = projected(batch, projection.as_deref())?.record_output(&metrics);
                // Once the receiver is gone, or the limit is reached, the rest is not read.
                let goes_on = batches.blocking_send(Ok(batch)).is_ok() && left > 0;
                if goes_on { Ok(()) } else { Err(rest_not_needed()) }
            });
            metrics.done();
            match read {
                Err(error) if error.sqlstate() == SqlState::QUERY_CANCELED => Ok(()),
                read => read.map_err(external),
            }
        });
        Ok(stream.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let rows = self.file.entities().min(self.limit.unwrap_or(usize::MAX));
        // It may change until it is read.
        statistics.num_rows = Precision::Inexact(rows);
        Ok(Arc::new(statistics))
    }
}

fn projected(batch: RecordBatch, columns: Option<&[usize]>) -> rowkey_base::Result<RecordBatch> {
    let projected = columns.map_or(Ok(batch.clone()), |columns| batch.project(columns));
    projected.map_err(|error| rowkey_postgres::error::from_datafusion(DataFusionError::from(error)))
}

fn rest_not_needed() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "the rest is not needed")
}
