//! The only place that touches disk or object store.
//!
//! A [`FileStore`] holds the files of one data folder under relative names composed in [`paths`].
//! Reading is async and works on local folders, memory and object stores alike; writing is
//! blocking, durable step by step, and only for folders and memory. `fault` is a twin of the memory
//! store that stops, tears or fails at the n-th write, sync or rename.

mod abandoned;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod fault;
mod local;
mod lock;
mod memory;
mod overlap;
pub mod paths;
mod private;
mod publish;
mod remote;
mod spill;
mod sqlstate;
mod store;
mod system;

pub use abandoned::{hold_temporary, remove_abandoned};
pub use error::{Error, Operation, Result};
pub use local::LocalStore;
pub use memory::MemoryStore;
pub use overlap::{Overlap, overlap};
pub use private::may_write;
pub use publish::{Publication, publish};
pub use remote::RemoteStore;
pub use spill::SpillFolder;
pub use store::{FileEntry, FileStore, OwnerLock, ReadFile, WriteFile};
pub use system::read_system_text;
