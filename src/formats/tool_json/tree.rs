//! The tree of one entity's text.

use std::borrow::Cow;

use crate::entity_json::EntityJsonError;
use crate::json::Parser;

/// A JSON value, numbers as they are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    /// `NaN`, `Infinity` or `-Infinity` without quotes, which Python writes and JSON does not know.
    NotFinite(&'static str),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Members<'a>),
}

pub(super) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// No tool nests deeper; a bound of the stack.
const DEPTH_MAX: usize = 16;
/// Values of one entity: a Binary may be an array of numbers, and an entity holds at most 1 MiB. A
/// bound of the memory.
const VALUES_MAX: usize = 1_200_000;

/// Reads an object and nothing else.
pub(super) fn read_object(text: &str) -> Result<Members<'_>, EntityJsonError> {
    let mut reader = Reader { parser: Parser::new(text), values_left: VALUES_MAX, scratch: String::new() };
    reader.parser.skip_space();
    let members = reader.object(0)?;
    reader.parser.expect_end()?;
    Ok(members)
}

struct Reader<'a> {
    parser: Parser<'a>,
    values_left: usize,
    scratch: String,
}

impl<'a> Reader<'a> {
    fn object(&mut self, depth: usize) -> Result<Members<'a>, EntityJsonError> {
        let mut members = Vec::new();
        self.parser.expect(b'{')?;
        self.parser.skip_space();
        if self.parser.eat(b'}') {
            return Ok(members);
        }
        loop {
            let key = self.text()?;
            self.parser.skip_space();
            self.parser.expect(b':')?;
            members.push((key, self.value(depth + 1)?));
            self.parser.skip_space();
            if self.parser.eat(b'}') {
                return Ok(members);
            }
            if !self.parser.eat(b',') {
                return Err(self.parser.unexpected("\",\" or \"}\"").into());
            }
            self.parser.skip_space();
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, EntityJsonError> {
        if depth > DEPTH_MAX {
            return Err(EntityJsonError::Refused(format!("values are nested more than {DEPTH_MAX} deep")));
        }
        let Some(left) = self.values_left.checked_sub(1) else {
            return Err(EntityJsonError::Refused(format!("the entity has more than {VALUES_MAX} values")));
        };
        self.values_left = left;
        self.parser.skip_space();
        for token in ["NaN", "Infinity", "-Infinity"] {
            if self.parser.eat_token(token.as_bytes()) {
                return Ok(Json::NotFinite(token));
            }
        }
        Ok(match self.parser.peek() {
            Some(b'"') => Json::Text(self.text()?),
            Some(b'{') => Json::Object(self.object(depth)?),
            Some(b'[') => Json::Array(self.array(depth)?),
            Some(b'-' | b'0'..=b'9') => Json::Number(self.parser.number()?.text),
            _ => self.parser.literal()?.map_or(Json::Null, Json::Bool),
        })
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Json<'a>>, EntityJsonError> {
        let mut values = Vec::new();
        self.parser.expect(b'[')?;
        self.parser.skip_space();
        if self.parser.eat(b']') {
            return Ok(values);
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.parser.skip_space();
            if self.parser.eat(b']') {
                return Ok(values);
            }
            if !self.parser.eat(b',') {
                return Err(self.parser.unexpected("\",\" or \"]\"").into());
            }
        }
    }

    fn text(&mut self) -> Result<Cow<'a, str>, EntityJsonError> {
        Ok(match self.parser.plain_string() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.parser.string(&mut self.scratch)?.to_owned()),
        })
    }
}
