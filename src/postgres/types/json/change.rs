//! Values with parts added, replaced or removed.

use std::borrow::Cow;

use super::tree::{Member, Tree};
use super::{Result, SqlState};
use crate::types::Error;

/// What happens at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// `jsonb_set`, which may make what is not there.
    Set { create: bool },
    /// `jsonb_insert`: what is there stays.
    Insert { after: bool },
    /// `#-`
    Remove,
}

impl Placement {
    fn makes(self) -> bool {
        matches!(self, Placement::Set { create: true } | Placement::Insert { .. })
    }
}

fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// A step of a path as a place in an array: blanks and a sign may go before the digits.
pub(super) fn place_of(step: &str) -> Option<i32> {
    let digits = step.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    digits.parse().ok()
}

/// `left || right`.
pub fn concatenated<'a>(left: Tree<'a>, right: Tree<'a>) -> Tree<'a> {
    match (left, right) {
        (Tree::Object(mut members), Tree::Object(others)) => {
            members.extend(others);
            Tree::object(members)
        }
        (left, right) => {
            let mut elements = elements_of(left);
            elements.extend(elements_of(right));
            Tree::Array(elements)
        }
    }
}

fn elements_of(tree: Tree) -> Vec<Tree> {
    match tree {
        Tree::Array(elements) => elements,
        other => vec![other],
    }
}

/// Without keys, or elements that are strings, for which `is_removed`.
///
/// # Errors
/// Nothing is removed from a scalar.
pub fn removed<'a>(tree: Tree<'a>, is_removed: &dyn Fn(&str) -> bool) -> Result<Tree<'a>> {
    Ok(match tree {
        Tree::Object(mut members) => {
            members.retain(|(key, _)| !is_removed(key));
            Tree::Object(members)
        }
        Tree::Array(mut elements) => {
            elements.retain(|element| !matches!(element, Tree::String(text) if is_removed(text)));
            Tree::Array(elements)
        }
        _ => return refused("cannot delete from scalar"),
    })
}

/// Without the element at a place, from 0, or from the end if negative.
///
/// # Errors
/// Only arrays have places.
pub fn removed_at(tree: Tree, place: i64) -> Result<Tree> {
    match tree {
        Tree::Array(mut elements) => {
            let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
            let place = if place < 0 { place.saturating_add(count) } else { place };
            if let Ok(place) = usize::try_from(place)
                && place < elements.len()
            {
                elements.remove(place);
            }
            Ok(Tree::Array(elements))
        }
        Tree::Object(_) => refused("cannot delete from object using integer index"),
        _ => refused("cannot delete from scalar"),
    }
}

/// `tree #- path`.
///
/// # Errors
/// As [`set_path`].
pub fn removed_path<'a>(tree: Tree<'a>, path: &[Option<Cow<'a, str>>]) -> Result<Tree<'a>> {
    if tree.is_scalar() {
        return refused("cannot delete path in scalar");
    }
    changed(tree, path, Tree::Null, Placement::Remove)
}

/// With a value at the end of a path of keys and places.
///
/// # Errors
/// The value is a scalar, a step is NULL or no place of an array, or what would be inserted is
/// there.
pub fn set_path<'a>(
    tree: Tree<'a>,
    path: &[Option<Cow<'a, str>>],
    value: Tree<'a>,
    placement: Placement,
) -> Result<Tree<'a>> {
    if tree.is_scalar() {
        return refused("cannot set path in scalar");
    }
    changed(tree, path, value, placement)
}

fn changed<'a>(
    mut tree: Tree<'a>,
    path: &[Option<Cow<'a, str>>],
    value: Tree<'a>,
    placement: Placement,
) -> Result<Tree<'a>> {
    let is_empty = match &tree {
        Tree::Array(elements) => elements.is_empty(),
        Tree::Object(members) => members.is_empty(),
        _ => false,
    };
    if path.is_empty() || (is_empty && !placement.makes()) {
        return Ok(tree);
    }
    let mut value = Some(value);
    let mut at = &mut tree;
    // Steps down to where the last one is.
    for (level, step) in path.iter().enumerate() {
        let Some(step) = step else {
            let message = format!("path element at position {} is null", level + 1);
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        let is_last = level + 1 == path.len();
        match at {
            Tree::Object(members) => {
                let order = |(name, _): &Member| (name.len(), name.as_bytes()).cmp(&(step.len(), step.as_bytes()));
                match (members.binary_search_by(order), is_last) {
                    (Ok(found), false) => at = &mut members[found].1,
                    (Err(_), false) => return Ok(tree),
                    (found, true) => {
                        at_key(members, found, step.clone(), value.take(), placement)?;
                        return Ok(tree);
                    }
                }
            }
            Tree::Array(elements) => {
                let place = place_in(elements.len(), step, level)?;
                if is_last {
                    at_place(elements, place, value.take(), placement);
                    return Ok(tree);
                }
                match place.and_then(|place| elements.get_mut(place)) {
                    Some(element) => at = element,
                    None => return Ok(tree),
                }
            }
            // A scalar on the way stays.
            _ => return Ok(tree),
        }
    }
    Ok(tree)
}

fn at_key<'a>(
    members: &mut Vec<Member<'a>>,
    found: std::result::Result<usize, usize>,
    key: Cow<'a, str>,
    value: Option<Tree<'a>>,
    placement: Placement,
) -> Result<()> {
    match (found, placement, value) {
        (Ok(_), Placement::Insert { .. }, _) => return refused("cannot replace existing key"),
        (Ok(found), Placement::Remove, _) => {
            members.remove(found);
        }
        (Ok(found), Placement::Set { .. }, Some(value)) => members[found].1 = value,
        (Err(place), placement, Some(value)) if placement.makes() => members.insert(place, (key, value)),
        _ => {}
    }
    Ok(())
}

/// The place that a step means; the length for what lies behind the end, None for what lies before
/// the first element.
fn place_in(len: usize, step: &str, level: usize) -> Result<Option<usize>> {
    let Some(place) = place_of(step) else {
        let message = format!("path element at position {} is not an integer: \"{step}\"", level + 1);
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
    };
    let distance = usize::try_from(place.unsigned_abs()).unwrap_or(usize::MAX);
    Ok(if place < 0 { len.checked_sub(distance) } else { Some(distance.min(len)) })
}

fn at_place<'a>(elements: &mut Vec<Tree<'a>>, place: Option<usize>, value: Option<Tree<'a>>, placement: Placement) {
    let there = place.filter(|place| *place < elements.len());
    match (there, placement, value) {
        (Some(place), Placement::Remove, _) => {
            elements.remove(place);
        }
        (Some(place), Placement::Set { .. }, Some(value)) => elements[place] = value,
        (Some(place), Placement::Insert { after }, Some(value)) => {
            elements.insert(place + usize::from(after), value);
        }
        (None, placement, Some(value)) if placement.makes() => {
            let end = if place.is_none() { 0 } else { elements.len() };
            elements.insert(end, value);
        }
        _ => {}
    }
}

/// Without the members of objects that are null.
pub fn without_nulls(tree: Tree) -> Tree {
    match tree {
        Tree::Array(elements) => Tree::Array(elements.into_iter().map(without_nulls).collect()),
        Tree::Object(members) => {
            let left = members.into_iter().filter(|(_, value)| *value != Tree::Null);
            Tree::Object(left.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        scalar => scalar,
    }
}
