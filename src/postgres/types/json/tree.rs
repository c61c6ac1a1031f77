//! A `jsonb` taken apart.

use std::borrow::Cow;

use super::number::plain;
use super::scanner::{Scanner, decoded};
use super::{DEPTH_MAX, Result, invalid, too_deep, too_large};

#[cfg(test)]
mod tests;

/// A value has at most so many parts.
pub(super) const NODES_MAX: usize = 4 << 20;
/// What exponents make of the numbers of a value, in bytes.
pub(super) const DIGITS_MAX: usize = 16 << 20;
/// Blanks by which `jsonb_pretty` indents.
const INDENT: usize = 4;

/// A value. Keys of objects are unique and in order: the shorter first, then by bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<'a> {
    Null,
    Boolean(bool),
    /// Without exponent.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Tree<'a>>),
    Object(Vec<Member<'a>>),
}

pub(super) type Member<'a> = (Cow<'a, str>, Tree<'a>);

impl<'a> Tree<'a> {
    /// Reads any JSON; of several members with one key the last counts.
    ///
    /// # Errors
    /// What is no JSON, numbers that no numeric holds, characters that no text holds.
    pub fn read(text: &'a str) -> Result<Self> {
        let mut reader = Reader { scanner: Scanner::new(text), nodes: NODES_MAX, digits: DIGITS_MAX };
        reader.scanner.blanks();
        let tree = reader.value(0)?;
        reader.scanner.end()?;
        Ok(tree)
    }

    /// Neither an object nor an array.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Tree::Array(_) | Tree::Object(_))
    }

    /// An object of members in any order.
    pub fn object(mut members: Vec<Member<'a>>) -> Self {
        sort_members(&mut members);
        Tree::Object(members)
    }

    /// As PostgreSQL prints it.
    pub fn write(&self, out: &mut String) {
        match self {
            Tree::Null => out.push_str("null"),
            Tree::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Tree::Number(number) => out.push_str(number),
            Tree::String(text) => write_quoted(text, out),
            Tree::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    element.write(out);
                }
                out.push(']');
            }
            Tree::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    write_quoted(key, out);
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The text of it.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// A line for each part.
    pub fn write_pretty(&self, depth: usize, out: &mut String) {
        let line = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth * INDENT));
        };
        match self {
            Tree::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    element.write_pretty(depth + 1, out);
                }
                line(out, depth);
                out.push(']');
            }
            Tree::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    line(out, depth + 1);
                    write_quoted(key, out);
                    out.push_str(": ");
                    value.write_pretty(depth + 1, out);
                }
                line(out, depth);
                out.push('}');
            }
            scalar => scalar.write(out),
        }
    }

    /// The blanks and line ends that [`Self::write_pretty`] adds, in bytes.
    pub fn pretty_blanks(&self, depth: usize) -> usize {
        let line = |depth: usize| 1 + depth * INDENT;
        let parts: usize = match self {
            Tree::Array(elements) => {
                elements.iter().map(|element| line(depth + 1) + element.pretty_blanks(depth + 1)).sum()
            }
            Tree::Object(members) => {
                members.iter().map(|(_, value)| line(depth + 1) + value.pretty_blanks(depth + 1)).sum()
            }
            _ => return 0,
        };
        parts + line(depth)
    }
}

/// Brings members of an object into order, of several with one key the last; whether they were not.
pub(super) fn sort_members<T>(members: &mut Vec<(Cow<'_, str>, T)>) -> bool {
    if members.is_sorted_by(|(left, _), (right, _)| is_before(left, right)) {
        return false;
    }
    // Stable: of equal keys the last one stays the last.
    members.sort_by(|(left, _), (right, _)| (left.len(), left.as_ref()).cmp(&(right.len(), right.as_ref())));
    members.reverse();
    members.dedup_by(|(one, _), (other, _)| one == other);
    members.reverse();
    true
}

fn is_before(left: &str, right: &str) -> bool {
    (left.len(), left) < (right.len(), right)
}

/// A text as a string of JSON.
pub fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            8 => "\\b",
            12 => "\\f",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match escape {
            "" => out.push_str(&format!("\\u{byte:04x}")),
            escape => out.push_str(escape),
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    nodes: usize,
    digits: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Tree<'a>> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.nodes = self.nodes.checked_sub(1).ok_or_else(|| too_large("a value of JSON has too many parts"))?;
        Ok(match self.scanner.peek() {
            Some(b'{') => {
                self.scanner.at += 1;
                let mut members = Vec::new();
                while self.scanner.has_item(b'}', members.is_empty())? {
                    let key = decoded(self.scanner.key()?)?;
                    members.push((key, self.value(depth + 1)?));
                }
                members.shrink_to_fit();
                Tree::object(members)
            }
            Some(b'[') => {
                self.scanner.at += 1;
                let mut elements = Vec::new();
                while self.scanner.has_item(b']', elements.is_empty())? {
                    elements.push(self.value(depth + 1)?);
                }
                // Many small ones would take four times as much.
                elements.shrink_to_fit();
                Tree::Array(elements)
            }
            Some(b'"') => Tree::String(decoded(self.scanner.string()?)?),
            Some(b'-' | b'0'..=b'9') => Tree::Number(plain(self.scanner.number()?, &mut self.digits)?),
            Some(_) => match self.scanner.word()? {
                "null" => Tree::Null,
                word => Tree::Boolean(word == "true"),
            },
            None => return Err(invalid()),
        })
    }
}
