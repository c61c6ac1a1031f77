//! Who asks.

use std::sync::Arc;

/// The role of what runs in the same process.
const PROCESS: &str = "rowkey";

/// Who reads and writes: a role of SQL, the account that has signed a request, the process itself.
/// It is handed down from every door; so far each of them may do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    name: Arc<str>,
}

impl Principal {
    pub fn new(name: &str) -> Self {
        Self { name: name.into() }
    }

    /// The process that has opened the data folder.
    pub fn process() -> Self {
        Self::new(PROCESS)
    }

    /// The role, as `current_user` has it.
    pub fn name(&self) -> &str {
        &self.name
    }
}
