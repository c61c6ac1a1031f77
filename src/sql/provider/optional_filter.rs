//! Filters that an operator above a scan finds out while it runs, and checks itself.
//!
//! The keys of a hash join's smaller side, the bound of a top-k: what they leave out need not be
//! read. Where they leave out little, finding the rows and copying what is between them costs more
//! than the operator that would drop them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::BooleanArray;
use arrow::datatypes::{FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_plan::ColumnarValue;
use datafusion::physical_plan::filter_pushdown::ChildPushdownResult;

/// Rows after which it is decided.
const PROBED_ROWS: u64 = 32 << 10;
/// Rows that are all kept after that, until it is tried again: those of other files may differ.
const UNASKED_ROWS: u64 = 16 * PROBED_ROWS;
/// The same once it has changed: a bound may have become narrower.
const UNASKED_ROWS_CHANGED: u64 = PROBED_ROWS;

/// Makes the filters optional that are found out at run time: only operators that check their rows
/// themselves push such down.
pub(super) fn with_optional_filters(mut pushed: ChildPushdownResult) -> ChildPushdownResult {
    for parent in &mut pushed.parent_filters {
        if DynamicFilterTracking::classify(&parent.filter).contains_dynamic_filter() {
            parent.filter = Arc::new(OptionalFilter::new(Arc::clone(&parent.filter)));
        }
    }
    pushed
}

/// A filter that keeps all rows for a while where it was seen to keep more than half of them.
#[derive(Debug)]
pub(super) struct OptionalFilter {
    filter: Arc<dyn PhysicalExpr>,
    /// Shared by the copies for each file.
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    kept: AtomicU64,
    /// So many more are kept unasked.
    unasked: AtomicU64,
    /// Of the filter when it was looked at last.
    generation: AtomicU64,
}

impl OptionalFilter {
    fn new(filter: Arc<dyn PhysicalExpr>) -> Self {
        Self { filter, seen: Arc::default() }
    }
}

impl Seen {
    /// Whether a batch is kept as it is. Partitions that count at once may keep one more, or one
    /// less.
    fn keeps_all(&self, rows: u64, generation: u64) -> bool {
        let mut unasked = self.unasked.load(Ordering::Relaxed);
        if self.generation.swap(generation, Ordering::Relaxed) != generation {
            unasked = unasked.min(UNASKED_ROWS_CHANGED);
        }
        if unasked > 0 {
            self.unasked.store(unasked.saturating_sub(rows), Ordering::Relaxed);
        }
        unasked > 0
    }

    fn count(&self, rows: u64, kept: u64) {
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let kept = self.kept.fetch_add(kept, Ordering::Relaxed) + kept;
        if rows >= PROBED_ROWS {
            self.rows.store(0, Ordering::Relaxed);
            self.kept.store(0, Ordering::Relaxed);
            if kept * 2 > rows {
                self.unasked.store(UNASKED_ROWS, Ordering::Relaxed);
            }
        }
    }
}

impl fmt::Display for OptionalFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.filter, f)
    }
}

impl PartialEq for OptionalFilter {
    fn eq(&self, other: &Self) -> bool {
        self.filter.eq(&other.filter)
    }
}

impl Eq for OptionalFilter {}

impl Hash for OptionalFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.filter.hash(state);
    }
}

impl PhysicalExpr for OptionalFilter {
    fn return_field(&self, input_schema: &Schema) -> Result<FieldRef> {
        self.filter.return_field(input_schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows() as u64;
        if self.seen.keeps_all(rows, snapshot_generation(&self.filter)) {
            return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))));
        }
        let kept = self.filter.evaluate(batch)?;
        let count = match &kept {
            ColumnarValue::Array(kept) => match kept.as_any().downcast_ref::<BooleanArray>() {
                Some(kept) => kept.true_count() as u64,
                None => return internal_err!("a filter gives {}", kept.data_type()),
            },
            // Nothing is found out yet.
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => return Ok(kept),
            ColumnarValue::Scalar(_) => 0,
        };
        self.seen.count(rows, count);
        Ok(kept)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.filter]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(filter) if children.is_empty() => Ok(Arc::new(Self { filter, seen: Arc::clone(&self.seen) })),
            _ => internal_err!("an optional filter has one filter"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt_sql(f)
    }

    /// Row groups and pages are left out by what it is at the moment.
    fn snapshot(&self) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        Ok(Some(Arc::clone(&self.filter)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, lit};

    use super::*;

    fn kept(filter: &OptionalFilter, values: &[i32]) -> usize {
        let column: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        let batch = RecordBatch::try_from_iter([("n", column)]).expect("a batch");
        let kept = filter.evaluate(&batch).and_then(|kept| kept.into_array(values.len())).expect("a filter");
        kept.as_any().downcast_ref::<BooleanArray>().expect("truth values").true_count()
    }

    fn below(bound: i32) -> OptionalFilter {
        OptionalFilter::new(Arc::new(BinaryExpr::new(Arc::new(Column::new("n", 0)), Operator::Lt, lit(bound))))
    }

    #[test]
    fn what_leaves_out_little_is_not_asked_for_a_while() {
        let values: Vec<i32> = (0..8192).collect();
        let filter = below(6000);
        for _ in 0..PROBED_ROWS / 8192 {
            assert_eq!(kept(&filter, &values), 6000);
        }
        for _ in 0..UNASKED_ROWS / 8192 {
            assert_eq!(kept(&filter, &values), 8192);
        }
        assert_eq!(kept(&filter, &values), 6000);
    }

    #[test]
    fn a_bound_that_became_narrower_is_asked_soon() {
        let values: Vec<i32> = (0..8192).collect();
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("n", 0));
        let bound = Arc::new(DynamicFilterPhysicalExpr::new(vec![Arc::clone(&column)], lit(true)));
        let below = |bound: i32| Arc::new(BinaryExpr::new(Arc::clone(&column), Operator::Lt, lit(bound)));
        let filter = OptionalFilter::new(Arc::clone(&bound) as _);
        // What is true of all rows says nothing of what it will be.
        for _ in 0..64 {
            assert_eq!(kept(&filter, &values), 8192);
        }
        bound.update(below(6000)).expect("a bound");
        for _ in 0..PROBED_ROWS / 8192 {
            assert_eq!(kept(&filter, &values), 6000);
        }
        assert_eq!(kept(&filter, &values), 8192);
        bound.update(below(10)).expect("a bound");
        for _ in 0..UNASKED_ROWS_CHANGED / 8192 {
            assert_eq!(kept(&filter, &values), 8192);
        }
        assert_eq!(kept(&filter, &values), 10);
    }

    #[test]
    fn what_leaves_out_much_is_always_asked() {
        let values: Vec<i32> = (0..8192).collect();
        let filter = below(4000);
        for _ in 0..64 {
            assert_eq!(kept(&filter, &values), 4000);
        }
    }
}
