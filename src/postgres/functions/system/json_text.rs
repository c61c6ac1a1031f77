//! JSON texts: where their parts lie. Parts are given as they are written.

use std::borrow::Cow;

use super::error::{FunctionError, SqlState};

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 500;

type Result<T> = std::result::Result<T, FunctionError>;

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
}

/// A value in a text that is valid as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a> {
    text: &'a str,
    pub kind: JsonKind,
}

impl<'a> Json<'a> {
    /// Reads all of a text.
    pub fn read(text: &'a str) -> Result<Self> {
        let mut scanner = Scanner { text, at: 0 };
        let value = scanner.value(0, &mut |_, _| {})?;
        scanner.blanks();
        if scanner.at < text.len() { Err(scanner.invalid()) } else { Ok(value) }
    }

    /// As it is written.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// The text that `->>` gives: of a string what it says. None for null.
    pub fn plain(self) -> Result<Option<String>> {
        match self.kind {
            JsonKind::Null => Ok(None),
            JsonKind::String => decoded(self.text).map(|text| Some(text.into_owned())),
            _ => Ok(Some(self.text.to_owned())),
        }
    }

    /// Keys and values of an object; keys of the elements of an array are empty. Nothing for other
    /// values.
    pub fn parts(self) -> Result<Vec<(Cow<'a, str>, Json<'a>)>> {
        let mut raw = Vec::new();
        Scanner { text: self.text, at: 0 }.value(0, &mut |key, value| raw.push((key, value)))?;
        let decoded = |(key, value): (&'a str, Json<'a>)| match key {
            "" => Ok((Cow::Borrowed(""), value)),
            key => Ok((decoded(key)?, value)),
        };
        raw.into_iter().map(decoded).collect()
    }

    /// The value of a key, of which the last counts.
    pub fn field(self, name: &str) -> Result<Option<Json<'a>>> {
        match self.kind {
            JsonKind::Object => {
                Ok(self.parts()?.into_iter().rev().find(|(key, _)| key == name).map(|(_, value)| value))
            }
            _ => Ok(None),
        }
    }

    /// An element of an array, from 0, or from the end if negative.
    pub fn element(self, place: i64) -> Result<Option<Json<'a>>> {
        if self.kind != JsonKind::Array {
            return Ok(None);
        }
        let parts = self.parts()?;
        let place =
            if place < 0 { place.checked_add(i64::try_from(parts.len()).unwrap_or(i64::MAX)) } else { Some(place) };
        Ok(place
            .and_then(|place| usize::try_from(place).ok())
            .and_then(|place| parts.get(place))
            .map(|(_, value)| *value))
    }

    /// What lies at the end of a path of keys and places.
    pub fn at_path(self, path: &[String]) -> Result<Option<Json<'a>>> {
        let mut value = self;
        for step in path {
            let next = match value.kind {
                JsonKind::Object => value.field(step)?,
                JsonKind::Array => match step.trim().parse() {
                    Ok(place) => value.element(place)?,
                    Err(_) => None,
                },
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }
}

/// What a string in quotes says.
fn decoded(quoted: &str) -> Result<Cow<'_, str>> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    match serde_json::from_str::<String>(quoted) {
        Ok(text) if text.contains('\0') => {
            Err(FunctionError::new(SqlState::INVALID_TEXT_REPRESENTATION, "unsupported Unicode escape sequence"))
        }
        Ok(text) => Ok(Cow::Owned(text)),
        Err(_) => Err(invalid()),
    }
}

fn invalid() -> FunctionError {
    FunctionError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn invalid(&self) -> FunctionError {
        invalid()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    /// Passes over a value and hands out its own parts: keys in quotes, and values.
    fn value(&mut self, depth: usize, part: &mut dyn FnMut(&'a str, Json<'a>)) -> Result<Json<'a>> {
        if depth > DEPTH_MAX {
            let message = format!("JSON is nested more than {DEPTH_MAX} deep");
            return Err(FunctionError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.blanks();
        let from = self.at;
        let kind = match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.list(b'}', |scanner| {
                    scanner.blanks();
                    let key = scanner.string()?;
                    scanner.blanks();
                    if !scanner.take(b':') {
                        return Err(scanner.invalid());
                    }
                    let value = scanner.value(depth + 1, &mut |_, _| {})?;
                    part(key, value);
                    Ok(())
                })?;
                JsonKind::Object
            }
            Some(b'[') => {
                self.at += 1;
                self.list(b']', |scanner| {
                    let value = scanner.value(depth + 1, &mut |_, _| {})?;
                    part("", value);
                    Ok(())
                })?;
                JsonKind::Array
            }
            Some(b'"') => {
                self.string()?;
                JsonKind::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                JsonKind::Number
            }
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let words = [("true", JsonKind::Boolean), ("false", JsonKind::Boolean), ("null", JsonKind::Null)];
                let Some((word, kind)) = words.into_iter().find(|(word, _)| rest.starts_with(word)) else {
                    return Err(self.invalid());
                };
                self.at += word.len();
                if self.peek().is_some_and(|next| next.is_ascii_alphanumeric() || next == b'_') {
                    return Err(self.invalid());
                }
                kind
            }
        };
        Ok(Json { text: self.text.get(from..self.at).unwrap_or_default(), kind })
    }

    fn list(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.blanks();
        if self.take(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.blanks();
            if self.take(end) {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.invalid());
            }
        }
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<&'a str> {
        let from = self.at;
        if !self.take(b'"') {
            return Err(self.invalid());
        }
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.text.get(from..self.at).unwrap_or_default());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let digits = self.text.as_bytes().get(self.at + 1..self.at + 5).unwrap_or_default();
                            if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                                return Err(self.invalid());
                            }
                            self.at += 5;
                        }
                        _ => return Err(self.invalid()),
                    }
                }
                Some(0..=0x1f) | None => return Err(self.invalid()),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self) -> Result<()> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == from { Err(self.invalid()) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        match self.peek() {
            Some(next) if next.is_ascii_alphanumeric() || matches!(next, b'_' | b'.') => Err(self.invalid()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "{a:1}",
            "[1,]",
            "[1 2]",
            "01",
            "1.",
            "-",
            "1e",
            "tru",
            "truex",
            "'a'",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\t\"",
            "{}x",
            "{\"a\"}",
            "[",
            "1a",
        ] {
            assert!(Json::read(text).is_err(), "{text}");
        }
        for text in
            ["{}", "[]", " 1 ", "-0.5e+10", "\"\\u00e9\\n\"", "[1, {\"a\" : [null, true, false]}]", "0", "\"é\""]
        {
            assert!(Json::read(text).is_ok(), "{text}");
        }
        assert!(Json::read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn parts_are_as_they_are_written() {
        let json = Json::read(r#" {"a" : [ 1 , {"b":null}], "é\n" : "x\ty", "a" : {"c" : 1.50} } "#).expect("json");
        let text = |found: Result<Option<Json<'_>>>| found.expect("read").map(|json| json.text().to_owned());
        assert_eq!(text(json.field("a")).as_deref(), Some(r#"{"c" : 1.50}"#));
        assert_eq!(text(json.field("é\n")).as_deref(), Some(r#""x\ty""#));
        assert_eq!(json.field("é\n").expect("read").expect("there").plain().expect("text").as_deref(), Some("x\ty"));
        assert_eq!(text(json.field("b")), None);
        assert_eq!(text(json.at_path(&["a".to_owned(), "c".to_owned()])).as_deref(), Some("1.50"));
        let list = Json::read("[ 1 , [2,3 ] ]").expect("json");
        assert_eq!(text(list.element(-1)).as_deref(), Some("[2,3 ]"));
        assert_eq!(text(list.element(2)), None);
        assert_eq!(text(list.at_path(&["1".to_owned(), "-1".to_owned()])).as_deref(), Some("3"));
    }
}
