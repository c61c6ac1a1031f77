//! Exponentials and logarithms of decimals, in fixed point: 64 binary digits before the point and
//! 192 behind it, which are 57 decimal ones. A numeric has 38.

use arrow::datatypes::i256;

use super::decimal::Decimal;

/// Binary digits behind the point.
const FRACTION_BITS: u32 = 192;
const LN_2: i256 = i256::from_parts(0xc9e3_b398_03f2_f6af_40f3_4326_7298_b62e, 0xb172_17f7_d1cf_79ab);
const LN_10: i256 = i256::from_parts(0xa95b_58ae_0b4c_28a3_8a3f_b3e7_6977_e43a, 0x2_4d76_3776_aaa2_b05b);
/// An exponential is the square, so many times over, of that of a part of its argument.
const HALVINGS: u32 = 8;
/// Beyond it no exponential has 38 digits, nor any before the 38th behind the point.
const EXPONENT_MAX: f64 = 200.0;

/// A number that is computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed(i256);

/// What an exponential is when it is no decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// It has more digits before the point than a decimal.
    TooLarge,
    /// It is closer to zero than the last digit.
    TooSmall,
}

impl Fixed {
    const ZERO: Self = Self(i256::ZERO);
    const ONE: Self = Self(i256::from_parts(0, 1 << (FRACTION_BITS - 128)));
    const TWO: Self = Self(i256::from_parts(0, 2 << (FRACTION_BITS - 128)));

    /// `None`: it has too many digits before the point.
    pub(super) fn of_decimal(value: Decimal) -> Option<Self> {
        let unit = 10_i128.pow(u32::try_from(value.scale()).ok()?);
        let (whole, rest) = (value.value().div_euclid(unit), value.value().rem_euclid(unit));
        let whole = i256::from_i128(i128::from(i64::try_from(whole).ok()?));
        // In two steps, as 192 digits more would be too many at once.
        let unit = i256::from_i128(unit);
        let upper: i256 = i256::from_i128(rest) << 128_u8;
        let lower = upper.wrapping_rem(unit) << 64_u8;
        let fraction = (upper.wrapping_div(unit) << 64_u8).wrapping_add(lower.wrapping_div(unit));
        Some(Self((whole << FRACTION_BITS as u8).wrapping_add(fraction)))
    }

    /// Of what is not negative and below 2^62.
    fn of_double(value: f64) -> Self {
        // The digits of a double fit into the upper half.
        let upper = (value * 2_f64.powi(64)) as i128;
        Self(i256::from_i128(upper) << 128_u8)
    }

    fn to_double(self) -> f64 {
        let above = |bits: u8| -> Option<i128> { (self.0 >> bits).to_i128() };
        let upper = above(64).map(|upper| upper as f64 * 2_f64.powi(-128));
        upper.unwrap_or_else(|| above(128).map_or(f64::NAN, |upper| upper as f64 * 2_f64.powi(-64)))
    }

    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    fn subtract(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0))
    }

    fn times(self, times: i64) -> Self {
        Self(self.0.wrapping_mul(i256::from_i128(i128::from(times))))
    }

    /// `None`: the product is beyond 2^63.
    pub(super) fn multiply(self, other: Self) -> Option<Self> {
        let product = product(self.0.wrapping_abs(), other.0.wrapping_abs());
        let [_, _, _, a, b, c, d, above] = product;
        if above > 0 || d >> 63 > 0 {
            return None;
        }
        let value = i256::from_parts(u128::from(a) | u128::from(b) << 64, i128::from(c) | i128::from(d) << 64);
        let negative = self.0.is_negative() != other.0.is_negative();
        Some(Self(if negative { value.wrapping_neg() } else { value }))
    }

    /// Of factors whose product is small.
    fn by(self, other: Self) -> Self {
        self.multiply(other).unwrap_or(Self::ZERO)
    }

    /// By a number other than zero, whose reciprocal is below 2^63. Two of Newton's steps make the
    /// 53 digits of a double more than there are here.
    pub(super) fn divide(self, divisor: Self) -> Option<Self> {
        let magnitude = Self(divisor.0.wrapping_abs());
        let estimate = 1.0 / magnitude.to_double();
        if !(estimate.is_finite() && estimate < 2_f64.powi(62)) {
            return None;
        }
        let mut reciprocal = Self::of_double(estimate);
        for _ in 0..3 {
            reciprocal = reciprocal.multiply(Self::TWO.subtract(magnitude.multiply(reciprocal)?))?;
        }
        let quotient = self.multiply(reciprocal)?;
        Some(if divisor.0.is_negative() { Self(quotient.0.wrapping_neg()) } else { quotient })
    }

    /// The natural logarithm of a decimal above zero.
    pub(super) fn logarithm(value: Decimal) -> Self {
        let digits = value.value().unsigned_abs();
        let exponent = digits.checked_ilog2().unwrap_or(0);
        // From 1 to 2.
        let mantissa = Self(i256::from_parts(digits << (127 - exponent), 0) << (FRACTION_BITS - 127) as u8);
        // Halley's method, which cubes the error of the double, some 2^-52.
        let estimate = Self::of_double(mantissa.to_double().ln().max(0.0));
        let power = estimate.exponential_of_fraction();
        let (difference, sum) = (mantissa.subtract(power), mantissa.add(power));
        let correction = difference.times(2).divide(sum).unwrap_or(Self::ZERO);
        let of_mantissa = estimate.add(correction);
        let of_unit = Self(LN_10).times(i64::from(value.scale()));
        of_mantissa.add(Self(LN_2).times(i64::from(exponent))).subtract(of_unit)
    }

    /// Of what is not negative and below 1.
    fn exponential_of_fraction(self) -> Self {
        let part = Self(self.0 >> HALVINGS as u8);
        let (mut power, mut term, mut place) = (Self::ONE.add(part), part, 2);
        while term != Self::ZERO {
            term = Self(term.by(part).0.wrapping_div(i256::from_i128(place)));
            power = power.add(term);
            place += 1;
        }
        for _ in 0..HALVINGS {
            power = power.by(power);
        }
        power
    }

    /// The exponential of this, rounded to a decimal of a scale.
    pub(super) fn exponential(self, scale: u32) -> Result<u128, Beyond> {
        let double = self.to_double();
        if double.abs() > EXPONENT_MAX {
            return Err(if double > 0.0 { Beyond::TooLarge } else { Beyond::TooSmall });
        }
        let mut exponent = (double / std::f64::consts::LN_2).floor() as i64;
        let mut rest = self.subtract(Self(LN_2).times(exponent));
        // The double may have been on the other side.
        if rest < Self::ZERO {
            (rest, exponent) = (rest.add(Self(LN_2)), exponent - 1);
        }
        let bits = i64::from(FRACTION_BITS) - exponent;
        let scaled = product(rest.exponential_of_fraction().0, i256::from_i128(10_i128.pow(scale)));
        let rounded = u32::try_from(bits).ok().and_then(|bits| shifted(scaled, bits)).ok_or(Beyond::TooLarge)?;
        if rounded == 0 { Err(Beyond::TooSmall) } else { Ok(rounded) }
    }

    /// This, rounded to a decimal of a scale. `None`: it has too many digits.
    pub(super) fn to_decimal(self, scale: u32) -> Option<i128> {
        let scaled = product(self.0.wrapping_abs(), i256::from_i128(10_i128.pow(scale)));
        let rounded = i128::try_from(shifted(scaled, FRACTION_BITS)?).ok()?;
        Some(if self.0.is_negative() { -rounded } else { rounded })
    }
}

/// All digits of a product of numbers that are not negative, the least first.
fn product(left: i256, right: i256) -> [u64; 8] {
    let limbs = |value: i256| {
        let (low, high) = value.to_parts();
        [low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64]
    };
    let mut product = [0_u64; 8];
    for (at, left) in limbs(left).into_iter().enumerate() {
        let mut carry = 0_u128;
        for (place, right) in limbs(right).into_iter().enumerate() {
            let sum = u128::from(left) * u128::from(right) + u128::from(product[at + place]) + carry;
            product[at + place] = sum as u64;
            carry = sum >> 64;
        }
        product[at + 4] = carry as u64;
    }
    product
}

/// What is left of digits without so many of the lowest, rounded half up. `None`: more than 128.
fn shifted(digits: [u64; 8], bits: u32) -> Option<u128> {
    let limb = |place: usize| digits.get(place).copied().unwrap_or(0);
    let (first, offset) = (bits as usize / 64, bits % 64);
    let moved = |place: usize| match offset {
        0 => limb(first + place),
        _ => limb(first + place) >> offset | limb(first + place + 1) << (64 - offset),
    };
    if (2..digits.len()).any(|place| moved(place) != 0) {
        return None;
    }
    let kept = u128::from(moved(0)) | u128::from(moved(1)) << 64;
    let rounds_up = bits > 0 && limb((bits as usize - 1) / 64) >> ((bits - 1) % 64) & 1 == 1;
    kept.checked_add(u128::from(rounds_up))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("a number")
    }

    fn fixed(text: &str) -> Fixed {
        Fixed::of_decimal(decimal(text)).expect("not too large")
    }

    /// From the Digital Library of Mathematical Functions (dlmf.nist.gov/3.12), and bc.
    #[test]
    fn logarithms_and_exponentials_have_all_digits() {
        let logarithm = |text: &str, scale: u32| {
            let value = Fixed::logarithm(decimal(text)).to_decimal(scale).expect("small");
            Decimal::new(value, scale as i8).to_string()
        };
        assert_eq!(logarithm("2", 37), "0.6931471805599453094172321214581765681");
        assert_eq!(logarithm("10.00", 36), "2.302585092994045684017991454684364208");
        assert_eq!(logarithm("1.0000", 30), "0.000000000000000000000000000000");
        assert_eq!(logarithm("0.5", 37), "-0.6931471805599453094172321214581765681");
        assert_eq!(logarithm("1.0000000000000000000000000001", 37), "0.0000000000000000000000000001000000000");
        let exponential = |text: &str, scale: u32| {
            let value = fixed(text).exponential(scale).expect("a decimal");
            Decimal::new(value as i128, scale as i8).to_string()
        };
        assert_eq!(exponential("1", 36), "2.718281828459045235360287471352662498");
        assert_eq!(exponential("0", 36), "1.000000000000000000000000000000000000");
        assert_eq!(exponential("-1", 37), "0.3678794411714423215955237701614608674");
        assert_eq!(exponential("50", 16), "5184705528587072464087.4533229334853848");
        assert_eq!(exponential("87", 0), "60760302250568721495223289381302760753");
        assert_eq!(fixed("89").exponential(0), Err(Beyond::TooLarge));
        assert_eq!(fixed("100000").exponential(0), Err(Beyond::TooLarge));
        assert_eq!(fixed("-100000").exponential(16), Err(Beyond::TooSmall));
        assert_eq!(fixed("-38").exponential(16), Err(Beyond::TooSmall));
    }

    #[test]
    fn each_undoes_the_other() {
        let mut dice = rowkey_base::testing::Dice(7);
        for _ in 0..2000 {
            let digits = 1 + (u128::from(dice.next_u64()) << 64 | u128::from(dice.next_u64())) % 10_u128.pow(38);
            let digits = 1 + digits / 10_u128.pow(dice.below(38) as u32);
            let value = Decimal::new(digits as i128, dice.below(38) as i8);
            let scale = value.scale().min(36) as u32;
            let again = Fixed::logarithm(value).exponential(scale);
            let rounded = value.round(scale as i8).expect("fewer digits").value() as u128;
            // One digit more than it has may have been rounded.
            let near = |again: u128| again.abs_diff(rounded) <= 1;
            assert!(again.is_ok_and(near) || rounded == 0, "{value}: {again:?}");
        }
    }

    #[test]
    fn quotients_are_those_of_decimals() {
        let quotient =
            |left: &str, right: &str| fixed(left).divide(fixed(right)).and_then(|value| value.to_decimal(20));
        assert_eq!(quotient("1", "3"), Some(33_333_333_333_333_333_333));
        assert_eq!(quotient("-22", "7"), Some(-314_285_714_285_714_285_714));
        assert_eq!(quotient("1", "-0.000000007"), Some(-14_285_714_285_714_285_714_285_714_286));
        assert_eq!(quotient("1", "0.00000000000000000000000001"), None);
        assert_eq!(quotient("1", "0"), None);
    }
}
