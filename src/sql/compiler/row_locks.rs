//! Queries that read rows of a table FOR UPDATE or FOR SHARE: with each row comes its key.

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast;

use crate::planner::{PUBLIC, PlannedQuery, StatementPlanner};
use crate::provider::EntityTable;
use rowkey_base::{Result, SqlState};
use rowkey_model::TableName;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::{RowLocks, Statement};
use rowkey_postgres::types::PostgresType;

/// The columns that such a plan has behind those of the query.
pub(crate) const KEY_COLUMNS: [&str; 2] = ["PartitionKey", "RowKey"];

/// Plans such a query. The plan has the key behind its own columns, the query has not.
///
/// # Errors
/// Those of any query; a row cannot be traced to a key of the table.
pub(crate) async fn query(
    planner: &StatementPlanner,
    statement: &Statement,
    mut query: ast::Statement,
    declared: &[Option<&'static PostgresType>],
    locks: &RowLocks,
) -> Result<PlannedQuery> {
    if !is_table(planner, &locks.table) {
        // What is wrong with the query itself comes first.
        planner.query(statement, query, declared).await?;
        return Err(locks.untraceable(&format!("{}, which is no table", locks.table)));
    }
    locks.select_also(&mut query, &KEY_COLUMNS);
    let mut planned = planner.query(statement, query, declared).await.map_err(|error| match error.sqlstate() {
        SqlState::GROUPING_ERROR => locks.of_aggregates(),
        _ => error,
    })?;
    table_of(&planned.plan, locks)?;
    planned.columns.truncate(planned.columns.len().saturating_sub(KEY_COLUMNS.len()));
    Ok(planned)
}

/// Refuses the plan of a query without FROM that no row could be traced through, if there were one.
pub(crate) fn refuse_without_rows(plan: &LogicalPlan, words: &str) -> Result<()> {
    let with = match source_of(plan) {
        LogicalPlan::Aggregate(_) => "aggregate functions",
        LogicalPlan::Window(_) => "window functions",
        // A series is read as a table.
        LogicalPlan::Unnest(_) | LogicalPlan::TableScan(_) => "set-returning functions in the target list",
        _ => return Ok(()),
    };
    Err(RowLocks::not_allowed(words, with))
}

/// The id of the table whose rows a plan gives: each of them at most once.
pub(crate) fn table_of(plan: &LogicalPlan, locks: &RowLocks) -> Result<u64> {
    match source_of(plan) {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).map_err(from_datafusion)?;
            let table = provider.downcast_ref::<EntityTable>().map(|table| table.table().id);
            table.ok_or_else(|| locks.untraceable("a relation of the catalog"))
        }
        LogicalPlan::Window(_) => Err(locks.untraceable("queries with window functions")),
        _ => Err(locks.untraceable("queries that make other rows of them")),
    }
}

/// Where the rows of a plan come from, below what gives each of them at most once.
fn source_of(plan: &LogicalPlan) -> &LogicalPlan {
    let mut node = plan;
    loop {
        node = match node {
            LogicalPlan::Projection(projection) => &projection.input,
            LogicalPlan::Filter(filter) => &filter.input,
            LogicalPlan::Sort(sort) => &sort.input,
            LogicalPlan::Limit(limit) => &limit.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            node => return node,
        };
    }
}

/// Whether a name means a table of entities.
fn is_table(planner: &StatementPlanner, name: &ast::ObjectName) -> bool {
    let Some((schema, name)) = planner.relation_named(name) else { return false };
    let name = TableName::parse(&name).ok().filter(|_| schema == PUBLIC);
    name.is_some_and(|name| planner.catalog().table(planner.account(), &name).is_some())
}
