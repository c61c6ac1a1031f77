//! Numbers read by PostgreSQL's patterns: `to_number('1,234.5', '9,999.9')`.
//!
//! Each place of the pattern takes one character of the text, whether it is a digit or not; what
//! is neither is passed over.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Decimal128Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::super::cast::cast_array;
use super::super::decimal::Decimal;
use super::super::error::{SqlState, fail};
use super::super::kind::{Kind, NUMERIC_DIGITS_MAX};
use super::super::last_template::LastTemplate;
use super::super::scalar::{Arguments, Call};
use super::{Pattern, Piece};

/// Digits behind the point where the pattern is no constant.
const SCALE_DEFAULT: i8 = 16;

/// `to_number`: as many digits behind the point as the pattern has.
pub(in super::super) fn returns_number(arguments: &Arguments) -> Result<DataType> {
    let texts = (0..2).all(|place| matches!(arguments.kind(place), Kind::Text | Kind::Null));
    if !texts {
        return arguments.undefined();
    }
    let scale = match arguments.text(1) {
        Some(pattern) => {
            let pattern = Pattern::parse(pattern)?;
            i8::try_from(pattern.behind + pattern.shift).unwrap_or(i8::MAX).min(NUMERIC_DIGITS_MAX as i8 - 1)
        }
        None => SCALE_DEFAULT,
    };
    Ok(DataType::Decimal128(NUMERIC_DIGITS_MAX, scale))
}

pub(in super::super) fn run_number(call: &Call) -> Result<ArrayRef> {
    let (texts, patterns) = (call.text(0)?, call.text(1)?);
    let DataType::Decimal128(precision, scale) = *call.returns else {
        return fail(SqlState::FEATURE_NOT_SUPPORTED, format!("numeric as {} is not supported", call.returns));
    };
    let mut built = Decimal128Array::builder(call.rows);
    let mut templates = LastTemplate::new(Pattern::parse);
    for row in 0..call.rows {
        // A pattern without anything reads nothing.
        if texts.is_null(row) || patterns.is_null(row) || patterns.value(row).is_empty() {
            built.append_null();
            continue;
        }
        let pattern = templates.get(patterns.value(row))?;
        if pattern.roman {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, "\"RN\" not supported for input");
        }
        if pattern.exponent {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, "\"EEEE\" not supported for input");
        }
        let mut number = read(pattern, texts.value(row))?;
        if pattern.shift > 0 {
            number = format!("{number}e-{}", pattern.shift);
        }
        match Decimal::parse(&number) {
            Some(read) => built.append_value(read.unscaled(precision, scale)?),
            None => {
                return fail(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("invalid input syntax for type numeric: \"{number}\""),
                );
            }
        }
    }
    let numbers: ArrayRef = Arc::new(built.finish().with_precision_and_scale(precision, scale)?);
    cast_array(&numbers, call.returns, &call.zone)
}

/// Reads a text along a pattern.
struct Reader<'a> {
    pattern: &'a Pattern,
    rest: &'a str,
    sign: Option<u8>,
    digits: String,
    /// Digits read before and behind the point.
    before: usize,
    behind: usize,
    has_point: bool,
}

/// The number that the text has in the places of the pattern.
fn read(pattern: &Pattern, text: &str) -> Result<String> {
    let mut reader =
        Reader { pattern, rest: text, sign: None, digits: String::new(), before: 0, behind: 0, has_point: false };
    reader.read();
    let whole = reader.digits.split('.').next().unwrap_or_default().trim_start_matches('0');
    // The shift is by digits behind the point that the text does not show.
    let places = pattern.before + pattern.shift;
    if whole.len() > places {
        return fail(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("numeric field overflow: \"{text}\" has more digits than the {places} that its pattern has"),
        );
    }
    let sign = if reader.sign == Some(b'-') { "-" } else { "" };
    let digits = reader.digits.trim_end_matches('.');
    Ok(format!("{sign}{}", if digits.is_empty() { " " } else { digits }))
}

impl Reader<'_> {
    fn read(&mut self) {
        for piece in &self.pattern.pieces {
            if self.rest.is_empty() {
                return;
            }
            match piece {
                Piece::Keyword("9" | "0", _) => self.place(true),
                Piece::Keyword("." | "D", _) => self.place(false),
                // Unfilled numbers have no group separators.
                Piece::Keyword("," | "G", _) if !self.pattern.fill => {
                    self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
                }
                Piece::Keyword("MI", _) => self.sign_of(b"-"),
                Piece::Keyword("PL", _) => self.sign_of(b"+"),
                Piece::Keyword("SG", _) => self.sign_of(b"-+"),
                Piece::Keyword("L", _) => self.pass(1),
                Piece::Keyword("TH", _) => self.pass(2),
                Piece::Keyword(..) => {}
                Piece::Literal(literal) => literal.chars().for_each(|_| self.skip()),
            }
        }
    }

    fn first(&self) -> Option<u8> {
        self.rest.as_bytes().first().copied()
    }

    fn skip(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }

    /// Passes over so many characters that are not of a number.
    fn pass(&mut self, characters: usize) {
        for _ in 0..characters {
            if !self.rest.starts_with(|character: char| !character.is_ascii_digit() && !".,+-".contains(character)) {
                return;
            }
            self.skip();
        }
    }

    fn sign_of(&mut self, signs: &[u8]) {
        match self.first().filter(|first| signs.contains(first)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.skip();
            }
            None => self.pass(1),
        }
    }

    /// The place of a digit or of the point.
    fn place(&mut self, is_digit: bool) {
        if self.first() == Some(b' ') {
            self.skip();
        }
        let mut is_read = false;
        if self.sign.is_none() && is_digit && self.before + self.behind == 0 {
            match self.first() {
                Some(b'-') => self.sign = Some(b'-'),
                Some(b'<') if self.pattern.bracket => self.sign = Some(b'-'),
                Some(b'+') => self.sign = Some(b'+'),
                _ => {}
            }
            if self.sign.is_some() {
                self.skip();
            }
        }
        match self.first() {
            Some(digit) if digit.is_ascii_digit() => {
                if self.has_point && self.behind == self.pattern.behind {
                    return self.skip();
                }
                self.digits.push(char::from(digit));
                *if self.has_point { &mut self.behind } else { &mut self.before } += 1;
                is_read = true;
            }
            Some(b'.') if self.pattern.decimal && !self.has_point => {
                self.digits.push('.');
                (self.has_point, is_read) = (true, true);
            }
            _ => {}
        }
        if self.sign.is_none() && self.before + self.behind > 0 {
            self.sign_behind(is_read);
        }
        self.skip();
    }

    /// A sign behind the last digit: with `S` at once behind it, else where no digit was read.
    fn sign_behind(&mut self, is_read: bool) {
        let following = self.rest.as_bytes().get(1).copied();
        if self.pattern.has_sign {
            if let Some(sign @ (b'-' | b'+')) = following.filter(|_| is_read) {
                self.sign = Some(sign);
                self.skip();
            }
        } else if !is_read && (self.pattern.plus || self.pattern.minus) {
            self.sign = self.first().filter(|sign| matches!(sign, b'-' | b'+'));
        }
    }
}
