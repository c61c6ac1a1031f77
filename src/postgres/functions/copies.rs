//! How much larger a plan may be than its statement: operands that a rewriting writes more than
//! once, and constants that are computed while it is planned. Nested in one another copies multiply
//! at each level, so that a short text would become a long plan: together they are bounded.

use std::cell::Cell;
use std::ops::ControlFlow;

use datafusion::common::Result as PlanResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion, TreeNodeVisitor};
use datafusion::logical_expr;
use datafusion::sql::sqlparser::ast::{Expr, Value, Visitor};

use crate::error::external;
use crate::syntax::visit;
use rowkey_base::{Error, Result, SqlState};

/// Most operators and calls of one copy, each weighted by its depth: the type of an expression is
/// found by visiting all of its descendants.
const OPERATIONS_MAX: usize = 5_000;
/// Most of those in all copies of a statement.
const STATEMENT_OPERATIONS_MAX: usize = 200_000;
/// Most bytes of the constants of a statement that functions enlarge.
const CONSTANTS_BYTES_MAX: usize = 8 << 20;

/// What a statement may still copy, and hold of enlarged constants.
#[derive(Debug)]
pub(super) struct Copies {
    operations_left: Cell<Option<usize>>,
    constants_bytes_left: Cell<usize>,
    /// How many more operations there are in an expression than are seen.
    hidden: fn(&logical_expr::Expr) -> usize,
}

impl Default for Copies {
    fn default() -> Self {
        Self::with_hidden(|_| 0)
    }
}

impl Copies {
    pub(super) fn with_hidden(hidden: fn(&logical_expr::Expr) -> usize) -> Self {
        let constants_bytes_left = Cell::new(CONSTANTS_BYTES_MAX);
        Self { operations_left: Cell::new(Some(STATEMENT_OPERATIONS_MAX)), constants_bytes_left, hidden }
    }

    /// A copy of an operand as it is written; NULL where there are too many, which [`Self::check`]
    /// tells.
    pub(super) fn written(&self, operand: &Expr) -> Expr {
        match visit(operand, &mut Counted::of(self)) {
            ControlFlow::Continue(()) => operand.clone(),
            ControlFlow::Break(()) => Expr::value(Value::Null),
        }
    }

    /// Counts the copy of an operand that is planned.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub(super) fn count(&self, copy: &logical_expr::Expr) -> PlanResult<()> {
        copy.visit(&mut Counted::of(self))?;
        self.check().map_err(external)
    }

    /// Whether the plan may hold one more constant of so many bytes, which is counted.
    pub(super) fn holds(&self, bytes: usize) -> bool {
        let left = self.constants_bytes_left.get().checked_sub(bytes);
        left.inspect(|left| self.constants_bytes_left.set(*left)).is_some()
    }

    /// # Errors
    /// `STATEMENT_TOO_COMPLEX` if something was not copied.
    pub(super) fn check(&self) -> Result<()> {
        if self.operations_left.get().is_some() {
            return Ok(());
        }
        let message = "operands that are compared several times are too large, or nested in one another too deep";
        let hint = "this is so for rows, IN, BETWEEN, CASE and nullif: compute the inner ones in a subquery in FROM";
        Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).with_hint(hint))
    }
}

/// Counts the operations of one copy.
struct Counted<'a> {
    copies: &'a Copies,
    operations: usize,
    depth: usize,
}

impl<'a> Counted<'a> {
    fn of(copies: &'a Copies) -> Self {
        Self { copies, operations: 0, depth: 0 }
    }

    /// Whether one more, and those hidden in it, are too much.
    fn is_too_much(&mut self, hidden: usize) -> bool {
        self.depth += 1;
        let operations = self.depth.saturating_add(hidden);
        self.operations = self.operations.saturating_add(operations);
        let left = self.copies.operations_left.get().and_then(|left| left.checked_sub(operations));
        let left = left.filter(|_| self.operations <= OPERATIONS_MAX);
        self.copies.operations_left.set(left);
        left.is_none()
    }
}

fn is_value(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
}

impl Visitor for Counted<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if !is_value(expr) && self.is_too_much(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.depth -= usize::from(!is_value(expr));
        ControlFlow::Continue(())
    }
}

/// Whether a copy costs nothing.
pub(super) fn is_leaf(expr: &logical_expr::Expr) -> bool {
    use logical_expr::Expr::{Column, Literal, OuterReferenceColumn, Placeholder};
    matches!(expr, Column(_) | Literal(..) | OuterReferenceColumn(..) | Placeholder(_))
}

impl TreeNodeVisitor<'_> for Counted<'_> {
    type Node = logical_expr::Expr;

    fn f_down(&mut self, expr: &logical_expr::Expr) -> PlanResult<TreeNodeRecursion> {
        let stops = !is_leaf(expr) && self.is_too_much((self.copies.hidden)(expr));
        Ok(if stops { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }

    fn f_up(&mut self, expr: &logical_expr::Expr) -> PlanResult<TreeNodeRecursion> {
        self.depth -= usize::from(!is_leaf(expr));
        Ok(TreeNodeRecursion::Continue)
    }
}
