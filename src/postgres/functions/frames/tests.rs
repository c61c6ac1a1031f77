use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool, UnboundedMemoryPool};
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::{Accumulator, AggregateUDF};
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::col;

use super::{FrameAggregate, FrameLimits};

fn accumulator(inner: Arc<AggregateUDF>, limits: FrameLimits) -> Box<dyn Accumulator> {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, true)]));
    let column = col("x", &schema).expect("a column");
    let framed = AggregateUDF::new_from_impl(FrameAggregate { inner, ordered: true, limits: Some(limits) });
    let aggregate = AggregateExprBuilder::new(Arc::new(framed), vec![column]).schema(schema).alias("a").build();
    aggregate.expect("made").create_sliding_accumulator().expect("an accumulator")
}

fn doubles(values: impl IntoIterator<Item = f64>) -> [ArrayRef; 1] {
    [Arc::new(Float64Array::from_iter_values(values))]
}

#[test]
fn what_leaves_a_frame_leaves_nothing_behind() {
    let mut sum = accumulator(sum_udaf(), FrameLimits::default());
    for gone in [1e16, f64::NAN, f64::INFINITY] {
        sum.update_batch(&doubles([gone])).expect("added");
        sum.update_batch(&doubles([1.0])).expect("added");
        sum.evaluate().expect("a sum");
        sum.retract_batch(&doubles([gone])).expect("retracted");
        assert_eq!(sum.evaluate().expect("a sum"), ScalarValue::Float64(Some(1.0)));
        sum.retract_batch(&doubles([1.0])).expect("retracted");
        assert_eq!(sum.evaluate().expect("a sum"), ScalarValue::Float64(None));
    }
}

#[test]
fn a_frame_stops_with_its_statement() {
    let stopped = Arc::new(AtomicBool::new(false));
    let signal = Arc::clone(&stopped);
    let check = move || if signal.load(Ordering::Relaxed) { exec_err!("stopped") } else { Ok(()) };
    let mut sum = accumulator(sum_udaf(), FrameLimits::new(Arc::new(check), Arc::new(UnboundedMemoryPool::default())));
    sum.update_batch(&doubles([1.0])).expect("added");
    sum.evaluate().expect("a sum");
    stopped.store(true, Ordering::Relaxed);
    assert!(sum.evaluate().is_err());
}

#[test]
fn rows_and_results_are_counted() {
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
    let limits = || FrameLimits::new(Arc::new(|| Ok(())), Arc::clone(&pool));
    let mut sum = accumulator(sum_udaf(), limits());
    sum.update_batch(&doubles((0..50_000).map(f64::from))).expect("within the pool");
    assert!(pool.reserved() >= 400_000, "{}", pool.reserved());
    assert!(sum.update_batch(&doubles((0..200_000).map(f64::from))).is_err());
    drop(sum);
    assert_eq!(pool.reserved(), 0);
    // Each list is small, and all of a batch are not.
    let mut lists = accumulator(array_agg_udaf(), limits());
    lists.update_batch(&doubles((0..1000).map(f64::from))).expect("within the pool");
    let error = (0..1000).find_map(|_| lists.evaluate().err()).expect("too many");
    assert!(error.to_string().contains("window frame"), "{error}");
}
