//! Functions that tell where a pattern matches, and what.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListBuilder, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::cache::RowPatterns;
use super::division::Span;
use super::options::{Flags, Options};
use super::pattern::{Matches, Pattern};
use crate::carried::Stop;
use crate::functions::error::{SqlState, fail};
use crate::functions::kind::Kind;
use crate::functions::scalar::{Arguments, Call, Function, immutable};
use crate::functions::value_budget::too_long;

type Returned = fn(&Arguments) -> Result<DataType>;

const fn function(name: &'static str, most: usize, returns: Returned, run: fn(&Call) -> Result<ArrayRef>) -> Function {
    immutable(name, 2..=most, returns, run)
}

pub(in crate::functions) static FUNCTIONS: [Function; 7] = [
    function("regexp_like", 3, |asked| of_texts(asked, DataType::Boolean), run_like),
    function("regexp_count", 4, |asked| of_texts(asked, DataType::Int32), run_count),
    function("regexp_instr", 7, |asked| of_texts(asked, DataType::Int32), run_instr),
    function("regexp_substr", 6, |asked| of_texts(asked, DataType::Utf8View), run_substr),
    function("regexp_match", 3, |asked| of_texts(asked, list(DataType::Utf8View)), run_match),
    function("regexp_matches", 3, |asked| of_texts(asked, list(list(DataType::Utf8View))), run_matches),
    function("regexp_split_to_array", 3, |asked| of_texts(asked, list(DataType::Utf8View)), run_split),
];

fn list(item: DataType) -> DataType {
    DataType::new_list(item, true)
}

/// The type, if the first two arguments are texts, and the others texts or integers.
pub(super) fn of_texts(asked: &Arguments, data_type: DataType) -> Result<DataType> {
    let is_text = |place| matches!(asked.kind(place), Kind::Text | Kind::Null);
    let others = (2..asked.types.len()).all(|place| is_text(place) || asked.kind(place).is_integer());
    if is_text(0) && is_text(1) && others { Ok(data_type) } else { asked.undefined() }
}

/// A number among the arguments, by its name in messages.
struct Number {
    place: usize,
    name: &'static str,
    least: i64,
    most: i64,
    default: i64,
}

const fn number(place: usize, name: &'static str, least: i64, default: i64) -> Number {
    Number { place, name, least, most: i64::MAX, default }
}

const START: Number = number(2, "start", 1, 1);
const NTH: Number = number(3, "n", 1, 1);

/// The arguments of all rows.
struct Rows<'a> {
    call: &'a Call<'a>,
    texts: StringViewArray,
    patterns: StringViewArray,
    flags: Option<StringViewArray>,
    numbers: Vec<(&'a Number, Option<Int64Array>)>,
    compiled: RowPatterns,
    stop: Stop,
    /// Whether flag `g` has a meaning.
    global: bool,
}

/// Those of one row.
struct Row<'a> {
    text: &'a str,
    pattern: Arc<Pattern>,
    global: bool,
    numbers: Vec<i64>,
    stop: &'a Stop,
}

impl<'a> Rows<'a> {
    fn of(call: &'a Call, flags: usize, numbers: &'a [Number]) -> Result<Self> {
        let numbers = numbers.iter().map(|number| {
            let given = number.place < call.len();
            Ok((number, if given { Some(call.int8(number.place)?) } else { None }))
        });
        Ok(Self {
            call,
            texts: call.text(0)?,
            patterns: call.text(1)?,
            flags: if flags < call.len() { Some(call.text(flags)?) } else { None },
            numbers: numbers.collect::<Result<_>>()?,
            compiled: RowPatterns::of(call.options),
            stop: Stop::of(call.options),
            global: false,
        })
    }

    /// A value for each row in which no argument is NULL.
    fn each<T>(&mut self, mut of_row: impl FnMut(Row) -> Result<Option<T>>) -> Result<Vec<Option<T>>> {
        let mut values = Vec::with_capacity(self.call.rows);
        for row in 0..self.call.rows {
            let value = match self.row(row)? {
                Some(row) => of_row(row)?,
                None => None,
            };
            values.push(value);
        }
        Ok(values)
    }

    fn row(&mut self, row: usize) -> Result<Option<Row<'_>>> {
        let numbers = self.numbers.iter().filter_map(|(_, given)| given.as_ref());
        if self.texts.is_null(row)
            || self.patterns.is_null(row)
            || self.flags.as_ref().is_some_and(|flags| flags.is_null(row))
            || numbers.into_iter().any(|given| given.is_null(row))
        {
            return Ok(None);
        }
        self.stop.check()?;
        let letters = self.flags.as_ref().map_or("", |flags| flags.value(row));
        let (options, global) = if self.global {
            let flags = Flags::parse(letters)?;
            (flags.options, flags.global)
        } else {
            (Flags::parse_local(letters, self.call.function)?, false)
        };
        let numbers = self.numbers.iter().map(|(known, given)| {
            let number = given.as_ref().map_or(known.default, |given| given.value(row));
            if !(known.least..=known.most).contains(&number) {
                let message = format!("invalid value for parameter \"{}\": {number}", known.name);
                return fail(SqlState::INVALID_PARAMETER_VALUE, message);
            }
            Ok(number)
        });
        let numbers = numbers.collect::<Result<_>>()?;
        let pattern = self.compiled.pattern(self.patterns.value(row), options)?;
        Ok(Some(Row { text: self.texts.value(row), pattern, global, numbers, stop: &self.stop }))
    }
}

impl Row<'_> {
    /// Where the n-th match from a character on lies, or a group of it; NULL is none. All of the
    /// match is the one group of a pattern without groups.
    fn nth(&self, start: i64, nth: i64, group: i64) -> Result<Option<Span>> {
        let Some(from) = byte_of(self.text, start) else { return Ok(None) };
        let group = usize::try_from(group).unwrap_or(usize::MAX);
        if group > self.pattern.group_count().max(1) {
            return Ok(None);
        }
        let mut matches = Matches::of(&self.pattern, self.text, from, self.stop);
        for _ in 1..nth {
            if matches.next()?.is_none() {
                return Ok(None);
            }
        }
        let Some(found) = matches.next()? else { return Ok(None) };
        match group.checked_sub(1) {
            None => Ok(Some(found)),
            Some(group) => Ok(self.captured(found)?.get(group).copied().flatten()),
        }
    }

    fn part(&self, (start, end): Span) -> &str {
        &self.text[start..end]
    }

    /// What the groups of a match capture, or all of it where there are none.
    fn captured(&self, found: Span) -> Result<Vec<Option<Span>>> {
        if self.pattern.group_count() == 0 {
            return Ok(vec![Some(found)]);
        }
        self.pattern.groups(self.text, found, self.stop)
    }
}

/// The byte at which a character begins, counted from 1; one behind the last is the end.
pub(super) fn byte_of(text: &str, character: i64) -> Option<usize> {
    let before = usize::try_from(character).ok()?.checked_sub(1)?;
    text.char_indices().map(|(place, _)| place).chain([text.len()]).nth(before)
}

fn run_like(call: &Call) -> Result<ArrayRef> {
    let values = Rows::of(call, 2, &[])?.each(|row| Ok(Some(row.pattern.is_match(row.text, row.stop)?)))?;
    Ok(Arc::new(BooleanArray::from(values)))
}

fn run_count(call: &Call) -> Result<ArrayRef> {
    let values = Rows::of(call, 3, &[START])?.each(|row| {
        let mut count = 0;
        if let Some(from) = byte_of(row.text, row.numbers[0]) {
            let mut matches = Matches::of(&row.pattern, row.text, from, row.stop);
            while matches.next()?.is_some() {
                count += 1;
            }
        }
        Ok(Some(count))
    })?;
    Ok(Arc::new(Int32Array::from(values)))
}

fn run_instr(call: &Call) -> Result<ArrayRef> {
    let end_option = Number { place: 4, name: "endoption", least: 0, most: 1, default: 0 };
    let numbers = [START, NTH, end_option, number(6, "subexpr", 0, 0)];
    let values = Rows::of(call, 5, &numbers)?.each(|row| {
        let found = row.nth(row.numbers[0], row.numbers[1], row.numbers[3])?;
        Ok(Some(found.map_or(0, |(start, end)| {
            let byte = if row.numbers[2] == 1 { end } else { start };
            i32::try_from(row.text[..byte].chars().count() + 1).unwrap_or(i32::MAX)
        })))
    })?;
    Ok(Arc::new(Int32Array::from(values)))
}

fn run_substr(call: &Call) -> Result<ArrayRef> {
    let numbers = [START, NTH, number(5, "subexpr", 0, 0)];
    let mut parts = StringViewBuilder::with_capacity(call.rows);
    let mut rows = Rows::of(call, 4, &numbers)?;
    for row in 0..call.rows {
        match rows.row(row)? {
            Some(row) => {
                let found = row.nth(row.numbers[0], row.numbers[1], row.numbers[2])?;
                parts.append_option(found.map(|found| row.part(found)));
            }
            None => parts.append_null(),
        }
    }
    Ok(Arc::new(parts.finish()))
}

fn run_match(call: &Call) -> Result<ArrayRef> {
    let mut reserved = call.reserve();
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    let mut rows = Rows::of(call, 2, &[])?;
    for row in 0..call.rows {
        let row = rows.row(row)?;
        let found = match &row {
            Some(row) => row.pattern.find(row.text, 0, row.stop)?,
            None => None,
        };
        match (&row, found) {
            (Some(row), Some(found)) => {
                let groups = row.captured(found)?;
                reserved.value(groups.iter().flatten().map(|(start, end)| end - start).sum())?;
                for group in groups {
                    lists.values().append_option(group.map(|group| row.part(group)));
                }
                lists.append(true);
            }
            _ => lists.append(false),
        }
    }
    Ok(Arc::new(lists.finish()))
}

fn run_matches(call: &Call) -> Result<ArrayRef> {
    let mut reserved = call.reserve();
    let mut lists = ListBuilder::new(ListBuilder::new(StringViewBuilder::new()));
    let mut rows = Rows::of(call, 2, &[])?;
    rows.global = true;
    for row in 0..call.rows {
        let Some(row) = rows.row(row)? else {
            lists.append(false);
            continue;
        };
        let mut bytes = 0;
        let mut matches = Matches::of(&row.pattern, row.text, 0, row.stop);
        while let Some(found) = matches.next()? {
            let groups = row.captured(found)?;
            let captured: usize = groups.iter().flatten().map(|(start, end)| end - start).sum();
            bytes += captured + groups.len() * size_of::<u128>();
            within(call, bytes)?;
            for group in groups {
                lists.values().values().append_option(group.map(|group| row.part(group)));
            }
            lists.values().append(true);
            if !row.global {
                break;
            }
        }
        reserved.value(bytes)?;
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// What lies between matches. An empty match splits only between two characters, and not right
/// behind another match.
fn run_split(call: &Call) -> Result<ArrayRef> {
    let mut reserved = call.reserve();
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    let mut rows = Rows::of(call, 2, &[])?;
    for row in 0..call.rows {
        let Some(row) = rows.row(row)? else {
            lists.append(false);
            continue;
        };
        let (mut bytes, mut from, mut last) = (row.text.len(), 0, 0);
        let mut matches = Matches::of(&row.pattern, row.text, 0, row.stop);
        while let Some((start, end)) = matches.next()? {
            if start < row.text.len() && end > last {
                bytes += size_of::<u128>();
                within(call, bytes)?;
                lists.values().append_value(row.part((from, start)));
                from = end;
            }
            last = end;
        }
        reserved.value(bytes)?;
        lists.values().append_value(&row.text[from..]);
        lists.append(true);
    }
    Ok(Arc::new(lists.finish()))
}

/// An error if a value would have so many bytes.
fn within(call: &Call, bytes: usize) -> Result<()> {
    let most = call.budget.value_bytes();
    if bytes < most { Ok(()) } else { fail(SqlState::PROGRAM_LIMIT_EXCEEDED, too_long(bytes, most)) }
}

/// What a pattern matches first of a text, or its first group.
pub(in crate::functions) fn first_part<'a>(
    patterns: &mut RowPatterns,
    text: &'a str,
    pattern: &str,
    stop: &Stop,
) -> Result<Option<&'a str>> {
    let pattern = patterns.pattern(pattern, Options::default())?;
    let Some((start, end)) = pattern.find(text, 0, stop)? else { return Ok(None) };
    if pattern.group_count() == 0 {
        return Ok(Some(&text[start..end]));
    }
    let groups = pattern.groups(text, (start, end), stop)?;
    Ok(groups.first().copied().flatten().map(|(start, end)| &text[start..end]))
}
