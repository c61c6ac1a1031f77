//! What a node is expected to cost.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::node::{Estimate, Node};
use super::table_read::TableRead;

/// The unit of costs.
const PAGE_BYTES: u64 = 8192;

/// A row costs this part of a page.
const ROWS_PER_PAGE: f64 = 100.0;

/// Rows of a leaf of which nothing is known, as PostgreSQL has it of functions.
const ROWS_UNKNOWN: u64 = 1000;

/// How the rows of a node follow from those of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// As many as of the input, or fewer; of several inputs, of the largest.
    Input,
    /// All of all inputs.
    Sum,
    /// No more than so many.
    AtMost(u64),
    /// Of a leaf what DataFusion estimates; of a join as of the larger input, as where each of its
    /// rows finds one of the other.
    Estimated,
}

/// A scan of a table.
pub(super) fn of_read(read: &TableRead, schema: &Schema) -> Estimate {
    let pages = read.bytes_max.div_ceil(PAGE_BYTES) as f64;
    let rows = read.point_keys.map_or(read.rows_max, |keys| read.rows_max.min(keys as u64));
    let rows = read.limit.map_or(rows, |limit| rows.min(limit as u64));
    Estimate { startup: 0.0, total: pages + read.rows_max as f64 / ROWS_PER_PAGE, rows, width: width(schema) }
}

/// A node over others. One that is blocking returns its first row when it has taken in all.
pub(super) fn over(plan: &Arc<dyn ExecutionPlan>, children: &[Node], rows: Rows, blocking: bool) -> Estimate {
    let largest = children.iter().map(|child| child.estimate.rows).max().unwrap_or(0);
    let estimated = || {
        let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok()?;
        statistics.num_rows.get_value().map(|rows| *rows as u64)
    };
    let taken: u64 = children.iter().map(|child| child.estimate.rows).fold(0, u64::saturating_add);
    let below: f64 = children.iter().map(|child| child.estimate.total).sum();
    let rows = match rows {
        Rows::Input => largest,
        Rows::Sum => taken,
        Rows::AtMost(rows) if children.is_empty() => rows,
        Rows::AtMost(rows) => rows.min(largest.max(1)),
        Rows::Estimated if children.is_empty() => estimated().unwrap_or(ROWS_UNKNOWN),
        Rows::Estimated => largest,
    };
    let own = if children.is_empty() { rows } else { taken };
    let total = below + own as f64 / ROWS_PER_PAGE;
    let first = children.first().map_or(0.0, |child| child.estimate.startup);
    // Inputs beside the first are read before it.
    let others: f64 = children.iter().skip(1).map(|child| child.estimate.total).sum();
    let startup = if blocking { total } else { first + others };
    Estimate { startup, total, rows, width: width(&plan.schema()) }
}

/// Bytes of a row, with 32 for a value of no fixed length, as PostgreSQL has it without statistics.
fn width(schema: &Schema) -> u64 {
    let bytes = |data_type: &DataType| match data_type {
        DataType::Boolean => 1,
        DataType::Interval(_) => 16,
        data_type => data_type.primitive_width().unwrap_or(32),
    };
    schema.fields().iter().map(|field| bytes(field.data_type()) as u64).sum()
}
