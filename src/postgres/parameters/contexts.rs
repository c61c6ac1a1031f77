//! Parameters whose place says what they are, whatever stands beside them: conditions, and
//! arguments that have one type in all of PostgreSQL's functions of a name, or a preferred one.
//!
//! A cast is written around them: the planner would fail at most of these places, where it knows no
//! type.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, AccessExpr, BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Select,
    Subscript, UnaryOperator, Value, VisitorMut,
};

use super::data_type;
use crate::functions::values_item;
use crate::syntax::{number_of, plain_cast, visit_expressions_mut, visit_mut};
use crate::types::{PostgresType, type_by_name};

/// Casts the parameters whose type `is_open`, by their numbers.
pub(super) fn type_in_contexts(query: &mut ast::Statement, is_open: impl Fn(usize) -> bool) {
    // It never breaks.
    let _walked = visit_mut(query, &mut Contexts { is_open });
}

/// Casts the parameters that are operands of arithmetic, and uuids and texts that are concatenated,
/// to their types, which the planner does not know of where it plans the operator.
pub(super) fn type_operands(query: &mut ast::Statement, types: &[&'static PostgresType]) {
    let _walked: ControlFlow<()> = visit_expressions_mut(query, |expr| {
        if let Expr::BinaryOp { left, op, right } = expr {
            let is_concatenated = *op == BinaryOperator::StringConcat;
            let is_of_numbers = is_of_numbers(op);
            for operand in [left.as_mut(), right.as_mut()] {
                let ty = number_of(operand).and_then(|number| types.get(number.checked_sub(1)?));
                let is_cast = |ty: &PostgresType| {
                    is_of_numbers && (is_number(ty) || ty.name == "interval")
                        || is_concatenated && ["uuid", "text", "varchar"].contains(&ty.name)
                };
                if let Some(ty) = ty.filter(|ty| is_cast(ty)) {
                    *operand = plain_cast(std::mem::replace(operand, Expr::value(Value::Null)), data_type(ty));
                }
            }
        }
        ControlFlow::Continue(())
    });
}

/// Casts the parameters that are items of VALUES to their types where a column has several: the
/// planner takes them for items of one type.
pub(super) fn type_in_values(query: &mut ast::Statement, types: &[&'static PostgresType]) {
    let _walked = visit_mut(query, &mut ValuesItems { types });
}

struct ValuesItems<'t> {
    types: &'t [&'static PostgresType],
}

impl ValuesItems<'_> {
    fn type_of(&self, item: &Expr) -> Option<&'static PostgresType> {
        self.types.get(number_of(item)?.checked_sub(1)?).copied()
    }
}

impl VisitorMut for ValuesItems<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let ast::SetExpr::Values(values) = query.body.as_mut() else { return ControlFlow::Continue(()) };
        let width = values.rows.first().map_or(0, |row| row.len());
        for place in 0..width {
            let mut types = values.rows.iter().filter_map(|row| self.type_of(row.get(place)?));
            let Some(first) = types.next() else { continue };
            if types.all(|ty| ty.oid == first.oid) {
                continue;
            }
            for item in values.rows.iter_mut().filter_map(|row| row.get_mut(place)) {
                if let Some(ty) = self.type_of(item) {
                    let parameter = std::mem::replace(item, Expr::value(Value::Null));
                    *item = values_item(plain_cast(parameter, data_type(ty)));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn is_of_numbers(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// Types of numbers, each before those that it becomes beside them.
pub(super) const NUMBERS: [&str; 6] = ["int2", "int4", "int8", "numeric", "float4", "float8"];

pub(super) fn is_number(ty: &PostgresType) -> bool {
    NUMBERS.contains(&ty.name)
}

/// Casts parameters that are added to intervals, as they are where the other operands are moments.
/// Whether there were any.
pub(super) fn type_intervals(query: &mut ast::Statement, is_open: impl Fn(usize) -> bool) -> bool {
    let mut are_there = false;
    let _walked: ControlFlow<()> = visit_expressions_mut(query, |expr| {
        if let Expr::BinaryOp { left, op: BinaryOperator::Plus, right } = expr
            && number_of(left).is_some() != number_of(right).is_some()
            && number_of(left).or(number_of(right)).is_some_and(&is_open)
            && let Some(interval) = type_by_name("interval").map(data_type)
        {
            let operand = if number_of(left).is_some() { left } else { right };
            **operand = plain_cast(std::mem::replace(operand, Expr::value(Value::Null)), interval);
            are_there = true;
        }
        ControlFlow::Continue(())
    });
    are_there
}

/// Puts NULL in the place of sums and differences that parameters are part of, which the planner
/// takes for what stands beside them. Whether there were any.
pub(super) fn without_sums(query: &mut ast::Statement) -> bool {
    let mut are_there = false;
    let _walked: ControlFlow<()> = visit_expressions_mut(query, |expr| {
        if let Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } = expr
            && (number_of(left).is_some() || number_of(right).is_some())
        {
            *expr = Expr::value(Value::Null);
            are_there = true;
        }
        ControlFlow::Continue(())
    });
    are_there
}

struct Contexts<F> {
    is_open: F,
}

impl<F: Fn(usize) -> bool> Contexts<F> {
    fn cast(&self, expr: &mut Expr, type_name: &str) {
        let mut inner = expr;
        while let Expr::Nested(nested) = inner {
            inner = nested;
        }
        if number_of(inner).is_some_and(&self.is_open)
            && let Some(data_type) = type_by_name(type_name).map(data_type)
        {
            *inner = plain_cast(std::mem::replace(inner, Expr::value(Value::Null)), data_type);
        }
    }

    fn condition(&self, condition: &mut Expr) {
        self.cast(condition, "bool");
    }

    /// Operands that are both numerics, or both doubles: numerics beside one that is written so,
    /// doubles beside an integer, a text and one another.
    fn numbers(&self, left: &mut Expr, right: &mut Expr) {
        let (beside_left, beside_right) = (number_beside(right), number_beside(left));
        if let Some(type_name) = beside_left {
            self.cast(left, type_name);
        }
        if let Some(type_name) = beside_right {
            self.cast(right, type_name);
        }
    }

    fn function(&self, function: &mut ast::Function) {
        if let Some(filter) = &mut function.filter {
            self.condition(filter);
        }
        let Some(name) = function.name.0.last().and_then(|part| part.as_ident()) else { return };
        let FunctionArguments::List(list) = &mut function.args else { return };
        let count = list.args.len();
        if let [first, second, ..] = list.args.as_mut_slice()
            && let Some((left, right)) = unnamed(first).zip(unnamed(second))
        {
            match name.value.as_str() {
                "power" | "pow" if count == 2 => self.numbers(left, right),
                "width_bucket" if count == 4 => self.numbers(left, right),
                _ => {}
            }
        }
        for (place, argument) in list.args.iter_mut().enumerate() {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument
                && let Some(type_name) = argument_type(&name.value, place, count)
            {
                self.cast(expr, type_name);
            }
        }
    }
}

impl<F: Fn(usize) -> bool> VisitorMut for Contexts<F> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.selection.iter_mut().chain(&mut select.having).for_each(|condition| self.condition(condition));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.function(function),
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                self.condition(left);
                self.condition(right);
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr }
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr) => self.condition(expr),
            Expr::Case { operand: None, conditions, .. } => {
                conditions.iter_mut().for_each(|when| self.condition(&mut when.condition));
            }
            // An interval is multiplied and divided by numbers alone.
            Expr::BinaryOp { left, op: BinaryOperator::Multiply | BinaryOperator::Divide, right } => {
                if is_interval(left) {
                    self.cast(right, "float8");
                } else if is_interval(right) {
                    self.cast(left, "float8");
                }
            }
            Expr::Overlay { overlay_from, overlay_for, .. } => {
                self.cast(overlay_from, "int4");
                overlay_for.iter_mut().for_each(|length| self.cast(length, "int4"));
            }
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Subscript(Subscript::Index { index }) = access {
                        self.cast(index, "int4");
                    }
                }
            }
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => self.cast(expr, "float8"),
            Expr::BinaryOp { left, op: BinaryOperator::PGExp, right } => self.numbers(left, right),
            Expr::AtTimeZone { timestamp, .. } => self.cast(timestamp, "timestamptz"),
            Expr::InList { expr, list, .. } if is_integer(expr) => {
                list.iter_mut().for_each(|item| self.cast(item, "int4"));
            }
            Expr::Between { expr, low, high, .. } if is_integer(expr) => {
                self.cast(low, "int4");
                self.cast(high, "int4");
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } if is_integer(left) => {
                self.cast(right, "_int4");
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn unnamed(argument: &mut FunctionArg) -> Option<&mut Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// A number as it is written, without a sign.
fn written_number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => written_number(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is an `integer` as it is written.
fn is_integer(expr: &Expr) -> bool {
    written_number(expr).is_some_and(|number| number.parse::<i32>().is_ok())
}

/// The type of a parameter of a function of two doubles or two numerics, beside the other operand.
fn number_beside(other: &Expr) -> Option<&'static str> {
    match written_number(other) {
        Some(number) if number.parse::<i64>().is_ok() => Some("float8"),
        Some(_) => Some("numeric"),
        None => number_of(other).map(|_| "float8"),
    }
}

fn is_interval(expr: &Expr) -> bool {
    match expr {
        Expr::Interval(_) => true,
        Expr::Nested(inner) => is_interval(inner),
        Expr::TypedString(typed) => matches!(typed.data_type, DataType::Interval { .. }),
        Expr::Cast { data_type: DataType::Interval { .. }, .. } => true,
        Expr::Cast { data_type: DataType::Custom(name, _), .. } => name.to_string() == "interval",
        _ => false,
    }
}

/// The type of one of a function's arguments, which are so many.
fn argument_type(function: &str, place: usize, count: usize) -> Option<&'static str> {
    Some(match (function, place, count) {
        ("left" | "right" | "repeat" | "lpad" | "rpad" | "trim_array", 1, _) => "int4",
        ("split_part", 2, _) | ("overlay" | "substr" | "substring", 2, 3) | ("overlay", 3, _) => "int4",
        ("round" | "trunc", 0, 2) | ("scale" | "min_scale" | "trim_scale", 0, 1) | ("div", _, 2) => "numeric",
        ("round" | "trunc", 1, 2) => "int4",
        ("get_byte" | "set_byte" | "get_bit" | "set_bit", 1 | 2, _) => "int4",
        ("lag" | "lead" | "nth_value", 1, _) | ("width_bucket", 3, _) => "int4",
        ("ntile" | "chr", 0, 1) | ("make_date", _, 3) => "int4",
        ("make_time", 2, 3) | ("make_timestamp" | "make_timestamptz", 5, _) | ("make_interval", 6, _) => "float8",
        ("make_timestamptz", 6, _) => "text",
        ("make_time" | "make_timestamp" | "make_timestamptz" | "make_interval", ..) => "int4",
        ("to_timestamp", 0, 1) | ("percentile_cont" | "percentile_disc", 0, 1) => "float8",
        (
            "abs" | "cbrt" | "ceil" | "ceiling" | "degrees" | "exp" | "floor" | "ln" | "log" | "log10" | "radians"
            | "round" | "sign" | "sqrt" | "trunc" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh"
            | "tanh",
            0,
            1,
        ) => "float8",
        ("pg_sleep", 0, 1) => "float8",
        ("set_config", 2, 3) => "bool",
        ("age", _, 2) => "timestamptz",
        ("justify_days" | "justify_hours" | "justify_interval", ..) => "interval",
        ("encode" | "convert_from" | "get_byte" | "get_bit" | "sha224" | "sha256" | "sha384" | "sha512", 0, _) => {
            "bytea"
        }
        _ => return None,
    })
}
