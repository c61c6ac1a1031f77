//! Lengths and precisions of the columns of a query, `varchar(10)` or `numeric(8, 2)`, which go
//! with their types to the client.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan};

use crate::types::{POSTGRES_TYPE, TYPE_LENGTH};

/// What PostgreSQL adds to lengths, and to precisions of numerics: its header.
const HEADER: i32 = 4;
/// There is none.
const NONE: i32 = -1;
/// Deeper plans are not looked into.
const LEVELS_MAX: usize = 32;

/// The type modifier of each column of a plan whose casts are as they were written; -1 for none.
pub fn type_modifiers(plan: &LogicalPlan) -> Vec<i32> {
    (0..plan.schema().fields().len()).map(|place| of_column(plan, place, LEVELS_MAX)).collect()
}

fn of_column(plan: &LogicalPlan, place: usize, levels: usize) -> i32 {
    let Some(levels) = levels.checked_sub(1) else { return NONE };
    match plan {
        LogicalPlan::Projection(projection) => match projection.expr.get(place) {
            Some(expr) => of_expr(expr, &projection.input, levels),
            None => NONE,
        },
        LogicalPlan::Filter(filter) => of_column(&filter.input, place, levels),
        LogicalPlan::Sort(sort) => of_column(&sort.input, place, levels),
        LogicalPlan::Limit(limit) => of_column(&limit.input, place, levels),
        LogicalPlan::SubqueryAlias(alias) => of_column(&alias.input, place, levels),
        _ => NONE,
    }
}

fn of_expr(expr: &Expr, input: &LogicalPlan, levels: usize) -> i32 {
    match expr {
        Expr::Alias(alias) => of_expr(&alias.expr, input, levels),
        Expr::Column(column) => match input.schema().maybe_index_of_column(column) {
            Some(place) => of_column(input, place, levels),
            None => NONE,
        },
        Expr::Cast(cast) => of_cast(cast),
        _ => NONE,
    }
}

fn of_cast(Cast { field, .. }: &Cast) -> i32 {
    let metadata = field.metadata();
    match field.data_type() {
        DataType::Decimal128(precision, scale) if !metadata.contains_key(POSTGRES_TYPE) => {
            (i32::from(*precision) << 16 | i32::from(*scale)) + HEADER
        }
        data_type => {
            let Some(length) = metadata.get(TYPE_LENGTH).and_then(|length| length.parse::<i32>().ok()) else {
                return NONE;
            };
            match (data_type, metadata.get(POSTGRES_TYPE).map(String::as_str)) {
                (_, Some("varchar" | "bpchar")) => length.saturating_add(HEADER),
                (DataType::Timestamp(..) | DataType::Time64(_), None) => length,
                _ => NONE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};

    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_passes_through_keeps_its_length() -> datafusion::common::Result<()> {
        let numeric = arrow::datatypes::Field::new("", DataType::Decimal128(8, 2), true);
        let cast = Expr::Cast(Cast::new_from_field(Box::new(lit(1)), Arc::new(numeric)));
        let inner = LogicalPlanBuilder::empty(true).project([cast.alias("n"), lit(1).alias("one")])?.build()?;
        let outer = LogicalPlanBuilder::from(inner)
            .alias("s")?
            .project([datafusion::logical_expr::col("s.one"), datafusion::logical_expr::col("s.n").alias("m")])?;
        assert_eq!(type_modifiers(&outer.build()?), [NONE, (8 << 16 | 2) + HEADER]);
        Ok(())
    }
}
