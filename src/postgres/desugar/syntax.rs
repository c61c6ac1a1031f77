//! Rewrites of the syntax tree: system schemas are dropped from names, and operators and constructs
//! that DataFusion's planner does not take become ones that it does.

use std::ops::ControlFlow;

use datafusion::common::{Result, not_impl_err};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, ExactNumberInfo, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, LimitClause, ObjectName, ObjectNamePart, Query, Select, SetExpr, SetOperator,
    Statement, TableFactor, Value, ValueWithSpan, VisitorMut,
};

use super::array_subquery::array_of_query;
use super::ast::{call, last_word, name_of, null, text};
use super::cast_arguments::make_names_unique;
use super::group_casts;
use super::row_membership;
use super::set_returning::{relation_of_function, rows_of, series_to_from};
use super::shifts::{number_offset, with_default};
use super::ties::with_ties;
use super::truth_literals;
use super::unnested::number_unnested;
use super::windows::Windows;
use crate::functions::{
    IS_DISTINCT_FROM, IS_NOT_DISTINCT_FROM, JSON_OF_ARRAY, JSON_OF_PAIRS, JSONB_OF_ARRAY, JSONB_OF_PAIRS,
    is_pattern_operator,
};
use crate::syntax::{is_byte_order, number_of, plain_cast, plain_function, visit_mut};

/// Rewrites a statement in place. It is run once, after parsing and before identifiers are
/// resolved: what it adds needs no resolving, and what it moves still does.
pub fn rewrite_syntax(statement: &mut Statement) -> Result<()> {
    let mut rewriter = Rewriter::default();
    // It breaks at what is not supported.
    let _walked = visit_mut(statement, &mut rewriter);
    if let Some(unsupported) = rewriter.unsupported {
        return not_impl_err!("{unsupported}");
    }
    number_unnested(statement);
    make_names_unique(statement);
    Ok(())
}

#[derive(Default)]
struct Rewriter {
    windows: Windows,
    unsupported: Option<String>,
}

impl Rewriter {
    fn refuse(&mut self, unsupported: String) -> ControlFlow<()> {
        self.unsupported = Some(unsupported);
        ControlFlow::Break(())
    }

    fn refuse_if(&mut self, flow: ControlFlow<String>) -> ControlFlow<()> {
        flow.map_break(|unsupported| self.unsupported = Some(unsupported))
    }
}

/// Patterns of a subquery are those of an array.
fn items_of_query(items: &mut Expr) {
    *items = match std::mem::replace(items, null()) {
        Expr::Nested(mut inner) => {
            items_of_query(&mut inner);
            Expr::Nested(inner)
        }
        Expr::Subquery(query) => array_of_query(*query),
        items => items,
    };
}

/// `LIKE ALL ((SELECT ...))`, which was read as a call.
fn items_of_quantified(function: &mut Function) {
    let is_quantifier = matches!(function.name.to_string().to_lowercase().as_str(), "all" | "some");
    if is_quantifier
        && let FunctionArguments::List(list) = &mut function.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(items))] = list.args.as_mut_slice()
    {
        items_of_query(items);
    }
}

/// Whether a query has no columns, as `SELECT FROM t`.
fn is_without_columns(query: &SetExpr) -> bool {
    match query {
        SetExpr::Select(select) => select.projection.is_empty(),
        SetExpr::Query(query) => is_without_columns(&query.body),
        SetExpr::SetOperation { left, .. } => is_without_columns(left),
        _ => false,
    }
}

/// A cast to bigint in VALUES, written twice: one cast DataFusion adds itself beside a literal, and
/// it is taken off again when literals have their types.
fn cast_twice(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => cast_twice(inner),
        Expr::Cast { kind, data_type, array, .. } if is_bigint(data_type) => {
            let (kind, data_type, array) = (kind.clone(), data_type.clone(), *array);
            let once = Box::new(std::mem::replace(expr, null()));
            *expr = Expr::Cast { kind, expr: once, data_type, array, format: None };
        }
        _ => {}
    }
}

/// Branches in quotes beside numbers alone are numbers: what is computed with a CASE is planned
/// before its type is settled. Beside columns that is left to it.
fn numbers_in_quotes(branches: Vec<&mut Expr>) {
    let mut widest = None;
    for branch in &branches {
        match branch {
            Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
                let width = [digits.parse::<i32>().is_ok(), digits.parse::<i64>().is_ok(), true];
                widest = widest.max(width.iter().position(|fits| *fits));
            }
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_) | Value::Null, .. }) => {}
            _ => return,
        }
    }
    let data_type = match widest {
        None => return,
        Some(0) => DataType::Integer(None),
        Some(1) => DataType::BigInt(None),
        Some(_) => DataType::Numeric(ExactNumberInfo::None),
    };
    for branch in branches {
        if let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }) = branch {
            *branch = plain_cast(std::mem::replace(branch, null()), data_type.clone());
        }
    }
}

/// A literal as LIMIT or OFFSET is a bigint, also in quotes or with a point.
fn count_rows(expr: &mut Expr) {
    let Expr::Value(literal) = expr else { return };
    match &mut literal.value {
        Value::SingleQuotedString(_) => *expr = plain_cast(std::mem::replace(expr, null()), DataType::BigInt(None)),
        Value::Number(digits, _) if digits.contains(['.', 'e', 'E']) => {
            // What is no bigint is refused as it is.
            if let Some(rounded) = digits.parse().ok().map(f64::round).filter(|rounded| rounded.abs() < 1e15) {
                *digits = format!("{rounded:.0}");
            }
        }
        _ => {}
    }
}

fn is_bigint(data_type: &DataType) -> bool {
    match data_type {
        DataType::BigInt(_) | DataType::Int8(_) => true,
        DataType::Custom(name, _) => last_word(name) == "int8",
        _ => false,
    }
}

impl VisitorMut for Rewriter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let mut operations = vec![query.body.as_ref()];
        while let Some(operation) = operations.pop() {
            if let SetExpr::SetOperation { op, left, right, .. } = operation {
                if matches!(op, SetOperator::Except | SetOperator::Intersect) && is_without_columns(left) {
                    return self.refuse(format!("{op} of queries without columns is not supported"));
                }
                operations.extend([left.as_ref(), right.as_ref()]);
            }
        }
        if let SetExpr::Values(values) = query.body.as_mut() {
            values.rows.iter_mut().flat_map(|row| row.content.iter_mut()).for_each(cast_twice);
        }
        let plain = query.fetch.as_ref().is_some_and(|fetch| !fetch.with_ties && !fetch.percent);
        if plain && let Some(fetch) = query.fetch.take() {
            let rows = fetch.quantity.unwrap_or_else(|| Expr::value(Value::Number("1".to_owned(), false)));
            match &mut query.limit_clause {
                Some(LimitClause::LimitOffset { limit, .. }) => *limit = Some(rows),
                other => {
                    *other = Some(LimitClause::LimitOffset { limit: Some(rows), offset: None, limit_by: Vec::new() });
                }
            }
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            limit.iter_mut().chain(offset.iter_mut().map(|offset| &mut offset.value)).for_each(count_rows);
        }
        group_casts::make_names_unique(query);
        if let Err(unsupported) = with_ties(query) {
            return self.refuse(unsupported);
        }
        let entered = self.windows.enter_query(query);
        self.refuse_if(entered)
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.windows.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if let Err(unsupported) = row_membership::in_conditions(select) {
            return self.refuse(unsupported);
        }
        truth_literals::in_conditions(select);
        series_to_from(select);
        let entered = self.windows.enter(select);
        self.refuse_if(entered)
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Self::Break> {
        self.windows.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Function(Function { over: Some(window), .. }) => {
                let completed = self.windows.complete(window);
                self.refuse_if(completed)
            }
            Expr::InSubquery { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } | Expr::BinaryOp { .. } => {
                match row_membership::as_value(expr) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(unsupported) => self.refuse(unsupported),
                }
            }
            // DataFusion asks for the type of its first column and panics.
            Expr::Subquery(query) if is_without_columns(&query.body) => {
                self.refuse("a subquery without columns is not supported".to_owned())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = factor {
            drop_system_schema(name);
        }
        relation_of_function(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } | Expr::UnaryOp { .. } => {
                truth_literals::in_operands(expr);
            }
            Expr::BinaryOp { left, op, .. } => {
                if let BinaryOperator::PGCustomBinaryOperator(words) = op
                    && let Some(plain) = plain_operator(words)
                {
                    *op = plain;
                }
                // Names of tables ignore case, also where psql's \d looks for one that it has
                // folded.
                if *op == BinaryOperator::PGRegexMatch && is_relation_name(left) {
                    *op = BinaryOperator::PGRegexIMatch;
                }
            }
            Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => compare_with_literal(expr),
            Expr::Collate { expr: inner, collation } if is_byte_order(collation) => {
                *expr = std::mem::replace(inner.as_mut(), null());
            }
            Expr::Cast { data_type, .. } => plain_type(data_type),
            Expr::TypedString(typed) => {
                plain_type(&mut typed.data_type);
                // Of a literal it has no length, in a cast it is one.
                if matches!(typed.data_type, DataType::Char(None) | DataType::Character(None)) {
                    typed.data_type = DataType::Custom(name_of("bpchar"), Vec::new());
                }
            }
            Expr::AnyOp { compare_op, right, .. } | Expr::AllOp { compare_op, right, .. }
                if is_pattern_operator(compare_op) =>
            {
                items_of_query(right);
            }
            Expr::Like { any, pattern, escape_char, .. } | Expr::ILike { any, pattern, escape_char, .. } => {
                match pattern.as_mut() {
                    pattern if *any => items_of_query(pattern),
                    Expr::Function(function) => items_of_quantified(function),
                    _ => {}
                }
                // DataFusion's escape character is the backslash, as it is without ESCAPE.
                if let Some(escape) = escape_char.take() {
                    let plain = std::mem::replace(pattern.as_mut(), null());
                    **pattern = call("like_escape", vec![plain, Expr::Value(escape)]);
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } if !matches!(root.as_ref(), Expr::Identifier(_)) => {
                name_fields(access_chain);
            }
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter_mut().map(|branch| &mut branch.result);
                numbers_in_quotes(results.chain(else_result.as_deref_mut()).collect());
            }
            Expr::Function(function) => rewrite_function(taken(function), expr),
            Expr::Identifier(name) if name.quote_style.is_none() && is_value_function(&name.value) => {
                *expr = call(&name.value.to_lowercase(), Vec::new());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The column of `pg_class` that holds names of tables.
fn is_relation_name(expr: &Expr) -> bool {
    let name = match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    name.is_some_and(|name| name.value == "relname")
}

/// `x IS DISTINCT FROM '..'` as an operator that [`crate::functions`] plan: DataFusion asks for its
/// type before the literal has that of the other side.
fn compare_with_literal(expr: &mut Expr) {
    let (left, op, right) = match expr {
        Expr::IsDistinctFrom(left, right) => (left, IS_DISTINCT_FROM, right),
        Expr::IsNotDistinctFrom(left, right) => (left, IS_NOT_DISTINCT_FROM, right),
        _ => return,
    };
    let is_typed = |expr: &Expr| !is_quoted(expr) && number_of(expr).is_none();
    if is_quoted(left) && is_typed(right) || is_typed(left) && is_quoted(right) {
        let (left, right) = [left, right].map(|side| Box::new(std::mem::replace(side.as_mut(), null()))).into();
        *expr = Expr::BinaryOp { left, op: BinaryOperator::Custom(op.to_owned()), right };
    }
}

fn is_quoted(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_quoted(inner),
        Expr::Value(literal) => matches!(literal.value, Value::SingleQuotedString(_)),
        _ => false,
    }
}

/// Takes a function out of the tree, to be put back.
fn taken(function: &mut Function) -> Function {
    std::mem::replace(function, plain_function(ObjectName(Vec::new())))
}

fn rewrite_function(mut function: Function, place: &mut Expr) {
    drop_system_schema(&mut function.name);
    let name = last_word(&function.name);
    if name == "array" && matches!(function.args, FunctionArguments::Subquery(_)) {
        if let FunctionArguments::Subquery(query) = std::mem::replace(&mut function.args, FunctionArguments::None) {
            *place = array_of_query(*query);
        }
        return;
    }
    if let Some(collected) = json_aggregate(&name, &mut function) {
        *place = call(collected, vec![Expr::Function(function)]);
        return;
    }
    number_offset(&mut function);
    *place = match with_default(&function) {
        Some(case) => case,
        None => rows_of(function),
    };
}

/// Makes `array_agg` of an aggregate that collects a document, and tells what makes the document of
/// the array. Keys and values are collected in rows.
fn json_aggregate(name: &str, function: &mut Function) -> Option<&'static str> {
    let collected = match name {
        "json_agg" => JSON_OF_ARRAY,
        "jsonb_agg" => JSONB_OF_ARRAY,
        "json_object_agg" => JSON_OF_PAIRS,
        "jsonb_object_agg" => JSONB_OF_PAIRS,
        _ => return None,
    };
    if [JSON_OF_PAIRS, JSONB_OF_PAIRS].contains(&collected) {
        let FunctionArguments::List(list) = &mut function.args else { return None };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(key)), FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] =
            list.args.as_slice()
        else {
            return None;
        };
        let pair = call("named_struct", vec![text("key"), key.clone(), text("value"), value.clone()]);
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(pair))];
    }
    function.name = name_of("array_agg");
    Some(collected)
}

/// Those that are written without parentheses and that the parser takes for columns.
fn is_value_function(name: &str) -> bool {
    ["current_schema", "current_role"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Functions are known by their bare name.
fn drop_system_schema(name: &mut ObjectName) {
    if let [schema, _] = name.0.as_slice()
        && ["pg_catalog", "information_schema", "rowkey"].iter().any(|known| is_word(schema, known))
    {
        name.0.remove(0);
    }
}

fn is_word(part: &ObjectNamePart, word: &str) -> bool {
    part.as_ident().is_some_and(|ident| match ident.quote_style {
        None => ident.value.eq_ignore_ascii_case(word),
        Some(_) => ident.value == word,
    })
}

/// `OPERATOR(pg_catalog.~)` is `~`.
fn plain_operator(words: &[String]) -> Option<BinaryOperator> {
    Some(match words.last()?.as_str() {
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "||" => BinaryOperator::StringConcat,
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "&" => BinaryOperator::BitwiseAnd,
        "|" => BinaryOperator::BitwiseOr,
        "@>" => BinaryOperator::AtArrow,
        "<@" => BinaryOperator::ArrowAt,
        _ => return None,
    })
}

/// `pg_catalog.int4` is what `int4` is; the types of the catalog itself stay names, for the type
/// planner.
pub(super) fn plain_type(data_type: &mut DataType) {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => plain_type(item),
        DataType::Custom(name, modifiers) => {
            let quoted =
                name.0.last().and_then(|part| part.as_ident()).is_some_and(|ident| ident.quote_style.is_some());
            drop_system_schema(name);
            if !modifiers.is_empty() {
                return;
            }
            let plain = match last_word(name).as_str() {
                "bool" => DataType::Boolean,
                "int2" => DataType::SmallInt(None),
                "int4" => DataType::Integer(None),
                "int8" => DataType::BigInt(None),
                "float4" => DataType::Real,
                "float8" => DataType::DoublePrecision,
                "text" => DataType::Text,
                "varchar" => DataType::Varchar(None),
                "uuid" => DataType::Uuid,
                "date" => DataType::Date,
                "bytea" => DataType::Bytea,
                "json" => DataType::JSON,
                "jsonb" => DataType::JSONB,
                "regclass" => DataType::Regclass,
                "char" if !quoted => DataType::Char(None),
                "numeric" => DataType::Numeric(datafusion::sql::sqlparser::ast::ExactNumberInfo::None),
                "timestamp" => DataType::Timestamp(None, datafusion::sql::sqlparser::ast::TimezoneInfo::None),
                "timestamptz" => DataType::Timestamp(None, datafusion::sql::sqlparser::ast::TimezoneInfo::Tz),
                "interval" => DataType::Interval { fields: None, precision: None },
                _ => return,
            };
            *data_type = plain;
        }
        _ => {}
    }
}

/// `(row).field`: the planner knows fields by literals.
fn name_fields(chain: &mut [AccessExpr]) {
    for access in chain {
        if let AccessExpr::Dot(field @ Expr::Identifier(_)) = access
            && let Expr::Identifier(ident) = field
        {
            let name = if ident.quote_style.is_none() { ident.value.to_lowercase() } else { ident.value.clone() };
            *field = text(&name);
        }
    }
}
