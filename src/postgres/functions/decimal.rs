//! Exact numbers: PostgreSQL's numeric within 38 digits, one scale for all values of a column.

use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::{Result, ScalarValue};

use super::cast;
use super::error::{Error, SqlState, division_by_zero, out_of_range};
use super::kind::{NUMERIC_DIGITS_MAX, decimal_of};
use super::scalar::Call;

/// Digits behind the point that a product keeps at most, unless an operand has more.
const PRODUCT_SCALE_MAX: i8 = 20;
/// Significant digits that a quotient has at least, as in PostgreSQL.
const QUOTIENT_DIGITS_MIN: i32 = 16;

/// An unscaled number and its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    value: i128,
    scale: i8,
}

pub(super) fn sum_type(left: (u8, i8), right: (u8, i8)) -> Result<DataType> {
    let scale = left.1.max(right.1);
    let whole = whole_digits(left).max(whole_digits(right));
    bounded(whole + i16::from(scale) + 1, scale)
}

pub(super) fn product_type(left: (u8, i8), right: (u8, i8)) -> Result<DataType> {
    let widest = left.1.max(right.1);
    let scale = left.1.saturating_add(right.1).min(PRODUCT_SCALE_MAX.max(widest));
    bounded(whole_digits(left) + whole_digits(right) + i16::from(scale), scale)
}

/// PostgreSQL chooses the scale of each quotient by its operands; here constants have it so, and a
/// column has one for all.
pub(super) fn quotient_type(left: (u8, i8), right: (u8, i8), constants: Option<(Decimal, Decimal)>) -> DataType {
    let least = i32::from(left.1.max(right.1).max(0));
    let scale = match constants {
        Some((left, right)) => quotient_scale(left, right).max(least),
        None => QUOTIENT_DIGITS_MIN.max(least),
    };
    let scale = scale.clamp(0, i32::from(NUMERIC_DIGITS_MAX) - 1) as i8;
    DataType::Decimal128(NUMERIC_DIGITS_MAX, scale)
}

/// PostgreSQL's rule: numbers are digits of base 10,000; the quotient's first digit is at the
/// difference of their weights, one lower where the dividend's first digit is not above the
/// divisor's.
fn quotient_scale(left: Decimal, right: Decimal) -> i32 {
    let (left_weight, left_first) = left.weight_and_first();
    let (right_weight, right_first) = right.weight_and_first();
    let mut weight = left_weight - right_weight;
    if left_first <= right_first {
        weight -= 1;
    }
    QUOTIENT_DIGITS_MIN - weight * 4
}

fn whole_digits((precision, scale): (u8, i8)) -> i16 {
    i16::from(precision) - i16::from(scale)
}

/// # Errors
/// `NUMERIC_VALUE_OUT_OF_RANGE` for a scale beyond all digits, as literals may have.
fn bounded(precision: i16, scale: i8) -> Result<DataType> {
    if i16::from(scale) > i16::from(NUMERIC_DIGITS_MAX) {
        return Err(too_large());
    }
    let precision = precision.clamp(i16::from(scale).max(1), i16::from(NUMERIC_DIGITS_MAX)) as u8;
    Ok(DataType::Decimal128(precision, scale))
}

/// An argument as decimals with the scale of its type.
pub(super) fn decimals(call: &Call, place: usize) -> Result<Decimal128Array> {
    let array = call.arg(place)?;
    let wanted = match decimal_of(array.data_type()) {
        Some((_, scale)) => DataType::Decimal128(NUMERIC_DIGITS_MAX, scale),
        None => match call.returns {
            DataType::Decimal128(_, scale) => DataType::Decimal128(NUMERIC_DIGITS_MAX, *scale),
            _ => DataType::Decimal128(NUMERIC_DIGITS_MAX, 0),
        },
    };
    Ok(cast::cast_array(array, &wanted, &call.zone)?.as_primitive::<Decimal128Type>().clone())
}

pub(super) fn pow10(exponent: u32) -> i256 {
    let mut power = i256::ONE;
    for _ in 0..exponent {
        power = power.wrapping_mul(i256::from_i128(10));
    }
    power
}

impl Decimal {
    pub(super) fn new(value: i128, scale: i8) -> Self {
        Self { value, scale }
    }

    pub(super) fn of_scalar(value: &ScalarValue) -> Option<Self> {
        match value {
            ScalarValue::Int16(Some(value)) => Some(Self::new(i128::from(*value), 0)),
            ScalarValue::Int32(Some(value)) => Some(Self::new(i128::from(*value), 0)),
            ScalarValue::Int64(Some(value)) => Some(Self::new(i128::from(*value), 0)),
            ScalarValue::Decimal128(Some(value), _, scale) => Some(Self::new(*value, *scale)),
            _ => None,
        }
    }

    /// Reads `-12.5`, `1e3`. `None`: no number, or one of more than 38 digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes().first()? {
            b'-' => (true, &mantissa[1..]),
            b'+' => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut value: i128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        while scale < 0 {
            value = value.checked_mul(10)?;
            scale += 1;
        }
        let scale = i8::try_from(scale).ok().filter(|scale| *scale <= NUMERIC_DIGITS_MAX as i8)?;
        (value.unsigned_abs() < 10_u128.pow(38)).then_some(Self { value: if negative { -value } else { value }, scale })
    }

    pub(super) fn value(self) -> i128 {
        self.value
    }

    /// Whether so many last digits are zeros.
    pub(super) fn ends_in_zeros(self, digits: i8) -> bool {
        let digits = u32::from(digits.unsigned_abs());
        self.value == 0 || 10_i128.checked_pow(digits).is_some_and(|unit| self.value % unit == 0)
    }

    pub(super) fn scale(self) -> i8 {
        self.scale
    }

    /// Digits of the number, at least those behind the point.
    pub(super) fn precision(self) -> u8 {
        let digits = self.value.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
        (digits.max(self.scale.max(1) as u32)).min(u32::from(NUMERIC_DIGITS_MAX)) as u8
    }

    /// The place of the first digit in base 10,000, and that digit.
    pub(super) fn weight_and_first(self) -> (i32, i128) {
        if self.value == 0 {
            return (0, 0);
        }
        // Aligned, so that the point lies between two digits of base 10,000.
        let padding = (4 - i32::from(self.scale).rem_euclid(4)) % 4;
        let mut digits = i256::from_i128(self.value.wrapping_abs()).wrapping_mul(pow10(padding as u32));
        let mut weight = -(i32::from(self.scale) + padding) / 4;
        let base = i256::from_i128(10_000);
        while digits >= base {
            digits = digits.wrapping_div(base);
            weight += 1;
        }
        (weight, digits.to_i128().unwrap_or(0))
    }

    fn wide(self, scale: i8) -> i256 {
        let more = u32::try_from(i32::from(scale) - i32::from(self.scale)).unwrap_or(0);
        i256::from_i128(self.value).wrapping_mul(pow10(more))
    }

    fn of_wide(value: i256, from: i32, scale: i8) -> Result<Self> {
        let rounded = rescale(value, from, i32::from(scale));
        Ok(Self { value: within_digits(rounded)?, scale })
    }

    /// What rounding has not made zero.
    fn kept(self, is_zero: bool) -> Result<Self> {
        if self.value == 0 && !is_zero { Err(too_small()) } else { Ok(self) }
    }

    pub(super) fn add(self, other: Self, scale: i8) -> Result<Self> {
        let widest = self.scale.max(other.scale);
        Self::of_wide(self.wide(widest).wrapping_add(other.wide(widest)), i32::from(widest), scale)
    }

    pub(super) fn subtract(self, other: Self, scale: i8) -> Result<Self> {
        let widest = self.scale.max(other.scale);
        Self::of_wide(self.wide(widest).wrapping_sub(other.wide(widest)), i32::from(widest), scale)
    }

    pub(super) fn multiply(self, other: Self, scale: i8) -> Result<Self> {
        let product = i256::from_i128(self.value).wrapping_mul(i256::from_i128(other.value));
        Self::of_wide(product, i32::from(self.scale) + i32::from(other.scale), scale)?.kept(product == i256::ZERO)
    }

    pub(super) fn divide(self, other: Self, scale: i8) -> Result<Self> {
        if other.value == 0 {
            return Err(division_by_zero());
        }
        let up = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let (mut numerator, mut denominator) = (i256::from_i128(self.value), i256::from_i128(other.value));
        if up >= 0 {
            numerator = numerator.checked_mul(pow10(up as u32)).ok_or_else(too_large)?;
        } else {
            denominator = denominator.checked_mul(pow10(up.unsigned_abs())).ok_or_else(too_large)?;
        }
        let value = within_digits(divide_rounded(numerator, denominator))?;
        Self { value, scale }.kept(self.value == 0)
    }

    /// To the power of a whole number, if no digit is lost on the way.
    pub(super) fn power(self, exponent: u32, scale: i8) -> Option<Result<Self>> {
        let (mut power, mut square) = (i256::ONE, i256::from_i128(self.value));
        let mut left = exponent;
        while left > 0 {
            if left % 2 == 1 {
                power = power.checked_mul(square)?;
            }
            left /= 2;
            if left > 0 {
                square = square.checked_mul(square)?;
            }
        }
        let from = i32::try_from(exponent).ok()?.checked_mul(i32::from(self.scale))?;
        // Beyond that the point is moved further than there are digits.
        (from - i32::from(scale) <= 76 && i32::from(scale) - from <= 38)
            .then(|| Self::of_wide(power, from, scale)?.kept(power == i256::ZERO))
    }

    /// The root of what is not negative.
    pub(super) fn square_root(self, scale: i8) -> Result<Self> {
        let square = rescale(i256::from_i128(self.value), i32::from(self.scale), 2 * i32::from(scale));
        Self { value: within_digits(square_root(square))?, scale }.kept(self.value == 0)
    }

    pub(super) fn modulo(self, other: Self, scale: i8) -> Result<Self> {
        if other.value == 0 {
            return Err(division_by_zero());
        }
        let widest = self.scale.max(other.scale);
        Self::of_wide(self.wide(widest).wrapping_rem(other.wide(widest)), i32::from(widest), scale)
    }

    /// Rounded half away from zero.
    pub(super) fn round(self, scale: i8) -> Result<Self> {
        Self::of_wide(i256::from_i128(self.value), i32::from(self.scale), scale)
    }

    /// The digits at a scale, if the precision allows them.
    pub(super) fn unscaled(self, precision: u8, scale: i8) -> Result<i128> {
        let rounded = self.round(scale)?;
        if rounded.value.unsigned_abs() >= 10_u128.pow(u32::from(precision.min(NUMERIC_DIGITS_MAX))) {
            return Err(too_large());
        }
        Ok(rounded.value)
    }

    pub(super) fn is_whole(self) -> bool {
        u32::try_from(self.scale).is_ok_and(|scale| self.value % 10_i128.pow(scale) == 0)
    }

    pub(super) fn to_f64(self) -> f64 {
        // Through text: dividing by a power of ten would round twice.
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.value.unsigned_abs().to_string();
        let scale = usize::try_from(self.scale).unwrap_or(0);
        let sign = if self.value < 0 { "-" } else { "" };
        if scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

pub(super) fn within_digits(value: i256) -> Result<i128> {
    match value.to_i128() {
        Some(value) if value.unsigned_abs() < 10_u128.pow(u32::from(NUMERIC_DIGITS_MAX)) => Ok(value),
        _ => Err(too_large()),
    }
}

/// For a number that is not zero.
pub(super) fn too_small() -> datafusion::common::DataFusionError {
    let message = "numeric value would become zero, with as many digits as its column has";
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).into()
}

pub(super) fn too_large() -> datafusion::common::DataFusionError {
    out_of_range("numeric value beyond 38 digits:")
}

/// Moves the point, rounding half away from zero.
pub(super) fn rescale(value: i256, from: i32, to: i32) -> i256 {
    if to >= from {
        value.wrapping_mul(pow10((to - from) as u32))
    } else {
        divide_rounded(value, pow10((from - to) as u32))
    }
}

pub(super) fn divide_rounded(numerator: i256, denominator: i256) -> i256 {
    let quotient = numerator.wrapping_div(denominator);
    let rest = numerator.wrapping_rem(denominator);
    let twice = rest.wrapping_abs().wrapping_mul(i256::from_i128(2));
    if twice < denominator.wrapping_abs() {
        return quotient;
    }
    let negative = numerator.is_negative() != denominator.is_negative();
    if negative { quotient.wrapping_sub(i256::ONE) } else { quotient.wrapping_add(i256::ONE) }
}

/// The square root, rounded to the nearest.
pub(super) fn square_root(square: i256) -> i256 {
    if square <= i256::ZERO {
        return i256::ZERO;
    }
    let one = i256::ONE;
    let two = i256::from_i128(2);
    let (low, high) = square.to_parts();
    let estimate = (high as f64).mul_add(2_f64.powi(128), low as f64).sqrt();
    // Never zero, and below 2^128.
    let mut root = i256::from_parts(estimate as u128, 0);
    for _ in 0..3 {
        root = if root <= i256::ZERO { one } else { root };
        root = root.wrapping_add(square.wrapping_div(root)).wrapping_div(two);
    }
    let squared = |root: i256| root.checked_mul(root);
    while squared(root).is_none_or(|squared| squared > square) {
        root = root.wrapping_sub(one);
    }
    while squared(root.wrapping_add(one)).is_some_and(|squared| squared <= square) {
        root = root.wrapping_add(one);
    }
    let rest = square.wrapping_sub(root.wrapping_mul(root));
    if rest > root { root.wrapping_add(one) } else { root }
}

/// Decimals into another scale, rounded half away from zero; the values of an [`ArrayRef`] of
/// decimals.
pub(super) fn rescaled(array: &ArrayRef, precision: u8, scale: i8) -> Result<Decimal128Array> {
    let from = match array.data_type() {
        DataType::Decimal128(_, from) => *from,
        _ => scale,
    };
    let values = array.as_primitive::<Decimal128Type>();
    let mut rounded = Decimal128Array::builder(values.len());
    for value in values {
        match value {
            Some(value) => rounded.append_value(Decimal::new(value, from).unscaled(precision, scale)?),
            None => rounded.append_null(),
        }
    }
    Ok(rounded.finish().with_precision_and_scale(precision, scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_rounded() {
        for (square, root) in
            [(0, 0), (1, 1), (2, 1), (3, 2), (6, 2), (7, 3), (9, 3), (10_i128.pow(36), 10_i128.pow(18))]
        {
            assert_eq!(square_root(i256::from_i128(square)), i256::from_i128(root), "{square}");
        }
        let large = pow10(76);
        assert_eq!(square_root(large), pow10(38));
    }

    #[test]
    fn powers_are_exact_or_none() {
        let three = Decimal::new(3, 0);
        assert_eq!(
            three.power(40, 16).map(Result::unwrap),
            Some(Decimal::new(12_157_665_459_056_928_801 * 10_i128.pow(16), 16))
        );
        assert_eq!(Decimal::new(15, 1).power(2, 2).map(Result::unwrap), Some(Decimal::new(225, 2)));
        assert!(three.power(1000, 16).is_none());
        assert!(three.power(79, 0).is_some_and(|power| power.is_ok()));
        assert!(three.power(81, 0).is_some_and(|power| power.is_err()));
    }

    #[test]
    fn what_is_not_zero_does_not_become_it() {
        let small = Decimal::new(1, 20);
        assert!(small.multiply(small, 20).is_err());
        assert!(small.divide(Decimal::new(10, 0), 20).is_err());
        assert!(small.divide(Decimal::new(1, 0), 20).is_ok());
        assert_eq!(Decimal::new(0, 2).multiply(small, 4).unwrap(), Decimal::new(0, 4));
        let large = Decimal::new(10_i128.pow(38) - 1, 0);
        assert!(large.add(Decimal::new(1, 0), 0).is_err());
        assert!(large.multiply(large, 0).is_err());
    }
}
