//! What a statement is compiled and executed with.

use std::sync::Arc;

use super::statement_session::StatementSession;
use crate::planner::PlanningSettings;
use rowkey_model::DateTime;
use rowkey_postgres::cancellation::Signals;
use rowkey_storage::Snapshot;

/// The snapshot, the session, the time and the cancellation of one statement.
#[derive(Debug, Clone)]
pub(crate) struct StatementContext {
    pub snapshot: Snapshot,
    pub session: Arc<StatementSession>,
    /// What `now()` is: when the transaction began.
    pub now: DateTime,
    pub signals: Arc<Signals>,
}

impl StatementContext {
    pub(crate) fn planning(&self) -> PlanningSettings {
        PlanningSettings::of(&self.session.settings)
    }
}
