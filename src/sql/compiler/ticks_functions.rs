//! Times as keys: `rowkey.ticks(time)` and `rowkey.inverted_ticks(time)`, and the ways back.
//!
//! Keys compare as text, so ticks are written with 19 digits, as the service's design guide has
//! them. Inverted ones, which count down to the last tick of the year 9999, put what is newest
//! first: the log tail.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use rowkey_base::{DateTime, Error, SqlState};
use rowkey_model::columns::utc_micros;

use crate::planner::{FROM_INVERTED_TICKS, FROM_TICKS, INVERTED_TICKS, TICKS};
use rowkey_postgres::error::external;

/// Digits of ticks in a key.
const DIGITS: usize = 19;

/// The four functions.
pub(crate) fn ticks_functions() -> [Arc<ScalarUDF>; 4] {
    [(TICKS, true, false), (INVERTED_TICKS, true, true), (FROM_TICKS, false, false), (FROM_INVERTED_TICKS, false, true)]
        .map(|(name, to_text, inverted)| {
            let wanted = if to_text { utc_micros() } else { DataType::Utf8View };
            let signature = Signature::exact(vec![wanted], Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Ticks { name, to_text, inverted, signature }))
        })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ticks {
    name: &'static str,
    /// From a time to its ticks, or back.
    to_text: bool,
    inverted: bool,
    signature: Signature,
}

impl Ticks {
    /// Ticks counted from the other end of time, or from this one.
    fn turned(&self, ticks: i64) -> i64 {
        if self.inverted { DateTime::MAX.dot_net_ticks() - ticks } else { ticks }
    }

    fn text(&self, micros: i64) -> Result<String> {
        let time = DateTime::from_micros(micros, 0);
        // Beyond the times of the service there are times of SQL.
        time.validate("of the key").map_err(external)?;
        Ok(format!("{:0DIGITS$}", self.turned(time.dot_net_ticks())))
    }

    /// The microsecond of a key's time; the 100 ns digit is left out.
    fn micros(&self, text: &str) -> Result<i64> {
        let is_plain = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        let ticks: Option<i64> = if is_plain { text.parse().ok() } else { None };
        let time = ticks.map(|ticks| DateTime::from_dot_net_ticks(self.turned(ticks)));
        match time.filter(|time| (DateTime::MIN..=DateTime::MAX).contains(time)) {
            Some(time) => Ok(time.micros()),
            None => {
                let message = format!("\"{text}\" are no ticks of the years 1601 to 9999: they have {DIGITS} digits");
                Err(external(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)))
            }
        }
    }
}

impl ScalarUDFImpl for Ticks {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.to_text { DataType::Utf8View } else { utc_micros() })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ScalarFunctionArgs { args, number_rows, .. } = args;
        let values = ColumnarValue::values_to_arrays(&args)?;
        let [values] = values.as_slice() else {
            return datafusion::common::exec_err!("{} takes one argument, over {number_rows} rows", self.name);
        };
        let turned: ArrayRef = if self.to_text {
            let times = values.as_primitive::<TimestampMicrosecondType>();
            let texts = times.iter().map(|micros| micros.map(|micros| self.text(micros)).transpose());
            Arc::new(texts.collect::<Result<StringViewArray>>()?)
        } else {
            let texts = values.as_string_view();
            let times = texts.iter().map(|text| text.map(|text| self.micros(text)).transpose());
            let times = times.collect::<Result<TimestampMicrosecondArray>>()?;
            Arc::new(times.with_data_type(utc_micros()))
        };
        let is_scalar = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&turned, 0)?),
            false => ColumnarValue::Array(turned),
        })
    }
}
