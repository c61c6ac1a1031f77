//! The characters of a pattern, and escapes, which are the same in brackets and outside.

use datafusion::common::Result;

use super::refusal::{BAD_ESCAPE, invalid};

/// A pattern that is read from its beginning.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: std::str::Chars<'a>,
}

/// What an escape means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Character(char),
    /// `\d`, `\s`, `\w`, by the name of the class; in capitals they are what is not in it.
    Class {
        name: &'static str,
        negated: bool,
    },
    TextStart,
    TextEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NoWordBoundary,
    BackReference,
}

impl<'a> Reader<'a> {
    pub(super) fn of(pattern: &'a str) -> Self {
        Self { rest: pattern.chars() }
    }

    pub(super) fn next(&mut self) -> Option<char> {
        self.rest.next()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest.as_str().starts_with(text)
    }

    /// Takes a text if it is what comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.as_str().strip_prefix(text);
        if let Some(rest) = rest {
            self.rest = rest.chars();
        }
        rest.is_some()
    }

    /// Takes characters as long as they are such.
    pub(super) fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest.as_str();
        let end = rest.find(|character| !is(character)).unwrap_or(rest.len());
        self.rest = rest[end..].chars();
        &rest[..end]
    }

    /// What stands behind a backslash; `groups` were opened so far.
    pub(super) fn escape(&mut self, groups: usize) -> Result<Escape> {
        let Some(letter) = self.next() else { return invalid(BAD_ESCAPE) };
        let class = |name, negated| Escape::Class { name, negated };
        Ok(match letter {
            letter if !letter.is_ascii_alphanumeric() => Escape::Character(letter),
            'a' => Escape::Character('\x07'),
            'A' => Escape::TextStart,
            'b' => Escape::Character('\x08'),
            'B' => Escape::Character('\\'),
            'c' => match self.next() {
                Some(letter) => self.character(u32::from(letter) & 0o37)?,
                None => return invalid(BAD_ESCAPE),
            },
            'd' | 'D' => class("digit", letter == 'D'),
            'e' => Escape::Character('\x1b'),
            'f' => Escape::Character('\x0c'),
            'm' => Escape::WordStart,
            'M' => Escape::WordEnd,
            'n' => Escape::Character('\n'),
            'r' => Escape::Character('\r'),
            's' | 'S' => class("space", letter == 'S'),
            't' => Escape::Character('\t'),
            'u' => self.hexadecimal(4, 4)?,
            'U' => self.hexadecimal(8, 8)?,
            'v' => Escape::Character('\x0b'),
            'w' | 'W' => class("word", letter == 'W'),
            'x' => self.hexadecimal(1, 255)?,
            'y' => Escape::WordBoundary,
            'Y' => Escape::NoWordBoundary,
            'Z' => Escape::TextEnd,
            '0' => self.octal(letter)?,
            '1'..='9' => {
                // One digit, or the number of a group; anything else is a character's number.
                let behind = self.clone();
                let more = self.take_while(|digit| digit.is_ascii_digit());
                let number = format!("{letter}{more}").parse::<usize>();
                if more.is_empty() || number.is_ok_and(|number| number <= groups) {
                    Escape::BackReference
                } else {
                    *self = behind;
                    self.octal(letter)?
                }
            }
            _ => return invalid(BAD_ESCAPE),
        })
    }

    fn character(&self, number: u32) -> Result<Escape> {
        match char::from_u32(number) {
            Some(character) => Ok(Escape::Character(character)),
            None => invalid(BAD_ESCAPE),
        }
    }

    fn hexadecimal(&mut self, least: usize, most: usize) -> Result<Escape> {
        let (mut number, mut digits) = (0_u32, 0);
        while digits < most
            && let Some(digit) = self.peek().and_then(|letter| letter.to_digit(16))
        {
            // Digits that leave it are lost, as in PostgreSQL.
            number = number << 4 | digit;
            digits += 1;
            self.next();
        }
        if digits < least { invalid(BAD_ESCAPE) } else { self.character(number) }
    }

    /// Up to three octal digits, as far as they are less than 256.
    fn octal(&mut self, first: char) -> Result<Escape> {
        let Some(mut number) = first.to_digit(8) else { return invalid(BAD_ESCAPE) };
        for _ in 0..2 {
            match self.peek().and_then(|letter| letter.to_digit(8)) {
                Some(digit) if number * 8 + digit <= 0xff => {
                    number = number * 8 + digit;
                    self.next();
                }
                _ => break,
            }
        }
        self.character(number)
    }
}
