//! The prepared statements of a session, in memory that all sessions share for theirs: who is idle
//! keeps them, and queries are to have their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use rowkey_base::{Error, Result, SqlState};

use crate::compiler::Prepared;

/// Statements of a session, most of which clients forget to close.
const NAMED_MAX: usize = 10_000;

/// What every session has beside, in bytes: for a hundred small statements, whatever others keep.
const FREE_BYTES: usize = 1 << 20;

/// Statements by their names. The unnamed one, which each new one replaces, is not counted.
#[derive(Debug)]
pub(super) struct PreparedStatements {
    by_name: Arc<BTreeMap<String, Arc<Prepared>>>,
    bytes: usize,
    memory: MemoryReservation,
}

impl PreparedStatements {
    pub(super) fn new(memory: MemoryReservation) -> Self {
        Self { by_name: Arc::default(), bytes: 0, memory }
    }

    /// Keeps a statement under a name. The unnamed one is replaced, others are not.
    pub(super) fn keep(&mut self, name: &str, prepared: Arc<Prepared>) -> Result<()> {
        if name.is_empty() {
            Arc::make_mut(&mut self.by_name).insert(String::new(), prepared);
            return Ok(());
        }
        if self.by_name.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        if self.by_name.len() >= NAMED_MAX {
            let message = format!("a session keeps at most {NAMED_MAX} prepared statements");
            return Err(Error::new(SqlState::OUT_OF_MEMORY, message));
        }
        let bytes = prepared.bytes();
        self.memory.try_resize((self.bytes + bytes).saturating_sub(FREE_BYTES)).map_err(|_| {
            let message = format!("out of memory for a prepared statement of {} KiB", bytes.div_ceil(1 << 10));
            Error::new(SqlState::OUT_OF_MEMORY, message)
                .with_detail("Those of all sessions share a fourth of the memory of queries.")
                .with_hint("shorten the statement, deallocate others, or raise --memory-mib")
        })?;
        self.bytes += bytes;
        Arc::make_mut(&mut self.by_name).insert(name.to_owned(), prepared);
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Result<Arc<Prepared>> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            Error::new(SqlState::UNDEFINED_PREPARED_STATEMENT, message)
        })
    }

    pub(super) fn remove(&mut self, name: &str) {
        let removed = Arc::make_mut(&mut self.by_name).remove(name);
        if let Some(removed) = removed.filter(|_| !name.is_empty()) {
            self.bytes = self.bytes.saturating_sub(removed.bytes());
            self.memory.resize(self.bytes.saturating_sub(FREE_BYTES));
        }
    }

    pub(super) fn clear(&mut self) {
        Arc::make_mut(&mut self.by_name).clear();
        self.bytes = 0;
        self.memory.free();
    }

    /// As a statement sees them.
    pub(super) fn shown(&self) -> Arc<BTreeMap<String, Arc<Prepared>>> {
        Arc::clone(&self.by_name)
    }
}
