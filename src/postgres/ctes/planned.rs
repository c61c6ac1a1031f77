//! WITH queries that are planned one after the other, each before what reads it.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_expr::expressions;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::gather::gathered;
use super::node::{Cte, With};
use super::scan_exec::RowOrder;
use super::spool::CteSpool;
use super::table::{CteTable, Source, cte_read};
use super::with_exec::{CtePlan, WithExec};
use crate::workarounds::recomputed;

/// The WITH queries of a plan so far, in their order.
#[derive(Debug, Default)]
pub struct PlannedCtes {
    /// What is read in their place.
    tables: Vec<(CteTable, Sorted)>,
    plans: Vec<CtePlan>,
}

/// How rows come, if the query has an ORDER BY.
type Sorted = Option<Arc<RowOrder>>;

impl PlannedCtes {
    /// A plan that reads some of these, whose columns have their types now.
    pub fn read_by(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut changes_columns = false;
        let plan = plan.transform_up_with_subqueries(|node| {
            let Some(CteTable { name, schema, source: Source::Gathered(place) }) = cte_read(&node) else {
                return Ok(Transformed::no(node));
            };
            let Some((table, sorted)) = self.tables.get(place) else { return Ok(Transformed::no(node)) };
            changes_columns |= schema != table.schema;
            let scan = CteTable { name, ..table.clone() }.scan()?;
            Ok(Transformed::yes(match sorted {
                Some(order) => sorted_by(scan, order)?,
                None => scan,
            }))
        })?;
        if changes_columns { recomputed(plan.data) } else { Ok(plan.data) }
    }

    /// Adds a query of which no more than the types are of interest.
    fn add_analyzed(&mut self, plan: &LogicalPlan) {
        let (name, schema) = ("".into(), Arc::clone(plan.schema().inner()));
        self.tables.push((CteTable { name, schema, source: Source::Gathered(self.tables.len()) }, None));
    }

    /// Adds a query with its optimized plan and what computes it.
    pub fn add(&mut self, name: &str, logical: &LogicalPlan, plan: Arc<dyn ExecutionPlan>) {
        let spool = CteSpool::new(name.to_owned());
        let order = Arc::new(row_order(&plan));
        let sorted = (is_sorted(logical) && !order.is_empty()).then(|| Arc::clone(&order));
        let source = Source::Spooled(Arc::clone(&spool), order);
        let schema = Arc::clone(logical.schema().inner());
        self.tables.push((CteTable { name: "".into(), schema, source }, sorted));
        self.plans.push(CtePlan { plan, spool });
    }

    /// The plan of the statement, which reads these.
    pub fn into_exec(self, main: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(WithExec::new(main, self.plans))
    }
}

/// What DataFusion's analyzer makes of a plan and of its WITH queries. The columns of its root are
/// those of the statement.
///
/// # Errors
/// What a rule refuses.
pub fn analyzed(state: &SessionState, plan: &LogicalPlan) -> Result<LogicalPlan> {
    let analyzed = |plan| state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {});
    let plan = gathered(plan.clone())?;
    let Some(with) = With::of(&plan) else { return analyzed(plan) };
    let (mut planned, mut queries) = (PlannedCtes::default(), Vec::with_capacity(with.queries.len()));
    for query in &with.queries {
        let plan = analyzed(planned.read_by(query.plan.clone())?)?;
        planned.add_analyzed(&plan);
        queries.push(Cte { name: query.name.clone(), plan });
    }
    let main = analyzed(planned.read_by(with.main.clone())?)?;
    Ok(With { queries, main }.into_plan())
}

/// Whether a query says in which order its rows come.
fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        LogicalPlan::Limit(limit) => is_sorted(&limit.input),
        _ => false,
    }
}

/// The order in which the rows of a plan come, as far as it is one of columns.
fn row_order(plan: &Arc<dyn ExecutionPlan>) -> RowOrder {
    if plan.output_partitioning().partition_count() != 1 {
        return RowOrder::new();
    }
    let order = plan.output_ordering().into_iter().flat_map(|order| order.iter());
    let columns = order.map_while(|by| {
        let column = by.expr.downcast_ref::<expressions::Column>()?;
        Some((column.index(), by.options))
    });
    columns.collect()
}

/// Says that rows come in an order, for what is order-sensitive above. They are not sorted again:
/// the scan has that order.
fn sorted_by(scan: LogicalPlan, order: &RowOrder) -> Result<LogicalPlan> {
    let keys = order.iter().map(|&(place, options)| {
        let column = Column::from(scan.schema().qualified_field(place));
        Expr::Column(column).sort(!options.descending, options.nulls_first)
    });
    let keys: Vec<_> = keys.collect();
    LogicalPlanBuilder::from(scan).sort(keys)?.build()
}
