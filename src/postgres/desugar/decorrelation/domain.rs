//! The domain of a subquery: the values of the outer columns that it refers to.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};

use super::decorrelator::Decorrelator;
use super::outer_references::{Substitution, subquery_of};
use crate::error::external;
use crate::functions::group_key;
use rowkey_base::{Error, SqlState};

/// Most nodes of plans that are copied in one statement. A domain is read from a copy of the outer
/// plan, with the correlated subqueries in it: a chain of subqueries that refer to one another
/// doubles the plan, or more, at each step.
const COPIED_MAX: usize = 2000;

/// A plan, and which outer column each of its columns is.
#[derive(Clone)]
pub(super) struct Domain {
    pub plan: LogicalPlan,
    pub columns: Vec<Substitution>,
}

impl Domain {
    pub(super) fn exprs(&self) -> impl Iterator<Item = Expr> {
        self.columns.iter().map(|(_, column)| Expr::Column(column.clone()))
    }

    /// The outer columns, and the domain's.
    pub(super) fn keys(&self) -> (Vec<Column>, Vec<Column>) {
        self.columns.iter().cloned().unzip()
    }
}

impl Decorrelator<'_> {
    /// Counts the nodes of a plan that is copied; see [`Self::charge`].
    pub(super) fn charge_plan(&mut self, plan: &LogicalPlan) -> Result<()> {
        self.charge(nodes(plan, COPIED_MAX)?)
    }

    /// Counts nodes that are copied; an error beyond [`COPIED_MAX`], where planning would take
    /// long.
    pub(super) fn charge(&mut self, nodes: usize) -> Result<()> {
        *self.copied += nodes;
        if *self.copied < COPIED_MAX {
            return Ok(());
        }
        let error = Error::new(
            SqlState::STATEMENT_TOO_COMPLEX,
            "the statement has too many subqueries that refer to subqueries beside or around them",
        );
        Err(external(error.with_hint("compute some of them in a WITH query, and join it")))
    }

    /// A new name.
    pub(super) fn name(&mut self, what: &str) -> Column {
        *self.names += 1;
        Column::new_unqualified(format!("__{what}_{}", self.names))
    }

    /// The distinct values of outer columns, of equal doubles one, as DataFusion groups them.
    pub(super) fn domain(&mut self, columns: Vec<Column>, input: &LogicalPlan) -> Result<Domain> {
        self.charge_plan(input)?;
        let domain = self.projected(columns, input, domain_value)?;
        Ok(Domain { plan: LogicalPlanBuilder::from(domain.plan).distinct()?.build()?, ..domain })
    }

    /// The values of outer columns, with duplicates.
    pub(super) fn rows(&mut self, columns: Vec<Column>, input: &LogicalPlan) -> Result<Domain> {
        self.projected(columns, input, |column, _| column)
    }

    fn projected(
        &mut self,
        columns: Vec<Column>,
        input: &LogicalPlan,
        value: fn(Expr, &DFSchema) -> Expr,
    ) -> Result<Domain> {
        let columns: Vec<Substitution> = columns.into_iter().map(|column| (column, self.name("outer"))).collect();
        let value = |outer: &Column| value(Expr::Column(outer.clone()), input.schema());
        let exprs = columns.iter().map(|(outer, column)| value(outer).alias(&column.name));
        let plan = LogicalPlanBuilder::from(input.clone()).project(exprs.collect::<Vec<_>>())?.build()?;
        Ok(Domain { plan, columns })
    }

    /// A domain of the same values under new names.
    pub(super) fn renamed(&mut self, domain: &Domain) -> Result<Domain> {
        self.charge_plan(&domain.plan)?;
        let columns: Vec<Substitution> =
            domain.columns.iter().map(|(outer, _)| (outer.clone(), self.name("outer"))).collect();
        let pairs = domain.columns.iter().zip(&columns);
        let exprs = pairs.map(|((_, old), (_, new))| Expr::Column(old.clone()).alias(&new.name));
        let plan = LogicalPlanBuilder::from(domain.plan.clone()).project(exprs.collect::<Vec<_>>())?.build()?;
        Ok(Domain { plan, columns })
    }
}

/// A join whose left keys are outer columns, with the values that a domain has of them.
pub(super) fn on_values_of_domain(join: LogicalPlan) -> LogicalPlan {
    let LogicalPlan::Join(mut join) = join else { return join };
    let outer = Arc::clone(join.left.schema());
    join.on = join.on.into_iter().map(|(left, right)| (domain_value(left, &outer), right)).collect();
    LogicalPlan::Join(join)
}

/// An outer column as it is in a domain: grouping would make one zero of two. Within arrays they
/// stay.
fn domain_value(column: Expr, outer: &DFSchema) -> Expr {
    match column.get_type(outer) {
        Ok(data_type) if data_type.is_floating() => group_key(column, outer),
        _ => column,
    }
}

/// How many nodes a plan has, those of subqueries in its expressions as well; counted no further
/// than to `most`.
fn nodes(plan: &LogicalPlan, most: usize) -> Result<usize> {
    let mut count = 0;
    plan.apply(|node| {
        count += 1;
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some(subquery) = subquery_of(expr) {
                    count += nodes(&subquery.subquery, most.saturating_sub(count))?;
                }
                Ok(if count < most { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
        })?;
        Ok(if count < most { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(count)
}
