//! Reading in key order without a sort.
//!
//! Files are sorted by key, and those of different range partitions do not overlap, so the first
//! files of all range partitions one after another are in key order, and so are the second ones:
//! these lanes, and recent writes, are merged. Backwards, a scan reads them from the last to the
//! first in short stretches of rows and turns each stretch round; with a LIMIT it starts with very
//! short ones.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{SortOptions, concat_batches, take_record_batch};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use futures::TryStreamExt;
use futures::stream;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use super::masked::live_selection;
use super::reader::RunHandle;
use super::scan_exec::EntityScanExec;
use rowkey_postgres::error::external;
use rowkey_storage::run::{OpenRun, PARTITION_KEY, ROW_KEY};

/// Which way keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Keys are never null, so the place of nulls is as good as any.
    pub(crate) fn sort_options(self) -> SortOptions {
        SortOptions { descending: self == Direction::Backward, nulls_first: self == Direction::Backward }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Forward => "key order",
            Direction::Backward => "reverse key order",
        })
    }
}

/// Replaces a sort by keys over a scan with a scan in key order.
#[derive(Debug)]
pub(crate) struct ScanInKeyOrder;

impl PhysicalOptimizerRule for ScanInKeyOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(Transformed::no(plan)) };
            let columns: Option<Vec<(usize, bool)>> = sort.expr().iter().map(sorted_column).collect();
            let Some(columns) = columns else { return Ok(Transformed::no(plan)) };
            let Some(input) = ordered(sort.input(), &columns, sort.fetch())? else { return Ok(Transformed::no(plan)) };
            let unsorted: Arc<dyn ExecutionPlan> = match sort.fetch() {
                Some(fetch) => Arc::new(GlobalLimitExec::new(input, 0, Some(fetch))),
                None => input,
            };
            Ok(Transformed::yes(unsorted))
        })
        .data()
    }

    fn name(&self) -> &str {
        "scan_in_key_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A column and whether it descends.
fn sorted_column(sort: &PhysicalSortExpr) -> Option<(usize, bool)> {
    sort.expr.downcast_ref::<Column>().map(|column| (column.index(), sort.options.descending))
}

/// `plan` with its scan reading in an order in which `columns` of its output ascend or descend as
/// wanted, if it can.
fn ordered(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[(usize, bool)],
    fetch: Option<usize>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<EntityScanExec>() {
        let Some(direction) = direction(scan, columns) else { return Ok(None) };
        return Ok(Some(Arc::new(scan.in_key_order(direction, fetch)?)));
    }
    let (input, below, fetch) = if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let through = |&(index, descending): &(usize, bool)| {
            let column = projection.expr().get(index)?.expr.downcast_ref::<Column>()?;
            Some((column.index(), descending))
        };
        let Some(below) = columns.iter().map(through).collect() else { return Ok(None) };
        (projection.input(), below, fetch)
    } else if let Some(filter) = plan.downcast_ref::<FilterExec>().filter(|filter| filter.projection().is_none()) {
        (filter.input(), columns.to_vec(), None)
    } else {
        return Ok(None);
    };
    let Some(input) = ordered(input, &below, fetch)? else { return Ok(None) };
    Ok(Some(replace_children_if_necessary(Arc::clone(plan), vec![input])?))
}

/// The direction in which the scan's entities have the wanted order.
fn direction(scan: &EntityScanExec, columns: &[(usize, bool)]) -> Option<Direction> {
    let one_partition = scan.scan().one_partition();
    let mut wanted = None;
    // Once both keys are ordered nothing is left to order; in one partition, RowKey alone does it.
    let mut next = if one_partition { ROW_KEY } else { PARTITION_KEY };
    for &(index, descending) in columns {
        let column = scan.table_column(index)?;
        if one_partition && column == PARTITION_KEY {
            continue;
        }
        if column != next {
            return None;
        }
        if wanted.is_some_and(|wanted| wanted != descending) {
            return None;
        }
        wanted = Some(descending);
        if next == ROW_KEY {
            break;
        }
        next = ROW_KEY;
    }
    match wanted {
        Some(true) => Some(Direction::Backward),
        _ => Some(Direction::Forward),
    }
}

/// Rows of the first stretch of a backward scan with a LIMIT.
const FIRST_STRETCH_ROWS: u64 = 256;
/// Most rows of a stretch.
const STRETCH_ROWS_MAX: u64 = 8 * 1024;

/// Streams the files of one lane of a scan backwards.
pub(super) fn reversed_scan(
    scan: &EntityScanExec,
    lane: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let config = scan.config()?.clone();
    let files = config.file_groups.get(lane).map(|group| group.files().to_vec()).unwrap_or_default();
    let state = Backward {
        left: config.limit,
        stretch_rows: if config.limit.is_some() { FIRST_STRETCH_ROWS } else { STRETCH_ROWS_MAX },
        config: FileScanConfigBuilder::from(config).with_limit(None).build(),
        scan: scan.clone(),
        context,
        files,
        open: None,
    };
    let batches = stream::try_unfold(state, |mut state| async move {
        let batch = state.next().await?;
        Ok::<_, DataFusionError>(batch.map(|batch| (batch, state)))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(scan.schema(), batches)))
}

struct Backward {
    config: FileScanConfig,
    scan: EntityScanExec,
    context: Arc<TaskContext>,
    /// Files still to read, the next one last.
    files: Vec<datafusion::datasource::listing::PartitionedFile>,
    /// The file being read, and its row ranges still to read, the next one last and none across row
    /// groups.
    open: Option<(datafusion::datasource::listing::PartitionedFile, Arc<OpenRun>, Vec<Range<u64>>)>,
    stretch_rows: u64,
    /// Rows still wanted, if there is a limit.
    left: Option<usize>,
}

impl Backward {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.left != Some(0) {
            let Some((file, open, ranges)) = &mut self.open else {
                let Some(file) = self.files.pop() else { return Ok(None) };
                let Some(RunHandle(run)) = file.extension::<RunHandle>() else { continue };
                let files = Arc::clone(&self.scan.scan().files);
                let open = files.open(run).await.map_err(external)?;
                let ranges = self.wanted(&open);
                self.open = Some((file, open, ranges));
                continue;
            };
            let Some(range) = ranges.pop() else {
                self.open = None;
                continue;
            };
            let from = range.start.max(range.end.saturating_sub(self.stretch_rows));
            if range.start < from {
                ranges.push(range.start..from);
            }
            self.stretch_rows = (self.stretch_rows * 2).min(STRETCH_ROWS_MAX);
            let mut file = file.clone();
            file = file.with_extension(stretch(open, from..range.end));
            let config = FileScanConfigBuilder::from(self.config.clone())
                .with_file_groups(vec![FileGroup::new(vec![file])])
                .build();
            let stretch = DataSourceExec::from_data_source(config);
            let batches: Vec<RecordBatch> = stretch.execute(0, Arc::clone(&self.context))?.try_collect().await?;
            let batch = concat_batches(&self.scan.schema(), &batches)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let rows = batch.num_rows().min(self.left.unwrap_or(usize::MAX));
            self.left = self.left.map(|left| left - rows);
            let backwards = UInt32Array::from_iter_values((0..batch.num_rows() as u32).rev().take(rows));
            return Ok(Some(take_record_batch(&batch, &backwards)?));
        }
        Ok(None)
    }

    /// Row ranges of a file that may hold wanted keys, ascending and cut at row groups.
    fn wanted(&self, open: &OpenRun) -> Vec<Range<u64>> {
        let keys = &self.scan.scan().access.keys;
        let mut wanted: Vec<(usize, Range<u64>)> = Vec::new();
        for (_, block) in open.blocks_with(keys) {
            match wanted.last_mut() {
                Some((group, last)) if *group == block.row_group && last.end == block.rows.start => {
                    last.end = block.rows.end
                }
                _ => wanted.push((block.row_group, block.rows.clone())),
            }
        }
        wanted.into_iter().map(|(_, rows)| rows).collect()
    }
}

/// The live rows of a range of a file's rows.
fn stretch(open: &OpenRun, rows: Range<u64>) -> ParquetRowSelection {
    let range = RowSelection::from(vec![
        RowSelector::skip(rows.start as usize),
        RowSelector::select((rows.end - rows.start) as usize),
        RowSelector::skip((open.run.rows - rows.end) as usize),
    ]);
    let live = match live_selection(&open.run) {
        Some(live) => range.intersection(&live),
        None => range,
    };
    live.into()
}
