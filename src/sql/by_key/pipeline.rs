//! What a query computes from few rows at hand: filters, outputs, sorts, limits and aggregates over
//! all rows, one after the other on one batch. They are DataFusion's own expressions, without a
//! plan that runs them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{SortColumn, SortOptions, filter_record_batch, lexsort_to_indices, take_arrays};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue, exec_err};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, ExprSchemable, SortExpr};
use datafusion::physical_expr::aggregate::{LoweredAggregate, LoweredAggregateBuilder};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::aggregation::{Groups, aggregated, evaluate};
use rowkey_postgres::parameters::place_of;

/// What is done with the rows of the step before.
#[derive(Debug)]
pub(super) enum Step {
    Filter(Expr),
    Project(Vec<Expr>),
    Sort(Vec<SortExpr>),
    /// Aggregates over the rows of each group; without keys all rows are one.
    Aggregate {
        keys: Vec<Expr>,
        aggregates: Vec<Expr>,
    },
    Limit {
        skip: Option<RowCount>,
        fetch: Option<RowCount>,
    },
}

/// A number of rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowCount {
    Literal(usize),
    /// By its place among the parameters.
    Parameter(usize),
}

/// Steps, made ready to run many times.
#[derive(Debug)]
pub(super) struct Pipeline {
    steps: Vec<PhysicalStep>,
    /// What functions ask of the session.
    config: Arc<ConfigOptions>,
}

#[derive(Debug)]
enum PhysicalStep {
    /// The conjuncts of a condition: first those that are the same for all values.
    Filter(Vec<Compiled<Arc<dyn PhysicalExpr>>>),
    Project(Vec<Compiled<Arc<dyn PhysicalExpr>>>, SchemaRef),
    Sort(Vec<(Compiled<Arc<dyn PhysicalExpr>>, SortOptions)>),
    Aggregate(Vec<Compiled<LoweredAggregate>>, SchemaRef),
    Group(Vec<Compiled<Arc<dyn PhysicalExpr>>>, Vec<Compiled<LoweredAggregate>>, SchemaRef),
    Limit {
        skip: Option<RowCount>,
        fetch: Option<RowCount>,
    },
}

/// What computes an expression over the columns of a step.
#[derive(Debug)]
enum Compiled<T> {
    Once(T),
    /// Of one with parameters, which some expressions read when they are made.
    ForValues(Expr, DFSchemaRef),
}

/// Makes what computes an expression over these columns.
type Make<T> = fn(&Expr, &DFSchema, &ExecutionProps) -> Result<T>;

impl Pipeline {
    /// Steps, each with the columns that it is given.
    ///
    /// # Errors
    /// Those of expressions that cannot be computed.
    pub(super) fn new(steps: Vec<(Step, DFSchemaRef)>, config: Arc<ConfigOptions>) -> Result<Self> {
        let props = props(&config);
        let steps = steps.into_iter().map(|(step, input)| PhysicalStep::new(step, &input, &props));
        Ok(Self { steps: steps.collect::<Result<_>>()?, config })
    }

    /// Whether each LIMIT has a positive number, and each OFFSET one that is not negative. Others
    /// are errors, or mean that nothing is computed, and nothing fails.
    pub(super) fn has_row_counts(&self, values: &[ScalarValue]) -> bool {
        self.steps.iter().all(|step| match step {
            PhysicalStep::Limit { skip, fetch } => {
                skip.is_none_or(|skip| skip.of(values).is_some())
                    && fetch.is_none_or(|fetch| fetch.of(values).is_some_and(|rows| rows > 0))
            }
            _ => true,
        })
    }

    /// What the steps make of rows, with values in the places of parameters.
    ///
    /// # Errors
    /// Those of the expressions.
    pub(super) fn run(&self, rows: RecordBatch, values: &[ScalarValue]) -> Result<RecordBatch> {
        let props = props(&self.config);
        self.steps.iter().try_fold(rows, |rows, step| step.run(rows, values, &props))
    }
}

fn props(config: &Arc<ConfigOptions>) -> ExecutionProps {
    ExecutionProps { config_options: Some(Arc::clone(config)), ..ExecutionProps::new() }
}

impl PhysicalStep {
    fn new(step: Step, input: &DFSchemaRef, props: &ExecutionProps) -> Result<Self> {
        let compiled = |expr| Compiled::new(expr, input, props, physical as Make<_>);
        let all = |exprs: Vec<Expr>| exprs.into_iter().map(compiled).collect::<Result<Vec<_>>>();
        Ok(match step {
            Step::Filter(predicate) => {
                let (of_values, same): (Vec<_>, Vec<_>) =
                    split_conjunction_owned(predicate).into_iter().partition(has_parameters);
                Self::Filter(all(same.into_iter().chain(of_values).collect())?)
            }
            Step::Project(exprs) => {
                let schema = schema_of(exprs.iter(), input)?;
                Self::Project(all(exprs)?, schema)
            }
            Step::Sort(keys) => {
                let key = |key: SortExpr| {
                    let options = SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
                    Ok((compiled(key.expr)?, options))
                };
                Self::Sort(keys.into_iter().map(key).collect::<Result<_>>()?)
            }
            Step::Aggregate { keys, aggregates } => {
                let schema = schema_of(keys.iter().chain(&aggregates), input)?;
                let one = |expr| Compiled::new(expr, input, props, lowered as Make<_>);
                let aggregates = aggregates.into_iter().map(one).collect::<Result<_>>()?;
                match keys.is_empty() {
                    true => Self::Aggregate(aggregates, schema),
                    false => Self::Group(all(keys)?, aggregates, schema),
                }
            }
            Step::Limit { skip, fetch } => Self::Limit { skip, fetch },
        })
    }

    fn run(&self, rows: RecordBatch, values: &[ScalarValue], props: &ExecutionProps) -> Result<RecordBatch> {
        match self {
            Self::Filter(conjuncts) => conjuncts.iter().try_fold(rows, |rows, conjunct| {
                let mask = conjunct.evaluate(&rows, values, props)?;
                Ok(filter_record_batch(&rows, mask.as_boolean())?)
            }),
            Self::Project(exprs, schema) => {
                let columns = exprs.iter().map(|expr| expr.evaluate(&rows, values, props)).collect::<Result<_>>()?;
                batch(schema, columns, rows.num_rows())
            }
            Self::Sort(keys) => sorted(&rows, keys, values, props),
            Self::Aggregate(aggregates, schema) => {
                let one = |aggregate: &Compiled<_>| {
                    aggregate.with(values, props, lowered, |lowered| aggregated(lowered, &rows))?.to_array()
                };
                batch(schema, aggregates.iter().map(one).collect::<Result<_>>()?, 1)
            }
            Self::Group(_, _, schema) if rows.num_rows() == 0 => Ok(RecordBatch::new_empty(Arc::clone(schema))),
            Self::Group(keys, aggregates, schema) => {
                let keys = keys.iter().map(|key| key.evaluate(&rows, values, props)).collect::<Result<Vec<_>>>()?;
                let mut groups = Groups::of(&keys)?;
                let mut columns = Vec::with_capacity(schema.fields().len());
                for aggregate in aggregates {
                    columns.push(aggregate.with(values, props, lowered, |lowered| groups.aggregated(lowered, &rows))?);
                }
                let groups_count = groups.len();
                let columns = groups.into_keys()?.into_iter().chain(columns).collect();
                batch(schema, columns, groups_count)
            }
            Self::Limit { skip, fetch } => {
                let count = |rows: &Option<RowCount>| rows.and_then(|rows| rows.of(values));
                let skip = rows.num_rows().min(count(skip).unwrap_or(0));
                Ok(rows.slice(skip, (rows.num_rows() - skip).min(count(fetch).unwrap_or(usize::MAX))))
            }
        }
    }
}

impl RowCount {
    /// `None`: it is negative, or NULL.
    fn of(self, values: &[ScalarValue]) -> Option<usize> {
        match self {
            Self::Literal(rows) => Some(rows),
            Self::Parameter(place) => match values.get(place)? {
                ScalarValue::Int64(Some(rows)) => usize::try_from(*rows).ok(),
                _ => None,
            },
        }
    }
}

impl<T> Compiled<T> {
    fn new(expr: Expr, input: &DFSchemaRef, props: &ExecutionProps, make: Make<T>) -> Result<Self> {
        Ok(match has_parameters(&expr) {
            true => Self::ForValues(expr, Arc::clone(input)),
            false => Self::Once(make(&expr, input, props)?),
        })
    }

    /// What `compute` makes of it, with values in the places of parameters.
    fn with<R>(
        &self,
        values: &[ScalarValue],
        props: &ExecutionProps,
        make: Make<T>,
        compute: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Once(made) => compute(made),
            Self::ForValues(expr, input) => compute(&make(&bound(expr, values)?, input, props)?),
        }
    }
}

impl Compiled<Arc<dyn PhysicalExpr>> {
    fn evaluate(&self, rows: &RecordBatch, values: &[ScalarValue], props: &ExecutionProps) -> Result<ArrayRef> {
        self.with(values, props, physical, |expr| evaluate(expr, rows))
    }
}

/// The columns that expressions make; the next step knows them by their places.
fn schema_of<'e>(exprs: impl Iterator<Item = &'e Expr>, input: &DFSchema) -> Result<SchemaRef> {
    let fields = exprs.map(|expr| {
        let (_, field) = expr.to_field(input)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
}

/// Columns, whose types may be others than those planned, as those of numerics are.
fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let fields = schema.fields().iter().zip(&columns);
    let schema = match fields.clone().all(|(field, column)| field.data_type() == column.data_type()) {
        true => Arc::clone(schema),
        false => {
            let fields =
                fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        }
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

fn has_parameters(expr: &Expr) -> bool {
    // The walk does not fail.
    expr.exists(|expr| Ok(matches!(expr, Expr::Placeholder(_)))).unwrap_or(true)
}

fn physical(expr: &Expr, input: &DFSchema, props: &ExecutionProps) -> Result<Arc<dyn PhysicalExpr>> {
    create_physical_expr(expr, input, props, &PhysicalPlanningContext::default())
}

fn lowered(expr: &Expr, input: &DFSchema, props: &ExecutionProps) -> Result<LoweredAggregate> {
    LoweredAggregateBuilder::new(expr, input, input.as_arrow(), props, &PhysicalPlanningContext::default()).build()
}

/// An expression with values in the places of parameters.
fn bound(expr: &Expr, values: &[ScalarValue]) -> Result<Expr> {
    let value = |expr: Expr| match &expr {
        Expr::Placeholder(placeholder) => match place_of(&placeholder.id).and_then(|place| values.get(place)) {
            Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
            None => exec_err!("there is no parameter {}", placeholder.id),
        },
        _ => Ok(Transformed::no(expr)),
    };
    expr.clone().transform_up(value).data()
}

fn sorted(
    rows: &RecordBatch,
    keys: &[(Compiled<Arc<dyn PhysicalExpr>>, SortOptions)],
    values: &[ScalarValue],
    props: &ExecutionProps,
) -> Result<RecordBatch> {
    let column = |(key, options): &(Compiled<_>, SortOptions)| {
        Ok(SortColumn { values: key.evaluate(rows, values, props)?, options: Some(*options) })
    };
    let columns = keys.iter().map(column).collect::<Result<Vec<_>>>()?;
    let order = lexsort_to_indices(&columns, None)?;
    let columns = take_arrays(rows.columns(), &order, None)?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
}
