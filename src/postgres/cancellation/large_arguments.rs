//! A call of a function with several arguments that may be large: each of them is evaluated, and
//! counted, before the next one. The function alone would have all of them made first.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::growth::Growth;
use crate::functions::{ValueBudget, shown_bytes};

/// Evaluates as the call that it replaces.
#[derive(Debug, Clone)]
struct LargeArgumentsExpr {
    call: Arc<dyn PhysicalExpr>,
    /// The arguments of the call that may be large.
    large: Vec<Arc<dyn PhysicalExpr>>,
    /// The places of the others among those of the call.
    small: Vec<usize>,
    budget: ValueBudget,
}

/// The same expression, whose calls count their arguments where several may be large.
pub(super) fn with_counted_arguments(
    expr: Arc<dyn PhysicalExpr>,
    budget: ValueBudget,
) -> Result<Arc<dyn PhysicalExpr>> {
    let counted = expr.transform_up(|expr| {
        let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else { return Ok(Transformed::no(expr)) };
        // Those of others may not be evaluated at all.
        if call.fun().short_circuits() {
            return Ok(Transformed::no(expr));
        }
        let is_large = |arg: &Arc<dyn PhysicalExpr>| Ok(!arg.is::<Literal>() && Growth::of_expr(arg)?.is_large());
        let large = call.args().iter().map(is_large).collect::<Result<Vec<bool>>>()?;
        if large.iter().filter(|large| **large).count() < 2 {
            return Ok(Transformed::no(expr));
        }
        let args = || call.args().iter().zip(&large);
        let small = (0..large.len()).filter(|place| !large[*place]).collect();
        let large = args().filter(|(_, large)| **large).map(|(arg, _)| Arc::clone(arg)).collect();
        Ok(Transformed::yes(Arc::new(LargeArgumentsExpr { call: Arc::clone(&expr), large, small, budget }) as _))
    });
    counted.data()
}

impl LargeArgumentsExpr {
    /// The batch with the large arguments behind its columns, and the call over these.
    fn over_columns(&self, batch: &RecordBatch) -> Result<(Arc<dyn PhysicalExpr>, RecordBatch)> {
        let rows = batch.num_rows();
        let schema = batch.schema();
        let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        let (mut columns, mut places, mut bytes) = (batch.columns().to_vec(), Vec::new(), 0);
        for large in &self.large {
            let values = large.evaluate(batch)?.into_array(rows)?;
            bytes += shown_bytes(&values);
            self.budget.rows(rows, bytes)?;
            places.push(columns.len());
            fields.push(Arc::new(Field::new(format!("argument {}", columns.len()), values.data_type().clone(), true)));
            columns.push(values);
        }
        let mut places = places.into_iter();
        let args = self.call.children().into_iter().enumerate().map(|(place, arg)| match self.small.contains(&place) {
            true => Some(Arc::clone(arg)),
            false => places.next().map(|at| Arc::new(Column::new(fields[at].name(), at)) as _),
        });
        let Some(args) = args.collect() else { return internal_err!("an argument was not evaluated") };
        let call = Arc::clone(&self.call).with_new_children(args)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok((call, RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?))
    }
}

impl PartialEq for LargeArgumentsExpr {
    fn eq(&self, other: &Self) -> bool {
        self.call.eq(&other.call)
    }
}

impl Eq for LargeArgumentsExpr {}

impl Hash for LargeArgumentsExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

impl fmt::Display for LargeArgumentsExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

impl PhysicalExpr for LargeArgumentsExpr {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.call.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.call.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.call.return_field(input)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let (call, batch) = self.over_columns(batch)?;
        call.evaluate(&batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.call]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(call), true) => with_counted_arguments(call, self.budget),
            _ => internal_err!("a call with large arguments has one child"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt_sql(f)
    }
}
