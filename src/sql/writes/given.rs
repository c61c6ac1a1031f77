//! Values that a statement gives itself, or makes of the entity that it changes by adding.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};

use super::target::{Takes, TargetColumn};
use super::values::{Cell, literal_value, same_value};
use super::write::Write;
use rowkey_model::{EdmType, Entity, Value};
use rowkey_postgres::syntax::Literal;
use rowkey_postgres::types::{PostgresType, SqlValue, TextStyle};

/// The name of the row that could not be inserted.
pub(super) const EXCLUDED: &str = "excluded";

/// A value that needs no query.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Constant(Option<Value>),
    /// By its place among the parameters.
    Parameter(usize),
    /// That of the row which could not be inserted, by its place in the list.
    Proposed(usize),
    /// What the entity has in the column that is assigned to, and so much more or less.
    Sum {
        by: Box<Given>,
        negative: bool,
    },
}

/// The values of a statement's parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Values<'a> {
    /// As the client has sent them, of the types that the parameters have.
    Sent(&'a [SqlValue]),
    /// As they were written into the statement where the parameters are.
    Written(&'a [Literal]),
}

impl Values<'_> {
    /// That of a parameter, by its place, as a column takes it. `None` if it needs a cast, or does
    /// not fit; `Some(None)` is NULL.
    pub(crate) fn get(
        &self,
        place: usize,
        types: &[&'static PostgresType],
        column: &TargetColumn,
        style: &TextStyle,
    ) -> Option<Option<Value>> {
        match self {
            Values::Sent(values) => same_value(values.get(place)?, types.get(place)?, column),
            Values::Written(literals) => literal_value(literals.get(place)?, column, style).map(Some),
        }
    }
}

impl Given {
    /// A constant or a parameter.
    pub(super) fn read(expr: &Expr, column: &TargetColumn, style: &TextStyle) -> Option<Self> {
        // What is wrong with a constant is told by the long way.
        match Cell::read(expr, column, style).ok()? {
            Cell::Constant(value) => Some(Given::Constant(value)),
            Cell::Parameter(number) => Some(Given::Parameter(number.checked_sub(1)?)),
            Cell::Expression(_) => None,
        }
    }
}

/// The values of SET, where none changes the key. `inserted` are the columns of the row that may be
/// named as `excluded`.
pub(super) fn assigned(
    write: &Write,
    assignments: &[(usize, Expr)],
    inserted: &[usize],
    style: &TextStyle,
) -> Option<Vec<(usize, Given)>> {
    if write.alias == EXCLUDED {
        return None;
    }
    let of = |(at, expr): &(usize, Expr)| {
        let column = &write.target.columns[*at];
        // Where the type of the value decides, a query decides on that.
        if !matches!(column.takes, Takes::Typed { .. }) {
            return None;
        }
        let place = inserted.iter().position(|inserted| inserted == at);
        let given = match expr {
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
                Given::Sum { by: Box::new(by), negative }
            }
            expr => term(expr, column, place, style)?,
        };
        Some((*at, given))
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

/// A constant, a parameter, or the same column of the row that could not be inserted, which is at
/// `proposed` if it was given.
fn term(expr: &Expr, column: &TargetColumn, proposed: Option<usize>, style: &TextStyle) -> Option<Given> {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] if relation.value == EXCLUDED && name.value == column.name => {
                Some(proposed.map_or(Given::Constant(None), Given::Proposed))
            }
            _ => None,
        },
        expr => Given::read(expr, column, style),
    }
}

/// What an entity has in a column of one type, with something added to it or taken from it;
/// `Some(None)` is NULL. `None` if the sum is no number of that type: what becomes of it then is
/// not told here.
pub(super) fn sum(entity: &Entity, column: &TargetColumn, by: Option<Value>, negative: bool) -> Option<Option<Value>> {
    let Takes::Typed { property, edm, .. } = &column.takes else { return None };
    // A value of another type is NULL in this column.
    let own = entity.get(property).filter(|own| own.edm_type() == *edm);
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
