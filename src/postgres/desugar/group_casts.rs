//! Terms of GROUP BY that differ in casts only: `GROUP BY at, at::date`.
//!
//! DataFusion names a term without its casts, and refuses two of one name. So such a term with a
//! cast goes through `coalesce` of itself alone, wherever its SELECT has it, once or more often:
//! that is part of the name and changes nothing.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Value, ValueWithSpan, VisitMut,
    VisitorMut,
};

use super::ast::{in_coalesce, last_word};
use super::cast_arguments::take_casts_off;
use crate::syntax::visit_mut;

/// Makes the names of such terms unique, in each branch of a set operation.
pub(super) fn make_names_unique(query: &mut Query) {
    let order_by = query.order_by.as_mut().map(|order| &mut order.kind);
    match query.body.as_mut() {
        SetExpr::Select(select) => make_unique_in(select, order_by),
        body => {
            let mut branches = vec![body];
            while let Some(branch) = branches.pop() {
                match branch {
                    SetExpr::Select(select) => make_unique_in(select, None),
                    SetExpr::SetOperation { left, right, .. } => branches.extend([left.as_mut(), right.as_mut()]),
                    _ => {}
                }
            }
        }
    }
}

fn make_unique_in(select: &mut Select, order_by: Option<&mut OrderByKind>) {
    let repeated = repeated(select);
    if repeated.is_empty() {
        return;
    }
    let mut wrapping = Wrapping { repeated, depth: 0, open: Vec::new() };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && let Some(label) = label(expr).filter(|_| wrapping.times(expr).is_some())
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: label };
        }
        wrapping.wrap(item);
    }
    wrapping.wrap(&mut select.group_by);
    if let Some(having) = &mut select.having {
        wrapping.wrap(having);
    }
    if let Some(OrderByKind::Expressions(terms)) = order_by {
        terms.iter_mut().for_each(|term| wrapping.wrap(&mut term.expr));
    }
}

/// The terms with casts whose names others have as well, and how often each is to be wrapped.
fn repeated(select: &Select) -> Vec<(Expr, usize)> {
    let GroupByExpr::Expressions(terms, _) = &select.group_by else { return Vec::new() };
    let mut flat = Vec::new();
    for term in terms {
        match term {
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => flat.extend(sets.iter().flatten()),
            term => flat.push(term),
        }
    }
    if flat.len() < 2 {
        return Vec::new();
    }
    // Each with its name, and whether there is a cast in it.
    let mut named: Vec<(String, bool, Expr)> = Vec::new();
    for term in flat {
        let term = without_parentheses(meant(term, &select.projection)).clone();
        let mut plain = term.clone();
        let has_cast = take_casts_off(&mut plain);
        if !named.iter().any(|(_, _, other)| *other == term) {
            named.push((plain.to_string(), has_cast, term));
        }
    }
    let place = |at: usize| named[..at].iter().filter(|(name, ..)| *name == named[at].0).count();
    let is_repeated = |name: &str| named.iter().filter(|(other, ..)| other == name).count() > 1;
    let repeated = named.iter().enumerate().filter(|(_, (name, has_cast, _))| *has_cast && is_repeated(name));
    repeated.map(|(at, (.., term))| (term.clone(), place(at) + 1)).collect()
}

/// What a term stands for: an expression of the select list, by its place or its alias, or itself.
fn meant<'e>(term: &'e Expr, projection: &'e [SelectItem]) -> &'e Expr {
    let expr_of = |item: &'e SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    let found = match term {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            let place = digits.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
            place.and_then(|place| projection.get(place)).and_then(expr_of)
        }
        _ => None,
    };
    found.unwrap_or(term)
}

fn without_parentheses(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// What PostgreSQL calls a column of this expression, if that is the name of something.
fn label(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => label(inner),
        Expr::Identifier(name) => Some(name.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().cloned(),
        Expr::Function(function) => Some(Ident::new(last_word(&function.name))),
        _ => None,
    }
}

struct Wrapping {
    repeated: Vec<(Expr, usize)>,
    /// Of subqueries, which have terms of their own.
    depth: usize,
    /// How often each term that is open is to be wrapped: one in another stays as it is.
    open: Vec<usize>,
}

impl Wrapping {
    fn times(&self, expr: &Expr) -> Option<usize> {
        let expr = without_parentheses(expr);
        self.repeated.iter().find(|(term, _)| term == expr).map(|(_, times)| *times)
    }

    fn wrap(&mut self, node: &mut impl VisitMut) {
        let walked = visit_mut(node, self);
        debug_assert!(walked.is_continue());
    }
}

impl VisitorMut for Wrapping {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 && !matches!(expr, Expr::Nested(_)) {
            let is_inside = self.open.iter().any(|times| *times > 0);
            self.open.push(if is_inside { 0 } else { self.times(expr).unwrap_or(0) });
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && !matches!(expr, Expr::Nested(_))
            && let Some(times) = self.open.pop()
        {
            in_coalesce(expr, times);
        }
        ControlFlow::Continue(())
    }
}
