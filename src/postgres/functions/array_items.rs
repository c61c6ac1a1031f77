//! Functions that make arrays of the items of others: what they remove, replace, append and find.
//! NULL is an item like others, which is equal to itself.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, DynComparator, Int32Array, ListArray, ListBuilder, PrimitiveBuilder,
    UInt64Array, make_comparator,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{SortOptions, interleave, take};
use arrow::datatypes::{DataType, FieldRef, Int32Type};
use arrow::row::{Row, RowConverter, SortField};
use datafusion::common::Result;

use super::cast::cast_array;
use super::common_type::common_type;
use super::error::{SqlState, fail};
use super::keys;
use super::scalar::{Arguments, Call, Function, SLICE, SUBSCRIPT, immutable};
use super::value_budget::Reserved;
use super::zone::Zone;
use crate::carried::Stop;

pub(super) static FUNCTIONS: [Function; 11] = [
    immutable("array_append", 2..=2, |asked| list_of(asked, &[0], &[1]), |call| joined(call, Join::Append)),
    immutable("array_prepend", 2..=2, |asked| list_of(asked, &[1], &[0]), |call| joined(call, Join::Prepend)),
    immutable("array_cat", 2..=2, |asked| list_of(asked, &[0, 1], &[]), |call| joined(call, Join::Arrays)),
    immutable("array_remove", 2..=2, |asked| list_of(asked, &[0], &[1]), removed),
    immutable("array_replace", 3..=3, |asked| list_of(asked, &[0], &[1, 2]), replaced),
    immutable(
        "array_positions",
        2..=2,
        |asked| list_of(asked, &[0], &[1]).map(|_| DataType::new_list(DataType::Int32, true)),
        positions,
    ),
    immutable(
        "arraycontains",
        2..=2,
        |asked| list_of(asked, &[0, 1], &[]).map(|_| DataType::Boolean),
        |call| contained(call, 0, 1),
    ),
    immutable(
        "arraycontained",
        2..=2,
        |asked| list_of(asked, &[0, 1], &[]).map(|_| DataType::Boolean),
        |call| contained(call, 1, 0),
    ),
    immutable(SUBSCRIPT, 2..=2, item_type, subscripted),
    immutable(SLICE, 3..=3, |asked| list_of(asked, &[0], &[]), sliced),
    immutable("trim_array", 2..=2, |asked| list_of(asked, &[0], &[]), trimmed),
];

fn item_type(asked: &Arguments) -> Result<DataType> {
    match asked.types.first().and_then(|data_type| item_of(data_type)) {
        Some(item) => Ok(item.data_type().clone()),
        None => asked.undefined(),
    }
}

pub(super) fn item_of(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item) => Some(item),
        _ => None,
    }
}

/// A NULL, or a literal in quotes: those alone are texts of this form.
fn is_untyped(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Null | DataType::Utf8)
}

/// The array that holds the items of arrays and the items among the arguments, by their places.
pub(super) fn list_of(asked: &Arguments, arrays: &[usize], items: &[usize]) -> Result<DataType> {
    let (mut types, mut named) = (Vec::new(), None);
    for place in arrays {
        let Some(data_type) = asked.types.get(*place) else { return asked.undefined() };
        match item_of(data_type) {
            Some(item) if matches!(item.data_type(), DataType::List(_)) => return asked.undefined(),
            Some(item) => {
                named.get_or_insert(item);
                if item.data_type() != &DataType::Null {
                    types.push(item.data_type().clone());
                }
            }
            None if is_untyped(data_type) => {}
            None => return asked.undefined(),
        }
    }
    for place in items {
        let Some(data_type) = asked.types.get(*place) else { return asked.undefined() };
        if item_of(data_type).is_some() {
            return asked.undefined();
        }
        if !is_untyped(data_type) {
            types.push((*data_type).clone());
        }
    }
    let Some(first) = types.first() else { return Ok(DataType::new_list(DataType::Utf8View, true)) };
    match common_type(&types, &vec![false; types.len()]) {
        Ok(Some(item)) => Ok(DataType::new_list(item, true)),
        Ok(None) => match named.filter(|item| item.data_type() == first) {
            Some(item) => Ok(DataType::List(Arc::clone(item))),
            None => Ok(DataType::new_list(first.clone(), true)),
        },
        Err(_) => asked.undefined(),
    }
}

/// The type of the items that a call works on.
pub(super) fn items_type(call: &Call, arrays: &[usize], items: &[usize]) -> Result<DataType> {
    let types = call.args.iter().map(|array| array.data_type()).collect();
    list_of(&Arguments { function: call.function, types, constants: vec![None; call.len()] }, arrays, items)
}

/// The first subscript, from those of `starts` on, at which each array holds a value; an array's
/// own subscripts start at `first`.
///
/// # Errors
/// The value cannot be compared with the items, or where it is looked for is NULL.
pub(super) fn first_positions(
    array: &ArrayRef,
    item: &ArrayRef,
    first: i32,
    starts: Option<&Int32Array>,
    zone: &Zone,
) -> Result<ArrayRef> {
    let types = vec![array.data_type(), item.data_type()];
    let wanted = list_of(&Arguments { function: "array_position", types, constants: vec![None; 2] }, &[0], &[1])?;
    let lists = cast_array(array, &wanted, zone)?.as_list::<i32>().clone();
    let item = match item_of(&wanted) {
        Some(item_type) => cast_array(item, item_type.data_type(), zone)?,
        None => Arc::clone(item),
    };
    let compare = comparator(lists.values(), &item)?;
    let position = |row: usize| {
        if lists.is_null(row) {
            return Ok(None);
        }
        let start = match starts {
            Some(starts) if starts.is_null(row) => {
                return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "initial position must not be null");
            }
            Some(starts) => starts.value(row),
            None => first,
        };
        let mut subscripts = places(&lists, row).zip(first..).filter(|(_, subscript)| *subscript >= start);
        let found = subscripts.find(|(place, _)| compare(*place, row) == Ordering::Equal);
        Ok(found.map(|(_, subscript)| subscript))
    };
    Ok(Arc::new((0..lists.len()).map(position).collect::<Result<Int32Array>>()?))
}

/// An argument that is an array, with items of a type.
pub(super) fn lists(call: &Call, place: usize, wanted: &DataType) -> Result<ListArray> {
    Ok(cast_array(call.arg(place)?, wanted, &call.zone)?.as_list::<i32>().clone())
}

/// An argument that is an item of an array of a type.
pub(super) fn item(call: &Call, place: usize, wanted: &DataType) -> Result<ArrayRef> {
    match item_of(wanted) {
        Some(item) => cast_array(call.arg(place)?, item.data_type(), &call.zone),
        None => call.arg(place).cloned(),
    }
}

/// Compares the items of an array with other values, as `IS NOT DISTINCT FROM` does.
pub(super) fn comparator(items: &ArrayRef, values: &ArrayRef) -> Result<DynComparator> {
    Ok(make_comparator(&keys::of_array(items)?, &keys::of_array(values)?, SortOptions::default())?)
}

/// What an item takes that has no width of its own, without its text.
const VIEW_BYTES: usize = 16;

/// The items of arrays that are made: each is one of several arrays at a place.
struct Built {
    items: Vec<(usize, usize)>,
    reserved: Reserved,
    item_bytes: usize,
    /// How many of them are in rows that have ended.
    ended: usize,
    lengths: Vec<usize>,
    valid: Vec<bool>,
}

impl Built {
    fn new(call: &Call) -> Self {
        Self {
            items: Vec::new(),
            reserved: call.reserve(),
            item_bytes: item_of(call.returns).and_then(|item| item.data_type().primitive_width()).unwrap_or(VIEW_BYTES),
            ended: 0,
            lengths: Vec::with_capacity(call.rows),
            valid: Vec::with_capacity(call.rows),
        }
    }

    /// Ends a row, whose items were added.
    fn end(&mut self, valid: bool) -> Result<()> {
        let length = self.items.len() - std::mem::replace(&mut self.ended, self.items.len());
        self.lengths.push(length);
        self.valid.push(valid);
        self.reserved.value(length * self.item_bytes)
    }

    fn finish(self, item: &DataType, sources: &[&ArrayRef]) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = sources.iter().map(|array| array.as_ref()).collect();
        let Some(field) = item_of(item) else { return fail(SqlState::INTERNAL_ERROR, "an array without items") };
        let items = match self.items.is_empty() {
            true => arrow::array::new_empty_array(field.data_type()),
            false => interleave(&arrays, &self.items)?,
        };
        let (offsets, nulls) = (OffsetBuffer::from_lengths(self.lengths), NullBuffer::from(self.valid));
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, items, Some(nulls))?))
    }
}

/// The places of a row's items.
pub(super) fn places(lists: &ListArray, row: usize) -> std::ops::Range<usize> {
    if lists.is_null(row) {
        return 0..0;
    }
    let offsets = lists.value_offsets();
    let place = |at: usize| usize::try_from(offsets[at]).unwrap_or(0);
    place(row)..place(row + 1)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Append,
    Prepend,
    Arrays,
}

/// A NULL array counts as an empty one, but that two of them are NULL.
fn joined(call: &Call, join: Join) -> Result<ArrayRef> {
    let (arrays, items): (&[usize], &[usize]) = match join {
        Join::Append => (&[0], &[1]),
        Join::Prepend => (&[1], &[0]),
        Join::Arrays => (&[0, 1], &[]),
    };
    let wanted = items_type(call, arrays, items)?;
    let first = lists(call, arrays[0], &wanted)?;
    let mut built = Built::new(call);
    if join == Join::Arrays {
        let second = lists(call, 1, &wanted)?;
        for row in 0..call.rows {
            built.items.extend(places(&first, row).map(|place| (0, place)));
            built.items.extend(places(&second, row).map(|place| (1, place)));
            built.end(first.is_valid(row) || second.is_valid(row))?;
        }
        return built.finish(&wanted, &[first.values(), second.values()]);
    }
    let item = item(call, items[0], &wanted)?;
    for row in 0..call.rows {
        if join == Join::Prepend {
            built.items.push((1, row));
        }
        built.items.extend(places(&first, row).map(|place| (0, place)));
        if join == Join::Append {
            built.items.push((1, row));
        }
        built.end(true)?;
    }
    built.finish(&wanted, &[first.values(), &item])
}

fn removed(call: &Call) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0], &[1])?;
    let (lists, item) = (lists(call, 0, &wanted)?, item(call, 1, &wanted)?);
    let compare = comparator(lists.values(), &item)?;
    let mut built = Built::new(call);
    for row in 0..call.rows {
        let others = places(&lists, row).filter(|place| compare(*place, row) != Ordering::Equal);
        built.items.extend(others.map(|place| (0, place)));
        built.end(lists.is_valid(row))?;
    }
    built.finish(&wanted, &[lists.values()])
}

fn replaced(call: &Call) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0], &[1, 2])?;
    let (lists, item, by) = (lists(call, 0, &wanted)?, item(call, 1, &wanted)?, item(call, 2, &wanted)?);
    let compare = comparator(lists.values(), &item)?;
    let mut built = Built::new(call);
    for row in 0..call.rows {
        let replace = |place| if compare(place, row) == Ordering::Equal { (1, row) } else { (0, place) };
        built.items.extend(places(&lists, row).map(replace));
        built.end(lists.is_valid(row))?;
    }
    built.finish(&wanted, &[lists.values(), &by])
}

fn positions(call: &Call) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0], &[1])?;
    let (lists, item) = (lists(call, 0, &wanted)?, item(call, 1, &wanted)?);
    let compare = comparator(lists.values(), &item)?;
    let mut built = ListBuilder::new(PrimitiveBuilder::<Int32Type>::new());
    for row in 0..call.rows {
        let found = places(&lists, row).zip(1..).filter(|(place, _)| compare(*place, row) == Ordering::Equal);
        found.for_each(|(_, position)| built.values().append_value(position));
        built.append(lists.is_valid(row));
    }
    Ok(Arc::new(built.finish()))
}

fn trimmed(call: &Call) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0], &[])?;
    let (lists, counts) = (lists(call, 0, &wanted)?, call.int8(1)?);
    let mut built = Built::new(call);
    for row in 0..call.rows {
        if lists.is_null(row) || counts.is_null(row) {
            built.end(false)?;
            continue;
        }
        let places = places(&lists, row);
        match usize::try_from(counts.value(row)).ok().filter(|count| *count <= places.len()) {
            Some(count) => built.items.extend((places.start..places.end - count).map(|place| (0, place))),
            None => {
                let message = format!("number of elements to trim must be between 0 and {}", places.len());
                return fail(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
            }
        }
        built.end(true)?;
    }
    built.finish(&wanted, &[lists.values()])
}

/// Whether the array at place `whole` holds every item of the one at place `part`. A NULL is
/// equal to nothing.
fn contained(call: &Call, whole: usize, part: usize) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0, 1], &[])?;
    let (whole, part) = (lists(call, whole, &wanted)?, lists(call, part, &wanted)?);
    let compare = comparator(part.values(), whole.values())?;
    let stop = Stop::of(call.options);
    let mut values = BooleanBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        if whole.is_null(row) || part.is_null(row) {
            values.append_null();
            continue;
        }
        let mut holds = true;
        for item in places(&part, row) {
            stop.check()?;
            let mut candidates = places(&whole, row);
            holds &= part.values().is_valid(item) && candidates.any(|place| compare(item, place) == Ordering::Equal);
            if !holds {
                break;
            }
        }
        values.append_value(holds);
    }
    Ok(Arc::new(values.finish()))
}

/// The item at a place from 1 on; NULL outside the array.
fn subscripted(call: &Call) -> Result<ArrayRef> {
    let array = call.arg(0)?;
    let Some(lists) = array.as_list_opt::<i32>() else {
        return fail(SqlState::DATATYPE_MISMATCH, "cannot subscript what is no array");
    };
    let subscripts = call.int8(1)?;
    let place = |row: usize| {
        if subscripts.is_null(row) {
            return None;
        }
        let before = usize::try_from(subscripts.value(row)).ok()?.checked_sub(1)?;
        places(lists, row).nth(before).map(|place| place as u64)
    };
    Ok(take(lists.values(), &(0..call.rows).map(place).collect::<UInt64Array>(), None)?)
}

/// The items from a place to another, as far as there are any; NULL beside a NULL.
fn sliced(call: &Call) -> Result<ArrayRef> {
    let wanted = items_type(call, &[0], &[])?;
    let (lists, from, to) = (lists(call, 0, &wanted)?, call.int8(1)?, call.int8(2)?);
    let mut built = Built::new(call);
    for row in 0..call.rows {
        let valid = lists.is_valid(row) && from.is_valid(row) && to.is_valid(row);
        if valid {
            let (from, to) = (from.value(row), to.value(row));
            let items = places(&lists, row).zip(1_i64..).filter(|(_, place)| (from..=to).contains(place));
            built.items.extend(items.map(|(place, _)| (0, place)));
        }
        built.end(valid)?;
    }
    built.finish(&wanted, &[lists.values()])
}

/// Which values are among items of the same type, by hash; both as they are compared. A NULL is
/// not.
pub(super) fn found_among(items: &ArrayRef, values: &ArrayRef) -> Result<Vec<bool>> {
    let converter = RowConverter::new(vec![SortField::new(items.data_type().clone())])?;
    let (known, asked) =
        (converter.convert_columns(&[Arc::clone(items)])?, converter.convert_columns(&[Arc::clone(values)])?);
    let known: HashSet<Row> = (0..items.len()).filter(|at| items.is_valid(*at)).map(|at| known.row(at)).collect();
    Ok((0..values.len()).map(|at| values.is_valid(at) && known.contains(&asked.row(at))).collect())
}
