//! Recent writes in a scan.
//!
//! A layer of the delta has the columns of a run file, so what the Parquet scan does to a file is
//! done to it here: the filter and the projection that were pushed into the scan are rewritten to
//! its columns and evaluated.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter_record_batch, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;

use super::adapter::EntityColumnAdapterFactory;
use super::key_order::Direction;
use super::scan_exec::Scan;
use rowkey_model::KeySet;
use rowkey_postgres::error::external;
use rowkey_storage::delta::Layer;

/// Rows of a batch.
const BATCH_ROWS: usize = 8 * 1024;

/// One of several parts of about equal size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub at: usize,
    pub of: usize,
}

impl Part {
    pub(super) const WHOLE: Self = Self { at: 0, of: 1 };

    fn range(self, rows: usize) -> Range<usize> {
        rows * self.at / self.of..rows * (self.at + 1) / self.of
    }
}

/// A part of the entities of every layer that a scan wants, batches for each; in key order within
/// it.
pub(super) fn recent_batches(
    scan: &Scan,
    config: &FileScanConfig,
    direction: Direction,
    part: Part,
) -> Result<Vec<Vec<RecordBatch>>> {
    let Some(layers) = &scan.layers else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut last_projection: Option<LayerProjection> = None;
    for (place, (layer, _)) in layers.iter().enumerate() {
        let (stored, not_hidden) = layers.batch(place, &scan.table).map_err(external)?;
        let wanted = wanted(layer, &stored.places, not_hidden, &scan.access.keys, direction);
        let part = part.range(wanted.len());
        if part.is_empty() {
            continue;
        }
        let stored = &stored.batch;
        // Most layers have the same columns.
        let projection = match last_projection.take().filter(|last| last.of == stored.schema()) {
            Some(last) => last_projection.insert(last),
            None => last_projection.insert(LayerProjection::of(scan, config, stored.schema())?),
        };
        let stored = stored.project(&projection.read)?;
        let mut batches = Vec::new();
        for rows in wanted[part].chunks(BATCH_ROWS) {
            let (first, last) = (rows[0], rows[rows.len() - 1]);
            let stored = if last.checked_sub(first) == Some(rows.len() as u32 - 1) {
                stored.slice(first as usize, rows.len())
            } else {
                taken(&stored, UInt32Array::from(rows.to_vec()))?
            };
            let batch = projection.rows(stored)?;
            if batch.num_rows() > 0 {
                batches.push(batch);
            }
        }
        found.push(batches);
    }
    Ok(found)
}

/// Some rows of a batch, which may have no columns.
fn taken(batch: &RecordBatch, rows: UInt32Array) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| take(column, &rows, None));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// How many recent entities a scan looks at.
pub(super) fn recent_rows(scan: &Scan) -> Result<u64> {
    let Some(layers) = &scan.layers else { return Ok(0) };
    let mut rows = 0;
    for (place, (layer, _)) in layers.iter().enumerate() {
        let (stored, shown) = layers.batch(place, &scan.table).map_err(external)?;
        rows += wanted(layer, &stored.places, shown, &scan.access.keys, Direction::Forward).len() as u64;
    }
    Ok(rows)
}

/// Those of the rows of a layer's batch that are shown whose keys are wanted, in the wanted order.
fn wanted(layer: &Layer, places: &[u32], shown: &[u32], keys: &KeySet, direction: Direction) -> Vec<u32> {
    let versions = layer.versions();
    let mut rows: Vec<u32> = Vec::new();
    for range in keys.ranges() {
        // Keys of a layer ascend, and so do the ranges.
        let from = places.partition_point(|&place| !range.lower().is_below(versions[place as usize].key()));
        let to = places.partition_point(|&place| !range.upper().is_below(versions[place as usize].key()));
        let first = shown.partition_point(|&row| (row as usize) < from);
        let end = shown.partition_point(|&row| (row as usize) < to);
        rows.extend_from_slice(&shown[first..end.max(first)]);
    }
    if direction == Direction::Backward {
        rows.reverse();
    }
    rows
}

/// Filter and projection of a scan over the columns of a layer that they read.
struct LayerProjection {
    of: SchemaRef,
    read: Vec<usize>,
    /// All of them hold; one is asked only of rows of which those before it hold, since it may fail
    /// on others.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    projection: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
}

impl LayerProjection {
    fn of(scan: &Scan, config: &FileScanConfig, of: SchemaRef) -> Result<Self> {
        let factory = EntityColumnAdapterFactory { columns: scan.columns.clone() };
        let adapter = factory.create(Arc::clone(scan.columns.schema()), Arc::clone(&of))?;
        let source = config.file_source();
        let filter = source.filter();
        let filters = filter.iter().flat_map(split_conjunction).map(|filter| adapter.rewrite(Arc::clone(filter)));
        let filters = filters.collect::<Result<Vec<_>>>()?;
        let Some(projection) = source.projection() else {
            return Err(DataFusionError::Internal("a scan of entities has a projection".to_owned()));
        };
        let projection = projection.iter().map(|out| adapter.rewrite(Arc::clone(&out.expr)));
        let projection = projection.collect::<Result<Vec<_>>>()?;
        let read: BTreeSet<usize> =
            filters.iter().chain(&projection).flat_map(collect_columns).map(|column| column.index()).collect();
        let read: Vec<usize> = read.into_iter().collect();
        let among = of.project(&read)?;
        let moved = |expr: Arc<dyn PhysicalExpr>| reassign_expr_columns(expr, &among);
        Ok(Self {
            filters: filters.into_iter().map(moved).collect::<Result<_>>()?,
            projection: projection.into_iter().map(moved).collect::<Result<_>>()?,
            schema: config.projected_schema()?,
            of,
            read,
        })
    }

    fn rows(&self, mut rows: RecordBatch) -> Result<RecordBatch> {
        for filter in &self.filters {
            if rows.num_rows() == 0 {
                break;
            }
            let kept = filter.evaluate(&rows)?.into_array(rows.num_rows())?;
            rows = filter_record_batch(&rows, as_boolean_array(&kept)?)?;
        }
        let columns = self.projection.iter().map(|out| out.evaluate(&rows)?.into_array(rows.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
