//! `regexp_replace`, whose replacements are counted before they are made where they may be many.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::cache::RowPatterns;
use super::division::Span;
use super::functions::{byte_of, of_texts};
use super::options::Flags;
use super::pattern::{Matches, Pattern};
use crate::carried::Stop;
use crate::functions::built_texts::Texts;
use crate::functions::error::{SqlState, fail};
use crate::functions::kind::Kind;
use crate::functions::scalar::{Arguments, Call, Function, immutable};

pub(in crate::functions) static FUNCTIONS: [Function; 1] = [immutable("regexp_replace", 3..=6, returns, replaced)];

/// `(text, pattern, replacement [, flags])`, or `(..., start [, n [, flags]])`.
fn returns(arguments: &Arguments) -> Result<DataType> {
    let is_text = |place| matches!(arguments.kind(place), Kind::Text | Kind::Null);
    let is_number = |place| arguments.kind(place).is_integer() || arguments.kind(place) == Kind::Null;
    let others = match arguments.types.len() {
        3 => true,
        4 => is_text(3) || is_number(3),
        5 => (is_number(3) || arguments.is_unknown(3)) && (is_number(4) || arguments.is_unknown(4)),
        _ => (is_number(3) || arguments.is_unknown(3)) && (is_number(4) || arguments.is_unknown(4)) && is_text(5),
    };
    if is_text(2) && others { of_texts(arguments, DataType::Utf8View) } else { arguments.undefined() }
}

fn replaced(call: &Call) -> Result<ArrayRef> {
    let (inputs, patterns, replacements) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let has_start = call.len() > 4 || call.len() == 4 && call.kind(3).is_integer();
    let start = if has_start { Some(call.int8(3)?) } else { None };
    let nth = if call.len() > 4 { Some(call.int8(4)?) } else { None };
    let flags = match call.len() {
        4 if !has_start => Some(call.text(3)?),
        6 => Some(call.text(5)?),
        _ => None,
    };
    let nulls = [
        inputs.nulls(),
        patterns.nulls(),
        replacements.nulls(),
        start.as_ref().and_then(|start| start.nulls()),
        nth.as_ref().and_then(|nth| nth.nulls()),
        flags.as_ref().and_then(|flags| flags.nulls()),
    ];
    let stop = Stop::of(call.options);
    let mut compiled = RowPatterns::of(call.options);
    let mut replacement = Replacement::of("");
    let mut texts = Texts::of(call);
    for row in 0..call.rows {
        if nulls.iter().flatten().any(|nulls| nulls.is_null(row)) {
            texts.built.append_null();
            continue;
        }
        let letters = flags.as_ref().map_or("", |flags| flags.value(row));
        // A number in quotes is meant for a start.
        if call.len() == 4 && letters.starts_with(|letter: char| letter.is_ascii_digit()) {
            let letter = letters.chars().next().unwrap_or_default();
            let message = format!("invalid regular expression option: \"{letter}\"");
            return fail(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        let flags = Flags::parse(letters)?;
        let start = at_least("start", start.as_ref().map_or(1, |start| start.value(row)), 1)?;
        let nth = match &nth {
            Some(nth) => at_least("n", nth.value(row), 0)?,
            None => i64::from(!flags.global),
        };
        let pattern = compiled.pattern(patterns.value(row), flags.options)?;
        if replacement.written != replacements.value(row) {
            replacement = Replacement::of(replacements.value(row));
        }
        let text = inputs.value(row);
        let Some(from) = byte_of(text, start) else {
            texts.reserve(text.len())?;
            texts.append(text.to_owned())?;
            continue;
        };
        let replacing = Replacing { pattern: &pattern, text, from, nth, stop: &stop };
        let most = replacing.bytes(&replacement, if nth > 0 { 1 } else { text.len() + 1 });
        let count = || Ok(replacing.bytes(&replacement, replacing.matches()?));
        texts.append_counted(most, count, || replacing.replaced(&replacement))?;
    }
    Ok(texts.finish())
}

fn at_least(name: &str, number: i64, least: i64) -> Result<i64> {
    if number < least {
        let message = format!("invalid value for parameter \"{name}\": {number}");
        return fail(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    Ok(number)
}

struct Replacing<'a> {
    pattern: &'a Arc<Pattern>,
    text: &'a str,
    from: usize,
    /// 0 is all.
    nth: i64,
    stop: &'a Stop,
}

impl Replacing<'_> {
    /// The matches that are replaced, each given to a closure.
    fn each(&self, mut replace: impl FnMut(Span) -> Result<()>) -> Result<()> {
        let mut matches = Matches::of(self.pattern, self.text, self.from, self.stop);
        let mut count = 0;
        while let Some(found) = matches.next()? {
            count += 1;
            if self.nth > 0 && count != self.nth {
                continue;
            }
            replace(found)?;
            if self.nth > 0 {
                break;
            }
        }
        Ok(())
    }

    fn replaced(&self, replacement: &Replacement) -> Result<String> {
        let (mut out, mut copied) = (String::with_capacity(self.text.len()), 0);
        self.each(|(start, end)| {
            out.push_str(&self.text[copied..start]);
            copied = end;
            let groups = match replacement.has_groups() {
                true => self.pattern.groups(self.text, (start, end), self.stop)?,
                false => Vec::new(),
            };
            for piece in &replacement.pieces {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Whole => out.push_str(&self.text[start..end]),
                    Piece::Group(number) => {
                        if let Some((start, end)) = groups.get(number - 1).copied().flatten() {
                            out.push_str(&self.text[start..end]);
                        }
                    }
                }
            }
            Ok(())
        })?;
        out.push_str(&self.text[copied..]);
        Ok(out)
    }

    /// Bytes of the text with so many matches replaced, at most.
    fn bytes(&self, replacement: &Replacement, matches: usize) -> usize {
        let (length, written) = (self.text.len(), replacement.written.len());
        // All matches together are the text once, and so is each of their groups.
        let copies = replacement.pieces.iter().filter(|piece| !matches!(piece, Piece::Text(_))).count();
        matches.saturating_mul(written).saturating_add(length.saturating_mul(copies)).saturating_add(length)
    }

    fn matches(&self) -> Result<usize> {
        let mut matches = 0;
        self.each(|_| {
            matches += 1;
            Ok(())
        })?;
        Ok(matches)
    }
}

/// What goes in the place of a match.
struct Replacement {
    /// In PostgreSQL's form.
    written: String,
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    Whole,
    Group(usize),
}

impl Replacement {
    /// `\1` is a group, `\&` the whole match, `\\` a backslash.
    fn of(written: &str) -> Self {
        let (mut pieces, mut text) = (Vec::new(), String::new());
        let mut characters = written.chars().peekable();
        while let Some(character) = characters.next() {
            let piece = match (character, characters.peek()) {
                ('\\', Some('&')) => Piece::Whole,
                ('\\', Some(digit @ '1'..='9')) => Piece::Group(digit.to_digit(10).unwrap_or(1) as usize),
                ('\\', Some('\\')) => {
                    characters.next();
                    text.push('\\');
                    continue;
                }
                (character, _) => {
                    text.push(character);
                    continue;
                }
            };
            characters.next();
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece);
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Self { written: written.to_owned(), pieces }
    }

    fn has_groups(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Group(_)))
    }
}
