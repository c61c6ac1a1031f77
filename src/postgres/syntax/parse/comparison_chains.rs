//! Comparisons of comparisons: `a = b = c` is a syntax error in PostgreSQL, whose comparisons have
//! no side that binds first. The parser takes them from left to right.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Spanned, Visit, Visitor};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::syntax::{Source, is_comparison, visit};
use rowkey_base::{Error, Result, SqlState};

/// Refuses a comparison whose left side is one without parentheses.
///
/// # Errors
/// PostgreSQL's syntax error at the first such operator of the text.
pub(super) fn refuse(parsed: &impl Visit, tokens: &[TokenWithSpan], source: &Source) -> Result<()> {
    let mut chains = Chains::default();
    let visited = visit(parsed, &mut chains);
    debug_assert!(visited.is_continue());
    if chains.left_sides.is_empty() {
        return Ok(());
    }
    let operators = chains.left_sides.iter().filter_map(|(end, operator)| operator_behind(*end, operator, tokens));
    match operators.min_by_key(|token| token.span.start) {
        Some(first) => Err(source.syntax_at(Some(first))),
        // Of some expressions the parser does not know where they end.
        None => Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error: a comparison of a comparison")
            .with_hint("put one of them into parentheses")),
    }
}

/// Where comparisons end that are compared, and with which operator.
#[derive(Default)]
struct Chains {
    left_sides: Vec<(Location, BinaryOperator)>,
}

impl Visitor for Chains {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { left, op, .. } = expr
            && is_comparison(op)
            && let Expr::BinaryOp { right, op: below, .. } = left.as_ref()
            && is_comparison(below)
        {
            self.left_sides.push((right.span().end, op.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// The first such operator behind a place, outside of the brackets that open there.
fn operator_behind<'t>(
    place: Location,
    operator: &BinaryOperator,
    tokens: &'t [TokenWithSpan],
) -> Option<&'t TokenWithSpan> {
    if place.line == 0 {
        return None;
    }
    let mut open = 0_usize;
    tokens.iter().skip_while(|token| token.span.start < place).find(|token| {
        match token.token {
            Token::LParen | Token::LBracket => open += 1,
            Token::RParen | Token::RBracket => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && is_token_of(&token.token, operator)
    })
}

fn is_token_of(token: &Token, operator: &BinaryOperator) -> bool {
    matches!(
        (token, operator),
        (Token::Eq, BinaryOperator::Eq)
            | (Token::Neq, BinaryOperator::NotEq)
            | (Token::Lt, BinaryOperator::Lt)
            | (Token::LtEq, BinaryOperator::LtEq)
            | (Token::Gt, BinaryOperator::Gt)
            | (Token::GtEq, BinaryOperator::GtEq)
    )
}

#[cfg(test)]
mod tests {
    use crate::syntax::parse;

    #[test]
    fn comparisons_of_comparisons_are_refused_where_the_second_stands() {
        for (text, operator, times_before) in [
            ("SELECT 1 = 2 = 3", "=", 1),
            ("SELECT 1 < 2 < 3 < 4", "<", 1),
            ("SELECT 1 <> 2 = 3", "=", 0),
            ("SELECT 1 <= 2 >= 3", ">=", 0),
            ("SELECT 1 != 2 != 3", "!=", 1),
            ("SELECT NOT 1 = - 2 = 3", "=", 1),
            ("SELECT 1 FROM a WHERE a.x = f(b.x = 1) = c.x AND 1 = 1", "=", 2),
            ("SELECT 1 FROM a WHERE x = (SELECT y FROM b WHERE y = 1) = c", "=", 2),
            ("SELECT x = 'a=b' = c", "=", 2),
            ("SELECT x = 1::int = c", "=", 1),
            ("SELECT (SELECT 1 = 2 = 3)", "=", 1),
            ("UPDATE t SET a = b = c = d", "=", 2),
            ("SELECT 1 FROM a JOIN b ON a.x = b.x = c.x", "=", 1),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.to_string(), format!("syntax error at or near \"{operator}\""), "{text}");
            let at = text.match_indices(operator).nth(times_before).map(|(at, _)| at + 1);
            assert_eq!(error.position(), at, "{text}");
        }
    }

    #[test]
    fn what_binds_otherwise_is_not() {
        for text in [
            "SELECT (1 = 2) = true",
            "SELECT true = (1 = 2)",
            "SELECT 1 = 2 IS NULL = true",
            "SELECT 1 IS DISTINCT FROM 2 = true",
            "SELECT 1 = ANY (ARRAY[1]) = true",
            "SELECT 1 IN (1) = true",
            "SELECT true = 'a' LIKE 'b'",
            "SELECT 1 BETWEEN 2 AND 3 = true",
            "SELECT 1 = 2 AND 3 = 4 OR 5 = 6",
            "SELECT CASE WHEN 1 = 2 THEN 3 ELSE 4 END = 3",
            "SELECT 1 = CASE WHEN 1 = 2 THEN 3 END",
            "UPDATE t SET a = b = c, d = e",
        ] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }
}
