//! Lengths and precisions of the columns of a query, `varchar(10)` or `numeric(8, 2)`, which go
//! with their types to the client.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{Cast, Distinct, Expr, LogicalPlan};

use crate::types::{POSTGRES_TYPE, TYPE_LENGTH};

/// What PostgreSQL adds to lengths, and to precisions of numerics: its header.
const HEADER: i32 = 4;
/// There is none.
const NONE: i32 = -1;
/// Deeper plans are not looked into.
const LEVELS_MAX: usize = 32;
/// Most plans that are looked into, for all columns together.
const VISITS_MAX: usize = 10_000;

/// The type modifier of each column of a plan whose casts are as they were written; -1 for none.
pub fn type_modifiers(plan: &LogicalPlan) -> Vec<i32> {
    let mut search = Search { visits_left: VISITS_MAX };
    (0..plan.schema().fields().len()).map(|place| search.of_column(plan, place, LEVELS_MAX)).collect()
}

/// A search below several columns: inputs of unions branch, and what is too long has none.
struct Search {
    visits_left: usize,
}

impl Search {
    fn of_column(&mut self, plan: &LogicalPlan, place: usize, levels: usize) -> i32 {
        let Some((levels, left)) = levels.checked_sub(1).zip(self.visits_left.checked_sub(1)) else { return NONE };
        self.visits_left = left;
        match plan {
            LogicalPlan::Projection(projection) => match projection.expr.get(place) {
                Some(expr) => self.of_expr(expr, &projection.input, levels),
                None => NONE,
            },
            LogicalPlan::Filter(filter) => self.of_column(&filter.input, place, levels),
            LogicalPlan::Sort(sort) => self.of_column(&sort.input, place, levels),
            LogicalPlan::Limit(limit) => self.of_column(&limit.input, place, levels),
            LogicalPlan::SubqueryAlias(alias) => self.of_column(&alias.input, place, levels),
            LogicalPlan::Distinct(Distinct::All(input)) => self.of_column(input, place, levels),
            LogicalPlan::Distinct(Distinct::On(on)) => match on.select_expr.get(place) {
                Some(expr) => self.of_expr(expr, &on.input, levels),
                None => NONE,
            },
            LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.get(place) {
                Some(Expr::GroupingSet(_)) | None => NONE,
                Some(key) => self.of_expr(key, &aggregate.input, levels),
            },
            LogicalPlan::Window(window) => self.of_column_within(&[&window.input], place, levels),
            LogicalPlan::Join(join) => self.of_column_within(&[&join.left, &join.right], place, levels),
            LogicalPlan::Union(union) => common(union.inputs.iter().map(|input| self.of_column(input, place, levels))),
            // A view.
            LogicalPlan::TableScan(scan) => match scan.source.get_logical_plan() {
                Some(query) => {
                    let place = scan.projection.as_ref().and_then(|columns| columns.get(place)).unwrap_or(&place);
                    self.of_column(&query, *place, levels)
                }
                None => NONE,
            },
            _ => NONE,
        }
    }

    /// Of a column of inputs beside one another; what stands behind them is computed.
    fn of_column_within(&mut self, inputs: &[&LogicalPlan], mut place: usize, levels: usize) -> i32 {
        for input in inputs {
            let width = input.schema().fields().len();
            if place < width {
                return self.of_column(input, place, levels);
            }
            place -= width;
        }
        NONE
    }

    fn of_expr(&mut self, expr: &Expr, input: &LogicalPlan, levels: usize) -> i32 {
        match expr {
            Expr::Alias(alias) => self.of_expr(&alias.expr, input, levels),
            Expr::Column(column) => match input.schema().maybe_index_of_column(column) {
                Some(place) => self.of_column(input, place, levels),
                None => NONE,
            },
            Expr::Cast(cast) => of_cast(cast),
            Expr::ScalarSubquery(subquery) => self.of_column(&subquery.subquery, 0, levels),
            _ => NONE,
        }
    }
}

/// That which all have.
fn common(mut modifiers: impl Iterator<Item = i32>) -> i32 {
    let Some(first) = modifiers.next() else { return NONE };
    if modifiers.all(|modifier| modifier == first) { first } else { NONE }
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
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_passes_through_keeps_its_length() -> datafusion::common::Result<()> {
        let numeric = arrow::datatypes::Field::new("", DataType::Decimal128(8, 2), true);
        let cast = Expr::Cast(Cast::new_from_field(Box::new(lit(1)), Arc::new(numeric)));
        let inner = LogicalPlanBuilder::empty(true).project([cast.alias("n"), lit(1).alias("one")])?.build()?;
        let outer = LogicalPlanBuilder::from(inner).alias("s")?.project([col("s.one"), col("s.n").alias("m")])?;
        let outer = outer.build()?;
        let modifier = (8 << 16 | 2) + HEADER;
        assert_eq!(type_modifiers(&outer), [NONE, modifier]);
        let of =
            |plan: LogicalPlanBuilder| Ok::<_, datafusion::common::DataFusionError>(type_modifiers(&plan.build()?));
        let begun = || LogicalPlanBuilder::from(outer.clone());
        assert_eq!(of(begun().distinct()?)?, [NONE, modifier]);
        assert_eq!(of(begun().aggregate([col("m"), col("one") + lit(1)], Vec::<Expr>::new())?)?, [modifier, NONE]);
        assert_eq!(of(begun().union(outer.clone())?)?, [NONE, modifier]);
        let other = begun().alias("b")?.build()?;
        let joined = begun().alias("a")?.cross_join(other)?;
        assert_eq!(of(joined)?, [NONE, modifier, NONE, modifier]);
        // Of another precision, there is none.
        let shorter =
            begun().project([col("one"), Expr::Cast(Cast::new(Box::new(col("m")), DataType::Decimal128(6, 2)))])?;
        assert_eq!(of(begun().union(shorter.build()?)?)?, [NONE, NONE]);
        Ok(())
    }
}
