//! The locks and threads of the group commit. Its tests compile it once more, with those of a
//! scheduler that tries one order of steps after another (`schedules`).

pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
pub(super) use std::thread::{Builder, JoinHandle, Thread, current, panicking, park};
