//! Which types expressions have, and what they are brought to: PostgreSQL's rules, before the query
//! engine applies its own.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, Operator};

use super::arithmetic;
use super::array_literal;
use super::common_type::{ALIKE, are_untyped, common_type, literal, text_type, unmatched};
use super::conditional::may_fail;
use super::constant_bytes::constant_bytes;
use super::copies::{Copies, is_leaf};
use super::deferred;
use super::enlarging::ENLARGING;
use super::error::{SqlState, fail};
use super::frames::FrameLimits;
use super::json;
use super::keys;
use super::kind::{Kind, decimal_of, unknown_text};
use super::like_texts;
use super::numeric_like::{type_beside, type_literals};
use super::optimization_barrier::{computed_though_not_null, optimization_barrier};
use super::records;
use super::regular_expressions;
use super::scalar::{Function, MAKE_ARRAY, NULLIF_OPERAND, Scalar, type_of};
use super::stored_types;
use super::strings;
use super::typed_texts::{as_text_of_type, as_texts_of_type};
use super::zone::Zone;

/// Longer constant texts are not made while a statement is planned.
const CONSTANT_BYTES_MAX: usize = 64 << 10;

/// Resolves expressions over the columns of `schema`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub schema: &'a DFSchema,
    /// `None`: not known yet, and constants that depend on it are left.
    pub zone: Option<&'a Zone>,
    /// In which literals are read; `None`: in that one.
    pub literals: Option<&'a Zone>,
    /// Whether all columns are those of tables: values of theirs have one NaN only.
    pub stored: bool,
    /// What the statement may still copy; `None`: this expression alone.
    pub copies: Option<&'a Copies>,
    /// Where memory of the statement is counted.
    pub limits: Option<&'a FrameLimits>,
    /// Whether constants are left of which PostgreSQL computes none.
    pub dropped: bool,
}

impl<'a> Resolver<'a> {
    /// Of expressions whose statement is not known.
    pub(super) fn over(schema: &'a DFSchema, zone: Option<&'a Zone>) -> Self {
        Self { schema, zone, literals: None, stored: false, copies: None, limits: None, dropped: false }
    }
}

impl Resolver<'_> {
    /// One expression whose operands are resolved.
    pub(super) fn resolve(&self, expr: Expr) -> Result<Expr> {
        self.refuse_json(&expr)?;
        let expr = self.with_numeric_literals(expr)?;
        match expr {
            Expr::Literal(value, metadata) => Ok(Expr::Literal(literal(value), metadata)),
            Expr::Negative(inner) if matches!(inner.as_ref(), Expr::Literal(value, _) if value.is_null()) => Ok(*inner),
            Expr::Negative(inner) if is_float_literal(&inner) => match *inner {
                Expr::Literal(value, metadata) => Ok(Expr::Literal(value.arithmetic_negate()?, metadata)),
                inner => Ok(Expr::Negative(Box::new(inner))),
            },
            Expr::Negative(inner) if self.kind(&inner).is_some_and(Kind::is_integer) => {
                Ok(match arithmetic::FUNCTIONS.iter().find(|function| function.name == "negative") {
                    Some(function) => call(function, vec![*inner]),
                    None => Expr::Negative(inner),
                })
            }
            Expr::Negative(inner) if self.zone.is_some() => match self.kind(&inner) {
                Some(kind) if !kind.is_number() && !matches!(kind, Kind::Interval | Kind::Null | Kind::Other) => {
                    let message = format!("operator does not exist: - {}", kind.name());
                    fail(SqlState::UNDEFINED_FUNCTION, message)
                }
                _ => Ok(Expr::Negative(inner)),
            },
            Expr::IsNull(inner) => self.null_test(*inner, Expr::IsNull, &records::IS_NULL),
            Expr::IsNotNull(inner) => self.null_test(*inner, Expr::IsNotNull, &records::IS_NOT_NULL),
            Expr::BinaryExpr(binary) => self.binary(binary),
            Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_) => self.truth_test(expr),
            Expr::Between(Between { expr, negated, low, high }) => self.between(*expr, negated, *low, *high),
            Expr::InList(list) => self.in_list(list),
            Expr::Like(mut like) => {
                *like.expr = self.with_blanks(*like.expr);
                self.check_pattern(&like.expr, if like.case_insensitive { "~~*" } else { "~~" }, &like.pattern)?;
                Ok(match self.zone {
                    Some(_) if is_null(&like.expr) || is_null(&like.pattern) => null_of_boolean(),
                    Some(_) => like_texts::of_rows(like, |expr| self.kind(expr)),
                    None => Expr::Like(like),
                })
            }
            Expr::Case(case) => self.case(case),
            Expr::ScalarFunction(ScalarFunction { func, args })
                if Self::shows_texts(func.name())
                    && args.iter().any(|argument| self.length_with_blanks(argument).is_some()) =>
            {
                let args = args.into_iter().map(|argument| self.with_blanks(argument)).collect();
                self.resolve(Expr::ScalarFunction(ScalarFunction::new_udf(func, args)))
            }
            Expr::Cast(Cast { expr, field }) => self.planned_cast(*expr, &field),
            Expr::ScalarFunction(function)
                if self.zone.is_some()
                    && match function.func.name() {
                        NULLIF_OPERAND => function.args.first().is_some_and(is_null),
                        _ => Scalar::is_strict(&function.func) && function.args.iter().any(is_null),
                    } =>
            {
                let call = Expr::ScalarFunction(function);
                match call.get_type(self.schema) {
                    Ok(data_type) => Ok(Expr::Literal(ScalarValue::try_from(&data_type)?, None)),
                    Err(_) => Ok(call),
                }
            }
            Expr::ScalarFunction(function)
                if ENLARGING.contains(&function.func.name()) && !Scalar::is_deferred(&function.func) =>
            {
                let call = Expr::ScalarFunction(function);
                let large = self.is_large(constant_bytes(&call));
                Ok(match call {
                    Expr::ScalarFunction(function) if large => match Scalar::deferred(&function.func) {
                        Some(deferred) => Expr::ScalarFunction(ScalarFunction::new_udf(deferred, function.args)),
                        None => Expr::ScalarFunction(function),
                    },
                    call => call,
                })
            }
            Expr::ScalarFunction(function)
                if function.func.name() == MAKE_ARRAY
                    && function.args.iter().any(|item| self.kind(item) == Some(Kind::Array)) =>
            {
                fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of more than one dimension are not supported")
            }
            Expr::ScalarFunction(function) if function.func.name() == MAKE_ARRAY => {
                let text_type = self.zone.and_then(|_| text_type(&function.args, self.schema));
                let items = self.alike(function.args, "ARRAY")?;
                if self.zone.is_some() {
                    let array = array_literal::settled(items, self.schema)?;
                    return Ok(match text_type {
                        Some(name) => as_texts_of_type(array, name),
                        None => array,
                    });
                }
                Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function.func, items)))
            }
            Expr::ScalarFunction(function) if ALIKE.contains(&function.func.name()) => {
                let name = function.func.name();
                let zone = self.zone.filter(|_| name != "nullif");
                let text_type = zone.and_then(|_| text_type(&function.args, self.schema));
                let args = self.alike(function.args, name)?;
                let alike = match name {
                    "coalesce" if self.zone.is_some() && self.is_nested_truth(&args) => self.coalesced_in_turn(args)?,
                    "coalesce" if self.zone.is_some() => deferred::coalesced(args),
                    _ => Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&function.func), args)),
                };
                Ok(match text_type {
                    Some(name) => as_text_of_type(alike, name),
                    None => alike,
                })
            }
            expr => Ok(expr),
        }
    }

    /// Whether a constant of so many bytes is too large to be held by the plan.
    fn is_large(&self, bytes: usize) -> bool {
        bytes > CONSTANT_BYTES_MAX || self.copies.is_some_and(|copies| !copies.holds(bytes))
    }

    /// An operand that is written once more.
    ///
    /// # Errors
    /// `STATEMENT_TOO_COMPLEX` for too many copies.
    pub(super) fn copy(&self, operand: &Expr) -> Result<Expr> {
        self.counted(operand.clone())
    }

    /// An operand that is a copy.
    ///
    /// # Errors
    /// As for [`Self::copy`].
    pub(super) fn counted(&self, copy: Expr) -> Result<Expr> {
        match self.copies {
            Some(copies) => copies.count(&copy)?,
            None => Copies::default().count(&copy)?,
        }
        Ok(copy)
    }

    /// Whether DataFusion would find other values of the expression's type equal.
    pub(super) fn has_key(&self, expr: &Expr) -> bool {
        type_of(expr, self.schema).is_ok_and(|data_type| keys::has_key(&data_type))
    }

    pub(super) fn kind(&self, expr: &Expr) -> Option<Kind> {
        type_of(expr, self.schema).ok().map(|data_type| Kind::of(&data_type))
    }

    fn binary(&self, BinaryExpr { left, op, right }: BinaryExpr) -> Result<Expr> {
        if op == Operator::Minus
            && self.kind(&left) == Some(Kind::Jsonb)
            && let Some(function) = json::function(json::DELETE)
        {
            return Ok(call(function, vec![*left, *right]));
        }
        if let Some(function) = arithmetic::of_operator(op, &left, &right) {
            // Of a long chain only the last operand is looked at.
            let known = |operand: &Expr| {
                arithmetic::is_operator(operand) || self.kind(operand).is_some_and(|kind| kind != Kind::Other)
            };
            if !known(&left) || !known(&right) {
                return Ok(Expr::BinaryExpr(BinaryExpr::new(left, op, right)));
            }
            return Ok(call(function, vec![*left, *right]));
        }
        if let Some(function) = regular_expressions::of_operator(op) {
            return self.regular_expression(function, *left, op, *right);
        }
        if op == Operator::StringConcat {
            if let Some(concatenated) = self.of_jsonb(json::CONCAT, &left, &right)? {
                return Ok(concatenated);
            }
            return self.concatenation(*left, *right);
        }
        if !is_comparison(op) {
            use Operator::{ILikeMatch, LikeMatch, NotILikeMatch, NotLikeMatch};
            if matches!(op, LikeMatch | ILikeMatch | NotLikeMatch | NotILikeMatch) {
                self.check_pattern(&left, &op.to_string(), &right)?;
            }
            return Ok(Expr::BinaryExpr(BinaryExpr::new(left, op, right)));
        }
        self.comparison(*left, op, *right)
    }

    /// A call of an operator of `jsonb`, if one side is that and the other may be.
    pub(super) fn of_jsonb(&self, function: &str, left: &Expr, right: &Expr) -> Result<Option<Expr>> {
        let is_jsonb = |expr: &Expr| self.kind(expr) == Some(Kind::Jsonb);
        if !is_jsonb(left) && !is_jsonb(right) {
            return Ok(None);
        }
        let operand = |expr: &Expr| -> Result<Option<Expr>> {
            if let Expr::Placeholder(_) = expr {
                return Ok(Some(Expr::Cast(Cast::new(Box::new(expr.clone()), DataType::LargeUtf8))));
            }
            match self.kind(expr) {
                Some(Kind::Jsonb | Kind::Null) => Ok(Some(expr.clone())),
                Some(Kind::Text) if unknown_text(expr).is_some() => {
                    self.to(expr.clone(), &DataType::Utf8, &DataType::LargeUtf8).map(Some)
                }
                _ => Ok(None),
            }
        };
        Ok(match (operand(left)?, operand(right)?, json::function(function)) {
            (Some(left), Some(right), Some(function)) => Some(call(function, vec![left, right])),
            _ => None,
        })
    }

    /// A record is NULL if all its fields are, and is not if none is.
    fn null_test(&self, inner: Expr, test: fn(Box<Expr>) -> Expr, of_record: &'static Function) -> Result<Expr> {
        match type_of(&inner, self.schema) {
            Ok(DataType::Struct(_)) => Ok(call(of_record, vec![inner])),
            _ => Ok(test(Box::new(computed_though_not_null(inner, self.schema)))),
        }
    }

    /// Both sides of a comparison in one type.
    pub(super) fn comparison(&self, left: Expr, op: Operator, right: Expr) -> Result<Expr> {
        if let Some(exact) = stored_types::exact(&left, op, &right, self.schema)? {
            return Ok(exact);
        }
        let (left, right) = self.pair(left, right, &|| op.to_string())?;
        Ok(self.compared(left, op, right))
    }

    /// An error for a function that would take JSON for text.
    fn refuse_json(&self, expr: &Expr) -> Result<()> {
        let Expr::ScalarFunction(function) = expr else { return Ok(()) };
        if !json::compares_texts(function.func.name()) {
            return Ok(());
        }
        match function.args.iter().map(|arg| type_of(arg, self.schema)).collect::<Result<Vec<_>>>() {
            Ok(types) => json::refuse(function.func.name(), &types),
            Err(_) => Ok(()),
        }
    }

    /// DataFusion would match texts of any type.
    fn check_pattern(&self, matched: &Expr, operator: &str, pattern: &Expr) -> Result<()> {
        match self.kind(matched) {
            None | Some(Kind::Text | Kind::Null | Kind::Other) => Ok(()),
            Some(Kind::Bytea) => fail(SqlState::FEATURE_NOT_SUPPORTED, format!("bytea {operator} is not supported")),
            Some(kind) => {
                let pattern = match unknown_text(pattern) {
                    Some(_) => "unknown",
                    None => self.kind(pattern).map_or("unknown", Kind::name),
                };
                let message = format!("operator does not exist: {} {operator} {pattern}", kind.name());
                fail(SqlState::UNDEFINED_FUNCTION, message)
            }
        }
    }

    /// A comparison of values of one type. Which literals are zeros is known when they have their
    /// types.
    pub(super) fn compared(&self, left: Expr, op: Operator, right: Expr) -> Expr {
        match self.zone {
            // Else it is answered without them, also where they are errors.
            Some(_) if left == right && may_fail(&left) => {
                keys::comparison(optimization_barrier(left), op, right, self.schema, self.stored)
            }
            Some(_) => keys::comparison(left, op, right, self.schema, self.stored),
            None => Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))),
        }
    }

    /// Two expressions that are compared.
    pub(super) fn pair(&self, left: Expr, right: Expr, operator: &dyn Fn() -> String) -> Result<(Expr, Expr)> {
        let (Ok(left_type), Ok(right_type)) = (type_of(&left, self.schema), type_of(&right, self.schema)) else {
            return Ok((left, right));
        };
        let (left_kind, right_kind) = (Kind::of(&left_type), Kind::of(&right_type));
        if let Some(stripped) = self.blank_literal(&left, &right) {
            return Ok((left, stripped));
        }
        if let Some(stripped) = self.blank_literal(&right, &left) {
            return Ok((stripped, right));
        }
        if [left_kind, right_kind].contains(&Kind::Json) {
            let name = |expr: &Expr, kind: Kind| if unknown_text(expr).is_some() { "unknown" } else { kind.name() };
            let (left, right) = (name(&left, left_kind), name(&right, right_kind));
            return fail(
                SqlState::UNDEFINED_FUNCTION,
                format!("operator does not exist: {left} {} {right}", operator()),
            );
        }
        if json_elements(&left_type) || json_elements(&right_type) {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, "arrays of json and jsonb cannot be compared");
        }
        if left_kind == Kind::Text && right_kind == Kind::Text {
            return Ok(self.as_characters(left, right));
        }
        if left_type == right_type || [left_kind, right_kind].contains(&Kind::Null) {
            return Ok((left, right));
        }
        if right_kind == Kind::Text && unknown_text(&right).is_some() {
            let wanted = type_beside(&right, &right_type, &left_type);
            return Ok((left, self.to(right, &right_type, &wanted)?));
        }
        if left_kind == Kind::Text && unknown_text(&left).is_some() {
            let wanted = type_beside(&left, &left_type, &right_type);
            return Ok((self.to(left, &left_type, &wanted)?, right));
        }
        let is_float4 = |one: Kind, other: Kind| one == Kind::Float4 && other != Kind::Float4 && other.is_number();
        let common = match is_float4(left_kind, right_kind) || is_float4(right_kind, left_kind) {
            // PostgreSQL has operators of a real beside a double, and of no other number.
            true => Some(Kind::Float8),
            false => left_kind.common(right_kind),
        };
        match common {
            Some(kind) => {
                let (left_to, right_to) = self.common_types(kind, &left_type, &right_type);
                Ok((self.to(left, &left_type, &left_to)?, self.to(right, &right_type, &right_to)?))
            }
            None if left_kind == Kind::Other || right_kind == Kind::Other => Ok((left, right)),
            None => {
                // For a number compared with a text column the error has a hint how to write it.
                if let (Expr::Column(column), Expr::Literal(value, _)) | (Expr::Literal(value, _), Expr::Column(column)) =
                    (&left, &right)
                    && value.data_type().is_numeric()
                    // That of a subquery has no name that a statement knows.
                    && column.relation.is_some()
                    && (left_kind == Kind::Text || right_kind == Kind::Text)
                {
                    let message = format!(
                        "\"{}\" is text and {value} a number: write the number in quotes, '{value}'",
                        column.name
                    );
                    return fail(SqlState::UNDEFINED_FUNCTION, message);
                }
                let message =
                    format!("operator does not exist: {} {} {}", left_kind.name(), operator(), right_kind.name());
                fail(SqlState::UNDEFINED_FUNCTION, message)
            }
        }
    }

    /// The types of Arrow in which values of both are compared as `kind`.
    fn common_types(&self, kind: Kind, left: &DataType, right: &DataType) -> (DataType, DataType) {
        match kind.arrow() {
            // Int32 with UInt32, and whatever DataFusion counts in.
            Some(common) => (common.clone(), common),
            // Numerics are compared with integers in their own digits.
            None => {
                let exact = |data_type: &DataType| match Kind::of(data_type) {
                    Kind::Numeric => data_type.clone(),
                    _ => match decimal_of(data_type) {
                        Some((precision, scale)) => DataType::Decimal128(precision, scale),
                        None => data_type.clone(),
                    },
                };
                (exact(left), exact(right))
            }
        }
    }

    fn between(&self, expr: Expr, negated: bool, low: Expr, high: Expr) -> Result<Expr> {
        if self.zone.is_some() && is_null(&expr) {
            return Ok(null_of_boolean());
        }
        let exact_low = stored_types::exact(&expr, Operator::GtEq, &low, self.schema)?;
        let exact_high = stored_types::exact(&expr, Operator::LtEq, &high, self.schema)?;
        let (low_expr, low) = self.pair(self.copy(&expr)?, low, &|| ">=".to_owned())?;
        let (high_expr, high) = self.pair(expr, high, &|| "<=".to_owned())?;
        // Each bound may need another zero; arrays are ordered by functions. Of all but columns the
        // optimizer makes two comparisons as well, whose copies are not counted.
        let keyed =
            type_of(&low_expr, self.schema).is_ok_and(|data_type| data_type.is_nested() || keys::has_key(&data_type));
        let is_one = self.zone.is_none() || is_leaf(&low_expr);
        if exact_low.is_none() && exact_high.is_none() && low_expr == high_expr && !keyed && is_one {
            return Ok(Expr::Between(Between::new(Box::new(low_expr), negated, Box::new(low), Box::new(high))));
        }
        let low = exact_low.unwrap_or_else(|| self.compared(low_expr, Operator::GtEq, low));
        let high = exact_high.unwrap_or_else(|| self.compared(high_expr, Operator::LtEq, high));
        let both = low.and(high);
        Ok(if negated { Expr::Not(Box::new(both)) } else { both })
    }

    /// Expressions of one type, as the branches of CASE have.
    pub(super) fn alike(&self, exprs: Vec<Expr>, place: &str) -> Result<Vec<Expr>> {
        let types = match exprs.iter().map(|expr| type_of(expr, self.schema)).collect::<Result<Vec<_>>>() {
            Ok(types) => types,
            Err(_) => return Ok(exprs),
        };
        let char_of_length = |(expr, data_type): (&Expr, &DataType)| match Kind::of(data_type) {
            Kind::Text => self.char_of_length(expr),
            _ => None,
        };
        let chars: Vec<_> = exprs.iter().zip(&types).map(char_of_length).collect();
        // The column of VALUES has their length where it is the same.
        let keeps_length = place == "VALUES" && chars.windows(2).all(|pair| pair[0] == pair[1]);
        if let Some(ty) = chars.into_iter().flatten().next().filter(|_| !keeps_length) {
            let message = format!("a value of type {ty} in {} is not supported", place.to_uppercase());
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        let literals: Vec<_> = exprs.iter().map(|expr| unknown_text(expr).map(|_| expr)).collect();
        let mut settled = types.clone();
        let unknown = type_literals(&literals, &mut settled);
        let wanted = match common_type(&settled, &unknown) {
            Ok(Some(wanted)) => wanted,
            Ok(None) if settled != types => settled[0].clone(),
            Ok(None) if are_untyped(&types, &unknown) => DataType::Utf8View,
            Ok(None) => return Ok(exprs),
            Err((left, right)) => {
                return unmatched(&place.to_uppercase(), left, right);
            }
        };
        exprs
            .into_iter()
            .zip(types)
            .map(
                |(expr, data_type)| {
                    if Kind::of(&data_type) == Kind::Null { Ok(expr) } else { self.to(expr, &data_type, &wanted) }
                },
            )
            .collect()
    }

    /// `~` and its like. A text between anchors is compared, so that keys are found by it.
    fn regular_expression(
        &self,
        function: &'static super::scalar::Function,
        left: Expr,
        op: Operator,
        right: Expr,
    ) -> Result<Expr> {
        let is_text = |expr: &Expr| self.kind(expr).is_none_or(|kind| matches!(kind, Kind::Text | Kind::Null));
        if !is_text(&left) || !is_text(&right) {
            let name = |expr: &Expr| self.kind(expr).map_or("unknown", Kind::name);
            let message = format!("operator does not exist: {} {op} {}", name(&left), name(&right));
            return fail(SqlState::UNDEFINED_FUNCTION, message);
        }
        if self.zone.is_some() && (is_null(&left) || is_null(&right)) {
            return Ok(null_of_boolean());
        }
        let left = self.with_blanks(left);
        match unknown_text(&right).and_then(|pattern| regular_expressions::simplified(&left, op, pattern)) {
            Some(simplified) => Ok(simplified),
            None => Ok(call(function, vec![left, right])),
        }
    }

    /// `||`: of arrays and texts as DataFusion has it; beside a text anything becomes text.
    fn concatenation(&self, left: Expr, right: Expr) -> Result<Expr> {
        let as_text = |expr: Expr, other: Option<Kind>| -> Result<Expr> {
            match self.kind(&expr) {
                Some(Kind::Text | Kind::Null | Kind::Array | Kind::Other) | None => Ok(expr),
                Some(Kind::Bytea) if other == Some(Kind::Bytea) => Ok(expr),
                Some(_) if other == Some(Kind::Array) => Ok(expr),
                Some(_) => {
                    let data_type = type_of(&expr, self.schema)?;
                    self.to(expr, &data_type, &DataType::Utf8View)
                }
            }
        };
        // A literal in quotes beside bytes is bytes.
        let as_bytes = |expr: Expr, other: Option<Kind>| match &expr {
            Expr::Literal(ScalarValue::Utf8(Some(_)), _) if other == Some(Kind::Bytea) => {
                self.to(expr, &DataType::Utf8, &DataType::BinaryView)
            }
            Expr::Literal(ScalarValue::Null, _) if other == Some(Kind::Bytea) => {
                Ok(Expr::Literal(ScalarValue::BinaryView(None), None))
            }
            _ => Ok(expr),
        };
        let (left_kind, right_kind) = (self.kind(&left), self.kind(&right));
        let (left, right) = (as_bytes(left, right_kind)?, as_bytes(right, left_kind)?);
        let (left_kind, right_kind) = (self.kind(&left), self.kind(&right));
        let joins =
            |kind: Option<Kind>| matches!(kind, None | Some(Kind::Text | Kind::Null | Kind::Array | Kind::Other));
        let are_bytes = left_kind == Some(Kind::Bytea) && right_kind == Some(Kind::Bytea);
        if !are_bytes && !joins(left_kind) && !joins(right_kind) {
            let name = |kind: Option<Kind>| kind.map_or("unknown", Kind::name);
            let message = format!("operator does not exist: {} || {}", name(left_kind), name(right_kind));
            return fail(SqlState::UNDEFINED_FUNCTION, message);
        }
        let left = as_text(left, right_kind)?;
        let right = as_text(right, left_kind)?;
        let is_text = |expr: &Expr| self.kind(expr) == Some(Kind::Text);
        if let Some(function) = strings::concatenated()
            && is_text(&left)
            && is_text(&right)
        {
            return Ok(call(function, vec![left, right]));
        }
        Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), Operator::StringConcat, Box::new(right))))
    }
}

pub(super) fn call(function: &'static super::scalar::Function, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Scalar::udf(function), args))
}

/// An array of `json` or `jsonb`, whose elements DataFusion compares as texts.
pub(super) fn json_elements(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => {
            matches!(Kind::of(item.data_type()), Kind::Json | Kind::Jsonb) || json_elements(item.data_type())
        }
        _ => false,
    }
}

/// A NULL that is known before there are rows: nothing is evaluated beside one.
pub(super) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

pub(super) fn null_of_boolean() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

fn is_float_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Float64(_) | ScalarValue::Float32(_), _))
}

pub(crate) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
