//! Recent writes in a scan.
//!
//! A layer of the delta has the columns of a run file, so what the Parquet scan does to a file is done to it here: the filter and the
//! projection that were pushed into the scan are rewritten to its columns and evaluated.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;
use roaring::RoaringBitmap;

use super::adapter::EntityColumnAdapterFactory;
use super::key_order::Direction;
use super::scan_exec::Scan;
use crate::model::KeySet;
use crate::storage::delta::Layer;

/// The entities of every layer that a scan wants, a batch for each; in key order within it.
pub fn recent_batches(scan: &Scan, config: &FileScanConfig, direction: Direction) -> Result<Vec<RecordBatch>> {
    let Some(layers) = &scan.layers else { return Ok(Vec::new()) };
    let mut batches = Vec::new();
    for (layer, hidden) in layers.iter() {
        let stored = layer.batch(&scan.table, layers.names());
        let stored = stored.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let wanted = wanted(layer, &stored.places, hidden, &scan.access.keys, direction);
        let rows = match wanted.len() == stored.batch.num_rows() && direction == Direction::Forward {
            true => stored.batch.clone(),
            false => take_record_batch(&stored.batch, &wanted)?,
        };
        if rows.num_rows() > 0 {
            batches.push(shown(scan, config, rows)?);
        }
    }
    Ok(batches)
}

/// How many recent entities a scan looks at.
pub fn recent_rows(scan: &Scan) -> Result<u64> {
    let Some(layers) = &scan.layers else { return Ok(0) };
    let mut rows = 0;
    for (layer, hidden) in layers.iter() {
        let stored = layer.batch(&scan.table, layers.names());
        let stored = stored.map_err(|error| DataFusionError::External(Box::new(error)))?;
        rows += wanted(layer, &stored.places, hidden, &scan.access.keys, Direction::Forward).len() as u64;
    }
    Ok(rows)
}

/// Rows of a layer's batch whose versions are not hidden and whose keys are wanted, in the wanted order.
fn wanted(layer: &Layer, places: &[u32], hidden: &RoaringBitmap, keys: &KeySet, direction: Direction) -> UInt32Array {
    let versions = layer.versions();
    let mut rows: Vec<u32> = Vec::new();
    for range in keys.ranges() {
        // Keys of a layer ascend, and so do the ranges.
        let from = places.partition_point(|&place| !range.lower().is_below(versions[place as usize].key()));
        let to = places.partition_point(|&place| !range.upper().is_below(versions[place as usize].key()));
        rows.extend((from..to).filter(|&row| !hidden.contains(places[row])).map(|row| row as u32));
    }
    if direction == Direction::Backward {
        rows.reverse();
    }
    UInt32Array::from(rows)
}

/// Filter and projection of the scan.
fn shown(scan: &Scan, config: &FileScanConfig, mut rows: RecordBatch) -> Result<RecordBatch> {
    let factory = EntityColumnAdapterFactory { columns: scan.columns.clone() };
    let adapter = factory.create(Arc::clone(scan.columns.schema()), rows.schema())?;
    let source = config.file_source();
    if let Some(filter) = source.filter() {
        let filter = adapter.rewrite(filter)?;
        let kept = filter.evaluate(&rows)?.into_array(rows.num_rows())?;
        let kept: &BooleanArray = as_boolean_array(&kept)?;
        rows = filter_record_batch(&rows, kept)?;
    }
    let schema = config.projected_schema()?;
    let Some(projection) = source.projection() else {
        return Err(DataFusionError::Internal("a scan of entities has a projection".to_owned()));
    };
    let columns = projection
        .iter()
        .map(|out| {
            adapter
                .rewrite(Arc::clone(&out.expr) as Arc<dyn PhysicalExpr>)?
                .evaluate(&rows)?
                .into_array(rows.num_rows())
        })
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
