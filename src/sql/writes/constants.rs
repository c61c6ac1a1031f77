//! Values that need no query: constants and parameters of a statement, and sums of such with the
//! column that they are assigned to.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};

use super::syntax::EXCLUDED;
use super::target::{Takes, TargetColumn};
use super::values::{Cell, is_read_as, keeps_values, literal_value, same_value};
use super::write::Write;
use rowkey_model::{EdmType, Entity, Value};
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle};

/// An expression that is computed without a query.
#[derive(Debug, Clone)]
pub(crate) enum ConstantExpr {
    /// None is NULL.
    Literal(Option<Value>),
    /// By its place among the parameters.
    Parameter(usize),
    /// The same, cast to a type.
    CastParameter(usize, &'static PostgresType),
    /// The same column of the row proposed for insertion, by its place in the column list.
    Excluded(usize),
    /// `column + by`, or `column - by`, for the column that is assigned to.
    Increment { by: Box<ConstantExpr>, negative: bool },
}

/// Values of so many bytes are handled on the thread of the session.
const SMALL_BYTES_MAX: usize = 64 << 10;

/// The values of a statement's parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ParameterValues<'a> {
    /// Bound by the client, of the parameters' types.
    Bound(&'a [SqlValue]),
    /// Literals that stood in the text where it has parameters now.
    Literals(&'a [Literal]),
}

impl ParameterValues<'_> {
    /// Whether what is done with all of them is done in some microseconds.
    pub(crate) fn are_small(&self) -> bool {
        let bytes: usize = match self {
            ParameterValues::Bound(values) => values.iter().map(SqlValue::content_bytes).sum(),
            ParameterValues::Literals(literals) => literals.iter().map(|literal| literal.text().len()).sum(),
        };
        bytes <= SMALL_BYTES_MAX
    }

    /// The value of a parameter, by its place, as a column takes it. `None` if it needs a cast, or
    /// does not fit; `Some(None)` is NULL.
    pub(crate) fn get(
        &self,
        place: usize,
        types: &[&'static PostgresType],
        column: &TargetColumn,
        style: &TextStyle,
    ) -> Option<Option<Value>> {
        match self {
            ParameterValues::Bound(values) => same_value(values.get(place)?, types.get(place)?, column),
            ParameterValues::Literals(literals) => literal_value(literals.get(place)?, column, style).map(Some),
        }
    }

    /// The same of a parameter that is cast; `None` also where that changes it.
    pub(crate) fn get_cast(
        &self,
        place: usize,
        to: &PostgresType,
        types: &[&'static PostgresType],
        column: &TargetColumn,
        style: &TextStyle,
    ) -> Option<Option<Value>> {
        let keeps = match self {
            ParameterValues::Bound(_) => keeps_values(types.get(place)?, to, column),
            ParameterValues::Literals(_) => is_read_as(to, column),
        };
        if keeps { self.get(place, types, column, style) } else { None }
    }
}

impl ConstantExpr {
    /// A literal or a parameter; `None` for other expressions, and for literals that do not fit.
    pub(crate) fn read(expr: &Expr, column: &TargetColumn, style: &TextStyle) -> Option<Self> {
        // The query over it tells what is wrong with a literal.
        match Cell::read(expr, column, style).ok()? {
            Cell::Constant(value) => Some(ConstantExpr::Literal(value)),
            Cell::Parameter(number) => Some(ConstantExpr::Parameter(number.checked_sub(1)?)),
            Cell::CastParameter(number, ty) => Some(ConstantExpr::CastParameter(number.checked_sub(1)?, ty)),
            Cell::Expression(_) => None,
        }
    }
}

/// The assignments of SET, if all are constant and none changes the key. `inserted` are the columns
/// of the row that may be named as `excluded`.
pub(crate) fn constant_assignments(
    write: &Write,
    assignments: &[(usize, Expr)],
    inserted: &[usize],
    style: &TextStyle,
) -> Option<Vec<(usize, ConstantExpr)>> {
    if write.alias == EXCLUDED {
        return None;
    }
    let of = |(at, expr): &(usize, Expr)| {
        let column = &write.target.columns[*at];
        // Where the type of the value decides the property's, it is left to the query.
        if !matches!(column.takes, Takes::Typed { .. }) {
            return None;
        }
        let place = inserted.iter().position(|inserted| inserted == at);
        let value = match expr {
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
                if !is_number(column) {
                    return None;
                }
                let negative = *op == BinaryOperator::Minus;
                let by = if is_own(left, write, column) {
                    term(right, column, place, style)?
                } else if !negative && is_own(right, write, column) {
                    term(left, column, place, style)?
                } else {
                    return None;
                };
                ConstantExpr::Increment { by: Box::new(by), negative }
            }
            expr => term(expr, column, place, style)?,
        };
        Some((*at, value))
    };
    assignments.iter().map(of).collect()
}

fn is_number(column: &TargetColumn) -> bool {
    matches!(column.takes, Takes::Typed { edm: EdmType::Int32 | EdmType::Int64 | EdmType::Double, .. })
}

/// Whether an expression is the value that the entity has in a column.
fn is_own(expr: &Expr, write: &Write, column: &TargetColumn) -> bool {
    match expr {
        Expr::Nested(inner) => is_own(inner, write, column),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] => relation.value == write.alias && name.value == column.name,
            _ => false,
        },
        _ => false,
    }
}

/// A literal, a parameter, or the same column of the row proposed for insertion: at `proposed`
/// among its columns, NULL if it is not among them.
fn term(expr: &Expr, column: &TargetColumn, proposed: Option<usize>, style: &TextStyle) -> Option<ConstantExpr> {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] if relation.value == EXCLUDED && name.value == column.name => {
                Some(proposed.map_or(ConstantExpr::Literal(None), ConstantExpr::Excluded))
            }
            _ => None,
        },
        expr => ConstantExpr::read(expr, column, style),
    }
}

/// The value of a column of one type with `by` added to it, or taken from it; `Some(None)` is NULL.
/// `None` if the sum is no number of that type: the query over it tells the error.
pub(crate) fn increment(
    entity: &Entity,
    column: &TargetColumn,
    by: Option<Value>,
    negative: bool,
) -> Option<Option<Value>> {
    let Takes::Typed { property, edm, beside } = &column.takes else { return None };
    // A value of another type is NULL in this column, unless it is a narrower number.
    let own = entity.get(property).filter(|own| own.edm_type() == *edm || !*beside && own.edm_type().widens_to(*edm));
    if own.is_some_and(|own| own.edm_type() != *edm) {
        return None;
    }
    let (Some(own), Some(by)) = (own, by) else { return Some(None) };
    let sum = match (own, by) {
        (Value::Int32(own), Value::Int32(by)) => {
            Value::Int32(if negative { own.checked_sub(by) } else { own.checked_add(by) }?)
        }
        (Value::Int64(own), Value::Int64(by)) => {
            Value::Int64(if negative { own.checked_sub(by) } else { own.checked_add(by) }?)
        }
        (Value::Double(own), Value::Double(by)) => {
            let sum = if negative { own - by } else { own + by };
            Value::Double(Some(sum).filter(|sum| sum.is_finite())?)
        }
        _ => return None,
    };
    Some(Some(sum))
}
