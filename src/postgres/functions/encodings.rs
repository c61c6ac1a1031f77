//! Texts as bytes of an encoding, and bytes one by one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, Int32Array, Int64Array, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use super::error::{SqlState, fail};
use super::kind::Kind;
use super::scalar::{Arguments, Call, Function, immutable_of};

pub(super) static FUNCTIONS: [Function; 9] = [
    immutable_of("convert_to", 2, |arguments| of(arguments, Kind::Text, DataType::BinaryView), convert_to),
    immutable_of("convert_from", 2, |arguments| of(arguments, Kind::Bytea, DataType::Utf8View), convert_from),
    immutable_of("convert", 3, |arguments| of(arguments, Kind::Bytea, DataType::BinaryView), convert),
    immutable_of("unistr", 1, |arguments| of(arguments, Kind::Text, DataType::Utf8View), unistr),
    immutable_of("get_byte", 2, |arguments| of(arguments, Kind::Bytea, DataType::Int32), |call| read(call, 8)),
    immutable_of("get_bit", 2, |arguments| of(arguments, Kind::Bytea, DataType::Int32), |call| read(call, 1)),
    immutable_of("set_byte", 3, |arguments| of(arguments, Kind::Bytea, DataType::BinaryView), |call| write(call, 8)),
    immutable_of("set_bit", 3, |arguments| of(arguments, Kind::Bytea, DataType::BinaryView), |call| write(call, 1)),
    immutable_of("bit_count", 1, |arguments| of(arguments, Kind::Bytea, DataType::Int64), bit_count),
];

fn of(arguments: &Arguments, wanted: Kind, returns: DataType) -> Result<DataType> {
    match arguments.kind(0) {
        kind if kind == wanted || kind == Kind::Null => Ok(returns),
        Kind::Text if arguments.is_unknown(0) => Ok(returns),
        _ => arguments.undefined(),
    }
}

/// Encodings that Rowkey converts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
}

impl Encoding {
    fn named(name: &str) -> Option<Self> {
        // As PostgreSQL looks names up: letters and digits count.
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        match plain.to_ascii_lowercase().as_str() {
            "utf8" | "unicode" => Some(Self::Utf8),
            "latin1" | "iso88591" => Some(Self::Latin1),
            "sqlascii" => Some(Self::Ascii),
            _ => None,
        }
    }

    fn source(name: &str) -> Result<Self> {
        match Self::named(name) {
            Some(encoding) => Ok(encoding),
            None => fail(SqlState::INVALID_PARAMETER_VALUE, format!("invalid source encoding name \"{name}\"")),
        }
    }

    fn destination(name: &str) -> Result<Self> {
        match Self::named(name) {
            Some(encoding) => Ok(encoding),
            None => fail(SqlState::INVALID_PARAMETER_VALUE, format!("invalid destination encoding name \"{name}\"")),
        }
    }

    fn encode(self, text: &str) -> Result<Vec<u8>> {
        if self != Self::Latin1 {
            return Ok(text.as_bytes().to_vec());
        }
        text.chars()
            .map(|character| match u8::try_from(u32::from(character)) {
                Ok(byte) => Ok(byte),
                Err(_) => fail(
                    SqlState::UNTRANSLATABLE_CHARACTER,
                    format!(
                        "character with byte sequence {} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
                        shown(character.to_string().as_bytes())
                    ),
                ),
            })
            .collect()
    }

    fn decode(self, bytes: &[u8]) -> Result<String> {
        let text = match self {
            Self::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(error) => {
                    let from = error.valid_up_to();
                    let length = error.error_len().map_or(bytes.len() - from, |length| length);
                    return invalid_bytes(&bytes[from..from + length]);
                }
            },
        };
        if text.contains('\0') { invalid_bytes(&[0]) } else { Ok(text) }
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn invalid_bytes<T>(bytes: &[u8]) -> Result<T> {
    fail(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown(bytes)),
    )
}

fn bytes(call: &Call, place: usize) -> Result<BinaryViewArray> {
    Ok(call.as_type(place, &DataType::BinaryView)?.as_binary_view().clone())
}

fn convert_to(call: &Call) -> Result<ArrayRef> {
    let (texts, names) = (call.text(0)?, call.text(1)?);
    let built: BinaryViewArray = call.each([texts.nulls(), names.nulls()], |row| {
        Encoding::destination(names.value(row))?.encode(texts.value(row))
    })?;
    Ok(Arc::new(built))
}

fn convert_from(call: &Call) -> Result<ArrayRef> {
    let (values, names) = (bytes(call, 0)?, call.text(1)?);
    let built: StringViewArray = call
        .each([values.nulls(), names.nulls()], |row| Encoding::source(names.value(row))?.decode(values.value(row)))?;
    Ok(Arc::new(built))
}

fn convert(call: &Call) -> Result<ArrayRef> {
    let (values, from, to) = (bytes(call, 0)?, call.text(1)?, call.text(2)?);
    let built: BinaryViewArray = call.each([values.nulls(), from.nulls(), to.nulls()], |row| {
        let (from, to) = (Encoding::source(from.value(row))?, Encoding::destination(to.value(row))?);
        to.encode(&from.decode(values.value(row))?)
    })?;
    Ok(Arc::new(built))
}

/// Escapes `\XXXX`, `\+XXXXXX`, `\uXXXX`, `\UXXXXXXXX` and `\\`.
fn unistr(call: &Call) -> Result<ArrayRef> {
    let mut built = StringViewBuilder::with_capacity(call.rows);
    for text in call.text(0)?.iter() {
        built.append_option(text.map(unescaped).transpose()?);
    }
    Ok(Arc::new(built.finish()))
}

fn unescaped(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The first half of a character beyond the basic plane.
    let mut high: Option<u32> = None;
    while let Some(place) = rest.find('\\') {
        if high.is_some() && place > 0 {
            return invalid_surrogates();
        }
        out.push_str(&rest[..place]);
        let after = &rest[place + 1..];
        if let Some(behind) = after.strip_prefix('\\') {
            if high.is_some() {
                return invalid_surrogates();
            }
            out.push('\\');
            rest = behind;
            continue;
        }
        let (digits, skip) = match after.chars().next() {
            Some('u') => (4, 1),
            Some('U') => (8, 1),
            Some('+') => (6, 1),
            _ => (4, 0),
        };
        let code = after.get(skip..skip + digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code.and_then(|hex| u32::from_str_radix(hex, 16).ok()) else {
            return fail(SqlState::SYNTAX_ERROR, "invalid Unicode escape");
        };
        rest = &after[skip + digits..];
        match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => high = Some(code),
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00);
                out.extend(char::from_u32(code));
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return invalid_surrogates(),
            (None, code) => match char::from_u32(code).filter(|character| *character != '\0') {
                Some(character) => out.push(character),
                None => {
                    return fail(SqlState::INVALID_PARAMETER_VALUE, format!("invalid Unicode code point: {code:04X}"));
                }
            },
        }
    }
    if high.is_some() {
        return invalid_surrogates();
    }
    out.push_str(rest);
    Ok(out)
}

fn invalid_surrogates<T>() -> Result<T> {
    fail(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair")
}

fn checked(place: i64, units: usize) -> Result<usize> {
    match usize::try_from(place).ok().filter(|place| *place < units) {
        Some(place) => Ok(place),
        None => {
            let last = i64::try_from(units).unwrap_or(i64::MAX) - 1;
            fail(SqlState::ARRAY_SUBSCRIPT_ERROR, format!("index {place} out of valid range, 0..{last}"))
        }
    }
}

/// A unit of `width` bits, counted from 0, bits from the lowest of a byte.
fn read(call: &Call, width: usize) -> Result<ArrayRef> {
    let (values, places) = (bytes(call, 0)?, call.int8(1)?);
    let built: Int32Array = call.each([values.nulls(), places.nulls()], |row| {
        let value = values.value(row);
        let place = checked(places.value(row), value.len() * 8 / width)?;
        Ok(match width {
            8 => i32::from(value[place]),
            _ => i32::from(value[place / 8] >> (place % 8) & 1),
        })
    })?;
    Ok(Arc::new(built))
}

fn write(call: &Call, width: usize) -> Result<ArrayRef> {
    let (values, places, units) = (bytes(call, 0)?, call.int8(1)?, call.int8(2)?);
    let built: BinaryViewArray = call.each([values.nulls(), places.nulls(), units.nulls()], |row| {
        let mut value = values.value(row).to_vec();
        let place = checked(places.value(row), value.len() * 8 / width)?;
        let unit = units.value(row);
        match (width, unit) {
            (8, unit) => value[place] = unit as u8,
            (_, 0) => value[place / 8] &= !(1 << (place % 8)),
            (_, 1) => value[place / 8] |= 1 << (place % 8),
            _ => return fail(SqlState::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1"),
        }
        Ok(value)
    })?;
    Ok(Arc::new(built))
}

fn bit_count(call: &Call) -> Result<ArrayRef> {
    let ones = |value: &[u8]| value.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
    Ok(Arc::new(bytes(call, 0)?.iter().map(|value| value.map(ones)).collect::<Int64Array>()))
}
