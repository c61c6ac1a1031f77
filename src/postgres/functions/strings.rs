//! Functions of texts and bytes that DataFusion has with other limits, errors or results.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Int32Array, StringViewArray, StringViewBuilder};
use arrow::datatypes::{DataType, Field};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use datafusion::common::{Result, ScalarValue};

use super::built_texts::{SHARED_BYTES_MIN, Texts};
use super::cast::cast_value;
use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, CONCATENATED, Call, Function, immutable};

/// Characters of a line of base64, as MIME has it.
const BASE64_LINE: usize = 76;

pub(super) static FUNCTIONS: [Function; 16] = [
    immutable("repeat", 2..=2, returns_text_and_number, run_repeat),
    immutable("replace", 3..=3, returns_text_of_texts, run_replace),
    immutable("translate", 3..=3, returns_text_of_texts, run_translate),
    immutable(CONCATENATED, 2..=2, returns_text, run_concatenated),
    immutable("lpad", 2..=3, returns_text_and_number, |call| padded(call, true)),
    immutable("rpad", 2..=3, returns_text_and_number, |call| padded(call, false)),
    immutable("chr", 1..=1, returns_character, run_chr),
    immutable("split_part", 3..=3, returns_part, run_split_part),
    immutable("to_hex", 1..=1, returns_hex, run_to_hex),
    immutable("encode", 2..=2, |_| Ok(DataType::Utf8View), run_encode),
    immutable(
        "decode",
        2..=2,
        |arguments| match arguments.kind(0) {
            Kind::Bytea => arguments.undefined(),
            _ => Ok(DataType::BinaryView),
        },
        run_decode,
    ),
    immutable("octet_length", 1..=1, returns_length, |call| lengths(call, Unit::Bytes)),
    immutable("bit_length", 1..=1, returns_length, |call| lengths(call, Unit::Bits)),
    immutable("length", 1..=1, returns_length, |call| lengths(call, Unit::Characters)),
    immutable("char_length", 1..=1, returns_text_length, |call| lengths(call, Unit::Characters)),
    immutable("character_length", 1..=1, returns_text_length, |call| lengths(call, Unit::Characters)),
];

/// The function of `||` for texts.
pub(super) fn concatenated() -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == CONCATENATED)
}

pub(super) fn returns_text(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Text | Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    }
}

fn is_text(kind: Kind) -> bool {
    kind == Kind::Text
}

pub(super) fn returns_text_of_texts(arguments: &Arguments) -> Result<DataType> {
    let texts = (0..arguments.types.len()).all(|place| arguments.may_be(place, is_text));
    if texts { Ok(DataType::Utf8View) } else { arguments.undefined() }
}

/// The second argument is the number.
fn returns_text_and_number(arguments: &Arguments) -> Result<DataType> {
    let fits = arguments.may_be(1, Kind::is_integer) && arguments.may_be(2, is_text);
    if fits { returns_text(arguments) } else { arguments.undefined() }
}

fn returns_part(arguments: &Arguments) -> Result<DataType> {
    let fits = arguments.may_be(1, is_text) && arguments.may_be(2, Kind::is_integer);
    if fits { returns_text(arguments) } else { arguments.undefined() }
}

fn returns_character(arguments: &Arguments) -> Result<DataType> {
    if arguments.may_be(0, Kind::is_integer) { Ok(DataType::Utf8View) } else { arguments.undefined() }
}

fn returns_length(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Text | Kind::Null | Kind::Bytea => Ok(DataType::Int32),
        _ => arguments.undefined(),
    }
}

fn returns_text_length(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        Kind::Text | Kind::Null => Ok(DataType::Int32),
        _ => arguments.undefined(),
    }
}

fn returns_hex(arguments: &Arguments) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind.is_integer() || kind == Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    }
}

fn run_repeat(call: &Call) -> Result<ArrayRef> {
    let (texts, counts) = (call.text(0)?, call.int8(1)?);
    let mut repeated = Texts::of(call);
    for row in 0..call.rows {
        if texts.is_null(row) || counts.is_null(row) {
            repeated.built.append_null();
            continue;
        }
        let count = usize::try_from(counts.value(row)).unwrap_or(0);
        repeated.reserve(texts.value(row).len().saturating_mul(count))?;
        repeated.append(texts.value(row).repeat(count))?;
    }
    Ok(repeated.finish())
}

fn run_replace(call: &Call) -> Result<ArrayRef> {
    let (texts, sought, replacements) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let mut replaced = Texts::of(call);
    for row in 0..call.rows {
        if call.args.iter().any(|array| array.is_null(row)) {
            replaced.built.append_null();
            continue;
        }
        let (text, sought, replacement) = (texts.value(row), sought.value(row), replacements.value(row));
        if sought.is_empty() || !text.contains(sought) {
            replaced.reserve(text.len())?;
            replaced.built.append_value(text);
            continue;
        }
        let most = (text.len() / sought.len()).saturating_mul(replacement.len()).saturating_add(text.len());
        let count = || text.matches(sought).count().saturating_mul(replacement.len()).saturating_add(text.len());
        replaced.append_counted(most, || Ok(count()), || Ok(text.replace(sought, replacement)))?;
    }
    Ok(replaced.finish())
}

/// Each character that is in the second text becomes the one at its place in the third, or goes if
/// that is shorter.
fn run_translate(call: &Call) -> Result<ArrayRef> {
    let (texts, sought, replacements) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let mut translated = Texts::of(call);
    // Of the last row: mostly the texts are constants.
    let (mut of, mut places) = (("", ""), HashMap::new());
    for row in 0..call.rows {
        if call.args.iter().any(|array| array.is_null(row)) {
            translated.built.append_null();
            continue;
        }
        let (text, from_to) = (texts.value(row), (sought.value(row), replacements.value(row)));
        if from_to != of {
            of = from_to;
            places = HashMap::new();
            let mut to = of.1.chars();
            for from in of.0.chars() {
                // The first of equal ones counts.
                let to = to.next();
                places.entry(from).or_insert(to);
            }
        }
        let character = |from: char| places.get(&from).copied().unwrap_or(Some(from));
        let made = || text.chars().filter_map(character);
        let most = text.len().saturating_mul(char::MAX.len_utf8());
        translated.append_counted(most, || Ok(made().map(char::len_utf8).sum()), || Ok(made().collect()))?;
    }
    Ok(translated.finish())
}

fn run_concatenated(call: &Call) -> Result<ArrayRef> {
    let (left, right) = (call.text(0)?, call.text(1)?);
    let mut joined = Texts::of(call);
    let mut text = String::new();
    for row in 0..call.rows {
        if left.is_null(row) || right.is_null(row) {
            joined.built.append_null();
            continue;
        }
        let (left, right) = (left.value(row), right.value(row));
        joined.reserve(left.len() + right.len())?;
        text.reserve_exact(left.len() + right.len());
        text.push_str(left);
        text.push_str(right);
        match text.len() < SHARED_BYTES_MIN {
            true => {
                joined.built.append_value(&text);
                text.clear();
            }
            false => joined.append(std::mem::take(&mut text))?,
        }
    }
    Ok(joined.finish())
}

/// `lpad` and `rpad`: to a number of characters, longer texts cut.
fn padded(call: &Call, left: bool) -> Result<ArrayRef> {
    let (texts, lengths) = (call.text(0)?, call.int8(1)?);
    let fill = if call.len() == 3 { Some(call.text(2)?) } else { None };
    let mut padded = Texts::of(call);
    for row in 0..call.rows {
        if call.args.iter().any(|array| array.is_null(row)) {
            padded.built.append_null();
            continue;
        }
        let text = texts.value(row);
        let wanted = usize::try_from(lengths.value(row)).unwrap_or(0);
        let fill = fill.as_ref().map_or(" ", |fill| fill.value(row));
        let present = text.chars().count();
        if present >= wanted || fill.is_empty() {
            padded.built.append_value(super::text::characters(text, 0, wanted));
            continue;
        }
        let longest = fill.chars().map(char::len_utf8).max().unwrap_or(1);
        padded.reserve(text.len() + (wanted - present).saturating_mul(longest))?;
        let filling: String = fill.chars().cycle().take(wanted - present).collect();
        padded.append(if left { filling + text } else { format!("{text}{filling}") })?;
    }
    Ok(padded.finish())
}

fn run_chr(call: &Call) -> Result<ArrayRef> {
    let codes = call.int8(0)?;
    let built: StringViewArray = call.each([codes.nulls()], |row| match u32::try_from(codes.value(row)).ok() {
        None => fail(SqlState::INVALID_PARAMETER_VALUE, "character number must be positive"),
        Some(0) => fail(SqlState::PROGRAM_LIMIT_EXCEEDED, "null character not permitted"),
        Some(code) => match char::from_u32(code) {
            Some(character) => Ok(character.to_string()),
            None => {
                let why = if code > 0x10_FFFF { "too large" } else { "not valid" };
                let message = format!("requested character {why} for encoding: {code}");
                fail(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            }
        },
    })?;
    Ok(Arc::new(built))
}

fn run_split_part(call: &Call) -> Result<ArrayRef> {
    let (texts, separators, places) = (call.text(0)?, call.text(1)?, call.int8(2)?);
    let built: StringViewArray = call.each([texts.nulls(), separators.nulls(), places.nulls()], |row| {
        let (text, separator, place) = (texts.value(row), separators.value(row), places.value(row));
        if place == 0 {
            return fail(SqlState::INVALID_PARAMETER_VALUE, "field position must not be zero");
        }
        let nth = usize::try_from(place.unsigned_abs() - 1).unwrap_or(usize::MAX);
        // Between texts without a separator there is one field.
        let part = match (text.is_empty(), separator.is_empty()) {
            (true, _) => None,
            (false, true) => (nth == 0).then_some(text),
            (false, false) if place > 0 => text.split(separator).nth(nth),
            (false, false) => {
                let fields: Vec<&str> = text.split(separator).collect();
                fields.len().checked_sub(nth + 1).and_then(|at| fields.get(at).copied())
            }
        };
        Ok(part.unwrap_or_default())
    })?;
    Ok(Arc::new(built))
}

fn run_to_hex(call: &Call) -> Result<ArrayRef> {
    let wide = call.kind(0) == Kind::Int8;
    let values = call.int8(0)?;
    let mut built = StringViewBuilder::with_capacity(call.rows);
    for value in values.iter() {
        built.append_option(value.map(|value| if wide { format!("{value:x}") } else { format!("{:x}", value as i32) }));
    }
    Ok(Arc::new(built.finish()))
}

fn unknown_encoding<T>(name: &str) -> Result<T> {
    fail(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized encoding: \"{name}\""))
}

fn run_encode(call: &Call) -> Result<ArrayRef> {
    let bytes = call.as_type(0, &DataType::BinaryView)?;
    let (bytes, encodings) = (bytes.as_binary_view(), call.text(1)?);
    let built: StringViewArray = call.each([bytes.nulls(), encodings.nulls()], |row| {
        let value = bytes.value(row);
        Ok(match encodings.value(row).to_ascii_lowercase().as_str() {
            "hex" => value.iter().map(|byte| format!("{byte:02x}")).collect(),
            "base64" => lines(&BASE64.encode(value)),
            "escape" => escaped(value),
            _ => return unknown_encoding(encodings.value(row)),
        })
    })?;
    Ok(Arc::new(built))
}

fn lines(text: &str) -> String {
    let lines: Vec<String> =
        text.as_bytes().chunks(BASE64_LINE).map(|line| line.iter().map(|byte| char::from(*byte)).collect()).collect();
    lines.join("\n")
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            0 | 0x80.. => text.push_str(&format!("\\{byte:03o}")),
            byte => text.push(char::from(*byte)),
        }
    }
    text
}

fn run_decode(call: &Call) -> Result<ArrayRef> {
    let (texts, encodings) = (call.text(0)?, call.text(1)?);
    let field = Field::new("", DataType::BinaryView, true);
    let built: BinaryViewArray = call.each([texts.nulls(), encodings.nulls()], |row| {
        let text = texts.value(row);
        Ok(match encodings.value(row).to_ascii_lowercase().as_str() {
            "hex" => from_hex(text)?,
            "base64" => from_base64(text)?,
            "escape" => match cast_value(&ScalarValue::Utf8View(Some(text.to_owned())), &field, &call.zone, None)? {
                ScalarValue::BinaryView(Some(bytes)) => bytes,
                _ => return fail(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea"),
            },
            _ => return unknown_encoding(encodings.value(row)),
        })
    })?;
    Ok(Arc::new(built))
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let mut digits = Vec::with_capacity(text.len());
    for character in text.chars().filter(|character| !matches!(character, ' ' | '\n' | '\t' | '\r')) {
        match character.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None => {
                return fail(SqlState::INVALID_PARAMETER_VALUE, format!("invalid hexadecimal digit: \"{character}\""));
            }
        }
    }
    if digits.len() % 2 != 0 {
        return fail(SqlState::INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits");
    }
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn from_base64(text: &str) -> Result<Vec<u8>> {
    let plain: String = text.chars().filter(|character| !matches!(character, ' ' | '\n' | '\t' | '\r')).collect();
    let is_symbol = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=');
    if let Some(character) = plain.chars().find(|character| !is_symbol(*character)) {
        let message = format!("invalid symbol \"{character}\" found while decoding base64 sequence");
        return fail(SqlState::INVALID_PARAMETER_VALUE, message);
    }
    match BASE64.decode(&plain) {
        Ok(bytes) => Ok(bytes),
        Err(_) => fail(SqlState::INVALID_PARAMETER_VALUE, "invalid base64 end sequence"),
    }
}

/// What the length of a value is counted in.
#[derive(Clone, Copy)]
enum Unit {
    Bits,
    Bytes,
    /// Of a `bytea` these are bytes.
    Characters,
}

fn lengths(call: &Call, unit: Unit) -> Result<ArrayRef> {
    let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let of_bytes = |bytes: usize| length(if let Unit::Bits = unit { bytes.saturating_mul(8) } else { bytes });
    if call.kind(0) == Kind::Bytea {
        let bytes = call.as_type(0, &DataType::BinaryView)?;
        let lengths = bytes.as_binary_view().iter().map(|value| value.map(|value| of_bytes(value.len())));
        return Ok(Arc::new(lengths.collect::<Int32Array>()));
    }
    let texts = call.text(0)?;
    let measured = |text: &str| match unit {
        Unit::Characters => length(text.chars().count()),
        Unit::Bits | Unit::Bytes => of_bytes(text.len()),
    };
    Ok(Arc::new(texts.iter().map(|text| text.map(measured)).collect::<Int32Array>()))
}
