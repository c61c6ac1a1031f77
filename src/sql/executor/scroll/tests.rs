use arrow::array::{AsArray, Int32Array};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

use super::*;
use crate::planner::Column;
use rowkey_base::SqlState;

fn scrolled(batches: &[&[i32]], memory_bytes: usize) -> ScrolledRows {
    let field = Arc::new(Field::new("n", DataType::Int32, true));
    let schema = Arc::new(Schema::new(vec![Arc::clone(&field)]));
    let batch = |values: &&[i32]| {
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(Int32Array::from(values.to_vec()))]).map_err(Into::into)
    };
    let batches: Vec<_> = batches.iter().map(batch).collect();
    let answer = Answer::new(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), stream::iter(batches))));
    let columns = Arc::from([Column { field, origin: None, modifier: -1 }]);
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(memory_bytes));
    ScrolledRows::new(Rows::new(columns, "SELECT", answer), MemoryConsumer::new("cursor").register(&pool))
}

fn values(cursor: &mut ScrolledRows, direction: Direction) -> Result<Vec<i32>> {
    futures::executor::block_on(async {
        let batches = cursor.fetch(direction).await?.into_answer().collect().await?;
        Ok(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec()).collect())
    })
}

#[test]
fn a_cursor_goes_both_ways() {
    use Direction::{Absolute, Backward, Forward, Relative};
    let mut cursor = scrolled(&[&[1, 2, 3], &[], &[4, 5]], usize::MAX);
    // What PostgreSQL 15 gives, one after the other.
    for (direction, expected) in [
        (Backward(Some(1)), &[][..]),
        (Forward(Some(2)), &[1, 2]),
        (Forward(Some(0)), &[2]),
        (Backward(Some(1)), &[1]),
        (Backward(Some(1)), &[]),
        (Forward(Some(4)), &[1, 2, 3, 4]),
        (Backward(Some(2)), &[3, 2]),
        (Forward(None), &[3, 4, 5]),
        (Relative(0), &[]),
        (Backward(Some(1)), &[5]),
        (Forward(Some(1)), &[]),
        (Backward(None), &[5, 4, 3, 2, 1]),
        (Relative(3), &[3]),
        (Relative(-2), &[1]),
        (Relative(-2), &[]),
        (Absolute(-1), &[5]),
        (Absolute(-6), &[]),
        (Absolute(2), &[2]),
        (Absolute(9), &[]),
        (Backward(Some(9)), &[5, 4, 3, 2, 1]),
        (Absolute(0), &[]),
        (Forward(Some(1)), &[1]),
    ] {
        assert_eq!(values(&mut cursor, direction).expect("fetches"), expected, "{direction:?}");
    }
    assert_eq!(futures::executor::block_on(cursor.pass(Forward(None))).expect("moves"), 4);
}

#[test]
fn what_is_kept_has_its_memory() {
    let rows: Vec<i32> = (0..10_000).collect();
    let mut cursor = scrolled(&[&rows, &rows], 60_000);
    assert_eq!(values(&mut cursor, Direction::Absolute(2)).expect("fits"), [1]);
    let error = values(&mut cursor, Direction::Forward(None)).expect_err("does not fit");
    assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY);
}

#[test]
fn a_batch_that_is_fetched_row_by_row_is_kept_once() {
    let rows: Vec<i32> = (0..1_000).collect();
    let mut cursor = scrolled(&[&rows], 10_000);
    for row in &rows {
        assert_eq!(values(&mut cursor, Direction::Forward(Some(1))).expect("fits"), [*row]);
    }
}
