//! A table of one snapshot, as DataFusion sees it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::TableParquetOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{
    Column, ColumnStatistics, Constraint, Constraints, DFSchema, Result, ScalarValue, Statistics,
};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown};
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_plan::ExecutionPlan;

use super::adapter::EntityColumnAdapterFactory;
use super::columns::TableColumns;
use super::pages_read::PagesRead;
use super::reader::{RunHandle, RunReaderFactory};
use super::scan_exec::{EntityScanExec, Scan};
use crate::access::plan_access;
use rowkey_model::{KeyCut, KeyRef, KeySet};
use rowkey_postgres::cancellation::checked_filter;
use rowkey_postgres::desugar::holds_subquery;
use rowkey_postgres::error::external;
use rowkey_postgres::functions::{all_of, batch_bytes, conditional_filter};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, RunFile, RunFiles};
use rowkey_storage::{Table, TableSnapshot};

/// Recent writes of this many keys are looked up one by one; for more, all of them are gone
/// through.
const POINTS_MAX: usize = 1000;

/// What part of the rows passes a claimed filter, for the order of joins: DataFusion's default for
/// its own filters.
const SELECTIVITY: f64 = 0.2;

/// Values that a scan keeps for its rows after it has filtered by them; the reader's own default.
const FILTERED_BYTES_MAX: usize = 100 << 20;

/// However wide rows are, a batch has some.
const BATCH_ROWS_MIN: u64 = 16;

/// How tables are scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOptions {
    /// Filters are evaluated inside the Parquet scan, so that rows that fail them are not decoded
    /// further.
    pub filter_pushdown: bool,
    /// Files, row groups and pages are left out by their keys. Off, every scan reads everything and
    /// filters are evaluated above it: the plain path that the clever one is checked against.
    pub pruning: bool,
    /// Scans of fewer rows than this run on one thread: starting more costs as much as reading
    /// them.
    pub parallel_rows_min: u64,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { filter_pushdown: true, pruning: true, parallel_rows_min: 64 * 1024 }
    }
}

/// A table at one sequence number of the log. It never changes; the next statement gets another
/// one.
#[derive(Debug)]
pub(crate) struct EntityTable {
    snapshot: TableSnapshot,
    columns: TableColumns,
    files: Arc<RunFiles>,
    options: ScanOptions,
    constraints: Constraints,
}

impl EntityTable {
    /// `columns` are those of the table.
    pub(crate) fn new(
        snapshot: TableSnapshot,
        columns: TableColumns,
        files: Arc<RunFiles>,
        options: ScanOptions,
    ) -> Self {
        let constraints = Constraints::new_unverified(vec![Constraint::PrimaryKey(vec![0, 1])]);
        Self { snapshot, columns, files, options, constraints }
    }

    /// The same table, with the same columns, in another snapshot.
    pub(crate) fn in_snapshot(&self, snapshot: TableSnapshot) -> Self {
        Self {
            snapshot,
            columns: self.columns.clone(),
            files: Arc::clone(&self.files),
            options: self.options,
            constraints: self.constraints.clone(),
        }
    }

    /// The table as it is stored.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.snapshot.table
    }

    pub(crate) fn files(&self) -> &Arc<RunFiles> {
        &self.files
    }

    /// The table with its recent writes.
    pub(crate) fn snapshot(&self) -> &TableSnapshot {
        &self.snapshot
    }

    /// False where everything is to go the plain way.
    pub(crate) fn reads_cleverly(&self) -> bool {
        self.options == ScanOptions::default()
    }

    /// Its columns in SQL.
    pub(crate) fn columns(&self) -> &TableColumns {
        &self.columns
    }

    /// Fewer rows of a batch than the session has, where rows are wide: a batch is decoded before
    /// any pool knows of it. Wide are texts and binaries that are read, which the keys are not.
    fn batch_rows_max(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        selected: &[(usize, Arc<RunFile>)],
    ) -> Option<usize> {
        let row_bytes = |run: &RunFile| run.encoded_bytes / run.rows.max(1);
        let widest = selected.iter().map(|(_, run)| row_bytes(run)).max()?;
        let rows = (batch_bytes(state.config_options()) as u64 / widest.max(1)).max(BATCH_ROWS_MIN) as usize;
        if rows >= state.config().batch_size() {
            return None;
        }
        let schema = self.columns.schema();
        let is_wide = |column: usize| {
            let field = schema.field(column);
            field.data_type().primitive_width().is_none() && ![PARTITION_KEY, ROW_KEY].contains(&field.name().as_str())
        };
        let is_filtered = |column: &Column| schema.index_of(&column.name).is_ok_and(is_wide);
        let reads_wide = match projection {
            Some(columns) => columns.iter().copied().any(is_wide),
            None => true,
        };
        (reads_wide || filters.iter().any(|filter| filter.column_refs().into_iter().any(is_filtered))).then_some(rows)
    }

    fn partitioned_file(&self, run: &Arc<RunFile>) -> PartitionedFile {
        let mut file = PartitionedFile::new(run.path.clone(), run.bytes)
            .with_extension(RunHandle(Arc::clone(run)))
            .with_arrow_schema(run.layout().view_schema());
        file.statistics = Some(Arc::new(self.statistics(run)));
        file
    }

    /// Bounds of the keys, for pruning by filters that come at run time. Never exact: DataFusion
    /// would take an exact bound for data, and rows may be masked or filtered.
    fn statistics(&self, run: &RunFile) -> Statistics {
        let mut statistics = Statistics::new_unknown(self.columns.schema())
            .with_num_rows(Precision::Inexact(run.live_rows() as usize))
            .with_total_byte_size(Precision::Inexact(run.bytes as usize));
        let bound = |text: &str| Precision::Inexact(ScalarValue::Utf8View(Some(text.to_owned())));
        let key = |min: &str, max: &str| {
            ColumnStatistics::new_unknown().with_min_value(bound(min)).with_max_value(bound(max))
        };
        if let [partition, row, ..] = statistics.column_statistics.as_mut_slice() {
            *partition = key(&run.first.partition, &run.last.partition);
            if run.partitions == 1 {
                *row = key(&run.first.row, &run.last.row);
            }
        }
        statistics
    }
}

#[async_trait]
impl TableProvider for EntityTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.columns.schema())
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// A scan evaluates every filter that it is offered, so all are claimed: an operator for one
    /// would be planned only to be pushed into the scan. Only a subquery's value is not there yet
    /// when the scan is made.
    ///
    /// No shape of filter is singled out, since others of the optimizer's rules rewrite a filter
    /// after it was claimed.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let claims = self.options.filter_pushdown && self.options.pruning;
        let claim = |filter: &&Expr| match claims && !holds_subquery(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(claim).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let considered = if self.options.pruning { filters } else { &[] };
        let access = plan_access(considered);
        // Of single keys only their own recent writes matter: rows of other keys fail the filters
        // that the keys come from.
        let points = points(&access.keys);
        let layers = match &points {
            Some(keys) => self.snapshot.layers_of(keys.iter().copied()),
            None => self.snapshot.layers(),
        };
        let mut selected: Vec<(usize, Arc<RunFile>)> = Vec::new();
        for (range, file) in self.snapshot.table.manifest.files_in(&access.keys) {
            let live = match &layers {
                Some(layers) => layers.masked(&self.files, file).await.map_err(external)?,
                None => Some(Arc::clone(file)),
            };
            selected.extend(live.map(|file| (range, file)));
        }

        // What passes a filter is kept until it is handed on, in no pool.
        let mut parquet = TableParquetOptions::default();
        let kept_bytes = batch_bytes(state.config_options()).saturating_mul(2);
        parquet.global.max_predicate_cache_size = Some(kept_bytes.min(FILTERED_BYTES_MAX));
        let pages_read = Arc::new(PagesRead::default());
        let reader_factory = RunReaderFactory::new(Arc::clone(&self.files), Arc::clone(&pages_read));
        let mut source = ParquetSource::new(Arc::clone(self.columns.schema()))
            .with_table_parquet_options(parquet)
            .with_pushdown_filters(self.options.filter_pushdown)
            .with_enable_page_index(true)
            .with_bloom_filter_on_read(false)
            .with_parquet_file_reader_factory(Arc::new(reader_factory));
        // Page bounds are coarser than keys, so the first and the last page of a range hold foreign
        // rows, unless the files lie inside the key set altogether.
        let covered = access.keys_exact
            && selected.iter().all(|(_, file)| access.keys.covers(file.first.as_ref(), file.last.as_ref()));
        let mut claimed: Vec<Expr> = Vec::new();
        for (filter, exact) in considered.iter().zip(&access.exact) {
            let decided = *exact && covered;
            if !decided && !holds_subquery(filter) {
                claimed.push(conditional_filter(filter.clone())?);
            }
        }
        if !covered && considered.iter().zip(&access.exact).any(|(filter, exact)| *exact && compares_rows(filter)) {
            claimed.extend(hull(&access.keys));
        }
        let selectivity = if access.residual.is_empty() { 1.0 } else { SELECTIVITY };
        if let Some(predicate) = all_of(claimed) {
            let schema = DFSchema::try_from(Arc::clone(self.columns.schema()))?;
            // Its types are settled: the session's way would go through them once more.
            let context = PhysicalPlanningContext::default();
            let predicate = create_physical_expr(&predicate, &schema, state.execution_props(), &context)?;
            source = source.with_predicate(checked_filter(predicate, state.config_options())?);
        }

        let rows: u64 = selected.iter().map(|(_, file)| file.live_rows()).sum();
        let recent = layers.as_ref().map_or(0, |layers| layers.live_rows());
        let groups = match state.config().target_partitions() {
            threads if threads > 1 && rows >= self.options.parallel_rows_min => {
                split(&selected, threads, |run| self.partitioned_file(run))
            }
            _ => vec![FileGroup::new(selected.iter().map(|(_, run)| self.partitioned_file(run)).collect())],
        };
        let mut statistics = Statistics::new_unknown(self.columns.schema());
        statistics.num_rows = Precision::Inexact(((rows + recent) as f64 * selectivity).ceil() as usize);
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_limit(limit)
            .with_batch_size(self.batch_rows_max(state, projection, considered, &selected))
            .with_expr_adapter(Some(Arc::new(EntityColumnAdapterFactory { columns: self.columns.clone() })))
            .with_projection_indices(projection.cloned())?
            .build();
        let scan = Scan {
            table: Arc::clone(&self.snapshot.table),
            columns: self.columns.clone(),
            layers,
            access,
            filters: filters.to_vec(),
            selected,
            files: Arc::clone(&self.files),
            pages_read,
        };
        Ok(Arc::new(EntityScanExec::new(Arc::new(scan), DataSourceExec::from_data_source(config))))
    }
}

/// The keys of a set, if they are few.
fn points(keys: &KeySet) -> Option<Vec<KeyRef<'_>>> {
    let few = keys.ranges().len() <= POINTS_MAX;
    few.then(|| keys.ranges().iter().map(|range| range.as_point()).collect())?
}

/// A plan with other tables in the place of those that it scans.
pub(crate) fn with_tables(
    plan: LogicalPlan,
    other: impl Fn(&EntityTable) -> Result<EntityTable>,
) -> Result<LogicalPlan> {
    let replaced = plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::TableScan(mut scan) = node else { return Ok(Transformed::no(node)) };
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<EntityTable>() else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        scan.source = provider_as_source(Arc::new(other(table)?));
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(replaced.data)
}

/// Whether a filter compares several columns at once, which the Parquet reader does not prune by.
fn compares_rows(filter: &Expr) -> bool {
    filter.exists(|expr| Ok(matches!(expr, Expr::ScalarFunction(_)))).unwrap_or(true)
}

/// Bounds of all keys of a set, column by column: implied by the predicate that the set was made
/// of.
fn hull(keys: &KeySet) -> Vec<Expr> {
    let (Some(first), Some(last)) = (keys.ranges().first(), keys.ranges().last()) else { return Vec::new() };
    let (lower, upper) = (first.lower(), last.upper());
    let column = |name: &str| Expr::Column(Column::from_name(name));
    let text = |key: &str| Expr::Literal(ScalarValue::Utf8View(Some(key.to_owned())), None);
    let mut bounds = Vec::new();
    bounds.extend(lower.partition().map(|partition| column(PARTITION_KEY).gt_eq(text(partition))));
    bounds.extend(upper.partition().map(|partition| column(PARTITION_KEY).lt_eq(text(partition))));
    if lower.partition().is_some() && lower.partition() == upper.partition() {
        if let KeyCut::Before(key) | KeyCut::After(key) = lower {
            bounds.push(column(ROW_KEY).gt_eq(text(key.row.as_str())));
        }
        if let KeyCut::Before(key) | KeyCut::After(key) = upper {
            bounds.push(column(ROW_KEY).lt_eq(text(key.row.as_str())));
        }
    }
    bounds
}

/// Cuts files into contiguous groups of about equal bytes; a file on a boundary is read by both,
/// each taking the row groups that begin in its part.
fn split(
    selected: &[(usize, Arc<RunFile>)],
    groups: usize,
    partitioned_file: impl Fn(&Arc<RunFile>) -> PartitionedFile,
) -> Vec<FileGroup> {
    let total: u64 = selected.iter().map(|(_, run)| run.bytes).sum();
    let group_bytes = total.div_ceil(groups as u64).max(1);
    let mut split: Vec<Vec<PartitionedFile>> = Vec::new();
    let mut position = 0;
    for (_, run) in selected {
        let mut from = 0;
        while from < run.bytes {
            let group = (position / group_bytes) as usize;
            let to = run.bytes.min(from + (group as u64 + 1) * group_bytes - position);
            split.resize_with(split.len().max(group + 1), Vec::new);
            let file = partitioned_file(run);
            let whole = from == 0 && to == run.bytes;
            split[group].push(if whole { file } else { file.with_range(from as i64, to as i64) });
            position += to - from;
            from = to;
        }
    }
    split.into_iter().filter(|files| !files.is_empty()).map(FileGroup::new).collect()
}
