//! EXPLAIN: what a statement reads, and how.

mod access_paths;
mod analyze;
mod estimate;
mod hint;
mod json;
mod node;
mod operators;
mod pages;
mod read;
mod run_time_bounds;
mod service_cost;
mod table_read;
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
    /// With ANALYZE.
    pub ran: Option<RanWrite>,
    pub planned_in: Duration,
}

/// A statement that writes and has run up to its commit.
pub(crate) struct RanWrite {
    /// The queries that it ran; their operators have counted.
    pub plans: Vec<Arc<dyn ExecutionPlan>>,
    pub rows_affected: u64,
    pub rows_returned: u64,
    pub is_rolled_back: bool,
    pub took: Duration,
}

/// How plans are logged.
const LOGGED: ExplainOptions = ExplainOptions {
    analyze: true,
    verbose: false,
    costs: true,
    timing: true,
    summary: true,
    keep: false,
    format: ExplainFormat::Text,
};

/// What stands behind the nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Summary {
    planning_ms: f64,
    /// Of a plan that ran, as the number of its rows.
    execution_ms: Option<f64>,
    rows_returned: Option<u64>,
}

/// How a statement that writes finds its rows, and what it did if it ran.
pub(crate) async fn explain_write(explained: &Explained, options: ExplainOptions) -> Result<SendableRecordBatchStream> {
    as_rows(write_lines(explained, options).await?)
}

/// A statement that has written, for a log.
pub(crate) async fn ran_write_lines(explained: &Explained) -> Result<Vec<String>> {
    write_lines(explained, LOGGED).await
}

async fn write_lines(explained: &Explained, options: ExplainOptions) -> Result<Vec<String>> {
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
        None if explained.ran.as_ref().is_some_and(|ran| !ran.plans.is_empty()) => {}
        None => modify.properties.push(("Rows Given", node::Property::Number(explained.rows_given as u64))),
    }
    if let Some(ran) = &explained.ran {
        add_ran(&mut modify, ran, options).await?;
    }
    let summary = Summary {
        planning_ms: milliseconds(explained.planned_in),
        execution_ms: explained.ran.as_ref().map(|ran| milliseconds(ran.took)),
        ..Summary::default()
    };
    Ok(written(&modify, &options, &summary))
}

/// What a statement counted, and the queries that it ran.
async fn add_ran(modify: &mut Node, ran: &RanWrite, options: ExplainOptions) -> Result<()> {
    modify.properties.push(("Rows Affected", node::Property::Number(ran.rows_affected)));
    if ran.is_rolled_back {
        modify.properties.push(("Rolled Back", node::Property::Text("yes".to_owned())));
    }
    let total_ms = milliseconds(ran.took);
    modify.actual = Some(node::Actual { rows: ran.rows_returned, startup_ms: total_ms, total_ms });
    let first = ran.plans.iter().filter_map(analyze::started).min();
    for plan in &ran.plans {
        let reads = read::reads(plan, true).await?;
        let query = operators::tree(plan, &reads, first, options.verbose);
        modify.estimate = node::Estimate { rows: 0, width: 0, ..query.estimate };
        modify.children.push(query);
    }
    Ok(())
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
    let summary = Summary {
        planning_ms: milliseconds(planned_in),
        execution_ms: ran.as_ref().map(|ran| milliseconds(ran.took)),
        rows_returned: ran.as_ref().map(|ran| ran.rows),
    };
    as_rows(plan_lines(plan, &options, &summary).await?)
}

/// A plan that has run, for a log.
pub(crate) async fn ran_lines(
    plan: &Arc<dyn ExecutionPlan>,
    planned_in: Duration,
    took: Duration,
) -> Result<Vec<String>> {
    let (planning_ms, execution_ms) = (milliseconds(planned_in), Some(milliseconds(took)));
    plan_lines(plan, &LOGGED, &Summary { planning_ms, execution_ms, rows_returned: None }).await
}

/// A plan, which has run if it is analyzed.
async fn plan_lines(plan: &Arc<dyn ExecutionPlan>, options: &ExplainOptions, summary: &Summary) -> Result<Vec<String>> {
    let reads = read::reads(plan, options.analyze).await?;
    let started = if options.analyze { analyze::started(plan) } else { None };
    let top = operators::tree(plan, &reads, started, options.verbose);
    Ok(written(&top, options, summary))
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
