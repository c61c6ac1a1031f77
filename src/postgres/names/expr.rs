//! Names in expressions.

use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Ident, Query, Subscript, Value};

use super::column::{fold, quoted};
use super::error::{NameError, Result, SqlState};
use super::function::{keyword_call, keyword_column};
use super::placement::{Inside, Parts};
use super::scope::{Resolver, unwrapped};
use super::untyped_arguments;
use crate::syntax::is_byte_order;

/// Deepest nesting of queries in expressions of queries: DataFusion plans the inner ones
/// twice at each level.
const SUBQUERIES_MAX: usize = 10;

impl Resolver<'_> {
    /// Resolves all names of an expression. A chain of operators is a deep tree, so the walk keeps
    /// its own stack; only queries nest on the machine's.
    pub(super) fn expr(&mut self, root: &mut Expr) -> Result<()> {
        let mut stack = vec![(root, Inside::clause(self.clause))];
        self.walk(&mut stack)
    }

    /// [`Self::expr`] of what is known to stand in something.
    pub(super) fn parts(&mut self, parts: Parts<'_>) -> Result<()> {
        let mut stack = parts.exprs;
        stack.reverse();
        self.walk(&mut stack)
    }

    fn walk(&mut self, stack: &mut Vec<(&mut Expr, Inside)>) -> Result<()> {
        while let Some((expr, inside)) = stack.pop() {
            self.gather_dotted(expr);
            if let Some(named) = self.named(expr)? {
                *expr = named;
                continue;
            }
            untyped_arguments::settle_operands(expr)?;
            let mut parts = Parts::new(inside.of_operands(expr));
            self.parts_of(expr, inside, &mut parts)?;
            stack.extend(parts.exprs.into_iter().rev());
        }
        Ok(())
    }

    pub(super) fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) -> Result<()> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    /// A query inside an expression, whose output names are not visible.
    pub(super) fn subquery(&mut self, query: &mut Query) -> Result<()> {
        if self.subqueries == SUBQUERIES_MAX {
            let message = format!("subqueries in expressions are nested more than {SUBQUERIES_MAX} deep");
            return Err(NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .with_hint("compute the inner part in a subquery in FROM"));
        }
        self.subqueries += 1;
        if let Some(level) = self.levels.last_mut() {
            level.subqueries += 1;
        }
        let resolved = self.query(query);
        self.subqueries -= 1;
        resolved.map(|_| ())
    }

    /// The parser reads `t.c[1]` as steps into `t`: makes a dotted name of the steps before the
    /// first subscript.
    fn gather_dotted(&self, expr: &mut Expr) {
        let Expr::CompoundFieldAccess { root, access_chain } = expr else { return };
        let mut parts = match root.as_ref() {
            Expr::Identifier(ident) => vec![ident.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => return,
        };
        let before = parts.len();
        parts.extend(access_chain.iter().map_while(|access| match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident.clone()),
            _ => None,
        }));
        access_chain.drain(..parts.len() - before);
        **root = match parts.as_slice() {
            [ident] => Expr::Identifier(ident.clone()),
            _ => Expr::CompoundIdentifier(parts),
        };
    }

    /// What to write in place of a name.
    fn named(&self, expr: &Expr) -> Result<Option<Expr>> {
        let keyword;
        let parts = match expr {
            Expr::Function(function) => {
                let Some(parts) = keyword_column(function) else { return Ok(None) };
                keyword = parts;
                keyword.as_slice()
            }
            Expr::Identifier(ident) => match keyword_call(ident) {
                Some(call) => return Ok(Some(Expr::Function(call))),
                None => std::slice::from_ref(ident),
            },
            Expr::CompoundIdentifier(parts) => parts,
            Expr::QualifiedWildcard(name, _) => return self.whole_row(name).map(Some),
            _ => return Ok(None),
        };
        let span =
            parts.last().map(|ident| ident.span).unwrap_or_else(datafusion::sql::sqlparser::tokenizer::Span::empty);
        self.column(parts).map(|column| Some(column.expr(span)))
    }

    /// Hands out the expressions of which one consists, in the order of the text.
    fn parts_of<'e>(&mut self, expr: &'e mut Expr, inside: Inside, out: &mut Parts<'e>) -> Result<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::TypedString(_) | Expr::Wildcard(_) => {}
            Expr::Value(value) => match &value.value {
                Value::HexStringLiteral(_) => {
                    return Err(NameError::unsupported("bit strings are not supported").at_span(value.span));
                }
                Value::NationalStringLiteral(_) => {
                    return Err(NameError::unsupported("N'...' is not supported").at_span(value.span));
                }
                _ => {}
            },
            Expr::Collate { collation, .. } if !is_byte_order(collation) => {
                let name = collation.0.last().and_then(|part| part.as_ident()).map_or("", |ident| &ident.value);
                let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                return Err(NameError::new(SqlState::UNDEFINED_OBJECT, message));
            }
            Expr::Nested(expr)
            | Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr)
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr)
            | Expr::IsUnknown(expr)
            | Expr::IsNotUnknown(expr)
            | Expr::IsNormalized { expr, .. }
            | Expr::UnaryOp { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::Ceil { expr, .. }
            | Expr::Floor { expr, .. }
            | Expr::Named { expr, .. }
            | Expr::Prefixed { value: expr, .. } => out.push(expr),
            Expr::Interval(interval) => out.push(&mut interval.value),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                out.extend([left.as_mut(), right.as_mut()]);
            }
            Expr::BinaryOp { left, right, .. }
            | Expr::AnyOp { left, right, .. }
            | Expr::AllOp { left, right, .. }
            | Expr::Like { expr: left, pattern: right, .. }
            | Expr::ILike { expr: left, pattern: right, .. }
            | Expr::SimilarTo { expr: left, pattern: right, .. }
            | Expr::RLike { expr: left, pattern: right, .. }
            | Expr::AtTimeZone { timestamp: left, time_zone: right }
            | Expr::InUnnest { expr: left, array_expr: right, .. } => out.extend([left.as_mut(), right.as_mut()]),
            // A call of position with the text first.
            Expr::Position { expr: sought, r#in: text } => out.extend([text.as_mut(), sought.as_mut()]),
            Expr::Between { expr, low, high, .. } => out.extend([expr.as_mut(), low.as_mut(), high.as_mut()]),
            Expr::InList { expr, list, .. } => {
                out.push(expr);
                out.extend(list);
            }
            Expr::InSubquery { expr, subquery, .. } => {
                out.push(expr);
                self.subquery(subquery)?;
            }
            Expr::Exists { subquery, .. } | Expr::Subquery(subquery) => self.subquery(subquery)?,
            Expr::Function(function) => self.function(function, inside, out)?,
            Expr::Case { operand, conditions, else_result, .. } => {
                out.extend(operand.as_deref_mut());
                let of_results = out.inside;
                for when in conditions {
                    out.inside = inside.of_conditions();
                    out.push(&mut when.condition);
                    out.inside = of_results;
                    out.push(&mut when.result);
                }
                out.extend(else_result.as_deref_mut());
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                out.push(expr);
                out.extend(substring_from.as_deref_mut());
                out.extend(substring_for.as_deref_mut());
            }
            Expr::Trim { trim_what, expr, trim_characters, .. } => {
                out.extend(trim_what.as_deref_mut());
                out.push(expr);
                out.extend(trim_characters.iter_mut().flatten());
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                out.extend([expr.as_mut(), overlay_what.as_mut(), overlay_from.as_mut()]);
                out.extend(overlay_for.as_deref_mut());
            }
            Expr::Convert { expr, styles, .. } => {
                out.push(expr);
                out.extend(styles);
            }
            Expr::Tuple(exprs) => out.extend(exprs),
            // It gives an empty array its type.
            Expr::Cast { expr, .. } if is_empty_array(unwrapped(expr)) => {}
            Expr::Cast { expr, .. } => out.push(expr),
            empty if is_empty_array(empty) => {
                return Err(NameError::new(SqlState::INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                    .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at_node(empty));
            }
            Expr::Array(array) => out.extend(&mut array.elem),
            Expr::Struct { values, .. } => out.extend(values),
            Expr::Dictionary(fields) => out.extend(fields.iter_mut().map(|field| field.value.as_mut())),
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    out.extend([entry.key.as_mut(), entry.value.as_mut()]);
                }
            }
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => out.extend(sets.iter_mut().flatten()),
            Expr::CompoundFieldAccess { root, access_chain } => {
                out.push(root);
                for access in access_chain {
                    step(access, out)?;
                }
            }
            other @ (Expr::QualifiedWildcard(..)
            | Expr::JsonAccess { .. }
            | Expr::MatchAgainst { .. }
            | Expr::OuterJoin(_)
            | Expr::Prior(_)
            | Expr::Lambda(_)
            | Expr::MemberOf(_)) => {
                return Err(NameError::unsupported(format!("{other} is not supported")).at_node(other));
            }
        }
        Ok(())
    }
}

fn is_empty_array(expr: &Expr) -> bool {
    matches!(expr, Expr::Array(array) if array.elem.is_empty())
}

/// A step into a value. The name of a field belongs to the value's type, not to a scope.
fn step<'e>(access: &'e mut AccessExpr, out: &mut Parts<'e>) -> Result<()> {
    match access {
        AccessExpr::Dot(Expr::Identifier(field)) => *field = field_name(field),
        AccessExpr::Dot(Expr::Value(_)) => {}
        AccessExpr::Dot(other) => {
            return Err(NameError::unsupported(format!("{other} behind a dot is not supported")).at_node(other));
        }
        AccessExpr::Subscript(Subscript::Index { index }) => out.push(index),
        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
            out.extend([lower_bound, upper_bound, stride].into_iter().flatten());
        }
    }
    Ok(())
}

fn field_name(field: &Ident) -> Ident {
    quoted(&fold(field), field.span)
}
