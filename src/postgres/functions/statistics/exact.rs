//! Of exact numbers, in 256 bits: sums, and sums of squares.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::{Result, internal_err};

use super::Statistic;
use super::moments::{Moments, Number, Results, each_value};
use crate::functions::decimal::{divide_rounded, pow10, square_root, too_large, within_digits};

fn each_decimal(arguments: &[ArrayRef], taken: impl FnMut(usize, i128) -> Result<()>) -> Result<()> {
    match arguments.first().and_then(|array| array.as_primitive_opt::<Decimal128Type>()) {
        Some(decimals) => each_value(decimals, taken),
        None => internal_err!("an exact statistic of inexact numbers"),
    }
}

fn write(count: i64, numbers: &[i256], state: &mut [u8]) {
    let (head, rest) = state.split_at_mut(8);
    head.copy_from_slice(&count.to_le_bytes());
    for (number, bytes) in numbers.iter().zip(rest.chunks_exact_mut(32)) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

fn read<const N: usize>(state: &[u8]) -> (i64, [i256; N]) {
    let (head, rest) = state.split_at(8);
    let mut eight = [0; 8];
    eight.copy_from_slice(head);
    let mut numbers = [i256::ZERO; N];
    for (number, bytes) in numbers.iter_mut().zip(rest.chunks_exact(32)) {
        let mut all = [0; 32];
        all.copy_from_slice(bytes);
        *number = i256::from_le_bytes(all);
    }
    (i64::from_le_bytes(eight), numbers)
}

/// How many, and their sum, which as many numbers as there can be do not overflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactSum {
    count: i64,
    sum: i256,
}

impl Moments for ExactSum {
    const BYTES: usize = 40;
    const RETRACTS: bool = true;
    type Row = i128;

    fn none() -> Self {
        Self { count: 0, sum: i256::ZERO }
    }

    fn each_row(arguments: &[ArrayRef], taken: impl FnMut(usize, i128) -> Result<()>) -> Result<()> {
        each_decimal(arguments, taken)
    }

    fn add(&mut self, row: i128) -> Result<()> {
        self.count += 1;
        self.sum = self.sum.wrapping_add(i256::from_i128(row));
        Ok(())
    }

    fn retract(&mut self, row: i128) -> Result<()> {
        self.count -= 1;
        self.sum = self.sum.wrapping_sub(i256::from_i128(row));
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> Result<()> {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        Ok(())
    }

    fn write(&self, state: &mut [u8]) {
        write(self.count, &[self.sum], state);
    }

    fn read(state: &[u8]) -> Self {
        let (count, [sum]) = read(state);
        Self { count, sum }
    }

    fn result(&self, _: &Results) -> Result<Number> {
        Ok(Number::Exact(if self.count == 0 { None } else { Some(within_digits(self.sum)?) }))
    }
}

/// How many, their sum, and the sum of their squares.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactMoments {
    count: i64,
    sum: i256,
    squares: i256,
}

impl Moments for ExactMoments {
    const BYTES: usize = 72;
    const RETRACTS: bool = true;
    type Row = i128;

    fn none() -> Self {
        Self { count: 0, sum: i256::ZERO, squares: i256::ZERO }
    }

    fn each_row(arguments: &[ArrayRef], taken: impl FnMut(usize, i128) -> Result<()>) -> Result<()> {
        each_decimal(arguments, taken)
    }

    fn add(&mut self, row: i128) -> Result<()> {
        let row = i256::from_i128(row);
        self.count += 1;
        self.sum = self.sum.wrapping_add(row);
        // The square of 38 digits has 76, and 256 bits hold little more.
        let squares = row.checked_mul(row).and_then(|square| self.squares.checked_add(square));
        self.squares = squares.ok_or_else(too_large)?;
        Ok(())
    }

    fn retract(&mut self, row: i128) -> Result<()> {
        let row = i256::from_i128(row);
        self.count -= 1;
        self.sum = self.sum.wrapping_sub(row);
        self.squares = self.squares.wrapping_sub(row.wrapping_mul(row));
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> Result<()> {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.checked_add(other.squares).ok_or_else(too_large)?;
        Ok(())
    }

    fn write(&self, state: &mut [u8]) {
        write(self.count, &[self.sum, self.squares], state);
    }

    fn read(state: &[u8]) -> Self {
        let (count, [sum, squares]) = read(state);
        Self { count, sum, squares }
    }

    fn result(&self, results: &Results) -> Result<Number> {
        let Statistic::Variance { sample, root } = results.statistic else {
            return internal_err!("{:?} of exact moments", results.statistic);
        };
        let DataType::Decimal128(_, scale) = results.returns else {
            return internal_err!("an exact variance as {}", results.returns);
        };
        let others = if sample { self.count - 1 } else { self.count };
        if others <= 0 {
            return Ok(Number::Exact(None));
        }
        let count = i256::from_i128(i128::from(self.count));
        let numerator = count
            .checked_mul(self.squares)
            .zip(self.sum.checked_mul(self.sum))
            .and_then(|(squares, square)| squares.checked_sub(square))
            .ok_or_else(too_large)?;
        let denominator = count.checked_mul(i256::from_i128(i128::from(others))).ok_or_else(too_large)?;
        // The squares have twice the digits behind the point.
        let up = i32::from(scale) - 2 * i32::from(results.scale);
        let value = match root {
            false => quotient(numerator, denominator, up)?,
            // Twice the digits of the root.
            true => square_root(quotient(numerator, denominator, up + i32::from(scale))?),
        };
        Ok(Number::Exact(Some(within_digits(value)?)))
    }
}

/// A quotient with its point moved, rounded.
fn quotient(numerator: i256, denominator: i256, up: i32) -> Result<i256> {
    let power = pow10(up.unsigned_abs());
    if up < 0 {
        return Ok(divide_rounded(numerator, denominator.checked_mul(power).ok_or_else(too_large)?));
    }
    let (whole, rest) = (numerator.wrapping_div(denominator), numerator.wrapping_rem(denominator));
    let rest = divide_rounded(rest.checked_mul(power).ok_or_else(too_large)?, denominator);
    whole.checked_mul(power).and_then(|whole| whole.checked_add(rest)).ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[i128]) -> ExactMoments {
        let mut moments = ExactMoments::none();
        values.iter().for_each(|value| moments.add(*value).expect("small"));
        moments
    }

    fn result(moments: ExactMoments, sample: bool, root: bool) -> Number {
        let statistic = Statistic::Variance { sample, root };
        moments.result(&Results::new(statistic, DataType::Decimal128(38, 16), 0)).expect("small")
    }

    #[test]
    fn variances_of_integers_are_exact() {
        let two = of(&[1, 2]);
        assert_eq!(result(two, true, false), Number::Exact(Some(5_000_000_000_000_000)));
        assert_eq!(result(two, true, true), Number::Exact(Some(7_071_067_811_865_475)));
        assert_eq!(result(two, false, false), Number::Exact(Some(2_500_000_000_000_000)));
        assert_eq!(result(of(&[7]), true, false), Number::Exact(None));
        assert_eq!(result(of(&[7]), false, true), Number::Exact(Some(0)));
        let mut moved = of(&[i128::from(i64::MAX), 1, 2]);
        moved.retract(i128::from(i64::MAX)).expect("retracts");
        assert_eq!(result(moved, true, false), result(two, true, false));
    }

    #[test]
    fn states_are_read_as_written() {
        let mut state = [0; ExactMoments::BYTES];
        of(&[-3, 5, 8]).write(&mut state);
        let read = ExactMoments::read(&state);
        assert_eq!((read.count, read.sum, read.squares), (3, i256::from_i128(10), i256::from_i128(98)));
    }
}
