//! Operators and special forms of SQL, planned with PostgreSQL's types.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, GetFieldAccess, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::abbreviated::abbreviated;
use super::common_type::literal;
use super::error::{SqlState, fail};
use super::json;
use super::kind::{Kind, unknown_text};
use super::resolution::{Resolver, call, is_comparison};
use super::scalar::{Function, SUBSCRIPT, type_of};
use super::system::is_vector;
use super::{array_items, datetime_fields, overlaid, text};
use crate::types::unnamed_field;

/// `IS DISTINCT FROM` where one side is a literal in quotes, as an operator.
pub(crate) const IS_DISTINCT_FROM: &str = "IS DISTINCT FROM";
pub(crate) const IS_NOT_DISTINCT_FROM: &str = "IS NOT DISTINCT FROM";

/// The types of literals are not settled while a statement is planned, nor is the zone asked for:
/// what is planned here is resolved again by [`super::PostgresTypes`]. It makes sure that operands
/// go together, which DataFusion checks at once.
#[derive(Debug)]
pub(super) struct PostgresOperators;

impl ExprPlanner for PostgresOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        // Conditions stay as they are: their chains are balanced, and keys are found in them.
        let is_condition = matches!(op, BinaryOperator::And | BinaryOperator::Or);
        let left = match is_condition {
            true => left,
            false => abbreviated(left, |operand| type_of(operand, schema).ok()),
        };
        let resolver = Resolver::over(schema, None);
        let array = |expr: &Expr| resolver.kind(expr) == Some(Kind::Array);
        let contains = match op {
            BinaryOperator::AtArrow => "arraycontains",
            BinaryOperator::ArrowAt => "arraycontained",
            _ => "",
        };
        if let Some(function) = array_items::FUNCTIONS.iter().find(|function| function.name == contains)
            && (array(&left) && (array(&right) || is_untyped(&right)) || array(&right) && is_untyped(&left))
        {
            return Ok(PlannerResult::Planned(call(function, vec![left, right])));
        }
        let operator = match op {
            BinaryOperator::Eq => Operator::Eq,
            BinaryOperator::NotEq => Operator::NotEq,
            BinaryOperator::Lt => Operator::Lt,
            BinaryOperator::LtEq => Operator::LtEq,
            BinaryOperator::Gt => Operator::Gt,
            BinaryOperator::GtEq => Operator::GtEq,
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            BinaryOperator::Modulo => Operator::Modulo,
            BinaryOperator::StringConcat => Operator::StringConcat,
            BinaryOperator::Custom(ref words) if words == IS_DISTINCT_FROM => Operator::IsDistinctFrom,
            BinaryOperator::Custom(ref words) if words == IS_NOT_DISTINCT_FROM => Operator::IsNotDistinctFrom,
            // The elements of arrays are contained in another way.
            BinaryOperator::AtArrow | BinaryOperator::ArrowAt => {
                let (whole, part) = if op == BinaryOperator::AtArrow { (&left, &right) } else { (&right, &left) };
                let has = |expr: &Expr| resolver.kind(expr) == Some(Kind::Json);
                if has(whole) || has(part) {
                    let name = |expr: &Expr| resolver.kind(expr).map_or("unknown", Kind::name);
                    let message = format!("operator does not exist: {} {op} {}", name(&left), name(&right));
                    return fail(SqlState::UNDEFINED_FUNCTION, message);
                }
                if let Some(contains) = resolver.of_jsonb(json::CONTAINS, whole, part)? {
                    return Ok(PlannerResult::Planned(contains));
                }
                let may_be_array = |expr: &Expr| array(expr) || resolver.kind(expr).is_none();
                let is_open = has_parameter(&left) || has_parameter(&right);
                if is_open || may_be_array(&left) && may_be_array(&right) {
                    return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
                }
                return no_operator(&resolver, &left, &op.to_string(), &right);
            }
            BinaryOperator::PGExp => {
                let may_be_number = |expr: &Expr| {
                    has_parameter(expr)
                        || is_untyped(expr)
                        || resolver.kind(expr).is_none_or(|kind| kind.is_number() || kind == Kind::Null)
                };
                if !may_be_number(&left) || !may_be_number(&right) {
                    return no_operator(&resolver, &left, &op.to_string(), &right);
                }
                let power = super::exponentials::FUNCTIONS.iter().find(|function| function.name == "power");
                return Ok(match power {
                    Some(power) => PlannerResult::Planned(call(power, vec![left, right])),
                    None => PlannerResult::Original(RawBinaryExpr { op, left, right }),
                });
            }
            op if is_of_bits(&op) => {
                let (left, right) = operands_of_bits(&resolver, &op, left, right)?;
                if is_shift(&op) && resolver.kind(&left) == Some(Kind::Int2) {
                    return Ok(PlannerResult::Planned(smallint_shifted(&resolver, &op, left, right)?));
                }
                return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
            }
            op if is_planned(&op) => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
            op => return no_operator(&resolver, &left, &op.to_string(), &right),
        };
        if operator == Operator::StringConcat
            && let Some(concatenated) = resolver.of_jsonb(json::CONCAT, &left, &right)?
        {
            return Ok(PlannerResult::Planned(concatenated));
        }
        if operator == Operator::Minus && resolver.kind(&left) == Some(Kind::Jsonb) {
            let binary = BinaryExpr::new(Box::new(left), operator, Box::new(typed(right)));
            return Ok(PlannerResult::Planned(resolver.resolve(Expr::BinaryExpr(binary))?));
        }
        // DataFusion infers the types of parameters from the operator they stand beside.
        let is_custom = matches!(op, BinaryOperator::Custom(_));
        if !is_custom && (has_parameter(&left) || has_parameter(&right)) {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        if operator == Operator::StringConcat && (array(&left) || array(&right)) {
            // What has no type beside an array is one.
            let name = match (array(&left) || is_untyped(&left), array(&right) || is_untyped(&right)) {
                (true, true) => "array_cat",
                (true, false) => "array_append",
                (false, _) => "array_prepend",
            };
            return Ok(match array_items::FUNCTIONS.iter().find(|function| function.name == name) {
                Some(function) => PlannerResult::Planned(call(function, vec![left, right])),
                None => PlannerResult::Original(RawBinaryExpr { op, left, right }),
            });
        }
        // Numbers are compared by their final types, which an average does not have yet.
        let number = |expr: &Expr| resolver.kind(expr).is_some_and(Kind::is_number);
        if !is_custom && is_comparison(operator) && number(&left) && number(&right) {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        }
        let binary = BinaryExpr::new(Box::new(typed(left)), operator, Box::new(typed(right)));
        Ok(PlannerResult::Planned(resolver.resolve(Expr::BinaryExpr(binary))?))
    }

    /// Subscripts of arrays count from 1, and those below it are of no item.
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let is_array = access
            .expr
            .to_field(schema)
            .is_ok_and(|(_, field)| Kind::of(field.data_type()) == Kind::Array && !is_vector(&field));
        let function = array_items::FUNCTIONS.iter().find(|function| function.name == SUBSCRIPT);
        if let GetFieldAccess::NamedStructField { name } = &access.field_access
            && let Ok((_, field)) = access.expr.to_field(schema)
            && !matches!(field.data_type(), DataType::Struct(_) | DataType::Null | DataType::Map(..))
        {
            let message = format!(
                "column notation .{} applied to type {}, which is not a composite type",
                name.try_as_str().flatten().unwrap_or_default(),
                Kind::of(field.data_type()).name()
            );
            return fail(SqlState::WRONG_OBJECT_TYPE, message);
        }
        let access = with_field_of_row(access, schema);
        Ok(match (access, function) {
            (RawFieldAccessExpr { expr, field_access: GetFieldAccess::ListIndex { key } }, Some(function))
                if is_array =>
            {
                PlannerResult::Planned(call(function, vec![expr, *key]))
            }
            (access, _) => PlannerResult::Original(access),
        })
    }

    /// There are no maps: `map` is a name like another.
    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let schema = DFSchema::empty();
        let resolver = Resolver::over(&schema, None);
        // Of columns no types are known here.
        let types = match args.iter().any(Expr::any_column_refs) {
            true => String::new(),
            false => {
                let types: Vec<&str> = args.iter().map(|arg| written_type(&resolver, arg)).collect();
                format!("({})", types.join(", "))
            }
        };
        fail(SqlState::UNDEFINED_FUNCTION, format!("function map{types} does not exist"))
    }

    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // `extract('year' FROM t)` names the same field.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(field)), _)) = args.first_mut() {
            *field = field.trim_matches(['\'', '"']).to_owned();
        }
        planned(datetime_fields::FUNCTIONS.iter().find(|function| function.name == "extract"), args)
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        planned(text::FUNCTIONS.iter().find(|function| function.name == "position"), args)
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        planned(overlaid::FUNCTIONS.first(), args)
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        planned(text::FUNCTIONS.iter().find(|function| function.name == "substring"), args)
    }
}

/// The field of `ROW(...)` that PostgreSQL calls `f1` is DataFusion's `c0`.
fn with_field_of_row(mut access: RawFieldAccessExpr, schema: &DFSchema) -> RawFieldAccessExpr {
    if let GetFieldAccess::NamedStructField { name } = &mut access.field_access
        && let Ok(DataType::Struct(fields)) = type_of(&access.expr, schema)
        && let Some(known) = name.try_as_str().flatten().and_then(|name| unnamed_field(&fields, name))
    {
        *name = known.into();
    }
    access
}

fn planned(function: Option<&'static Function>, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
    Ok(match function {
        Some(function) => PlannerResult::Planned(call(function, args)),
        None => PlannerResult::Original(args),
    })
}

/// Whether DataFusion has an operator, or says in PostgreSQL's words that there is none for the
/// types of its operands.
fn is_planned(op: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        op,
        And | Or
            | PGRegexMatch
            | PGRegexIMatch
            | PGRegexNotMatch
            | PGRegexNotIMatch
            | PGLikeMatch
            | PGILikeMatch
            | PGNotLikeMatch
            | PGNotILikeMatch
    )
}

fn is_of_bits(op: &BinaryOperator) -> bool {
    use BinaryOperator::{BitwiseAnd, BitwiseOr, BitwiseXor, PGBitwiseXor};
    matches!(op, BitwiseAnd | BitwiseOr | BitwiseXor | PGBitwiseXor) || is_shift(op)
}

fn is_shift(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight)
}

/// Operands of an operator on the bits of integers. A literal in quotes beside an integer is one of
/// its type, or an `int4` where it says how far to shift.
fn operands_of_bits(resolver: &Resolver, op: &BinaryOperator, left: Expr, right: Expr) -> Result<(Expr, Expr)> {
    let kind_of = |expr: &Expr| match expr {
        // As wide as it is written, not as it is planned.
        Expr::Literal(value, _) => Some(Kind::of(&literal(value.clone()).data_type())),
        expr => resolver.kind(expr),
    };
    let of_type = |expr: Expr, kind: Option<Kind>| match kind.and_then(Kind::arrow) {
        Some(wanted) if unknown_text(&expr).is_some() => resolver.to(expr, &DataType::Utf8, &wanted),
        _ => Ok(expr),
    };
    let is_integer = |kind: &Kind| kind.is_integer();
    let (left_kind, right_kind) = (kind_of(&left).filter(is_integer), kind_of(&right).filter(is_integer));
    let shifted_by = left_kind.map(|kind| if is_shift(op) { Kind::Int4 } else { kind });
    let (left, right) = (of_type(left, right_kind)?, of_type(right, shifted_by)?);
    let fits = |expr: &Expr| {
        kind_of(expr).is_none_or(|kind| kind.is_integer() || matches!(kind, Kind::Null | Kind::Other | Kind::Oid))
    };
    if has_parameter(&left) || has_parameter(&right) || fits(&left) && fits(&right) {
        return Ok((left, right));
    }
    if is_untyped(&left) && is_untyped(&right) {
        return fail(SqlState::AMBIGUOUS_FUNCTION, format!("operator is not unique: unknown {op} unknown"));
    }
    no_operator(resolver, &left, &op.to_string(), &right)
}

/// A shift of an `int2`: of its bits as an `int4`, of which the lower ones stay.
fn smallint_shifted(resolver: &Resolver, op: &BinaryOperator, left: Expr, right: Expr) -> Result<Expr> {
    let shifted = |left: Expr, operator: Operator, right: Expr| {
        Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
    };
    let left = resolver.to(left, &DataType::Int16, &DataType::Int32)?;
    let wide = match op {
        BinaryOperator::PGBitwiseShiftLeft => {
            let half = || Expr::Literal(ScalarValue::Int32(Some(16)), None);
            let wide = shifted(left, Operator::BitwiseShiftLeft, right);
            shifted(shifted(wide, Operator::BitwiseShiftLeft, half()), Operator::BitwiseShiftRight, half())
        }
        _ => shifted(left, Operator::BitwiseShiftRight, right),
    };
    resolver.to(wide, &DataType::Int32, &DataType::Int16)
}

fn no_operator<T>(resolver: &Resolver, left: &Expr, operator: &str, right: &Expr) -> Result<T> {
    let (left, right) = (written_type(resolver, left), written_type(resolver, right));
    fail(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {left} {operator} {right}"))
}

/// The type that PostgreSQL names for an operand. Literals do not have theirs yet.
fn written_type(resolver: &Resolver, expr: &Expr) -> &'static str {
    match expr {
        expr if is_untyped(expr) => "unknown",
        Expr::Literal(ScalarValue::Int64(Some(number)), _) if i32::try_from(*number).is_ok() => Kind::Int4.name(),
        expr => resolver.kind(expr).map_or("unknown", Kind::name),
    }
}

/// A literal with its type, which the other operand may take.
fn typed(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(value, metadata) => Expr::Literal(literal(value), metadata),
        other => other,
    }
}

/// A literal in quotes, or NULL.
fn is_untyped(expr: &Expr) -> bool {
    unknown_text(expr).is_some() || matches!(expr, Expr::Literal(value, _) if value.is_null())
}

fn has_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Placeholder(_))
}
