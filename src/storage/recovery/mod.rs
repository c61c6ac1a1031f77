//! From what a data folder holds to the state that it was closed or left in by a crash.

mod open;
mod replay;
mod sweep;

pub(crate) use open::{Opened, open};
pub(crate) use replay::{CHECKPOINT_WITH_SEQUENCE, CheckpointContent, Recovery};
