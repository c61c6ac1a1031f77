//! Keys from what operators find out while a plan runs: the values of a join's other side, the
//! value of a subquery.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterTracking, InListExpr, Literal};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::{is_volatile, snapshot_physical_expr};
use datafusion::physical_plan::ColumnarValue;
use datafusion::scalar::ScalarValue;

use super::key_region::{Bounded, KeyRegion};
use super::operand::{KeyColumn, PARTITION_KEY, ROW_KEY};
use super::plan::bounded_key_set;
use super::predicate::{compare_key, region};
use rowkey_model::{Interval, IntervalSet, KeySet};
use rowkey_postgres::functions::is_equals_any;

/// Deepest nesting looked into.
const DEPTH_MAX: usize = 64;

/// Whether a filter has parts that are known only while its plan runs.
pub(crate) fn has_run_time_parts(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter() || has_subquery_value(filter)
}

/// Whether an expression has the value of a subquery in it.
fn has_subquery_value(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.exists(|expr| Ok(expr.is::<ScalarSubqueryExpr>())).unwrap_or(false)
}

/// Every key that can pass the parts of a filter that came to be known while its plan runs, and
/// possibly others. `None` if they bound no key: those that may still change do not.
///
/// Columns are those of the table.
pub(crate) fn run_time_keys(filter: &Arc<dyn PhysicalExpr>) -> Result<Option<KeySet>> {
    let mut keys = KeyRegion::all();
    for part in split_conjunction(filter) {
        let is_settled = match DynamicFilterTracking::classify(part) {
            DynamicFilterTracking::Static => has_subquery_value(part),
            DynamicFilterTracking::AllComplete => true,
            DynamicFilterTracking::Watching(_) => false,
        };
        if is_settled {
            let settled = snapshot_physical_expr(Arc::clone(part))?;
            keys = superset(keys.intersect(&keys_of(&settled, 0)));
        }
    }
    Ok((!keys.is_all()).then(|| bounded_key_set(&keys).0))
}

fn superset(outcome: Bounded) -> KeyRegion {
    match outcome {
        Bounded::Exact(region) | Bounded::Superset(region) => region,
    }
}

/// The keys for which an expression may be TRUE.
fn keys_of(expr: &Arc<dyn PhysicalExpr>, depth: usize) -> KeyRegion {
    if depth > DEPTH_MAX {
        return KeyRegion::all();
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let both = || (keys_of(binary.left(), depth + 1), keys_of(binary.right(), depth + 1));
        return match binary.op() {
            Operator::And => {
                let (left, right) = both();
                superset(left.intersect(&right))
            }
            Operator::Or => {
                let (left, right) = both();
                superset(left.union(&right))
            }
            op => comparison(*op, binary.left(), binary.right()),
        };
    }
    if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
        return if in_list.negated() { KeyRegion::all() } else { of_list(in_list) };
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>()
        && let (true, [array, item]) = (is_equals_any(call.name()), call.args())
        && let Some(key) = key_column(item)
    {
        return of_array(array, key);
    }
    match value(expr) {
        Some(ScalarValue::Boolean(Some(true))) | None => KeyRegion::all(),
        Some(ScalarValue::Boolean(_) | ScalarValue::Null) => KeyRegion::empty(),
        Some(_) => KeyRegion::all(),
    }
}

fn comparison(op: Operator, left: &Arc<dyn PhysicalExpr>, right: &Arc<dyn PhysicalExpr>) -> KeyRegion {
    let (key, op, value) = match (key_column(left), key_column(right)) {
        (Some(key), None) => (key, Some(op), value(right)),
        (None, Some(key)) => (key, op.swap(), value(left)),
        _ => return KeyRegion::all(),
    };
    let (Some(op), Some(value)) = (op, value) else { return KeyRegion::all() };
    match value.try_as_str() {
        Some(Some(text)) => compare_key(key, op, text).truth.region,
        // A comparison with NULL is not TRUE, and a key is not NULL.
        Some(None) if op != Operator::IsDistinctFrom => KeyRegion::empty(),
        _ => KeyRegion::all(),
    }
}

fn of_list(in_list: &InListExpr) -> KeyRegion {
    let values = || in_list.list().iter().map(value);
    if let Some(key) = key_column(in_list.expr()) {
        let mut points = Vec::with_capacity(in_list.len());
        for value in values() {
            match value.as_ref().map(ScalarValue::try_as_str) {
                Some(Some(Some(text))) => points.push(Interval::point(text)),
                // NULL is equal to nothing.
                Some(Some(None)) => {}
                _ => return KeyRegion::all(),
            }
        }
        return region(key, &IntervalSet::from_intervals(points));
    }
    let Some(row) = in_list.expr().downcast_ref::<ScalarFunctionExpr>().filter(|call| call.name() == "struct") else {
        return KeyRegion::all();
    };
    let place = |key: KeyColumn| row.args().iter().position(|arg| key_column(arg) == Some(key));
    let (Some(partition), Some(row)) = (place(KeyColumn::Partition), place(KeyColumn::Row)) else {
        return KeyRegion::all();
    };
    let mut keys = Vec::with_capacity(in_list.len());
    for value in values() {
        let Some(ScalarValue::Struct(members)) = value else { return KeyRegion::all() };
        let text = |place: usize| ScalarValue::try_from_array(members.columns().get(place)?, 0).ok();
        match (text(partition), text(row)) {
            (Some(partition), Some(row)) => match (partition.try_as_str(), row.try_as_str()) {
                (Some(Some(partition)), Some(Some(row))) => keys.push((partition.to_owned(), row.to_owned())),
                (Some(_), Some(_)) => {}
                _ => return KeyRegion::all(),
            },
            _ => return KeyRegion::all(),
        }
    }
    superset(KeyRegion::of_keys(keys.iter().map(|(partition, row)| (partition.as_str(), row.as_str()))))
}

fn key_column(expr: &Arc<dyn PhysicalExpr>) -> Option<KeyColumn> {
    match expr.downcast_ref::<Column>()?.name() {
        PARTITION_KEY => Some(KeyColumn::Partition),
        ROW_KEY => Some(KeyColumn::Row),
        _ => None,
    }
}

/// A constant, or what is computed of values of subqueries that have run.
fn value(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return Some(literal.value().clone());
    }
    if !has_subquery_value(expr) || !collect_columns(expr).is_empty() || is_volatile(expr) {
        return None;
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).ok()?;
    // It has no value before its query has run; what fails does so where rows are filtered.
    match expr.evaluate(&row).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0).ok(),
    }
}

/// `key = ANY (array)`.
fn of_array(array: &Arc<dyn PhysicalExpr>, key: KeyColumn) -> KeyRegion {
    let items = match value(array) {
        Some(ScalarValue::List(list)) if list.is_null(0) => return KeyRegion::empty(),
        Some(ScalarValue::List(list)) => list.value(0),
        _ => return KeyRegion::all(),
    };
    let Some(texts) = items.as_string_view_opt() else { return KeyRegion::all() };
    region(key, &IntervalSet::from_intervals(texts.iter().flatten().map(Interval::point)))
}

#[cfg(test)]
mod tests;
