//! `x LIKE ANY (array)`, `x ~ ALL (array)` and their like: a text beside each item of an array.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt64Array};
use arrow::compute::{not, take};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::cast::cast_array;
use super::kind::Kind;
use super::like_texts::match_each;
use super::regular_expressions;
use super::scalar::{Arguments, Call, Function, immutable};
use crate::carried::Stop;

const fn function(name: &'static str, run: fn(&Call) -> Result<ArrayRef>) -> Function {
    immutable(name, 2..=2, returns, run)
}

pub(super) static FUNCTIONS: [Function; 16] = [
    function("like_any", |call| compared(call, like, true)),
    function("like_all", |call| compared(call, like, false)),
    function("nlike_any", |call| compared(call, nlike, true)),
    function("nlike_all", |call| compared(call, nlike, false)),
    function("ilike_any", |call| compared(call, ilike, true)),
    function("ilike_all", |call| compared(call, ilike, false)),
    function("nilike_any", |call| compared(call, nilike, true)),
    function("nilike_all", |call| compared(call, nilike, false)),
    function("textregexeq_any", |call| compared(call, matches, true)),
    function("textregexeq_all", |call| compared(call, matches, false)),
    function("textregexne_any", |call| compared(call, matches_not, true)),
    function("textregexne_all", |call| compared(call, matches_not, false)),
    function("texticregexeq_any", |call| compared(call, matches_in_any_case, true)),
    function("texticregexeq_all", |call| compared(call, matches_in_any_case, false)),
    function("texticregexne_any", |call| compared(call, matches_in_no_case, true)),
    function("texticregexne_all", |call| compared(call, matches_in_no_case, false)),
];

type Compare = fn(&Call, &ArrayRef, &ArrayRef) -> Result<BooleanArray>;

fn like(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    match_each(texts.as_string_view(), patterns.as_string_view(), false, &Stop::of(call.options))
}

fn ilike(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    match_each(texts.as_string_view(), patterns.as_string_view(), true, &Stop::of(call.options))
}

fn nlike(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    Ok(not(&like(call, texts, patterns)?)?)
}

fn nilike(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    Ok(not(&ilike(call, texts, patterns)?)?)
}

fn matches(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    regular_expressions::matched(call.options, texts, patterns, false, false)
}

fn matches_not(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    regular_expressions::matched(call.options, texts, patterns, false, true)
}

fn matches_in_any_case(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    regular_expressions::matched(call.options, texts, patterns, true, false)
}

fn matches_in_no_case(call: &Call, texts: &ArrayRef, patterns: &ArrayRef) -> Result<BooleanArray> {
    regular_expressions::matched(call.options, texts, patterns, true, true)
}

fn returns(arguments: &Arguments) -> Result<DataType> {
    let is_text = |kind| matches!(kind, Kind::Text | Kind::Null);
    let of_texts = match arguments.types.get(1) {
        Some(DataType::List(item)) => is_text(Kind::of(item.data_type())),
        Some(DataType::Null | DataType::Utf8) => true,
        _ => false,
    };
    if is_text(arguments.kind(0)) && of_texts { Ok(DataType::Boolean) } else { arguments.undefined() }
}

/// Whether it holds of any item, or of all of them; NULL where only an item that is NULL decides.
fn compared(call: &Call, compare: Compare, any: bool) -> Result<ArrayRef> {
    let texts: ArrayRef = Arc::new(call.text(0)?);
    let wanted = DataType::new_list(DataType::Utf8View, true);
    let lists = cast_array(call.arg(1)?, &wanted, &call.zone)?;
    let lists = lists.as_list::<i32>();
    let place = |at: usize| usize::try_from(lists.value_offsets()[at]).unwrap_or(0);
    let (first, last) = (place(0), place(call.rows));
    let rows = (0..call.rows).flat_map(|row| std::iter::repeat_n(row as u64, place(row + 1) - place(row)));
    let beside = take(&texts, &UInt64Array::from_iter_values(rows), None)?;
    let holds = compare(call, &beside, &lists.values().slice(first, last - first))?;
    let of_row = |row: usize| {
        if lists.is_null(row) {
            return None;
        }
        let mut all = Some(!any);
        for place in place(row) - first..place(row + 1) - first {
            match holds.is_valid(place).then(|| holds.value(place)) {
                Some(decides) if decides == any => return Some(any),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    };
    Ok(Arc::new((0..call.rows).map(of_row).collect::<BooleanArray>()))
}

/// Whether an operator matches texts with patterns.
pub(crate) fn is_pattern_operator(operator: &BinaryOperator) -> bool {
    of_operator(operator).is_some()
}

/// What the functions for an operator beside `ANY (array)` and `ALL (array)` begin with.
pub(super) fn of_operator(operator: &BinaryOperator) -> Option<&'static str> {
    Some(match operator {
        BinaryOperator::PGRegexMatch => "textregexeq",
        BinaryOperator::PGRegexNotMatch => "textregexne",
        BinaryOperator::PGRegexIMatch => "texticregexeq",
        BinaryOperator::PGRegexNotIMatch => "texticregexne",
        BinaryOperator::PGLikeMatch => "like",
        BinaryOperator::PGNotLikeMatch => "nlike",
        BinaryOperator::PGILikeMatch => "ilike",
        BinaryOperator::PGNotILikeMatch => "nilike",
        _ => return None,
    })
}

/// The function for a pattern that is `ANY (array)`, when `any` was read before it, or `ALL
/// (array)`, and that array.
pub(super) fn of_pattern(any: bool, negated: bool, ignore_case: bool, pattern: &Expr) -> Option<(String, Expr)> {
    let (word, array) = match (any, pattern) {
        (true, Expr::Nested(array)) => ("any", array.as_ref().clone()),
        (true, array) => ("any", array.clone()),
        (false, Expr::Function(function)) => {
            let word = function.name.to_string().to_lowercase();
            let FunctionArguments::List(list) = &function.args else { return None };
            match (word.as_str(), list.args.as_slice()) {
                ("all", [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))]) => ("all", array.clone()),
                ("some", [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))]) => ("any", array.clone()),
                _ => return None,
            }
        }
        _ => return None,
    };
    if matches!(array, Expr::Subquery(_) | Expr::Tuple(_)) {
        return None;
    }
    let like = if ignore_case { "ilike" } else { "like" };
    Some((format!("{}{like}_{word}", if negated { "n" } else { "" }), array))
}
