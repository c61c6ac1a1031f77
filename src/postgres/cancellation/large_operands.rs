//! Operators over large values of their rows: these become columns of a projection below, which
//! takes fewer rows at a time where they would not fit, and whose columns memory pools count.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal, case};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};

use super::growth::Growth;
use super::operator::{Cut, checked};
use super::projection::LargeProjectionExec;
use super::sorts::sort_by_width;
use super::token::CancellationToken;
use crate::pass_through::{PassThrough, PassThroughExec};

/// The columns of an input, and those of large values made of them.
struct Operands {
    input: Arc<dyn ExecutionPlan>,
    columns: Vec<ProjectionExpr>,
    growth: Growth,
    /// The operator makes many copies of its rows: each is a column.
    copies_rows: bool,
}

impl Operands {
    fn of(input: &Arc<dyn ExecutionPlan>, growth: &Growth) -> Self {
        let schema = input.schema();
        let columns = schema.fields().iter().enumerate().map(|(index, field)| ProjectionExpr {
            expr: Arc::new(Column::new(field.name(), index)),
            alias: field.name().clone(),
        });
        let columns = columns.collect();
        Self { input: Arc::clone(input), columns, growth: Growth::default(), copies_rows: growth.copies_rows() }
    }

    fn is_column(&self, expr: &Arc<dyn PhysicalExpr>, growth: &Growth) -> bool {
        !expr.is::<Literal>() && (growth.is_large() || self.copies_rows && growth.has_copies())
    }

    /// The column of an expression that makes large values; any other stays as it is.
    fn operand(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let growth = Growth::of_expr(expr)?;
        if !self.is_column(expr, &growth) {
            return Ok(Arc::clone(expr));
        }
        self.growth = self.growth.and(growth);
        let known = self.columns.iter().position(|column| column.expr.eq(expr));
        let index = known.unwrap_or(self.columns.len());
        if known.is_none() {
            self.columns.push(ProjectionExpr { expr: Arc::clone(expr), alias: format!("operand {index}") });
        }
        Ok(Arc::new(Column::new(&self.columns[index].alias, index)))
    }

    /// The same, NULL where a condition does not hold.
    fn operand_where(
        &mut self,
        expr: &Arc<dyn PhysicalExpr>,
        condition: &Arc<dyn PhysicalExpr>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        if !self.is_column(expr, &Growth::of_expr(expr)?) {
            return Ok(Arc::clone(expr));
        }
        let when = vec![(Arc::clone(condition), Arc::clone(expr))];
        self.operand(&case(None, when, None)?)
    }

    /// The projection; None without large values.
    fn projected(self, token: &Arc<CancellationToken>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let projection = ProjectionExec::try_new(self.columns, self.input)?;
        Ok(LargeProjectionExec::of(&projection, &self.growth, token))
    }
}

/// The same operator over columns of its large values; None for an operator without them, or where
/// they cannot be columns.
pub(super) fn over_columns(
    plan: &Arc<dyn ExecutionPlan>,
    growth: &Growth,
    token: &Arc<CancellationToken>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filtered(filter, growth, token);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregated(aggregate, growth, token);
    }
    match plan.downcast_ref::<SortExec>() {
        Some(sort) => sorted(sort, growth, token),
        None => Ok(None),
    }
}

fn filtered(
    filter: &FilterExec,
    growth: &Growth,
    token: &Arc<CancellationToken>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut operands = Operands::of(filter.input(), growth);
    let kept: Vec<usize> = match filter.projection() {
        Some(columns) => columns.to_vec(),
        None => (0..operands.columns.len()).collect(),
    };
    let predicate = operands.operand(filter.predicate())?;
    let Some(input) = operands.projected(token)? else { return Ok(None) };
    let filter = FilterExecBuilder::new(predicate, input)
        .apply_projection(Some(kept))?
        .with_batch_size(filter.batch_size())
        .with_fetch(filter.fetch());
    Ok(Some(Arc::new(filter.build()?)))
}

fn aggregated(
    aggregate: &AggregateExec,
    growth: &Growth,
    token: &Arc<CancellationToken>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if aggregate.mode().input_mode() != AggregateInputMode::Raw {
        return Ok(None);
    }
    let mut operands = Operands::of(aggregate.input(), growth);
    let groups = aggregate.group_expr();
    let keys = groups.expr().iter().map(|(key, name)| Ok((operands.operand(key)?, name.clone())));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let mut functions = Vec::with_capacity(aggregate.aggr_expr().len());
    for (function, filter) in aggregate.aggr_expr().iter().zip(aggregate.filter_expr()) {
        match function_of(function, filter.as_ref(), &mut operands)? {
            Some(over_columns) => functions.push(over_columns),
            None => return Ok(None),
        }
    }
    let filters = aggregate.filter_expr().to_vec();
    let Some(input) = operands.projected(token)? else { return Ok(None) };
    let groups =
        PhysicalGroupBy::new(keys, groups.null_expr().to_vec(), groups.groups().to_vec(), groups.has_grouping_set());
    let schema = input.schema();
    let over_columns = AggregateExec::try_new(*aggregate.mode(), groups, functions, filters, input, schema)?
        .with_limit_options(aggregate.limit_options());
    let alike = over_columns.input_order_mode() == aggregate.input_order_mode();
    Ok(alike.then(|| Arc::new(over_columns) as Arc<dyn ExecutionPlan>))
}

fn function_of(
    function: &Arc<AggregateFunctionExpr>,
    filter: Option<&Arc<dyn PhysicalExpr>>,
    operands: &mut Operands,
) -> Result<Option<Arc<AggregateFunctionExpr>>> {
    let all = function.all_expressions();
    // What the filter leaves out may not be computed.
    let operand = |expr| match filter {
        Some(filter) => operands.operand_where(expr, filter),
        None => operands.operand(expr),
    };
    let replaced = all.args.iter().chain(&all.order_by_exprs).map(operand).collect::<Result<Vec<_>>>()?;
    if replaced.iter().zip(all.args.iter().chain(&all.order_by_exprs)).all(|(new, old)| Arc::ptr_eq(new, old)) {
        return Ok(Some(Arc::clone(function)));
    }
    let (arguments, order) = replaced.split_at(all.args.len());
    // It looks for what it is ordered by among its arguments, or in the input that it knows.
    let is_known = |(new, old): (&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>)| {
        Arc::ptr_eq(new, old) || arguments.iter().any(|argument| argument.eq(new))
    };
    if !order.iter().zip(&all.order_by_exprs).all(is_known) {
        return Ok(None);
    }
    Ok(function.with_new_expressions(arguments.to_vec(), order.to_vec()).map(Arc::new))
}

fn sorted(sort: &SortExec, growth: &Growth, token: &Arc<CancellationToken>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut operands = Operands::of(sort.input(), growth);
    let kept = operands.columns.clone();
    let keys = sort.expr().iter().map(|key| Ok(PhysicalSortExpr::new(operands.operand(&key.expr)?, key.options)));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let Some(input) = operands.projected(token)? else { return Ok(None) };
    let Some(keys) = LexOrdering::new(keys) else { return Ok(None) };
    let sorted = SortExec::new(keys, input).with_preserve_partitioning(sort.preserve_partitioning());
    let sorted = sort_by_width(Arc::new(sorted.with_fetch(sort.fetch())), token);
    let kept = ProjectionExec::try_new(kept, checked(sorted, Cut::Bytes, token))?;
    Ok(Some(PassThroughExec::over(Arc::new(kept), SortedBy(sort.expr().clone()))))
}

/// Rows in the order of expressions that are no columns of them any more: windows look for it.
#[derive(Debug, Clone)]
struct SortedBy(LexOrdering);

impl PassThrough for SortedBy {
    const NAME: &'static str = "SortedExec";

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let mut known = input.equivalence_properties().clone();
        known.add_ordering(self.0.clone());
        Arc::new(PlanProperties::clone(input.properties()).with_eq_properties(known))
    }
}
