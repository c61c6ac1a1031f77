//! The scan of one table in a physical plan.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::OnceCell;

use super::columns::TableColumns;
use super::key_order::{Direction, reversed_scan};
use super::masked::{has_masks, live_rows};
use super::optional_filter::with_optional_filters;
use super::pages_read::PagesRead;
use super::reader::RunHandle;
use super::recent::{Part, recent_batches, recent_rows};
use super::wanted_pages::with_wanted_pages;
use crate::access::{AccessPlan, has_run_time_parts, run_time_keys};
use rowkey_postgres::cancellation::makes_large_values;
use rowkey_storage::Table;
use rowkey_storage::delta::Layers;
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, RunFile, RunFiles};

/// What a scan was planned from; EXPLAIN tells it.
#[derive(Debug)]
pub(crate) struct Scan {
    pub table: Arc<Table>,
    pub columns: TableColumns,
    /// Recent writes, which are not in run files yet.
    pub layers: Option<Arc<Layers>>,
    pub access: AccessPlan,
    /// All filters that the planner offered.
    pub filters: Vec<Expr>,
    /// The files that may hold a wanted key, in the order of their range partitions, each with the
    /// place of it; masked are the rows that recent writes take the place of.
    pub selected: Vec<(usize, Arc<RunFile>)>,
    pub files: Arc<RunFiles>,
    pub pages_read: Arc<PagesRead>,
}

impl Scan {
    /// Files in the order of their range partitions as groups in each of which keys ascend: the
    /// first files of all range partitions, the second ones, and so on. At least one, be it empty.
    fn lanes(&self, files: Vec<PartitionedFile>) -> Vec<FileGroup> {
        let range_of = |file: &PartitionedFile| {
            let run = file.extension::<RunHandle>().map(|RunHandle(run)| run.id);
            self.selected.iter().find(|(_, selected)| Some(selected.id) == run).map(|(range, _)| *range)
        };
        let mut lanes: Vec<Vec<PartitionedFile>> = vec![Vec::new()];
        let (mut last, mut lane) = (None, 0);
        for file in files {
            let range = range_of(&file);
            lane = if range == last { lane + 1 } else { 0 };
            last = range;
            if lanes.len() <= lane {
                lanes.push(Vec::new());
            }
            lanes[lane].push(file);
        }
        lanes.into_iter().map(FileGroup::new).collect()
    }

    /// Whether all wanted keys lie in one partition.
    pub(crate) fn one_partition(&self) -> bool {
        match self.access.keys.ranges() {
            [] => true,
            [first, rest @ ..] => first
                .single_partition()
                .is_some_and(|partition| rest.iter().all(|range| range.single_partition() == Some(partition))),
        }
    }
}

/// Reads the entities of one table that the access plan selects.
///
/// A leaf: the stock Parquet scan inside takes filters, projections and limits that the optimizer
/// pushes down. Beyond it, this node knows its access path and can read in key order in both
/// directions.
#[derive(Debug, Clone)]
pub(crate) struct EntityScanExec {
    scan: Arc<Scan>,
    parquet: Arc<DataSourceExec>,
    order: Option<Direction>,
    properties: Arc<PlanProperties>,
    /// Counts what comes from recent writes, and what they take the place of.
    recent: ExecutionPlanMetricsSet,
    /// What is read in one execution, by all partitions: of keys that operators above have found
    /// out when the first rows are asked for.
    narrowed: Arc<OnceCell<Arc<DataSourceExec>>>,
}

/// The counter of rows that come from recent writes.
pub(super) const RECENT_ROWS: &str = "recent_rows";
/// The counter of stored rows that were read in vain: recent writes have taken their place.
pub(super) const MASKED_ROWS: &str = "masked_rows";

impl EntityScanExec {
    pub(crate) fn new(scan: Arc<Scan>, parquet: Arc<DataSourceExec>) -> Self {
        let properties = Arc::clone(parquet.properties());
        let (recent, narrowed) = (ExecutionPlanMetricsSet::new(), Arc::default());
        Self { scan, parquet, order: None, properties, recent, narrowed }
    }

    pub(crate) fn scan(&self) -> &Arc<Scan> {
        &self.scan
    }

    /// Set if entities come out in key order.
    pub(crate) fn order(&self) -> Option<Direction> {
        self.order
    }

    pub(crate) fn config(&self) -> Result<&FileScanConfig> {
        config_of(&self.parquet)
    }

    /// The place of a table column in this node's output, if it comes out as it is.
    pub(crate) fn output_of(&self, column: &str) -> Option<usize> {
        let projection = self.config().ok()?.file_source().projection()?.clone();
        projection.iter().position(|out| out.expr.downcast_ref::<Column>().is_some_and(|read| read.name() == column))
    }

    /// The table column that comes out at `index`, if it comes out as it is.
    pub(crate) fn table_column(&self, index: usize) -> Option<String> {
        let projection = self.config().ok()?.file_source().projection()?.clone();
        let out = projection.iter().nth(index)?;
        out.expr.downcast_ref::<Column>().map(|read| read.name().to_owned())
    }

    /// The same scan as one partition in key order, stopping after `fetch` rows.
    pub(crate) fn in_key_order(&self, direction: Direction, fetch: Option<usize>) -> Result<Self> {
        let config = self.config()?;
        let files = config.file_groups.iter().flat_map(|group| group.files().iter().cloned());
        // Parts of one file are whole again.
        let mut whole: Vec<PartitionedFile> = Vec::new();
        for mut file in files {
            file.range = None;
            if whole.last().is_none_or(|last| last.path() != file.path()) {
                whole.push(file);
            }
        }
        let limit = match (fetch, config.limit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let config = FileScanConfigBuilder::from(config.clone())
            .with_file_groups(self.scan.lanes(whole))
            .with_limit(limit)
            .with_preserve_order(true)
            .build();
        Ok(Self { order: Some(direction), ..self.with_parquet(DataSourceExec::from_data_source(config)) }
            .with_order_properties())
    }

    fn open_bytes(&self) -> Result<usize> {
        let config = self.config()?;
        let columns = self.scan.table.columns.len().max(1) as u64;
        let read = config.file_source().projection().map_or(columns, |read| read.iter().count() as u64).min(columns);
        let of_file = |file: &PartitionedFile| {
            let Some(RunHandle(run)) = file.extension::<RunHandle>() else { return 0 };
            let part = file.range.as_ref().map_or(run.bytes, |range| range.end.abs_diff(range.start));
            (run.bytes / u64::from(run.row_groups.max(1))).min(part) * read / columns
        };
        let groups = config.file_groups.iter().map(|group| group.files().iter().map(of_file).max().unwrap_or(0));
        Ok(usize::try_from(groups.sum::<u64>()).unwrap_or(usize::MAX))
    }

    fn with_parquet(&self, parquet: Arc<DataSourceExec>) -> Self {
        let properties = Arc::clone(parquet.properties());
        let (scan, recent, narrowed) = (Arc::clone(&self.scan), self.recent.clone(), Arc::default());
        Self { scan, parquet, order: self.order, properties, recent, narrowed }.with_order_properties()
    }

    /// How a key column of the output is sorted.
    fn sorted(&self, name: &str, direction: Direction) -> Option<PhysicalSortExpr> {
        let index = self.output_of(name)?;
        let column = Column::new(self.schema().field(index).name(), index);
        Some(PhysicalSortExpr::new(Arc::new(column), direction.sort_options()))
    }

    /// The key columns of the output that tell its order; in one partition RowKey alone does, and
    /// PartitionKey says nothing.
    fn ordered_by(&self) -> Vec<&'static str> {
        let is_there = |name: &&str| self.output_of(name).is_some();
        match self.scan.one_partition() && is_there(&ROW_KEY) {
            true => vec![ROW_KEY],
            false => [PARTITION_KEY, ROW_KEY].into_iter().take_while(is_there).collect(),
        }
    }

    fn ordering(&self, direction: Direction) -> Vec<PhysicalSortExpr> {
        self.ordered_by().into_iter().filter_map(|name| self.sorted(name, direction)).collect()
    }

    /// Streams all lanes as one, in key order.
    fn merged(&self, direction: Direction, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let config = self.config()?;
        let lanes = config.file_groups.len();
        let mut streams: Vec<SendableRecordBatchStream> = Vec::with_capacity(lanes + 2);
        for lane in 0..lanes {
            streams.push(match direction {
                Direction::Forward => self.stored(lane, &context)?,
                Direction::Backward => reversed_scan(self, lane, Arc::clone(&context))?,
            });
        }
        for batches in self.recent(direction, Part::WHOLE)? {
            streams.push(Box::pin(RecordBatchStreamAdapter::new(
                self.schema(),
                stream::iter(batches.into_iter().map(Ok)),
            )));
        }
        if streams.len() == 1 {
            return Ok(streams.remove(0));
        }
        let Some(ordering) = LexOrdering::new(self.ordering(direction)) else {
            return internal_err!("a scan in key order has no key among its columns");
        };
        let memory = MemoryConsumer::new(format!("EntityScanExec[{}]", self.scan.table.name));
        StreamingMergeBuilder::new()
            .with_streams(streams)
            .with_schema(self.schema())
            .with_expressions(&ordering)
            .with_metrics(BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0))
            .with_batch_size(context.session_config().batch_size())
            .with_fetch(self.fetch())
            .with_reservation(memory.register(context.memory_pool()))
            .build()
    }

    /// A part of the recent entities of every layer, counted.
    fn recent(&self, direction: Direction, part: Part) -> Result<Vec<Vec<RecordBatch>>> {
        let layers = recent_batches(&self.scan, self.config()?, direction, part)?;
        let counted = MetricBuilder::new(&self.recent).counter(RECENT_ROWS, part.at);
        counted.add(layers.iter().flatten().map(RecordBatch::num_rows).sum());
        Ok(layers)
    }

    /// The live rows of one group of files. What is known only while the plan runs is looked at
    /// when the first of them are asked for.
    fn stored(&self, group: usize, context: &Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let filter = self.config()?.file_source().filter();
        if self.scan.access.keys.is_all() && !filter.as_ref().is_some_and(has_run_time_parts) {
            return self.live(&self.parquet, group, context);
        }
        let (scan, context) = (self.clone(), Arc::clone(context));
        let rows = async move {
            let narrowed = scan.narrowed.get_or_try_init(|| scan.narrow(filter.as_ref())).await?;
            scan.live(narrowed, group, &context)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream::once(rows).try_flatten())))
    }

    /// The Parquet scan of the pages that may hold a wanted key.
    async fn narrow(&self, filter: Option<&Arc<dyn PhysicalExpr>>) -> Result<Arc<DataSourceExec>> {
        let planned = &self.scan.access.keys;
        let keys = match filter.map(run_time_keys).transpose()?.flatten() {
            Some(keys) => Cow::Owned(keys.intersect(planned)),
            None => Cow::Borrowed(planned),
        };
        if keys.is_all() {
            return Ok(Arc::clone(&self.parquet));
        }
        Ok(DataSourceExec::from_data_source(with_wanted_pages(self.config()?, &self.scan.files, &keys).await?))
    }

    fn live(
        &self,
        parquet: &Arc<DataSourceExec>,
        group: usize,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let config = config_of(parquet)?;
        // The stock scan lets one group take over files of another that is behind: it reads all
        // groups, or none.
        if !config.file_groups.iter().any(has_masks) {
            return parquet.execute(group, Arc::clone(context));
        }
        let masked = MetricBuilder::new(&self.recent).counter(MASKED_ROWS, group);
        live_rows(config, group, &self.schema(), masked, context)
    }

    /// How many recent entities the scan looks at.
    pub(crate) fn recent_rows(&self) -> Result<u64> {
        recent_rows(&self.scan)
    }

    fn with_order_properties(mut self) -> Self {
        let Some(direction) = self.order else { return self };
        let inner = self.parquet.properties();
        let mut equivalences: EquivalenceProperties = inner.equivalence_properties().clone();
        let sorted = |name: &str| self.sorted(name, direction);
        let ordering: Vec<PhysicalSortExpr> = [PARTITION_KEY, ROW_KEY].into_iter().map_while(sorted).collect();
        // In one partition, RowKey alone is in order too.
        if let Some(row) = sorted(ROW_KEY).filter(|_| self.scan.one_partition()) {
            equivalences.add_ordering([row]);
        }
        if !ordering.is_empty() {
            equivalences.add_ordering(ordering);
        }
        self.properties = Arc::new(PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            inner.emission_type,
            inner.boundedness,
        ));
        self
    }

    /// Wraps what an operation on the Parquet scan gave.
    fn rewrap(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(parquet) = plan.downcast_ref::<DataSourceExec>() else {
            return internal_err!("a Parquet scan became {}", plan.name());
        };
        Ok(Arc::new(self.with_parquet(Arc::new(parquet.clone()))))
    }
}

fn config_of(parquet: &DataSourceExec) -> Result<&FileScanConfig> {
    match parquet.data_source().downcast_ref::<FileScanConfig>() {
        Some(config) => Ok(config),
        None => internal_err!("an entity scan reads Parquet files"),
    }
}

impl DisplayAs for EntityScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityScanExec: table={}, path={}", self.scan.table.name, self.scan.access.path.label())?;
        if let Some(direction) = self.order {
            write!(f, ", order={direction}")?;
        }
        if let Some(fetch) = self.fetch() {
            write!(f, ", limit={fetch}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for EntityScanExec {
    fn name(&self) -> &str {
        "EntityScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn schema(&self) -> SchemaRef {
        self.parquet.schema()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("an entity scan has no inputs") }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("an entity scan has no inputs") }
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.parquet.apply_expressions(f)
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        config: &ConfigOptions,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if self.order.is_some() {
            return Ok(None);
        }
        self.parquet.repartitioned(target_partitions, config)?.map(|plan| self.rewrap(plan)).transpose()
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match self.order {
            Some(direction) => self.merged(direction, context),
            // Every partition has its part of the recent writes.
            None if self.scan.layers.is_some() => {
                let part = Part { at: partition, of: self.properties.partitioning.partition_count() };
                let recent = self.recent(Direction::Forward, part)?.into_iter().flatten();
                let both = stream::iter(recent.map(Ok)).chain(self.stored(partition, &context)?);
                let both: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(self.schema(), both));
                let Some(fetch) = self.fetch() else { return Ok(both) };
                // The limit above was taken away for this one.
                let metrics = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), partition);
                Ok(Box::pin(LimitStream::new(both, 0, Some(fetch), metrics)))
            }
            None => self.stored(partition, &context),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.parquet.metrics().unwrap_or_default();
        self.recent.clone_inner().iter().for_each(|metric| metrics.push(Arc::clone(metric)));
        Some(metrics)
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.parquet.statistics_from_inputs(inputs, args)
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let plan = self.parquet.with_fetch(limit)?;
        self.rewrap(plan).ok()
    }

    fn fetch(&self) -> Option<usize> {
        self.parquet.fetch()
    }

    fn try_swapping_with_projection(&self, projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if makes_large_values(projection)? {
            return Ok(None);
        }
        let Some(plan) = self.parquet.try_swapping_with_projection(projection)? else { return Ok(None) };
        let swapped = self.rewrap(plan)?;
        if let (Some(_), Some(scan)) = (self.order, swapped.downcast_ref::<Self>()) {
            // Lanes are merged by their keys, which have to be there for it.
            let merges = self.scan.layers.is_some() || self.config()?.file_groups.len() > 1;
            if merges && scan.ordered_by() != self.ordered_by() {
                return Ok(None);
            }
        }
        Ok(Some(swapped))
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let optional = with_optional_filters(child_pushdown_result);
        let mut pushed = self.parquet.handle_child_pushdown_result(phase, optional, config)?;
        pushed.updated_node = pushed.updated_node.map(|plan| self.rewrap(plan)).transpose()?;
        Ok(pushed)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let parquet: Arc<dyn ExecutionPlan> = Arc::clone(&self.parquet) as _;
        self.rewrap(parquet.reset_state()?)
    }
}

/// How many rows the scans of a plan make a batch, if some make fewer than the session has.
pub(crate) fn batch_rows_min(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<usize>> {
    let mut fewest: Option<usize> = None;
    plan.apply(|plan| {
        if let Some(scan) = plan.downcast_ref::<EntityScanExec>()
            && let Some(rows) = scan.config()?.batch_size
        {
            fewest = Some(fewest.map_or(rows, |fewest| fewest.min(rows)));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(fewest)
}

/// What the scans of a plan hold while they are open, in bytes, about: each partition has the
/// chunks of one row group.
pub(crate) fn open_bytes(plan: &Arc<dyn ExecutionPlan>) -> Result<usize> {
    let mut bytes = 0_usize;
    plan.apply(|plan| {
        if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
            bytes = bytes.saturating_add(scan.open_bytes()?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(bytes)
}
