//! What keeps a table in shape while it is written to: folds of its delta into run files, compactions of run files.

mod fold;
mod signals;

pub use fold::FoldReport;
pub use signals::MaintenanceSignals;
