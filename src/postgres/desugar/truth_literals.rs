//! Literals in quotes where a truth value is wanted: `WHERE 't'`, `x OR 'false'`. DataFusion asks
//! for their types before literals have any.

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, JoinConstraint, JoinOperator, Select, UnaryOperator, Value, ValueWithSpan,
};

use super::ast::null;
use crate::syntax::plain_cast;

/// The conditions of a query.
pub(super) fn in_conditions(select: &mut Select) {
    let joins = select.from.iter_mut().flat_map(|from| from.joins.iter_mut());
    let joined = joins.filter_map(|join| match constraint(&mut join.join_operator)? {
        JoinConstraint::On(condition) => Some(condition),
        _ => None,
    });
    let clauses = [&mut select.selection, &mut select.having].into_iter().flatten();
    joined.chain(clauses).for_each(truth_value);
}

/// The operand of NOT, and those of AND and OR.
pub(super) fn in_operands(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, right, .. } => [left, right].into_iter().for_each(|operand| truth_value(operand)),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => truth_value(expr),
        _ => {}
    }
}

fn truth_value(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => truth_value(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }) => {
            *expr = plain_cast(std::mem::replace(expr, null()), DataType::Boolean);
        }
        _ => {}
    }
}

fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}
