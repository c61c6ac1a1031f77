//! Forms of SQL that DataFusion plans in nanoseconds or not at all, as calls and casts that
//! it leaves to us.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, ArrayElemTypeDef, BinaryOperator, DataType, DateTimeField, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, Interval, IntervalFields, ObjectName, Statement, Subscript,
    UnaryOperator, Value, ValueWithSpan,
};

use super::balanced::{balance, joined, nested};
use super::copies::Copies;
use super::decimal::Decimal;
use super::item_comparison_names::{self, EQUALS_ANY};
use super::json::{JSON_GET, JSON_GET_PATH, JSON_GET_PATH_TEXT, JSON_GET_TEXT};
use super::like_items;
use super::row_syntax::{
    beside_truth, is_called, of_each, row_between, row_comparison, row_distinction, row_in_list, tuple,
};
use super::scalar::{MAKE_ARRAY, NULLIF_OPERAND, SLICE};
use super::system::read_array_text;
use super::type_names::type_called;
use super::values_items;
use crate::syntax::{call_named as call, plain_case, plain_cast, visit_expressions, visit_expressions_mut};

/// Rewrites a statement in place: `x AT TIME ZONE z` into `timezone(z, x)`, `INTERVAL '...'` into a
/// cast of the text.
///
/// # Errors
/// `STATEMENT_TOO_COMPLEX` for too many copies of operands.
pub fn rewrite_syntax(statement: &mut Statement) -> rowkey_base::Result<()> {
    balance(statement);
    let copies = Copies::default();
    let visited = visit_expressions_mut(statement, |expr| {
        let taken = std::mem::replace(expr, Expr::value(Value::Null));
        *expr = rewritten(taken, &copies);
        match copies.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    });
    if let ControlFlow::Break(error) = visited {
        return Err(error);
    }
    values_items::wrap_items(statement);
    // What is compared with ANY of an array is a list by now.
    let visited: ControlFlow<()> = visit_expressions_mut(statement, |expr| {
        if let Expr::Array(Array { elem, .. }) = expr
            && (names_any(elem) || !are_of_one_kind(elem))
        {
            *expr = call(MAKE_ARRAY, std::mem::take(elem));
        }
        // A row that is a value.
        if let Expr::Tuple(values) = expr
            && values.len() > 1
        {
            *expr = call("struct", std::mem::take(values));
        }
        // What is called by another name has that as an alias inside the expression, below which
        // the planner goes twice.
        if let Expr::Function(function) = expr
            && is_called(function, "row")
            && matches!(&function.args, FunctionArguments::List(list) if !list.args.is_empty())
        {
            function.name = ObjectName::from(vec![Ident::new("struct")]);
        }
        ControlFlow::Continue(())
    });
    debug_assert!(visited.is_continue());
    Ok(())
}

/// Whether items are literals that the planner finds one type for: all numbers, or all texts.
fn are_of_one_kind(list: &[Expr]) -> bool {
    let kind = |item: &Expr| match item {
        Expr::Value(value) => Some(std::mem::discriminant(&value.value)),
        _ => None,
    };
    let first = list.first().and_then(kind);
    list.is_empty() || first.is_some() && list.iter().all(|item| kind(item) == first)
}

/// Whether there is a column or a query in a list. In `ARRAY[...]` the planner knows no columns of
/// outer queries and no WITH queries; in the arguments of a call it does.
fn names_any(list: &Vec<Expr>) -> bool {
    visit_expressions(list, |expr| match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

fn rewritten(expr: Expr, copies: &Copies) -> Expr {
    match expr {
        Expr::AtTimeZone { timestamp, time_zone } => call("timezone", vec![*time_zone, *timestamp]),
        Expr::Interval(interval) => cast_interval(interval),
        Expr::BinaryOp { left, op: BinaryOperator::PGOverlap, right } => call("arrayoverlap", vec![*left, *right]),
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => overlaps(*left, *right),
        Expr::BinaryOp { left, op: BinaryOperator::Arrow, right } => call(JSON_GET, vec![*left, *right]),
        Expr::BinaryOp { left, op: BinaryOperator::LongArrow, right } => call(JSON_GET_TEXT, vec![*left, *right]),
        Expr::BinaryOp { left, op, right } if json_operator(&op).is_some() => {
            let name = json_operator(&op).unwrap_or_default();
            let right = if op == BinaryOperator::Question { *right } else { texts(*right) };
            call(name, vec![*left, right])
        }
        Expr::BinaryOp { left, op, right } => row_comparison(*left, op, *right, copies),
        Expr::IsDistinctFrom(left, right) => row_distinction(*left, *right, true),
        Expr::IsNotDistinctFrom(left, right) => row_distinction(*left, *right, false),
        Expr::Between { expr, negated, low, high } => row_between(*expr, negated, *low, *high, copies),
        Expr::IsNull(inner) => of_each(*inner, Expr::IsNull),
        Expr::IsNotNull(inner) => of_each(*inner, Expr::IsNotNull),
        Expr::Cast { kind, expr, data_type, array, format } => match moment_of_word(literal_text(&expr), &data_type) {
            Some(moment) => moment,
            None => Expr::Cast { kind, expr, data_type, array, format },
        },
        Expr::TypedString(typed) => {
            let word = match &typed.value.value {
                Value::SingleQuotedString(word) => Some(word.as_str()),
                _ => None,
            };
            match (moment_of_word(word, &typed.data_type), word, &typed.data_type) {
                (Some(moment), ..) => moment,
                // Its precision would be lost.
                (None, Some(text), DataType::Interval { .. }) => cast_text(text.to_owned(), typed.data_type),
                _ => Expr::TypedString(typed),
            }
        }
        Expr::InList { expr, list, negated } => row_in_list(*expr, list, negated, copies),
        Expr::AnyOp { left, compare_op, right, .. }
            if literal_items(&left, compare_op == BinaryOperator::Eq, &right).is_some() =>
        {
            of_literal_items(*left, compare_op, &right, BinaryOperator::Or)
        }
        Expr::AllOp { left, compare_op, right }
            if literal_items(&left, compare_op == BinaryOperator::NotEq, &right).is_some() =>
        {
            of_literal_items(*left, compare_op, &right, BinaryOperator::And)
        }
        Expr::CompoundFieldAccess { root, access_chain } => sliced(root, access_chain),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some } => match *right {
            Expr::Array(Array { elem, .. })
                if !elem.is_empty() && !elem.iter().any(|item| matches!(item, Expr::Array(_))) =>
            {
                Expr::Nested(Box::new(Expr::InList { expr: left, list: items_of_array(elem), negated: false }))
            }
            Expr::Subquery(query) => {
                let right = Box::new(Expr::Subquery(query));
                Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some }
            }
            right => call(EQUALS_ANY, vec![right, *left]),
        },
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => match *right {
            Expr::Array(Array { elem, .. })
                if !elem.is_empty() && !elem.iter().any(|item| matches!(item, Expr::Array(_))) =>
            {
                Expr::Nested(Box::new(Expr::InList { expr: left, list: items_of_array(elem), negated: true }))
            }
            Expr::Subquery(query) => {
                Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right: Box::new(Expr::Subquery(query)) }
            }
            right => {
                let any = Box::new(call(EQUALS_ANY, vec![right, *left]));
                Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: any }))
            }
        },
        Expr::AnyOp { left, compare_op, right, .. }
            if item_comparison_names::of_any(&compare_op).is_some() && !matches!(*right, Expr::Subquery(_)) =>
        {
            call(&item_comparison_names::of_any(&compare_op).unwrap_or_default(), vec![*right, *left])
        }
        Expr::AllOp { left, compare_op, right }
            if item_comparison_names::of_all(&compare_op).is_some() && !matches!(*right, Expr::Subquery(_)) =>
        {
            call(&item_comparison_names::of_all(&compare_op).unwrap_or_default(), vec![*right, *left])
        }
        case @ Expr::Case { .. } => compared_with_truth(case),
        Expr::SimilarTo { negated, expr, pattern, escape_char } => {
            let op = if negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
            let escape = escape_char.map(Expr::Value);
            nested(*expr, op, call("similar_to_escape", [*pattern].into_iter().chain(escape).collect()))
        }
        Expr::AnyOp { left, compare_op, right, .. }
            if like_items::of_operator(&compare_op).is_some() && !matches!(*right, Expr::Subquery(_)) =>
        {
            let name = like_items::of_operator(&compare_op).unwrap_or_default();
            call(&format!("{name}_any"), vec![*left, texts(without_parentheses(*right))])
        }
        Expr::AllOp { left, compare_op, right }
            if like_items::of_operator(&compare_op).is_some() && !matches!(*right, Expr::Subquery(_)) =>
        {
            let name = like_items::of_operator(&compare_op).unwrap_or_default();
            call(&format!("{name}_all"), vec![*left, texts(without_parentheses(*right))])
        }
        Expr::Like { negated, any, expr, pattern, escape_char } => {
            match like_items::of_pattern(any, negated, false, &pattern) {
                Some((name, array)) if escape_char.is_none() => call(&name, vec![*expr, texts(array)]),
                _ => Expr::Like { negated, any, expr, pattern, escape_char },
            }
        }
        Expr::ILike { negated, any, expr, pattern, escape_char } => {
            match like_items::of_pattern(any, negated, true, &pattern) {
                Some((name, array)) if escape_char.is_none() => call(&name, vec![*expr, texts(array)]),
                _ => Expr::ILike { negated, any, expr, pattern, escape_char },
            }
        }
        // It takes numbers only, `substring` a pattern.
        // There is none of one argument.
        Expr::Substring { expr, substring_from: None, substring_for: None, .. } => call("substring", vec![*expr]),
        Expr::Substring { expr, substring_from, substring_for, shorthand: true, .. } => {
            let numbers = substring_from.into_iter().chain(substring_for).map(|number| integer_of_text(*number));
            call("substr", std::iter::once(*expr).chain(numbers).collect())
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr } => nested(
            *expr,
            BinaryOperator::PGBitwiseXor,
            // Of the narrowest type: the result has that of the operand.
            plain_cast(
                Expr::UnaryOp {
                    op: UnaryOperator::Minus,
                    expr: Box::new(Expr::value(Value::Number("1".to_owned(), false))),
                },
                DataType::SmallInt(None),
            ),
        ),
        // Of a double, whatever stands there.
        Expr::UnaryOp { op: UnaryOperator::PGSquareRoot, expr } => {
            call("sqrt", vec![plain_cast(*expr, DataType::DoublePrecision)])
        }
        Expr::UnaryOp { op: UnaryOperator::PGCubeRoot, expr } => call("cbrt", vec![*expr]),
        Expr::UnaryOp { op: UnaryOperator::PGAbs, expr } => call("abs", vec![*expr]),
        Expr::Function(function) => renamed(function, copies),
        Expr::Value(value) => match value.value {
            // More digits than a numeric holds here: a double.
            Value::Number(number, _) if number.contains(['e', 'E']) && Decimal::parse(&number).is_none() => {
                cast_text(number, DataType::DoublePrecision)
            }
            Value::UnicodeStringLiteral(text) => Expr::value(Value::SingleQuotedString(text)),
            other => Expr::Value(ValueWithSpan { value: other, span: value.span }),
        },
        other => other,
    }
}

/// The function of an operator of `json` or `jsonb` alone, whose right operand is a path, keys or a
/// key.
fn json_operator(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::HashArrow => JSON_GET_PATH,
        BinaryOperator::HashLongArrow => JSON_GET_PATH_TEXT,
        BinaryOperator::HashMinus => "jsonb_delete_path",
        BinaryOperator::Question => "jsonb_exists",
        BinaryOperator::QuestionPipe => "jsonb_exists_any",
        BinaryOperator::QuestionAnd => "jsonb_exists_all",
        BinaryOperator::AtQuestion => "jsonb_path_exists_opr",
        BinaryOperator::AtAt => "jsonb_path_match_opr",
        _ => return None,
    })
}

fn without_parentheses(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(inner) => *inner,
        other => other,
    }
}

/// A parameter where an array of texts is expected is one.
fn texts(expr: Expr) -> Expr {
    match &expr {
        Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }) => plain_cast(expr, text_array()),
        _ => expr,
    }
}

/// A literal in quotes, or a parameter, is an integer where one is expected.
fn integer_of_text(expr: Expr) -> Expr {
    let is_parameter = matches!(&expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
    match is_parameter || literal_text(&expr).is_some() {
        true => plain_cast(expr, DataType::Integer(None)),
        false => expr,
    }
}

/// Items of arrays in quotes are compared one by one up to so many.
const LITERAL_ITEMS_MAX: usize = 1_000;

/// The items of an array of which none has a type: those are texts, whatever they are compared
/// with. In a list each would take the type of that.
fn items_of_array(mut items: Vec<Expr>) -> Vec<Expr> {
    if items.iter().all(|item| literal_text(item).is_some() || is_null(item)) {
        for item in items.iter_mut().filter(|item| !is_null(item)) {
            *item = plain_cast(std::mem::replace(item, Expr::value(Value::Null)), DataType::Text);
        }
    }
    items
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Null, .. }))
}

/// The items of an array in quotes that has no type but that of what it is compared with. Where
/// that is repeated, it has to be a column, a parameter or a constant.
fn literal_items(left: &Expr, once: bool, right: &Expr) -> Option<Vec<Option<String>>> {
    let right = if let Expr::Nested(inner) = right { inner } else { right };
    let repeatable = match left {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => inner,
        other => other,
    };
    let is_leaf =
        matches!(repeatable, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::TypedString(_));
    let items = read_array_text(literal_text(right)?).ok()?;
    let few = (usize::from(!is_leaf)..=LITERAL_ITEMS_MAX).contains(&items.len());
    ((once || is_leaf) && few).then_some(items)
}

fn of_literal_items(left: Expr, op: BinaryOperator, right: &Expr, joins: BinaryOperator) -> Expr {
    let items = literal_items(&left, true, right).unwrap_or_default();
    let item = |item: Option<String>| Expr::value(item.map_or(Value::Null, Value::SingleQuotedString));
    let list: Vec<Expr> = items.into_iter().map(item).collect();
    if list.is_empty() {
        // All of none are what they should be, whatever they are compared with.
        return Expr::value(Value::Boolean(joins == BinaryOperator::And));
    }
    match (&op, &joins) {
        (BinaryOperator::Eq, BinaryOperator::Or) | (BinaryOperator::NotEq, BinaryOperator::And) => {
            let negated = op == BinaryOperator::NotEq;
            Expr::Nested(Box::new(Expr::InList { expr: Box::new(left), list, negated }))
        }
        _ => joined(list.into_iter().map(|item| nested(left.clone(), op.clone(), item)).collect(), joins),
    }
}

/// `CASE WHEN c` as `CASE true WHEN c` where there is another CASE in a condition. Whether a CASE
/// may be NULL, DataFusion finds out from conditions that are compared with no operand, for each of
/// their operators anew: of one in a condition of a condition of a condition it would ask some
/// thousand times.
fn compared_with_truth(case: Expr) -> Expr {
    match &case {
        Expr::Case { conditions, .. } if conditions.iter().any(|branch| has_case(&branch.condition)) => {
            beside_truth(case)
        }
        _ => case,
    }
}

fn has_case(condition: &Expr) -> bool {
    let found = visit_expressions(condition, |part| match part {
        Expr::Case { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// `array[i:j]` as a call: a bound that is not written is the widest.
fn sliced(root: Box<Expr>, mut chain: Vec<AccessExpr>) -> Expr {
    let bound = |bound: Option<Expr>, widest: i32| match bound {
        Some(bound) => bound,
        None => cast_text(widest.to_string(), DataType::Integer(None)),
    };
    match chain.pop() {
        Some(AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }))
            if chain.is_empty() =>
        {
            call(SLICE, vec![*root, bound(lower_bound, i32::MIN), bound(upper_bound, i32::MAX)])
        }
        // With a slice among them all are slices, of as many dimensions as arrays here do not have.
        Some(AccessExpr::Subscript(_)) if chain.iter().any(is_slice) => {
            call(SLICE, vec![*root, bound(None, 1), bound(None, 0)])
        }
        Some(last) if is_slice(&last) && matches!(chain.last(), Some(AccessExpr::Subscript(_))) => {
            call(SLICE, vec![*root, bound(None, 1), bound(None, 0)])
        }
        last => {
            chain.extend(last);
            Expr::CompoundFieldAccess { root, access_chain: chain }
        }
    }
}

fn is_slice(access: &AccessExpr) -> bool {
    matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }))
}

/// Functions by the names that DataFusion has for them; `nullif` compares as `=` does.
fn renamed(mut function: Function, copies: &Copies) -> Expr {
    let name = match function.name.0.as_slice() {
        [part] => part.as_ident().map(|ident| ident.value.to_lowercase()),
        _ => None,
    };
    if let Some(name) = name.as_deref().filter(|name| name.starts_with("json")) {
        type_parameters(name, &mut function);
    }
    if name.as_deref().is_some_and(|name| OF_ROWS.contains(&name)) {
        name_fields(&mut function);
    }
    if let Some(data_type) = name.as_deref().and_then(type_called) {
        return cast_of(function, data_type);
    }
    let other = match name.as_deref() {
        Some("variance") => "var_samp",
        Some("every") => "bool_and",
        Some("nullif") => return null_if(function, copies),
        Some("age") => return age_since(function),
        Some("gen_random_uuid") => {
            function.name = ObjectName::from(vec![Ident::new("uuid")]);
            return plain_cast(Expr::Function(function), DataType::Uuid);
        }
        Some("make_interval") => return make_interval(function),
        _ => return Expr::Function(function),
    };
    function.name = ObjectName::from(vec![Ident::new(other)]);
    Expr::Function(function)
}

/// Parameters have the types of the arguments of functions of JSON, where they can have no other.
fn type_parameters(name: &str, function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for (place, argument) in list.args.iter_mut().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { continue };
        if !matches!(expr, Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. })) {
            continue;
        }
        let changes = matches!(name, "jsonb_set" | "jsonb_set_lax" | "jsonb_insert");
        let document = if name.starts_with("jsonb") { DataType::JSONB } else { DataType::JSON };
        let data_type = match (place, name) {
            (_, name) if name.contains("_build_") || name.contains("_of_") || name.starts_with("json_get") => continue,
            (_, "json_object" | "jsonb_object")
            | (1, "jsonb_exists_any" | "jsonb_exists_all" | "jsonb_delete_path") => text_array(),
            (1, _) if changes => text_array(),
            (2, _) if changes => DataType::JSONB,
            (3, _) if changes => DataType::Boolean,
            (0, _) => document,
            _ => continue,
        };
        let parameter = std::mem::replace(expr, Expr::value(Value::Null));
        *expr = plain_cast(parameter, data_type);
    }
}

fn text_array() -> DataType {
    DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::Text), None))
}

/// Functions that show the names of a row's fields.
const OF_ROWS: [&str; 8] = [
    "array_agg",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "row_to_json",
    "to_json",
    "to_jsonb",
];

/// The fields of `ROW(...)` are called f1, f2, ...
fn name_fields(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for argument in &mut list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else { continue };
        *expr = with_named_fields(std::mem::replace(expr, Expr::value(Value::Null)));
    }
}

fn with_named_fields(expr: Expr) -> Expr {
    match tuple(expr) {
        Expr::Tuple(values) => {
            let named = values.into_iter().enumerate().flat_map(|(at, value)| {
                [Expr::value(Value::SingleQuotedString(format!("f{}", at + 1))), with_named_fields(value)]
            });
            call("named_struct", named.collect())
        }
        other => other,
    }
}

/// `age(x)` counts from the beginning of today.
fn age_since(mut function: Function) -> Expr {
    if let FunctionArguments::List(list) = &mut function.args
        && list.args.len() == 1
    {
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(call("current_date", Vec::new()))));
    }
    Expr::Function(function)
}

/// `make_interval(days => 3)`: arguments by name in the places that they have.
fn make_interval(mut function: Function) -> Expr {
    const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
    let FunctionArguments::List(list) = &mut function.args else { return Expr::Function(function) };
    let mut places: Vec<Option<FunctionArgExpr>> = vec![None; NAMES.len()];
    for (place, argument) in list.args.iter().enumerate() {
        let (place, argument) = match argument {
            FunctionArg::Unnamed(argument) => (Some(place), argument),
            FunctionArg::Named { name, arg, .. } => (NAMES.iter().position(|known| *known == name.value), arg),
            FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => {
                (NAMES.iter().position(|known| *known == name.value), arg)
            }
            FunctionArg::ExprNamed { .. } => return Expr::Function(function),
        };
        match place.and_then(|place| places.get_mut(place)) {
            Some(free @ None) => *free = Some(argument.clone()),
            // No such name, or one twice: there is no such function.
            _ => return Expr::Function(function),
        }
    }
    let zero = || FunctionArgExpr::Expr(Expr::value(Value::Number("0".to_owned(), false)));
    list.args = places.into_iter().map(|place| FunctionArg::Unnamed(place.unwrap_or_else(zero))).collect();
    Expr::Function(function)
}

/// `(a, b) OVERLAPS (c, d)`
fn overlaps(left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Tuple(mut left), Expr::Tuple(right)) if left.len() == 2 && right.len() == 2 => {
            left.extend(right);
            call("overlaps", left)
        }
        (left, right) => Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Overlaps, right: Box::new(right) },
    }
}

fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => Some(text),
        _ => None,
    }
}

/// Whether an expression is a literal such as `'today'::date`, which is planned as a call.
pub fn is_moment(expr: &Expr) -> bool {
    let moment = match expr {
        Expr::Cast { expr, data_type, .. } => moment_of_word(literal_text(expr), data_type),
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(word) => moment_of_word(Some(word), &typed.data_type),
            _ => None,
        },
        _ => None,
    };
    moment.is_some()
}

/// `'today'::date` and its like are calls: a value that was read once would not change with the
/// day.
fn moment_of_word(word: Option<&str>, data_type: &DataType) -> Option<Expr> {
    let word = word?.trim().to_ascii_lowercase();
    if !matches!(data_type, DataType::Date | DataType::Timestamp(..)) {
        return None;
    }
    let today = call("current_date", Vec::new());
    let one = || Expr::value(Value::Number("1".to_owned(), false));
    let moment = match word.as_str() {
        "now" => call("now", Vec::new()),
        "today" => today,
        "tomorrow" => nested(today, BinaryOperator::Plus, one()),
        "yesterday" => nested(today, BinaryOperator::Minus, one()),
        _ => return None,
    };
    Some(plain_cast(moment, data_type.clone()))
}

/// A type's name as a function is a cast.
fn cast_of(function: Function, data_type: DataType) -> Expr {
    let FunctionArguments::List(list) = &function.args else { return Expr::Function(function) };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] => plain_cast(value.clone(), data_type),
        _ => Expr::Function(function),
    }
}

fn null_if(function: Function, copies: &Copies) -> Expr {
    let FunctionArguments::List(list) = &function.args else { return Expr::Function(function) };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(value)), FunctionArg::Unnamed(FunctionArgExpr::Expr(other))] => {
            let condition = nested(copies.written(value), BinaryOperator::Eq, copies.written(other));
            let operand = call(NULLIF_OPERAND, vec![value.clone(), other.clone()]);
            compared_with_truth(plain_case([(condition, Expr::value(Value::Null))], Some(operand)))
        }
        _ => Expr::Function(function),
    }
}

/// `INTERVAL '3' DAY` is `'3'::interval day`. What is no text stays for the engine.
fn cast_interval(interval: Interval) -> Expr {
    let Some(text) = literal_text(&interval.value).map(str::to_owned) else { return Expr::Interval(interval) };
    let fields = match (&interval.leading_field, &interval.last_field) {
        (None, None) => None,
        (Some(first), last) => match interval_fields(first, last.as_ref()) {
            Some(fields) => Some(fields),
            None => return Expr::Interval(interval),
        },
        (None, Some(_)) => return Expr::Interval(interval),
    };
    // `SECOND(3)` alone is read as the first of two numbers.
    let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
    cast_text(text, DataType::Interval { fields, precision })
}

fn interval_fields(first: &DateTimeField, last: Option<&DateTimeField>) -> Option<IntervalFields> {
    use DateTimeField::{Day, Hour, Minute, Month, Second, Year};
    Some(match (first, last) {
        (Year, None) => IntervalFields::Year,
        (Month, None) => IntervalFields::Month,
        (Day, None) => IntervalFields::Day,
        (Hour, None) => IntervalFields::Hour,
        (Minute, None) => IntervalFields::Minute,
        (Second, None) => IntervalFields::Second,
        (Year, Some(Month)) => IntervalFields::YearToMonth,
        (Day, Some(Hour)) => IntervalFields::DayToHour,
        (Day, Some(Minute)) => IntervalFields::DayToMinute,
        (Day, Some(Second)) => IntervalFields::DayToSecond,
        (Hour, Some(Minute)) => IntervalFields::HourToMinute,
        (Hour, Some(Second)) => IntervalFields::HourToSecond,
        (Minute, Some(Second)) => IntervalFields::MinuteToSecond,
        _ => return None,
    })
}

fn cast_text(text: String, data_type: DataType) -> Expr {
    plain_cast(Expr::value(Value::SingleQuotedString(text)), data_type)
}
