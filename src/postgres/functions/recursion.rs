//! WITH RECURSIVE: the types of the query that it begins with are those of the table that the
//! recursive term reads. DataFusion takes them while literals are still as wide as they were read.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, Projection, RecursiveQuery, TableScan, TableScanBuilder};

use super::error::{SqlState, fail};
use super::kind::Kind;

/// The plan with tables of recursive terms that have the types of the first ones. `resolve` gives a
/// plan its types.
pub(super) fn with_types_of_first_terms(
    plan: LogicalPlan,
    resolve: &dyn Fn(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<LogicalPlan> {
    let mut recursive = false;
    plan.apply_with_subqueries(|plan| {
        recursive |= matches!(plan, LogicalPlan::RecursiveQuery(_));
        Ok(if recursive { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !recursive {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::RecursiveQuery(query) => retyped(query, resolve),
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

fn retyped(
    query: RecursiveQuery,
    resolve: &dyn Fn(LogicalPlan) -> Result<LogicalPlan>,
) -> Result<Transformed<LogicalPlan>> {
    let RecursiveQuery { name, static_term, recursive_term, is_distinct, schema } = query;
    let first = resolve(static_term.as_ref().clone())?;
    let narrower: Vec<_> = schema.fields().iter().zip(first.schema().fields()).map(narrowed).collect();
    if narrower.iter().all(Option::is_none) {
        let query = RecursiveQuery { name, static_term, recursive_term, is_distinct, schema };
        return Ok(Transformed::no(LogicalPlan::RecursiveQuery(query)));
    }
    let term = without_widening(Arc::unwrap_or_clone(recursive_term), &narrower)?;
    let term = term.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::TableScan(scan) => narrow_table(scan, &name, &narrower),
        plan => Ok(Transformed::yes(plan.recompute_schema()?)),
    });
    let query = RecursiveQuery::try_new(name.clone(), Arc::new(first), Arc::new(term.data()?), is_distinct)?;
    Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
}

/// The type of a column that was read as one of bigints, and is one of integers.
fn narrowed((read, found): (&Arc<Field>, &Arc<Field>)) -> Option<DataType> {
    let is_narrower = |read: &DataType, found: &DataType| *read == DataType::Int64 && *found == DataType::Int32;
    let narrower = match (read.data_type(), found.data_type()) {
        (DataType::List(read), DataType::List(found)) => is_narrower(read.data_type(), found.data_type()),
        (read, found) => is_narrower(read, found),
    };
    narrower.then(|| found.data_type().clone())
}

/// The table of the working rows, with narrower columns.
fn narrow_table(scan: TableScan, name: &str, narrower: &[Option<DataType>]) -> Result<Transformed<LogicalPlan>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.downcast_ref::<CteWorkTable>().filter(|table| table.name() == name) else {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    };
    let schema = table.schema();
    let fields = schema.fields().iter().zip(narrower).map(|(field, narrower)| match narrower {
        Some(narrower) => Arc::new(field.as_ref().clone().with_data_type(narrower.clone())),
        None => Arc::clone(field),
    });
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
    let source = provider_as_source(Arc::new(CteWorkTable::new(name, Arc::new(schema))));
    let TableScan { table_name, projection, filters, fetch, .. } = scan;
    let scan = TableScanBuilder::new(table_name, source)
        .with_projection(projection)
        .with_filters(filters)
        .with_fetch(fetch)
        .build()?;
    Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
}

/// Without the casts to bigint that DataFusion has put on the columns of the recursive term.
fn without_widening(term: LogicalPlan, narrower: &[Option<DataType>]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = term else { return Ok(term) };
    let exprs = expr.into_iter().enumerate().map(|(place, expr)| match narrower.get(place) {
        Some(Some(_)) => uncast(expr),
        _ => expr,
    });
    Ok(LogicalPlan::Projection(Projection::try_new(exprs.collect(), input)?))
}

fn uncast(expr: Expr) -> Expr {
    let name = expr.schema_name().to_string();
    match expr {
        Expr::Cast(cast) if is_widening(&cast) => cast.expr.alias(name),
        Expr::Alias(alias) => match *alias.expr {
            Expr::Cast(cast) if is_widening(&cast) => Expr::Alias(Alias { expr: cast.expr, ..alias }),
            other => Expr::Alias(Alias { expr: Box::new(other), ..alias }),
        },
        other => other,
    }
}

/// Whether a cast makes bigints, or lists of them, of no type that a statement has named.
fn is_widening(cast: &Cast) -> bool {
    let is_wide = match cast.field.data_type() {
        DataType::List(item) => *item.data_type() == DataType::Int64,
        other => *other == DataType::Int64,
    };
    is_wide && cast.field.metadata().is_empty()
}

/// Both terms have the types of the first.
///
/// # Errors
/// The recursive term has aggregates over itself; its types would make the columns wider.
pub(super) fn check(name: &str, types: &[DataType], recursive_term: &LogicalPlan) -> Result<()> {
    recursive_term.apply(|plan| match plan {
        LogicalPlan::Aggregate(aggregate) if !aggregate.aggr_expr.is_empty() && reads(&aggregate.input, name) => {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            fail(SqlState::INVALID_RECURSION, message)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    for (at, (first, field)) in types.iter().zip(recursive_term.schema().fields()).enumerate() {
        let (first, later) = (Kind::of(first), Kind::of(field.data_type()));
        let overall = first.common(later).filter(|_| first != Kind::Null);
        if let Some(overall) = overall.filter(|overall| *overall != first) {
            let message = format!(
                "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                at + 1,
                first.name(),
                overall.name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message);
        }
    }
    Ok(())
}

/// Whether a SELECT that aggregates has the working rows in its own FROM.
fn reads(plan: &LogicalPlan, name: &str) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            scan.table_name.table() == name
                && source_as_provider(&scan.source).is_ok_and(|provider| provider.is::<CteWorkTable>())
        }
        LogicalPlan::Filter(_) | LogicalPlan::Join(_) => plan.inputs().into_iter().any(|input| reads(input, name)),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::TableScan(_) => reads(&alias.input, name),
            _ => false,
        },
        _ => false,
    }
}

/// The types of the table that the recursive term reads.
pub(super) fn working_types(query: &RecursiveQuery) -> Result<Option<Vec<DataType>>> {
    let mut types = None;
    query.recursive_term.apply_with_subqueries(|plan| {
        if let LogicalPlan::TableScan(scan) = plan
            && scan.table_name.table() == query.name
        {
            types = Some(scan.source.schema().fields().iter().map(|field| field.data_type().clone()).collect());
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(types)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::lit;

    use super::*;

    #[test]
    fn casts_to_bigint_are_taken_off() {
        let cast = |to| Expr::Cast(Cast::new(Box::new(lit(1_i32)), to));
        assert_eq!(uncast(cast(DataType::Int64).alias("n")), lit(1_i32).alias("n"));
        assert_eq!(uncast(cast(DataType::Float64).alias("n")), cast(DataType::Float64).alias("n"));
        assert_eq!(uncast(lit(1_i32)), lit(1_i32));
    }
}
