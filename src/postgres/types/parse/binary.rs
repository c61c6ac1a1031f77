//! Binary forms of parameters.

use arrow::datatypes::i256;

use super::array::{ITEMS_MAX, too_many_items};
use crate::types::binary::NUMERIC_NEGATIVE;
use crate::types::calendar::{MICROS_PER_DAY, POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_MICROS};
use crate::types::json::{Json, normalized};
use crate::types::postgres_type::oid;
use crate::types::{Error, Interval, PostgresType, SqlState, SqlValue, type_by_oid};

/// Reads the binary form of a value, as the receive function of its type does.
///
/// # Errors
/// If the bytes have another length or shape than the type's, or the value is one that cannot be
/// held (infinite times, `NaN` as numeric).
pub fn parse_binary(ty: &PostgresType, bytes: &[u8]) -> Result<SqlValue, Error> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(ty)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(incorrect()) }
}

struct Reader<'a> {
    rest: &'a [u8],
}

fn incorrect() -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let insufficient = || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(insufficient)?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| incorrect())
    }

    fn u16(&mut self) -> Result<u16, Error> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, Error> {
        self.bytes().map(i32::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, Error> {
        self.bytes().map(i64::from_be_bytes)
    }

    fn text(&mut self) -> Result<String, Error> {
        let bytes = std::mem::take(&mut self.rest);
        let wrong = |bytes: &[u8]| {
            let shown: Vec<String> = bytes.iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
            let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
            Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
        };
        if bytes.contains(&0) {
            return Err(wrong(&[0]));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let from = error.valid_up_to();
            let len = error.error_len().unwrap_or(bytes.len() - from);
            wrong(&bytes[from..from + len])
        })?;
        Ok(text.to_owned())
    }

    fn micros(&mut self) -> Result<i64, Error> {
        match self.i64()? {
            i64::MAX | i64::MIN => Err(Error::unsupported("infinite timestamps are not supported")),
            since_2000 => since_2000
                .checked_add(POSTGRES_EPOCH_MICROS)
                .ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range")),
        }
    }

    fn value(&mut self, ty: &PostgresType) -> Result<SqlValue, Error> {
        if ty.element().is_some() {
            return self.array(ty);
        }
        Ok(match ty.oid {
            oid::BOOL => SqlValue::Bool(self.bytes::<1>()? != [0]),
            oid::INT2 => SqlValue::Int2(self.bytes().map(i16::from_be_bytes)?),
            oid::INT4 => SqlValue::Int4(self.i32()?),
            oid::INT8 | oid::XID8 => SqlValue::Int8(self.i64()?),
            oid::FLOAT4 => SqlValue::Float4(self.bytes().map(f32::from_be_bytes)?),
            oid::FLOAT8 => SqlValue::Float8(self.bytes().map(f64::from_be_bytes)?),
            oid::BYTEA => SqlValue::Bytes(std::mem::take(&mut self.rest).to_vec()),
            oid::UUID => SqlValue::Uuid(self.bytes()?),
            oid::TIMESTAMP => SqlValue::Timestamp(self.micros()?),
            oid::TIMESTAMPTZ => SqlValue::TimestampTz(self.micros()?),
            oid::DATE => match self.i32()? {
                i32::MAX | i32::MIN => return Err(Error::unsupported("infinite dates are not supported")),
                since_2000 => SqlValue::Date(
                    since_2000
                        .checked_add(POSTGRES_EPOCH_DAYS)
                        .ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range"))?,
                ),
            },
            oid::TIME => match self.i64()? {
                micros @ 0..=MICROS_PER_DAY => SqlValue::Time(micros),
                _ => return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "time out of range")),
            },
            oid::INTERVAL => {
                let (micros, days, months) = (self.i64()?, self.i32()?, self.i32()?);
                SqlValue::Interval(Interval { months, days, micros })
            }
            oid::NUMERIC => self.numeric()?,
            oid::CHAR => match self.bytes::<1>()? {
                [0] => SqlValue::Text(String::new()),
                [byte] if byte.is_ascii() => SqlValue::Text(char::from(byte).to_string()),
                [byte] => {
                    let message = format!("byte 0x{byte:02x} of type \"char\" is not ASCII, which is not supported");
                    return Err(Error::unsupported(message));
                }
            },
            oid::JSONB => {
                let [version] = self.bytes::<1>()?;
                if version != 1 {
                    return Err(Error::unsupported(format!("unsupported jsonb version number {version}")));
                }
                SqlValue::Text(normalized(&self.text()?)?)
            }
            oid::JSON => {
                let text = self.text()?;
                Json::read(&text)?;
                SqlValue::Text(text)
            }
            oid::NAME => SqlValue::Text(super::bytes::truncate_name(&self.text()?)),
            oid::BPCHAR => SqlValue::Text(super::bytes::without_blanks(&self.text()?).to_owned()),
            _ => match crate::types::arrow_type(ty) {
                Some(arrow::datatypes::DataType::Utf8View) => SqlValue::Text(self.text()?),
                Some(arrow::datatypes::DataType::UInt32) => SqlValue::Oid(self.bytes().map(u32::from_be_bytes)?),
                _ => return Err(super::unsupported(ty)),
            },
        })
    }

    /// Digits of base 10000 behind a header (their number, weight of the first, sign, decimal
    /// scale).
    fn numeric(&mut self) -> Result<SqlValue, Error> {
        let overflow = || Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric value has more than 76 digits");
        let count = self.u16()?;
        let weight = self.bytes().map(i16::from_be_bytes)?;
        let sign = self.u16()?;
        let scale = self.u16()?;
        match sign {
            0 | NUMERIC_NEGATIVE => {}
            0xC000 | 0xD000 | 0xF000 => {
                return Err(Error::unsupported("numeric values NaN and Infinity are not supported"));
            }
            _ => return Err(invalid("invalid sign in external \"numeric\" value")),
        }
        if scale > 0x3FFF {
            return Err(invalid("invalid scale in external \"numeric\" value"));
        }
        let base = i256::from(10_000);
        let mut unscaled = i256::ZERO;
        for _ in 0..count {
            let digit = self.u16()?;
            if digit > 9999 {
                return Err(invalid("invalid digit in external \"numeric\" value"));
            }
            unscaled = unscaled
                .checked_mul(base)
                .and_then(|high| high.checked_add(i256::from(i32::from(digit))))
                .ok_or_else(overflow)?;
        }
        // The digits so far count units of 10^own; the value wants units of 10^-scale.
        let own = 4 * (i32::from(weight) - i32::from(count) + 1);
        let shift = own + i32::from(scale);
        let factor = i256::from(10).checked_pow(shift.unsigned_abs());
        if unscaled != i256::ZERO {
            unscaled = match factor {
                Some(factor) if shift >= 0 => unscaled.checked_mul(factor).ok_or_else(overflow)?,
                // Digits beyond the scale are cut off.
                Some(factor) => unscaled.checked_div(factor).ok_or_else(overflow)?,
                None if shift >= 0 => return Err(overflow()),
                None => i256::ZERO,
            };
        }
        let scale = i8::try_from(scale).ok().filter(|scale| *scale <= 76).ok_or_else(overflow)?;
        if sign == NUMERIC_NEGATIVE {
            unscaled = unscaled.wrapping_neg();
        }
        if unscaled.to_string().trim_start_matches('-').len() > 76 {
            return Err(overflow());
        }
        Ok(SqlValue::Numeric { unscaled, scale })
    }

    fn array(&mut self, ty: &PostgresType) -> Result<SqlValue, Error> {
        let dimensions = self.i32()?;
        if !(0..=6).contains(&dimensions) {
            return Err(invalid(&format!("invalid number of dimensions: {dimensions}")));
        }
        if !matches!(self.i32()?, 0 | 1) {
            return Err(invalid("invalid array flags"));
        }
        let element_oid = self.bytes().map(u32::from_be_bytes)?;
        if element_oid != ty.element_oid {
            let message = format!(
                "binary data has array element type {element_oid} ({}) instead of expected {} ({})",
                type_by_oid(element_oid).map_or("unknown", |ty| ty.sql_name),
                ty.element_oid,
                ty.element().map_or("unknown", |ty| ty.sql_name),
            );
            return Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message));
        }
        let element = ty.element().ok_or_else(incorrect)?;
        let mut extent = Vec::new();
        for _ in 0..dimensions {
            let len = self.i32()?;
            let lower_bound = self.i32()?;
            extent.push(usize::try_from(len).map_err(|_| incorrect())?);
            if !ty.is_vector() && len > 0 && lower_bound != 1 {
                return Err(Error::unsupported(format!("arrays with lower bound {lower_bound} are not supported")));
            }
        }
        if extent.contains(&0) || extent.is_empty() {
            return Ok(SqlValue::Array(Vec::new()));
        }
        if extent.iter().try_fold(1_usize, |items, len| items.checked_mul(*len)).is_none_or(|items| items > ITEMS_MAX) {
            return Err(too_many_items());
        }
        self.elements(element, &extent)
    }

    fn elements(&mut self, element: &PostgresType, extent: &[usize]) -> Result<SqlValue, Error> {
        let Some((len, inner)) = extent.split_first() else {
            let len = self.i32()?;
            if len == -1 {
                return Ok(SqlValue::Null);
            }
            let bytes = self.take(usize::try_from(len).map_err(|_| incorrect())?)?;
            return parse_binary(element, bytes);
        };
        // Each element takes four bytes at least, so a wrong length ends at the end of the bytes.
        let mut values = Vec::new();
        for _ in 0..*len {
            values.push(self.elements(element, inner)?);
        }
        Ok(SqlValue::Array(values))
    }
}
