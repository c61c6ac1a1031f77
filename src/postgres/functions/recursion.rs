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

use super::cast::PostgresCast;
use super::error::{SqlState, fail};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::type_names::{NUMERIC_SCALE_DEFAULT, WRITTEN};
use crate::type_modifiers::type_modifiers;

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
    let modifiers = type_modifiers(&static_term);
    let first = resolve(static_term.as_ref().clone())?;
    let columns = schema.fields().iter().zip(first.schema().fields()).zip(modifiers);
    let changes: Vec<_> = columns.map(Change::of).collect();
    if changes.iter().all(|change| matches!(change, Change::None)) {
        let query = RecursiveQuery { name, static_term, recursive_term, is_distinct, schema };
        return Ok(Transformed::no(LogicalPlan::RecursiveQuery(query)));
    }
    let term = without_casts(Arc::unwrap_or_clone(recursive_term), &name, &changes)?;
    let with_types = |types: &[Option<DataType>]| {
        let term = term.clone().transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::TableScan(scan) => retyped_table(scan, &name, types),
            plan => Ok(Transformed::yes(plan.recompute_schema()?)),
        });
        term.data()
    };
    let mut types: Vec<_> = changes.iter().map(Change::wanted).collect();
    let mut typed = with_types(&types)?;
    if changes.iter().any(|change| matches!(change, Change::Widened(_))) {
        let resolved = resolve(typed.clone())?;
        let before = types.clone();
        for (wanted, found) in types.iter_mut().zip(resolved.schema().fields()) {
            if let Some(wanted) = wanted.as_mut().filter(|wanted| scale(wanted) < scale(found.data_type())) {
                *wanted = with_scale(wanted, NUMERIC_SCALE_DEFAULT);
            }
        }
        if types != before {
            typed = with_types(&types)?;
        }
    }
    let query = RecursiveQuery::try_new(name.clone(), Arc::new(first), Arc::new(typed), is_distinct)?;
    Ok(Transformed::yes(LogicalPlan::RecursiveQuery(query)))
}

/// What a column's type becomes.
enum Change {
    None,
    /// It was read as one of bigints, and is one of integers.
    Narrowed(DataType),
    /// Of numerics without a declared precision: that of the first rows is not that of all.
    Widened(DataType),
    /// A numeric with a declared precision.
    Kept(DataType),
}

impl Change {
    fn of(((read, found), modifier): ((&Arc<Field>, &Arc<Field>), i32)) -> Self {
        let is_narrower = |read: &DataType, found: &DataType| *read == DataType::Int64 && *found == DataType::Int32;
        match (read.data_type(), found.data_type()) {
            (DataType::Decimal128(..), found @ DataType::Decimal128(..)) if modifier >= 0 => Self::Kept(found.clone()),
            (_, found) if scale(found).is_some() => Self::Widened(found.clone()),
            (DataType::List(read), list @ DataType::List(found))
                if is_narrower(read.data_type(), found.data_type()) =>
            {
                Self::Narrowed(list.clone())
            }
            (read, found) if is_narrower(read, found) => Self::Narrowed(found.clone()),
            _ => Self::None,
        }
    }

    fn wanted(&self) -> Option<DataType> {
        match self {
            Self::None | Self::Kept(_) => None,
            Self::Narrowed(data_type) => Some(data_type.clone()),
            Self::Widened(data_type) => Some(with_scale(data_type, scale(data_type).unwrap_or_default())),
        }
    }
}

/// The scale of numerics, or of arrays of them.
fn scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::List(item) => scale(item.data_type()),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The same with all digits that there are, so many of them behind the point.
fn with_scale(data_type: &DataType, scale: i8) -> DataType {
    match data_type {
        DataType::List(item) => {
            let item = item.as_ref().clone().with_data_type(with_scale(item.data_type(), scale));
            DataType::List(Arc::new(item))
        }
        _ => DataType::Decimal128(NUMERIC_DIGITS_MAX, scale),
    }
}

/// The table of the working rows, with other types of its columns.
fn retyped_table(scan: TableScan, name: &str, wanted: &[Option<DataType>]) -> Result<Transformed<LogicalPlan>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.downcast_ref::<CteWorkTable>().filter(|table| table.name() == name) else {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    };
    let schema = table.schema();
    let fields = schema.fields().iter().zip(wanted).map(|(field, wanted)| match wanted {
        // Constants of the first term keep nothing of what their casts say.
        Some(wanted) if scale(wanted).is_some() => Arc::new(Field::new(field.name(), wanted.clone(), true)),
        Some(wanted) => Arc::new(field.as_ref().clone().with_data_type(wanted.clone())),
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

/// The recursive term without the casts that DataFusion has put on its columns.
///
/// # Errors
/// One is of a numeric that has the digits of the first term's type and needs others.
fn without_casts(term: LogicalPlan, name: &str, changes: &[Change]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = term else { return Ok(term) };
    let exprs = expr.into_iter().enumerate().map(|(at, expr)| match changes.get(at) {
        None | Some(Change::None) => Ok(expr),
        Some(Change::Kept(data_type)) => match uncast(expr.clone()) {
            uncast if uncast == expr => Ok(expr),
            _ => {
                let first = type_name(data_type);
                let message = format!(
                    "recursive query \"{name}\" column {} has type {first} in non-recursive term but type numeric overall",
                    at + 1
                );
                fail(SqlState::DATATYPE_MISMATCH, message)
            }
        },
        Some(_) => Ok(uncast(expr)),
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, input)?))
}

fn type_name(data_type: &DataType) -> String {
    match decimal_of(data_type) {
        Some((precision, scale)) => format!("numeric({precision},{scale})"),
        None => Kind::of(data_type).name().to_owned(),
    }
}

fn uncast(expr: Expr) -> Expr {
    let name = expr.schema_name().to_string();
    match expr {
        Expr::Cast(cast) if is_implicit(&cast) => cast.expr.alias(name),
        Expr::Alias(alias) => match *alias.expr {
            Expr::Cast(cast) if is_implicit(&cast) => Expr::Alias(Alias { expr: cast.expr, ..alias }),
            other => Expr::Alias(Alias { expr: Box::new(other), ..alias }),
        },
        other => other,
    }
}

/// Whether a cast makes bigints, or lists of them, or numerics, of no type that a statement has
/// named.
fn is_implicit(cast: &Cast) -> bool {
    let is_wide = match cast.field.data_type() {
        DataType::List(item) => *item.data_type() == DataType::Int64 || scale(item.data_type()).is_some(),
        other => *other == DataType::Int64 || scale(other).is_some(),
    };
    is_wide && cast.field.name() != WRITTEN && cast.field.metadata().is_empty()
}

/// The recursive term with columns of the first one's types by name: `text` where that is
/// `varchar`.
pub(super) fn with_metadata_of(first: &LogicalPlan, term: LogicalPlan) -> Result<LogicalPlan> {
    let fields = || first.schema().fields().iter().zip(term.schema().fields());
    if fields().all(|(wanted, found)| wanted.metadata() == found.metadata()) {
        return Ok(term);
    }
    let exprs = fields().zip(term.schema().columns()).map(|((wanted, found), column)| {
        let (name, column) = (column.name.clone(), Expr::Column(column));
        match wanted.metadata() == found.metadata() {
            true => column,
            false => PostgresCast::udf(Arc::clone(wanted)).call(vec![column]).alias(name),
        }
    });
    let exprs = exprs.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(term))?))
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
