//! A call of a function with arguments that may be large: each of them is evaluated, and counted in
//! all rows, before the next one. The function alone would have all of them made first, and
//! DataFusion's have a constant copied into every row.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;

use super::growth::Growth;
use crate::functions::{ValueBudget, counts_values, shown_bytes};

/// Evaluates as the call that it replaces.
#[derive(Debug)]
struct LargeArgumentsExpr {
    /// The arguments that may be large.
    large: Vec<Arc<dyn PhysicalExpr>>,
    /// The value of each that has no columns and is not volatile, once it is known. Others may be a
    /// scalar for one batch, as a CASE is whose rows all take one branch, and another for the next.
    constants: Vec<Option<OnceLock<ArrayRef>>>,
    /// The call, in which they are columns behind those of the input.
    call: Arc<dyn PhysicalExpr>,
    budget: ValueBudget,
}

/// The same expression over an input with so many columns, whose calls count their arguments where
/// several may be large, or where one may be and the function does not count.
pub(super) fn with_counted_arguments(
    expr: Arc<dyn PhysicalExpr>,
    columns: usize,
    budget: ValueBudget,
) -> Result<Arc<dyn PhysicalExpr>> {
    let counted = expr.transform_up(|expr| {
        let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else { return Ok(Transformed::no(expr)) };
        // Those of others may not be evaluated at all.
        if call.fun().short_circuits() {
            return Ok(Transformed::no(expr));
        }
        let (mut large, mut args) = (Vec::new(), Vec::with_capacity(call.args().len()));
        for arg in call.args() {
            if arg.is::<Literal>() || !Growth::of_expr(arg)?.is_large() {
                args.push(Arc::clone(arg));
                continue;
            }
            args.push(Arc::new(Column::new("argument", columns + large.len())));
            large.push(Arc::clone(arg));
        }
        if large.is_empty() || large.len() == 1 && counts_values(call.fun()) {
            return Ok(Transformed::no(expr));
        }
        let call = expr.with_new_children(args)?;
        Ok(Transformed::yes(Arc::new(LargeArgumentsExpr::new(large, call, budget)) as _))
    });
    counted.data()
}

impl LargeArgumentsExpr {
    fn new(large: Vec<Arc<dyn PhysicalExpr>>, call: Arc<dyn PhysicalExpr>, budget: ValueBudget) -> Self {
        let is_constant = |expr: &_| collect_columns(expr).is_empty() && !is_volatile(expr);
        let constants = large.iter().map(|expr| is_constant(expr).then(OnceLock::new)).collect();
        Self { large, constants, call, budget }
    }

    /// A value in so many rows, which show it together if it is a text.
    fn repeated(&self, value: &ArrayRef, rows: usize, bytes: usize) -> Result<ArrayRef> {
        let repeated_bytes = value.get_array_memory_size().saturating_mul(rows);
        self.budget.rows(rows, bytes.saturating_add(repeated_bytes))?;
        Ok(take(value, &UInt32Array::from(vec![0; rows]), None)?)
    }

    /// The batch with the large arguments behind its columns.
    fn with_arguments(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut fields: Vec<FieldRef> = batch.schema_ref().fields().iter().cloned().collect();
        let (mut columns, mut bytes) = (batch.columns().to_vec(), 0_usize);
        for (large, constant) in self.large.iter().zip(&self.constants) {
            let values = match constant.as_ref().and_then(OnceLock::get) {
                Some(constant) => self.repeated(constant, rows, bytes)?,
                None => match large.evaluate(batch)? {
                    ColumnarValue::Scalar(value) => {
                        let value = value.to_array()?;
                        let repeated = self.repeated(&value, rows, bytes);
                        if let Some(constant) = constant {
                            constant.get_or_init(|| value);
                        }
                        repeated?
                    }
                    values => values.into_array(rows)?,
                },
            };
            bytes += shown_bytes(&values);
            self.budget.rows(rows, bytes)?;
            fields.push(Arc::new(Field::new("argument", values.data_type().clone(), true)));
            columns.push(values);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }
}

impl PartialEq for LargeArgumentsExpr {
    fn eq(&self, other: &Self) -> bool {
        self.large == other.large && self.call.eq(&other.call)
    }
}

impl Eq for LargeArgumentsExpr {}

impl Hash for LargeArgumentsExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.large.hash(state);
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
        self.call.evaluate(&self.with_arguments(batch)?)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.large.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, large: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        if large.len() != self.large.len() {
            return internal_err!("a call has as many large arguments as before");
        }
        Ok(Arc::new(Self::new(large, Arc::clone(&self.call), self.budget)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use datafusion::common::DFSchema;
    use datafusion::functions::string::expr_fn::{repeat, upper};
    use datafusion::logical_expr::{col, lit, when};
    use datafusion::prelude::SessionContext;

    use super::*;

    /// A CASE whose rows all take one branch is a scalar for their batch, and another for the next.
    #[test]
    fn what_is_one_value_in_a_batch_may_be_another_in_the_next() -> Result<()> {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let case = when(col("n").eq(lit(1_i64)), repeat(lit("x"), lit(2_i64)))
            .when(col("n").eq(lit(2_i64)), lit("y"))
            .when(col("n").eq(lit(3_i64)), lit("z"))
            .end()?;
        let schema_of_columns = DFSchema::try_from(Arc::clone(&schema))?;
        let expr = SessionContext::new().create_physical_expr(upper(case), &schema_of_columns)?;
        let counted = with_counted_arguments(expr, 1, ValueBudget::of_memory(1 << 30))?;
        assert!(counted.is::<LargeArgumentsExpr>(), "{counted}");
        for (n, wanted) in [(2, "Y"), (1, "XX"), (3, "Z"), (2, "Y")] {
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int64Array::from(vec![n; 4]))])?;
            let found = counted.evaluate(&batch)?.into_array(4)?;
            let found = arrow::compute::cast(&found, &DataType::Utf8)?;
            let found: Vec<_> = arrow::array::AsArray::as_string::<i32>(&found).iter().collect();
            assert_eq!(found, [Some(wanted); 4], "n = {n}");
        }
        Ok(())
    }
}
