//! The time: of the statement, and of the clock.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, SimpleScalarUDF, TypeSignature,
    Volatility,
};

use super::calendar::MICROS_PER_DAY;
use super::error::{SqlState, fail};
use super::kind::{Kind, timestamp, timestamptz};
use super::zone::Zone;
use rowkey_base::clock::Clock;

/// The part of the time that a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Moment,
    Local,
    Date,
    Time,
}

/// `now()` and its kin: the moment at which the statement was planned, in microseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
struct StatementTime {
    name: &'static str,
    part: Part,
    signature: Signature,
}

pub(super) fn functions(clock: &Arc<dyn Clock>) -> Vec<Arc<ScalarUDF>> {
    let names = [
        ("now", Part::Moment),
        ("current_timestamp", Part::Moment),
        ("transaction_timestamp", Part::Moment),
        ("statement_timestamp", Part::Moment),
        ("localtimestamp", Part::Local),
        ("current_date", Part::Date),
        ("current_time", Part::Time),
        ("localtime", Part::Time),
    ];
    // An optional argument is the number of digits of a second, as in CURRENT_TIMESTAMP(0).
    let optional = TypeSignature::Exact(vec![DataType::Int64]);
    let signature = Signature::one_of(vec![TypeSignature::Nullary, optional], Volatility::Stable);
    let mut functions: Vec<_> = names
        .into_iter()
        .map(|(name, part)| StatementTime { name, part, signature: signature.clone() })
        .map(|function| Arc::new(ScalarUDF::new_from_impl(function)))
        .collect();
    functions.push(Arc::new(ScalarUDF::new_from_impl(clock_timestamp(Arc::clone(clock)))));
    functions
}

/// The moment of the call.
fn clock_timestamp(clock: Arc<dyn Clock>) -> SimpleScalarUDF {
    let now = move |_: &[ColumnarValue]| {
        let at = clock.now().micros();
        Ok(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(at), Some("UTC".into()))))
    };
    let signature = Signature::nullary(Volatility::Volatile);
    SimpleScalarUDF::new_with_signature("clock_timestamp", signature, timestamptz(), Arc::new(now))
}

impl ScalarUDFImpl for StatementTime {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.part {
            Part::Moment => timestamptz(),
            Part::Local => timestamp(),
            Part::Date => DataType::Date32,
            Part::Time => Kind::Time.arrow().unwrap_or(DataType::Null),
        })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        fail(SqlState::FEATURE_NOT_SUPPORTED, format!("{} is known only when a statement is planned", self.name))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let Some(now) = info.query_execution_start_time() else { return Ok(ExprSimplifyResult::Original(args)) };
        let mut at = now.timestamp_micros();
        if let Some(Expr::Literal(ScalarValue::Int64(Some(digits)), _)) = args.first() {
            let unit = 10_i64.pow(u32::try_from(6 - (*digits).clamp(0, 6)).unwrap_or(0));
            at = (at + unit / 2).div_euclid(unit) * unit;
        }
        let local = Zone::of(info.config_options())?.local(at);
        let value = match self.part {
            Part::Moment => ScalarValue::TimestampMicrosecond(Some(at), Some("UTC".into())),
            Part::Local => ScalarValue::TimestampMicrosecond(Some(local), None),
            Part::Date => ScalarValue::Date32(i32::try_from(local.div_euclid(MICROS_PER_DAY)).ok()),
            Part::Time => ScalarValue::Time64Microsecond(Some(local.rem_euclid(MICROS_PER_DAY))),
        };
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(value, None)))
    }
}
