//! Statements on the compute threads, so that Ctrl-C can cancel them at any time.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::local_copy::{self, LocalCopy};
use crate::output::ResultColumns;
use rowkey_postgres::types::TextStyle;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{
    Error, Interrupt, Outcome, Result, Rows, Session, SqlState, StatementGuard, TransactionStatus, parse_all,
};

/// Rows asked for at a time.
const BATCH_ROWS_MAX: usize = 8192;
/// Batches that wait to be printed.
const EVENTS_WAITING_MAX: usize = 4;
/// How long a cancelled statement may take to stop before it is abandoned with its session.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// What a statement gives while it runs.
pub(super) enum Event {
    /// The columns of its rows.
    Rows(ResultColumns),
    Batch(RecordBatch),
    /// It has no rows, but a tag: CREATE VIEW.
    Done(String),
    Notice(Error),
}

/// Whether the rest of the rows is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    More,
    /// The reader is gone: the statement is cancelled, which is no error.
    Enough,
}

/// How often Ctrl-C was pressed, while no line is edited. Until this is dropped it does not end the
/// process.
pub(super) struct Interrupts {
    presses: watch::Receiver<u64>,
    listener: JoinHandle<()>,
}

impl Interrupts {
    pub(super) fn listen(threads: &Handle) -> std::io::Result<Self> {
        let _within = threads.enter();
        let mut signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        let (count, presses) = watch::channel(0);
        let listener = threads.spawn(async move {
            while signals.recv().await.is_some() {
                count.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { presses, listener })
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// A session, and the threads that run its statements.
pub(super) struct Runner {
    database: Arc<Engine>,
    threads: Handle,
    /// Moved to the task of a statement while that runs.
    session: Option<Session>,
    interrupts: Interrupts,
    /// Ctrl-C cancelled a statement since [`Runner::was_interrupted`] was called last.
    interrupted: bool,
    status: TransactionStatus,
}

impl Runner {
    pub(super) fn new(database: Arc<Engine>, threads: Handle, interrupts: Interrupts) -> Result<Self> {
        let session = Some(database.own_session()?);
        Ok(Self { database, threads, session, interrupts, interrupted: false, status: TransactionStatus::Idle })
    }

    pub(super) fn status(&self) -> TransactionStatus {
        self.status
    }

    /// Whether Ctrl-C was pressed since this was asked last, while a statement ran or after it.
    pub(super) fn was_interrupted(&mut self) -> bool {
        let pressed = self.interrupts.presses.has_changed().unwrap_or(false);
        self.interrupts.presses.mark_unchanged();
        std::mem::take(&mut self.interrupted) || pressed
    }

    /// Runs one statement and hands over what it gives, on this thread, which may block. Ctrl-C
    /// cancels it.
    pub(super) fn run(&mut self, text: &str, take: &mut dyn FnMut(Event) -> Wanted) -> Result<()> {
        self.run_copying(text, None, take)
    }

    /// The same for a COPY between a table and a file.
    pub(super) fn copy(&mut self, copy: LocalCopy, take: &mut dyn FnMut(Event) -> Wanted) -> Result<()> {
        let text = copy.statement.clone();
        self.run_copying(&text, Some(copy), take)
    }

    fn run_copying(
        &mut self,
        text: &str,
        copy: Option<LocalCopy>,
        take: &mut dyn FnMut(Event) -> Wanted,
    ) -> Result<()> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.database.own_session()?,
        };
        self.interrupts.presses.mark_unchanged();
        let pid = session.registration().pid;
        let (events, mut received) = mpsc::channel(EVENTS_WAITING_MAX);
        let task = {
            let _within = self.threads.enter();
            let timeout = session.settings().limits().statement_timeout;
            let mut guard = StatementGuard::new(session.registration().signals(), timeout);
            let text = text.to_owned();
            self.threads.spawn(async move {
                session.active(&text);
                let done = statement(&mut session, &text, copy.as_ref(), &events, &mut guard).await;
                let done = done.and_then(|()| session.succeeded());
                if done.is_err() {
                    session.failed();
                }
                for notice in session.take_notices() {
                    // The receiver may be gone.
                    let _ = events.send(Event::Notice(notice)).await;
                }
                session.end_of_request();
                session.idle();
                (session, done)
            })
        };
        let mut wanted = Wanted::More;
        let mut stop_at = None;
        while wanted == Wanted::More {
            let (presses, received) = (&mut self.interrupts.presses, &mut received);
            let next = self.threads.block_on(async {
                tokio::select! {
                    biased;
                    Ok(()) = presses.changed(), if stop_at.is_none() => Next::Interrupted,
                    event = received.recv() => Next::Event(event),
                    () = until(stop_at) => Next::TooLate,
                }
            });
            match next {
                Next::Interrupted => {
                    self.interrupted = true;
                    self.database.registry().interrupt(pid, Interrupt::Cancel);
                    stop_at = Some(tokio::time::Instant::now() + STOP_WITHIN);
                }
                Next::Event(Some(event)) => wanted = take(event),
                Next::Event(None) => break,
                Next::TooLate => return Err(self.abandon(&task)),
            }
        }
        drop(received);
        if wanted == Wanted::Enough {
            self.database.registry().interrupt(pid, Interrupt::Cancel);
        }
        let mut task = task;
        let ended = self.threads.block_on(async { tokio::time::timeout(STOP_WITHIN, &mut task).await });
        match ended {
            Ok(Ok((session, done))) => {
                self.status = session.status();
                self.session = Some(session);
                match done {
                    Err(error) if wanted == Wanted::Enough && error.sqlstate() == SqlState::QUERY_CANCELED => Ok(()),
                    done => done,
                }
            }
            Ok(Err(error)) => {
                self.status = TransactionStatus::Idle;
                Err(Error::new(SqlState::INTERNAL_ERROR, format!("the statement ended unexpectedly: {error}"))
                    .with_hint("this is a defect of rowkey; please report it. A new session was begun"))
            }
            Err(_) => Err(self.abandon(&task)),
        }
    }

    /// Abandons a statement that does not stop; the next one gets a new session.
    fn abandon<T>(&mut self, task: &JoinHandle<T>) -> Error {
        task.abort();
        self.status = TransactionStatus::Idle;
        Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
            .with_detail("The statement did not stop in time: a new session was begun, without its settings.")
    }
}

enum Next {
    Interrupted,
    Event(Option<Event>),
    TooLate,
}

async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn statement(
    session: &mut Session,
    text: &str,
    copy: Option<&LocalCopy>,
    events: &mpsc::Sender<Event>,
    guard: &mut StatementGuard,
) -> Result<()> {
    for statement in parse_all(text)? {
        let prepared = Arc::new(guard.run(session.prepare(Arc::new(statement), &[])).await?);
        if !prepared.parameters.is_empty() {
            return Err(Error::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        let outcome = guard.run(session.run(&prepared, &Arc::default())).await?;
        let style = Arc::clone(session.settings().style());
        match outcome {
            Outcome::Done(tag) => guard.run(sent(events, Event::Done(tag))).await?,
            Outcome::Rows(mut rows) => send(events, &mut rows, u64::MAX, &style, guard).await?,
            Outcome::Copy(copying) => {
                let tag = local_copy::copy(session, copying, copy.ok_or_else(no_file)?, guard).await?;
                guard.run(sent(events, Event::Done(tag))).await?;
            }
            Outcome::FromCursor { name, rows_max } => {
                let mut portal = session.take_portal(&name)?;
                send(events, portal.state.open_rows(&name)?, rows_max, &style, guard).await?;
                session.put_portal(&name, portal);
            }
        }
    }
    Ok(())
}

fn no_file() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY with STDIN or STDOUT is not supported at the prompt")
        .with_hint("\\copy does it with a file: \\copy TABLE FROM 'FILE' or \\copy (QUERY) TO 'FILE'")
}

async fn send(
    events: &mpsc::Sender<Event>,
    rows: &mut Rows,
    rows_max: u64,
    style: &Arc<TextStyle>,
    guard: &mut StatementGuard,
) -> Result<()> {
    guard.run(sent(events, Event::Rows(ResultColumns::of(rows, style)))).await?;
    let mut left = rows_max;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(BATCH_ROWS_MAX);
        let Some(batch) = guard.run(rows.next(most)).await? else { break };
        left -= batch.num_rows() as u64;
        guard.run(sent(events, Event::Batch(batch))).await?;
    }
    Ok(())
}

async fn sent(events: &mpsc::Sender<Event>, event: Event) -> Result<()> {
    // The receiver goes away only when nothing more is wanted.
    let gone = |_| Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request");
    events.send(event).await.map_err(gone)
}

#[cfg(test)]
mod tests {
    use rowkey_sql::engine::Options;

    use super::*;

    fn ran(runner: &mut Runner, text: &str) -> (Vec<String>, Result<()>) {
        let mut seen = Vec::new();
        let done = runner.run(text, &mut |event| {
            seen.push(match event {
                Event::Rows(columns) => format!("{} columns", columns.names().count()),
                Event::Batch(batch) => format!("{} rows", batch.num_rows()),
                Event::Done(tag) => tag,
                Event::Notice(notice) => format!("notice: {notice}"),
            });
            Wanted::More
        });
        (seen, done)
    }

    #[test]
    fn the_session_lasts() {
        let threads = tokio::runtime::Runtime::new().unwrap();
        let database = Arc::new(threads.block_on(Engine::open(":memory:", Options::default())).unwrap());
        let (presses, receiver) = watch::channel(0);
        let interrupts = Interrupts { presses: receiver, listener: threads.spawn(async {}) };
        let mut runner = Runner::new(database, threads.handle().clone(), interrupts).unwrap();

        assert_eq!(ran(&mut runner, "BEGIN").0, ["BEGIN"]);
        assert_eq!(runner.status(), TransactionStatus::InTransaction);
        assert_eq!(ran(&mut runner, "SELECT 1, 2").0, ["2 columns", "1 rows"]);
        assert!(ran(&mut runner, "SELECT nonsense").1.is_err());
        assert_eq!(runner.status(), TransactionStatus::Failed);
        assert_eq!(ran(&mut runner, "ROLLBACK").0, ["ROLLBACK"]);
        let (seen, done) = ran(&mut runner, "COMMIT");
        assert_eq!(seen, ["COMMIT", "notice: there is no transaction in progress"]);
        assert!(done.is_ok());

        let pressed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            presses.send_modify(|count| *count += 1);
            presses
        });
        let long =
            "SELECT count(*) FROM pg_proc a, pg_proc b, pg_proc c, pg_proc d WHERE a.oid + b.oid + c.oid + d.oid = 7";
        let error = ran(&mut runner, long).1.unwrap_err();
        assert_eq!(error.to_string(), "canceling statement due to user request");
        assert_eq!(error.detail(), None, "it stopped in time");
        assert!(runner.was_interrupted() && !runner.was_interrupted());
        drop(pressed.join().unwrap());
        assert_eq!(ran(&mut runner, "SHOW timezone").0, ["1 columns", "1 rows"]);
    }

    #[test]
    fn a_reader_that_is_gone_ends_the_statement() {
        let threads = tokio::runtime::Runtime::new().unwrap();
        let database = Arc::new(threads.block_on(Engine::open(":memory:", Options::default())).unwrap());
        let interrupts = Interrupts { presses: watch::channel(0).1, listener: threads.spawn(async {}) };
        let mut runner = Runner::new(database, threads.handle().clone(), interrupts).unwrap();
        let done =
            runner.run("SELECT a.oid FROM pg_operator a, pg_operator b, pg_operator c, pg_operator d", &mut |event| {
                match event {
                    Event::Batch(_) => Wanted::Enough,
                    _ => Wanted::More,
                }
            });
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(ran(&mut runner, "SELECT 1").0, ["1 columns", "1 rows"]);
    }
}
