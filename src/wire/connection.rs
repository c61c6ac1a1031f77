//! A session at work: messages in, answers out, in the order of the protocol.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;

use super::context::ServerContext;
use super::error_fields::Severity;
use super::message::{LargeMessage, Lost, MESSAGE_BYTES_MAX, Malformed, Message};
use super::wire::Wire;
use rowkey_sql::panicked;
use rowkey_sql::session::{
    Error, Interrupt, RequestDeadline, Result, Session, Settings, SqlState, StatementGuard, TransactionStatus,
};

/// One client's session.
pub(crate) struct Connection {
    pub(super) session: Session,
    pub(super) wire: Wire,
    pub(super) context: Arc<ServerContext>,
    /// The code of the error that the message at hand was answered with.
    failed: Option<SqlState>,
    /// Messages that were looked at before their turn.
    ahead: VecDeque<Message>,
    /// ReadyForQuery was sent, and no request has come since.
    is_ready: bool,
    /// Of a request in the extended protocol.
    request_deadline: RequestDeadline,
    /// The message at hand is answered by ReadyForQuery, also where it fails.
    ends_request: bool,
    /// After an error of the extended protocol, everything up to the next Sync is passed over.
    skip_to_sync: bool,
    /// The values of ParameterStatus that were sent last.
    reported: BTreeMap<&'static str, String>,
    /// The settings at that time.
    reported_settings: Settings,
}

/// How long a client may take to read the last messages.
const LAST_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

fn terminated() -> Error {
    Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}

pub(super) fn error_of(malformed: Malformed) -> Error {
    match malformed {
        Malformed::TooLarge(bytes) => {
            let message = format!("a message of {bytes} bytes is too large: at most {MESSAGE_BYTES_MAX} are taken");
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        }
        Malformed::NoRoom(bytes) => {
            let message = format!("out of memory for a message of {bytes} bytes beside those of other clients");
            Error::new(SqlState::OUT_OF_MEMORY, message)
                .with_hint("Send it again when they are done, or send less at a time.")
        }
        Malformed::Content(reason) => Error::new(SqlState::PROTOCOL_VIOLATION, reason),
        Malformed::NotUtf8 => {
            Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
        }
    }
}

/// Why a session ends.
enum End {
    /// The client disconnected or sent Terminate.
    Quiet,
    /// The client gets a FATAL error.
    Fatal(Error),
}

impl Connection {
    pub(crate) fn new(session: Session, wire: Wire, context: Arc<ServerContext>) -> Self {
        let reported = session.settings().reported().map(|(name, value)| (name, value.to_owned())).collect();
        let reported_settings = session.settings().clone();
        Self {
            session,
            wire,
            context,
            failed: None,
            ahead: VecDeque::new(),
            is_ready: true,
            request_deadline: RequestDeadline::default(),
            ends_request: false,
            skip_to_sync: false,
            reported,
            reported_settings,
        }
    }

    /// Serves until the client disconnects or is disconnected.
    pub(crate) async fn run(mut self) {
        if let End::Fatal(error) = self.serve().await {
            // The client may be gone, and the connection ends anyway.
            let _ = self.wire.error(&error, Severity::Fatal);
        }
        // Also the answers before Terminate. A client that does not read them is cut off.
        let _ = tokio::time::timeout(LAST_FLUSH_TIMEOUT, self.wire.flush()).await;
        self.wire.end();
    }

    async fn serve(&mut self) -> End {
        loop {
            if let Err(error) = self.flush_when_idle().await {
                return End::Fatal(error);
            }
            let message = match self.next().await {
                Ok(None | Some(Message::Terminate)) => return End::Quiet,
                Ok(Some(message)) => message,
                Err(error) => return End::Fatal(error),
            };
            self.is_ready = false;
            // Small statements are computed here: a panic costs the statement, not the session.
            let handled = match AssertUnwindSafe(self.handle(message)).catch_unwind().await {
                Ok(handled) => handled,
                Err(panic) => self.fail_statement(&panicked(panic.as_ref())),
            };
            if let Err(error) = handled {
                return End::Fatal(error);
            }
        }
    }

    /// Ends a statement whose handling broke off.
    fn fail_statement(&mut self, error: &Error) -> Result<()> {
        self.report(error)?;
        self.skip_to_sync = !self.ends_request;
        if self.skip_to_sync {
            return Ok(());
        }
        self.session.end_of_request();
        self.ready()
    }

    /// Flushes at the end of a pipeline; in the middle of one the client does not wait for answers.
    /// A client that does not read can still be terminated.
    async fn flush_when_idle(&mut self) -> Result<()> {
        let more = self.has_more();
        if more && !self.wire.is_large() || self.wire.try_flush()? {
            return Ok(());
        }
        let mut interrupts = self.session.registration().interrupts();
        tokio::select! {
            biased;
            flushed = self.wire.flush() => flushed,
            _ = interrupts.wait_for(|interrupt| *interrupt == Interrupt::Terminate) => Err(terminated()),
        }
    }

    /// Whether there is something to do without a wait.
    pub(super) fn has_more(&mut self) -> bool {
        !self.ahead.is_empty() || self.wire.has_more()
    }

    /// Decodes a large message on a compute thread.
    pub(super) async fn decode(&mut self, large: LargeMessage) -> Result<Message> {
        let signals = self.session.registration().signals().of_statement();
        self.session.compute().run(&signals, async move { Ok(large.decode()) }).await
    }

    /// The next message; none when the client has left.
    async fn next(&mut self) -> Result<Option<Message>> {
        match self.ahead.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.receive().await,
        }
    }

    /// The next message of a copy, however long that takes.
    pub(super) async fn next_of_copy(&mut self) -> Option<std::result::Result<Message, Lost>> {
        match self.ahead.pop_front() {
            Some(message) => Some(Ok(message)),
            None => self.wire.next().await,
        }
    }

    /// Whether the statement about to run is the last before Sync. Waits for the next message,
    /// before which the protocol demands no answer.
    pub(super) async fn is_last_of_request(&mut self) -> Result<bool> {
        let mut place = 0;
        loop {
            if place == self.ahead.len() {
                let Some(message) = self.receive().await? else { return Ok(false) };
                self.ahead.push_back(message);
            }
            match self.ahead.get(place) {
                Some(Message::Sync) => return Ok(true),
                Some(Message::CloseStatement(_) | Message::ClosePortal(_)) => place += 1,
                _ => return Ok(false),
            }
        }
    }

    /// The statements of a request that were one transaction are committed.
    async fn end_request(&mut self) -> Result<()> {
        if self.session.is_implicit() {
            let mut guard = self.guard();
            if let Err(error) = guard.run(Box::pin(self.session.commit_implicit())).await {
                if error.sqlstate() == SqlState::ADMIN_SHUTDOWN {
                    return Err(error);
                }
                self.report(&error)?;
            }
        }
        self.session.end_of_request();
        Ok(())
    }

    async fn receive(&mut self) -> Result<Option<Message>> {
        let lost = |Lost(reason)| Error::new(SqlState::PROTOCOL_VIOLATION, reason);
        if let Some(message) = self.wire.read_before().map_err(lost)? {
            // A client whose messages never end yields to others, also where none has an answer.
            tokio::task::coop::consume_budget().await;
            return Ok(Some(message));
        }
        let mut interrupts = self.session.registration().interrupts();
        let limits = self.session.settings().limits();
        let (timeout, kind, idle) = match self.session.status() {
            TransactionStatus::Idle => {
                let message = "terminating connection due to idle-session timeout";
                (limits.idle_session_timeout, SqlState::IDLE_SESSION_TIMEOUT, message)
            }
            _ => {
                let message = "terminating connection due to idle-in-transaction timeout";
                (limits.idle_in_transaction_session_timeout, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, message)
            }
        };
        // No timeout in the middle of a request.
        let timeout = timeout.filter(|_| self.is_ready);
        let idle_for = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending::<()>().await,
            }
        };
        tokio::select! {
            biased;
            message = self.wire.next() => message.transpose().map_err(lost),
            _ = interrupts.wait_for(|interrupt| *interrupt == Interrupt::Terminate) => Err(terminated()),
            () = idle_for => Err(Error::new(kind, idle)),
        }
    }

    /// Handles a message. Errors of statements are sent to the client; an error that is returned
    /// ends the session.
    async fn handle(&mut self, message: Message) -> Result<()> {
        if self.skip_to_sync && !matches!(message, Message::Sync) {
            return Ok(());
        }
        let message = match message {
            Message::Large(large) => self.decode(large).await?,
            message => message,
        };
        let logged = self.begin_log(&message);
        self.failed = None;
        let extended = !matches!(message, Message::Query(_) | Message::FunctionCall);
        self.ends_request = !extended || matches!(message, Message::Sync | Message::MalformedQuery(_));
        let done = match message {
            // Boxed, since every message moves what the largest of these takes.
            Message::Query(text) => Box::pin(self.query(text)).await,
            Message::Parse { name, text, types } => Box::pin(self.parse(&name, &text, &types)).await,
            Message::Bind(bind) => self.bind(bind).await,
            Message::DescribeStatement(name) => self.describe_statement(&name),
            Message::DescribePortal(name) => self.describe_portal(&name),
            Message::Execute { portal, rows_max } => {
                let executed = self.execute(&portal, rows_max).await;
                self.request_deadline.clear();
                executed
            }
            Message::CloseStatement(name) => self.close_statement(&name),
            Message::ClosePortal(name) => self.close_portal(&name),
            Message::Flush => self.wire.flush().await,
            Message::Sync => {
                self.skip_to_sync = false;
                self.end_request().await?;
                self.ready()
            }
            Message::FunctionCall => {
                let error =
                    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "function calls of the protocol are not supported")
                        .with_hint("SELECT the function instead");
                self.report(&error)?;
                self.ready()
            }
            Message::Malformed(malformed) => Err(error_of(malformed)),
            Message::MalformedQuery(malformed) => {
                self.report(&error_of(malformed))?;
                self.session.end_of_request();
                self.ready()
            }
            // Left over from a copy that failed: passed over, as PostgreSQL does.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => return Ok(()),
            // A large one is decoded by now.
            Message::Terminate | Message::Large(_) => return Ok(()),
        };
        if let Some(logged) = logged {
            let failed = done.as_ref().err().map(Error::sqlstate).or(self.failed);
            self.end_log(logged, failed);
        }
        match done {
            Err(error) if error.sqlstate() == SqlState::ADMIN_SHUTDOWN => Err(error),
            Err(error) => {
                self.report(&error)?;
                self.skip_to_sync = extended;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Sends the error of a statement.
    pub(super) fn report(&mut self, error: &Error) -> Result<()> {
        self.failed = Some(error.sqlstate());
        self.session.failed();
        self.notices()?;
        self.wire.error(error, Severity::Error)
    }

    pub(super) fn notices(&mut self) -> Result<()> {
        for notice in self.session.take_notices() {
            self.wire.error(&notice, Severity::Warning)?;
        }
        Ok(())
    }

    pub(super) fn ready(&mut self) -> Result<()> {
        self.notices()?;
        self.report_settings()?;
        self.session.idle();
        self.wire.handled();
        self.is_ready = true;
        self.request_deadline.clear();
        self.wire.ready(self.session.status())
    }

    /// ParameterStatus for the settings that have changed: drivers cache them.
    fn report_settings(&mut self) -> Result<()> {
        if self.session.settings().is_unchanged_since(&self.reported_settings) {
            return Ok(());
        }
        self.reported_settings = self.session.settings().clone();
        for (name, value) in self.session.settings().reported() {
            let reported = self.reported.entry(name).or_default();
            if reported != value {
                value.clone_into(reported);
                self.wire.parameter(name, value)?;
            }
        }
        Ok(())
    }

    /// The guard of one statement.
    pub(super) fn guard(&self) -> StatementGuard {
        StatementGuard::new(self.session.registration().signals(), self.session.settings().limits().statement_timeout)
    }

    /// The guard of one message of a request in the extended protocol.
    pub(super) fn guard_of_message(&mut self) -> StatementGuard {
        let timeout = self.session.settings().limits().statement_timeout;
        self.request_deadline.guard(self.session.registration().signals(), timeout)
    }
}
