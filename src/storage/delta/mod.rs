//! Recent writes, durable in the log and not yet in run files.
//!
//! A [`TableDelta`] is an ordered list of [`Generation`]s, the newest of which takes writes; a
//! version of an entity carries the sequence number of its log record, so that a snapshot sees what
//! its own number admits and nothing else. For a scan the visible versions are brought into
//! [`Layers`]: sorted, newest first, with Arrow batches in the layout of a run file, and with the
//! positions in run files that they take the place of.

mod append_list;
mod edits;
mod generation;
mod heads;
mod key_order;
mod layer;
mod layers;
mod locations;
mod table_delta;
mod version;

pub(crate) use edits::follow_edits;
pub use generation::{Generation, visible_of};
pub use layer::Layer;
pub use layers::Layers;
pub use locations::Locations;
pub use table_delta::{Deltas, TableDelta};
pub use version::Version;
