//! The order of the rows that a set-returning function in a select list makes of one row.
//!
//! PostgreSQL computes sets after the sort, so the rows of a set stay in sequence. Here they are
//! unnested before it, and sorts are not stable: the last keys are the number of the row, which
//! keeps its set apart from those of its peers, and the ordinals within the sets.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Unnest, WindowFunctionDefinition};

use super::Propagation;
use super::rows::{Term, with_columns};
use crate::functions::system::array_ordinals;

impl Propagation {
    /// The input of a sort, with the ordinals of the sets in its select list behind its columns.
    pub(super) fn with_ordinals(&mut self, plan: LogicalPlan) -> Result<(LogicalPlan, Vec<Term>)> {
        if !is_of_sets(&plan) {
            return Ok((plan, Vec::new()));
        }
        match plan {
            LogicalPlan::Projection(Projection { mut expr, input, .. }) => {
                let (input, ordinals) = self.with_ordinals(Arc::unwrap_or_clone(input))?;
                expr.extend(ordinals.iter().map(|term| Expr::Column(term.column.clone())));
                Ok((LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input))?), ordinals))
            }
            LogicalPlan::Unnest(unnest) => {
                let (input, ordinals) = self.with_ordinals(unnest.input.as_ref().clone())?;
                let (plan, own) = self.unnested(input, unnest, ordinals.is_empty())?;
                Ok((plan, ordinals.into_iter().chain(own).collect()))
            }
            plan => Ok((plan, Vec::new())),
        }
    }

    /// Unnests what has the columns of the node's input and perhaps more behind them, the ordinals
    /// beside the lists, and the numbers of its rows before them where these have none yet.
    pub(super) fn unnested(
        &mut self,
        mut input: LogicalPlan,
        unnest: Unnest,
        numbers_rows: bool,
    ) -> Result<(LogicalPlan, Vec<Term>)> {
        let Unnest { exec_columns: mut columns, options, list_type_columns, .. } = unnest;
        let schema = input.schema();
        let lists: Vec<Expr> =
            list_type_columns.iter().map(|(place, _)| Expr::Column(schema.qualified_field(*place).into())).collect();
        let mut order = Vec::new();
        // Of lists in lists the ordinals would be those of the outer ones.
        if !lists.is_empty() && list_type_columns.iter().all(|(_, list)| list.depth == 1) {
            if numbers_rows {
                let row_number = WindowFunctionDefinition::WindowUDF(row_number_udwf());
                let (number, term) = self.term(WindowFunction::new(row_number, Vec::new()).into());
                input = LogicalPlanBuilder::from(input).window([number])?.build()?;
                order.push(term);
            }
            let (ordinals, term) = self.term(array_ordinals().call(lists));
            input = with_columns(input, vec![ordinals])?;
            columns.push(term.column.clone());
            order.push(term);
        }
        let plan = LogicalPlanBuilder::from(input).unnest_columns_with_options(columns, options)?.build()?;
        Ok((plan, order))
    }

    /// An expression under a name of its own, and the key that its column is.
    fn term(&mut self, expr: Expr) -> (Expr, Term) {
        let name = self.name();
        let column = Column::new_unqualified(name.clone());
        (expr.alias(name), Term { column, asc: true, nulls_first: false })
    }
}

/// Whether a plan is a select list with sets in it.
fn is_of_sets(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_of_sets(&projection.input),
        plan => matches!(plan, LogicalPlan::Unnest(_)),
    }
}
