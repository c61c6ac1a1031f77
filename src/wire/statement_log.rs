//! The log of statements: an event of `tracing` for each that a client has run.

use std::time::Duration;

use rowkey_sql::session::SqlState;
use tracing::Level;

use super::connection::Connection;
use super::message::Message;

/// The target of the events.
const STATEMENT_LOG: &str = "rowkey::statement";
/// What is written of a text.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// A statement, or a text of several, that is run.
pub(super) struct LoggedStatement {
    text: String,
    began: Duration,
}

impl Connection {
    /// Begins the event of a message that runs statements, if anybody wants it.
    pub(super) fn begin_log(&self, message: &Message) -> Option<LoggedStatement> {
        if !tracing::event_enabled!(target: STATEMENT_LOG, Level::INFO) {
            return None;
        }
        let text = match message {
            Message::Query(text) => text.as_str(),
            Message::Execute { portal, .. } => self.session.portal(portal).ok()?.prepared.statement.text(),
            _ => return None,
        };
        let text = text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default().to_owned();
        Some(LoggedStatement { text, began: self.context.database.clock().elapsed() })
    }

    /// Writes the event of a statement that succeeded, or failed with an error.
    pub(super) fn end_log(&self, statement: LoggedStatement, failed: Option<SqlState>) {
        let LoggedStatement { text, began } = statement;
        tracing::info!(
            target: STATEMENT_LOG,
            pid = self.session.registration().pid,
            statement = text,
            sqlstate = failed.unwrap_or(SqlState::SUCCESSFUL_COMPLETION).code(),
            micros = self.context.database.clock().elapsed().saturating_sub(began).as_micros() as u64,
        );
    }
}
