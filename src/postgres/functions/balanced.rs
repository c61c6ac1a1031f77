//! Long chains of AND and OR as balanced trees: each walk over a condition takes as much stack as
//! it is deep, and each rule that looks up a type or makes a name at every node as much time.

use std::ops::ControlFlow;

use datafusion::logical_expr;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Statement, Value, VisitorMut};

use crate::syntax::visit_mut;

/// Shorter chains stay as they are written.
const MEMBERS_MIN: usize = 16;

/// Members are evaluated from left to right, as before.
pub(super) fn balance(statement: &mut Statement) {
    let visited = visit_mut(statement, &mut Chains);
    debug_assert!(visited.is_continue());
}

/// Sees a chain before the parts of it.
struct Chains;

impl VisitorMut for Chains {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr {
            let op = op.clone();
            if members(expr, &op) >= MEMBERS_MIN {
                *expr = balanced(std::mem::replace(expr, Expr::value(Value::Null)), op);
            }
        }
        ControlFlow::Continue(())
    }
}

/// How many members the chain has. Those on the right of an operator are one, as they are parsed.
fn members(mut chain: &Expr, wanted: &BinaryOperator) -> usize {
    let mut members = 1;
    while let Expr::BinaryOp { left, op, .. } = chain
        && op == wanted
    {
        chain = left;
        members += 1;
    }
    members
}

fn balanced(mut chain: Expr, wanted: BinaryOperator) -> Expr {
    let mut members = Vec::new();
    loop {
        match chain {
            Expr::BinaryOp { left, op, right } if op == wanted => {
                members.push(*right);
                chain = *left;
            }
            first => {
                members.push(first);
                break;
            }
        }
    }
    members.reverse();
    joined(members, wanted)
}

/// Operands under an operator that may group them in any way: as a balanced tree, since each walk
/// over it and each type that is looked up costs as much as it is deep.
pub(super) fn joined(operands: Vec<Expr>, op: BinaryOperator) -> Expr {
    let both = |left, right| nested(left, op.clone(), right);
    balanced_tree(operands, both).unwrap_or(Expr::value(Value::Null))
}

/// The same for conditions that are planned already: whether all of them hold.
pub fn all_of(conditions: Vec<logical_expr::Expr>) -> Option<logical_expr::Expr> {
    balanced_tree(conditions, logical_expr::Expr::and)
}

/// Whether any of them holds.
pub(super) fn any_of(conditions: Vec<logical_expr::Expr>) -> Option<logical_expr::Expr> {
    balanced_tree(conditions, logical_expr::Expr::or)
}

fn balanced_tree<E>(mut operands: Vec<E>, both: impl Fn(E, E) -> E) -> Option<E> {
    while operands.len() > 1 {
        let mut pairs = operands.into_iter();
        let mut halved = Vec::with_capacity(pairs.len().div_ceil(2));
        while let Some(left) = pairs.next() {
            halved.push(match pairs.next() {
                Some(right) => both(left, right),
                None => left,
            });
        }
        operands = halved;
    }
    operands.pop()
}

/// A binary operation in parentheses.
pub(super) fn nested(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let operand = |expr: Expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_) | Expr::Function(_) => {
            expr
        }
        expr => Expr::Nested(Box::new(expr)),
    };
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(operand(left)), op, right: Box::new(operand(right)) }))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            Expr::Nested(inner) => depth(inner),
            _ => 0,
        }
    }

    fn condition(members: usize, between: &str) -> Expr {
        let members: Vec<String> = (0..members).map(|at| format!("n <> {at}")).collect();
        let text = format!("select {}", members.join(between));
        let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &text).expect("a statement");
        let statement = &mut statements[0];
        balance(statement);
        let mut first = None;
        let _walked = crate::syntax::visit_expressions(statement, |expr| {
            first = Some(expr.clone());
            ControlFlow::Break(())
        });
        first.expect("an expression")
    }

    #[test]
    fn a_chain_is_as_deep_as_the_logarithm_of_its_length() {
        for between in [" and ", " or "] {
            assert_eq!(depth(&condition(15, between)), 15);
            assert_eq!(depth(&condition(16, between)), 5);
            assert_eq!(depth(&condition(1000, between)), 11);
        }
    }

    #[test]
    fn members_stay_in_order() {
        let text = condition(100, " or ").to_string();
        let written: Vec<usize> =
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        assert_eq!(written, (0..100).collect::<Vec<_>>());
    }
}
