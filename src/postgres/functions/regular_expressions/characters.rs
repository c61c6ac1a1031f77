//! Sets of characters: classes by name, ranges, and the other cases of letters, as the C library
//! has them for Unicode.

use datafusion::common::Result;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::refusal::{BAD_CLASS, BAD_RANGE, invalid};
use crate::functions::error::{SqlState, fail};

/// The letters of a range whose other cases are looked for one by one.
const RANGE_CASES_MAX: u32 = 100_000;

/// A class that has a name in brackets, or a letter behind a backslash.
pub(super) fn class(name: &str, ignore_case: bool) -> Result<ClassUnicode> {
    let properties = match name {
        "lower" | "upper" if ignore_case => r"[\p{Alphabetic}[\p{Nd}--[0-9]]]",
        "alpha" => r"[\p{Alphabetic}[\p{Nd}--[0-9]]]",
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "word" => r"[\p{Alphabetic}\p{Nd}_]",
        "ascii" => r"[\x00-\x7f]",
        "blank" => r"[ \t]",
        "cntrl" => r"\p{Cc}",
        "digit" => "[0-9]",
        "graph" => r"[^\p{Cn}\p{Cc}\p{Z}--[\x{a0}\x{2007}\x{202f}]]",
        "print" => r"[^\p{Cn}\p{Cc}\p{Zl}\p{Zp}]",
        "punct" => r"[[^\p{Cn}\p{Cc}\p{Z}--[\x{a0}\x{2007}\x{202f}]]--[\p{Alphabetic}\p{Nd}]]",
        "space" => r"[\x09-\x0d \x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]",
        "lower" => r"[\p{Lowercase}\x{1c5}\x{1c8}\x{1cb}\x{1f2}\x{345}]",
        "upper" => r"[\p{Uppercase}\p{Lt}]",
        "xdigit" => "[0-9A-Fa-f]",
        _ => return invalid(BAD_CLASS),
    };
    match regex_syntax::Parser::new().parse(properties).map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => Ok(class),
        _ => fail(SqlState::INTERNAL_ERROR, format!("no characters of class {name}")),
    }
}

/// One character, or with it its other cases.
pub(super) fn one(character: char, ignore_case: bool) -> ClassUnicode {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    if ignore_case {
        other_cases(character, &mut class);
    }
    class
}

/// The characters from one to another, by their numbers.
pub(super) fn range(from: char, to: char, ignore_case: bool) -> Result<ClassUnicode> {
    if from > to {
        return invalid(BAD_RANGE);
    }
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(from, to)]);
    if ignore_case {
        let last = char::from_u32(u32::from(from).saturating_add(RANGE_CASES_MAX)).map_or(to, |last| last.min(to));
        let mut others = Vec::new();
        for character in from..=last {
            others.extend(cases(character).filter(|other| !(from..=to).contains(other)));
        }
        class.union(&ClassUnicode::new(others.into_iter().map(|other| ClassUnicodeRange::new(other, other))));
    }
    Ok(class)
}

fn other_cases(character: char, class: &mut ClassUnicode) {
    class.union(&ClassUnicode::new(cases(character).map(|other| ClassUnicodeRange::new(other, other))));
}

/// A character in lower and upper case, where that is one character.
fn cases(character: char) -> impl Iterator<Item = char> {
    let single = |mut letters: Box<dyn Iterator<Item = char>>| match (letters.next(), letters.next()) {
        (Some(letter), None) => Some(letter),
        _ => None,
    };
    let lower = single(Box::new(character.to_lowercase()));
    let upper = single(Box::new(character.to_uppercase()));
    lower.into_iter().chain(upper)
}

pub(super) fn contains(class: &ClassUnicode, character: char) -> bool {
    let ranges = class.ranges();
    let place = ranges.partition_point(|range| range.end() < character);
    ranges.get(place).is_some_and(|range| range.start() <= character)
}

/// Every character, or all but the line end.
pub(super) fn any(but_line_end: bool) -> ClassUnicode {
    let mut class = ClassUnicode::empty();
    if but_line_end {
        class.push(ClassUnicodeRange::new('\n', '\n'));
    }
    class.negate();
    class
}
