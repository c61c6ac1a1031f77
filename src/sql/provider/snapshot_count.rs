//! How many entities a table with recent writes has, without reading them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use rowkey_postgres::error::external;
use rowkey_storage::TableSnapshot;
use rowkey_storage::run::RunFiles;

/// Name of the one column.
pub(super) const ENTITIES: &str = "entities";

/// A relation of one row: the number of live entities of a table. It is known once the places of
/// recent writes in run files are, which takes reads where nobody has looked before; so it is no
/// literal.
#[derive(Debug)]
pub(super) struct SnapshotCount {
    snapshot: TableSnapshot,
    files: Arc<RunFiles>,
    schema: SchemaRef,
}

impl SnapshotCount {
    pub(super) fn new(snapshot: TableSnapshot, files: Arc<RunFiles>) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new(ENTITIES, DataType::Int64, false)]));
        Self { snapshot, files, schema }
    }
}

#[async_trait]
impl TableProvider for SnapshotCount {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let entities = self.snapshot.live_rows(&self.files).await;
        let entities = entities.map_err(external)?;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![entities as i64]));
        let batch = RecordBatch::try_new(self.schema(), vec![column])?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], self.schema(), projection.cloned())?)
    }
}
