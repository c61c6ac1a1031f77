//! Catalog relations as DataFusion sees them: a schema that is known beforehand, and rows that are
//! made while they are read.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;

use super::cell::{Cell, Row, Rows, array, constant, nulls};
use super::contents::{Contents, definition, definitions};
use super::recorded::Definition;
use super::rows::{rows, telling};
use super::wanted::Wanted;

/// Rows of a batch: of wide rows, a megabyte or two.
const BATCH_ROWS_MAX: usize = 2048;
/// The transaction of what was there from the beginning.
const BOOTSTRAP_TRANSACTION: u32 = 1;

/// One of the schemas that every database has.
#[derive(Debug)]
pub(super) struct SystemSchema {
    pub name: &'static str,
    pub contents: Arc<Contents>,
}

#[async_trait]
impl SchemaProvider for SystemSchema {
    fn table_names(&self) -> Vec<String> {
        let own = definitions().filter(|definition| definition.schema == self.name);
        own.map(|definition| definition.name.to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(definition) = definition(self.name, name) else { return Ok(None) };
        Ok(Some(Arc::new(SystemTable { definition, contents: Arc::clone(&self.contents) })))
    }

    fn table_exist(&self, name: &str) -> bool {
        definition(self.name, name).is_some()
    }
}

/// A relation of the catalog.
#[derive(Debug)]
struct SystemTable {
    definition: &'static Definition,
    contents: Arc<Contents>,
}

#[async_trait]
impl TableProvider for SystemTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.definition.arrow)
    }

    fn table_type(&self) -> TableType {
        if self.definition.kind == 'v' { TableType::View } else { TableType::Base }
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, columns) = match projection {
            Some(columns) => (Arc::new(self.definition.arrow.project(columns)?), columns.clone()),
            None => (Arc::clone(&self.definition.arrow), (0..self.definition.arrow.fields().len()).collect()),
        };
        let scan = SystemScan {
            definition: self.definition,
            contents: Arc::clone(&self.contents),
            columns,
            schema: Arc::clone(&schema),
            wanted: Wanted::by(filters, &telling(self.definition)),
        };
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![Arc::new(scan)], None, [], false, limit)?))
    }
}

/// A scan of a catalog relation.
struct SystemScan {
    definition: &'static Definition,
    contents: Arc<Contents>,
    /// Places of the columns wanted, in the relation.
    columns: Vec<usize>,
    schema: SchemaRef,
    wanted: Wanted,
}

impl fmt::Debug for SystemScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.definition.schema, self.definition.name)
    }
}

impl PartitionStream for SystemScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batch_rows = context.session_config().batch_size().clamp(1, BATCH_ROWS_MAX);
        let made = rows(&self.contents, self.definition, &self.wanted);
        let batches = Batches::new(self.definition, Arc::clone(&self.schema), &self.columns, made, batch_rows);
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream::iter(batches)))
    }
}

/// Where the values of a column come from.
enum Source {
    /// The cell at this place of every row.
    Cell(usize),
    Constant(Cell),
    Null,
}

/// Rows, batch by batch.
struct Batches {
    schema: SchemaRef,
    sources: Vec<Source>,
    rows: Box<dyn Iterator<Item = Row> + Send>,
    batch_rows: usize,
}

impl Batches {
    fn new(definition: &Definition, schema: SchemaRef, columns: &[usize], rows: Rows, batch_rows: usize) -> Self {
        let all: &Schema = &definition.arrow;
        let source = |column: &usize| {
            let name = all.field(*column).name().as_str();
            match rows.columns.iter().position(|known| *known == name) {
                Some(place) => Source::Cell(place),
                None if *column >= definition.columns.len() && name == "xmin" => {
                    Source::Constant(Cell::Oid(BOOTSTRAP_TRANSACTION))
                }
                None if *column >= definition.columns.len() && name == "tableoid" => {
                    Source::Constant(Cell::Oid(definition.oid))
                }
                None => Source::Null,
            }
        };
        Self { schema, sources: columns.iter().map(source).collect(), rows: rows.rows, batch_rows }
    }

    fn batch(&self, rows: &[Row]) -> Result<RecordBatch> {
        let column = |(source, field): (&Source, &Arc<arrow::datatypes::Field>)| -> Result<ArrayRef> {
            match source {
                Source::Cell(place) => {
                    let cells: Vec<&Cell> = rows.iter().map(|row| row.get(*place).unwrap_or(&Cell::Null)).collect();
                    array(field, &cells)
                }
                Source::Constant(cell) => constant(field, cell, rows.len()),
                Source::Null => Ok(nulls(field, rows.len())),
            }
        };
        let columns = self.sources.iter().zip(self.schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows: Vec<Row> = self.rows.by_ref().take(self.batch_rows).collect();
        (!rows.is_empty()).then(|| self.batch(&rows))
    }
}
