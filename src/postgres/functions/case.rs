//! CASE, with and without an operand.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Case, Expr, Operator};

use super::common_type::is_varchar;
use super::error::{SqlState, fail};
use super::kind::{Kind, unknown_text};
use super::resolution::{Resolver, as_text_of_type};

/// Most branches of a CASE of truth values that DataFusion is left to simplify.
const TRUTH_BRANCHES_MAX: usize = 16;

impl Resolver<'_> {
    /// A CASE whose branches have one type, and whose conditions are boolean.
    ///
    /// # Errors
    /// `DATATYPE_MISMATCH` for others.
    pub(super) fn case(&self, Case { expr, when_then_expr, else_expr }: Case) -> Result<Expr> {
        let mut conditions = Vec::with_capacity(when_then_expr.len());
        let mut results = Vec::with_capacity(when_then_expr.len() + 1);
        // Beside an operand the conditions are compared with it.
        let mut operand = expr.map(|expr| *expr);
        for (when, then) in when_then_expr {
            let when = match operand.take() {
                Some(compared) => {
                    let (compared, when) = self.pair(compared, *when, &|| "=".to_owned())?;
                    operand = Some(compared);
                    when
                }
                None => {
                    let kind = self.kind(&when).filter(|_| unknown_text(&when).is_none());
                    if let Some(kind) = kind.filter(|kind| !matches!(kind, Kind::Bool | Kind::Null | Kind::Other)) {
                        let message = format!("argument of CASE/WHEN must be type boolean, not type {}", kind.name());
                        return fail(SqlState::DATATYPE_MISMATCH, message);
                    }
                    *when
                }
            };
            conditions.push(when);
            results.push(*then);
        }
        // DataFusion would compare by bits and by fields, and panics of uuids.
        let has_own = |compared: &mut Expr| self.has_key(compared) || self.kind(compared) == Some(Kind::Uuid);
        if let Some(compared) = operand.take_if(has_own) {
            let condition = |when| self.compared(compared.clone(), Operator::Eq, when);
            conditions = conditions.into_iter().map(condition).collect();
        }
        let has_else = else_expr.is_some();
        results.extend(else_expr.map(|otherwise| *otherwise));
        // PostgreSQL looks at what stands behind ELSE first.
        let first_else = results.iter().rev().take(usize::from(has_else)).chain(&results);
        let is_varchar = self.zone.is_some() && is_varchar(first_else, self.schema);
        let mut results = self.alike(results, "CASE")?;
        let otherwise = if has_else { results.pop().map(Box::new) } else { None };
        // DataFusion makes ANDs and ORs of truth values, as many as the square of the branches.
        // Where a condition holds, it is a truth value itself.
        let is_truth = |value: &Expr| matches!(value, Expr::Literal(ScalarValue::Boolean(_), _));
        if operand.is_none() && results.len() > TRUTH_BRANCHES_MAX && results.iter().all(is_truth) {
            let truth = conditions.iter().zip(&mut results).find_map(|(condition, result)| match result {
                Expr::Literal(ScalarValue::Boolean(Some(holds)), _) if !condition.is_volatile() => {
                    Some((condition.clone(), *holds, result))
                }
                _ => None,
            });
            if let Some((condition, holds, result)) = truth {
                *result = if holds { condition } else { Expr::Not(Box::new(condition)) };
            }
        }
        let branches =
            conditions.into_iter().zip(results).map(|(when, then)| (Box::new(when), Box::new(then))).collect();
        let case = Expr::Case(Case { expr: operand.map(Box::new), when_then_expr: branches, else_expr: otherwise });
        Ok(if is_varchar { as_text_of_type(case, "varchar") } else { case })
    }
}
