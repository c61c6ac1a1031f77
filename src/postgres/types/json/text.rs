//! JSON texts: where their parts lie. Parts are given as they are written.

use std::borrow::Cow;

use super::scanner::{Scanner, decoded};
use super::{DEPTH_MAX, Result, invalid, too_deep};

#[cfg(test)]
mod tests;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl JsonKind {
    /// As `json_typeof` has it.
    pub fn name(self) -> &'static str {
        match self {
            JsonKind::Object => "object",
            JsonKind::Array => "array",
            JsonKind::String => "string",
            JsonKind::Number => "number",
            JsonKind::Boolean => "boolean",
            JsonKind::Null => "null",
        }
    }

    /// Neither an object nor an array.
    pub fn is_scalar(self) -> bool {
        !matches!(self, JsonKind::Object | JsonKind::Array)
    }
}

/// A value in a text that is valid as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a> {
    text: &'a str,
    pub kind: JsonKind,
}

impl<'a> Json<'a> {
    /// Reads all of a text.
    ///
    /// # Errors
    /// What is no JSON, and what is nested too deep.
    pub fn read(text: &'a str) -> Result<Self> {
        Self::read_all(text, false)
    }

    /// Reads all of a text, in which all strings say something.
    ///
    /// # Errors
    /// Also what has escapes that are no characters of a text.
    pub fn read_decoded(text: &'a str) -> Result<Self> {
        Self::read_all(text, true)
    }

    fn read_all(text: &'a str, decode: bool) -> Result<Self> {
        let mut scanner = Scanner::new(text);
        scanner.blanks();
        let value = value(&mut scanner, 0, decode, &mut |_, _| {})?;
        scanner.end()?;
        Ok(value)
    }

    /// As it is written.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// The text that `->>` gives: of a string what it says. None for null.
    ///
    /// # Errors
    /// What a string says is no text.
    pub fn plain(self) -> Result<Option<Cow<'a, str>>> {
        match self.kind {
            JsonKind::Null => Ok(None),
            JsonKind::String => decoded(self.text).map(Some),
            _ => Ok(Some(Cow::Borrowed(self.text))),
        }
    }

    /// Hands out keys, in quotes, and values of an object; keys of the elements of an array are
    /// empty. Nothing of other values.
    fn each(self, part: &mut dyn FnMut(&'a str, Json<'a>)) -> Result<()> {
        value(&mut Scanner::new(self.text), 0, false, part).map(|_| ())
    }

    /// Keys and values of an object; keys of the elements of an array are empty. Nothing for other
    /// values.
    ///
    /// # Errors
    /// A key is no text.
    pub fn parts(self) -> Result<Vec<(Cow<'a, str>, Json<'a>)>> {
        let mut raw = Vec::new();
        self.each(&mut |key, value| raw.push((key, value)))?;
        let decoded = |(key, value): (&'a str, Json<'a>)| match key {
            "" => Ok((Cow::Borrowed(""), value)),
            key => Ok((decoded(key)?, value)),
        };
        raw.into_iter().map(decoded).collect()
    }

    /// How many parts it has.
    ///
    /// # Errors
    /// None, of what was read.
    pub fn count(self) -> Result<usize> {
        let mut len = 0;
        self.each(&mut |_, _| len += 1)?;
        Ok(len)
    }

    /// The value of a key, of which the last counts.
    ///
    /// # Errors
    /// A key is no text.
    pub fn field(self, name: &str) -> Result<Option<Json<'a>>> {
        if self.kind != JsonKind::Object {
            return Ok(None);
        }
        let (mut found, mut failed) = (None, None);
        self.each(&mut |key, value| match decoded(key) {
            Ok(key) if key == name => found = Some(value),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(found), Err)
    }

    /// An element of an array, from 0, or from the end if negative.
    ///
    /// # Errors
    /// None, of what was read.
    pub fn element(self, place: i64) -> Result<Option<Json<'a>>> {
        if self.kind != JsonKind::Array {
            return Ok(None);
        }
        let place = match place {
            0.. => Some(place),
            _ => place.checked_add(i64::try_from(self.count()?).unwrap_or(i64::MAX)),
        };
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else { return Ok(None) };
        let (mut found, mut at) = (None, 0);
        self.each(&mut |_, value| {
            if at == place {
                found = Some(value);
            }
            at += 1;
        })?;
        Ok(found)
    }

    /// What lies at the end of a path of keys and places.
    ///
    /// # Errors
    /// A key is no text.
    pub fn at_path<S: AsRef<str>>(self, path: &[S]) -> Result<Option<Json<'a>>> {
        let Some((step, rest)) = path.split_first() else { return Ok(Some(self)) };
        match self.kind {
            // Of fields of one name, as `json` may have, the last whose path leads somewhere.
            JsonKind::Object => {
                let (mut found, mut failed) = (None, None);
                self.each(&mut |key, value| match decoded(key)
                    .map(|key| if key == step.as_ref() { value.at_path(rest) } else { Ok(None) })
                {
                    Ok(Ok(Some(reached))) => found = Some(reached),
                    Ok(Ok(None)) => {}
                    Ok(Err(error)) | Err(error) => failed = Some(error),
                })?;
                failed.map_or(Ok(found), Err)
            }
            JsonKind::Array => match super::change::place_of(step.as_ref()) {
                Some(place) => match self.element(place.into())? {
                    Some(element) => element.at_path(rest),
                    None => Ok(None),
                },
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Passes over a value and hands out its own parts: keys in quotes, and values.
fn value<'a>(
    scanner: &mut Scanner<'a>,
    depth: usize,
    decode: bool,
    part: &mut dyn FnMut(&'a str, Json<'a>),
) -> Result<Json<'a>> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    let from = scanner.at;
    let kind = match scanner.peek() {
        Some(b'{') => {
            scanner.at += 1;
            let mut is_first = true;
            while scanner.has_item(b'}', std::mem::take(&mut is_first))? {
                let key = scanner.key()?;
                if decode {
                    decoded(key)?;
                }
                part(key, value(scanner, depth + 1, decode, &mut |_, _| {})?);
            }
            JsonKind::Object
        }
        Some(b'[') => {
            scanner.at += 1;
            let mut is_first = true;
            while scanner.has_item(b']', std::mem::take(&mut is_first))? {
                part("", value(scanner, depth + 1, decode, &mut |_, _| {})?);
            }
            JsonKind::Array
        }
        Some(b'"') => {
            let string = scanner.string()?;
            if decode {
                decoded(string)?;
            }
            JsonKind::String
        }
        Some(b'-' | b'0'..=b'9') => {
            scanner.number()?;
            JsonKind::Number
        }
        Some(_) => match scanner.word()? {
            "null" => JsonKind::Null,
            _ => JsonKind::Boolean,
        },
        None => return Err(invalid()),
    };
    Ok(Json { text: scanner.since(from), kind })
}
