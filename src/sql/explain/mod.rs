//! EXPLAIN: what a statement reads, and how.

mod access_paths;
mod analyze;
mod json;
mod read;
mod text;

use std::sync::Arc;

use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use rowkey_base::Result;
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::ExplainFormat;

pub(crate) use access_paths::AccessPaths;

/// What EXPLAIN tells of a statement that writes.
pub(crate) struct Explained {
    /// `Update on Table`
    pub title: String,
    pub verb: &'static str,
    pub table: String,
    /// Rows that the statement gives itself.
    pub rows_given: usize,
    /// How the rows are found.
    pub plan: Option<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)>,
}

/// How a statement that writes finds its rows. It writes nothing.
pub(crate) async fn explain_write(
    explained: &Explained,
    verbose: bool,
    format: ExplainFormat,
) -> Result<SendableRecordBatchStream> {
    let mut lines = match &explained.plan {
        None => Vec::new(),
        Some((plan, _)) => {
            let reads = read::reads(plan, false).await?;
            match format {
                ExplainFormat::Text => text::lines(plan, &reads, None, verbose),
                ExplainFormat::Json => vec![json::document_of_write(explained, Some((plan, &reads)))],
            }
        }
    };
    match (format, explained.plan.is_some()) {
        (ExplainFormat::Text, true) => {
            lines.iter_mut().for_each(|line| line.insert_str(0, "  "));
            lines.insert(0, explained.title.clone());
        }
        (ExplainFormat::Text, false) => {
            lines = vec![explained.title.clone(), format!("  rows given: {}", explained.rows_given)];
        }
        (ExplainFormat::Json, true) => {}
        (ExplainFormat::Json, false) => lines = vec![json::document_of_write(explained, None)],
    }
    as_rows(lines)
}

fn as_rows(lines: Vec<String>) -> Result<SendableRecordBatchStream> {
    let schema = Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8View, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(StringViewArray::from_iter_values(lines))])
        .map_err(datafusion::common::DataFusionError::from)
        .map_err(from_datafusion)?;
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter([Ok(batch)]))))
}

/// A plan as rows of one column, `QUERY PLAN`. With `analyze` the plan is run and its rows are
/// thrown away.
pub(crate) async fn explain(
    plan: &Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    signals: &Arc<Signals>,
    analyze: bool,
    verbose: bool,
    format: ExplainFormat,
) -> Result<SendableRecordBatchStream> {
    let actual = if analyze { Some(analyze::run(plan, context, signals).await?) } else { None };
    let reads = read::reads(plan, analyze).await?;
    let lines = match format {
        ExplainFormat::Text => text::lines(plan, &reads, actual.as_ref(), verbose),
        ExplainFormat::Json => vec![json::document(plan, &reads, actual.as_ref())],
    };
    as_rows(lines)
}
