//! An expression that asks whether to go on before it computes.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::statement::StatementWatch;

/// As its inner expression, as long as the statement runs.
#[derive(Debug)]
pub(super) struct WatchedExpr {
    inner: Arc<dyn PhysicalExpr>,
    watch: Arc<StatementWatch>,
}

impl WatchedExpr {
    pub(super) fn wrap(inner: &Arc<dyn PhysicalExpr>, watch: &Arc<StatementWatch>) -> Arc<dyn PhysicalExpr> {
        Arc::new(Self { inner: Arc::clone(inner), watch: Arc::clone(watch) })
    }
}

impl PartialEq for WatchedExpr {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for WatchedExpr {}

impl Hash for WatchedExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for WatchedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for WatchedExpr {
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
        self.watch.check()?;
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(inner), true) => Ok(Self::wrap(&inner, &self.watch)),
            _ => internal_err!("a watched expression has one child"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
