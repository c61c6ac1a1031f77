//! Numbers written and read by PostgreSQL's patterns: `to_char(1234.5, '9,999.99')`,
//! `to_number('1,234.5', '9,999.9')`.

mod reading;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::Result;

use super::date_template::{Case, case_of};
use super::decimal::Decimal;
use super::error::{SqlState, fail, out_of_range};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::last_template::LastTemplate;
use super::scalar::Call;

pub(super) use reading::{returns_number, run_number};

/// Significant digits of a double that are written.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;
/// Characters of the longest Roman number, to which others are filled up.
const ROMAN_WIDTH: usize = 15;
const ROMAN_MAX: i64 = 3999;

/// Keywords, the longer before the shorter that begins them, in upper case.
const KEYWORDS: [&str; 20] =
    ["EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", ",", ".", "9", "0", "B", "C", "D", "G", "L", "S", "V"];

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// The keyword, and whether it was in capitals.
    Keyword(&'static str, bool),
    Literal(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SignPlace {
    #[default]
    None,
    Before,
    After,
}

/// What a pattern asks for, as PostgreSQL collects it.
#[derive(Debug, Clone, Default)]
struct Pattern {
    pieces: Vec<Piece>,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
    /// Digits that the number is shifted by.
    shift: usize,
    /// The first digit from which on zeros are written, from 1; none if 0.
    zero_start: usize,
    zero_end: usize,
    sign: SignPlace,
    /// Digits ahead of `S`.
    ahead_of_sign: usize,
    zero: bool,
    blank: bool,
    decimal: bool,
    fill: bool,
    has_sign: bool,
    minus: bool,
    plus: bool,
    bracket: bool,
    roman: bool,
    shifted: bool,
    exponent: bool,
}

fn syntax<T>(message: &str) -> Result<T> {
    fail(SqlState::SYNTAX_ERROR, message)
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (text, after) = super::date_template::quoted(&rest[1..]);
            pieces.push(Piece::Literal(text));
            rest = after;
            continue;
        }
        if first == '\\' && rest[1..].starts_with('"') {
            pieces.push(Piece::Literal("\"".to_owned()));
            rest = &rest[2..];
            continue;
        }
        match KEYWORDS.iter().find_map(|keyword| case_of(keyword, rest).map(|case| (*keyword, case))) {
            Some((keyword, case)) => {
                pieces.push(Piece::Keyword(keyword, case == Case::Upper));
                rest = &rest[keyword.len()..];
            }
            None => {
                pieces.push(Piece::Literal(first.to_string()));
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    pieces
}

impl Pattern {
    fn parse(text: &str) -> Result<Self> {
        let mut pattern = Self::default();
        for piece in pieces(super::date_template::short(text)?) {
            if let Piece::Keyword(name, _) = &piece {
                pattern.add(name)?;
            }
            pattern.pieces.push(piece);
        }
        Ok(pattern)
    }

    fn add(&mut self, keyword: &str) -> Result<()> {
        if self.exponent && keyword != "EEEE" {
            return syntax("\"EEEE\" must be the last pattern used");
        }
        match keyword {
            "9" | "0" if self.bracket => return syntax(&format!("\"{keyword}\" must be ahead of \"PR\"")),
            "9" if self.shifted => self.shift += 1,
            "9" if self.decimal => self.behind += 1,
            "9" => self.before += 1,
            "0" => {
                if !self.zero && !self.decimal {
                    self.zero = true;
                    self.zero_start = self.before + 1;
                }
                if self.decimal {
                    self.behind += 1;
                } else {
                    self.before += 1;
                }
                self.zero_end = self.before + self.behind;
            }
            "B" => self.blank |= self.before == 0 && self.behind == 0 && !self.zero,
            "." | "D" if self.decimal => return syntax("multiple decimal points"),
            "." | "D" | "V" if self.shifted || (keyword == "V" && self.decimal) => {
                return syntax("cannot use \"V\" and decimal point together");
            }
            "." | "D" => self.decimal = true,
            "V" => self.shifted = true,
            "FM" => self.fill = true,
            "S" if self.has_sign => return syntax("cannot use \"S\" twice"),
            "S" if self.plus || self.minus || self.bracket => {
                return syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
            }
            "S" => {
                self.has_sign = true;
                if self.decimal {
                    self.sign = SignPlace::After;
                } else {
                    self.sign = SignPlace::Before;
                    self.ahead_of_sign = self.before;
                }
            }
            "MI" | "PL" | "SG" if self.has_sign => {
                return syntax(&format!("cannot use \"S\" and \"{keyword}\" together"));
            }
            "MI" => self.minus = true,
            "PL" => self.plus = true,
            "SG" => (self.minus, self.plus) = (true, true),
            "PR" if self.has_sign || self.plus || self.minus => {
                return syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
            }
            "PR" => self.bracket = true,
            "RN" => self.roman = true,
            "EEEE" if self.exponent => return syntax("cannot use \"EEEE\" twice"),
            "EEEE"
                if self.blank
                    || self.fill
                    || self.has_sign
                    || self.bracket
                    || self.minus
                    || self.plus
                    || self.roman
                    || self.shifted =>
            {
                return syntax("\"EEEE\" is incompatible with other formats");
            }
            "EEEE" => self.exponent = true,
            _ => {}
        }
        Ok(())
    }
}

/// A number to be written.
#[derive(Debug, Clone, Copy)]
enum Number {
    Exact(Decimal),
    /// And how many digits it has.
    Double(f64, usize),
}

impl Number {
    fn to_f64(self) -> f64 {
        match self {
            Self::Exact(number) => number.to_f64(),
            Self::Double(number, _) => number,
        }
    }

    /// Its digits with so many behind the point, and the sign.
    fn digits(self, pattern: &mut Pattern) -> Result<(bool, String)> {
        let text = match self {
            Self::Exact(number) => {
                let shift = i8::try_from(pattern.shift).map_err(|_| out_of_range("numeric"))?;
                let mut number = number;
                for _ in 0..shift {
                    number = number.multiply(Decimal::new(10, 0), number.scale())?;
                }
                let places = i8::try_from(pattern.behind).map_err(|_| out_of_range("numeric"))?;
                let rounded = number.round(places.min(number.scale().max(0)))?;
                let mut text = rounded.to_string();
                let have = text.split_once('.').map_or(0, |(_, behind)| behind.len());
                if have < pattern.behind {
                    if have == 0 {
                        text.push('.');
                    }
                    text.push_str(&"0".repeat(pattern.behind - have));
                }
                text
            }
            Self::Double(number, digits) => {
                let number = number * 10_f64.powi(i32::try_from(pattern.shift).unwrap_or(i32::MAX));
                let whole = shown(number.abs(), 0).len();
                // Digits beyond its precision are not written.
                pattern.behind = pattern.behind.min(digits.saturating_sub(whole));
                shown(number, pattern.behind)
            }
        };
        pattern.before += pattern.shift;
        Ok(match text.strip_prefix('-') {
            Some(digits) => (true, digits.to_owned()),
            None => (false, text),
        })
    }
}

fn shown(number: f64, digits: usize) -> String {
    match number {
        number if number.is_nan() => "NaN".to_owned(),
        number if number.is_infinite() => if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned(),
        number => format!("{number:.digits$}"),
    }
}

/// `to_char` of a number.
pub(super) fn run(call: &Call) -> Result<ArrayRef> {
    let patterns = call.text(1)?;
    let numbers: Vec<Option<Number>> = match call.kind(0) {
        kind if kind.is_float() => {
            let digits = if kind == Kind::Float4 { REAL_DIGITS } else { DOUBLE_DIGITS };
            call.float8(0)?.iter().map(|number| number.map(|number| Number::Double(number, digits))).collect()
        }
        _ => {
            let scale = decimal_of(call.arg(0)?.data_type()).map_or(0, |(_, scale)| scale);
            let exact = call.as_type(0, &DataType::Decimal128(NUMERIC_DIGITS_MAX, scale))?;
            let exact = exact.as_primitive::<Decimal128Type>().iter();
            exact.map(|number| number.map(|number| Number::Exact(Decimal::new(number, scale)))).collect()
        }
    };
    let is_wide = matches!(call.kind(0), Kind::Numeric | Kind::Int8);
    let mut texts = StringViewBuilder::with_capacity(call.rows);
    let mut templates = LastTemplate::new(Pattern::parse);
    for (row, number) in numbers.into_iter().enumerate() {
        let Some(number) = number.filter(|_| patterns.is_valid(row)) else {
            texts.append_null();
            continue;
        };
        let text = patterns.value(row);
        if text.is_empty() {
            texts.append_value("");
            continue;
        }
        texts.append_value(format(templates.get(text)?.clone(), number, is_wide)?);
    }
    Ok(Arc::new(texts.finish()))
}

/// Of a wide number, numeric or bigint, all digits are rounded; others are doubles where they have
/// an exponent.
fn format(mut pattern: Pattern, number: Number, is_wide: bool) -> Result<String> {
    if pattern.exponent {
        return Ok(match number {
            Number::Exact(number) if is_wide => exact_scientific(&pattern, number),
            number => scientific(&pattern, number.to_f64()),
        });
    }
    if pattern.roman {
        let whole = match number {
            Number::Exact(number) => number.round(0)?.to_f64(),
            Number::Double(number, _) => number.round_ties_even(),
        };
        let roman = (1.0..=ROMAN_MAX as f64).contains(&whole).then(|| roman(whole as i64));
        return Ok(written_roman(&pattern, &roman.unwrap_or_else(|| "#".repeat(ROMAN_WIDTH))));
    }
    let (negative, mut digits) = number.digits(&mut pattern)?;
    let before = digits.find('.').unwrap_or(digits.len());
    let spaces = pattern.before.saturating_sub(before);
    if before > pattern.before {
        digits = format!("{}.{}", "#".repeat(pattern.before), "#".repeat(pattern.behind));
    }
    Ok(Writer::new(&mut pattern, digits, negative, spaces).write())
}

fn scientific(pattern: &Pattern, number: f64) -> String {
    if !number.is_finite() {
        return format!(" {}.{}", "#".repeat(pattern.before), "#".repeat(pattern.behind + 4));
    }
    let text = format!("{number:.*e}", pattern.behind);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    with_exponent(mantissa, exponent)
}

fn with_exponent(mantissa: &str, exponent: &str) -> String {
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let blank = if mantissa.starts_with('-') { "" } else { " " };
    format!("{blank}{mantissa}e{sign}{exponent:0>2}")
}

/// Rounded half away from zero.
fn exact_scientific(pattern: &Pattern, number: Decimal) -> String {
    let digits = number.value().unsigned_abs().to_string();
    let exponent = if number.value() == 0 { 0 } else { digits.len() as i64 - 1 - i64::from(number.scale()) };
    let mut kept: Vec<u8> = digits.bytes().chain(std::iter::repeat(b'0')).take(pattern.behind + 1).collect();
    if digits.as_bytes().get(kept.len()).is_some_and(|next| *next >= b'5') {
        match kept.iter().rposition(|digit| *digit != b'9') {
            Some(at) => {
                kept[at] += 1;
                kept[at + 1..].fill(b'0');
            }
            // PostgreSQL's rounding leaves two digits before the point.
            None => {
                kept.fill(b'0');
                kept.insert(0, b'1');
            }
        }
    }
    let sign = if number.value() < 0 { "-" } else { "" };
    let kept = String::from_utf8_lossy(&kept);
    let (first, behind) = kept.split_at(kept.len() - pattern.behind);
    let point = if behind.is_empty() { "" } else { "." };
    with_exponent(&format!("{sign}{first}{point}{behind}"), &exponent.to_string())
}

fn roman(number: i64) -> String {
    const LETTERS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let (mut left, mut text) = (number, String::new());
    for (value, letters) in LETTERS {
        while left >= value {
            text.push_str(letters);
            left -= value;
        }
    }
    text
}

/// Beside a Roman number only literals are written.
fn written_roman(pattern: &Pattern, number: &str) -> String {
    let mut out = String::new();
    for piece in &pattern.pieces {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Keyword("RN", capitals) => {
                let number = if *capitals { number.to_owned() } else { number.to_lowercase() };
                out.push_str(&if pattern.fill { number } else { format!("{number:>ROMAN_WIDTH$}") });
            }
            Piece::Keyword(..) => {}
        }
    }
    out
}

/// Writes digits into the places of a pattern, the way PostgreSQL's processor does.
struct Writer<'a> {
    pattern: &'a Pattern,
    digits: Vec<u8>,
    negative: bool,
    /// Places before the first digit.
    spaces: usize,
    zero_start: usize,
    sign: SignPlace,
    bracket: bool,
    sign_written: bool,
    /// The last digit behind the point that counts, where the rest is not written.
    last_relevant: Option<usize>,
    places: usize,
    /// The next digit, and the next place.
    next: usize,
    place: usize,
    in_number: bool,
    out: String,
}

impl<'a> Writer<'a> {
    fn new(pattern: &'a mut Pattern, digits: String, negative: bool, spaces: usize) -> Self {
        let mut bracket = pattern.bracket;
        let mut sign = pattern.sign;
        let sign_written = if pattern.plus || pattern.minus {
            !pattern.plus || pattern.minus
        } else {
            if !negative && pattern.fill {
                bracket = false;
            }
            if sign == SignPlace::Before && pattern.before == pattern.ahead_of_sign {
                sign = SignPlace::After;
            }
            !negative && pattern.fill && !pattern.has_sign
        };
        let mut last_relevant = None;
        if pattern.fill
            && pattern.decimal
            && let Some(point) = digits.find('.')
        {
            let behind = digits[point + 1..].rfind(|digit| digit != '0').map_or(point, |place| point + 1 + place);
            let zeros = match pattern.zero_end > spaces {
                true => (digits.len() - 1).min(pattern.zero_end - spaces),
                false => 0,
            };
            last_relevant = Some(behind.max(zeros));
        }
        let mut places = (pattern.behind + pattern.before).saturating_sub(1);
        if !sign_written && spaces == 0 {
            places += 1;
        }
        Self {
            zero_start: pattern.zero_start.saturating_sub(1),
            pattern,
            digits: digits.into_bytes(),
            negative,
            spaces,
            sign,
            bracket,
            sign_written,
            last_relevant,
            places,
            next: 0,
            place: 0,
            in_number: false,
            out: String::new(),
        }
    }

    fn write(mut self) -> String {
        let pattern = self.pattern;
        let fill = pattern.fill;
        for piece in &pattern.pieces {
            let (name, capitals) = match piece {
                Piece::Literal(text) => {
                    self.out.push_str(text);
                    continue;
                }
                Piece::Keyword(name, capitals) => (*name, *capitals),
            };
            match name {
                "9" | "0" | "." | "D" => self.digit(name),
                "," | "G" if self.in_number => self.out.push(','),
                "," | "G" if !fill => self.out.push(' '),
                // The currency of the locale C is a blank.
                "L" => self.out.push(' '),
                "TH" if self.digits.first() == Some(&b'#') || self.negative || pattern.decimal => {}
                "TH" => {
                    let suffix = super::to_char::ordinal_suffix(&String::from_utf8_lossy(&self.digits));
                    self.out.push_str(&if capitals { suffix.to_uppercase() } else { suffix.to_owned() });
                }
                "MI" if self.negative => self.out.push('-'),
                "PL" if !self.negative => self.out.push('+'),
                "MI" | "PL" if !fill => self.out.push(' '),
                "SG" => self.out.push(if self.negative { '-' } else { '+' }),
                _ => {}
            }
        }
        // A double has no digits for all the places: the text ends with its last.
        if let Some(end) = self.out.find('\0') {
            self.out.truncate(end);
        }
        self.out
    }

    /// A zero before the point that is left blank, as in ` .5`.
    fn blank_zero(&self) -> bool {
        !self.pattern.zero && self.next == 0 && self.digits.first() == Some(&b'0') && self.pattern.behind != 0
    }

    fn ends_at_point(&self) -> bool {
        self.last_relevant.and_then(|place| self.digits.get(place)) == Some(&b'.')
    }

    fn digit(&mut self, keyword: &str) {
        let fill = self.pattern.fill;
        self.in_number = false;
        let begins = self.place >= self.spaces || (self.pattern.zero && self.zero_start == self.place);
        if !self.sign_written && begins && (!self.blank_zero() || self.ends_at_point()) {
            self.write_sign();
        }
        if self.place < self.spaces && (self.zero_start > self.place || !self.pattern.zero) {
            if !fill {
                self.out.push(' ');
            }
        } else if self.pattern.zero && self.place < self.spaces {
            self.out.push('0');
            self.in_number = true;
        } else {
            let digit = self.digits.get(self.next).copied();
            if digit == Some(b'.') {
                if !self.ends_at_point() || fill {
                    self.out.push('.');
                }
            } else if self.last_relevant.is_some_and(|last| self.next > last) && keyword != "0" {
            } else if self.blank_zero() {
                if !fill {
                    self.out.push(' ');
                } else if self.ends_at_point() {
                    self.out.push('0');
                }
            } else {
                self.out.push(char::from(digit.unwrap_or(0)));
                self.in_number = true;
            }
            if digit.is_some() {
                self.next += 1;
            }
        }
        let mut end = self.places + usize::from(self.spaces > 0) + usize::from(self.pattern.decimal);
        if self.last_relevant == Some(self.next) {
            end = self.place;
        }
        if self.place + 1 == end {
            if self.sign_written && self.bracket {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.pattern.has_sign && self.sign == SignPlace::After {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    fn write_sign(&mut self) {
        if self.pattern.has_sign {
            if self.sign == SignPlace::Before {
                self.out.push(if self.negative { '-' } else { '+' });
                self.sign_written = true;
            }
            return;
        }
        match (self.bracket, self.negative) {
            (true, negative) => self.out.push(if negative { '<' } else { ' ' }),
            (false, true) => self.out.push('-'),
            (false, false) if !self.pattern.fill => self.out.push(' '),
            _ => {}
        }
        self.sign_written = true;
    }
}
