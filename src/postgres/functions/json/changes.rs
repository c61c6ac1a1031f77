//! Documents made of others: `||`, `-`, `#-`, `jsonb_set` and its like; and what is asked of one as
//! a whole: `@>`, `?`, `?|`, `?&`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, LargeStringBuilder, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::error::{SqlState, fail};
use super::super::kind::Kind;
use super::super::scalar::{Arguments, Call, Function, immutable};
use super::access::of_one;
use super::documents::{Built, Documents, TextLists, Trees, borrowed};
use super::{CONCAT, CONTAINS, DELETE, fits, is_path, is_text, no_operator};
use crate::types::json::{
    Json, JsonKind, Placement, Tree, concatenated, contains, removed, removed_at, removed_path, set_path,
    without_nulls, write_quoted,
};

pub(super) static FUNCTIONS: [Function; 14] = [
    immutable(CONCAT, 2..=2, |arguments| of_both(arguments, DataType::LargeUtf8), concat),
    immutable(CONTAINS, 2..=2, |arguments| of_both(arguments, DataType::Boolean), |call| contained(call, 0, 1)),
    immutable(
        "jsonb_contained",
        2..=2,
        |arguments| of_both(arguments, DataType::Boolean),
        |call| contained(call, 1, 0),
    ),
    immutable(DELETE, 2..=2, returns_deleted, delete),
    immutable("jsonb_delete_path", 2..=2, |arguments| with_path(arguments, "#-"), delete_path),
    immutable("jsonb_exists", 2..=2, |arguments| has_key(arguments, is_text, "?"), exists),
    immutable("jsonb_exists_any", 2..=2, |arguments| has_key(arguments, is_path, "?|"), |call| exist(call, false)),
    immutable("jsonb_exists_all", 2..=2, |arguments| has_key(arguments, is_path, "?&"), |call| exist(call, true)),
    immutable("jsonb_set", 3..=4, returns_set, set),
    immutable("jsonb_insert", 3..=4, returns_set, set),
    immutable("jsonb_set_lax", 3..=5, returns_set_lax, set_lax),
    immutable("jsonb_strip_nulls", 1..=1, |arguments| of_one(arguments, Kind::Jsonb, DataType::LargeUtf8), strip),
    immutable("json_strip_nulls", 1..=1, |arguments| of_one(arguments, Kind::Json, DataType::LargeBinary), strip_text),
    immutable("jsonb_pretty", 1..=1, |arguments| of_one(arguments, Kind::Jsonb, DataType::Utf8View), pretty),
];

fn of_both(arguments: &Arguments, returns: DataType) -> Result<DataType> {
    let all = (0..2).all(|place| fits(arguments, place, Kind::Jsonb));
    if all { Ok(returns) } else { arguments.undefined() }
}

fn with_path(arguments: &Arguments, operator: &str) -> Result<DataType> {
    if fits(arguments, 0, Kind::Jsonb) && is_path(arguments, 1) {
        Ok(DataType::LargeUtf8)
    } else {
        no_operator(operator, arguments)
    }
}

fn has_key(arguments: &Arguments, is_key: fn(&Arguments, usize) -> bool, operator: &str) -> Result<DataType> {
    if fits(arguments, 0, Kind::Jsonb) && is_key(arguments, 1) {
        Ok(DataType::Boolean)
    } else {
        no_operator(operator, arguments)
    }
}

fn returns_deleted(arguments: &Arguments) -> Result<DataType> {
    let deleted = is_text(arguments, 1) || is_path(arguments, 1) || arguments.kind(1).is_integer();
    if fits(arguments, 0, Kind::Jsonb) && deleted { Ok(DataType::LargeUtf8) } else { no_operator("-", arguments) }
}

fn returns_set(arguments: &Arguments) -> Result<DataType> {
    let documents = [0, 2].into_iter().all(|place| fits(arguments, place, Kind::Jsonb));
    if documents && is_path(arguments, 1) && fits(arguments, 3, Kind::Bool) {
        Ok(DataType::LargeUtf8)
    } else {
        arguments.undefined()
    }
}

fn returns_set_lax(arguments: &Arguments) -> Result<DataType> {
    if !is_text(arguments, 4) {
        return arguments.undefined();
    }
    returns_set(arguments)
}

/// A column of the trees that `change` makes of rows without NULLs.
fn changed<'a>(call: &Call, rows: impl Iterator<Item = Result<Option<Tree<'a>>>>) -> Result<ArrayRef> {
    let mut built = LargeStringBuilder::with_capacity(call.rows, 0);
    let mut reserved = call.reserve();
    let mut text = String::new();
    for tree in rows {
        match tree? {
            Some(tree) => {
                text.clear();
                tree.write(&mut text);
                reserved.value(text.len())?;
                built.append_value(&text);
            }
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

fn concat(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (Trees::of(call, 0)?, Trees::of(call, 1)?);
    changed(
        call,
        (0..call.rows).map(|row| match (left.get(row)?, right.get(row)?) {
            (Some(left), Some(right)) => Ok(Some(concatenated(left, right))),
            _ => Ok(None),
        }),
    )
}

fn contained(call: &Call, whole: usize, part: usize) -> Result<ArrayRef> {
    let (wholes, parts) = (Trees::of(call, whole)?, Trees::of(call, part)?);
    // What is asked of all rows is taken apart once.
    let one = if call.args.get(part).is_some_and(|array| array.len() == 1) { parts.get(0)? } else { None };
    let mut found = BooleanBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        let sought = match &one {
            Some(_) => None,
            None => parts.get(row)?,
        };
        match (wholes.get(row)?, one.as_ref().or(sought.as_ref())) {
            (Some(whole), Some(part)) => found.append_value(contains(&whole, part)?),
            _ => found.append_null(),
        }
    }
    Ok(Arc::new(found.finish()))
}

fn delete(call: &Call) -> Result<ArrayRef> {
    let documents = Trees::of(call, 0)?;
    if call.kind(1).is_integer() {
        let places = call.int8(1)?;
        return changed(
            call,
            (0..call.rows).map(|row| match documents.get(row)? {
                Some(tree) if places.is_valid(row) => Ok(Some(removed_at(tree, places.value(row))?)),
                _ => Ok(None),
            }),
        );
    }
    if call.kind(1) == Kind::Array {
        let keys = TextLists::of(call, 1)?;
        return changed(
            call,
            (0..call.rows).map(|row| match (documents.get(row)?, keys.get(row)?) {
                (Some(tree), Some(keys)) => {
                    let keys: HashSet<&str> = keys.iter().flatten().map(String::as_str).collect();
                    Ok(Some(removed(tree, &|key| keys.contains(key))?))
                }
                _ => Ok(None),
            }),
        );
    }
    let keys = call.text(1)?;
    changed(
        call,
        (0..call.rows).map(|row| match documents.get(row)? {
            Some(tree) if keys.is_valid(row) => {
                let key = keys.value(row);
                Ok(Some(removed(tree, &|name| name == key)?))
            }
            _ => Ok(None),
        }),
    )
}

fn delete_path(call: &Call) -> Result<ArrayRef> {
    let (documents, paths) = (Trees::of(call, 0)?, TextLists::of(call, 1)?);
    let mut texts = LargeStringBuilder::with_capacity(call.rows, 0);
    for row in 0..call.rows {
        match (documents.get(row)?, paths.get(row)?) {
            (Some(tree), Some(path)) => {
                texts.append_value(removed_path(tree, &borrowed(&path))?.to_text());
            }
            _ => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// Whether a text is a key of an object, an element of an array, or the value.
fn has(json: Json, is_sought: &mut dyn FnMut(&str) -> bool) -> Result<()> {
    match json.kind {
        JsonKind::Object => {
            for (key, _) in json.parts()? {
                is_sought(&key);
            }
        }
        JsonKind::Array => {
            for (_, part) in json.parts()? {
                if part.kind == JsonKind::String
                    && let Some(text) = part.plain()?
                {
                    is_sought(&text);
                }
            }
        }
        JsonKind::String => {
            if let Some(text) = json.plain()? {
                is_sought(&text);
            }
        }
        _ => {}
    }
    Ok(())
}

fn exists(call: &Call) -> Result<ArrayRef> {
    let (documents, keys) = (Documents::of(call, 0)?, call.text(1)?);
    let found = |row| match documents.get(row, false)? {
        Some(json) if keys.is_valid(row) => {
            let (key, mut found) = (keys.value(row), false);
            has(json, &mut |text| {
                found |= text == key;
                found
            })?;
            Ok(Some(found))
        }
        _ => Ok(None),
    };
    Ok(Arc::new((0..call.rows).map(found).collect::<Result<BooleanArray>>()?))
}

fn exist(call: &Call, all: bool) -> Result<ArrayRef> {
    let (documents, keys) = (Documents::of(call, 0)?, TextLists::of(call, 1)?);
    let found = |row| match (documents.get(row, false)?, keys.get(row)?) {
        (Some(json), Some(keys)) => {
            let keys: HashSet<&str> = keys.iter().flatten().map(String::as_str).collect();
            let mut left = keys.clone();
            has(json, &mut |text| left.remove(text))?;
            Ok(Some(if all { left.is_empty() } else { left.len() < keys.len() }))
        }
        _ => Ok(None),
    };
    Ok(Arc::new((0..call.rows).map(found).collect::<Result<BooleanArray>>()?))
}

/// An argument that is a truth value, or is not given.
fn flags(call: &Call, place: usize, otherwise: bool) -> Result<BooleanArray> {
    if call.len() <= place {
        return Ok(BooleanArray::from(vec![otherwise; call.rows]));
    }
    Ok(call.as_type(place, &DataType::Boolean)?.as_boolean().clone())
}

fn set(call: &Call) -> Result<ArrayRef> {
    let inserts = call.function == "jsonb_insert";
    let (documents, paths, values) = (Trees::of(call, 0)?, TextLists::of(call, 1)?, Trees::of(call, 2)?);
    let flags = flags(call, 3, !inserts)?;
    let mut texts = LargeStringBuilder::with_capacity(call.rows, 0);
    for row in 0..call.rows {
        match (documents.get(row)?, paths.get(row)?, values.get(row)?) {
            (Some(tree), Some(path), Some(value)) if flags.is_valid(row) => {
                let flag = flags.value(row);
                let placement = match inserts {
                    true => Placement::Insert { after: flag },
                    false => Placement::Set { create: flag },
                };
                let changed = set_path(tree, &borrowed(&path), value, placement)?;
                texts.append_value(changed.to_text());
            }
            _ => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

fn set_lax(call: &Call) -> Result<ArrayRef> {
    let (documents, paths, values) = (Trees::of(call, 0)?, TextLists::of(call, 1)?, Trees::of(call, 2)?);
    let flags = flags(call, 3, true)?;
    let treatments = if call.len() > 4 { Some(call.text(4)?) } else { None };
    let mut texts = LargeStringBuilder::with_capacity(call.rows, 0);
    for row in 0..call.rows {
        let (Some(tree), Some(path), true) = (documents.get(row)?, paths.get(row)?, flags.is_valid(row)) else {
            texts.append_null();
            continue;
        };
        let treatment = match &treatments {
            None => "use_json_null",
            Some(treatments) if treatments.is_null(row) => {
                let message = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
                return fail(SqlState::INVALID_PARAMETER_VALUE, message);
            }
            Some(treatments) => treatments.value(row),
        };
        let (path, create) = (borrowed(&path), flags.value(row));
        let changed = match (values.get(row)?, treatment) {
            (Some(value), _) => set_path(tree, &path, value, Placement::Set { create }),
            (None, "raise_exception") => {
                return fail(SqlState::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null");
            }
            (None, "use_json_null") => set_path(tree, &path, Tree::Null, Placement::Set { create }),
            (None, "delete_key") => removed_path(tree, &path),
            (None, "return_target") => Ok(tree),
            (None, _) => {
                let message = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
                return fail(SqlState::INVALID_PARAMETER_VALUE, message);
            }
        };
        texts.append_value(changed?.to_text());
    }
    Ok(Arc::new(texts.finish()))
}

fn strip(call: &Call) -> Result<ArrayRef> {
    let documents = Trees::of(call, 0)?;
    changed(call, (0..call.rows).map(|row| Ok(documents.get(row)?.map(without_nulls))))
}

fn strip_text(call: &Call) -> Result<ArrayRef> {
    let documents = Documents::of(call, 0)?;
    let mut built = Built::of(call.returns);
    let mut out = String::new();
    for row in 0..call.rows {
        match documents.get(row, true)? {
            Some(json) => {
                out.clear();
                write_stripped(json, &mut out)?;
                built.append(Some(&out));
            }
            None => built.append(None),
        }
    }
    Ok(built.finish())
}

/// Without blanks, members in their order.
fn write_stripped(json: Json, out: &mut String) -> Result<()> {
    match json.kind {
        JsonKind::Object | JsonKind::Array => {
            let is_object = json.kind == JsonKind::Object;
            out.push(if is_object { '{' } else { '[' });
            let parts = json.parts()?;
            let left = parts.into_iter().filter(|(_, part)| !is_object || part.kind != JsonKind::Null);
            for (at, (key, part)) in left.enumerate() {
                if at > 0 {
                    out.push(',');
                }
                if is_object {
                    write_quoted(&key, out);
                    out.push(':');
                }
                write_stripped(part, out)?;
            }
            out.push(if is_object { '}' } else { ']' });
        }
        JsonKind::String => write_quoted(&json.plain()?.unwrap_or_default(), out),
        _ => out.push_str(json.text()),
    }
    Ok(())
}

fn pretty(call: &Call) -> Result<ArrayRef> {
    let documents = Trees::of(call, 0)?;
    let mut reserved = call.budget.reserve(call.rows, documents.texts().value_data().len());
    let mut built = StringViewBuilder::with_capacity(call.rows);
    for row in 0..call.rows {
        match documents.get(row)? {
            Some(tree) => {
                reserved.value(documents.texts().value(row).len().saturating_add(tree.pretty_blanks(0)))?;
                let mut out = String::new();
                tree.write_pretty(0, &mut out);
                built.append_value(out);
            }
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}
