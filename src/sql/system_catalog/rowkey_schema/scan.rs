//! Reading a relation: rows are made table by table while they are asked for.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::TableType;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::{StreamExt, stream};

use super::Source;
use super::cells::{batch, schema};
use super::relation::Relation;

/// The column that names the table a row is about.
pub(super) const TABLE_NAME: &str = "table_name";

#[derive(Debug)]
pub(super) struct RelationTable {
    relation: Relation,
    source: Arc<Source>,
    schema: SchemaRef,
}

impl RelationTable {
    pub(super) fn new(relation: Relation, source: Arc<Source>) -> Self {
        Self { relation, source, schema: schema(relation.columns()) }
    }
}

#[async_trait]
impl TableProvider for RelationTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    /// A filter for one table spares the others; it is evaluated above all the same.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushed = |filter: &&Expr| match table_named(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushed).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = RelationRows {
            relation: self.relation,
            source: Arc::clone(&self.source),
            schema: Arc::clone(&self.schema),
            only: filters.iter().find_map(table_named),
        };
        let scan = StreamingTableExec::try_new(
            Arc::clone(&self.schema),
            vec![Arc::new(rows)],
            projection,
            std::iter::empty(),
            false,
            limit,
        )?;
        Ok(Arc::new(scan))
    }
}

/// The table that `table_name = '...'` asks for.
fn table_named(filter: &Expr) -> Option<String> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else { return None };
    let (Expr::Column(column), Expr::Literal(value, _)) = (match (left.as_ref(), right.as_ref()) {
        (literal @ Expr::Literal(..), column) => (column, literal),
        sides => sides,
    }) else {
        return None;
    };
    match value {
        ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)) | ScalarValue::LargeUtf8(Some(name))
            if column.name == TABLE_NAME =>
        {
            Some(name.clone())
        }
        _ => None,
    }
}

/// The rows of a relation, all or those about one table.
#[derive(Debug)]
struct RelationRows {
    relation: Relation,
    source: Arc<Source>,
    schema: SchemaRef,
    only: Option<String>,
}

impl PartitionStream for RelationRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (relation, source, schema) = (self.relation, Arc::clone(&self.source), Arc::clone(&self.schema));
        let batches = if relation.is_by_table() {
            let tables = source.tables(self.only.as_deref());
            let rows = move |table| {
                let (source, schema) = (Arc::clone(&source), Arc::clone(&schema));
                async move { batch(relation.columns(), &schema, &relation.rows_of(&table, &source).await?) }
            };
            stream::iter(tables).then(rows).boxed()
        } else {
            stream::iter([batch(relation.columns(), &schema, &relation.rows(&source))]).boxed()
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}
