//! DateTimes with their 100 ns digit, which no Arrow timestamp of microseconds has: as ticks, and
//! as ETags.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use rowkey_model::columns::PropertyReader;
use rowkey_model::{DateTime, EdmType, Entity, ValueRef};

/// A form of DateTimes that holds all of their digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ExactTime {
    /// 100 ns since the year 1, as .NET counts them.
    Ticks,
    /// The ETag of the entity that has it as its Timestamp.
    Etag,
}

impl ExactTime {
    pub(super) fn name(self) -> &'static str {
        match self {
            ExactTime::Ticks => "ticks_of",
            ExactTime::Etag => "etag_of",
        }
    }

    pub(super) fn data_type(self) -> DataType {
        match self {
            ExactTime::Ticks => DataType::Int64,
            ExactTime::Etag => DataType::Utf8View,
        }
    }

    /// Times in this form.
    pub(super) fn array(self, times: impl Iterator<Item = Option<DateTime>>) -> ArrayRef {
        match self {
            ExactTime::Ticks => Arc::new(times.map(|time| time.map(DateTime::dot_net_ticks)).collect::<Int64Array>()),
            ExactTime::Etag => Arc::new(times.map(|time| time.map(Entity::etag_of)).collect::<StringViewArray>()),
        }
    }
}

/// A function over a column of DateTimes, and that of their 100 ns digits if there is one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactTimeOf {
    to: ExactTime,
    signature: Signature,
}

impl ExactTimeOf {
    pub(super) fn new(to: ExactTime) -> Self {
        Self { to, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ExactTimeOf {
    fn name(&self) -> &str {
        self.to.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let times = arrays.first().and_then(|times| PropertyReader::new(EdmType::DateTime, times, arrays.get(1)));
        let times = times.ok_or_else(|| exec_datafusion_err!("{} is of DateTimes and their digits", self.name()))?;
        let time = |row| match times.get(row) {
            Some(ValueRef::DateTime(time)) => Some(time),
            _ => None,
        };
        Ok(ColumnarValue::Array(self.to.array((0..rows).map(time))))
    }
}
