//! EXPLAIN: what a statement reads, and how.

mod access_paths;
mod analyze;
mod estimate;
mod json;
mod node;
mod operators;
mod read;
mod service_cost;
mod text;

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;

use node::Node;
use rowkey_base::Result;
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::error::from_datafusion;
use rowkey_postgres::syntax::{ExplainFormat, ExplainOptions};

pub(crate) use access_paths::AccessPaths;

/// What EXPLAIN tells of a statement that writes.
pub(crate) struct Explained {
    pub verb: &'static str,
    pub table: String,
    /// Rows that the statement gives itself.
    pub rows_given: usize,
    /// How the rows are found.
    pub plan: Option<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)>,
    pub planned_in: Duration,
}

/// What stands behind the nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    planning_ms: f64,
    /// Of a plan that ran, as the number of its rows.
    execution_ms: Option<f64>,
    rows_returned: Option<u64>,
}

/// How a statement that writes finds its rows. It writes nothing.
pub(crate) async fn explain_write(explained: &Explained, options: ExplainOptions) -> Result<SendableRecordBatchStream> {
    let mut modify = Node::new(format!("{} on {}", explained.verb, explained.table))
        .with("Operation", explained.verb.to_owned())
        .with("Relation Name", explained.table.clone());
    modify.kind = "ModifyTable".to_owned();
    match &explained.plan {
        Some((plan, _)) => {
            let reads = read::reads(plan, false).await?;
            let input = operators::tree(plan, &reads, None, options.verbose);
            modify.estimate = node::Estimate { rows: 0, width: 0, ..input.estimate };
            modify.children.push(input);
        }
        None => modify.properties.push(("Rows Given", node::Property::Number(explained.rows_given as u64))),
    }
    let summary = Summary { planning_ms: milliseconds(explained.planned_in), ..Summary::default() };
    as_rows(written(&modify, &options, &summary))
}

/// A plan as rows of one column, `QUERY PLAN`. With ANALYZE the plan is run and its rows are thrown
/// away.
pub(crate) async fn explain(
    plan: &Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    signals: &Arc<Signals>,
    planned_in: Duration,
    options: ExplainOptions,
) -> Result<SendableRecordBatchStream> {
    let ran = if options.analyze { Some(analyze::run(plan, context, signals).await?) } else { None };
    let plan = ran.as_ref().map_or(plan, |ran| &ran.plan);
    let reads = read::reads(plan, options.analyze).await?;
    let started = ran.as_ref().and_then(|_| analyze::started(plan));
    let top = operators::tree(plan, &reads, started, options.verbose);
    let summary = Summary {
        planning_ms: milliseconds(planned_in),
        execution_ms: ran.as_ref().map(|ran| milliseconds(ran.took)),
        rows_returned: ran.as_ref().map(|ran| ran.rows),
    };
    as_rows(written(&top, &options, &summary))
}

fn written(top: &Node, options: &ExplainOptions, summary: &Summary) -> Vec<String> {
    if options.format == ExplainFormat::Json {
        return vec![json::document(top, options, summary)];
    }
    let mut lines = text::lines(top, options);
    if options.summary {
        lines.push(format!("Planning Time: {:.3} ms", summary.planning_ms));
        if let Some(execution_ms) = summary.execution_ms {
            lines.push(format!("Execution Time: {execution_ms:.3} ms"));
        }
    }
    if let Some(rows) = summary.rows_returned {
        lines.push(format!("rows returned: {rows}"));
    }
    lines
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn as_rows(lines: Vec<String>) -> Result<SendableRecordBatchStream> {
    let schema = Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8View, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(StringViewArray::from_iter_values(lines))])
        .map_err(datafusion::common::DataFusionError::from)
        .map_err(from_datafusion)?;
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter([Ok(batch)]))))
}
