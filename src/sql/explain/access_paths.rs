//! `access_paths('<statement>')`: what EXPLAIN says, as rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use super::read::reads;
use super::table_read::TableRead;
use crate::planner::{ACCESS_PATHS_NUMBERS, ACCESS_PATHS_TEXTS, PlanningContext};
use rowkey_postgres::error::external;
use rowkey_postgres::syntax::{Request, parse};

/// The table function. It plans the inner statement on the same snapshot as the outer one.
pub(crate) struct AccessPaths {
    statement: PlanningContext,
}

impl AccessPaths {
    pub(crate) fn new(statement: PlanningContext) -> Self {
        Self { statement }
    }
}

impl fmt::Debug for AccessPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessPaths")
    }
}

impl TableFunctionImpl for AccessPaths {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let text = match args.exprs() {
            [Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _)] => text.clone(),
            _ => return plan_err!("access_paths takes one argument, the text of a query: access_paths('SELECT ...')"),
        };
        Ok(Arc::new(AccessPathsOf { statement: self.statement.clone(), text, schema: schema() }))
    }
}

struct AccessPathsOf {
    statement: PlanningContext,
    text: String,
    schema: SchemaRef,
}

impl fmt::Debug for AccessPathsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessPathsOf").field("text", &self.text).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for AccessPathsOf {
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
        let statement = parse(&self.text).map_err(external)?;
        let query = match &statement.request {
            Request::Query(query) | Request::Explain { statement: query, .. } => query,
            _ => return plan_err!("access_paths takes the text of a query: access_paths('SELECT ...')"),
        };
        let plan = self.statement.planner().physical_plan(&statement, query).await.map_err(external)?;
        let reads = reads(&plan, false).await.map_err(external)?;
        let reads: Vec<TableRead> = reads.into_iter().map(|(_, read)| read).collect();
        let batch = batch(&self.schema, &reads)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], Arc::clone(&self.schema), projection.cloned())?)
    }
}

fn schema() -> SchemaRef {
    let texts = ACCESS_PATHS_TEXTS.iter().map(|name| Field::new(*name, DataType::Utf8View, true));
    let numbers = ACCESS_PATHS_NUMBERS.iter().map(|name| Field::new(*name, DataType::Int64, true));
    Arc::new(Schema::new(texts.chain(numbers).collect::<Vec<_>>()))
}

fn batch(schema: &SchemaRef, reads: &[TableRead]) -> Result<RecordBatch> {
    let text = |get: fn(&TableRead) -> Option<String>| -> ArrayRef {
        Arc::new(reads.iter().map(get).collect::<StringViewArray>())
    };
    let number = |get: fn(&TableRead) -> Option<u64>| -> ArrayRef {
        Arc::new(reads.iter().map(|read| get(read).map(|n| n as i64)).collect::<Int64Array>())
    };
    let columns = vec![
        text(|read| Some(read.table.clone())),
        text(|read| Some(read.path.label().to_owned())),
        text(|read| Some(read.keys.clone())),
        text(|read| (!read.residual.is_empty()).then(|| read.residual.join(" AND "))),
        text(|read| read.order.clone()),
        text(|read| read.hint.clone()),
        number(|read| read.point_keys.map(|keys| keys as u64)),
        number(|read| Some(read.range_partitions.part)),
        number(|read| Some(read.range_partitions.whole)),
        number(|read| Some(read.files.part)),
        number(|read| Some(read.files.whole)),
        number(|read| Some(read.row_groups.part)),
        number(|read| Some(read.row_groups.whole)),
        number(|read| Some(read.pages.part)),
        number(|read| Some(read.pages.whole)),
        number(|read| Some(read.rows_max)),
        number(|read| Some(read.bytes_max)),
        number(|read| Some(read.service_cost.requests_max)),
        number(|read| Some(read.service_cost.entities_max)),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
