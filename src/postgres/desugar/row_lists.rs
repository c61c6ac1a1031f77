//! `(a, b) IN (('x', 'y'), ...)` of many rows, which is an OR of comparisons by now. Rules look up
//! the type of each part of it, at every level again; as one list it is a leaf.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, ExprSchema, Result};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use super::conjuncts::replaced;
use crate::functions::RowIn;

/// Fewer rows stay as they are written.
const ROWS_MIN: usize = 16;

/// Makes lists of long conditions of filters that compare the same columns with texts.
#[derive(Debug)]
pub(super) struct RowLists;

impl AnalyzerRule for RowLists {
    fn name(&self) -> &str {
        "row_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_down_with_subqueries(|node| {
            let LogicalPlan::Filter(filter) = node else { return Ok(Transformed::no(node)) };
            replaced(filter, list)
        })
        .data()
    }
}

fn list(conjunct: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let rows = operands(conjunct, Operator::Or);
    if rows.len() < ROWS_MIN {
        return Ok(None);
    }
    let mut sought: Vec<&Column> = Vec::new();
    let mut texts: Vec<Vec<Option<&str>>> = Vec::new();
    for row in rows {
        let pairs = operands(row, Operator::And);
        if texts.is_empty() {
            texts = vec![Vec::new(); pairs.len()];
        }
        if pairs.len() != texts.len() || pairs.len() < 2 {
            return Ok(None);
        }
        for (at, (pair, texts)) in pairs.into_iter().zip(&mut texts).enumerate() {
            let Some((column, text)) = equality(pair) else { return Ok(None) };
            match sought.get(at) {
                None if is_text(column, schema) => sought.push(column),
                Some(known) if *known == column => {}
                _ => return Ok(None),
            }
            texts.push(text);
        }
    }
    let sought = sought.into_iter().cloned().map(Expr::Column).collect();
    let columns: Vec<ArrayRef> =
        texts.into_iter().map(|texts| Arc::new(StringViewArray::from(texts)) as ArrayRef).collect();
    RowIn::call(sought, &columns).map(Some)
}

/// Whether a column has the texts that lists are made of.
fn is_text(column: &Column, schema: &DFSchema) -> bool {
    schema.field_from_column(column).is_ok_and(|field| *field.data_type() == DataType::Utf8View)
}

/// The operands of a chain of one operator from left to right, whichever way it leans.
fn operands(expr: &Expr, wanted: Operator) -> Vec<&Expr> {
    let (mut pending, mut operands) = (vec![expr], Vec::new());
    while let Some(expr) = pending.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == wanted => pending.extend([&**right, &**left]),
            operand => operands.push(operand),
        }
    }
    operands
}

fn equality(expr: &Expr) -> Option<(&Column, Option<&str>)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return None };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), Expr::Literal(text, _)) => Some((column, text.try_as_str()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, Schema};
    use datafusion::logical_expr::{col, lit, table_scan};

    use super::*;

    fn analyzed(rows: &[(&str, Expr)]) -> String {
        let fields = ["a", "b"].map(|name| Field::new(name, DataType::Utf8View, true));
        let fields = fields.into_iter().chain([Field::new("n", DataType::Int32, true)]).collect::<Vec<_>>();
        let schema = Schema::new(fields);
        let row = |(a, b): &(&str, Expr)| col("a").eq(lit(*a)).and(b.clone());
        let condition = rows.iter().map(row).reduce(Expr::or).expect("rows");
        let plan = table_scan(Some("t"), &schema, None).expect("a table");
        let plan = plan.filter(condition.and(col("n").gt(lit(1)))).expect("a filter").build().expect("a plan");
        RowLists.analyze(plan, &ConfigOptions::default()).expect("a plan").display_indent().to_string()
    }

    #[test]
    fn rows_of_texts_are_a_list() {
        let rows = |count: usize| (0..count).map(|_| ("x", col("b").eq(lit("y")))).collect::<Vec<_>>();
        assert!(analyzed(&rows(16)).contains("Filter: row_in(t.a, t.b) AND t.n > Int32(1)"));
        assert!(!analyzed(&rows(15)).contains("row_in"));
        for other in [col("n").eq(lit(1)), col("b").gt(lit("y")), col("b").eq(col("a")), col("a").eq(lit("y"))] {
            let mut rows = rows(20);
            rows[10].1 = other;
            assert!(!analyzed(&rows).contains("row_in"));
        }
    }
}
