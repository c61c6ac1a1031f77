//! What a query computes from few rows at hand: filters, outputs, sorts, limits and aggregates over
//! all rows, one after the other on one batch. They are DataFusion's own expressions, without a
//! plan that runs them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{SortColumn, filter_record_batch, lexsort_to_indices, take_arrays};
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue, exec_err};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, SortExpr};
use datafusion::physical_expr::aggregate::{LoweredAggregate, LoweredAggregateBuilder};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use rowkey_postgres::parameters::place_of;

/// What is done with the rows of the step before.
#[derive(Debug)]
pub(super) enum Step {
    Filter(Expr),
    Project(Vec<Expr>),
    Sort(Vec<SortExpr>),
    /// Aggregates over all rows, which make one.
    Aggregate(Vec<Expr>),
    Limit {
        skip: usize,
        fetch: Option<usize>,
    },
}

/// Steps, each with the columns that it is given.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub steps: Vec<(Step, DFSchemaRef)>,
    /// What functions ask of the session.
    pub config: Arc<ConfigOptions>,
}

impl Pipeline {
    /// What the steps make of rows, with values in the places of parameters.
    ///
    /// # Errors
    /// Those of the expressions.
    pub(super) fn run(&self, rows: RecordBatch, values: &[ScalarValue]) -> Result<RecordBatch> {
        let props = ExecutionProps { config_options: Some(Arc::clone(&self.config)), ..ExecutionProps::new() };
        self.steps.iter().try_fold(rows, |rows, (step, schema)| {
            let made = |expr: &Expr| compiled(expr, schema, values, &props);
            match step {
                Step::Filter(predicate) => {
                    let mask = evaluate(&made(predicate)?, &rows)?;
                    Ok(filter_record_batch(&rows, mask.as_boolean())?)
                }
                Step::Project(exprs) => {
                    let columns = exprs.iter().map(|expr| evaluate(&made(expr)?, &rows)).collect::<Result<_>>()?;
                    batch(exprs, schema, columns, rows.num_rows())
                }
                Step::Sort(keys) => sorted(&rows, keys, made),
                Step::Aggregate(exprs) => {
                    let one = |expr: &Expr| aggregated(&bound(expr, values)?, schema, &rows, &props)?.to_array();
                    let columns = exprs.iter().map(one).collect::<Result<_>>()?;
                    batch(exprs, schema, columns, 1)
                }
                Step::Limit { skip, fetch } => {
                    let skip = rows.num_rows().min(*skip);
                    Ok(rows.slice(skip, (rows.num_rows() - skip).min(fetch.unwrap_or(usize::MAX))))
                }
            }
        })
    }
}

/// The outputs of a step; the next one knows them by their places.
fn batch(exprs: &[Expr], input: &DFSchema, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let fields = exprs.iter().zip(&columns).map(|(expr, column)| {
        let (_, field) = datafusion::logical_expr::ExprSchemable::to_field(expr, input)?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()).with_nullable(true)))
    });
    let schema: SchemaRef = Arc::new(arrow::datatypes::Schema::new(fields.collect::<Result<Vec<_>>>()?));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

fn compiled(
    expr: &Expr,
    schema: &DFSchema,
    values: &[ScalarValue],
    props: &ExecutionProps,
) -> Result<Arc<dyn PhysicalExpr>> {
    create_physical_expr(&bound(expr, values)?, schema, props, &PhysicalPlanningContext::default())
}

fn bound(expr: &Expr, values: &[ScalarValue]) -> Result<Expr> {
    if values.is_empty() {
        return Ok(expr.clone());
    }
    let value = |expr: Expr| match &expr {
        Expr::Placeholder(placeholder) => match place_of(&placeholder.id).and_then(|place| values.get(place)) {
            Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
            None => exec_err!("there is no parameter {}", placeholder.id),
        },
        _ => Ok(Transformed::no(expr)),
    };
    expr.clone().transform_up(value).data()
}

fn evaluate(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    expr.evaluate(rows)?.into_array(rows.num_rows())
}

fn sorted(
    rows: &RecordBatch,
    keys: &[SortExpr],
    compiled: impl Fn(&Expr) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<RecordBatch> {
    let column = |key: &SortExpr| {
        let options = arrow::compute::SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
        Ok(SortColumn { values: evaluate(&compiled(&key.expr)?, rows)?, options: Some(options) })
    };
    let columns = keys.iter().map(column).collect::<Result<Vec<_>>>()?;
    let order = lexsort_to_indices(&columns, None)?;
    let columns = take_arrays(rows.columns(), &order, None)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
}

fn aggregated(expr: &Expr, schema: &DFSchema, rows: &RecordBatch, props: &ExecutionProps) -> Result<ScalarValue> {
    let planning = PhysicalPlanningContext::default();
    let lowered = LoweredAggregateBuilder::new(expr, schema, schema.as_arrow(), props, &planning).build()?;
    let LoweredAggregate { aggregate, filter, .. } = lowered;
    let kept = match filter {
        Some(filter) => &filter_record_batch(rows, evaluate(&filter, rows)?.as_boolean())?,
        None => rows,
    };
    let arguments = aggregate.expressions().iter().map(|arg| evaluate(arg, kept)).collect::<Result<Vec<_>>>()?;
    let mut accumulator = aggregate.create_accumulator()?;
    accumulator.update_batch(&arguments)?;
    accumulator.evaluate()
}
