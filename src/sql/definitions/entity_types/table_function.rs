//! `entity_types('Table')`: the types of entities in a table and the views proposed for them, as
//! rows.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::stream;

use super::discover::discover;
use super::proposal;
use crate::planner::PlanningContext;
use rowkey_postgres::error::external;

/// The table function. It reads the table on the same snapshot as the statement.
pub(crate) struct EntityTypes {
    statement: PlanningContext,
}

impl EntityTypes {
    pub(crate) fn new(statement: PlanningContext) -> Self {
        Self { statement }
    }
}

impl fmt::Debug for EntityTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EntityTypes")
    }
}

impl TableFunctionImpl for EntityTypes {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let table = match args.exprs() {
            [Expr::Literal(ScalarValue::Utf8(Some(table)) | ScalarValue::Utf8View(Some(table)), _)] => table.clone(),
            _ => return plan_err!("entity_types takes one argument, the name of a table: entity_types('Employees')"),
        };
        let rows = EntityTypesOf { statement: self.statement.clone(), table, schema: proposal::schema() };
        Ok(Arc::new(StreamingTable::try_new(proposal::schema(), vec![Arc::new(rows)])?))
    }
}

/// The rows for one table, found when they are read.
#[derive(Clone)]
struct EntityTypesOf {
    statement: PlanningContext,
    table: String,
    schema: SchemaRef,
}

impl fmt::Debug for EntityTypesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntityTypesOf").field("table", &self.table).finish_non_exhaustive()
    }
}

impl PartitionStream for EntityTypesOf {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let of = self.clone();
        let rows = stream::once(async move {
            let found = discover(&of.table, &of.statement.planner()).await;
            let found = found.map_err(external)?;
            Ok(proposal::batch(&found)?)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
