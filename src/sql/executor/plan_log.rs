//! The log of plans: an event of `tracing` for each statement that took as long as its session
//! says, with its plan as EXPLAIN ANALYZE shows it. Nothing runs twice for it.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use tokio::time::Instant;
use tracing::Level;

use crate::compiler::{Prepared, StatementContext};
use crate::explain::{Explained, ran_lines, ran_write_lines};
use rowkey_base::Result;
use rowkey_base::clock::timer_now;
use rowkey_postgres::cancellation::CancellableRows;

/// The target of the events.
const PLAN_LOG: &str = "rowkey::plan";
/// What is written of a text.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// A statement whose plan may be logged once it has run.
#[derive(Debug)]
pub(crate) struct PlanLog {
    longer_than: Duration,
    pid: i32,
    text: String,
    began: Instant,
    planned_in: Duration,
}

impl PlanLog {
    /// Begins with the planning of a statement; `None` if its session has not asked for plans, or
    /// no log takes them.
    pub(crate) fn begin(context: &StatementContext, prepared: &Prepared) -> Option<Self> {
        let longer_than = context.session.settings.limits().log_plans_longer_than?;
        if !tracing::event_enabled!(target: PLAN_LOG, Level::INFO) {
            return None;
        }
        let text = prepared.statement.text();
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default().to_owned();
        let pid = context.session.pid;
        Some(Self { longer_than, pid, text, began: timer_now(), planned_in: Duration::ZERO })
    }

    /// The rows of a plan, which is logged behind the last of them.
    pub(crate) fn logged(mut self, plan: Arc<dyn ExecutionPlan>, rows: CancellableRows) -> SendableRecordBatchStream {
        self.planned_in = self.began.elapsed();
        let schema = rows.schema();
        let at_end = stream::once(async move {
            let took = self.began.elapsed();
            if took >= self.longer_than {
                let ran_for = took.saturating_sub(self.planned_in);
                self.write(took, ran_lines(&plan, self.planned_in, ran_for).await);
            }
            None
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.chain(at_end.filter_map(ready))))
    }

    /// Logs a statement that writes, before its commit.
    pub(crate) async fn log_write(self, explained: &Explained) {
        let took = self.began.elapsed();
        if took >= self.longer_than {
            self.write(took, ran_write_lines(explained).await);
        }
    }

    fn write(&self, took: Duration, plan: Result<Vec<String>>) {
        let plan = plan.map_or_else(|error| error.to_string(), |lines| lines.join("\n"));
        let micros = took.as_micros() as u64;
        tracing::info!(target: PLAN_LOG, pid = self.pid, statement = self.text, micros, plan);
    }
}
