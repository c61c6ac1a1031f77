//! Chains of UNION ALL as one union of many inputs, once their columns have their types.
//!
//! DataFusion flattens them as well, from the innermost out, and writes all inputs anew at each.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{LogicalPlan, Union};

pub(super) fn flatten(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|plan| {
        Ok(match plan {
            LogicalPlan::Union(union) if union.inputs.iter().any(|input| has_types_of(input, &union.schema)) => {
                Transformed::yes(LogicalPlan::Union(flat(union)))
            }
            plan => Transformed::no(plan),
        })
    })
    .data()
}

/// The inputs of unions within it in their order. The columns keep the names and what else is known
/// of them.
fn flat(union: Union) -> Union {
    let Union { inputs, schema } = union;
    let mut pending: Vec<Arc<LogicalPlan>> = inputs.into_iter().rev().collect();
    let mut inputs = Vec::with_capacity(pending.len());
    while let Some(input) = pending.pop() {
        match input.as_ref() {
            LogicalPlan::Union(inner) if has_types_of(&input, &schema) => {
                pending.extend(inner.inputs.iter().rev().map(Arc::clone));
            }
            _ => inputs.push(input),
        }
    }
    Union { inputs, schema }
}

/// Whether it is a union whose inputs need no cast to the types of these columns.
fn has_types_of(input: &LogicalPlan, schema: &DFSchema) -> bool {
    let same = |plan: &LogicalPlan| {
        let types = plan.schema().fields().iter().map(|field| field.data_type());
        types.eq(schema.fields().iter().map(|field| field.data_type()))
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
    }

    #[tokio::test]
    async fn other_unions_stay() {
        assert_eq!(unions("select 1 union all (select 2 union select 3)").await, [2, 2]);
        assert_eq!(unions("select 1 union all (select 2 union all select 3 limit 1)").await, [2, 2]);
    }
}
