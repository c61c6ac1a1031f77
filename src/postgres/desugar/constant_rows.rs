//! `IN (SELECT ... FROM unnest($1, $2))`, and over VALUES: what is selected from constants is a
//! list of rows, known when the statement is planned. As a join its rows would come when the
//! statement runs, too late to choose by them what is read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, new_empty_array, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::strip_outer_reference;
use datafusion::logical_expr::logical_plan::{Unnest, Values};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, in_list};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::create_physical_expr;

use super::conjuncts::replaced;
use crate::functions::{PostgresCast, RowIn};

/// More bytes than this are joined, which takes their memory from the pool and can spill them.
const BYTES_MAX: usize = 64 << 20;
/// More values of one column than this are looked up together.
const LIST_MAX: usize = 1000;

/// Puts lists into the place of subqueries over constants, where these are conditions of a filter.
#[derive(Debug)]
pub(super) struct ConstantRows;

impl OptimizerRule for ConstantRows {
    fn name(&self) -> &str {
        "constant_rows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = plan else { return Ok(Transformed::no(plan)) };
        let options = config.options();
        replaced(filter, |conjunct, schema| match Membership::of(conjunct) {
            Some(membership) => membership.list(schema, &options),
            None => Ok(None),
        })
    }
}

/// Values that have to be those of a row of a subquery.
struct Membership<'a> {
    /// Of the query around it, and what they are compared with.
    pairs: Vec<(Expr, Expr)>,
    subquery: &'a LogicalPlan,
}

impl<'a> Membership<'a> {
    fn of(conjunct: &'a Expr) -> Option<Self> {
        match conjunct {
            Expr::InSubquery(InSubquery { expr, subquery, negated: false }) => {
                let column = match subquery.subquery.schema().columns().as_slice() {
                    [column] => Expr::Column(column.clone()),
                    _ => return None,
                };
                Some(Self { pairs: vec![(expr.as_ref().clone(), column)], subquery: &subquery.subquery })
            }
            Expr::Exists(Exists { subquery, negated: false }) => Self::equalities(&subquery.subquery),
            _ => None,
        }
    }

    /// `EXISTS (SELECT ... WHERE x = a AND y = b)`, the values of the subquery on either side.
    fn equalities(mut plan: &'a LogicalPlan) -> Option<Self> {
        loop {
            plan = match plan {
                LogicalPlan::Projection(projection) => &projection.input,
                LogicalPlan::SubqueryAlias(alias) => &alias.input,
                LogicalPlan::Filter(filter) => {
                    let pairs = split_conjunction(&filter.predicate).into_iter().map(|conjunct| match conjunct {
                        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                            match (is_outer(left), is_outer(right)) {
                                (true, false) => Some((strip_outer_reference(left.as_ref().clone()), *right.clone())),
                                (false, true) => Some((strip_outer_reference(right.as_ref().clone()), *left.clone())),
                                _ => None,
                            }
                        }
                        _ => None,
                    });
                    return Some(Self { pairs: pairs.collect::<Option<Vec<_>>>()?, subquery: &filter.input });
                }
                _ => return None,
            }
        }
    }

    /// The condition without a subquery. `None`: its rows are not constants, or of types that are
    /// not compared here, or too many.
    fn list(&self, outer: &DFSchema, options: &Arc<ConfigOptions>) -> Result<Option<Expr>> {
        if !self.pairs.iter().all(|(sought, _)| is_plain(sought)) {
            return Ok(None);
        }
        let Some(rows) = constant_rows(self.subquery, options)? else { return Ok(None) };
        let (sought, members): (Vec<Expr>, Vec<Expr>) = self.pairs.iter().cloned().unzip();
        let Some(columns) = computed(&members, self.subquery.schema(), &rows, options)? else { return Ok(None) };
        for (sought, column) in sought.iter().zip(&columns) {
            if !RowIn::compares(column.data_type()) || sought.get_type(outer)? != *column.data_type() {
                return Ok(None);
            }
        }
        if columns.iter().map(|column| column.get_array_memory_size()).sum::<usize>() > BYTES_MAX {
            return Ok(None);
        }
        match (sought.as_slice(), columns.as_slice()) {
            ([sought], [column]) if column.len() <= LIST_MAX => {
                let known = (0..column.len()).filter(|at| column.is_valid(*at));
                let literal = |at| Ok(Expr::Literal(ScalarValue::try_from_array(column, at)?, None));
                Ok(Some(in_list(sought.clone(), known.map(literal).collect::<Result<_>>()?, false)))
            }
            _ => RowIn::call(sought, &columns).map(Some),
        }
    }
}

/// Whether all columns of an expression, of which there are some, are those of the query around.
fn is_outer(expr: &Expr) -> bool {
    expr.contains_outer() && !expr.any_column_refs()
}

/// Whether nothing has to be known of an expression but the row that it is computed for, and its
/// value is always the same.
fn is_plain(expr: &Expr) -> bool {
    let mut plain = true;
    let walked = expr.apply(|inner| {
        plain &= match inner {
            Expr::Column(_) | Expr::Literal(..) | Expr::Alias(_) | Expr::Cast(_) => true,
            Expr::ScalarFunction(call) => call.func.inner().is::<PostgresCast>(),
            _ => false,
        };
        Ok(if plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    plain && walked.is_ok()
}

/// The rows of a query over constants alone.
fn constant_rows(plan: &LogicalPlan, options: &Arc<ConfigOptions>) -> Result<Option<RecordBatch>> {
    match plan {
        LogicalPlan::EmptyRelation(empty) if empty.produce_one_row && empty.schema.fields().is_empty() => {
            batch(Vec::new(), 1).map(Some)
        }
        LogicalPlan::SubqueryAlias(alias) => constant_rows(&alias.input, options),
        LogicalPlan::Projection(projection) => {
            let Some(rows) = constant_rows(&projection.input, options)? else { return Ok(None) };
            let Some(columns) = computed(&projection.expr, projection.input.schema(), &rows, options)? else {
                return Ok(None);
            };
            batch(columns, rows.num_rows()).map(Some)
        }
        LogicalPlan::Unnest(unnest) => match constant_rows(&unnest.input, options)? {
            Some(rows) => unnested(unnest, &rows),
            None => Ok(None),
        },
        LogicalPlan::Values(values) => constants(values),
        _ => Ok(None),
    }
}

fn computed(
    exprs: &[Expr],
    schema: &DFSchema,
    rows: &RecordBatch,
    options: &Arc<ConfigOptions>,
) -> Result<Option<Vec<ArrayRef>>> {
    if !exprs.iter().all(is_plain) {
        return Ok(None);
    }
    let columns = exprs.iter().map(|expr| {
        let expr = match expr {
            Expr::Alias(alias) => alias.expr.as_ref(),
            expr => expr,
        };
        if let Expr::Column(column) = expr {
            return Ok(Arc::clone(rows.column(schema.index_of_column(column)?)));
        }
        let (mut properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        properties.config_options = Some(Arc::clone(options));
        create_physical_expr(expr, schema, &properties, &context)?.evaluate(rows)?.into_array(rows.num_rows())
    });
    // What is wrong with a value is said where the statement runs, if it comes to that.
    Ok(columns.collect::<Result<Vec<_>>>().ok())
}

/// The elements of the arrays of one row side by side, NULL where one of them is shorter.
fn unnested(unnest: &Unnest, rows: &RecordBatch) -> Result<Option<RecordBatch>> {
    let places = &unnest.list_type_columns;
    let flat = rows.num_rows() == 1
        && unnest.struct_type_columns.is_empty()
        && places.len() == rows.num_columns()
        && places.iter().enumerate().all(|(at, (place, list))| *place == at && list.depth == 1)
        && unnest.dependency_indices.iter().enumerate().all(|(at, place)| *place == at)
        && unnest.dependency_indices.len() == places.len();
    if !flat {
        return Ok(None);
    }
    let mut elements: Vec<ArrayRef> = Vec::with_capacity(places.len());
    for column in rows.columns() {
        elements.push(match column.data_type() {
            DataType::List(field) if column.is_null(0) => new_empty_array(field.data_type()),
            DataType::List(_) => column.as_list::<i32>().value(0),
            _ => return Ok(None),
        });
    }
    let longest = elements.iter().map(|elements| elements.len()).max().unwrap_or_default();
    for elements in &mut elements {
        let missing = longest - elements.len();
        if missing > 0 {
            *elements = concat(&[elements.as_ref(), new_null_array(elements.data_type(), missing).as_ref()])?;
        }
    }
    batch(elements, longest).map(Some)
}

fn constants(values: &Values) -> Result<Option<RecordBatch>> {
    let schema = &values.schema;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let mut column = Vec::with_capacity(values.values.len());
        for row in &values.values {
            match row.get(at) {
                Some(Expr::Literal(value, _)) => column.push(value.cast_to(field.data_type())?),
                _ => return Ok(None),
            }
        }
        columns.push(ScalarValue::iter_to_array(column)?);
    }
    batch(columns, values.values.len()).map(Some)
}

/// Columns under the numbers of their places: several may have one name.
fn batch(columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let field = |(at, column): (usize, &ArrayRef)| {
        arrow::datatypes::Field::new(at.to_string(), column.data_type().clone(), true)
    };
    let schema = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
