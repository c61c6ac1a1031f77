//! The rows that are among the first of their partitions, by those before them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{Field, Schema};
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use super::FirstRows;
use crate::pass_through::PassThrough;

/// Partitions that are followed.
const PARTITIONS_MAX: usize = 10_000;
/// Rows after which half of them must have been left out.
const ROWS_SAMPLED: usize = 100_000;

/// A stream without the rows that cannot be among the first of their partitions.
pub(super) fn first_rows(
    what: FirstRows,
    input: SendableRecordBatchStream,
    context: &TaskContext,
) -> Result<SendableRecordBatchStream> {
    let schema = input.schema();
    let memory = MemoryConsumer::new(FirstRows::NAME).register(context.memory_pool());
    let kept = Kept {
        ranked: Some(Ranked::new(what, &schema, memory)?),
        batches: BatchCoalescer::new(Arc::clone(&schema), context.session_config().batch_size()),
        input: Some(input),
    };
    let batches = stream::try_unfold(kept, |mut kept| async move {
        let batch = kept.next().await?;
        Ok(batch.map(|batch| (batch, kept)))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

struct Kept {
    /// `None` once all rows are kept.
    ranked: Option<Ranked>,
    batches: BatchCoalescer,
    input: Option<SendableRecordBatchStream>,
}

impl Kept {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.batches.next_completed_batch() {
                return Ok(Some(batch));
            }
            let Some(input) = &mut self.input else { return Ok(None) };
            match (input.next().await.transpose()?, &mut self.ranked) {
                (Some(batch), Some(ranked)) => {
                    let mask = ranked.mask(&batch)?;
                    self.batches.push_batch_with_filter(batch, &mask)?;
                    if !ranked.is_worth_it() {
                        self.ranked = None;
                    }
                }
                (Some(batch), None) => self.batches.push_batch(batch)?,
                (None, _) => {
                    self.input = None;
                    self.batches.finish_buffered_batch()?;
                }
            }
        }
    }
}

/// By partition, the keys of the first rows that were seen.
struct Ranked {
    what: FirstRows,
    partitions: Option<Box<dyn GroupValues>>,
    order: RowConverter,
    /// Of each partition, the last of the first on top.
    first: Vec<BinaryHeap<Box<[u8]>>>,
    key_bytes: usize,
    memory: MemoryReservation,
    has_memory: bool,
    rows_seen: usize,
    rows_kept: usize,
    /// By row, the partition.
    places: Vec<usize>,
}

impl Ranked {
    fn new(what: FirstRows, schema: &Schema, memory: MemoryReservation) -> Result<Self> {
        let partitions = match what.partition_by.is_empty() {
            true => None,
            false => {
                let field = |(at, expr): (usize, &Arc<dyn PhysicalExpr>)| {
                    Ok(Field::new(at.to_string(), expr.data_type(schema)?, expr.nullable(schema)?))
                };
                let fields = what.partition_by.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
                Some(new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)?)
            }
        };
        let key = |by: &PhysicalSortExpr| Ok(SortField::new_with_options(by.expr.data_type(schema)?, by.options));
        let order = RowConverter::new(what.order_by.iter().map(key).collect::<Result<_>>()?)?;
        Ok(Self {
            what,
            partitions,
            order,
            first: Vec::new(),
            key_bytes: 0,
            memory,
            has_memory: true,
            rows_seen: 0,
            rows_kept: 0,
            places: Vec::new(),
        })
    }

    /// Which rows of a batch may be among the first.
    fn mask(&mut self, batch: &RecordBatch) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        let evaluate = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(rows);
        let order: Vec<ArrayRef> = self.what.order_by.iter().map(|by| evaluate(&by.expr)).collect::<Result<_>>()?;
        self.places.clear();
        match &mut self.partitions {
            Some(partitions) => {
                let keys: Vec<ArrayRef> = self.what.partition_by.iter().map(evaluate).collect::<Result<_>>()?;
                partitions.intern(&keys, &mut self.places)?;
                self.first.resize_with(partitions.len(), BinaryHeap::new);
            }
            None => {
                self.places.resize(rows, 0);
                self.first.resize_with(1, BinaryHeap::new);
            }
        }
        let order = self.order.convert_columns(&order)?;
        let mut kept = 0;
        let mask: Vec<bool> = order
            .iter()
            .zip(&self.places)
            .map(|(key, place)| {
                let (key, first) = (key.as_ref(), &mut self.first[*place]);
                if first.len() < self.what.rows {
                    self.key_bytes += key.len();
                    first.push(key.into());
                } else if let Some(mut last) = first.peek_mut() {
                    match key.cmp(&**last) {
                        Ordering::Greater => return false,
                        Ordering::Equal if !self.what.has_ties => return false,
                        Ordering::Equal => {}
                        Ordering::Less => {
                            self.key_bytes = self.key_bytes + key.len() - last.len();
                            *last = key.into();
                        }
                    }
                }
                kept += 1;
                true
            })
            .collect();
        self.rows_seen += rows;
        self.rows_kept += kept;
        let partitions = self.partitions.as_ref().map_or(0, |partitions| partitions.size());
        let heaps = self.first.capacity() * size_of::<BinaryHeap<Box<[u8]>>>();
        let keys = self.first.len() * self.what.rows * size_of::<Box<[u8]>>() + self.key_bytes;
        self.has_memory = self.memory.try_resize(partitions + heaps + keys + order.size()).is_ok();
        Ok(mask.into())
    }

    fn is_worth_it(&self) -> bool {
        self.has_memory
            && self.first.len() <= PARTITIONS_MAX
            && (self.rows_seen < ROWS_SAMPLED || self.rows_kept <= self.rows_seen / 2)
    }
}
