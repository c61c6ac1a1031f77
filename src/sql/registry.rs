//! The sessions of a server: who is there, and how to stop what they run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use rowkey_base::{Error, Result, SqlState};
use rowkey_model::DateTime;
use rowkey_postgres::cancellation::{Interrupt, Signals};

/// A session as others see it.
#[derive(Debug, Clone)]
pub struct Activity {
    pub pid: i32,
    pub database: String,
    pub user: String,
    pub application_name: String,
    /// Address and port; empty for a session in the same process.
    pub client: String,
    pub began: DateTime,
    pub transaction_began: Option<DateTime>,
    pub query_began: Option<DateTime>,
    pub state: &'static str,
    /// The statement that runs, or ran last.
    pub query: String,
    /// The COPY that runs, if one does that sends or takes data.
    pub copy: Option<CopyActivity>,
}

/// How far a COPY is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyActivity {
    /// From the client, or to it.
    pub is_from: bool,
    /// Empty where the rows of a query are copied.
    pub table: String,
    pub bytes: u64,
    /// Rows or entities.
    pub rows: u64,
}

impl Activity {
    /// A session that begins.
    pub fn new(database: &str, user: &str, client: &str, began: DateTime) -> Self {
        Self {
            pid: 0,
            database: database.to_owned(),
            user: user.to_owned(),
            application_name: String::new(),
            client: client.to_owned(),
            began,
            transaction_began: None,
            query_began: None,
            state: "idle",
            query: String::new(),
            copy: None,
        }
    }
}

/// All sessions.
#[derive(Debug)]
pub struct Registry {
    sessions: Mutex<BTreeMap<i32, Entry>>,
    next_pid: AtomicI32,
    connections_max: AtomicUsize,
}

#[derive(Debug)]
struct Entry {
    secret: i32,
    signals: Arc<Signals>,
    activity: Activity,
}

/// A session's own place; it is given up when this is dropped.
#[derive(Debug)]
pub struct Registration {
    registry: Arc<Registry>,
    pub pid: i32,
    /// Whoever names it may cancel.
    pub secret: i32,
    signals: Arc<Signals>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// Without a bound: sessions of the same process need none.
    pub fn new() -> Self {
        Self { sessions: Mutex::default(), next_pid: AtomicI32::new(1), connections_max: AtomicUsize::new(usize::MAX) }
    }

    /// Bounds the number of sessions.
    pub fn allow(&self, connections_max: usize) {
        self.connections_max.store(connections_max, Ordering::Relaxed);
    }

    pub fn register(self: &Arc<Self>, activity: Activity) -> Result<Registration> {
        let mut sessions = self.sessions();
        if sessions.len() >= self.connections_max.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
        }
        let pid = loop {
            let pid = self.next_pid.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if pid > 0 && !sessions.contains_key(&pid) {
                break pid;
            }
        };
        let random = uuid::Uuid::new_v4().into_bytes();
        let secret = i32::from_le_bytes([random[0], random[1], random[2], random[3]]);
        let signals = Arc::new(Signals::new());
        sessions.insert(pid, Entry { secret, signals: Arc::clone(&signals), activity: Activity { pid, ..activity } });
        Ok(Registration { registry: Arc::clone(self), pid, secret, signals })
    }

    /// Cancels for somebody who knows the secret. Anybody else is ignored.
    pub fn cancel_with_secret(&self, pid: i32, secret: i32) {
        if let Some(entry) = self.sessions().get(&pid).filter(|entry| entry.secret == secret) {
            entry.signals.interrupt(Interrupt::Cancel);
        }
    }

    /// Interrupts a session; false if there is none of that number.
    pub fn interrupt(&self, pid: i32, interrupt: Interrupt) -> bool {
        let sessions = self.sessions();
        let Some(entry) = sessions.get(&pid) else { return false };
        entry.signals.interrupt(interrupt);
        true
    }

    pub fn terminate_all(&self) {
        for entry in self.sessions().values() {
            entry.signals.interrupt(Interrupt::Terminate);
        }
    }

    pub fn activities(&self) -> Vec<Activity> {
        self.sessions().values().map(|entry| entry.activity.clone()).collect()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<i32, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Tells of interruptions from now on.
    pub fn interrupts(&self) -> watch::Receiver<Interrupt> {
        self.signals.interrupts()
    }

    pub fn signals(&self) -> &Arc<Signals> {
        &self.signals
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn update(&self, change: impl FnOnce(&mut Activity)) {
        if let Some(entry) = self.registry.sessions().get_mut(&self.pid) {
            change(&mut entry.activity);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.sessions().remove(&self.pid);
        // Whatever still computes for it.
        self.signals.interrupt(Interrupt::Terminate);
    }
}
