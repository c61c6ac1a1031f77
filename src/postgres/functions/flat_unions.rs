//! Chains of UNION ALL, and of UNION, as one union of many inputs, once their columns have their
//! types.
//!
//! DataFusion flattens the former as well, from the innermost out, and writes all inputs anew at
//! each; the latter it computes distinct rows for at every step.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Distinct, LogicalPlan, Union};

use super::keys::are_keys;

pub(super) fn flatten(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|plan| {
        Ok(match plan {
            LogicalPlan::Union(union) if union.inputs.iter().any(|input| has_types_of(input, &union.schema)) => {
                Transformed::yes(LogicalPlan::Union(flat(union, false)))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let flat = flat_distinct(Arc::unwrap_or_clone(input));
                flat.update_data(|input| LogicalPlan::Distinct(Distinct::All(Arc::new(input))))
            }
            plan => Transformed::no(plan),
        })
    })
    .data()
}

/// The union of rows that are made distinct, or shown as keys to be so.
fn flat_distinct(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => Transformed::yes(LogicalPlan::Union(flat(union, true))),
        LogicalPlan::Projection(mut projection) if are_keys(&projection) => match projection.input.as_ref() {
            LogicalPlan::Union(union) => {
                projection.input = Arc::new(LogicalPlan::Union(flat(union.clone(), true)));
                Transformed::yes(LogicalPlan::Projection(projection))
            }
            _ => Transformed::no(LogicalPlan::Projection(projection)),
        },
        plan => Transformed::no(plan),
    }
}

/// What is distinct within rows that are made distinct again.
fn within(input: &Arc<LogicalPlan>) -> &Arc<LogicalPlan> {
    match input.as_ref() {
        LogicalPlan::Distinct(Distinct::All(distinct)) => match distinct.as_ref() {
            LogicalPlan::Projection(projection) if are_keys(projection) => &projection.input,
            _ => distinct,
        },
        _ => input,
    }
}

/// The inputs of unions within it in their order, also of those of distinct rows where it is itself
/// made distinct. The columns keep the names and what else is known of them.
fn flat(union: Union, is_distinct: bool) -> Union {
    let Union { inputs, schema } = union;
    let mut pending: Vec<Arc<LogicalPlan>> = inputs.into_iter().rev().collect();
    let mut inputs = Vec::with_capacity(pending.len());
    while let Some(input) = pending.pop() {
        let within = if is_distinct { within(&input) } else { &input };
        match within.as_ref() {
            LogicalPlan::Union(inner) if has_types_of(within, &schema) => {
                pending.extend(inner.inputs.iter().rev().map(Arc::clone));
            }
            _ => inputs.push(input),
        }
    }
    Union { inputs, schema }
}

/// Whether it is a union whose inputs need no cast to the types of these columns, but for that of a
/// literal in quotes.
fn has_types_of(input: &LogicalPlan, schema: &DFSchema) -> bool {
    let is_same = |(one, other): (&FieldRef, &FieldRef)| match (one.data_type(), other.data_type()) {
        (DataType::Utf8, DataType::Utf8View) | (DataType::Utf8View, DataType::Utf8) => true,
        (one, other) => one == other,
    };
    let same = |plan: &LogicalPlan| {
        let (fields, others) = (plan.schema().fields(), schema.fields());
        fields.len() == others.len() && fields.iter().zip(others).all(is_same)
    };
    matches!(input, LogicalPlan::Union(inner) if same(input) && inner.inputs.iter().all(|input| same(input)))
}

#[cfg(test)]
mod tests {
    use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
    use datafusion::prelude::SessionContext;

    use super::*;

    /// The inputs of each union of a statement's plan, outer ones first.
    async fn unions(text: &str) -> Vec<usize> {
        let plan = SessionContext::new().state().create_logical_plan(text).await.expect("a plan");
        let mut unions = Vec::new();
        flatten(plan)
            .expect("flat")
            .apply(|node| {
                if let LogicalPlan::Union(union) = node {
                    unions.push(union.inputs.len());
                }
                Ok(TreeNodeRecursion::Continue)
            })
            .expect("walked");
        unions
    }

    #[tokio::test]
    async fn a_chain_is_one_union() {
        let chain = |members: usize| vec!["select 1 as n"; members].join(" union all ");
        assert_eq!(unions(&chain(100)).await, [100]);
        assert_eq!(unions(&format!("{} union all ({})", chain(3), chain(4))).await, [7]);
        assert_eq!(unions("select 'a'::text union all select 'b'::text union all select 'c'").await, [3]);
    }

    #[tokio::test]
    async fn a_chain_of_distinct_rows_is_one_union() {
        assert_eq!(unions(&vec!["select 1 as n"; 100].join(" union ")).await, [100]);
        assert_eq!(unions("select 1 union all select 2 union (select 3 union select 4)").await, [4]);
        // Rows of the last may be alike.
        assert_eq!(unions("select 1 union select 2 union all select 3").await, [2, 2]);
    }

    #[tokio::test]
    async fn other_unions_stay() {
        assert_eq!(unions("select 1 union all (select 2 union select 3)").await, [2, 2]);
        assert_eq!(unions("select 1 union (select 2 union select null)").await, [2, 2]);
        assert_eq!(unions("select 1 union all (select 2 union all select 3 limit 1)").await, [2, 2]);
    }
}
