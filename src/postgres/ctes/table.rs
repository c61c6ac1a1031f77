//! A WITH query where it is named: a table, to DataFusion's rules.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, TableReference, internal_err};
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan};
use datafusion::physical_plan::ExecutionPlan;

use super::scan_exec::{CteScanExec, RowOrder};
use super::spool::CteSpool;

/// When the rows of a WITH query are computed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Computed {
    Once,
    /// If it is read more than once: two copies could have other rows, or are not worth it.
    OnceIfRepeated,
    /// If it is large.
    OnceIfLarge,
    /// The statement says that it need not be.
    EachTime,
}

/// A WITH query as it was planned.
#[derive(Debug)]
pub(super) struct Definition {
    /// Unique in the plan.
    pub key: String,
    pub plan: LogicalPlan,
    pub computed: Computed,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Before it is known whether it is inlined. What is in it is not seen by walks over the plan.
    Defined(Arc<Definition>),
    /// The query of that place in [`super::With`].
    Gathered(usize),
    /// Rows that are being computed.
    Spooled(Arc<CteSpool>, Arc<RowOrder>),
}

/// A WITH query where it is named.
#[derive(Debug, Clone)]
pub(super) struct CteTable {
    /// Qualifies its columns.
    pub name: TableReference,
    pub schema: SchemaRef,
    pub source: Source,
}

impl CteTable {
    /// The leaf of a plan that reads this.
    pub(super) fn scan(self) -> Result<LogicalPlan> {
        LogicalPlanBuilder::scan(self.name.clone(), provider_as_source(Arc::new(self)), None)?.build()
    }
}

/// The WITH query that a scan reads, if it reads one.
pub(super) fn cte_of(scan: &TableScan) -> Option<CteTable> {
    // Sources of other kinds, of which there is none to read, are no providers.
    let provider = source_as_provider(&scan.source).ok()?;
    provider.downcast_ref::<CteTable>().cloned()
}

/// [`cte_of`] any node.
pub(super) fn cte_read(plan: &LogicalPlan) -> Option<CteTable> {
    match plan {
        LogicalPlan::TableScan(scan) => cte_of(scan),
        _ => None,
    }
}

#[async_trait]
impl TableProvider for CteTable {
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
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Source::Spooled(spool, order) = &self.source else {
            return internal_err!("WITH query {} is read before it is planned", self.name);
        };
        let schema = Arc::clone(&self.schema);
        Ok(Arc::new(CteScanExec::try_new(Arc::clone(spool), schema, projection.cloned(), limit, order)?))
    }
}
