//! Reads by key, run as look-ups in the snapshot.

use std::sync::{Arc, Weak};

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result as PlanResult, internal_err};

use crate::access::AccessPath;
use crate::provider::{EntityRows, EntityTable};
use rowkey_base::Result;
use rowkey_model::{Cut, Interval, KeyRange, KeyRef};
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::types::SqlValue;
use rowkey_storage::run::{PageBudget, ROW_KEY, RunFiles};
use rowkey_storage::{FewRows, PropertyColumn, Snapshot, Table};

/// What is read this way; for more, a scan is faster.
const BUDGET: PageBudget = PageBudget { pages: 4, bytes: 8 << 20 };

/// Decoded bytes of the pages of single entities that are read beside sockets.
const POINT_PAGE_BYTES_MAX: u64 = 1 << 20;

/// A read of some entities, or of some rows of a partition or a few.
#[derive(Debug)]
pub(crate) struct KeyRead {
    /// The table when the statement was planned, without its content.
    table: Arc<Table>,
    /// That table itself, to find out cheaply whether it has changed.
    seen: Weak<Table>,
    /// Not one is read twice.
    partitions: Vec<Operand>,
    rows: Rows,
    columns: EntityRows,
    /// Whether those are all properties that the table had.
    reads_all: bool,
    /// LIMIT.
    fetch: Option<usize>,
}

/// The rows of a statement by key.
pub(crate) struct KeyRows {
    pub rows: RecordBatch,
    /// How its table was read, if it reads one, and how many entities were found.
    pub read: Option<(AccessPath, u64)>,
}

/// A text, or NULL, to which keys are compared.
#[derive(Debug)]
pub(super) enum Operand {
    Text(Option<String>),
    /// By its place among the parameters.
    Parameter(usize),
}

/// The RowKeys that are read.
#[derive(Debug)]
pub(super) enum Rows {
    /// Those with one of these RowKeys.
    Points(Vec<Operand>),
    Between {
        lower: Option<Bound>,
        upper: Option<Bound>,
    },
}

#[derive(Debug)]
pub(super) struct Bound {
    pub operand: Operand,
    pub inclusive: bool,
}

impl KeyRead {
    pub(super) fn new(
        table: &EntityTable,
        partitions: Vec<Operand>,
        rows: Rows,
        columns: EntityRows,
        fetch: Option<usize>,
    ) -> Self {
        let seen = Arc::downgrade(table.table());
        let table = table.snapshot().without_content().table;
        let is_read = |column: &PropertyColumn| columns.properties().any(|property| *property == *column.name);
        let reads_all = table.columns.iter().all(is_read);
        Self { table, seen, partitions, rows, columns, reads_all, fetch }
    }

    /// How it reads its table.
    pub(crate) fn path(&self) -> AccessPath {
        match &self.rows {
            Rows::Points(_) => AccessPath::Point,
            Rows::Between { lower: None, upper: None } => AccessPath::Partition,
            Rows::Between { .. } => AccessPath::Range,
        }
    }

    /// Whether it takes some microseconds: pages are small.
    pub(crate) fn is_small(&self, snapshot: &Snapshot, values: &[SqlValue]) -> bool {
        let Some(table) = self.table_of(snapshot) else { return true };
        let table = snapshot.table_snapshot(table);
        let page_bytes_max = match &self.rows {
            Rows::Points(_) => POINT_PAGE_BYTES_MAX,
            Rows::Between { .. } => POINT_PAGE_BYTES_MAX / BUDGET.pages as u64,
        };
        let partitions = texts(&self.partitions, values).unwrap_or_default();
        partitions.iter().all(|partition| table.page_bytes_max(&KeyRange::partition(partition)) <= page_bytes_max)
    }

    /// The rows, under the names and with the types of a schema. `None` if the statement has to be
    /// run as a query.
    pub(crate) async fn rows(
        &self,
        files: &RunFiles,
        snapshot: &Snapshot,
        values: &[SqlValue],
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>> {
        let Some(table) = self.table_of(snapshot) else { return Ok(None) };
        let table = snapshot.table_snapshot(table);
        let none = || Ok(Some(RecordBatch::new_empty(Arc::clone(schema))));
        if self.fetch == Some(0) {
            return none();
        }
        let fetch = self.fetch.unwrap_or(usize::MAX);
        let partitions = texts(&self.partitions, values)?;
        let batches = match &self.rows {
            Rows::Points(rows) => {
                let rows = texts(rows, values)?;
                let mut entities = Vec::with_capacity(1);
                for partition in partitions {
                    for row in &rows {
                        if entities.len() < fetch {
                            entities.extend(table.get(files, KeyRef { partition, row }).await?);
                        }
                    }
                }
                if entities.is_empty() {
                    return none();
                }
                vec![batch(schema, self.columns.of_entities(&entities), entities.len()).map_err(from_datafusion)?]
            }
            Rows::Between { lower, upper } => {
                let lower = match lower {
                    None => Cut::Start,
                    Some(Bound { operand, inclusive }) => match (operand.text(values)?, inclusive) {
                        (None, _) => return none(),
                        (Some(row), true) => Cut::Before(row.to_owned()),
                        (Some(row), false) => Cut::After(row.to_owned()),
                    },
                };
                let upper = match upper {
                    None => Cut::End,
                    Some(Bound { operand, inclusive }) => match (operand.text(values)?, inclusive) {
                        (None, _) => return none(),
                        (Some(row), true) => Cut::After(row.to_owned()),
                        (Some(row), false) => Cut::Before(row.to_owned()),
                    },
                };
                let Some(rows) = Interval::new(lower, upper) else { return none() };
                let (mut budget, mut left) = (BUDGET, fetch);
                let mut batches = Vec::new();
                for partition in partitions {
                    let range = KeyRange::rows(partition, &rows);
                    let Some(found) = table.few_rows(files, &range, &mut budget).await? else { return Ok(None) };
                    let rows = self.of_partition(schema, &found, left).map_err(from_datafusion)?;
                    left -= rows.iter().map(RecordBatch::num_rows).sum::<usize>();
                    batches.extend(rows);
                }
                batches
            }
        };
        match batches.as_slice() {
            [] => none(),
            [one] => Ok(Some(one.clone())),
            several => {
                let rows = concat_batches(schema, several).map_err(DataFusionError::from).map_err(from_datafusion)?;
                Ok(Some(rows))
            }
        }
    }

    /// At most `most` rows of one partition, in the order of their RowKeys.
    fn of_partition(&self, schema: &SchemaRef, found: &FewRows, most: usize) -> PlanResult<Vec<RecordBatch>> {
        // Where they are merged, all have to be there.
        let mut wanted = if found.in_key_order { most } else { usize::MAX };
        let mut batches = Vec::with_capacity(found.batches.len());
        for rows in &found.batches {
            let rows = rows.slice(0, rows.num_rows().min(wanted));
            wanted -= rows.num_rows();
            if rows.num_rows() > 0 {
                batches.push(batch(schema, self.columns.of_rows(&rows)?, rows.num_rows())?);
            }
        }
        if found.in_key_order {
            return Ok(batches);
        }
        if !found.recent.is_empty() {
            batches.push(batch(schema, self.columns.of_entities(&found.recent), found.recent.len())?);
        }
        let merged = merged(schema, &batches, found)?;
        Ok(vec![merged.slice(0, merged.num_rows().min(most))])
    }

    /// The table in a snapshot, if its name and the columns that are read are those that the
    /// statement was planned for. One that reads all of them may have been written with a star.
    fn table_of<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a Arc<Table>> {
        let now = snapshot.table(self.table.id)?;
        let same_columns = || {
            now.schema_version == self.table.schema_version && now.columns == self.table.columns
                || !self.reads_all && now.keeps_columns_of(&self.table, self.columns.properties())
        };
        let same = self.seen.as_ptr() == Arc::as_ptr(now)
            || (now.name == self.table.name && !now.has_other() && same_columns());
        same.then_some(now)
    }
}

fn batch(schema: &SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> PlanResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

/// Rows of one partition, in the order of their RowKeys, which `found` has of the same rows.
fn merged(schema: &SchemaRef, rows: &[RecordBatch], found: &FewRows) -> PlanResult<RecordBatch> {
    let mut order = Vec::with_capacity(rows.iter().map(RecordBatch::num_rows).sum());
    for batch in &found.batches {
        let Some(row_keys) = batch.column_by_name(ROW_KEY).and_then(|column| column.as_string_view_opt()) else {
            return internal_err!("rows of a file without their RowKeys");
        };
        for row_key in row_keys.iter() {
            order.push((row_key, order.len() as u64));
        }
    }
    for entity in &found.recent {
        order.push((Some(entity.key.row.as_str()), order.len() as u64));
    }
    // Stable sorts are quick where stretches are sorted.
    order.sort_by_key(|(row_key, _)| *row_key);
    let order: UInt64Array = order.into_iter().map(|(_, row)| row).collect();
    Ok(take_record_batch(&concat_batches(schema, rows)?, &order)?)
}

/// What keys may be equal to: each text once, in the order of keys. Nothing is equal to NULL.
fn texts<'a>(operands: &'a [Operand], values: &'a [SqlValue]) -> Result<Vec<&'a str>> {
    let mut texts = Vec::with_capacity(operands.len());
    for operand in operands {
        texts.extend(operand.text(values)?);
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}

impl Operand {
    fn text<'a>(&'a self, values: &'a [SqlValue]) -> Result<Option<&'a str>> {
        match self {
            Operand::Text(text) => Ok(text.as_deref()),
            Operand::Parameter(place) => match values.get(*place) {
                Some(SqlValue::Text(text)) => Ok(Some(text.as_str())),
                Some(SqlValue::Null) => Ok(None),
                other => {
                    let message = format!("parameter ${} has {other:?}, and is a text", place + 1);
                    Err(rowkey_base::Error::new(rowkey_base::SqlState::INTERNAL_ERROR, message))
                }
            },
        }
    }
}
