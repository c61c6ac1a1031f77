//! Making a damaged data folder usable again, at a known loss. Nothing is deleted: what is taken
//! out of use goes to the folder `quarantine`.

mod log;
mod quarantine;

pub use log::{LogRepair, repair_log};
pub use quarantine::Quarantined;
pub(crate) use quarantine::quarantine;

#[cfg(test)]
mod tests;
