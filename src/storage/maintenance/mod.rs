//! What keeps a table in shape while it is written to: folds of its delta into run files, compactions of run files, and the thread
//! that sees to both.

mod commit;
mod compact;
mod fold;
mod jobs;
mod plan;
mod signals;
mod status;
mod vacuum;
mod worker;

pub use compact::{CompactReport, FILE_BYTES};
pub use fold::FoldReport;
pub use jobs::{Jobs, TableJob, Work};
pub use signals::MaintenanceSignals;
pub use status::{MaintenanceStatus, TableMaintenance};
pub use vacuum::VacuumReport;
pub use worker::Maintainer;

#[cfg(test)]
mod tests;
