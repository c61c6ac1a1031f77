//! What the statements of a session cost, for `rowkey.access_statistics`.

use std::sync::Arc;

use super::{Copying, Outcome, Session};
use crate::compiler::Prepared;
use crate::executor::copy::CopyIn;
use crate::statement_statistics::RunningStatement;
use rowkey_base::Result;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::SqlValue;

impl Session {
    /// Runs a statement with values for its parameters, and counts it.
    // Futures of long statements are boxed, here and below, to keep this one small: it is moved for
    // reads of one entity too.
    pub async fn run(&mut self, prepared: &Arc<Prepared>, parameters: &Arc<[SqlValue]>) -> Result<Outcome> {
        let running = self.begin_counting(prepared);
        let outcome = self.run_uncounted(prepared, parameters).await?;
        if let (Request::Copy(copy), Outcome::Copy(_)) = (&prepared.statement.request, &outcome) {
            self.begin_copy(copy);
        }
        Ok(match running {
            Some(running) => self.counted(running, outcome),
            None => outcome,
        })
    }

    /// Commands to the session itself, such as SET, BEGIN and FETCH, are not counted; EXECUTE is
    /// counted as what it executes.
    pub(super) fn begin_counting(&mut self, prepared: &Prepared) -> Option<RunningStatement> {
        if matches!(prepared.statement.request, Request::Nothing | Request::Command(_)) {
            return None;
        }
        self.reads.clear();
        // That of a COPY that failed.
        self.copying = None;
        let (compiler, text) = (self.compiler(), prepared.statement.text());
        let statistics = compiler.statistics();
        let entry = prepared.counted.get_or_init(|| statistics.entry(compiler.account().as_str(), text));
        let running = statistics.begin(entry);
        Some(match prepared.statement.request {
            Request::Explain { .. } => running.without_rows(),
            _ => running,
        })
    }

    pub(super) fn counted(&mut self, running: RunningStatement, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Rows(rows) => Outcome::Rows(rows.counted(running.answers(&self.reads))),
            Outcome::Copy(Copying::Out(mut copied)) => {
                copied.rows = copied.rows.counted(running.answers(&self.reads));
                Outcome::Copy(Copying::Out(copied))
            }
            Outcome::Done(tag) => {
                running.wrote(rows_of(&tag), &self.reads);
                Outcome::Done(tag)
            }
            outcome @ Outcome::Copy(Copying::In(_) | Copying::EntitiesOut(_)) => {
                self.copying = Some(running);
                outcome
            }
            outcome @ Outcome::FromCursor { .. } => outcome,
        }
    }

    /// Writes the rows of a COPY FROM; gives the tag.
    pub async fn finish_copy(&mut self, copy: CopyIn) -> Result<String> {
        let tag = self.finish_uncounted_copy(copy).await?;
        self.count_copied(&tag);
        Ok(tag)
    }

    /// Counts a COPY that has ended.
    pub(in crate::session) fn count_copied(&mut self, tag: &str) {
        if let Some(running) = self.copying.take() {
            running.wrote(rows_of(tag), &self.reads);
        }
    }
}

/// The number at the end of a tag.
fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0)
}
