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

use super::constant_once::with_constants_once;
use super::growth::Growth;
use crate::functions::{ValueBudget, counts_values, shown_bytes};

/// Evaluates as the call that it replaces.
#[derive(Debug)]
struct LargeArgumentsExpr {
    /// All but literals: what looks for the columns of an expression, as CASE does for its
    /// branches, finds them here.
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    kinds: Vec<Argument>,
    /// The call, over a batch of those arguments.
    call: Arc<dyn PhysicalExpr>,
    budget: ValueBudget,
}

#[derive(Debug)]
enum Argument {
    Small,
    /// Counted before the next one is evaluated.
    Large,
    /// The same without columns, not volatile, once it is known. Others may be a scalar for one
    /// batch, as a CASE is whose rows all take one branch, and another for the next.
    LargeConstant(OnceLock<ArrayRef>),
}

/// The same expression, whose calls count their arguments where several may be large, or where one
/// may be and the function does not count.
pub(crate) fn with_counted_arguments(
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
        let large = call.args().iter().map(is_large).collect::<Result<Vec<_>>>()?;
        let large_count = large.iter().filter(|is_large| **is_large).count();
        if large_count == 0 || large_count == 1 && counts_values(call.fun()) {
            return Ok(Transformed::no(expr));
        }
        let (mut arguments, mut kinds, mut args) = (Vec::new(), Vec::new(), Vec::with_capacity(large.len()));
        for (arg, is_large) in call.args().iter().zip(large) {
            if arg.is::<Literal>() {
                args.push(Arc::clone(arg));
                continue;
            }
            args.push(Arc::new(Column::new("argument", arguments.len())));
            arguments.push(Arc::clone(arg));
            kinds.push(Argument::of(arg, is_large));
        }
        let call = expr.with_new_children(args)?;
        Ok(Transformed::yes(Arc::new(LargeArgumentsExpr { arguments, kinds, call, budget }) as _))
    });
    with_constants_once(counted.data()?)
}

impl Argument {
    fn of(arg: &Arc<dyn PhysicalExpr>, is_large: bool) -> Self {
        match is_large {
            false => Self::Small,
            true if collect_columns(arg).is_empty() && !is_volatile(arg) => Self::LargeConstant(OnceLock::new()),
            true => Self::Large,
        }
    }
}

impl LargeArgumentsExpr {
    /// A value in so many rows, which show it together if it is a text.
    fn repeated(&self, value: &ArrayRef, rows: usize, bytes: usize) -> Result<ArrayRef> {
        let repeated_bytes = value.get_array_memory_size().saturating_mul(rows);
        self.budget.rows(rows, bytes.saturating_add(repeated_bytes))?;
        Ok(take(value, &UInt32Array::from(vec![0; rows]), None)?)
    }

    /// The arguments for each row of a batch.
    fn argument_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let (mut fields, mut columns, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
        for (arg, kind) in self.arguments.iter().zip(&self.kinds) {
            let constant = match kind {
                Argument::LargeConstant(constant) => Some(constant),
                _ => None,
            };
            let values = match constant.and_then(OnceLock::get) {
                Some(constant) => self.repeated(constant, rows, bytes)?,
                None => match arg.evaluate(batch)? {
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
            if !matches!(kind, Argument::Small) {
                bytes += shown_bytes(&values);
                self.budget.rows(rows, bytes)?;
            }
            fields.push(Field::new("argument", values.data_type().clone(), true));
            columns.push(values);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }
}

impl PartialEq for LargeArgumentsExpr {
    fn eq(&self, other: &Self) -> bool {
        self.arguments == other.arguments && self.call.eq(&other.call)
    }
}

impl Eq for LargeArgumentsExpr {}

impl Hash for LargeArgumentsExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.arguments.hash(state);
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
        self.call.evaluate(&self.argument_batch(batch)?)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.arguments.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, arguments: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        if arguments.len() != self.arguments.len() {
            return internal_err!("a call has as many arguments as before");
        }
        let kinds = arguments.iter().zip(&self.kinds);
        let kinds = kinds.map(|(arg, kind)| Argument::of(arg, !matches!(kind, Argument::Small))).collect();
        Ok(Arc::new(Self { arguments, kinds, call: Arc::clone(&self.call), budget: self.budget }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use datafusion::common::DFSchema;
    use datafusion::functions::string::expr_fn::{concat, repeat, upper};
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
        let counted = with_counted_arguments(expr, ValueBudget::of_memory(1 << 30))?;
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

    /// A CASE evaluates its branches over the columns that they have, and no others.
    #[test]
    fn branches_have_the_columns_of_all_arguments() -> Result<()> {
        let text = |name| Field::new(name, DataType::Utf8, true);
        let schema = Arc::new(Schema::new(["unread", "t", "other", "s"].map(text).to_vec()));
        let case = when(col("t").eq(lit("t")), concat(vec![repeat(col("t"), lit(2_i64)), col("s")])).end()?;
        let schema_of_columns = DFSchema::try_from(Arc::clone(&schema))?;
        let expr = SessionContext::new().create_physical_expr(case, &schema_of_columns)?;
        let counted = with_counted_arguments(Arc::clone(&expr), ValueBudget::of_memory(1 << 30))?;
        assert!(expr.to_string() != counted.to_string(), "{counted}");
        let columns = ["unread", "t", "other", "s"].map(|value| Arc::new(StringArray::from(vec![value, "t"])) as _);
        let batch = RecordBatch::try_new(schema, columns.to_vec())?;
        let found = arrow::compute::cast(&counted.evaluate(&batch)?.into_array(2)?, &DataType::Utf8)?;
        let found: Vec<_> = arrow::array::AsArray::as_string::<i32>(&found).iter().collect();
        assert_eq!(found, [Some("tts"), Some("ttt")]);
        Ok(())
    }
}
