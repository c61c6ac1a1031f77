//! PostgreSQL's advanced regular expressions, read into a tree.

use std::sync::Arc;

use datafusion::common::Result;

use super::bracket::{bracket, class_of_escape};
use super::characters::{any, one};
use super::options::Options;
use super::reader::{Escape, Reader};
use super::refusal::{
    BAD_OPTION, BAD_QUANTIFIER, BAD_REPETITION, OPEN_BRACE, OPEN_PARENTHESIS, TOO_COMPLEX, invalid, unsupported,
};
use super::tree::{Alternatives, Atom, Constraint, Expression, Item, Length, Quantifier};

/// What a pattern becomes takes thousands of times its size.
const PATTERN_BYTES_MAX: usize = 128 << 10;
/// How deep groups may lie in each other.
const DEPTH_MAX: usize = 100;
/// The largest number in braces.
const REPETITIONS_MAX: u32 = 255;

/// Reads a pattern. What stands at its beginning may change the options.
///
/// # Errors
/// `INVALID_REGULAR_EXPRESSION` in PostgreSQL's words; `FEATURE_NOT_SUPPORTED` for back references
/// and look-around.
pub(super) fn parse(pattern: &str, options: Options) -> Result<Expression> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return invalid(TOO_COMPLEX);
    }
    let mut parser = Parser { reader: Reader::of(pattern), options, groups: 0, of_words: false };
    if !parser.options.literal {
        parser.beginning()?;
    }
    if parser.options.literal {
        let mut items = Vec::new();
        while let Some(character) = parser.reader.next() {
            items.push(parser.plain(character));
        }
        return Ok(Expression { alternatives: Alternatives(vec![items]), groups: 0, of_words: false });
    }
    let alternatives = parser.alternatives(0)?;
    Ok(Expression { alternatives, groups: parser.groups, of_words: parser.of_words })
}

struct Parser<'a> {
    reader: Reader<'a>,
    options: Options,
    /// Capturing groups that were opened.
    groups: usize,
    of_words: bool,
}

/// What an item begins with.
enum Start {
    Atom(Atom),
    Constraint(Constraint),
    /// A comment: nothing.
    Nothing,
}

impl Parser<'_> {
    /// `***=`, `***:` and `(?i)`.
    fn beginning(&mut self) -> Result<()> {
        if self.reader.take("***=") {
            self.options = Options { literal: true, ignore_case: self.options.ignore_case, ..Options::default() };
            return Ok(());
        }
        if self.reader.starts_with("***?") {
            return invalid("invalid regexp (reg version 0.8)");
        }
        if !self.reader.take("***:") && self.reader.starts_with("***") {
            return invalid(BAD_QUANTIFIER);
        }
        let mut ahead = self.reader.clone();
        if !ahead.take("(?") || !ahead.peek().is_some_and(|letter| letter.is_ascii_alphabetic()) {
            return Ok(());
        }
        for letter in ahead.take_while(|letter| letter.is_ascii_alphabetic()).chars() {
            if !self.options.set(letter)? {
                return invalid(BAD_OPTION);
            }
        }
        if !ahead.take(")") {
            return invalid(BAD_OPTION);
        }
        if self.options.literal {
            self.options = Options { literal: true, ignore_case: self.options.ignore_case, ..Options::default() };
        }
        self.reader = ahead;
        Ok(())
    }

    /// Up to the end of the pattern, or of the group at this depth, whose parenthesis is left.
    fn alternatives(&mut self, depth: usize) -> Result<Alternatives> {
        if depth > DEPTH_MAX {
            return invalid(TOO_COMPLEX);
        }
        let (mut branches, mut branch) = (Vec::new(), Vec::new());
        loop {
            self.skip_blanks();
            match self.reader.peek() {
                Some('|') => {
                    self.reader.next();
                    branches.push(std::mem::take(&mut branch));
                }
                None => break,
                Some(')') if depth > 0 => break,
                Some(_) => self.item(depth, &mut branch)?,
            }
        }
        branches.push(branch);
        Ok(Alternatives(branches))
    }

    fn item(&mut self, depth: usize, branch: &mut Vec<Item>) -> Result<()> {
        match self.start(depth)? {
            Start::Nothing => {}
            Start::Constraint(constraint) => {
                self.of_words |= constraint.is_of_words();
                branch.push(Item::Constraint(constraint));
            }
            Start::Atom(atom) => {
                let quantifier = self.quantifier()?;
                branch.push(Item::Quantified { atom, quantifier });
            }
        }
        Ok(())
    }

    fn start(&mut self, depth: usize) -> Result<Start> {
        let options = self.options;
        let Some(character) = self.reader.next() else { return Ok(Start::Nothing) };
        Ok(match character {
            '*' | '+' | '?' => return invalid(BAD_QUANTIFIER),
            '{' if self.begins_bound() => return invalid(BAD_QUANTIFIER),
            ')' => return invalid(OPEN_PARENTHESIS),
            '^' if options.anchors_at_lines => Start::Constraint(Constraint::LineStart),
            '^' => Start::Constraint(Constraint::TextStart),
            '$' if options.anchors_at_lines => Start::Constraint(Constraint::LineEnd),
            '$' => Start::Constraint(Constraint::TextEnd),
            '.' => Start::Atom(Atom::Characters(Arc::new(any(options.stops_at_lines)))),
            '[' if self.reader.take("[:<:]]") => Start::Constraint(Constraint::WordStart),
            '[' if self.reader.take("[:>:]]") => Start::Constraint(Constraint::WordEnd),
            '[' => Start::Atom(Atom::Characters(Arc::new(bracket(&mut self.reader, options, self.groups)?))),
            '(' => self.group(depth)?,
            '\\' => match self.reader.escape(self.groups)? {
                Escape::Character(character) => Start::Atom(self.characters(character)),
                Escape::Class { name, negated } => {
                    Start::Atom(Atom::Characters(Arc::new(class_of_escape(name, negated, options)?)))
                }
                Escape::TextStart => Start::Constraint(Constraint::TextStart),
                Escape::TextEnd => Start::Constraint(Constraint::TextEnd),
                Escape::WordStart => Start::Constraint(Constraint::WordStart),
                Escape::WordEnd => Start::Constraint(Constraint::WordEnd),
                Escape::WordBoundary => Start::Constraint(Constraint::WordBoundary),
                Escape::NoWordBoundary => Start::Constraint(Constraint::NoWordBoundary),
                Escape::BackReference => {
                    return unsupported("back references in regular expressions are not supported");
                }
            },
            character => Start::Atom(self.characters(character)),
        })
    }

    /// Behind a parenthesis.
    fn group(&mut self, depth: usize) -> Result<Start> {
        let number = if self.reader.take("?") {
            match self.reader.next() {
                Some(':') => None,
                Some('#') => {
                    self.reader.take_while(|character| character != ')');
                    self.reader.take(")");
                    return Ok(Start::Nothing);
                }
                Some('=' | '!') => return unsupported("look-ahead in regular expressions is not supported"),
                Some('<') if matches!(self.reader.peek(), Some('=' | '!')) => {
                    return unsupported("look-behind in regular expressions is not supported");
                }
                _ => return invalid(BAD_QUANTIFIER),
            }
        } else {
            self.groups += 1;
            Some(self.groups)
        };
        let inner = self.alternatives(depth + 1)?;
        if !self.reader.take(")") {
            return invalid(OPEN_PARENTHESIS);
        }
        Ok(Start::Atom(Atom::Group { number, inner }))
    }

    fn quantifier(&mut self) -> Result<Quantifier> {
        // A comment may stand between.
        loop {
            self.skip_blanks();
            if !self.reader.take("(?#") {
                break;
            }
            self.reader.take_while(|character| character != ')');
            self.reader.take(")");
        }
        let (least, most) = match self.reader.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let mut ahead = self.reader.clone();
                ahead.next();
                std::mem::swap(&mut self.reader, &mut ahead);
                if !self.begins_bound() {
                    self.reader = ahead;
                    return Ok(Quantifier::ONCE);
                }
                return self.bound();
            }
            _ => return Ok(Quantifier::ONCE),
        };
        self.reader.next();
        Ok(Quantifier { least, most, prefers: Some(self.preference()) })
    }

    /// Whether what stands behind a brace is a number of repetitions.
    fn begins_bound(&mut self) -> bool {
        self.skip_blanks();
        self.reader.peek().is_some_and(|digit| digit.is_ascii_digit())
    }

    /// `{m}`, `{m,}` or `{m,n}` behind its brace.
    fn bound(&mut self) -> Result<Quantifier> {
        let least = self.number()?;
        self.skip_blanks();
        let mut exact = true;
        let mut most = Some(least);
        if self.reader.take(",") {
            exact = false;
            self.skip_blanks();
            most = match self.reader.peek() {
                Some(digit) if digit.is_ascii_digit() => Some(self.number()?),
                _ => None,
            };
            self.skip_blanks();
        }
        match self.reader.peek() {
            None => return invalid(OPEN_BRACE),
            Some('}') if most.is_none_or(|most| least <= most) => {}
            Some(_) => return invalid(BAD_REPETITION),
        }
        self.reader.next();
        let prefers = self.preference();
        Ok(Quantifier { least, most, prefers: if exact { None } else { Some(prefers) } })
    }

    fn number(&mut self) -> Result<u32> {
        let mut number = 0;
        loop {
            self.skip_blanks();
            let Some(digit) = self.reader.peek().and_then(|digit| digit.to_digit(10)) else { return Ok(number) };
            number = number * 10 + digit;
            if number > REPETITIONS_MAX {
                return invalid(BAD_REPETITION);
            }
            self.reader.next();
        }
    }

    fn preference(&mut self) -> Length {
        if self.reader.take("?") { Length::Shortest } else { Length::Longest }
    }

    /// Blanks and comments to the end of a line, in expanded syntax.
    fn skip_blanks(&mut self) {
        if !self.options.expanded {
            return;
        }
        loop {
            self.reader.take_while(char::is_whitespace);
            if !self.reader.take("#") {
                return;
            }
            self.reader.take_while(|character| character != '\n');
        }
    }

    fn characters(&self, character: char) -> Atom {
        Atom::Characters(Arc::new(one(character, self.options.ignore_case)))
    }

    fn plain(&self, character: char) -> Item {
        Item::Quantified { atom: self.characters(character), quantifier: Quantifier::ONCE }
    }
}
