//! `x < ANY (array)`, `x >= ALL (array)` and their like: a function for each operator, of the array
//! and x. DataFusion writes both operands several times into a CASE, which is doubled by every
//! level of nesting, and compares intervals by their months first.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBuilder, ListArray, new_null_array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use super::array_items::{comparator, found_among, item, item_of, items_type, list_of, lists, places};
use super::error::{SqlState, fail};
use super::item_comparison_names::EQUALS_ANY;
use super::keys;
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable};
use crate::carried::Stop;

/// `= ANY` and `<> ALL` have a function of their own, or are lists.
pub(super) static FUNCTIONS: [Function; 10] = [
    immutable("(<> any)", 2..=2, comparison_type, |call| compared(call, Quantifier::Any, Ordering::is_ne)),
    immutable("(< any)", 2..=2, comparison_type, |call| compared(call, Quantifier::Any, Ordering::is_lt)),
    immutable("(<= any)", 2..=2, comparison_type, |call| compared(call, Quantifier::Any, Ordering::is_le)),
    immutable("(> any)", 2..=2, comparison_type, |call| compared(call, Quantifier::Any, Ordering::is_gt)),
    immutable("(>= any)", 2..=2, comparison_type, |call| compared(call, Quantifier::Any, Ordering::is_ge)),
    immutable("(= all)", 2..=2, comparison_type, |call| compared(call, Quantifier::All, Ordering::is_eq)),
    immutable("(< all)", 2..=2, comparison_type, |call| compared(call, Quantifier::All, Ordering::is_lt)),
    immutable("(<= all)", 2..=2, comparison_type, |call| compared(call, Quantifier::All, Ordering::is_le)),
    immutable("(> all)", 2..=2, comparison_type, |call| compared(call, Quantifier::All, Ordering::is_gt)),
    immutable("(>= all)", 2..=2, comparison_type, |call| compared(call, Quantifier::All, Ordering::is_ge)),
];

/// `x = ANY (array)`, of the array and x. DataFusion's function for it takes a NULL item for one
/// that is not equal, has an array of a subquery once for each row, and knows fewer types; arrays
/// that are constant and short become lists by it.
pub(super) static EQUALS_ANY_OF: Function = immutable(EQUALS_ANY, 2..=2, comparison_type, has);

/// # Errors
/// PostgreSQL's for what is no array, and for an item that cannot be compared with those in it.
pub(super) fn comparison_type(asked: &Arguments) -> Result<DataType> {
    if list_of(asked, &[0], &[1]).is_ok() {
        return Ok(DataType::Boolean);
    }
    let Some(items) = asked.types.first().and_then(|data_type| item_of(data_type)) else {
        return fail(SqlState::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
    };
    let left = match asked.constants.get(1) {
        // The planner takes it for an int8.
        Some(Some(ScalarValue::Int64(Some(number)))) if i32::try_from(*number).is_ok() => Kind::Int4.name(),
        _ => asked.kind(1).name(),
    };
    let right = Kind::of(items.data_type()).name();
    let op = asked.function.trim_start_matches('(').split(' ').next().unwrap_or("=");
    fail(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {left} {op} {right}"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantifier {
    Any,
    All,
}

/// The arrays, and the values that are compared with their items, of one type.
fn operands(call: &Call) -> Result<(ListArray, ArrayRef)> {
    let wanted = items_type(call, &[0], &[1])?;
    Ok((lists(call, 0, &wanted)?, item(call, 1, &wanted)?))
}

fn compared(call: &Call, quantifier: Quantifier, holds: fn(Ordering) -> bool) -> Result<ArrayRef> {
    let (lists, values) = operands(call)?;
    answers(call, &lists, &values, quantifier, holds)
}

/// An item that decides is looked for: one that fulfils ANY, or one that fails ALL. Without it a
/// NULL among the items leaves it open.
fn answers(
    call: &Call,
    lists: &ListArray,
    values: &ArrayRef,
    quantifier: Quantifier,
    holds: fn(Ordering) -> bool,
) -> Result<ArrayRef> {
    let (decided, otherwise) = (quantifier == Quantifier::Any, quantifier == Quantifier::All);
    let compare = comparator(lists.values(), values)?;
    let decides =
        |place: usize, row: usize| lists.values().is_valid(place) && holds(compare(place, row).reverse()) == decided;
    let one = (lists.len() == 1 && call.rows > 1).then(|| Extremes::of(lists)).transpose()?;
    let stop = Stop::of(call.options);
    let mut answers = BooleanBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        stop.check()?;
        let list = if one.is_some() { 0 } else { row };
        let items = places(lists, list);
        let answer = if lists.is_null(list) {
            None
        } else if items.is_empty() {
            Some(otherwise)
        } else if values.is_null(row) {
            None
        } else {
            let (found, is_open) = match &one {
                Some(one) => (one.places.iter().any(|place| decides(*place, row)), one.has_null),
                None => {
                    let is_null = |place| lists.values().is_null(place);
                    let found = items.clone().any(|place| decides(place, row));
                    (found, !found && items.clone().any(is_null))
                }
            };
            if found { Some(decided) } else { (!is_open).then_some(otherwise) }
        };
        answers.append_option(answer);
    }
    Ok(Arc::new(answers.finish()))
}

/// The least and the greatest item of one array that all rows are compared with: if any item
/// decides, one of those does.
struct Extremes {
    places: Vec<usize>,
    has_null: bool,
}

impl Extremes {
    fn of(lists: &ListArray) -> Result<Self> {
        let items = lists.values();
        let compare = comparator(items, items)?;
        let valid = || places(lists, 0).filter(|place| items.is_valid(*place));
        let ends =
            [valid().min_by(|one, other| compare(*one, *other)), valid().max_by(|one, other| compare(*one, *other))];
        Ok(Self {
            places: ends.into_iter().flatten().collect(),
            has_null: places(lists, 0).any(|place| items.is_null(place)),
        })
    }
}

fn has(call: &Call) -> Result<ArrayRef> {
    let (lists, values) = operands(call)?;
    match lists.len() == 1 && call.rows > 1 {
        true => one_has(&lists, &values),
        false => answers(call, &lists, &values, Quantifier::Any, Ordering::is_eq),
    }
}

/// The same of one array, whose items are hashed.
fn one_has(lists: &ListArray, item: &ArrayRef) -> Result<ArrayRef> {
    if lists.is_null(0) {
        return Ok(new_null_array(&DataType::Boolean, item.len()));
    }
    let items = keys::of_array(&lists.value(0))?;
    let item = keys::of_array(item)?;
    if items.is_empty() {
        return Ok(Arc::new(BooleanArray::from(vec![false; item.len()])));
    }
    let otherwise = (items.null_count() == 0).then_some(false);
    let found = found_among(&items, &item)?;
    let of_row = |row| match item.is_valid(row) {
        true if found[row] => Some(true),
        true => otherwise,
        false => None,
    };
    Ok(Arc::new((0..item.len()).map(of_row).collect::<BooleanArray>()))
}
