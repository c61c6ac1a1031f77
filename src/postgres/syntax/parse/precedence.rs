//! Operators in the order in which PostgreSQL binds them, where the parser has another.
//!
//! Signs bind tighter than `^`, `AT TIME ZONE` and `COLLATE`: `-2 ^ 2` is 4. The other operators
//! before a value (`~`, `@`, `|/`, `||/`) bind looser than `+`: `|/ 4 + 5` is 3. `IS DISTINCT FROM`
//! ends at AND and OR. What stands in parentheses is [`Expr::Nested`] and stays.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value, VisitMut, VisitorMut};

use crate::syntax::visit_mut;

/// Puts the operators of a parsed statement, or of a part of one, in order. Run again, it changes
/// nothing.
pub(super) fn settle<V: VisitMut>(parsed: &mut V) {
    let _settled = visit_mut(parsed, &mut Precedence);
}

struct Precedence;

impl VisitorMut for Precedence {
    type Break = ();

    /// Operands are in order already.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let concerned = match expr {
            Expr::UnaryOp { op, expr } => match op {
                UnaryOperator::Plus | UnaryOperator::Minus => is_looser_than_sign(expr),
                UnaryOperator::Not => is_binary(expr, is_and_or),
                _ => false,
            },
            Expr::BinaryOp { left, op, right } => {
                is_binary(right, |inner| is_misplaced(op, inner)) || (is_sum(op) && ends_in_prefix_operator(left))
            }
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => is_binary(right, is_and_or),
            _ => false,
        };
        if concerned {
            *expr = settled(std::mem::replace(expr, Expr::value(Value::Null)));
        }
        ControlFlow::Continue(())
    }
}

fn settled(expr: Expr) -> Expr {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            before(*expr, is_and_or, |inner| Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(inner) })
        }
        Expr::UnaryOp { op, expr } => signed(op, *expr),
        Expr::IsDistinctFrom(left, right) => {
            before(*right, is_and_or, |right| Expr::IsDistinctFrom(left, Box::new(right)))
        }
        Expr::IsNotDistinctFrom(left, right) => {
            before(*right, is_and_or, |right| Expr::IsNotDistinctFrom(left, Box::new(right)))
        }
        Expr::BinaryOp { left, op, right } if is_binary(&right, |inner| is_misplaced(&op, inner)) => {
            let outer = op.clone();
            before(*right, |inner| is_misplaced(&outer, inner), |right| binary(*left, op, right))
        }
        Expr::BinaryOp { left, op, right } => added(*left, op, *right),
        other => other,
    }
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// What `make` makes of the first operand, then the operators that were taken for part of it. The
/// row of them may be long.
fn before(operand: Expr, is_part: impl Fn(&BinaryOperator) -> bool, make: impl FnOnce(Expr) -> Expr) -> Expr {
    let mut rest = Vec::new();
    let mut first = operand;
    while let Expr::BinaryOp { left, op, right } = first {
        if !is_part(&op) {
            first = Expr::BinaryOp { left, op, right };
            break;
        }
        rest.push((op, right));
        first = *left;
    }
    rest.into_iter().rev().fold(make(first), |left, (op, right)| Expr::BinaryOp { left: Box::new(left), op, right })
}

fn is_binary(expr: &Expr, is_one: impl Fn(&BinaryOperator) -> bool) -> bool {
    matches!(expr, Expr::BinaryOp { op, .. } if is_one(op))
}

fn is_and_or(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::And | BinaryOperator::Or)
}

/// Whether an operator that is the right operand of `outer` binds no tighter.
fn is_misplaced(outer: &BinaryOperator, op: &BinaryOperator) -> bool {
    use BinaryOperator::{And, Or, PGExp};
    match op {
        Or => true,
        And => *outer != Or,
        PGExp => *outer == PGExp,
        _ => false,
    }
}

fn is_looser_than_sign(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::PGExp, .. } | Expr::AtTimeZone { .. } | Expr::Collate { .. })
}

/// A sign moves to the operand beside it.
fn signed(op: UnaryOperator, operand: Expr) -> Expr {
    match operand {
        Expr::BinaryOp { left, op: BinaryOperator::PGExp, right } => {
            Expr::BinaryOp { left: Box::new(signed(op, *left)), op: BinaryOperator::PGExp, right }
        }
        Expr::AtTimeZone { timestamp, time_zone } => {
            Expr::AtTimeZone { timestamp: Box::new(signed(op, *timestamp)), time_zone }
        }
        Expr::Collate { expr, collation } => Expr::Collate { expr: Box::new(signed(op, *expr)), collation },
        other => Expr::UnaryOp { op, expr: Box::new(other) },
    }
}

fn is_sum(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Plus | BinaryOperator::Minus)
}

fn is_loose_prefix(op: UnaryOperator) -> bool {
    matches!(
        op,
        UnaryOperator::BitwiseNot | UnaryOperator::PGAbs | UnaryOperator::PGSquareRoot | UnaryOperator::PGCubeRoot
    )
}

fn ends_in_prefix_operator(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp { op, expr } => is_loose_prefix(*op) || ends_in_prefix_operator(expr),
        Expr::BinaryOp { right, .. } => ends_in_prefix_operator(right),
        _ => false,
    }
}

/// What is added goes to the operand of the last operator before a value.
fn added(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    match left {
        Expr::UnaryOp { op: prefix, expr } if is_loose_prefix(prefix) || ends_in_prefix_operator(&expr) => {
            Expr::UnaryOp { op: prefix, expr: Box::new(added(*expr, op, right)) }
        }
        Expr::BinaryOp { left, op: first, right: last } if ends_in_prefix_operator(&last) => {
            Expr::BinaryOp { left, op: first, right: Box::new(added(*last, op, right)) }
        }
        other => binary(other, op, right),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// The expression with all its parentheses.
    fn written(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op, right } => format!("({} {op} {})", written(left), written(right)),
            Expr::UnaryOp { op, expr } => format!("({op} {})", written(expr)),
            Expr::Nested(inner) => written(inner),
            Expr::IsDistinctFrom(left, right) => format!("({} <> {})", written(left), written(right)),
            Expr::AtTimeZone { timestamp, time_zone } => format!("({} AT {time_zone})", written(timestamp)),
            other => other.to_string(),
        }
    }

    #[test]
    fn operators_bind_as_in_postgres() {
        for (text, expected) in [
            ("-2 ^ 2", "((- 2) ^ 2)"),
            ("-(2 ^ 2)", "(- (2 ^ 2))"),
            ("- -x ^ 2 ^ 3", "(((- (- x)) ^ 2) ^ 3)"),
            ("2 ^ -2 ^ 2", "((2 ^ (- 2)) ^ 2)"),
            ("2 ^ (-2 ^ 2)", "(2 ^ ((- 2) ^ 2))"),
            ("2 ^ -2 ^ -3 ^ 4", "(((2 ^ (- 2)) ^ (- 3)) ^ 4)"),
            ("2 * -2 ^ 2 + 1", "((2 * ((- 2) ^ 2)) + 1)"),
            ("1 - -2 ^ 2", "(1 - ((- 2) ^ 2))"),
            ("-a AT TIME ZONE 'UTC'", "((- a) AT 'UTC')"),
            ("|/ 4 + 5", "(|/ (4 + 5))"),
            ("(|/ 4) + 5", "((|/ 4) + 5)"),
            ("1 + |/ 4 + 5 - 6", "(1 + (|/ ((4 + 5) - 6)))"),
            ("2 * @ -5 + 3", "(2 * (@ ((- 5) + 3)))"),
            ("~1 + 1 = 2", "((~ (1 + 1)) = 2)"),
            ("~ 2 ^ 2", "(~ (2 ^ 2))"),
            ("a IS DISTINCT FROM b AND c", "((a <> b) AND c)"),
            ("a IS DISTINCT FROM b = c", "(a <> (b = c))"),
            ("p AND a IS DISTINCT FROM b OR c AND d", "((p AND (a <> b)) OR (c AND d))"),
            ("p OR a IS DISTINCT FROM b AND c OR d", "((p OR ((a <> b) AND c)) OR d)"),
            ("p AND a IS DISTINCT FROM b AND c", "((p AND (a <> b)) AND c)"),
            ("NOT a IS DISTINCT FROM b OR c", "((NOT (a <> b)) OR c)"),
            ("p AND NOT a IS DISTINCT FROM b OR c", "((p AND (NOT (a <> b))) OR c)"),
            ("a IS DISTINCT FROM (b AND c)", "(a <> (b AND c))"),
            ("a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e", "(((a <> b) AND (c <> d)) OR e)"),
        ] {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).expect("words");
            let mut expr = parser.parse_expr().expect(text);
            settle(&mut expr);
            assert_eq!(written(&expr), expected, "{text}");
            settle(&mut expr);
            assert_eq!(written(&expr), expected, "{text}, settled twice");
        }
    }
}
