//! The thread that folds and compacts while the database is open.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::{Maintainer, Store};

/// The thread; dropping this stops it and waits for its end.
#[derive(Debug)]
pub(super) struct Maintenance {
    store: Arc<Store>,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    /// Starts the thread.
    pub(super) fn start(store: &Arc<Store>) -> Result<Self> {
        let maintainer = Maintainer::new(Arc::clone(store));
        let thread = Builder::new().name("rowkey-maintenance".to_owned()).spawn(move || maintainer.run());
        let thread = thread.map_err(|error| {
            Error::new(SqlState::IO_ERROR, format!("cannot start the thread that folds and compacts: {error}"))
        })?;
        Ok(Self { store: Arc::clone(store), thread: Some(thread) })
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.store.stop_maintenance();
        if let Some(thread) = self.thread.take() {
            // A panic of it was printed when it happened, and what it worked on is not committed.
            let _ = thread.join();
        }
    }
}
