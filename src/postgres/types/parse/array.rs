//! Array literals.

use super::{is_space, parse_text};
use crate::types::{Error, PostgresType, SqlState, SqlValue, TextStyle};

/// Dimensions that PostgreSQL allows.
const MAX_DEPTH: usize = 6;
/// Items that an array has at most: each takes some fifty bytes while it is read.
pub(super) const ITEMS_MAX: usize = 1 << 21;

/// `1 2 3`.
pub(super) fn parse_vector(ty: &PostgresType, text: &str, style: &TextStyle) -> Result<SqlValue, Error> {
    let element = ty.element().ok_or_else(|| super::unsupported(ty))?;
    let values = text.split(is_space).filter(|word| !word.is_empty());
    Ok(SqlValue::Array(values.map(|word| parse_text(element, word, style)).collect::<Result<_, _>>()?))
}

/// `{1,NULL,"a b"}`, and `{{1,2},{3,4}}`.
pub(super) fn parse_array(ty: &PostgresType, text: &str, style: &TextStyle) -> Result<SqlValue, Error> {
    let element = ty.element().ok_or_else(|| super::unsupported(ty))?;
    let trimmed = text.trim_matches(is_space);
    if trimmed.starts_with('[') {
        return Err(Error::unsupported(format!("array literal with bounds is not supported: \"{text}\"")));
    }
    let mut reader = Reader { element, text, rest: trimmed, style, items: 0 };
    if !reader.take('{') {
        return Err(reader.malformed());
    }
    let value = reader.list(1)?;
    let no_element = matches!(&value, SqlValue::Array(values) if !values.is_empty()) && is_hollow(&value);
    if !reader.rest.is_empty() || depth_and_extent(&value).is_none() || no_element {
        return Err(reader.malformed());
    }
    Ok(value)
}

pub(super) fn too_many_items() -> Error {
    let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

struct Reader<'a> {
    element: &'static PostgresType,
    text: &'a str,
    rest: &'a str,
    style: &'a TextStyle,
    items: usize,
}

impl Reader<'_> {
    fn malformed(&self) -> Error {
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{}\"", self.text))
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn take(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// What follows an opening brace, with the closing one.
    fn list(&mut self, depth: usize) -> Result<SqlValue, Error> {
        if depth > MAX_DEPTH {
            let message = format!("number of array dimensions ({depth}) exceeds the maximum allowed ({MAX_DEPTH})");
            return Err(Error::unsupported(message));
        }
        self.skip_spaces();
        if self.take('}') {
            return Ok(SqlValue::Array(Vec::new()));
        }
        // No list within this one, and nothing in quotes: as many items as there are delimiters.
        let is_plain = depth == 1 && !self.rest.contains(['{', '"', '\\']);
        let mut values = match is_plain.then(|| self.rest.matches(self.element.delimiter).count()) {
            Some(ITEMS_MAX..) => return Err(too_many_items()),
            Some(delimiters) => Vec::with_capacity(delimiters + 1),
            None => Vec::new(),
        };
        loop {
            self.skip_spaces();
            self.items += 1;
            if self.items > ITEMS_MAX {
                return Err(too_many_items());
            }
            values.push(if self.take('{') { self.list(depth + 1)? } else { self.item()? });
            self.skip_spaces();
            if self.take('}') {
                return Ok(SqlValue::Array(values));
            }
            if !self.take(self.element.delimiter) {
                return Err(self.malformed());
            }
        }
    }

    fn item(&mut self) -> Result<SqlValue, Error> {
        let mut item = String::new();
        if self.take('"') {
            let mut chars = self.rest.chars();
            loop {
                match chars.next() {
                    Some('"') => break,
                    Some('\\') => item.push(chars.next().ok_or_else(|| self.malformed())?),
                    Some(c) => item.push(c),
                    None => return Err(self.malformed()),
                }
            }
            self.rest = chars.as_str();
            return parse_text(self.element, &item, self.style);
        }
        let mut escaped = false;
        // Blanks at the end do not count, unless escaped.
        let mut kept = 0;
        let mut chars = self.rest.chars();
        loop {
            let before = chars.as_str();
            match chars.next() {
                Some('\\') => {
                    item.push(chars.next().ok_or_else(|| self.malformed())?);
                    escaped = true;
                    kept = item.len();
                }
                Some('"' | '{') | None => return Err(self.malformed()),
                Some(c) if c == '}' || c == self.element.delimiter => {
                    self.rest = before;
                    break;
                }
                Some(c) => {
                    item.push(c);
                    if !is_space(c) {
                        kept = item.len();
                    }
                }
            }
        }
        item.truncate(kept);
        if item.is_empty() {
            return Err(self.malformed());
        }
        if !escaped && item.eq_ignore_ascii_case("null") {
            return Ok(SqlValue::Null);
        }
        parse_text(self.element, &item, self.style)
    }
}

/// The lengths of the dimensions, if the array is rectangular.
fn depth_and_extent(value: &SqlValue) -> Option<Vec<usize>> {
    let SqlValue::Array(values) = value else { return Some(Vec::new()) };
    let mut inner = values.iter().map(depth_and_extent);
    let mut extent = vec![values.len()];
    if let Some(first) = inner.next() {
        let first = first?;
        if !inner.all(|other| other.as_ref() == Some(&first)) {
            return None;
        }
        extent.extend(first);
    }
    Some(extent)
}

/// Whether there is no element in any dimension.
fn is_hollow(value: &SqlValue) -> bool {
    matches!(value, SqlValue::Array(values) if values.iter().all(is_hollow))
}
