//! What every other crate stands on: time, and what a rule of the data model rejects.

pub mod clock;
mod date_time;
mod rejected;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use date_time::{DATE_TIME_NEWTYPE, DateTime};
pub use rejected::{Rejected, Rule};
