//! WITH RECURSIVE inside a subquery that refers to outer columns: the rows of all values of the
//! domain recur at once, each beside the value that it is for.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::{Column, Result, not_impl_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::logical_plan::RecursiveQuery;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableScan};

use super::decorrelator::Decorrelator;
use super::domain::Domain;
use super::push_domain::whole;
use super::work_table::{WorkTable, is_scan_of, read_by};

impl Decorrelator<'_> {
    /// Both terms with the domain's columns before their own. The first term gets them from the
    /// domain, the recursive one from the rows that it reads.
    pub(super) fn recursive(&mut self, query: &RecursiveQuery, domain: &Domain) -> Result<LogicalPlan> {
        let first = self.push_domain(&query.static_term, domain)?;
        let first = LogicalPlanBuilder::from(first).project(whole(domain, query.static_term.schema()))?.build()?;
        let Some(read) = read_by(&query.recursive_term, &query.name)? else {
            return not_impl_err!(
                "WITH RECURSIVE without a reference to itself, in a subquery that refers to a query around it"
            );
        };
        let fields = domain.plan.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let own = read.source.schema();
        let fields: Vec<_> = fields.map(Arc::new).chain(own.fields().iter().cloned()).collect();
        let table = WorkTable { name: query.name.clone(), schema: Arc::new(Schema::new(fields)) };
        self.work_tables.push(table);
        let recurring = self.push_domain(&query.recursive_term, domain);
        self.work_tables.pop();
        let recurring = LogicalPlanBuilder::from(recurring?).project(whole(domain, query.recursive_term.schema()))?;
        Ok(LogicalPlan::RecursiveQuery(RecursiveQuery::try_new(
            query.name.clone(),
            Arc::new(first),
            Arc::new(recurring.build()?),
            query.is_distinct,
        )?))
    }

    /// Whether a plan reads the table of a recursive query that has the domain's columns.
    pub(super) fn reads_work_table(&self, plan: &LogicalPlan) -> Result<bool> {
        for table in &self.work_tables {
            if read_by(plan, &table.name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The scan of such a table with the domain's columns; `None` for any other scan.
    pub(super) fn work_table(&self, scan: &TableScan, domain: &Domain) -> Result<Option<LogicalPlan>> {
        let Some(table) = self.work_tables.iter().find(|table| is_scan_of(scan, &table.name)) else { return Ok(None) };
        let source = provider_as_source(Arc::new(CteWorkTable::new(&table.name, Arc::clone(&table.schema))));
        let rows = LogicalPlanBuilder::scan(scan.table_name.clone(), source, None)?;
        let names = table.schema.fields().iter().zip(&domain.columns);
        let carried = names.map(|(field, (_, column))| {
            Expr::Column(Column::new(Some(scan.table_name.clone()), field.name())).alias(&column.name)
        });
        let own = scan.projected_schema.columns().into_iter().map(Expr::Column);
        rows.project(carried.chain(own).collect::<Vec<_>>())?.build().map(Some)
    }
}
