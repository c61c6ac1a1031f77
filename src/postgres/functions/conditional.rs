//! AND and OR that evaluate what may fail only where it decides.
//!
//! PostgreSQL evaluates `n = 0 OR 1 / n > 0` from left to right and stops at what decides. An
//! operator of DataFusion evaluates both sides for all rows of a batch, unless the first decides
//! nearly all of them. CASE evaluates its branches only for their rows, but DataFusion's simplifier
//! makes AND and OR of a CASE of booleans. So, when the optimizer is done, operators with an
//! operand behind the first that may fail become CASE (again).

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, LogicalPlan, Operator, lit};

use super::balanced::any_of;

/// Deepest nesting of such operators, of which each level repeats those inside: deeper ones stay.
const DEPTH_MAX: usize = 5;

/// Functions that never fail, whatever their arguments are.
const NEVER_FAILING: [&str; 12] = [
    "lower",
    "upper",
    "length",
    "char_length",
    "character_length",
    "octet_length",
    "starts_with",
    "strpos",
    "btrim",
    "ltrim",
    "rtrim",
    "coalesce",
];

/// An optimized plan whose AND and OR protect what may fail.
///
/// # Errors
/// What DataFusion finds wrong with the plan.
pub fn conditional(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_down_with_subqueries(|node| match node {
        // Its filters decide the keys that are read; who scans it asks [`conditional_filter`].
        LogicalPlan::TableScan(_) => Ok(Transformed::no(node)),
        node => {
            let is_filter = matches!(node, LogicalPlan::Filter(_));
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                if !may_change(&expr)? {
                    return Ok(Transformed::no(expr));
                }
                let name = names.save(&expr);
                let expr = if is_filter { conditional_filter(expr)? } else { rewritten(expr, Unknown::Matters, 0)? };
                Ok(Transformed::yes(name.restore(expr)))
            })
        }
    })
    .data()
}

/// The same for a condition of which only matters whether it is true.
///
/// # Errors
/// What DataFusion finds wrong with the expression.
pub fn conditional_filter(filter: Expr) -> Result<Expr> {
    if may_change(&filter)? { rewritten(filter, Unknown::IsFalse, 0) } else { Ok(filter) }
}

/// Whether there is an operator that is to protect something.
fn may_change(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| {
        let Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, right, .. }) = expr else {
            return Ok(false);
        };
        Ok(may_fail(right))
    })
}

/// Whether NULL has to stay apart from false.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    Matters,
    IsFalse,
}

fn rewritten(expr: Expr, unknown: Unknown, depth: usize) -> Result<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) if depth < DEPTH_MAX => {
            let members = members(*left, *right, op).into_iter();
            let members = members.map(|member| Ok((may_fail(&member), rewritten(member, unknown, depth + 1)?)));
            let mut groups = groups(members.collect::<Result<_>>()?, op);
            Ok(match groups.pop() {
                // One group has nothing to protect.
                Some(only) if groups.is_empty() => only,
                last => {
                    groups.extend(last);
                    case(groups, op, unknown)
                }
            })
        }
        // The operand of conditions among which are others is a truth.
        Expr::Case(Case { expr: operand, when_then_expr, else_expr })
            if operand.as_deref().is_none_or(|operand| *operand == lit(true)) =>
        {
            let branch = |expr: Box<Expr>| rewritten(*expr, unknown, depth).map(Box::new);
            let when_then_expr = when_then_expr
                .into_iter()
                .map(|(when, then)| Ok((Box::new(rewritten(*when, Unknown::IsFalse, depth)?), branch(then)?)));
            let when_then_expr = when_then_expr.collect::<Result<_>>()?;
            Ok(Expr::Case(Case { expr: operand, when_then_expr, else_expr: else_expr.map(branch).transpose()? }))
        }
        Expr::Alias(alias) => {
            let inner = Box::new(rewritten(*alias.expr, unknown, depth)?);
            Ok(Expr::Alias(datafusion::logical_expr::expr::Alias { expr: inner, ..alias }))
        }
        expr => expr.map_children(|inner| rewritten(inner, Unknown::Matters, depth).map(Transformed::yes)).data(),
    }
}

/// The operands of a chain of one operator, in their order.
fn members(left: Expr, right: Expr, wanted: Operator) -> Vec<Expr> {
    let (mut members, mut open) = (Vec::new(), vec![right, left]);
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op == wanted => open.extend([*right, *left]),
            member => members.push(member),
        }
    }
    members
}

/// Operands, and whether they may fail: those are joined before which nothing has to be protected.
fn groups(members: Vec<(bool, Expr)>, op: Operator) -> Vec<Expr> {
    let mut groups: Vec<Expr> = Vec::new();
    for (fails, member) in members {
        match groups.pop() {
            None => groups.push(member),
            Some(before) if fails => groups.extend([before, member]),
            Some(before) => {
                groups.push(Expr::BinaryExpr(BinaryExpr::new(Box::new(before), op, Box::new(member))));
            }
        }
    }
    groups
}

/// What a chain of operators comes to, each operand evaluated where none before it decides.
fn case(mut members: Vec<Expr>, op: Operator, unknown: Unknown) -> Expr {
    let is_or = op == Operator::Or;
    let decides = |member: Expr| match (is_or, unknown) {
        (true, _) => member,
        (false, Unknown::IsFalse) => Expr::IsNotTrue(Box::new(member)),
        (false, Unknown::Matters) => Expr::IsFalse(Box::new(member)),
    };
    let otherwise = match unknown {
        Unknown::IsFalse => members.pop().unwrap_or_else(|| lit(!is_or)),
        Unknown::Matters => lit(!is_or),
    };
    // Where none decides, all were evaluated, and whether one is NULL may be asked again.
    let is_unknown = match unknown {
        Unknown::IsFalse => None,
        Unknown::Matters => any_of(members.iter().map(|member| member.clone().is_null()).collect()),
    };
    // As the condition of an operand, a CASE is not asked, for each CASE that it is in, whether it
    // may be NULL.
    let is_case = |member: &Expr| member.exists(|part| Ok(matches!(part, Expr::Case(_)))).unwrap_or(true);
    let operand = members.iter().any(is_case).then(|| Box::new(lit(true)));
    let when = |when: Expr, then: Expr| (Box::new(when), Box::new(then));
    let decided = members.into_iter().map(|member| when(decides(member), lit(is_or)));
    let null = Expr::Literal(ScalarValue::Boolean(None), None);
    let when_then_expr = decided.chain(is_unknown.map(|is_unknown| when(is_unknown, null))).collect();
    Expr::Case(Case { expr: operand, when_then_expr, else_expr: Some(Box::new(otherwise)) })
}

/// Whether an expression may be an error for some rows. What is not known may.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) | Expr::OuterReferenceColumn(..) | Expr::ScalarSubquery(_) => false,
        Expr::Alias(alias) => may_fail(&alias.expr),
        Expr::Not(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsUnknown(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNotUnknown(inner) => may_fail(inner),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => !never_fails(*op) || may_fail(left) || may_fail(right),
        Expr::Between(between) => may_fail(&between.expr) || may_fail(&between.low) || may_fail(&between.high),
        Expr::InList(InList { expr, list, .. }) => may_fail(expr) || list.iter().any(may_fail),
        // A pattern may end with its escape character.
        Expr::Like(like) => may_fail(&like.expr) || !matches!(like.pattern.as_ref(), Expr::Literal(..)),
        Expr::Cast(Cast { expr, field }) => may_fail(expr) || !field.data_type().is_string(),
        Expr::ScalarFunction(call) => !NEVER_FAILING.contains(&call.func.name()) || call.args.iter().any(may_fail),
        Expr::Case(case) => {
            let branches = case.when_then_expr.iter().flat_map(|(when, then)| [when, then]);
            case.expr.iter().chain(branches).chain(&case.else_expr).any(|expr| may_fail(expr))
        }
        _ => true,
    }
}

fn never_fails(op: Operator) -> bool {
    use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | And | Or | IsDistinctFrom | IsNotDistinctFrom)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, not};

    use super::*;

    fn failing() -> Expr {
        (lit(1) / col("n")).gt(lit(0))
    }

    fn filter(expr: Expr) -> String {
        conditional_filter(expr).expect("an expression").to_string()
    }

    #[test]
    fn what_cannot_fail_stays() {
        for expr in [
            col("a").eq(lit(1)).or(col("b").eq(lit(2))),
            // On the left it is evaluated anyway.
            failing().and(col("b").eq(lit(2))),
            not(col("a").is_null().and(col("b").lt(lit(2)))),
        ] {
            assert_eq!(filter(expr.clone()), expr.to_string());
        }
    }

    #[test]
    fn operands_that_may_fail_are_evaluated_where_they_decide() {
        let is_zero = || col("n").eq(lit(0));
        let set = || col("n").is_not_null();
        let failing_text = "Int32(1) / n > Int32(0)";
        assert_eq!(
            filter(is_zero().or(failing())),
            format!("CASE WHEN n = Int32(0) THEN Boolean(true) ELSE {failing_text} END")
        );
        assert_eq!(
            filter(set().and(not(is_zero())).and(failing())),
            format!(
                "CASE WHEN n IS NOT NULL AND NOT n = Int32(0) IS NOT TRUE THEN Boolean(false) ELSE {failing_text} END"
            )
        );
        let value = rewritten(is_zero().or(failing()), Unknown::Matters, 0).expect("an expression").to_string();
        assert_eq!(
            value,
            format!(
                "CASE WHEN n = Int32(0) THEN Boolean(true) WHEN {failing_text} THEN Boolean(true) \
                 WHEN n = Int32(0) IS NULL OR {failing_text} IS NULL THEN Boolean(NULL) ELSE Boolean(false) END"
            )
        );
    }
}
