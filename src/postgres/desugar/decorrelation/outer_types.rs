//! Types of outer columns in subqueries.
//!
//! A reference to an outer column carries the type that the column had when the statement was
//! planned. Settling types changes that of literals and of what is computed from them, and it
//! settles subqueries before what they refer to.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, Result};
use datafusion::logical_expr::{EmptyRelation, Expr, Join, LogicalPlan};
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
            true => self.settle(plan, config)?.plan,
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
    fn settle(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<Settled> {
        if let LogicalPlan::Join(join) = plan {
            return self.settle_join(join, config);
        }
        let mut inputs = Vec::new();
        let plan = plan.map_children(|input| {
            let Settled { plan, outline } = self.settle(input, config)?;
            inputs.push(outline);
            Ok(Transformed::yes(plan))
        })?;
        let plan = plan.data;
        if !has_subqueries(&plan)? {
            return Settled::over(plan, inputs);
        }
        let inputs: Vec<DFSchemaRef> = inputs.into_iter().map(|input| self.settled_schema(input, config)).collect();
        let mut schema = DFSchema::empty();
        inputs.iter().for_each(|input| schema.merge(input));
        let plan = plan.map_expressions(|expr| {
            expr.transform_up(|expr| {
                in_subquery(expr, |subquery| {
                    let change = |field, column| retyped(&schema, field, column);
                    let mut subquery = map_outer_in(subquery, &|_: &Column| false, &change)?;
                    let settled = self.settle(Arc::unwrap_or_clone(subquery.subquery), config)?;
                    subquery.subquery = Arc::new(settled.plan);
                    Ok(subquery)
                })
            })
        })?;
        Settled::over(plan.data, inputs.into_iter().map(rows_of).collect())
    }

    fn settle_join(&self, mut join: Join, config: &ConfigOptions) -> Result<Settled> {
        let mut left = self.settle(Arc::unwrap_or_clone(join.left), config)?;
        let mut right = Arc::unwrap_or_clone(join.right);
        if !outer_columns(&right, left.plan.schema())?.is_empty() {
            let settled = self.settled_schema(left.outline, config);
            right = map_outer(right, &|_| false, &|field, column| retyped(&settled, field, column))?;
            left.outline = rows_of(settled);
        }
        let right = self.settle(right, config)?;
        join.left = Arc::new(left.plan);
        join.right = Arc::new(right.plan);
        Settled::over(LogicalPlan::Join(join), vec![left.outline, right.outline])
    }

    /// The schema after types are settled. An error is raised when the whole plan is settled.
    fn settled_schema(&self, outline: LogicalPlan, config: &ConfigOptions) -> DFSchemaRef {
        let schema = Arc::clone(outline.schema());
        self.types.analyze(outline, config).map_or(schema, |settled| Arc::clone(settled.schema()))
    }
}

/// A plan whose subqueries know the types of outer columns.
struct Settled {
    plan: LogicalPlan,
    /// The same plan, with rows of known types in the place of what is below subqueries: in a chain
    /// of them, types are settled of each once.
    outline: LogicalPlan,
}

impl Settled {
    /// A plan over inputs that have these outlines.
    fn over(plan: LogicalPlan, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut inputs = inputs.into_iter();
        let outline = plan.clone().map_children(|input| Ok(Transformed::yes(inputs.next().unwrap_or(input))))?;
        Ok(Self { plan, outline: outline.data })
    }
}

fn rows_of(schema: DFSchemaRef) -> LogicalPlan {
    LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema })
}

fn retyped(schema: &DFSchema, field: arrow::datatypes::FieldRef, column: Column) -> Expr {
    match schema.field_from_column(&column) {
        Ok(settled) => Expr::OuterReferenceColumn(Arc::clone(settled), column),
        Err(_) => Expr::OuterReferenceColumn(field, column),
    }
}
