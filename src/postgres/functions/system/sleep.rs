//! `pg_sleep`: waits without a thread, so that cancelling the statement ends it.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, FieldRef};
use async_trait::async_trait;
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::datum::{Datum, Returns};
use crate::functions::error::{Error, SqlState};
use crate::types::TextStyle;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    signature: Signature,
}

/// `pg_sleep(seconds)`, once for every row.
pub(super) fn pg_sleep() -> Arc<ScalarUDF> {
    let sleep = Sleep { signature: Signature::any(1, Volatility::Volatile) };
    Arc::new(AsyncScalarUDF::new(Arc::new(sleep)).into_scalar_udf())
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &str {
        "pg_sleep"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Returns::Void.field(self.name())))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("pg_sleep waits")
    }
}

/// Longest wait: a year.
const SECONDS_MAX: f64 = 365.0 * 86_400.0;

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(seconds) = args.args.into_iter().next() else { return exec_err!("pg_sleep without seconds") };
        let seconds = seconds.into_array(args.number_rows)?;
        let mut results = Vec::with_capacity(args.number_rows);
        for row in 0..args.number_rows {
            let wait = match Datum::read(&seconds, row, &TextStyle::default())? {
                Datum::Int(seconds) => seconds as f64,
                Datum::Text(text) => text.trim().parse().map_err(|_| {
                    let message = format!("invalid input syntax for type double precision: \"{text}\"");
                    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
                })?,
                _ => {
                    results.push(Datum::Null);
                    continue;
                }
            };
            if wait > 0.0 {
                tokio::time::sleep(Duration::from_secs_f64(wait.min(SECONDS_MAX))).await;
            }
            results.push(Datum::from(""));
        }
        Ok(ColumnarValue::Array(Returns::Void.array(&results)?))
    }
}
