//! What keeps a table in shape while it is written to: folds of its delta into run files,
//! compactions of run files, and the thread that sees to both.

mod commit;
mod compact;
mod fold;
mod jobs;
mod plan;
mod signals;
mod status;
mod vacuum;
mod worker;

pub use compact::FILE_BYTES;
pub(crate) use jobs::Jobs;
pub use jobs::Work;
pub(crate) use signals::{Failure, MaintenanceSignals};
pub use status::MaintenanceStatus;
pub use vacuum::VacuumReport;
pub use worker::Maintainer;

#[cfg(test)]
mod tests;
