//! The text of a `jsonb`, written while JSON is read. Nothing is taken apart: members of an object
//! that stand in another order are put right at the end, all at once.

use std::borrow::Cow;
use std::ops::Range;

use super::number::plain;
use super::scanner::{Scanner, decoded};
use super::tree::{DIGITS_MAX, NODES_MAX, sort_members, write_quoted};
use super::{DEPTH_MAX, Result, invalid, too_deep, too_large};

#[cfg(test)]
mod tests;

/// The text of a `jsonb`.
///
/// # Errors
/// What is no JSON, and what a `jsonb` cannot hold.
pub fn normalized(text: &str) -> Result<String> {
    let mut writer = Writer {
        scanner: Scanner::new(text),
        nodes: NODES_MAX,
        digits: DIGITS_MAX,
        written: String::with_capacity(text.len()),
        objects: Vec::new(),
        members: Vec::new(),
    };
    writer.scanner.blanks();
    writer.value(0)?;
    writer.scanner.end()?;
    Ok(writer.in_order())
}

struct Writer<'a> {
    scanner: Scanner<'a>,
    nodes: usize,
    digits: usize,
    /// All values, members as they were read.
    written: String,
    /// Objects whose members have another order.
    objects: Vec<Unordered>,
    /// Where members of those are written, in the order that they are to have.
    members: Vec<Range<usize>>,
}

struct Unordered {
    /// All members, without the braces.
    written: Range<usize>,
    /// Of [`Writer::members`].
    members: Range<usize>,
}

impl Writer<'_> {
    fn value(&mut self, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        self.nodes = self.nodes.checked_sub(1).ok_or_else(|| too_large("a value of JSON has too many parts"))?;
        match self.scanner.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => write_quoted(&decoded(self.scanner.string()?)?, &mut self.written),
            Some(b'-' | b'0'..=b'9') => self.written.push_str(&plain(self.scanner.number()?, &mut self.digits)?),
            Some(_) => self.written.push_str(self.scanner.word()?),
            None => return Err(invalid()),
        }
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<()> {
        self.scanner.at += 1;
        self.written.push('[');
        let mut is_first = true;
        while self.scanner.has_item(b']', is_first)? {
            if !is_first {
                self.written.push_str(", ");
            }
            self.value(depth + 1)?;
            is_first = false;
        }
        self.written.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<()> {
        self.scanner.at += 1;
        self.written.push('{');
        let from = self.written.len();
        let mut members: Vec<(Cow<str>, Range<usize>)> = Vec::new();
        while self.scanner.has_item(b'}', members.is_empty())? {
            if !members.is_empty() {
                self.written.push_str(", ");
            }
            let at = self.written.len();
            let key = decoded(self.scanner.key()?)?;
            write_quoted(&key, &mut self.written);
            self.written.push_str(": ");
            self.value(depth + 1)?;
            members.push((key, at..self.written.len()));
        }
        if sort_members(&mut members) {
            let first = self.members.len();
            self.members.extend(members.into_iter().map(|(_, written)| written));
            self.objects.push(Unordered { written: from..self.written.len(), members: first..self.members.len() });
        }
        self.written.push('}');
        Ok(())
    }

    /// Each byte is moved once, however deep objects lie in objects.
    fn in_order(mut self) -> String {
        if self.objects.is_empty() {
            return self.written;
        }
        self.objects.sort_unstable_by_key(|object| object.written.start);
        let mut out = String::with_capacity(self.written.len());
        self.move_part(0..self.written.len(), &mut out);
        out
    }

    fn move_part(&self, part: Range<usize>, out: &mut String) {
        let mut at = part.start;
        loop {
            // The first member of an object starts where the object does.
            let next = self.objects.partition_point(|object| object.written.start <= at);
            let Some(object) = self.objects.get(next).filter(|object| object.written.start < part.end) else {
                break;
            };
            out.push_str(&self.written[at..object.written.start]);
            for (place, member) in self.members[object.members.clone()].iter().enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                self.move_part(member.clone(), out);
            }
            at = object.written.end;
        }
        out.push_str(&self.written[at..part.end]);
    }
}
