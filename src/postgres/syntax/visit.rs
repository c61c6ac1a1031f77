//! Walks over syntax trees.
//!
//! The parser makes a walk for each type of visitor: a copy of the code that goes through all of
//! SQL, more than a megabyte each. Here all visitors share two, and are called through `dyn`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut,
};

/// Lets a visitor see a statement, or a part of one.
pub(crate) fn visit(node: &impl Visit, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
    node.visit(&mut Shared(visitor))
}

/// Lets a visitor change a statement, or a part of one.
pub(crate) fn visit_mut(node: &mut impl VisitMut, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()> {
    node.visit(&mut SharedMut(visitor))
}

/// Calls `each` with every expression, the outer ones first, until it breaks.
pub fn visit_expressions<B>(node: &impl Visit, mut each: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut broken = None;
    // Continuing is all that is left where nothing broke.
    let _walked = visit(node, &mut Expressions(&mut |expr| kept(each(expr), &mut broken)));
    broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Calls `each` with every expression, the inner ones first, until it breaks.
pub fn visit_expressions_mut<B>(
    node: &mut impl VisitMut,
    mut each: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut broken = None;
    let _walked = visit_mut(node, &mut ExpressionsMut(&mut |expr| kept(each(expr), &mut broken)));
    broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Calls `each` with every expression that stands in no subquery of the node, the inner ones first.
pub(crate) fn visit_own_expressions_mut(node: &mut impl VisitMut, mut each: impl FnMut(&mut Expr)) {
    let _walked = visit_mut(node, &mut OwnExpressionsMut { each: &mut each, depth: 0 });
}

/// Calls `each` with the name of every relation that is read or written.
pub fn visit_relations_mut(node: &mut impl VisitMut, mut each: impl FnMut(&mut ObjectName)) {
    let _walked = visit_mut(node, &mut RelationsMut(&mut each));
}

/// Calls `each` with every item of FROM, the inner ones first, until one is wrong. What it puts in
/// the place of an item is not walked.
pub fn visit_table_factors_mut<E>(
    node: &mut impl VisitMut,
    mut each: impl FnMut(&mut TableFactor) -> Result<(), E>,
) -> Result<(), E> {
    let mut wrong = None;
    // Continuing is all that is left where nothing was wrong.
    let _walked = visit_mut(node, &mut TableFactorsMut(&mut |factor| right(each(factor), &mut wrong)));
    wrong.map_or(Ok(()), Err)
}

/// Calls `each` with every SELECT, the inner ones first, until one is wrong.
pub fn visit_selects_mut<E>(
    node: &mut impl VisitMut,
    mut each: impl FnMut(&mut Select) -> Result<(), E>,
) -> Result<(), E> {
    let mut wrong = None;
    // Continuing is all that is left where nothing was wrong.
    let _walked = visit_mut(node, &mut SelectsMut(&mut |select| right(each(select), &mut wrong)));
    wrong.map_or(Ok(()), Err)
}

fn right<E>(result: Result<(), E>, wrong: &mut Option<E>) -> ControlFlow<()> {
    kept(result.map_or_else(ControlFlow::Break, ControlFlow::Continue), wrong)
}

fn kept<B>(flow: ControlFlow<B>, broken: &mut Option<B>) -> ControlFlow<()> {
    flow.map_break(|value| *broken = Some(value))
}

struct Expressions<'a>(&'a mut dyn FnMut(&Expr) -> ControlFlow<()>);

impl Visitor for Expressions<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0(expr)
    }
}

struct OwnExpressionsMut<'e> {
    each: &'e mut dyn FnMut(&mut Expr),
    /// How many subqueries stand around.
    depth: usize,
}

impl VisitorMut for OwnExpressionsMut<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            (self.each)(expr);
        }
        ControlFlow::Continue(())
    }
}

struct ExpressionsMut<'a>(&'a mut dyn FnMut(&mut Expr) -> ControlFlow<()>);

impl VisitorMut for ExpressionsMut<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.0(expr)
    }
}

struct RelationsMut<'a>(&'a mut dyn FnMut(&mut ObjectName));

impl VisitorMut for RelationsMut<'_> {
    type Break = ();

    fn post_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        self.0(relation);
        ControlFlow::Continue(())
    }
}

struct SelectsMut<'a>(&'a mut dyn FnMut(&mut Select) -> ControlFlow<()>);

impl VisitorMut for SelectsMut<'_> {
    type Break = ();

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.0(select)
    }
}

struct TableFactorsMut<'a>(&'a mut dyn FnMut(&mut TableFactor) -> ControlFlow<()>);

impl VisitorMut for TableFactorsMut<'_> {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        self.0(factor)
    }
}

struct Shared<'a>(&'a mut dyn Visitor<Break = ()>);

struct SharedMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

/// Each step of a walk, passed on.
macro_rules! pass_on {
    ($($step:ident($node:ty)),* $(,)?) => {$(
        fn $step(&mut self, node: $node) -> ControlFlow<()> {
            self.0.$step(node)
        }
    )*};
}

impl Visitor for Shared<'_> {
    type Break = ();

    pass_on! {
        pre_visit_query(&Query), post_visit_query(&Query),
        pre_visit_select(&Select), post_visit_select(&Select),
        pre_visit_relation(&ObjectName), post_visit_relation(&ObjectName),
        pre_visit_table_factor(&TableFactor), post_visit_table_factor(&TableFactor),
        pre_visit_expr(&Expr), post_visit_expr(&Expr),
        pre_visit_statement(&Statement), post_visit_statement(&Statement),
        pre_visit_value(&ValueWithSpan), post_visit_value(&ValueWithSpan),
    }
}

impl VisitorMut for SharedMut<'_> {
    type Break = ();

    pass_on! {
        pre_visit_query(&mut Query), post_visit_query(&mut Query),
        pre_visit_select(&mut Select), post_visit_select(&mut Select),
        pre_visit_relation(&mut ObjectName), post_visit_relation(&mut ObjectName),
        pre_visit_table_factor(&mut TableFactor), post_visit_table_factor(&mut TableFactor),
        pre_visit_expr(&mut Expr), post_visit_expr(&mut Expr),
        pre_visit_statement(&mut Statement), post_visit_statement(&mut Statement),
        pre_visit_value(&mut ValueWithSpan), post_visit_value(&mut ValueWithSpan),
    }
}
