//! An expression that checks for cancellation before it is evaluated, and a condition that takes
//! fewer rows at a time where its values would not fit.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, LikeExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::growth::Growth;
use super::token::CancellationToken;
use crate::carried::Stop;
use crate::functions::is_batch_too_large;

/// Nodes of a condition whose evaluation takes little time.
const SMALL_NODES_MAX: usize = 100;

/// Evaluates as its inner expression; an error once the statement is cancelled.
#[derive(Debug)]
pub(super) struct CancellableExpr {
    inner: Arc<dyn PhysicalExpr>,
    stop: Stop,
    /// Its own values are small, whatever they are made of.
    is_condition: bool,
    /// Rows at a time.
    rows_max: usize,
}

impl CancellableExpr {
    pub(super) fn wrap(inner: &Arc<dyn PhysicalExpr>, token: &Arc<CancellationToken>) -> Arc<dyn PhysicalExpr> {
        let stop = Stop::asking(Arc::clone(token) as _);
        Arc::new(Self { inner: Arc::clone(inner), stop, is_condition: false, rows_max: usize::MAX })
    }

    pub(super) fn condition(inner: &Arc<dyn PhysicalExpr>, token: &Arc<CancellationToken>) -> Arc<dyn PhysicalExpr> {
        let stop = Stop::asking(Arc::clone(token) as _);
        Arc::new(Self { inner: Arc::clone(inner), stop, is_condition: true, rows_max: usize::MAX })
    }

    /// The values of so many rows, then those of the next.
    fn evaluate_parts(&self, batch: &RecordBatch, rows_max: usize) -> Result<ColumnarValue> {
        let values = (0..batch.num_rows()).step_by(rows_max).map(|first| {
            let rows = rows_max.min(batch.num_rows() - first);
            self.evaluate(&batch.slice(first, rows))?.into_array(rows)
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&values)?))
    }
}

/// The filter of a scan, whose large conditions ask before each batch whether the statement is to
/// stop: a file's rows are all tried, if none passes, before an operator is asked. Those that make
/// large values take few rows at a time. The others stay as they are, since bounds of pages are
/// compared with them.
///
/// # Errors
/// None but DataFusion's own.
pub fn checked_filter(filter: Arc<dyn PhysicalExpr>, options: &ConfigOptions) -> Result<Arc<dyn PhysicalExpr>> {
    if let Some(both) = filter.downcast_ref::<BinaryExpr>().filter(|both| *both.op() == Operator::And) {
        let left = checked_filter(Arc::clone(both.left()), options)?;
        let right = checked_filter(Arc::clone(both.right()), options)?;
        return filter.with_new_children(vec![left, right]);
    }
    let (mut nodes, mut has_call) = (0, false);
    filter.apply(|expr| {
        nodes += 1;
        has_call |= expr.is::<ScalarFunctionExpr>();
        Ok(TreeNodeRecursion::Continue)
    })?;
    // A constant that a column is compared with stands in no row.
    let rows_max = if has_call { Growth::of_expr(&filter)?.rows_gathered() } else { usize::MAX };
    if nodes <= SMALL_NODES_MAX && rows_max == usize::MAX && !searches(&filter) {
        return Ok(filter);
    }
    Ok(Arc::new(CancellableExpr { inner: filter, stop: Stop::of(options), is_condition: true, rows_max }))
}

/// Whether a condition searches texts for a part of them: there may be hundreds of such conditions
/// beside each other, and no bounds of pages are compared with them.
fn searches(filter: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(like) = filter.downcast_ref::<LikeExpr>() else { return false };
    let pattern = like.pattern().downcast_ref::<Literal>().and_then(|pattern| pattern.value().try_as_str().flatten());
    pattern.is_some_and(|pattern| pattern.starts_with(['%', '_']))
}

impl PartialEq for CancellableExpr {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for CancellableExpr {}

impl Hash for CancellableExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for CancellableExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for CancellableExpr {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.inner.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.inner.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.inner.return_field(input)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.stop.check()?;
        let rows = batch.num_rows();
        if rows > self.rows_max {
            return self.evaluate_parts(batch, self.rows_max);
        }
        match self.inner.evaluate(batch) {
            Err(error) if self.is_condition && rows > 1 && is_batch_too_large(&error) => {
                self.evaluate_parts(batch, rows.div_ceil(2))
            }
            values => values,
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(inner), true) => {
                let (is_condition, rows_max) = (self.is_condition, self.rows_max);
                Ok(Arc::new(Self { inner, stop: self.stop.clone(), is_condition, rows_max }))
            }
            _ => internal_err!("a cancellable expression has one child"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
