//! Of doubles: PostgreSQL's `float8_accum` and `float8_regr_accum`, which are the algorithm of
//! Youngs and Cramer.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{DataFusionError, Result, internal_err};

use super::moments::{Moments, Number, Results, each_value, read_floats, write_floats};
use super::{Pair, Statistic};
use crate::functions::error::{Error, SqlState};

fn overflow() -> DataFusionError {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow").into()
}

/// An error if a result is infinite and what it is made of was not.
fn finite(result: f64, left: f64, right: f64) -> Result<f64> {
    if result.is_infinite() && left.is_finite() && right.is_finite() { Err(overflow()) } else { Ok(result) }
}

/// Hands over the doubles or reals of the one argument.
fn each_double(arguments: &[ArrayRef], mut taken: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
    let Some(array) = arguments.first() else { return internal_err!("a statistic of nothing") };
    match array.data_type() {
        DataType::Float64 => each_value(array.as_primitive::<Float64Type>(), taken),
        DataType::Float32 => each_value(array.as_primitive::<Float32Type>(), |at, real| taken(at, f64::from(real))),
        other => internal_err!("doubles of {other}"),
    }
}

/// The sum of doubles; of a single one itself, which may be the negative zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct DoubleSum(Option<f64>);

/// The sum of reals, each of them rounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RealSum(Option<f64>);

macro_rules! sum {
    ($sum:ty, $add:expr) => {
        impl Moments for $sum {
            const BYTES: usize = 16;
            const RETRACTS: bool = false;
            type Row = f64;

            fn none() -> Self {
                Self(None)
            }

            fn each_row(arguments: &[ArrayRef], taken: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
                each_double(arguments, taken)
            }

            fn add(&mut self, row: f64) -> Result<()> {
                self.0 = Some(match self.0 {
                    None => row,
                    Some(sum) => $add(sum, row)?,
                });
                Ok(())
            }

            fn retract(&mut self, _: f64) -> Result<()> {
                internal_err!("a sum of doubles is added anew")
            }

            fn combine(&mut self, other: &Self) -> Result<()> {
                other.0.map_or(Ok(()), |sum| self.add(sum))
            }

            fn write(&self, state: &mut [u8]) {
                write_floats([f64::from(u8::from(self.0.is_some())), self.0.unwrap_or(0.0)], state);
            }

            fn read(state: &[u8]) -> Self {
                let [has, sum] = read_floats(state);
                Self((has != 0.0).then_some(sum))
            }

            fn result(&self, _: &Results) -> Result<Number> {
                Ok(Number::Float(self.0))
            }
        }
    };
}

sum!(DoubleSum, |sum: f64, row: f64| finite(sum + row, sum, row));
sum!(RealSum, |sum: f64, row: f64| finite(f64::from(sum as f32 + row as f32), sum, row));

/// How many, their sum, and the sum of the squares of their differences from the average.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatMoments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments for FloatMoments {
    const BYTES: usize = 24;
    const RETRACTS: bool = false;
    type Row = f64;

    fn none() -> Self {
        Self { count: 0.0, sum: 0.0, squares: 0.0 }
    }

    fn each_row(arguments: &[ArrayRef], taken: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
        each_double(arguments, taken)
    }

    fn add(&mut self, row: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum += row;
        if before.count > 0.0 {
            let difference = row * self.count - self.sum;
            self.squares += difference * difference / (self.count * before.count);
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !before.sum.is_infinite() && !row.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !row.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn retract(&mut self, _: f64) -> Result<()> {
        internal_err!("moments of doubles are added anew")
    }

    fn combine(&mut self, other: &Self) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = *other;
            return Ok(());
        }
        let count = self.count + other.count;
        let difference = self.sum / self.count - other.sum / other.count;
        let between = self.count * other.count * difference * difference / count;
        let squares = self.squares + other.squares + between;
        *self = Self {
            count,
            sum: finite(self.sum + other.sum, self.sum, other.sum)?,
            squares: finite(squares, self.squares, other.squares)?,
        };
        Ok(())
    }

    fn write(&self, state: &mut [u8]) {
        write_floats([self.count, self.sum, self.squares], state);
    }

    fn read(state: &[u8]) -> Self {
        let [count, sum, squares] = read_floats(state);
        Self { count, sum, squares }
    }

    fn result(&self, results: &Results) -> Result<Number> {
        let Self { count, sum, squares } = *self;
        Ok(Number::Float(match results.statistic {
            Statistic::Average => (count > 0.0).then(|| sum / count),
            Statistic::Variance { sample, root } => {
                let others = if sample { count - 1.0 } else { count };
                let variance = (others > 0.0).then(|| squares / others);
                if root { variance.map(f64::sqrt) } else { variance }
            }
            other => return internal_err!("{other:?} of one double"),
        }))
    }
}

/// The same of two doubles, and of their products.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairMoments {
    count: f64,
    sum_x: f64,
    squares_x: f64,
    sum_y: f64,
    squares_y: f64,
    products: f64,
}

impl Moments for PairMoments {
    const BYTES: usize = 48;
    const RETRACTS: bool = false;
    /// The dependent one comes first.
    type Row = (f64, f64);

    fn none() -> Self {
        Self { count: 0.0, sum_x: 0.0, squares_x: 0.0, sum_y: 0.0, squares_y: 0.0, products: 0.0 }
    }

    fn each_row(arguments: &[ArrayRef], mut taken: impl FnMut(usize, (f64, f64)) -> Result<()>) -> Result<()> {
        let [dependent, independent] = arguments else { return internal_err!("a statistic of two") };
        let doubles = |array: &ArrayRef| array.as_primitive_opt::<Float64Type>().cloned();
        let (Some(dependent), Some(independent)) = (doubles(dependent), doubles(independent)) else {
            return internal_err!("a statistic of {} and {}", dependent.data_type(), independent.data_type());
        };
        each_value(&dependent, |at, y| match independent.is_valid(at) {
            true => taken(at, (y, independent.value(at))),
            false => Ok(()),
        })
    }

    fn add(&mut self, (y, x): (f64, f64)) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if before.count > 0.0 {
            let (from_x, from_y) = (x * self.count - self.sum_x, y * self.count - self.sum_y);
            let scale = 1.0 / (self.count * before.count);
            self.squares_x += from_x * from_x * scale;
            self.squares_y += from_y * from_y * scale;
            self.products += from_x * from_y * scale;
            let finite_x = !before.sum_x.is_infinite() && !x.is_infinite();
            let finite_y = !before.sum_y.is_infinite() && !y.is_infinite();
            let infinite_x = self.sum_x.is_infinite() || self.squares_x.is_infinite();
            let infinite_y = self.sum_y.is_infinite() || self.squares_y.is_infinite();
            let infinite = self.products.is_infinite();
            if (infinite_x && finite_x) || (infinite_y && finite_y) || (infinite && finite_x && finite_y) {
                return Err(overflow());
            }
            for moment in [&mut self.squares_x, &mut self.squares_y, &mut self.products] {
                if moment.is_infinite() {
                    *moment = f64::NAN;
                }
            }
        } else {
            if !x.is_finite() {
                (self.squares_x, self.products) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.squares_y, self.products) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    fn retract(&mut self, _: (f64, f64)) -> Result<()> {
        internal_err!("moments of doubles are added anew")
    }

    fn combine(&mut self, other: &Self) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = *other;
            return Ok(());
        }
        let count = self.count + other.count;
        let share = self.count * other.count;
        let from_x = self.sum_x / self.count - other.sum_x / other.count;
        let from_y = self.sum_y / self.count - other.sum_y / other.count;
        let sum = |left: f64, right: f64, between: f64| finite(left + right + between, left, right);
        *self = Self {
            count,
            sum_x: sum(self.sum_x, other.sum_x, 0.0)?,
            squares_x: sum(self.squares_x, other.squares_x, share * from_x * from_x / count)?,
            sum_y: sum(self.sum_y, other.sum_y, 0.0)?,
            squares_y: sum(self.squares_y, other.squares_y, share * from_y * from_y / count)?,
            products: sum(self.products, other.products, share * from_x * from_y / count)?,
        };
        Ok(())
    }

    fn write(&self, state: &mut [u8]) {
        let Self { count, sum_x, squares_x, sum_y, squares_y, products } = *self;
        write_floats([count, sum_x, squares_x, sum_y, squares_y, products], state);
    }

    fn read(state: &[u8]) -> Self {
        let [count, sum_x, squares_x, sum_y, squares_y, products] = read_floats(state);
        Self { count, sum_x, squares_x, sum_y, squares_y, products }
    }

    fn result(&self, results: &Results) -> Result<Number> {
        let Statistic::Pair(pair) = results.statistic else {
            return internal_err!("{:?} of two doubles", results.statistic);
        };
        let Self { count, sum_x, squares_x, sum_y, squares_y, products } = *self;
        if count < 1.0 {
            return Ok(Number::Float(None));
        }
        let upright = squares_x == 0.0;
        Ok(Number::Float(match pair {
            Pair::CovarianceOfSample => (count > 1.0).then(|| products / (count - 1.0)),
            Pair::Covariance => Some(products / count),
            Pair::Correlation if upright || squares_y == 0.0 => None,
            Pair::Correlation => Some(products / (squares_x * squares_y).sqrt()),
            Pair::Slope | Pair::Intercept | Pair::Determination if upright => None,
            Pair::Slope => Some(products / squares_x),
            Pair::Intercept => Some((sum_y - sum_x * products / squares_x) / count),
            Pair::Determination if squares_y == 0.0 => Some(1.0),
            Pair::Determination => Some((products * products) / (squares_x * squares_y)),
            Pair::AverageX => Some(sum_x / count),
            Pair::AverageY => Some(sum_y / count),
            Pair::SquaresX => Some(squares_x),
            Pair::SquaresY => Some(squares_y),
            Pair::Products => Some(products),
            Pair::Count => return internal_err!("a count is no moment"),
        }))
    }
}

/// How many pairs there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairCount(i64);

impl Moments for PairCount {
    const BYTES: usize = 8;
    const RETRACTS: bool = true;
    type Row = ();

    fn none() -> Self {
        Self(0)
    }

    fn each_row(arguments: &[ArrayRef], mut taken: impl FnMut(usize, ()) -> Result<()>) -> Result<()> {
        let [dependent, independent] = arguments else { return internal_err!("a statistic of two") };
        let is_pair = |row: &usize| dependent.is_valid(*row) && independent.is_valid(*row);
        (0..dependent.len()).filter(is_pair).try_for_each(|row| taken(row, ()))
    }

    fn add(&mut self, (): ()) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn retract(&mut self, (): ()) -> Result<()> {
        self.0 -= 1;
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> Result<()> {
        self.0 += other.0;
        Ok(())
    }

    fn write(&self, state: &mut [u8]) {
        state.copy_from_slice(&self.0.to_le_bytes());
    }

    fn read(state: &[u8]) -> Self {
        let mut eight = [0; 8];
        eight.copy_from_slice(state);
        Self(i64::from_le_bytes(eight))
    }

    fn result(&self, _: &Results) -> Result<Number> {
        Ok(Number::Count(self.0))
    }
}
