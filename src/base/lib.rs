//! What every other crate stands on: the error, time from ticks to calendar dates, and how URLs
//! write texts.

pub mod calendar;
pub mod clock;
mod date_time;
mod error;
pub mod percent;
mod rejected;
mod sqlstate;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use date_time::{DATE_TIME_NEWTYPE, DateTime, DateTimeText};
pub use error::{Error, Result, Violated};
pub use rejected::{Rejected, Rule};
pub use sqlstate::{ErrorKind, SqlState};
