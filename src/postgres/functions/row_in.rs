//! `(a, b) IN (...)` with rows that are constants: one call that has the rows in it, however many
//! they are. As comparisons they would be as many expressions, which every rule walks.

use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{cast, filter, take};
use arrow::datatypes::{DataType, UInt32Type};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Whether the row of the arguments is one of a list: TRUE or FALSE, and FALSE as well where a NULL
/// makes that unknown. So it stands for IN only where that is the same: in a condition, not under
/// NOT.
pub struct RowIn {
    /// The rows of the list, in their order, each once, none with a NULL.
    columns: Vec<ArrayRef>,
    converter: RowConverter,
    /// The same in a form that is compared byte by byte.
    rows: Rows,
    hash: u64,
    signature: Signature,
}

impl RowIn {
    /// Whether values of a type are equal where their row formats are.
    pub(crate) fn compares(data_type: &DataType) -> bool {
        use DataType::{Binary, BinaryView, Boolean, Date32, FixedSizeBinary, Timestamp, Utf8, Utf8View};
        data_type.is_integer()
            || matches!(
                data_type,
                Utf8 | Utf8View | Binary | BinaryView | Boolean | Date32 | FixedSizeBinary(_) | Timestamp(..)
            )
    }

    /// Whether the row of `of` is one of those in `columns`, which have the same types, all such
    /// that are compared as their row formats are.
    ///
    /// # Errors
    /// What Arrow finds wrong with the columns.
    pub fn call(of: Vec<Expr>, columns: &[ArrayRef]) -> Result<Expr> {
        let types = columns.iter().map(|column| SortField::new(column.data_type().clone()));
        let converter = RowConverter::new(types.collect())?;
        // A row with a NULL is equal to none.
        let known = columns
            .iter()
            .fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()));
        let columns = match known {
            Some(known) => {
                let known = BooleanArray::new(known.into_inner(), None);
                columns.iter().map(|column| filter(column, &known)).collect::<std::result::Result<Vec<_>, _>>()?
            }
            None => columns.to_vec(),
        };
        let rows = converter.convert_columns(&columns)?;
        let mut order: Vec<u32> = (0..).take(rows.num_rows()).collect();
        order.sort_unstable_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        order.dedup_by(|a, b| rows.row(*a as usize) == rows.row(*b as usize));
        let order = arrow::array::PrimitiveArray::<UInt32Type>::from(order);
        let columns = columns.iter().map(|column| take(column, &order, None));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        let rows = converter.convert_columns(&columns)?;
        let mut hasher = DefaultHasher::new();
        rows.iter().for_each(|row| row.hash(&mut hasher));
        let signature = Signature::any(columns.len(), Volatility::Immutable);
        let function = Self { columns, converter, rows, hash: hasher.finish(), signature };
        let function = Arc::new(ScalarUDF::new_from_impl(function));
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, of)))
    }

    /// The list of a call, if it is one of this function.
    pub fn of(call: &ScalarFunction) -> Option<&Self> {
        call.func.inner().downcast_ref()
    }

    /// The rows, column by column.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    fn contains(&self, columns: &[ArrayRef]) -> Result<BooleanBuffer> {
        let sought = self.converter.convert_columns(columns)?;
        let within = |at: usize| {
            let (row, mut low, mut high) = (sought.row(at), 0, self.rows.num_rows());
            while low < high {
                let middle = low + (high - low) / 2;
                match self.rows.row(middle).cmp(&row) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Equal => return true,
                    std::cmp::Ordering::Greater => high = middle,
                }
            }
            false
        };
        Ok(BooleanBuffer::collect_bool(sought.num_rows(), within))
    }
}

impl fmt::Debug for RowIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row_in {:016x}", self.hash)
    }
}

impl PartialEq for RowIn {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
    }
}

impl Eq for RowIn {}

impl Hash for RowIn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl ScalarUDFImpl for RowIn {
    fn name(&self) -> &str {
        "row_in"
    }

    /// Another one for another list.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("row_in_{:016x}({})", self.hash, args.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().zip(&self.columns).map(|(arg, of)| {
            let column = arg.to_array(rows)?;
            // Texts are stored in another of their forms.
            Ok(if column.data_type() == of.data_type() { column } else { cast(&column, of.data_type())? })
        });
        let found = BooleanArray::new(self.contains(&columns.collect::<Result<Vec<_>>>()?)?, None);
        match constant {
            true if found.is_empty() => internal_err!("a row is missing"),
            true => Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(found.value(0))))),
            false => Ok(ColumnarValue::Array(Arc::new(found))),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array, RecordBatch, StringViewArray};
    use datafusion::logical_expr::col;
    use datafusion::prelude::SessionContext;

    use super::*;

    #[tokio::test]
    async fn a_row_is_found_among_those_without_null() {
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter([Some("b"), None, Some("a"), Some("b"), Some("c")]));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter([Some(2), Some(2), Some(1), Some(2), None]));
        let rows = RecordBatch::try_from_iter([("t", Arc::clone(&texts)), ("n", Arc::clone(&numbers))]).expect("rows");
        let call = RowIn::call(vec![col("t"), col("n")], &[texts, numbers]).expect("a call");
        let Expr::ScalarFunction(function) = &call else { panic!("{call} is no call") };
        assert_eq!(RowIn::of(function).map(|list| list.rows.num_rows()), Some(2));
        let context = SessionContext::new();
        let found = context.read_batch(rows).expect("rows").select(vec![call.alias("found")]).expect("a query");
        let found = found.collect().await.expect("an answer");
        let found: Vec<_> = found[0].column(0).as_boolean().iter().collect();
        assert_eq!(found, [true, false, true, true, false].map(Some));
    }

    #[test]
    fn calls_are_equal_if_their_lists_are() {
        let call = |numbers: &[i32]| {
            let numbers: ArrayRef = Arc::new(Int32Array::from(numbers.to_vec()));
            RowIn::call(vec![col("n")], &[numbers]).expect("a call")
        };
        assert_eq!(call(&[1, 2]), call(&[2, 1, 2]));
        assert_ne!(call(&[1, 2]), call(&[1, 3]));
        assert_ne!(call(&[1, 2]).schema_name().to_string(), call(&[1, 3]).schema_name().to_string());
    }
}
