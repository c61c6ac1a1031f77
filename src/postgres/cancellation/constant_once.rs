//! What has no columns is computed once, with the first row that asks for it, and not in each
//! batch: constants that are large are not computed while a statement is planned.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::with_new_children_if_necessary;

use crate::functions::is_deferred_call;

/// A longer value is computed again for the next batch: what is kept is in no memory pool.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// The same expression, whose parts without columns are computed once. One that is all of it and
/// may be large stays: its value is wanted in each row.
pub(super) fn with_constants_once(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let expr = expr.transform_up(once).data()?;
    match expr.downcast_ref::<ConstantOnce>() {
        Some(top) if top.data_type(&Schema::empty())?.primitive_width().is_none() => {
            let parts = top.constant.children().into_iter().map(|part| ConstantOnce::of(Arc::clone(part)));
            with_new_children_if_necessary(Arc::clone(&top.constant), parts.collect())
        }
        _ => Ok(expr),
    }
}

/// Takes one that has only constants below it as one constant.
fn once(expr: Arc<dyn PhysicalExpr>) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
    let is_call = expr.is::<ScalarFunctionExpr>();
    let children = expr.children();
    let is_constant = |child: &&Arc<dyn PhysicalExpr>| child.is::<Literal>() || child.is::<ConstantOnce>();
    if changes(&expr) || children.is_empty() && !is_call || !children.iter().all(is_constant) {
        return Ok(Transformed::no(expr));
    }
    let parts = children.into_iter().map(|child| match child.downcast_ref::<ConstantOnce>() {
        Some(once) => Arc::clone(&once.constant),
        None => Arc::clone(child),
    });
    let parts = parts.collect();
    Ok(Transformed::yes(ConstantOnce::of(with_new_children_if_necessary(expr, parts)?)))
}

/// Whether its value may be another one in the next row. What is deferred says so of itself, lest
/// the optimizer computes it.
fn changes(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.is_volatile_node()
        && !expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|call| is_deferred_call(call.fun()))
}

/// Evaluates as its constant.
#[derive(Debug)]
struct ConstantOnce {
    constant: Arc<dyn PhysicalExpr>,
    value: OnceLock<ScalarValue>,
}

impl ConstantOnce {
    fn of(constant: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        match constant.is::<Literal>() {
            true => constant,
            false => Arc::new(Self { constant, value: OnceLock::new() }),
        }
    }
}

impl PartialEq for ConstantOnce {
    fn eq(&self, other: &Self) -> bool {
        self.constant.eq(&other.constant)
    }
}

impl Eq for ConstantOnce {}

impl Hash for ConstantOnce {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.constant.hash(state);
    }
}

impl fmt::Display for ConstantOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.constant.fmt(f)
    }
}

impl PhysicalExpr for ConstantOnce {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.constant.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.constant.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.constant.return_field(input)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if let Some(value) = self.value.get() {
            return Ok(ColumnarValue::Scalar(value.clone()));
        }
        if batch.num_rows() == 0 {
            return self.constant.evaluate(batch);
        }
        let value = match self.constant.evaluate(&batch.slice(0, 1))? {
            ColumnarValue::Scalar(value) => value,
            ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0)?,
        };
        if value.size() > KEPT_BYTES_MAX {
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Scalar(self.value.get_or_init(|| value).clone()))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.constant]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match <[_; 1]>::try_from(children) {
            Ok([constant]) => Ok(Arc::new(Self { constant, value: OnceLock::new() })),
            Err(children) => internal_err!("a constant has no {} children", children.len()),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.constant.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Field, Int64Type};
    use datafusion::common::DFSchema;
    use datafusion::logical_expr::execution_props::ExecutionProps;
    use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
    use datafusion::logical_expr::{Volatility, col, create_udf, lit};
    use datafusion::physical_expr::create_physical_expr;

    use super::*;

    #[test]
    fn a_part_without_columns_is_computed_once() -> Result<()> {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let counted = create_udf(
            "counted",
            vec![DataType::Int64],
            DataType::Int64,
            Volatility::Immutable,
            Arc::new(move |args: &[ColumnarValue]| {
                counter.fetch_add(1, Ordering::Relaxed);
                args.first().cloned().map_or_else(|| internal_err!("no argument"), Ok)
            }),
        );
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
        let expr = counted.call(vec![lit(5_i64)]) + counted.call(vec![col("a")]);
        let planned = create_physical_expr(
            &expr,
            &DFSchema::try_from(Arc::clone(&schema))?,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )?;
        let once = with_constants_once(planned)?;
        for from in 0..3 {
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(vec![from, 10]))])?;
            let sums = once.evaluate(&batch)?.into_array(2)?;
            assert_eq!(sums.as_primitive::<Int64Type>().values(), &[from + 5, 15]);
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1 + 3);
        Ok(())
    }
}
