//! Bracket expressions: `[a-z_]`, `[^[:space:]]`.

use datafusion::common::Result;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::characters::{class, one, range};
use super::options::Options;
use super::reader::{Escape, Reader};
use super::refusal::{BAD_CLASS, BAD_COLLATING, BAD_ESCAPE, BAD_RANGE, OPEN_BRACKET, invalid, unsupported};

/// What comes next in brackets.
enum Part {
    Character(char),
    /// A `-` between two characters.
    Dash,
    /// `[.x.]`
    Element(char),
    Characters(ClassUnicode),
    End,
}

/// The characters that a bracket expression matches, whose `[` was read; `groups` were opened
/// before it.
pub(super) fn bracket(reader: &mut Reader, options: Options, groups: usize) -> Result<ClassUnicode> {
    let negated = reader.take("^");
    let mut characters = ClassUnicode::empty();
    let mut first = true;
    loop {
        let part = part(reader, options, groups, first)?;
        first = false;
        let from = match part {
            Part::End => break,
            Part::Dash => return invalid(BAD_RANGE),
            Part::Characters(class) => {
                characters.union(&class);
                continue;
            }
            Part::Character(from) | Part::Element(from) => from,
        };
        let ahead = reader.clone();
        if !matches!(self::part(reader, options, groups, false), Ok(Part::Dash)) {
            *reader = ahead;
            characters.union(&one(from, options.ignore_case));
            continue;
        }
        let to = match self::part(reader, options, groups, false)? {
            Part::Character(to) | Part::Element(to) => to,
            Part::Dash => '-',
            Part::Characters(_) | Part::End => return invalid(BAD_RANGE),
        };
        characters.union(&range(from, to, options.ignore_case)?);
    }
    if negated {
        if options.stops_at_lines {
            characters.push(ClassUnicodeRange::new('\n', '\n'));
        }
        characters.negate();
    }
    Ok(characters)
}

fn part(reader: &mut Reader, options: Options, groups: usize, first: bool) -> Result<Part> {
    let Some(character) = reader.next() else { return invalid(OPEN_BRACKET) };
    Ok(match character {
        ']' if !first => Part::End,
        '-' if !first && reader.peek() != Some(']') => Part::Dash,
        '\\' => match reader.escape(groups)? {
            Escape::Character(character) => Part::Character(character),
            Escape::Class { name, negated } => Part::Characters(class_of_escape(name, negated, options)?),
            _ => return invalid(BAD_ESCAPE),
        },
        '[' => match reader.peek() {
            None => return invalid(OPEN_BRACKET),
            Some('.') => Part::Element(element(reader, '.')?),
            Some('=') => Part::Characters(one(element(reader, '=')?, options.ignore_case)),
            Some(':') => {
                let name = name(reader, ':')?;
                if name.is_empty() {
                    return invalid(BAD_CLASS);
                }
                Part::Characters(class(&name, options.ignore_case)?)
            }
            Some(_) => Part::Character('['),
        },
        character => Part::Character(character),
    })
}

/// `\d` and its like.
pub(super) fn class_of_escape(name: &str, negated: bool, options: Options) -> Result<ClassUnicode> {
    let mut class = class(name, options.ignore_case)?;
    if negated {
        class.negate();
    }
    Ok(class)
}

/// What stands between `[.` and `.]`, and its like.
fn name(reader: &mut Reader, mark: char) -> Result<String> {
    reader.next();
    let mut name = String::new();
    loop {
        match reader.next() {
            None => return invalid(OPEN_BRACKET),
            Some(letter) if letter == mark && reader.peek() == Some(']') => {
                reader.next();
                return if reader.peek().is_none() { invalid(OPEN_BRACKET) } else { Ok(name) };
            }
            Some(letter) => name.push(letter),
        }
    }
}

/// A collating element that is one character.
fn element(reader: &mut Reader, mark: char) -> Result<char> {
    let name = name(reader, mark)?;
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Ok(letter),
        (None, _) => invalid(BAD_COLLATING),
        _ => unsupported(&format!("names of collating elements are not supported in regular expressions: \"{name}\"")),
    }
}
