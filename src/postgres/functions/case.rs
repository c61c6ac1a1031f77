//! CASE, with and without an operand.

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Case, Expr, Operator};

use super::common_type::text_type;
use super::error::{SqlState, fail};
use super::keys;
use super::kind::{Kind, unknown_text};
use super::optimization_barrier::OPTIMIZATION_BARRIER;
use super::resolution::Resolver;
use super::scalar::type_of;
use super::typed_texts::as_text_of_type;

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
            let when = match operand.take_if(|operand| !is_truth_of_conditions(operand)) {
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
        if let Some(compared) = operand.take_if(|compared| self.zone.is_some() && self.is_compared_apart(compared)) {
            (operand, conditions) = self.keyed_conditions(compared, conditions)?;
        }
        let has_else = else_expr.is_some();
        results.extend(else_expr.map(|otherwise| *otherwise));
        // PostgreSQL looks at what stands behind ELSE first.
        let first_else = results.iter().rev().take(usize::from(has_else)).chain(&results);
        let text_type = self.zone.and_then(|_| text_type(first_else, self.schema));
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
        Ok(match text_type {
            Some(name) => as_text_of_type(case, name),
            None => case,
        })
    }

    /// Whether truth values are among those of `coalesce` that have CASE or `coalesce` in them. The
    /// optimizer would make ANDs and ORs of them, each with several copies of all those inside.
    pub(super) fn is_nested_truth(&self, args: &[Expr]) -> bool {
        let is_nested = |part: &Expr| match part {
            Expr::Case(_) => true,
            Expr::ScalarFunction(call) => call.func.name() == "coalesce",
            _ => false,
        };
        let [first, ..] = args else { return false };
        self.kind(first) == Some(Kind::Bool)
            && args.iter().any(|arg| arg.exists(|part| Ok(is_nested(part))).unwrap_or(true))
    }

    /// `coalesce` as a CASE that stays one.
    pub(super) fn coalesced_in_turn(&self, mut args: Vec<Expr>) -> Result<Expr> {
        let otherwise = args.pop().map(Box::new);
        let branch = |arg: Expr| Ok((Box::new(self.copy(&arg)?.is_not_null()), Box::new(arg)));
        let when_then_expr = args.into_iter().map(branch).collect::<Result<_>>()?;
        let truth = Expr::Literal(ScalarValue::Boolean(Some(true)), None);
        Ok(Expr::Case(Case { expr: Some(Box::new(truth)), when_then_expr, else_expr: otherwise }))
    }

    /// Whether DataFusion would compare the operand of a CASE by bits or by fields, or, as it does
    /// of uuids, panic.
    fn is_compared_apart(&self, compared: &Expr) -> bool {
        type_of(compared, self.schema).is_ok_and(|data_type| {
            keys::has_key(&data_type) || Kind::of(&data_type) == Kind::Uuid || data_type.is_nested()
        })
    }

    /// The operand and what it is compared with by their keys; where their types differ, a
    /// condition for each.
    fn keyed_conditions(&self, compared: Expr, conditions: Vec<Expr>) -> Result<(Option<Expr>, Vec<Expr>)> {
        let compared_type = type_of(&compared, self.schema)?;
        let same_type = |when: &Expr| type_of(when, self.schema).is_ok_and(|data_type| data_type == compared_type);
        if Kind::of(&compared_type) != Kind::Uuid && conditions.iter().all(same_type) {
            let keys = conditions.into_iter().map(|when| keys::equality_key(when, self.schema)).collect();
            return Ok((Some(keys::equality_key(compared, self.schema)), keys));
        }
        let condition = |when| Ok(self.compared(self.copy(&compared)?, Operator::Eq, when));
        Ok((None, conditions.into_iter().map(condition).collect::<Result<_>>()?))
    }
}

/// Whether an operand is the truth that conditions are compared with.
fn is_truth_of_conditions(operand: &Expr) -> bool {
    let is_true = |arg: &Expr| matches!(arg, Expr::Literal(ScalarValue::Boolean(Some(true)), _));
    matches!(operand, Expr::ScalarFunction(call)
        if call.func.name() == OPTIMIZATION_BARRIER && call.args.iter().all(is_true))
}
