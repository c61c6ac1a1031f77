//! Sums, averages, variances and regressions as PostgreSQL computes them: of doubles one row after
//! the other by its own formulas, so that the last digit is its, with an error where finite values
//! overflow; of exact numbers exactly.

mod exact;
mod float;
mod grouped;
mod moments;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
    Volatility,
};

use super::error::{SqlState, fail};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of};
use super::of_inner::of_inner;
use exact::{ExactMoments, ExactSum};
use float::{DoubleSum, FloatMoments, PairCount, PairMoments, RealSum};
use grouped::{Grouped, Single};
use moments::{Moments, Results};

/// Digits behind the point of variances and deviations of exact numbers.
const DEVIATION_SCALE: i8 = 16;
/// Most of them, where the numbers have many.
const DEVIATION_SCALE_MAX: i8 = 22;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Statistic {
    Sum,
    Average,
    /// Of a sample, or of all; its root.
    Variance {
        sample: bool,
        root: bool,
    },
    /// Of two doubles.
    Pair(Pair),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pair {
    CovarianceOfSample,
    Covariance,
    Correlation,
    Slope,
    Intercept,
    Count,
    Determination,
    AverageX,
    AverageY,
    SquaresX,
    SquaresY,
    Products,
}

/// What is computed here, by the names of DataFusion's functions.
const COMPUTED: [(&str, Statistic); 18] = [
    ("sum", Statistic::Sum),
    ("avg", Statistic::Average),
    ("var", Statistic::Variance { sample: true, root: false }),
    ("var_pop", Statistic::Variance { sample: false, root: false }),
    ("stddev", Statistic::Variance { sample: true, root: true }),
    ("stddev_pop", Statistic::Variance { sample: false, root: true }),
    ("covar_samp", Statistic::Pair(Pair::CovarianceOfSample)),
    ("covar_pop", Statistic::Pair(Pair::Covariance)),
    ("corr", Statistic::Pair(Pair::Correlation)),
    ("regr_slope", Statistic::Pair(Pair::Slope)),
    ("regr_intercept", Statistic::Pair(Pair::Intercept)),
    ("regr_count", Statistic::Pair(Pair::Count)),
    ("regr_r2", Statistic::Pair(Pair::Determination)),
    ("regr_avgx", Statistic::Pair(Pair::AverageX)),
    ("regr_avgy", Statistic::Pair(Pair::AverageY)),
    ("regr_sxx", Statistic::Pair(Pair::SquaresX)),
    ("regr_syy", Statistic::Pair(Pair::SquaresY)),
    ("regr_sxy", Statistic::Pair(Pair::Products)),
];

/// Puts them in the place of DataFusion's.
pub(super) fn register(state: &mut SessionState) -> Result<()> {
    for (name, statistic) in COMPUTED {
        let inner = FunctionRegistry::udaf(state, name)?;
        let signature = Signature::user_defined(Volatility::Immutable);
        state.register_udaf(Arc::new(AggregateUDF::new_from_impl(Statistics { statistic, inner, signature })))?;
    }
    Ok(())
}

/// One of them, and DataFusion's for types and forms that are not computed here.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Statistics {
    statistic: Statistic,
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

/// How it is computed.
#[derive(Debug, Clone, Copy)]
enum Computed {
    RealSum,
    DoubleSum,
    ExactSum,
    Float,
    Exact {
        scale: i8,
    },
    Pair,
    /// How many there are, whatever they are.
    Pairs,
}

impl Statistics {
    /// None: by DataFusion's function.
    fn computed(&self, argument: &DataType) -> Option<Computed> {
        match (self.statistic, argument) {
            (Statistic::Pair(Pair::Count), _) => Some(Computed::Pairs),
            (Statistic::Pair(_), _) => Some(Computed::Pair),
            (Statistic::Sum, DataType::Float32) => Some(Computed::RealSum),
            (Statistic::Sum, DataType::Float64) => Some(Computed::DoubleSum),
            (Statistic::Sum, DataType::Decimal128(..)) => Some(Computed::ExactSum),
            (Statistic::Sum, _) => None,
            (_, data_type) if data_type.is_floating() => Some(Computed::Float),
            (Statistic::Variance { .. }, DataType::Decimal128(_, scale)) => Some(Computed::Exact { scale: *scale }),
            _ => None,
        }
    }

    fn of(&self, args: &AccumulatorArgs) -> Option<Computed> {
        let argument = args.expr_fields.first()?;
        if args.is_distinct { None } else { self.computed(argument.data_type()) }
    }

    fn made<A>(&self, args: &AccumulatorArgs, with: impl Made<A>) -> Option<A> {
        let returns = args.return_field.data_type().clone();
        Some(match self.of(args)? {
            Computed::RealSum => with.of::<RealSum>(Results::new(self.statistic, returns, 0)),
            Computed::DoubleSum => with.of::<DoubleSum>(Results::new(self.statistic, returns, 0)),
            Computed::ExactSum => with.of::<ExactSum>(Results::new(self.statistic, returns, 0)),
            Computed::Float => with.of::<FloatMoments>(Results::new(self.statistic, returns, 0)),
            Computed::Exact { scale } => with.of::<ExactMoments>(Results::new(self.statistic, returns, scale)),
            Computed::Pair => with.of::<PairMoments>(Results::new(self.statistic, returns, 0)),
            Computed::Pairs => with.of::<PairCount>(Results::new(self.statistic, returns, 0)),
        })
    }
}

/// What accumulates one of several kinds of moments.
trait Made<A> {
    fn of<M: Moments>(self, results: Results) -> A;
}

struct AsSingle;

impl Made<Box<dyn Accumulator>> for AsSingle {
    fn of<M: Moments>(self, results: Results) -> Box<dyn Accumulator> {
        Box::new(Single::<M>::new(results))
    }
}

struct AsGroups;

impl Made<Box<dyn GroupsAccumulator>> for AsGroups {
    fn of<M: Moments>(self, results: Results) -> Box<dyn GroupsAccumulator> {
        Box::new(Grouped::<M>::new(results))
    }
}

impl AggregateUDFImpl for Statistics {
    of_inner! {
        name() -> &str,
        aliases() -> &[String],
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let undefined = || super::scalar::undefined(self.name(), types.iter());
        if let Statistic::Pair(_) = self.statistic {
            let all_numbers = types.iter().all(|data_type| {
                let kind = Kind::of(data_type);
                kind.is_number() || matches!(kind, Kind::Null) || *data_type == DataType::Utf8
            });
            return match types {
                [_, _] if all_numbers => Ok(vec![DataType::Float64; 2]),
                _ => undefined(),
            };
        }
        let [argument] = types else { return undefined() };
        let kind = Kind::of(argument);
        Ok(vec![match (self.statistic, kind) {
            (_, Kind::Float4 | Kind::Float8 | Kind::Numeric) => argument.clone(),
            (Statistic::Sum | Statistic::Average, Kind::Interval) => argument.clone(),
            (Statistic::Sum, kind) if kind.is_integer() => DataType::Int64,
            (_, kind) if kind.is_integer() => match decimal_of(argument) {
                Some((precision, scale)) => DataType::Decimal128(precision, scale),
                None => argument.clone(),
            },
            (_, Kind::Null) => {
                let message = format!("function {}(unknown) is not unique", self.name());
                return fail(SqlState::AMBIGUOUS_FUNCTION, message);
            }
            _ => return undefined(),
        }])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let Some(argument) = types.first() else { return super::scalar::undefined(self.name(), types.iter()) };
        Ok(match self.computed(argument) {
            None => return self.inner.return_type(types),
            Some(Computed::RealSum) => DataType::Float32,
            Some(Computed::ExactSum) => {
                let scale = decimal_of(argument).map_or(0, |(_, scale)| scale);
                DataType::Decimal128(NUMERIC_DIGITS_MAX, scale)
            }
            Some(Computed::Exact { scale }) => {
                let scale = scale.saturating_mul(2).clamp(DEVIATION_SCALE, DEVIATION_SCALE_MAX);
                DataType::Decimal128(NUMERIC_DIGITS_MAX, scale)
            }
            Some(Computed::Pairs) => DataType::Int64,
            Some(Computed::DoubleSum | Computed::Float | Computed::Pair) => DataType::Float64,
        })
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        match self.statistic {
            Statistic::Pair(Pair::Count) => Ok(ScalarValue::Int64(Some(0))),
            _ => ScalarValue::try_from(data_type),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        // As the only aggregate it is one over groups; DataFusion has it of doubles alone.
        if args.is_distinct && matches!(self.statistic, Statistic::Pair(_) | Statistic::Variance { .. }) {
            let message = format!("DISTINCT in {} is not supported", self.name());
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message);
        }
        let argument = args.input_fields.first().map(|field| field.data_type().clone());
        if args.is_distinct && matches!((self.statistic, &argument), (Statistic::Sum, Some(DataType::Float32))) {
            return fail(SqlState::FEATURE_NOT_SUPPORTED, "DISTINCT in sum of real is not supported");
        }
        let computed = argument.filter(|_| !args.is_distinct).and_then(|argument| self.computed(&argument));
        let bytes = match computed {
            None => return self.inner.state_fields(args),
            Some(Computed::RealSum) => RealSum::BYTES,
            Some(Computed::DoubleSum) => DoubleSum::BYTES,
            Some(Computed::ExactSum) => ExactSum::BYTES,
            Some(Computed::Float) => FloatMoments::BYTES,
            Some(Computed::Exact { .. }) => ExactMoments::BYTES,
            Some(Computed::Pair) => PairMoments::BYTES,
            Some(Computed::Pairs) => PairCount::BYTES,
        };
        let name = format_state_name(args.name, "moments");
        Ok(vec![Arc::new(Field::new(name, DataType::FixedSizeBinary(bytes as i32), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.made(&args, AsSingle) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.made(&args, AsSingle) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.of(&args).is_some() || self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        match self.made(&args, AsGroups) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_groups_accumulator(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        match data_type.is_floating() {
            // A NaN ends it.
            true => SetMonotonicity::NotMonotonic,
            false => self.inner.inner().set_monotonicity(data_type),
        }
    }
}
