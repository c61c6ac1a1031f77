//! Types of outer columns in subqueries.
//!
//! A reference to an outer column carries the type that the column had when the statement was
//! planned. Settling types changes that of literals and of what is computed from them, and it
//! settles subqueries before what they refer to.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use super::outer_references::{
    has_subqueries, has_subqueries_anywhere, in_subquery, map_outer, map_outer_in, outer_columns,
};

/// The rule that settles types, after the references to outer columns got theirs.
#[derive(Debug)]
pub(crate) struct SettleOuterTypes {
    pub types: Arc<dyn AnalyzerRule + Send + Sync>,
}

impl AnalyzerRule for SettleOuterTypes {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = match has_subqueries_anywhere(&plan)? {
            true => self.settle(plan, config)?,
            false => plan,
        };
        self.types.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.types.name()
    }
}

impl SettleOuterTypes {
    /// From the outside in: what a subquery refers to has its type before the subquery is looked
    /// at.
    fn settle(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = match plan {
            LogicalPlan::Join(mut join) => {
                let left = self.settle(Arc::unwrap_or_clone(join.left), config)?;
                let mut right = Arc::unwrap_or_clone(join.right);
                if !outer_columns(&right, left.schema())?.is_empty() {
                    let settled = self.settled_schema(&left, config);
                    right = map_outer(right, &|_| false, &|field, column| retyped(&settled, field, column))?;
                }
                join.left = Arc::new(left);
                join.right = Arc::new(self.settle(right, config)?);
                LogicalPlan::Join(join)
            }
            plan => plan.map_children(|input| self.settle(input, config).map(Transformed::yes)).data()?,
        };
        if !has_subqueries(&plan)? {
            return Ok(plan);
        }
        let inputs: Vec<DFSchemaRef> =
            plan.inputs().into_iter().map(|input| self.settled_schema(input, config)).collect();
        let mut schema = DFSchema::empty();
        inputs.iter().for_each(|input| schema.merge(input));
        plan.map_expressions(|expr| {
            expr.transform_up(|expr| {
                in_subquery(expr, |subquery| {
                    let change = |field, column| retyped(&schema, field, column);
                    let mut subquery = map_outer_in(subquery, &|_: &Column| false, &change)?;
                    subquery.subquery = Arc::new(self.settle(Arc::unwrap_or_clone(subquery.subquery), config)?);
                    Ok(subquery)
                })
            })
        })
        .data()
    }

    /// The schema after types are settled. An error is raised when the whole plan is settled.
    fn settled_schema(&self, plan: &LogicalPlan, config: &ConfigOptions) -> DFSchemaRef {
        match self.types.analyze(plan.clone(), config) {
            Ok(settled) => Arc::clone(settled.schema()),
            Err(_) => Arc::clone(plan.schema()),
        }
    }
}

fn retyped(schema: &DFSchema, field: arrow::datatypes::FieldRef, column: Column) -> Expr {
    match schema.field_from_column(&column) {
        Ok(settled) => Expr::OuterReferenceColumn(Arc::clone(settled), column),
        Err(_) => Expr::OuterReferenceColumn(field, column),
    }
}
